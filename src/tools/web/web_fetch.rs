//! `web_fetch`: asks a page or a service, under the guard, the team's list of domains and its rates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use net::fetch::{Body, Fetched, Fetcher, Method, Request, Trace};
use net::teams::WebTeams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspace, Workspaces, blocking};

/// The folder of a workspace that files are fetched to.
const FOLDER: &str = "downloads";

/// How many files of one name there may be.
const SAME_NAME_MAX: usize = 1_000;

/// Fetches.
pub struct WebFetch {
    /// Asks.
    pub fetcher: Fetcher,
    /// What each team may ask, and how often.
    pub teams: WebTeams,
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// What to ask.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebFetchArgs {
    /// The whole URL, http or https, without a user or password.
    pub url: String,
    /// Left out: GET.
    pub method: Option<WebMethod>,
    /// Headers by name. Those that say how the request travels (Host, Content-Length, Accept-Encoding, ...) are set for
    /// you.
    pub headers: Option<BTreeMap<String, String>>,
    /// The body, for POST, PUT, PATCH and DELETE. Say what it is in the header Content-Type.
    pub body: Option<String>,
    /// The name of one of the team's rate limits, which this request counts against.
    pub rate_limit_key: Option<String>,
}

/// How to ask.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "RFC 9110 says what they mean")]
pub enum WebMethod {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl From<WebMethod> for Method {
    fn from(method: WebMethod) -> Method {
        match method {
            WebMethod::Get => Method::Get,
            WebMethod::Head => Method::Head,
            WebMethod::Post => Method::Post,
            WebMethod::Put => Method::Put,
            WebMethod::Patch => Method::Patch,
            WebMethod::Delete => Method::Delete,
        }
    }
}

/// What came of it. With an answer: `success`, `status`, `headers`, `body`, `truncated`; without one: `error`.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebFetchOutput {
    /// Whether there was an answer: one that says 404 is one.
    pub success: bool,
    /// The answer's status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Where the answer came from, if redirects led elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The answer's headers by name, lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The text, a page as Markdown; empty where the body is in `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Whether the end of the body is missing because it is too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The file of the workspace that a body which is no text was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When the rate limit lets the next request through, in milliseconds from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Tool for WebFetch {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("web_fetch"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/web_fetch.md")),
        domain: Domain::Web,
        source: Source::Native,
        availability: Availability::Both,
        // It may send something as well: neither beside others of its turn, nor a second time.
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        // Beyond the fetcher's own limit, whose words say more.
        timeout: Duration::from_secs(60),
        max_result_bytes: 48 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = WebFetchArgs;
    type Output = WebFetchOutput;

    async fn run(&self, call: &Call, args: WebFetchArgs) -> Result<WebFetchOutput, ToolError> {
        let WebFetchArgs { url, method, headers, body, rate_limit_key } = args;
        let request = Request {
            url,
            method: method.map(Method::from).unwrap_or_default(),
            headers: headers.unwrap_or_default().into_iter().collect(),
            body: body.map(String::into_bytes),
        };
        let rules = self.teams.of(&call.team);
        // What is refused anyway takes nothing from the bucket.
        if let Err(error) = self.fetcher.check(&request, &rules.allowed) {
            return Ok(WebFetchOutput::not(error));
        }
        if let Some(key) = rate_limit_key
            && let Err(wait) = self.teams.take(&call.team, &key)
        {
            return Ok(WebFetchOutput::wait(&key, wait));
        }
        let mut trace = Trace::default();
        let fetched = match self.fetcher.fetch(request, &rules.allowed, &mut trace).await {
            Ok(fetched) => fetched,
            Err(error) => return Ok(WebFetchOutput::not(error)),
        };
        let moved = (trace.hops.len() > 1).then(|| fetched.url.to_string());
        Ok(WebFetchOutput { url: moved, ..self.answer(call, fetched).await? })
    }
}

impl WebFetch {
    async fn answer(&self, call: &Call, fetched: Fetched) -> Result<WebFetchOutput, ToolError> {
        let Fetched { status, headers, body, truncated, .. } = fetched;
        let (body, file) = match body {
            Body::Text(text) => (text, None),
            Body::File { bytes, name } => {
                let (workspaces, team) = (self.workspaces.clone(), call.team.clone());
                let path = blocking(move || write(&workspaces.of(&team)?, &name, bytes)).await?;
                (String::new(), Some(path))
            }
        };
        Ok(WebFetchOutput {
            success: true,
            status: Some(status),
            headers: Some(headers),
            body: Some(body),
            truncated: Some(truncated),
            file,
            ..WebFetchOutput::default()
        })
    }
}

impl WebFetchOutput {
    fn not(error: impl ToString) -> WebFetchOutput {
        WebFetchOutput { error: Some(error.to_string()), ..WebFetchOutput::default() }
    }

    fn wait(key: &str, wait: Duration) -> WebFetchOutput {
        // A part of a millisecond is one more: asking at that moment is not too early.
        let ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let error = format!("the rate limit `{}` lets no request through for {ms} ms", base::text::cut(key, 100));
        WebFetchOutput { retry_after_ms: Some(ms), ..WebFetchOutput::not(error) }
    }
}

/// Writes a file under its name, or under the next one with a number where that name is taken. Its path.
fn write(workspace: &Workspace, name: &str, bytes: Vec<u8>) -> Result<String, ToolError> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "bin"));
    let mut bytes = Some(bytes);
    for number in 1..=SAME_NAME_MAX {
        let path = if number == 1 { format!("{FOLDER}/{name}") } else { format!("{FOLDER}/{stem}-{number}.{ending}") };
        let decide = |_: &std::path::Path, existing: Option<&_>| {
            let content = if existing.is_some() { None } else { bytes.take() };
            let written = content.is_some();
            Ok((content, written))
        };
        let (path, written) = workspace.change(&path, true, decide)?;
        if written {
            return Ok(path.to_string_lossy().into_owned());
        }
    }
    Err(ToolError::refused(format!("there are {SAME_NAME_MAX} files called `{name}` in `{FOLDER}`: tidy up there")))
}
