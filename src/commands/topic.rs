//! `/topics` and `/topic …`: the lines of talk of this conversation.

use anyhow::Result;
use base::{clock, text};
use channels::{OptionKind, Place};
use store::topics::{self, NamedBy, State, Topic};
use store::{Conn, tasks};

use super::{Asked, Command, Takes, Who};

const WHICH: Takes = Takes { name: "topic", about: "its number or its name", kind: OptionKind::Text, required: true };
const NAME: Takes = Takes { name: "name", about: "the new name", kind: OptionKind::Text, required: true };

pub(super) const LIST: Command = Command {
    name: "topics",
    about: "The topics of this conversation",
    who: Who::Trusted,
    takes: &[],
    run: |conn, asked| Box::pin(list(conn, asked)),
};
pub(super) const NEW: Command = Command {
    name: "topic new",
    about: "Start a topic; what you say next goes there",
    who: Who::Trusted,
    takes: &[Takes { name: "name", about: "what to call it", kind: OptionKind::Text, required: false }],
    run: |conn, asked| Box::pin(new(conn, asked)),
};
pub(super) const SWITCH: Command = Command {
    name: "topic switch",
    about: "Go on with a topic; `auto` has me sort your messages again",
    who: Who::Trusted,
    takes: &[WHICH],
    run: |conn, asked| Box::pin(switch(conn, asked)),
};
pub(super) const RENAME: Command = Command {
    name: "topic rename",
    about: "Give a topic another name",
    who: Who::Trusted,
    takes: &[WHICH, NAME],
    run: |conn, asked| Box::pin(rename(conn, asked)),
};
pub(super) const CLOSE: Command = Command {
    name: "topic close",
    about: "End a topic; the latest one without a number",
    who: Who::Trusted,
    takes: &[Takes { name: "topic", about: "its number or its name", kind: OptionKind::Text, required: false }],
    run: |conn, asked| Box::pin(close(conn, asked)),
};

async fn list(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let open = topics::open_ones(conn, &asked.event.conversation).await?;
    if open.is_empty() {
        return Ok("There is no topic here yet. Say something, and there is one.".to_owned());
    }
    let chosen = topics::choice(conn, &asked.event.conversation, &asked.event.sender.id).await?;
    let mut lines = Vec::new();
    for topic in &open {
        let working = tasks::open_of_topic(conn, topic.id).await?.iter().any(|(_, state)| state == "running");
        lines.push(line(topic, working, chosen == Some(topic.id), asked.now));
    }
    Ok(lines.join("\n"))
}

fn line(topic: &Topic, working: bool, chosen: bool, now: clock::Moment) -> String {
    let ago = clock::show_span(clock::millis(now - topic.last_activity_at));
    let state = match topic.state {
        State::Active => "",
        State::Idle => ", idle",
        State::Closed => ", closed",
    };
    let working = if working { ", working" } else { "" };
    let chosen = if chosen { ", yours" } else { "" };
    format!("- `{}` **{}** ({ago} ago{state}{working}{chosen})", topic.id, crate::welcome::escaped(&topic.name))
}

async fn new(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    if let Some(refusal) = thread(asked) {
        return Ok(refusal);
    }
    let (conversation, facts) = (&asked.event.conversation, asked.facts);
    let name = asked.value("name").unwrap_or_default();
    let topic = org::topics::open_named(conn, conversation, name, facts.rules, asked.now).await?;
    topics::choose(conn, conversation, &asked.event.sender.id, topic, asked.now).await?;
    Ok(match name.trim() {
        "" => format!("Topic `{topic}` is open. What is it about?"),
        name => {
            format!("Topic `{topic}`, **{}**, is open. What you say next goes there.", crate::welcome::escaped(name))
        }
    })
}

async fn switch(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    if let Some(refusal) = thread(asked) {
        return Ok(refusal);
    }
    let (conversation, sender) = (&asked.event.conversation, &asked.event.sender.id);
    if asked.value("topic").is_some_and(|word| word.eq_ignore_ascii_case("auto")) {
        topics::forget_choice(conn, conversation, sender).await?;
        return Ok("I sort your messages into topics again.".to_owned());
    }
    match find(conn, asked).await? {
        Err(why) => Ok(why),
        Ok(topic) => {
            org::topics::use_topic(conn, conversation, topic.id, asked.facts.rules, asked.now).await?;
            topics::choose(conn, conversation, sender, topic.id, asked.now).await?;
            Ok(format!(
                "What you say next goes to `{}` **{}**. `/topic switch auto` ends that.",
                topic.id,
                crate::welcome::escaped(&topic.name)
            ))
        }
    }
}

async fn rename(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let name = text::headline(asked.value("name").unwrap_or_default(), 48);
    match find(conn, asked).await? {
        Err(why) => Ok(why),
        Ok(_) if name.is_empty() => Ok("What is its new name?".to_owned()),
        Ok(topic) => {
            topics::rename(conn, topic.id, &name, NamedBy::Person).await?;
            Ok(format!("`{}` is called **{}** now.", topic.id, crate::welcome::escaped(&name)))
        }
    }
}

async fn close(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    match find(conn, asked).await? {
        Err(why) => Ok(why),
        Ok(topic) => {
            if !tasks::open_of_topic(conn, topic.id).await?.is_empty() {
                return Ok(format!("I am still working on `{}`. `/stop` it first.", topic.id));
            }
            topics::set_state(conn, topic.id, State::Closed).await?;
            Ok(format!("`{}` **{}** is closed.", topic.id, crate::welcome::escaped(&topic.name)))
        }
    }
}

/// The topic that a command means: the one it names, or the latest.
pub(super) async fn find(conn: &mut Conn, asked: &Asked<'_>) -> Result<Result<Topic, String>> {
    let open = topics::open_ones(conn, &asked.event.conversation).await?;
    let found = match asked.value("topic") {
        Some(wanted) => org::topics::find(&open, wanted)
            .cloned()
            .ok_or_else(|| format!("There is no open topic `{}` here. `/topics` lists them.", text::cut(wanted, 48))),
        None => open.into_iter().next().ok_or_else(|| "There is no topic here yet.".to_owned()),
    };
    Ok(found)
}

fn thread(asked: &Asked<'_>) -> Option<String> {
    matches!(asked.event.place, Place::Thread { .. }).then(|| "This thread is a topic of its own.".to_owned())
}
