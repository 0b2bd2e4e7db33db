//! One platform with two people on it: a guest and an admin, each in their direct conversation with the bot.

use std::time::Duration;

use anyhow::{Result, bail};
use fakes::discord::{Discord, Given};
use fakes::telegram::Telegram;

/// How long something is waited for.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often a screen is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Who looks at a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    /// Somebody whom the hive does not know at first.
    Guest,
    /// Whoever runs the hive.
    Admin,
}

impl Person {
    /// The name in the transcript.
    pub fn name(self) -> &'static str {
        match self {
            Person::Guest => "guest",
            Person::Admin => "admin",
        }
    }
}

/// A message of the bot as a person sees it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// What can be pressed under it.
    pub buttons: Vec<String>,
}

/// A platform and its people.
pub enum Side {
    /// Discord, with ids of people and of their direct conversations.
    Discord {
        /// The server.
        platform: Discord,
        /// Guest and admin.
        people: [u64; 2],
        /// Their conversations.
        rooms: [u64; 2],
    },
    /// Telegram, where a private chat has its person's id.
    Telegram {
        /// The server.
        platform: Telegram,
        /// Guest and admin.
        people: [i64; 2],
    },
}

impl Side {
    /// Two people on Discord.
    pub fn discord(platform: Discord) -> Side {
        let people = [platform.user("guest"), platform.user("admin")];
        let rooms = people.map(|person| platform.dm(person));
        Side::Discord { platform, people, rooms }
    }

    /// Two people on Telegram.
    pub fn telegram(platform: Telegram) -> Side {
        let people = [platform.user("guest"), platform.user("admin")].map(|person| platform.private(person));
        Side::Telegram { platform, people }
    }

    /// Somebody's id, as the hive writes it.
    pub fn id(&self, person: Person) -> String {
        match self {
            Side::Discord { people, .. } => format!("discord:{}", people[person as usize]),
            Side::Telegram { people, .. } => format!("telegram:{}", people[person as usize]),
        }
    }

    /// Somebody writes to the bot.
    pub fn says(&self, person: Person, text: &str) {
        match self {
            Side::Discord { platform, people, rooms } => {
                platform.say(rooms[person as usize], people[person as usize], text);
            }
            Side::Telegram { platform, people } => {
                platform.say(people[person as usize], people[person as usize], text);
            }
        }
    }

    /// Somebody uses a command that takes one value: by Discord's menu, or as Telegram's text.
    pub fn commands(&self, person: Person, command: &str, option: &str, value: &str) {
        match self {
            Side::Discord { platform, people, rooms } => {
                let given = [(option, Given::Text(value.to_owned()))];
                platform.slash(rooms[person as usize], people[person as usize], command, &given);
            }
            Side::Telegram { .. } => self.says(person, &format!("/{command} {value}")),
        }
    }

    /// Somebody presses a button.
    pub fn presses(&self, person: Person, under: &Seen, button: &str) -> Result<()> {
        match self {
            Side::Discord { platform, people, .. } => {
                platform.click(under.id.parse()?, button, people[person as usize]);
            }
            Side::Telegram { platform, people } => {
                platform.click(people[person as usize], under.id.parse()?, button, people[person as usize]);
            }
        }
        Ok(())
    }

    /// What the bot shows somebody now, oldest first.
    pub fn screen(&self, person: Person) -> Vec<Seen> {
        match self {
            Side::Discord { platform, rooms, .. } => {
                let shown = platform.answers(rooms[person as usize]).into_iter();
                let buttons = |shown: &[fakes::discord::ShownButton]| shown.iter().map(|it| it.label.clone()).collect();
                shown.map(|it| Seen { id: it.id.to_string(), buttons: buttons(&it.buttons), text: it.text }).collect()
            }
            Side::Telegram { platform, people } => {
                let shown = platform.messages(people[person as usize]).into_iter();
                let buttons = |rows: &[Vec<(String, String)>]| rows.iter().flatten().map(|it| it.0.clone()).collect();
                shown
                    .map(|it| Seen { id: it.message_id.to_string(), buttons: buttons(&it.buttons), text: it.text })
                    .collect()
            }
        }
    }

    /// Waits until `found` finds something on somebody's screen.
    pub async fn sees<T>(&self, person: Person, what: &str, found: impl Fn(&[Seen]) -> Option<T>) -> Result<T> {
        let mut looks = tokio::time::interval(LOOK);
        let seen = tokio::time::timeout(PATIENCE, async {
            loop {
                looks.tick().await;
                if let Some(found) = found(&self.screen(person)) {
                    return found;
                }
            }
        });
        match seen.await {
            Ok(found) => Ok(found),
            Err(_) => bail!("the {} did not see {what}, but {:#?}", person.name(), self.screen(person)),
        }
    }

    /// Waits until a message that came after the first `before` has `part` in it.
    pub async fn answer(&self, person: Person, before: usize, part: &str) -> Result<Seen> {
        let found = |shown: &[Seen]| shown.iter().skip(before).find(|it| it.text.contains(part)).cloned();
        self.sees(person, &format!("an answer with \"{part}\""), found).await
    }
}
