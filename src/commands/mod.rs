//! Chat commands: answered by code, without a model. One registry feeds Discord's slash commands, Telegram's menu and
//! the terminal.
//!
//! | file | what |
//! |---|---|
//! | `read` | event → which command, with what |
//! | `values` | words → people, places, spans |
//! | `menu` | registry → the platforms' menus |
//! | `buttons`, `typed` | answers to questions: clicks, and words |
//! | `board` | the live message of teams at work, and its buttons |
//! | the rest | one command or one family each |
//!
//! Every command, by whatever path it came, passes [`Commands::answer`]: there its sender is judged anew and the
//! admin's commands are kept for admins. What a command changes and what it says are one transaction.

pub mod board;
mod buttons;
mod help;
mod menu;
mod pair;
mod read;
mod status;
mod stop;
mod teams;
mod topic;
mod trust;
mod typed;
mod usage;
mod values;
mod whoami;
mod why;

use std::sync::Arc;

use anyhow::Result;
use base::{Clock, InboxId, Moment};
use channels::render::RenderLimits;
use channels::{Action, Content, Inbound, OptionKind, Place, ReplyHandle};
use futures::future::BoxFuture;
use org::topics::Rules;
use org::trust::{Policy, Verdict};
use store::outbox::{self, New};
use store::{Conn, Db, inbox};

use crate::toolkit::Rights;

pub use menu::menu;
pub use pair::{CODE_CHARS, digest, is_pairing};
pub use status::{hive_status, show_counts};
pub use teams::show_teams;
pub use usage::hive_usage;

/// One command.
pub struct Command {
    /// Its path without slash: `topics`, `trust add`.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Who may use it.
    pub who: Who,
    /// What it takes, in the order of words on a line.
    pub takes: &'static [Takes],
    /// What it does: changes rows and says what it did.
    run: for<'a> fn(&'a mut Conn, &'a Asked<'a>) -> BoxFuture<'a, Result<String>>,
}

/// Who may use a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Everybody, also strangers.
    Anybody,
    /// Everybody who is trusted.
    Trusted,
    /// Admins.
    Admin,
}

/// One thing that a command takes.
#[derive(Debug)]
pub struct Takes {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What it is.
    pub kind: OptionKind,
    /// Whether it must be there.
    pub required: bool,
}

/// Every command, in the order in which they are listed.
pub const COMMANDS: &[&Command] = &[
    &help::HELP,
    &whoami::WHOAMI,
    &pair::PAIR,
    &topic::LIST,
    &topic::NEW,
    &topic::SWITCH,
    &topic::RENAME,
    &topic::CLOSE,
    &stop::STOP,
    &status::STATUS,
    &teams::TREE,
    &usage::USAGE,
    &why::WHY,
    &trust::ADD,
    &trust::DENY,
    &trust::REVOKE,
    &trust::LIST,
    &trust::LOG,
];

/// What commands know of the hive.
pub struct Facts {
    /// Who may speak.
    pub policy: Arc<Policy>,
    /// How topics are kept.
    pub rules: Rules,
    /// When the hive started.
    pub started_at: Moment,
    /// The main agent's model, for people.
    pub model: String,
    /// How answers are cut.
    pub render: RenderLimits,
    /// What the main agent may use.
    pub rights: Arc<Rights>,
}

/// A command that somebody gave.
struct Asked<'a> {
    event: &'a Inbound,
    /// The sender is an admin.
    admin: bool,
    /// The values, by the names of [`Takes`].
    values: Vec<(&'static str, String)>,
    facts: &'a Facts,
    now: Moment,
}

impl Asked<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// Answers commands and clicks.
pub struct Commands {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// What commands know.
    pub facts: Arc<Facts>,
}

impl Commands {
    /// Answers an event that is a command, a click, or the words that a question waits for. `false`: it is none of them.
    ///
    /// # Errors
    /// Where the rows could not be read or written; nothing has changed then.
    pub async fn answer(&self, id: InboxId, event: &Inbound) -> Result<bool> {
        let reading = match &event.content {
            Content::Click { .. } => None,
            Content::Edit { .. } => return self.pass_over(id).await,
            Content::Text(_) | Content::Command { .. } => match read::read(event) {
                read::Reading::Nothing => return typed::answer(self, id, event).await,
                reading => Some(reading),
            },
        };
        let now = self.clock.now();
        let facts = &*self.facts;
        self.db
            .tx("answer a command", async |conn| {
                if !inbox::answer(conn, id).await? {
                    return Ok(());
                }
                let verdict = judge(conn, &facts.policy, event, now).await?;
                if verdict == Verdict::Denied {
                    // Denied since it was said: as silent as for whatever they say from now on.
                    return Ok(());
                }
                let said = match reading {
                    None => buttons::click(conn, facts, event, verdict, now).await?,
                    Some(reading) => Some(obey(conn, facts, event, verdict, reading, now).await?),
                };
                match said {
                    Some(said) => say(conn, event, &said, facts.render, now).await,
                    None => Ok(()),
                }
            })
            .await?;
        Ok(true)
    }

    async fn pass_over(&self, id: InboxId) -> Result<bool> {
        self.db.note("pass an edit over", async |conn| inbox::answer(conn, id).await).await?;
        Ok(true)
    }
}

/// The sender as of now: what was true when the event came may not be any more.
async fn judge(conn: &mut Conn, policy: &Policy, event: &Inbound, now: Moment) -> Result<Verdict> {
    let rows = store::trust::of_sender(conn, &event.sender.id).await?;
    Ok(org::trust::of_event(policy, &rows, event, now).verdict)
}

async fn obey(
    conn: &mut Conn,
    facts: &Facts,
    event: &Inbound,
    verdict: Verdict,
    reading: read::Reading,
    now: Moment,
) -> Result<String> {
    let (command, values) = match reading {
        read::Reading::Command(command, values) => (command, values),
        read::Reading::Wrong(why) => return Ok(why),
        read::Reading::Nothing => return Ok(String::new()),
    };
    let admin = verdict == Verdict::Trusted { admin: true };
    let allowed = match command.who {
        Who::Anybody => true,
        Who::Trusted => matches!(verdict, Verdict::Trusted { .. }),
        Who::Admin => admin,
    };
    if !allowed {
        let whom = if command.who == Who::Admin { "admins" } else { "people I know" };
        return Ok(format!("`/{}` is for {whom}.", command.name));
    }
    (command.run)(conn, &Asked { event, admin, values, facts, now }).await
}

/// Puts an answer into the outbox, to where the question came from.
async fn say(conn: &mut Conn, event: &Inbound, markdown: &str, render: RenderLimits, now: Moment) -> Result<()> {
    let template = New {
        handle: handle_of(event),
        reply_to: (event.place != Place::Direct && handle_of(event).is_none()).then(|| event.event_id.clone()),
        ..New::message(&event.conversation, Action::Delete { message_id: String::new() })
    };
    for row in crate::session::reply_rows(&event.conversation, markdown, render, &template) {
        outbox::push(conn, &row, now).await?;
    }
    Ok(())
}

/// The interaction that an event opened, if it opened one that expects an answer of its own.
pub fn handle_of(event: &Inbound) -> Option<ReplyHandle> {
    match &event.content {
        Content::Command { handle, .. } => handle.clone(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_fits_every_platform_s_rules() {
        let word = |name: &str| name.chars().all(|c| c.is_ascii_lowercase()) && (1..=32).contains(&name.len());
        for command in COMMANDS {
            assert!(command.name.split(' ').all(word) && command.name.split(' ').count() <= 2, "{}", command.name);
            assert!((1..=100).contains(&command.about.chars().count()), "{}", command.name);
            let mut required_ended = false;
            for takes in command.takes {
                assert!(word(takes.name) && takes.about.len() <= 100, "{} {}", command.name, takes.name);
                assert!(!(takes.required && required_ended), "{}: required values come first", command.name);
                required_ended |= !takes.required;
            }
        }
        let mut names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }
}
