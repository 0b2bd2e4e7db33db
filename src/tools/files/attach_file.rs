//! `attach_file`: a file of the workspace for the people of the conversation.

use std::borrow::Cow;
use std::time::Duration;

use base::Clock;
use channels::{Action, File, FileSource, Kind, Piece};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{Db, outbox};

use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspaces, blocking, printable, shown};

/// The longest file that a bot may send on Discord where nobody boosts the server.
const DISCORD_BYTES_MAX: u64 = 10 * 1_024 * 1_024;

/// The longest file that a bot may send on Telegram (Bot API, "Sending files"); elsewhere nothing says less.
const BYTES_MAX: u64 = 50 * 1_000 * 1_000;

/// The longest name that a file is sent under, in characters.
const NAME_CHARS_MAX: usize = 120;

/// Sends a file.
pub struct AttachFile {
    /// The database, for the outbox.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// What to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachFileArgs {
    /// The file, relative to the workspace.
    #[serde(alias = "source", alias = "file_path")]
    pub path: String,
    /// The name that people see. Left out: the file's own.
    #[serde(alias = "fileName")]
    pub file_name: Option<String>,
}

impl Tool for AttachFile {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("attach_file"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/attach_file.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Main,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Once,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 4_096,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = AttachFileArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: AttachFileArgs) -> Result<String, ToolError> {
        let Some(conversation) = call.origin.conversation.clone() else {
            return Err(ToolError::refused("this work belongs to no conversation: there is nobody to send a file to"));
        };
        let bytes_max = if conversation.kind() == Kind::Discord { DISCORD_BYTES_MAX } else { BYTES_MAX };
        let (workspaces, team, path) = (self.workspaces.clone(), call.team.clone(), args.path.clone());
        let copy = blocking(move || {
            let (mut file, metadata) = workspaces.of(&team)?.open_file(&path)?;
            if metadata.len() == 0 {
                return Err(ToolError::refused(format!(
                    "{} is empty, and platforms send no empty files",
                    shown(&path)
                )));
            }
            let copy = workspaces.keep_to_send(&mut file, bytes_max)?;
            copy.ok_or_else(|| {
                ToolError::refused(format!(
                    "{} is longer than {bytes_max} bytes, the most that can be sent here",
                    shown(&path)
                ))
            })
        })
        .await?;
        let name = name(args.file_name.as_deref(), &args.path)?;
        let file = File { name: name.clone(), source: FileSource::Path(copy) };
        let row = outbox::New {
            topic: call.origin.topic,
            run: Some(call.run),
            ..outbox::New::message(&conversation, Action::Send(Piece { files: vec![file], ..Piece::default() }))
        };
        let now = self.clock.now();
        self.db.tx("attach a file", async |conn| outbox::push(conn, &row, now).await).await?;
        Ok(format!("{} is on its way to the conversation", shown(&name)))
    }
}

/// The name that people see: the last part of what was given, on one line.
fn name(wanted: Option<&str>, path: &str) -> Result<String, ToolError> {
    let text = wanted.unwrap_or(path).trim_end_matches('/');
    let last = printable(text.rsplit(['/', '\\']).next().unwrap_or("").trim());
    if last.is_empty() || last.bytes().all(|byte| byte == b'.') || last.chars().count() > NAME_CHARS_MAX {
        return Err(ToolError::refused(format!("{} is no name for a file", shown(text))));
    }
    Ok(last)
}
