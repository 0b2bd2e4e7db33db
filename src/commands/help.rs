//! `/help`: what there is.

use anyhow::Result;
use channels::OptionKind;
use futures::future::BoxFuture;
use store::Conn;

use super::{Asked, COMMANDS, Command, Takes, Who};

pub(super) const HELP: Command = Command {
    name: "help",
    about: "What you can ask me to do",
    who: Who::Trusted,
    takes: &[Takes { name: "command", about: "a command to explain", kind: OptionKind::Text, required: false }],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

fn run<'a>(_: &'a mut Conn, asked: &'a Asked<'a>) -> BoxFuture<'a, Result<String>> {
    let wanted = asked.value("command").map(|word| word.trim_start_matches('/').to_lowercase());
    let seen = COMMANDS.iter().filter(|command| asked.admin || command.who != Who::Admin);
    let fits = |command: &&&Command| wanted.as_deref().is_none_or(|wanted| command.name.starts_with(wanted));
    let fitting: Vec<_> = seen.clone().filter(fits).collect();
    let shown: Vec<_> =
        if fitting.is_empty() { seen.map(line).collect() } else { fitting.into_iter().map(line).collect() };
    let text = format!(
        "Talk to me as you would to anybody. These are answered at once, without a model:\n{}",
        shown.join("\n")
    );
    Box::pin(async move { Ok(text) })
}

fn line(command: &&Command) -> String {
    let takes: Vec<_> = command
        .takes
        .iter()
        .map(|takes| if takes.required { format!(" <{}>", takes.name) } else { format!(" [{}]", takes.name) })
        .collect();
    format!("- `/{}{}`: {}", command.name, takes.concat(), command.about)
}
