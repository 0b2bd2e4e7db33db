//! The command line: one file per command.
//!
//! Nothing here knows more than the chat commands do: both call the same functions of `org` and `store`.

mod audit;
mod backup;
mod chat;
mod check;
mod doctor;
mod eval;
mod events;
mod explain;
mod fetch;
mod jsonl;
mod logging;
mod pair;
mod render;
mod run;
mod secret;
mod state;
mod teams;
mod tools;
mod trust;

use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use channels::Kind;
use clap::{Parser, Subcommand};

use crate::config::{self, Config, Environment};

#[derive(Parser)]
#[command(
    name = "hive",
    version,
    about = "A chat bot for Discord and Telegram with a durable hive of agents behind it."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the hive (the default): connect to the platforms, and answer.
    Run,
    /// Talk to the hive in this terminal: to the one that runs, or to one that runs as long as you talk.
    Chat,
    /// Print a one-time code that makes whoever sends it to the bot an admin.
    Pair {
        /// How long the code works.
        #[arg(long, default_value = "15m")]
        valid: String,
    },
    /// Who may talk to the hive.
    #[command(subcommand)]
    Trust(trust::Trust),
    /// Secrets for the vault, entered at this machine.
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Topics, the latest first.
    Topics {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// What the hive is doing.
    Status {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The tree of teams: what each is for, and what it does now.
    Teams {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Tokens and cost.
    Usage {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The tools, with everything that is known of them.
    Tools {
        /// JSON.
        #[arg(long, conflicts_with = "markdown")]
        json: bool,
        /// Markdown, as in docs/tools.md.
        #[arg(long)]
        markdown: bool,
        /// Whether an agent of this team has them, and which rule says so.
        #[arg(long, conflicts_with = "markdown")]
        team: Option<String>,
        /// Which of its agents: main (the default), sub or scout; of the main team where no team is named.
        #[arg(long, conflicts_with = "markdown", value_parser = explain::agent)]
        agent: Option<::tools::AgentKind>,
    },
    /// May an agent use a tool, and which rule says so.
    Explain {
        /// The team.
        team: String,
        /// The tool.
        tool: String,
        /// Which of its agents: main, sub or scout.
        #[arg(long, default_value = "main", value_parser = explain::agent)]
        agent: ::tools::AgentKind,
        /// In a turn that this sender caused, for example `discord:123`.
        #[arg(long)]
        sender: Option<String>,
    },
    /// What tools were called, by whom, and what came of it: the newest first.
    Audit {
        /// Check that no row was changed or removed.
        #[command(subcommand)]
        command: Option<audit::Audit>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        /// How many calls.
        #[arg(long, default_value_t = 50)]
        last: u32,
    },
    /// What happens: turns, steps, tools, delegations, tasks, notices, costs; the newest last.
    Events {
        /// Only what happens to this team.
        #[arg(long)]
        team: Option<base::TeamName>,
        /// Go on, as it happens.
        #[arg(long)]
        follow: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        /// How many that have happened already.
        #[arg(long, default_value_t = 50)]
        last: u32,
    },
    /// Look for what is wrong: configuration, database, tokens, reachability.
    Doctor {
        /// Ask nobody on the network.
        #[arg(long)]
        offline: bool,
    },
    /// Write a checked copy of the database.
    Backup {
        /// The file to write; it must not exist.
        to: PathBuf,
    },
    /// Show what would be sent: Markdown in, pieces out, one JSON object a line.
    Render {
        /// The platform.
        #[arg(value_parser = platform)]
        platform: Kind,
        /// One JSON object a line, in and out. The only form there is.
        #[arg(long, required = true)]
        jsonl: bool,
    },
    /// Ask a page as the tool `web_fetch` does, without an allow-list.
    Fetch {
        /// The page.
        url: String,
        /// Show every address that was checked and connected to.
        #[arg(long)]
        trace: bool,
    },
    /// Put a question to one of the hive's rules, one JSON object a line.
    #[command(subcommand)]
    Check(Check),
    /// Score one of the hive's judgements.
    #[command(subcommand)]
    Eval(Eval),
}

#[derive(Subcommand)]
enum Check {
    /// May this sender speak here? Policy, rows and a sender in; decision and reason out.
    Trust(Lines),
    /// May this URL be asked? A URL and what its host means in; decision and rule out.
    Url(Lines),
    /// May this path be used? A path and an operation in; decision and rule out.
    Path(Lines),
    /// May this command be run? A command in; decision and rule out.
    Shell(Lines),
    /// Is there a secret in this text? A text in; what was found out.
    Secret(Lines),
    /// May this agent use this tool? A tool and a grant in; decision and rule out.
    Policy(Lines),
}

/// Put a case to a rule.
#[derive(clap::Args)]
struct Lines {
    /// One JSON object a line, in and out. The only form there is.
    #[arg(long, required = true)]
    jsonl: bool,
}

#[derive(Subcommand)]
enum Eval {
    /// Which topic does each message of a chat log belong to?
    Threads {
        /// Plain `[12:18] <nick> text` lines instead of JSON.
        #[arg(long, conflicts_with = "jsonl")]
        irc: bool,
        /// One JSON object a line, in and out: the default.
        #[arg(long)]
        jsonl: bool,
    },
    /// How well does memory find what belongs to a question? A folder with documents, queries and judgements in.
    Memory {
        /// The folder.
        folder: PathBuf,
    },
}

fn platform(text: &str) -> Result<Kind, String> {
    match text.parse() {
        Ok(kind @ (Kind::Discord | Kind::Telegram)) => Ok(kind),
        _ => Err("telegram or discord".to_owned()),
    }
}

/// Runs the command that the arguments name. Errors are printed for a person; the exit code is 2 for a
/// configuration that is wrong, 1 for anything else.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match dispatch(arguments.command.unwrap_or(Command::Run)) {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("hive: {error:#}"));
            ExitCode::from(if error.is::<config::ConfigErrors>() { 2 } else { 1 })
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode> {
    match command {
        Command::Run => run::run(configuration()?),
        Command::Chat => chat::run(configuration()?),
        Command::Pair { valid } => pair::run(&configuration()?, &valid),
        Command::Trust(command) => trust::run(&configuration()?, command),
        Command::Secret(command) => secret::run(&configuration()?, command),
        Command::Topics { json } => state::topics(&configuration()?, json),
        Command::Status { json } => state::status(&configuration()?, json),
        Command::Teams { json } => teams::run(&configuration()?, json),
        Command::Usage { json } => state::usage(&configuration()?, json),
        Command::Tools { json, markdown, team, agent } => {
            let form = match (json, markdown) {
                (true, _) => tools::Form::Json,
                (_, true) => tools::Form::Markdown,
                _ => tools::Form::Names,
            };
            match (team, agent) {
                (None, None) => tools::all(form),
                (team, agent) => {
                    let team = team.as_deref().unwrap_or(base::ids::MAIN);
                    tools::of_team(&configuration()?, team, agent.unwrap_or(::tools::AgentKind::Main), form)
                }
            }
        }
        Command::Explain { team, tool, agent, sender } => {
            explain::run(&configuration()?, &explain::Question { team, tool, agent, sender })
        }
        Command::Audit { command: Some(audit::Audit::Verify), .. } => audit::verify(&configuration()?),
        Command::Audit { command: None, json, last } => audit::list(&configuration()?, json, last),
        Command::Events { team, follow, json, last } => {
            events::run(&configuration()?, &events::Wanted { team, follow, json, last })
        }
        Command::Doctor { offline } => doctor::run(&Environment::from_process(dotenv().as_path()), offline),
        Command::Backup { to } => backup::run(&configuration()?, &to),
        Command::Render { platform, .. } => lines(|input, output| render::run(platform, input, output)),
        Command::Check(Check::Trust(_)) => lines(check::trust),
        Command::Check(Check::Url(_)) => lines(|input, output| check::each(net::verdict, input, output)),
        Command::Check(Check::Path(_)) => lines(|input, output| check::each(::tools::files::verdict, input, output)),
        Command::Check(Check::Shell(_)) => lines(|input, output| check::each(::tools::shell::verdict, input, output)),
        Command::Check(Check::Secret(_)) => {
            lines(|input, output| check::each(org::vault::shapes::verdict, input, output))
        }
        Command::Check(Check::Policy(_)) => {
            let catalogue = tools::catalogue()?;
            lines(|input, output| check::each(|case| ::tools::policy_verdict(&catalogue, case), input, output))
        }
        Command::Eval(Eval::Memory { folder }) => eval::memory(&folder),
        Command::Fetch { url, trace } => fetch::run(&url, trace),
        Command::Eval(Eval::Threads { irc, .. }) => lines(|input, output| {
            eval::threads(input, if irc { eval::Format::Irc } else { eval::Format::Jsonl }, output)
        }),
    }
}

/// Standard input in, standard output out.
fn lines(
    work: impl FnOnce(BufReader<std::io::StdinLock<'static>>, std::io::StdoutLock<'static>) -> Result<()>,
) -> Result<ExitCode> {
    work(BufReader::new(std::io::stdin().lock()), std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

fn dotenv() -> PathBuf {
    PathBuf::from(".env")
}

fn configuration() -> Result<Config> {
    Ok(config::load(&Environment::from_process(dotenv().as_path()))?)
}

/// A line for whoever runs the command. Results go to standard output, and nothing else does.
fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{text}").and_then(|()| output.flush()).context("write to standard output")
}

fn complain(text: &str) {
    // Where even this cannot be written, there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A runtime for commands that look at rows.
fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?.block_on(work)
}
