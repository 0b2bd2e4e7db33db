//! The registry as the platforms' own menus show it.

use channels::{Menu, MenuCommand, MenuOption};

use super::{COMMANDS, Command};

/// What stands above a family of commands.
const FAMILIES: &[(&str, &str)] =
    &[("topic", "Open, choose, rename and close topics"), ("trust", "Who may talk to me (admins)")];

/// The menu of every platform.
pub fn menu() -> Menu {
    let mut commands: Vec<MenuCommand> = Vec::new();
    for command in COMMANDS {
        match command.name.split_once(' ') {
            None => commands.push(entry(command.name, command)),
            Some((family, name)) => {
                if !commands.iter().any(|known| known.name == family) {
                    let about = FAMILIES.iter().find(|(known, _)| *known == family).map_or(family, |(_, about)| about);
                    commands.push(MenuCommand {
                        name: family.to_owned(),
                        about: about.to_owned(),
                        subcommands: Vec::new(),
                        options: Vec::new(),
                    });
                }
                if let Some(known) = commands.iter_mut().find(|known| known.name == family) {
                    known.subcommands.push(entry(name, command));
                }
            }
        }
    }
    Menu { commands }
}

fn entry(name: &str, command: &Command) -> MenuCommand {
    let option = |takes: &super::Takes| MenuOption {
        name: takes.name.to_owned(),
        about: takes.about.to_owned(),
        kind: takes.kind,
        required: takes.required,
    };
    MenuCommand {
        name: name.to_owned(),
        about: command.about.to_owned(),
        subcommands: Vec::new(),
        options: command.takes.iter().map(option).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_line_and_every_command_its_place() {
        let menu = menu();
        let all: usize = menu.commands.iter().map(|command| command.subcommands.len().max(1)).sum();
        assert_eq!(all, COMMANDS.len());
        for command in menu.commands.iter().filter(|command| !command.subcommands.is_empty()) {
            assert!(FAMILIES.iter().any(|(name, _)| *name == command.name), "{}", command.name);
        }
    }
}
