//! `notify`: a message to people that waits for no answer.

use std::borrow::Cow;
use std::time::Duration;

use base::Scrub;
use channels::Action;
use org::notices;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Conn;
use store::outbox::New;

use super::{People, too_long};
use crate::call::Call;
use crate::run::receipt;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// The longest title, in characters.
const TITLE_CHARS: usize = 100;
/// The longest body, in characters.
const BODY_CHARS: usize = 500;

/// Tells people something.
pub struct Notify {
    /// How they are reached.
    pub people: People,
    /// A notice never holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// What they are told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyArgs {
    /// What it is about, up to 100 characters.
    pub title: String,
    /// More about it, up to 500 characters.
    pub body: Option<String>,
}

/// What was done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Notified {
    /// Always true: it is on its way.
    pub success: bool,
    /// The conversations that get it.
    pub sent_to: Vec<String>,
}

impl Tool for Notify {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("notify"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/notify.md")),
        domain: Domain::Human,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(10),
        max_result_bytes: 8 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = NotifyArgs;
    type Output = Notified;

    async fn run(&self, call: &Call, args: NotifyArgs) -> Result<Notified, ToolError> {
        let (title, body) = (args.title.trim(), args.body.as_deref().unwrap_or_default().trim());
        if title.is_empty() {
            return Err(ToolError::refused("a notice needs a title"));
        }
        if let Some(why) = too_long("title", title, TITLE_CHARS).or_else(|| too_long("body", body, BODY_CHARS)) {
            return Err(ToolError::Refused(why));
        }
        let places = self.people.of(call).await?;
        if places.is_empty() {
            return Err(ToolError::refused(
                "there is nobody to tell: no conversation caused this turn, and no admin is known",
            ));
        }
        // One line: what comes after it is the body.
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = if body.is_empty() { format!("**{title}**") } else { format!("**{title}**\n{body}") };
        let (text, now) = (self.scrub.clean(&text), self.people.clock.now());
        let push = async |conn: &mut Conn| {
            for place in &places {
                let action = Action::Delete { message_id: String::new() };
                let template = New { topic: call.origin.topic, run: Some(call.run), ..New::message(place, action) };
                notices::send(conn, &text, Vec::new(), &template, now).await?;
            }
            let sent_to = places.iter().map(ToString::to_string).collect();
            let notified = Notified { success: true, sent_to };
            receipt::write(conn, call, &self.scrub, &notified, now).await?;
            Ok(notified)
        };
        Ok(self.people.db.tx("notify", push).await?)
    }
}
