//! `escalate`: tells the parent something. It makes no work; the root team's parent is people.

use std::borrow::Cow;
use std::time::Duration;

use base::Scrub;
use channels::{Action, ConversationId};
use org::notices;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::notes::{self, Reader};
use store::outbox::New;
use store::{Conn, teams};

use super::text;
use crate::call::Call;
use crate::human::People;
use crate::run::receipt;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};

/// Tells the parent.
pub struct Escalate {
    /// How people are reached.
    pub people: People,
    /// No message holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// What it is told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalateArgs {
    /// What you observed.
    pub message: String,
    /// Why it matters.
    pub reason: Option<String>,
}

/// What was done.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Escalated {
    /// Always true: a failure is an error.
    pub success: bool,
    /// What the log knows it by.
    pub correlation_id: String,
    /// Always true: nobody was given work.
    pub notification_only: bool,
}

impl Tool for Escalate {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("escalate"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/escalate.md")),
        domain: Domain::Org,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Write,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 4 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = EscalateArgs;
    type Output = Escalated;

    async fn run(&self, call: &Call, args: EscalateArgs) -> Result<Escalated, ToolError> {
        let message = text("message", &args.message)?;
        let reason = args.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let said = self.scrub.clean(&reason.map_or(message.to_owned(), |reason| format!("{message}\n\nWhy: {reason}")));
        let correlation_id = format!("escalation:{}:{}:{}:{}", call.team, call.run, call.step, call.call_id);
        let escalated = Escalated { success: true, correlation_id: correlation_id.clone(), notification_only: true };
        let people = self.people.of(call).await?;
        let now = self.people.clock.now();
        let tell = async |conn: &mut Conn| {
            let parent = teams::get(conn, &call.team).await?.and_then(|own| own.parent);
            if let Some(parent) = &parent {
                let topic = call.origin.topic.filter(|_| parent.is_main());
                let reader = Reader { team: parent.clone(), topic };
                let note = format!("Escalation {correlation_id}: {said}");
                notes::add(conn, &reader, &call.team, &note, now).await?;
            }
            // What reaches the root team reaches the people behind it in the same moment.
            if parent.as_ref().is_none_or(base::TeamName::is_main) {
                announce(conn, call, &people, &said, now).await?;
            }
            if parent.is_some() || !people.is_empty() {
                receipt::write(conn, call, &self.scrub, &escalated, now).await?;
            }
            Ok(parent)
        };
        let parent = self.people.db.tx("escalate", tell).await?;
        if parent.is_none() && people.is_empty() {
            let why = "there is nobody to tell: no conversation caused this turn, and no admin is known";
            return Err(ToolError::refused(why));
        }
        let to = parent.as_ref().map_or("people", base::TeamName::as_str);
        tracing::info!(team = %call.team, %correlation_id, "{} escalated to {to}", call.team);
        Ok(escalated)
    }
}

async fn announce(
    conn: &mut Conn,
    call: &Call,
    people: &[ConversationId],
    said: &str,
    now: base::Moment,
) -> anyhow::Result<()> {
    for place in people {
        let action = Action::Delete { message_id: String::new() };
        let topic = call.origin.topic.filter(|_| call.origin.conversation.as_ref() == Some(place));
        let template = New { topic, run: Some(call.run), ..New::message(place, action) };
        notices::send(conn, &format!("[{}] {said}", call.team), Vec::new(), &template, now).await?;
    }
    Ok(())
}
