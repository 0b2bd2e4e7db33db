//! Event → which command, with what.

use channels::{Arguments, Content, Inbound};

use super::{COMMANDS, Command, Takes};

/// What an event says as a command.
pub(super) enum Reading {
    /// A command with its values.
    Command(&'static Command, Vec<(&'static str, String)>),
    /// It was meant as a command and is not one of ours; the words for whoever gave it.
    Wrong(String),
    /// It is no command.
    Nothing,
}

/// Reads an event: a command in the platform's own sense, or a message that begins with `/` and one of our names.
pub(super) fn read(event: &Inbound) -> Reading {
    match &event.content {
        Content::Command { name, arguments: Arguments::Line(line), .. } => {
            of_line(&format!("{name} {line}")).unwrap_or_else(|| unknown(name))
        }
        Content::Command { name, arguments: Arguments::Named(values), .. } => of_named(name, values),
        // Typed as plain text where the platform has commands of its own: the same door, the same checks.
        Content::Text(said) => match said.text.trim_start().strip_prefix('/') {
            Some(line) => of_line(line).unwrap_or(Reading::Nothing),
            None => Reading::Nothing,
        },
        _ => Reading::Nothing,
    }
}

fn unknown(name: &str) -> Reading {
    let known: Vec<&str> = COMMANDS.iter().filter_map(|command| command.name.split(' ').next()).collect();
    let near = known.into_iter().max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
    let hint = match near {
        Some(near) if strsim::jaro(near, name) > 0.75 => format!(" Did you mean `/{near}`?"),
        _ => String::new(),
    };
    Reading::Wrong(format!("I don't know `/{}`.{hint} `/help` lists what I know.", base::text::cut(name, 32)))
}

/// The command whose path the line begins with, the longest path first; `None` where there is none.
fn of_line(line: &str) -> Option<Reading> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = words.first()?.to_lowercase();
    // Telegram's own first word to every bot.
    let first = if first == "start" { "help".to_owned() } else { first };
    let two = words.get(1).map(|second| format!("{first} {}", second.to_lowercase()));
    let find = |path: &str| COMMANDS.iter().copied().find(|command| command.name == path);
    if let Some(command) = two.as_deref().and_then(find) {
        return Some(of_words(command, rest(line, 2)));
    }
    if let Some(command) = find(&first) {
        return Some(of_words(command, rest(line, 1)));
    }
    let family: Vec<_> =
        COMMANDS.iter().filter_map(|command| command.name.strip_prefix(&format!("{first} "))).collect();
    (!family.is_empty()).then(|| Reading::Wrong(format!("`/{first}` needs one of: {}.", family.join(", "))))
}

/// The line after its first `count` words, as it was written.
fn rest(line: &str, count: usize) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..count {
        rest = rest.find(char::is_whitespace).map_or("", |end| rest[end..].trim_start());
    }
    rest.trim_end()
}

/// Words in the order of what a command takes; the last takes the rest of the line; `name=value` names one.
fn of_words(command: &'static Command, line: &str) -> Reading {
    let mut values: Vec<(&'static str, String)> = Vec::new();
    let mut left = line;
    while !left.is_empty() {
        let word = left.split_whitespace().next().unwrap_or_default();
        let after = rest(left, 1);
        let open = |takes: &&Takes| !values.iter().any(|(name, _)| *name == takes.name);
        let named = word.split_once('=').and_then(|(name, value)| {
            let takes = command.takes.iter().filter(open).find(|takes| takes.name == name)?;
            Some((takes.name, value.to_owned()))
        });
        if let Some(named) = named {
            values.push(named);
            left = after;
            continue;
        }
        let mut free = command.takes.iter().filter(open);
        let Some(next) = free.next() else {
            return Reading::Wrong(format!(
                "`/{}` takes no more than that: `{}` is left over.",
                command.name,
                base::text::cut(left, 60)
            ));
        };
        if free.next().is_none() && next.kind == channels::OptionKind::Text {
            values.push((next.name, left.to_owned()));
            break;
        }
        values.push((next.name, word.to_owned()));
        left = after;
    }
    complete(command, values)
}

fn of_named(name: &str, given: &[(String, String)]) -> Reading {
    let Some(command) = COMMANDS.iter().copied().find(|command| command.name == name) else { return unknown(name) };
    let mut values = Vec::new();
    for (name, value) in given {
        match command.takes.iter().find(|takes| takes.name == name) {
            Some(takes) => values.push((takes.name, value.clone())),
            // An old menu of the platform's: it is registered anew at the next start.
            None => return Reading::Wrong(format!("`/{}` takes no `{name}`.", command.name)),
        }
    }
    complete(command, values)
}

fn complete(command: &'static Command, values: Vec<(&'static str, String)>) -> Reading {
    let missing =
        command.takes.iter().find(|takes| takes.required && !values.iter().any(|(name, _)| *name == takes.name));
    match missing {
        Some(takes) => Reading::Wrong(format!("`/{}` needs {}: {}.", command.name, takes.name, takes.about)),
        None => Reading::Command(command, values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reading: Option<Reading>) -> String {
        match reading {
            None | Some(Reading::Nothing) => "-".into(),
            Some(Reading::Wrong(why)) => why,
            Some(Reading::Command(command, values)) => {
                let values: Vec<_> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{} [{}]", command.name, values.join("|"))
            }
        }
    }

    #[test]
    fn lines_are_read_as_people_write_them() {
        for (line, read) in [
            ("help", "help []"),
            ("start", "help []"),
            ("START payload", "help [command=payload]"),
            ("topic new  Release   plan ", "topic new [name=Release   plan]"),
            ("topic rename 3 Lunch and more", "topic rename [topic=3|name=Lunch and more]"),
            ("Trust ADD 42 here 7d", "trust add [who=42|conversation=here|expires=7d]"),
            ("trust add who=discord:42 expires=7d", "trust add [who=discord:42|expires=7d]"),
            ("trust", "`/trust` needs one of: add, deny, revoke, list, log."),
            ("pair", "`/pair` needs code: the code that `hive pair` printed."),
            ("whoami now", "`/whoami` takes no more than that: `now` is left over."),
            ("nonsense", "-"),
            ("", "-"),
        ] {
            assert_eq!(shown(of_line(line)), read, "{line}");
        }
    }

    #[test]
    fn a_near_miss_gets_a_hint() {
        assert_eq!(
            shown(Some(unknown("trusst"))),
            "I don't know `/trusst`. Did you mean `/trust`? `/help` lists what I know."
        );
        assert_eq!(shown(Some(unknown("xyzzy"))), "I don't know `/xyzzy`. `/help` lists what I know.");
    }
}
