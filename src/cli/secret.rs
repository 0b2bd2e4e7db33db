//! `hive secret …`: secrets go to the vault from this machine, never through a chat.

use std::io::{BufRead, IsTerminal, Read};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use base::{Clock, Scrub, Secret, TeamName, clock};
use clap::Subcommand;
use org::questions as rules;
use org::vault::{Vault, VaultError, placeholder};
use serde_json::json;
use store::questions::{self, Question, Wanted};
use store::{Conn, Db};
use zeroize::Zeroizing;

use super::{block_on, complain, print, run::open};
use crate::config::Config;

/// Who enters a secret here, in the rows.
const BY: &str = "cli";
/// The longest secret, in bytes: what the vault takes, and the end of its line.
const BYTES_MAX: u64 = 64 * 1_024 + 2;

#[derive(Subcommand)]
pub(super) enum SecretCommand {
    /// Enter the secret that the hive has asked for: type it without it being shown, or pipe it in.
    Answer {
        /// The number in the question.
        number: i64,
    },
    /// Put a secret into the vault of a team: type it without it being shown, or pipe it in.
    Set {
        /// Its key: letters, digits and `_ - . : / @`.
        key: String,
        /// The team.
        #[arg(long, default_value = base::ids::MAIN)]
        team: TeamName,
    },
    /// The secrets of a team by key, and those that are waited for. No value is shown.
    List {
        /// The team.
        #[arg(long, default_value = base::ids::MAIN)]
        team: TeamName,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret.
    Delete {
        /// Its key.
        key: String,
        /// The team.
        #[arg(long, default_value = base::ids::MAIN)]
        team: TeamName,
    },
}

pub(super) fn run(config: &Config, command: SecretCommand) -> Result<ExitCode> {
    block_on(async {
        let db = open(config).await?;
        let key = config.vault_key.as_ref();
        let vault =
            Vault::open(&db, Clock::Wall, &Scrub::new(), key, &config.run_dir).await.context("open the vault")?;
        match command {
            SecretCommand::Answer { number } => answer(&db, &vault, number).await,
            SecretCommand::Set { key, team } => set(&db, &vault, Wanted { team, key }).await,
            SecretCommand::List { team, json } => list(&db, &vault, &team, json).await,
            SecretCommand::Delete { key, team } => delete(&db, &vault, &team, &key).await,
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn answer(db: &Db, vault: &Vault, number: i64) -> Result<()> {
    let found = async |conn: &mut Conn| questions::get(conn, number).await;
    let question = db.read(found).await?;
    let wanted = match &question {
        Some(Question { wanted: Some(wanted), answer: None, expires_at, .. }) if *expires_at > Clock::Wall.now() => {
            wanted.clone()
        }
        _ => bail!("no secret is waited for under the number {number}: `hive secret list` shows what is"),
    };
    let value = enter(&format!("{} for the team {}: ", wanted.key, wanted.team))?;
    let answered = put(db, vault, &wanted, &value, question.as_ref()).await?;
    ensure!(answered, "it came too late: the question was answered or given up meanwhile, and nothing was kept");
    print(&format!("The vault has `{}`, and the hive goes on.", wanted.key))
}

async fn set(db: &Db, vault: &Vault, wanted: Wanted) -> Result<()> {
    let value = enter(&format!("{} for the team {}: ", wanted.key, wanted.team))?;
    // Where the hive waits for this very secret, it has it now.
    let waiting = async |conn: &mut Conn| questions::secrets_wanted(conn, Clock::Wall.now()).await;
    let waiting = db.read(waiting).await?;
    let question = waiting.iter().find(|question| question.wanted.as_ref() == Some(&wanted));
    if !put(db, vault, &wanted, &value, question).await? {
        put(db, vault, &wanted, &value, None).await?;
    }
    print(&format!("The vault has `{}`: tools are given it where {} stands.", wanted.key, placeholder(&wanted.key)))
}

/// Writes the secret and answers the question in one transaction. `false`: the question is closed, and nothing was
/// written.
async fn put(db: &Db, vault: &Vault, wanted: &Wanted, value: &Secret, question: Option<&Question>) -> Result<bool> {
    let now = Clock::Wall.now();
    let write = async |conn: &mut Conn| {
        if let Some(question) = question
            && !rules::enter(conn, question, BY, now).await?
        {
            return Ok(false);
        }
        match vault.put_secret(conn, &wanted.team, &wanted.key, value, BY).await {
            Ok(_) => Ok(true),
            Err(VaultError::Refused(refusal)) => bail!("nothing was kept: {refusal}"),
            Err(VaultError::Broken(error)) => Err(error),
        }
    };
    db.tx("keep a secret", write).await
}

async fn list(db: &Db, vault: &Vault, team: &TeamName, as_json: bool) -> Result<()> {
    for entry in vault.list(team, "").await?.into_iter().filter(org::vault::Entry::is_secret) {
        let by = entry.updated_by.as_deref().unwrap_or("-");
        print(&match as_json {
            true => json!({ "team": team, "key": entry.key, "version": entry.version, "updated_by": by,
                            "updated_at_ms": entry.updated_at })
            .to_string(),
            false => format!("{}: version {}, by {by}, {}", entry.key, entry.version, clock::show(entry.updated_at)),
        })?;
    }
    let waiting = async |conn: &mut Conn| questions::secrets_wanted(conn, Clock::Wall.now()).await;
    for question in db.read(waiting).await? {
        let Some(wanted) = question.wanted.filter(|wanted| wanted.team == *team) else { continue };
        let until = clock::show(question.expires_at);
        print(&match as_json {
            true => json!({ "team": team, "key": wanted.key, "waited_for_as": question.id,
                            "expires_at_ms": question.expires_at })
            .to_string(),
            false => format!("{}: waited for until {until}: `hive secret answer {}`", wanted.key, question.id),
        })?;
    }
    Ok(())
}

async fn delete(db: &Db, vault: &Vault, team: &TeamName, key: &str) -> Result<()> {
    let is_secret = vault.get(team, key).await?.is_some_and(|entry| entry.is_secret());
    ensure!(is_secret, "the team {team} has no secret `{key}`");
    db.tx("remove a secret", async |conn| vault.remove(conn, team, key).await).await?;
    print(&format!("`{key}` is removed."))
}

/// Reads a secret: from a terminal without showing it, asked again where it is blank; else all of standard input.
///
/// # Errors
/// Where nothing but blanks is piped in, or it is too long.
fn enter(prompt: &str) -> Result<Secret> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let mut text = Zeroizing::new(String::new());
        input.lock().take(BYTES_MAX + 1).read_to_string(&mut text).context("read the secret from standard input")?;
        ensure!(text.len() as u64 <= BYTES_MAX, "that is too long for a secret");
        return not_blank(&text).context("nothing was given: pipe the secret in, or type it in a terminal");
    }
    loop {
        complain(prompt.trim_end());
        let mut line = Zeroizing::new(String::new());
        let _hidden = Hidden::begin()?;
        let read = input.lock().take(BYTES_MAX + 1).read_line(&mut line).context("read the secret")?;
        ensure!(read > 0, "nothing was given");
        ensure!(line.len() as u64 <= BYTES_MAX, "that is too long for a secret");
        match not_blank(&line) {
            Some(secret) => return Ok(secret),
            None => complain("A blank is no secret. Again, or Ctrl-C:"),
        }
    }
}

/// The text without the end of its line; `None` where nothing but blanks is left.
fn not_blank(text: &str) -> Option<Secret> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    (!text.trim().is_empty()).then(|| Secret::new(text))
}

/// A terminal that does not show what is typed, until this is dropped. A signal that ends the process leaves it so,
/// as it does at other prompts for passwords: `stty echo` shows what is typed again.
struct Hidden(rustix::termios::Termios);

impl Hidden {
    fn begin() -> Result<Hidden> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin()).context("ask the terminal how it is set")?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        // The end of the line is shown, so that what follows stands below it.
        without.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &without).context("have the terminal show nothing")?;
        Ok(Hidden(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // Where this fails, the terminal is gone.
        let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Flush, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::not_blank;

    #[test]
    fn the_end_of_the_line_is_no_part_of_a_secret_and_a_blank_is_none() {
        for (given, kept) in [
            ("s3cret\n", Some("s3cret")),
            ("s3cret\r\n", Some("s3cret")),
            (" s3 cret ", Some(" s3 cret ")),
            ("-----BEGIN\nkey\n-----END\n", Some("-----BEGIN\nkey\n-----END")),
            ("", None),
            (" \t\n", None),
        ] {
            assert_eq!(not_blank(given).as_ref().map(base::Secret::expose), kept, "{given:?}");
        }
    }
}
