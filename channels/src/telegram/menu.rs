//! The commands menu, registered when it has changed.

use std::time::Duration;

use sha2::{Digest, Sha256};
use teloxide::payloads::SetMyCommands;
use teloxide::types::BotCommand;

use super::call::{Api, CallError};
use super::inbound::Me;
use crate::{Cursor, Menu};

/// The stream under which the host keeps what was registered.
pub(super) const STREAM: &str = "telegram/menu";
/// The most commands in a menu, and the longest description in characters (setMyCommands).
const COMMANDS_MAX: usize = 100;
const ABOUT_MAX_CHARS: usize = 256;
/// How often registering is tried, and how long apart at first.
const ATTEMPTS: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// What `setMyCommands` gets. Telegram has no sub-commands and no options: they are words behind the name.
pub(super) fn commands(menu: &Menu) -> Vec<BotCommand> {
    let command = |command: &crate::MenuCommand| {
        let about = if command.about.trim().is_empty() { &command.name } else { &command.about };
        BotCommand::new(command.name.clone(), about.chars().take(ABOUT_MAX_CHARS).collect::<String>())
    };
    menu.commands.iter().take(COMMANDS_MAX).map(command).collect()
}

/// What stands in the cursor once this menu is registered for this bot: the bot's id and a hash of the menu.
pub(super) fn mark(me: &Me, commands: &[BotCommand]) -> Cursor {
    let mut hash = Sha256::new();
    for command in commands {
        for part in [&command.command, &command.description] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let hash = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    Cursor { stream: STREAM.to_owned(), value: format!("{}:{hash}", me.id) }
}

/// Whether the cursor was written for another bot than `me`.
pub(super) fn is_of_another_bot(stored: &Cursor, me: &Me) -> bool {
    stored.value.split_once(':').is_some_and(|(bot, _)| bot != me.id.to_string())
}

/// Registers the menu; patiently, as nothing waits for it.
pub(super) async fn register(api: &Api, commands: Vec<BotCommand>) -> Result<(), CallError> {
    let payload = SetMyCommands::new(commands);
    let mut wait = FIRST_WAIT;
    for _ in 1..ATTEMPTS {
        let error = match api.call::<_, bool>(&payload).await {
            Ok(_) => return Ok(()),
            Err(CallError::Refused(refusal)) if refusal.code == 429 => refusal.retry_after.unwrap_or(wait),
            Err(error @ CallError::Refused(_)) => return Err(error),
            Err(CallError::NotDone(_) | CallError::Unknown(_)) => wait,
        };
        tokio::time::sleep(error).await;
        wait *= 2;
    }
    api.call::<_, bool>(&payload).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MenuCommand;

    fn menu(about: &str) -> Menu {
        let (name, about) = ("help".to_owned(), about.to_owned());
        Menu { commands: vec![MenuCommand { name, about, subcommands: Vec::new(), options: Vec::new() }] }
    }

    #[test]
    fn a_menu_is_another_when_its_words_or_its_bot_are() {
        let me = |id| Me { id, first_name: String::new(), username: String::new(), can_read_all_group_messages: false };
        let mark = |id, about| mark(&me(id), &commands(&menu(about)));
        assert_eq!(mark(1, "a"), mark(1, "a"));
        assert_ne!(mark(1, "a"), mark(1, "b"));
        assert_ne!(mark(1, "a"), mark(2, "a"));
        assert!(is_of_another_bot(&mark(1, "a"), &me(2)));
        assert!(!is_of_another_bot(&mark(1, "a"), &me(1)));
    }

    #[test]
    fn descriptions_are_what_telegram_takes() {
        let shown = |about: &str| commands(&menu(about)).remove(0).description;
        assert_eq!(shown(""), "help");
        assert_eq!(shown(&"ä".repeat(300)), "ä".repeat(256));
    }
}
