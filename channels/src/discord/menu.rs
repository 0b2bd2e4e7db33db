//! The menu of slash commands as Discord wants it registered. Pure.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Menu, MenuCommand, MenuOption, OptionKind};

/// The stream whose position is the [`fingerprint`] of the menu that Discord has.
pub(super) const STREAM: &str = "discord/menu";

/// Discord's numbers for what an option can be
/// (<https://discord.com/developers/docs/interactions/application-commands#application-command-object>).
const SUB_COMMAND: u8 = 1;
const STRING: u8 = 3;
const USER: u8 = 6;
const CHANNEL: u8 = 7;

/// The body of the request that replaces all commands of an application.
pub(super) fn body(menu: &Menu) -> Value {
    menu.commands.iter().map(command).collect()
}

/// Tells one menu of one application from any other.
pub(super) fn fingerprint(application: u64, body: &Value) -> String {
    let digest = Sha256::digest(format!("{application} {body}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn command(command: &MenuCommand) -> Value {
    let mut json = json!({ "type": 1, "name": command.name, "description": about(command) });
    let subcommands = command.subcommands.iter().map(|inner| {
        let mut json = json!({ "type": SUB_COMMAND, "name": inner.name, "description": about(inner) });
        if !inner.options.is_empty() {
            json["options"] = inner.options.iter().map(option).collect();
        }
        json
    });
    let options: Vec<Value> = subcommands.chain(command.options.iter().map(option)).collect();
    if !options.is_empty() {
        json["options"] = options.into();
    }
    json
}

fn option(option: &MenuOption) -> Value {
    let kind = match option.kind {
        OptionKind::Text => STRING,
        OptionKind::User => USER,
        OptionKind::Conversation => CHANNEL,
    };
    json!({ "type": kind, "name": option.name, "description": shortened(&option.about), "required": option.required })
}

fn about(command: &MenuCommand) -> String {
    shortened(&command.about)
}

/// Discord refuses a description of more than 100 characters, and with it the whole menu.
fn shortened(about: &str) -> String {
    about.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &str) -> MenuCommand {
        MenuCommand { name: name.into(), about: format!("About {name}."), subcommands: vec![], options: vec![] }
    }

    fn menu() -> Menu {
        let who = MenuOption { name: "who".into(), about: "Whom.".into(), kind: OptionKind::User, required: true };
        let room =
            MenuOption { name: "room".into(), about: "Where.".into(), kind: OptionKind::Conversation, required: false };
        let add = MenuCommand { options: vec![who, room], ..plain("add") };
        let code = MenuOption { name: "code".into(), about: "Code.".into(), kind: OptionKind::Text, required: true };
        Menu {
            commands: vec![
                plain("help"),
                MenuCommand { subcommands: vec![add, plain("list")], ..plain("trust") },
                MenuCommand { options: vec![code], ..plain("pair") },
            ],
        }
    }

    #[test]
    fn a_menu_is_written_as_discord_wants_it() {
        assert_eq!(
            body(&menu()),
            json!([
                { "type": 1, "name": "help", "description": "About help." },
                { "type": 1, "name": "trust", "description": "About trust.", "options": [
                    { "type": 1, "name": "add", "description": "About add.", "options": [
                        { "type": 6, "name": "who", "description": "Whom.", "required": true },
                        { "type": 7, "name": "room", "description": "Where.", "required": false },
                    ] },
                    { "type": 1, "name": "list", "description": "About list." },
                ] },
                { "type": 1, "name": "pair", "description": "About pair.", "options": [
                    { "type": 3, "name": "code", "description": "Code.", "required": true },
                ] },
            ])
        );
    }

    #[test]
    fn a_fingerprint_changes_with_the_menu_and_with_the_application_only() {
        let body_of = |menu: &Menu| body(menu);
        let one = fingerprint(1, &body_of(&menu()));
        assert_eq!(one, fingerprint(1, &body_of(&menu())));
        assert_ne!(one, fingerprint(2, &body_of(&menu())));
        let mut other = menu();
        other.commands[0].about.push('!');
        assert_ne!(one, fingerprint(1, &body_of(&other)));
    }
}
