//! `spawn_team`: a new team below the calling one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use base::secret::REDACTED;
use base::{Secret, TaskId, TeamName};
use org::teams::config::{FILE_BYTES_MAX, TeamConfig};
use org::teams::{DESCRIPTION_CHARS_MAX, Tree, Wish, Wisher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Charter, named};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{self, Workspaces};

/// Makes a team.
pub struct SpawnTeam {
    /// The tree.
    pub tree: Tree,
    /// What the caller can give.
    pub charter: Charter,
    /// Where its configuration may lie.
    pub workspaces: Workspaces,
}

/// The team.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnTeamArgs {
    /// Its name: lower-case letters, digits and single hyphens.
    pub name: String,
    /// A YAML file of your own workspace with its configuration. It can grant nothing that you lack.
    pub config_path: Option<String>,
    /// What it is for, in a sentence.
    pub description: Option<String>,
    /// Keywords of what it takes on, for whoever routes work. Recommended without config_path.
    pub scope_accepts: Option<Vec<String>>,
    /// What it should know about itself from the start. No secrets.
    pub init_context: Option<String>,
    /// Its secrets by name, for its vault. Best `{{secret:NAME}}` of your own.
    pub credentials: Option<BTreeMap<String, String>>,
}

/// What was begun.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamSpawned {
    /// Always `queued`: it makes itself ready now.
    pub status: &'static str,
    /// Its first task.
    pub bootstrap_task_id: i64,
    /// Say this to the user.
    pub message_for_user: String,
    /// What else to keep in mind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Tool for SpawnTeam {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("spawn_team"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/spawn_team.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Org,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(60),
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    const SECRETS: &'static [&'static str] = &["credentials"];
    type Args = SpawnTeamArgs;
    type Output = TeamSpawned;

    async fn run(&self, call: &Call, args: SpawnTeamArgs) -> Result<TeamSpawned, ToolError> {
        let name = named(&args.name)?;
        let description = described(args.description.as_deref().unwrap_or_default())?;
        let mut config = match args.config_path.as_deref() {
            Some(path) => self.written(call, path, &name).await?,
            None => TeamConfig::of_new_team(&name, &call.team, &description),
        };
        if !description.is_empty() {
            config.description = description;
        }
        let credentials = args.credentials.unwrap_or_default();
        if let Some((key, _)) = credentials.iter().find(|(_, value)| value.contains(REDACTED)) {
            // What was journaled has no secrets: a turn that is entered again has lost the value.
            let why = format!(
                "the value of the credential `{key}` is not known any more: ask for it again and write it as a text, or \
                 store it as a secret first and write `{{{{secret:NAME}}}}`"
            );
            return Err(ToolError::Refused(why));
        }
        let wish = Wish {
            name: name.clone(),
            parent: call.team.clone(),
            config,
            scope: args.scope_accepts.unwrap_or_default(),
            init_context: args.init_context,
            credentials: credentials.into_iter().map(|(key, value)| (key, Secret::new(value))).collect(),
            origin: call.origin.clone(),
            call: Some(Wisher { run: call.run, step: call.step, call_id: call.call_id.to_string(), words }),
        };
        let spawned = self.tree.spawn(wish.clone()).await?;
        Ok(come_true(&wish, spawned.bootstrap))
    }
}

/// A description as it is kept: one line, and all of it.
fn described(text: &str) -> Result<String, ToolError> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars = line.chars().count();
    if chars > DESCRIPTION_CHARS_MAX {
        let why = format!(
            "the description has {chars} characters, and may have {DESCRIPTION_CHARS_MAX}: the rest belongs into \
             init_context"
        );
        return Err(ToolError::Refused(why));
    }
    Ok(line)
}

fn come_true(wish: &Wish, bootstrap: TaskId) -> TeamSpawned {
    let note = "The credentials are in the team's vault: do not repeat them.";
    TeamSpawned {
        status: "queued",
        bootstrap_task_id: bootstrap.0,
        message_for_user: format!("The team `{}` is being set up. I will say here when it is ready.", wish.name),
        note: (!wish.credentials.is_empty()).then_some(note),
    }
}

/// What the model gets.
fn words(wish: &Wish, bootstrap: TaskId) -> String {
    serde_json::to_string(&come_true(wish, bootstrap)).expect("texts and a number are JSON")
}

impl SpawnTeam {
    /// The configuration that lies in the caller's workspace, where it may stand.
    async fn written(&self, call: &Call, path: &str, name: &TeamName) -> Result<TeamConfig, ToolError> {
        let workspace = self.workspaces.of(&call.team)?;
        let given = path.to_owned();
        let text = workspace::blocking(move || {
            let (file, metadata) = workspace.open_file(&given)?;
            let shown = workspace::shown(&given);
            if metadata.len() > FILE_BYTES_MAX as u64 {
                return Err(ToolError::refused(format!("{shown} is too long: at most {FILE_BYTES_MAX} bytes")));
            }
            let (mut text, most) = (String::new(), FILE_BYTES_MAX as u64 + 1);
            let read = file.take(most).read_to_string(&mut text);
            read.map_err(|_| ToolError::refused(format!("{shown} is no text in UTF-8"))).map(|_| text)
        });
        let text = text.await?;
        let file = workspace::printable(path);
        let config = TeamConfig::parse(&file, &text).map_err(|fault| ToolError::Refused(fault.to_string()))?;
        for (key, said, is) in [("name", &config.name, name), ("parent", &config.parent, &call.team)] {
            if said.as_ref().is_some_and(|said| said != is) {
                return Err(ToolError::refused(format!("{file}: `{key}`: it must be `{is}`, or not be there")));
            }
        }
        self.charter.check(call, &file, &config).await?;
        Ok(config)
    }
}
