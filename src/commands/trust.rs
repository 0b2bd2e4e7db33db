//! `/trust …`: who may talk to the hive.

use anyhow::Result;
use base::clock;
use channels::OptionKind;
use org::trust::change::{self, Actor, Change, Changed, Refusal, Role, Via};
use store::Conn;
use store::trust::{self, Audit, Row};

use super::{Asked, Command, Takes, Who, values};

const WHO: Takes = Takes {
    name: "who",
    about: "an id such as discord:42 or a mention; or answer one of their messages",
    kind: OptionKind::User,
    required: false,
};
const WHERE: Takes = Takes {
    name: "conversation",
    about: "only there: `here` or an id; everywhere without it",
    kind: OptionKind::Conversation,
    required: false,
};
const EXPIRES: Takes = Takes {
    name: "expires",
    about: "for how long, such as 12h or 7d; for good without it",
    kind: OptionKind::Text,
    required: false,
};
const COUNT: Takes =
    Takes { name: "count", about: "how many entries, 20 without it", kind: OptionKind::Text, required: false };

pub(super) const ADD: Command = Command {
    name: "trust add",
    about: "Let somebody talk to me",
    who: Who::Admin,
    takes: &[WHO, WHERE, EXPIRES],
    run: |conn, asked| Box::pin(edit(conn, asked, Verb::Add)),
};
pub(super) const DENY: Command = Command {
    name: "trust deny",
    about: "Have me ignore somebody",
    who: Who::Admin,
    takes: &[WHO, WHERE, EXPIRES],
    run: |conn, asked| Box::pin(edit(conn, asked, Verb::Deny)),
};
pub(super) const REVOKE: Command = Command {
    name: "trust revoke",
    about: "Take back what was said about somebody",
    who: Who::Admin,
    takes: &[WHO, WHERE],
    run: |conn, asked| Box::pin(edit(conn, asked, Verb::Revoke)),
};
pub(super) const LIST: Command = Command {
    name: "trust list",
    about: "Who is trusted and who is denied",
    who: Who::Admin,
    takes: &[],
    run: |conn, asked| Box::pin(list(conn, asked)),
};
pub(super) const LOG: Command = Command {
    name: "trust log",
    about: "Who changed whose trust, newest first",
    who: Who::Admin,
    takes: &[COUNT],
    run: |conn, asked| Box::pin(log(conn, asked)),
};

#[derive(Clone, Copy)]
enum Verb {
    Add,
    Deny,
    Revoke,
}

async fn edit(conn: &mut Conn, asked: &Asked<'_>, verb: Verb) -> Result<String> {
    let sender = match values::person(conn, asked, "who").await? {
        Ok(sender) => sender,
        Err(why) => return Ok(why),
    };
    let (conversation, expires_at) =
        match (values::place(asked, "conversation", sender.kind()), values::end(asked, "expires")) {
            (Ok(conversation), Ok(expires_at)) => (conversation, expires_at),
            (Err(why), _) | (_, Err(why)) => return Ok(why),
        };
    let actor = Actor::Person(asked.event.sender.id.clone());
    let change = Change { sender, conversation, actor, via: Via::Command, at: asked.now };
    let policy = &asked.facts.policy;
    let done = match verb {
        Verb::Add => change::grant(conn, policy, &change, Role::Speaker, expires_at).await?,
        Verb::Deny => change::deny(conn, policy, &change, expires_at).await?,
        Verb::Revoke => change::revoke(conn, policy, &change).await?,
    };
    Ok(said(verb, &change, expires_at, done))
}

fn said(verb: Verb, change: &Change, expires_at: Option<clock::Moment>, done: Result<Changed, Refusal>) -> String {
    let who = &change.sender;
    let place = change.conversation.as_ref().map_or("everywhere".to_owned(), |id| format!("in `{id}`"));
    let until = expires_at.map_or(String::new(), |end| format!(" until {}", clock::show(end)));
    let changed = match done {
        Ok(changed) => changed,
        Err(refusal) => return format!("Nothing was changed: {refusal}."),
    };
    let messages = |what: &str| match i64::try_from(changed.messages).unwrap_or(i64::MAX) {
        0 => String::new(),
        number => format!(
            " {} {what}.",
            base::text::count(number, "message of theirs").replace("message of theirss", "messages of theirs")
        ),
    };
    match verb {
        Verb::Add => format!("`{who}` is trusted {place}{until}.{}", messages("handed over")),
        Verb::Deny => format!("`{who}` is denied {place}{until}.{}", messages("will not be read")),
        Verb::Revoke => format!("What was said about `{who}` {place} is taken back; the policy decides again."),
    }
}

async fn list(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let mut lines: Vec<String> =
        asked.facts.policy.admins.iter().map(|id| format!("- `{id}`: admin (HIVE_ADMINS)")).collect();
    for row in trust::list(conn, None, None).await? {
        lines.push(row_line(&row, asked.now));
    }
    Ok(match lines.is_empty() {
        true => "Nobody is trusted by name. The policy of channels.yaml decides about everybody.".to_owned(),
        false => lines.join("\n"),
    })
}

fn row_line(row: &Row, now: clock::Moment) -> String {
    let level = if row.admin { "admin" } else { row.level.as_str() };
    let place = row.conversation.as_ref().map_or(String::new(), |id| format!(" in `{id}`"));
    let until = match row.expires_at {
        Some(end) if end <= now => ", over".to_owned(),
        Some(end) => format!(", until {}", clock::show(end)),
        None => String::new(),
    };
    format!("- `{}`: {level}{place}{until} (by {}, {})", row.sender, row.granted_by, clock::show(row.created_at))
}

async fn log(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let Ok(count) = asked.value("count").unwrap_or("20").parse::<u32>() else {
        return Ok("How many entries? Give a number.".to_owned());
    };
    let entries = trust::log_latest(conn, true, count.clamp(1, 100)).await?;
    Ok(match entries.is_empty() {
        true => "Nobody's trust was ever changed.".to_owned(),
        false => entries.iter().map(log_line).collect::<Vec<_>>().join("\n"),
    })
}

fn log_line(entry: &Audit) -> String {
    let place =
        if entry.conversation.is_empty() { "everywhere".to_owned() } else { format!("in `{}`", entry.conversation) };
    let actor = entry.actor.as_deref().unwrap_or("-");
    format!("- {}: `{}` {} {place} by {actor} ({})", clock::show(entry.at), entry.sender, entry.decision, entry.reason)
}
