//! `/whoami`: how I see whoever asks.

use anyhow::Result;
use base::clock;
use org::trust::Verdict;
use store::{Conn, trust};

use super::{Asked, Command, Who};

pub(super) const WHOAMI: Command = Command {
    name: "whoami",
    about: "Your id, and what you may do here",
    who: Who::Trusted,
    takes: &[],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let event = asked.event;
    let rows = trust::of_sender(conn, &event.sender.id).await?;
    let decision = org::trust::of_event(&asked.facts.policy, &rows, event, asked.now);
    let may = match decision.verdict {
        Verdict::Trusted { admin: true } => "an admin",
        Verdict::Trusted { admin: false } => "trusted",
        Verdict::Denied => "denied",
        Verdict::Unknown => "unknown",
    };
    let until = rows.iter().filter_map(|row| row.expires_at).filter(|end| *end > asked.now).min();
    let until = until.map_or(String::new(), |end| format!(", until {}", clock::show(end)));
    Ok(format!(
        "You are `{}`, {may} here{until} ({}). This conversation is `{}`.",
        event.sender.id, decision.reason, event.conversation
    ))
}
