//! `request_tool_access`: asks an admin for tools that the team does not have.

use std::borrow::Cow;
use std::time::Duration;

use channels::Emphasis;
use org::questions::OPTIONS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Conn;
use store::grants::{self, Granted};
use store::questions::{Answer, Kind};

use super::Directory;
use crate::asking::{AskingTool, Inquiry, Reply};
use crate::call::Call;
use crate::human::People;
use crate::permission::{Grant, shown};
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::ToolError;

/// The bounds of the reason, in characters.
const REASON_CHARS: std::ops::RangeInclusive<usize> = 10..=500;
/// The longest sentence about a tool in the question, in characters.
const ABOUT_CHARS: usize = 100;
/// What the button of one tool begins with that grants it.
const ALLOW: &str = "Allow ";
/// What the button says that grants nothing.
const REFUSE: &str = "Refuse";

/// Asks for tools.
pub struct RequestToolAccess {
    /// How the admins are reached.
    pub people: People,
    /// What tools there are.
    pub directory: Directory,
}

/// Which tools, and why.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestToolAccessArgs {
    /// The names of 1 to 24 tools, as `list_tools` shows them.
    pub tool_names: Vec<String>,
    /// What you need them for, in 10 to 500 characters: the admin reads it.
    pub reason: String,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolAccess {
    /// The tools that you may use from your next step on.
    pub granted: Vec<String>,
    /// The tools that you may not.
    pub refused: Vec<String>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why some are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RequestToolAccess {
    /// The tool of this name.
    fn find(&self, name: &str) -> Option<&Spec> {
        let named = self.directory.records().iter().find(|spec| spec.names().any(|own| own == name.trim()));
        named.filter(|spec| !matches!(spec.source, Source::Internal { .. }))
    }

    /// The logical names of the tools that were named.
    fn names(&self, args: &RequestToolAccessArgs) -> Vec<String> {
        args.tool_names.iter().filter_map(|name| self.find(name)).map(|spec| spec.name.to_string()).collect()
    }

    fn has(&self, call: &Call, name: &str) -> bool {
        self.find(name).is_some_and(|spec| shown(spec, &call.grant).allowed)
    }

    /// The tools that are to be asked for, without those that the agent has.
    fn wanted(&self, call: &Call, args: &RequestToolAccessArgs) -> Result<Vec<&Spec>, String> {
        let chars = args.reason.trim().chars().count();
        if !REASON_CHARS.contains(&chars) {
            return Err(format!("say in 10 to 500 characters what you need it for: these are {chars}"));
        }
        let mut wanted: Vec<&Spec> = Vec::new();
        for name in &args.tool_names {
            let Some(spec) = self.find(name) else {
                let name = base::text::headline(name, 60);
                return Err(format!("there is no tool `{name}`: `list_tools` shows those there are, each by its name"));
            };
            if !shown(spec, &call.grant).allowed && !wanted.iter().any(|other| other.name == spec.name) {
                wanted.push(spec);
            }
        }
        if wanted.is_empty() {
            return Err("you have all of these already, or named none".to_owned());
        }
        if wanted.len() > OPTIONS_MAX {
            return Err(format!("ask for at most {OPTIONS_MAX} tools at once: these are {}", wanted.len()));
        }
        // What the configuration, the kind of agent or the parent forbids, nobody can grant with a click.
        let mut direct = call.grant.direct.clone();
        direct.extend(wanted.iter().map(|spec| spec.name.to_string()));
        let with = Grant { direct, ..(*call.grant).clone() };
        for spec in &wanted {
            let verdict = shown(spec, &with);
            if !verdict.allowed {
                return Err(format!(
                    "`{}` cannot be granted here, also not by an admin: {}",
                    spec.name, verdict.reason
                ));
            }
        }
        Ok(wanted)
    }
}

fn text(call: &Call, wanted: &[&Spec], reason: &str) -> String {
    let mut text = format!("The agent of `{}` asks to use:", call.team);
    for spec in wanted {
        let about = spec.about.trim().split_inclusive(". ").next().unwrap_or_default();
        let risk = if spec.destructive { " It may destroy something: each call is asked for." } else { "" };
        text.push_str(&format!("\n- `{}`: {}{risk}", spec.name, base::text::headline(about, ABOUT_CHARS)));
    }
    text.push_str(&format!("\n\nIt says: {}", reason.split_whitespace().collect::<Vec<_>>().join(" ")));
    if let Some(sender) = &call.origin.sender {
        text.push_str(&format!("\nThe turn was caused by `{sender}`."));
    }
    text
}

impl AskingTool for RequestToolAccess {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("request_tool_access"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/request_tool_access.md")),
        domain: Domain::Admin,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Control,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = RequestToolAccessArgs;
    type Output = ToolAccess;

    async fn inquiry(&self, call: &Call, args: &RequestToolAccessArgs) -> Result<Inquiry, ToolError> {
        let wanted = self.wanted(call, args).map_err(ToolError::Refused)?;
        // Where an admin speaks, that admin is asked; elsewhere nobody there could answer.
        let places = match &call.origin.conversation {
            Some(conversation) if call.grant.admin => vec![conversation.clone()],
            _ => self.people.admins().await?,
        };
        if places.is_empty() {
            return Err(ToolError::refused("no admin is known who could be asked"));
        }
        let (kind, options) = match wanted.as_slice() {
            [only] => (
                Kind::One,
                vec![(format!("{ALLOW}{}", only.name), Emphasis::Danger), (REFUSE.to_owned(), Emphasis::Plain)],
            ),
            several => {
                let ticks = several.iter().map(|spec| (spec.name.to_string(), Emphasis::Plain));
                (Kind::Several, ticks.collect())
            }
        };
        let text = text(call, &wanted, &args.reason);
        Ok(Inquiry { kind, text, options, places, asker: None, wanted: None, once: true })
    }

    async fn answered(&self, call: &Call, args: RequestToolAccessArgs, reply: Reply) -> Result<ToolAccess, ToolError> {
        let Answer::Chosen { by, .. } = reply.answer else {
            let reason = Some("no admin answered in time: take it as a no".to_owned());
            return Ok(ToolAccess { granted: Vec::new(), refused: self.names(&args), by: None, reason });
        };
        // What the buttons said counts: what the agent has may have changed since they were shown.
        let granted: Vec<String> = match reply.labels.as_slice() {
            [one] if one == REFUSE => Vec::new(),
            labels => labels.iter().map(|label| label.strip_prefix(ALLOW).unwrap_or(label).to_owned()).collect(),
        };
        let (reason, now) = (base::text::cut(args.reason.trim(), *REASON_CHARS.end()), self.people.clock.now());
        let add = async |conn: &mut Conn| {
            for tool in &granted {
                let grant = Granted { tool: tool.clone(), reason: reason.clone(), by: by.clone() };
                grants::add(conn, &call.team, &grant, now).await?;
            }
            Ok(())
        };
        self.people.db.tx("grant tools", add).await?;
        let has = |name: &String| granted.contains(name) || self.has(call, name);
        let refused: Vec<String> = self.names(&args).into_iter().filter(|name| !has(name)).collect();
        let reason = (!refused.is_empty()).then(|| "an admin said no: do not ask again for the same".to_owned());
        Ok(ToolAccess { granted, refused, by: Some(by), reason })
    }
}
