//! Secrets among a call's arguments: put aside before the answer that asks for the call is written down. In the arguments
//! stands a placeholder instead, which step 7 fills, also in a turn that is entered again after a crash.

use anyhow::{Result, anyhow};
use base::{RunId, Scrub, Secret, TeamName};
use org::vault::{VaultError, placeholder};
use serde_json::Value;
use store::Conn;

use super::{Asked, Executor};

/// Where the secrets of a call lie in its team's vault: the beginning of their keys.
pub(crate) fn prefix(run: RunId, step: i64, call_id: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '.' };
    let call: String = call_id.chars().take(80).map(letter).collect();
    format!("handed/{run}/{step}/{call}/")
}

impl Executor {
    /// Puts the secrets among a call's arguments into the vault of its team, and placeholders in their place. Whoever
    /// runs the call takes them out of there when they have done with them.
    ///
    /// # Errors
    /// Only the database's and the vault's: what the vault does not take stays where it is, and is known to the scrubber.
    pub async fn put_aside(&self, team: &TeamName, run: RunId, step: i64, asked: &mut Asked) -> Result<()> {
        let Ok(input) = &mut asked.input else { return Ok(()) };
        let Some(entry) = self.catalogue.by_wire(&asked.wire_name) else { return Ok(()) };
        let secrets = entry.tool.secrets(input);
        if secrets.is_empty() {
            return Ok(());
        }
        let prefix = prefix(run, step, &asked.call_id);
        let keep = async |conn: &mut Conn| {
            let mut kept = Vec::new();
            for (number, secret) in secrets.iter().enumerate() {
                self.scrub.learn(secret);
                let key = format!("{prefix}{number}");
                match self.vault.put_secret(conn, team, &key, secret, "a call").await {
                    Ok(_) => kept.push((secret, placeholder(&key))),
                    Err(VaultError::Refused(why)) => tracing::warn!("a secret of a call is not put aside: {why}"),
                    Err(VaultError::Broken(error)) => return Err(anyhow!(error)),
                }
            }
            Ok(kept)
        };
        for (secret, placeholder) in self.db.tx("put secrets of a call aside", keep).await? {
            replace(input, secret, &placeholder);
        }
        Ok(())
    }
}

/// A short secret only where it is all of a text: in the middle of one it could be anything.
fn replace(value: &mut Value, secret: &Secret, by: &str) {
    match value {
        Value::String(text) if text == secret.expose() => by.clone_into(text),
        Value::String(text) if secret.expose().len() >= Scrub::LENGTH_MIN => *text = text.replace(secret.expose(), by),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, secret, by)),
        Value::Object(fields) => fields.values_mut().for_each(|item| replace(item, secret, by)),
        _ => {}
    }
}
