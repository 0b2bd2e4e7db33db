//! Answers in words to a question that is open: a reply to the message that asks; in a terminal, the next line.
//!
//! Decided before a message is placed in a topic: an answer belongs to the turn that waits for it, and to no other.

use anyhow::Result;
use base::{InboxId, Moment};
use channels::{Content, Inbound, Kind, Text};
use org::questions as rules;
use org::trust::Verdict;
use store::questions::{self, Question};
use store::{Conn, inbox};

use super::{Commands, judge, say};

/// Takes a message as the answer that a question waits for. `false`: it answers none.
pub(super) async fn answer(commands: &Commands, id: InboxId, event: &Inbound) -> Result<bool> {
    let Content::Text(said) = &event.content else { return Ok(false) };
    // Most messages answer nothing and come from no terminal: about those nothing is read.
    if said.reply_to.is_none() && event.conversation.kind() != Kind::Console {
        return Ok(false);
    }
    let (facts, now) = (&*commands.facts, commands.clock.now());
    if commands.db.read(async |conn| wanted(conn, event, said, now).await).await?.is_none() {
        return Ok(false);
    }
    commands
        .db
        .tx("answer a question", async |conn| {
            // Looked up anew: somebody else may have answered meanwhile.
            let Some(question) = wanted(conn, event, said, now).await? else { return Ok(false) };
            if !inbox::answer(conn, id).await? {
                return Ok(true);
            }
            let verdict = judge(conn, &facts.policy, event, now).await?;
            if verdict == Verdict::Denied {
                // Denied since it was said: as silent as for whatever they say from now on.
                return Ok(true);
            }
            if let Some(words) = rules::say(conn, &question, &said.text, &event.sender.id, verdict, now).await? {
                say(conn, event, &words, facts.render, now).await?;
            }
            Ok(true)
        })
        .await
}

/// The open question that wants words and that this message is said to. In a terminal only one whose turn waits: every
/// other line is a message.
async fn wanted(conn: &mut Conn, event: &Inbound, said: &Text, now: Moment) -> Result<Option<Question>> {
    let place = &event.conversation;
    if let Some(message) = &said.reply_to {
        let found = questions::open_in_message(conn, place, message).await?;
        return Ok(found.filter(|question| question.kind == questions::Kind::Words));
    }
    match place.kind() {
        Kind::Console => questions::words_wanted_in(conn, place, now).await,
        Kind::Discord | Kind::Telegram | Kind::Web => Ok(None),
    }
}
