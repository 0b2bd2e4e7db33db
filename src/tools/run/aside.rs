//! Secrets among a call's arguments: put aside before the answer that asks for the call is written down. In the arguments
//! stands a placeholder instead, which step 7 fills, also in a turn that is entered again after a crash.
//!
//! | where a value stands | what becomes of it |
//! |---|---|
//! | where the tool takes a secret | the vault has it until the turn ends, or the call has used it |
//! | below such an argument, where the tool takes none | it is blacked out: such a call can only be refused |
//! | in an argument that the tool does not have, and that may be the same under another name | likewise |

use anyhow::{Result, anyhow};
use base::secret::REDACTED;
use base::{RunId, Scrub, Secret, TeamName};
use org::vault::{VaultError, has_placeholder, is_placeholder, placeholder};
use serde_json::Value;
use store::Conn;

use super::{Asked, Executor};
use crate::catalogue::Entry;

/// The secrets that were among a call's arguments.
struct Found {
    /// The longest that the vault takes, in bytes. To look for a longer one in every text would take long.
    bytes_max: usize,
    /// They stand where the tool takes them, and still do.
    taken: Vec<Secret>,
    /// They stood elsewhere, and are blacked out there.
    blackened: Vec<Secret>,
}

impl Executor {
    /// Puts the secrets among a call's arguments into the vault of its team, and placeholders in their place. They stay
    /// there until the turn ends: a call that was refused may be made again with the placeholder.
    ///
    /// # Errors
    /// Only the database's and the vault's: what the vault does not take is blacked out.
    pub async fn put_aside(&self, team: &TeamName, run: RunId, step: i64, asked: &mut Asked) -> Result<()> {
        let taken = self.sift(asked).taken;
        let Ok(input) = &mut asked.input else { return Ok(()) };
        if taken.is_empty() {
            return Ok(());
        }
        let prefix = store::vault::handed(run, step, &asked.call_id);
        let keep = async |conn: &mut Conn| {
            let mut kept = Vec::new();
            for (number, secret) in taken.iter().enumerate() {
                let key = format!("{prefix}{number}");
                match self.vault.put_secret(conn, team, &key, secret, "a call").await {
                    Ok(_) => kept.push((secret, placeholder(&key))),
                    Err(VaultError::Refused(why)) => {
                        tracing::warn!("a secret of a call is not put aside: {why}");
                        kept.push((secret, REDACTED.to_owned()));
                    }
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

    /// A call's arguments as they may be written down: the same text for the same arguments, whatever their order.
    pub(super) fn without_secrets(&self, asked: &Asked) -> String {
        let mut asked = asked.clone();
        let found = self.sift(&mut asked);
        self.scrub.clean(&match asked.input {
            Ok(mut input) => {
                found.taken.iter().for_each(|secret| replace(&mut input, secret, REDACTED));
                // The keys of a JSON map are sorted.
                input.to_string()
            }
            Err(text) => text,
        })
    }

    /// Finds the secrets among a call's arguments, which may be anything, and makes them known to the scrubber.
    fn sift(&self, asked: &mut Asked) -> Found {
        let entry = self.catalogue.by_wire(&asked.wire_name);
        let own = entry.map(|entry| entry.tool.secrets()).unwrap_or_default();
        let (taken, blackened) = (Vec::new(), Vec::new());
        let mut found = Found { bytes_max: self.vault.value_bytes_max(), taken, blackened };
        match &mut asked.input {
            Ok(Value::Object(fields)) => {
                for (name, value) in fields {
                    if own.contains(&name.as_str()) {
                        take(value, &mut found);
                    } else if self.is_elsewhere(entry, name) {
                        blacken(value, &mut found);
                    }
                }
            }
            _ if own.is_empty() => {}
            Ok(other) => blacken(other, &mut found),
            // Nobody knows where in it a secret stands.
            Err(text) => REDACTED.clone_into(text),
        }
        for secret in found.taken.iter().chain(&found.blackened) {
            self.scrub.learn(secret);
        }
        if let Ok(input) = &mut asked.input {
            found.blackened.iter().for_each(|secret| replace(input, secret, REDACTED));
        }
        found
    }

    /// Whether an argument that the tool does not have may hold a secret: a tool with secrets has no such argument, or it is
    /// called as one that holds them for another tool.
    fn is_elsewhere(&self, entry: Option<&Entry>, name: &str) -> bool {
        let is_own = |entry: &Entry| entry.tool.input_schema()["properties"].get(name).is_some();
        let takes_secrets = |entry: &Entry| !entry.tool.secrets().is_empty();
        let is_one_elsewhere = || self.catalogue.entries().any(|other| other.tool.secrets().contains(&name));
        (entry.is_some_and(takes_secrets) || is_one_elsewhere()) && !entry.is_some_and(is_own)
    }
}

/// The value of an argument that takes secrets: texts by name. A whole number is the text of its digits; any other might
/// have lost some.
fn take(value: &mut Value, found: &mut Found) {
    let Value::Object(entries) = value else { return blacken(value, found) };
    for item in entries.values_mut() {
        if item.is_i64() || item.is_u64() {
            *item = Value::String(item.to_string());
        }
        match item {
            // What is left of a text that was cleaned is of no use.
            Value::String(text) if text.contains(REDACTED) => REDACTED.clone_into(text),
            // A placeholder is no secret, and must stay legible. What stands around one may be a secret.
            Value::String(text) if text.is_empty() || is_placeholder(text.trim()) => {}
            Value::String(text) if text.len() <= found.bytes_max && !has_placeholder(text) => {
                found.taken.push(Secret::new(text.as_str()))
            }
            other => blacken(other, found),
        }
    }
}

/// Blacks out every text and number of a value.
fn blacken(value: &mut Value, found: &mut Found) {
    let text = match value {
        Value::Array(items) => return items.iter_mut().for_each(|item| blacken(item, found)),
        Value::Object(fields) => return fields.values_mut().for_each(|item| blacken(item, found)),
        Value::String(text) => std::mem::take(text),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) => return,
    };
    // Of a secret it may be the name: to take that out of every text would mangle them.
    let fits = (Scrub::LENGTH_MIN..=found.bytes_max).contains(&text.len());
    if fits && text != REDACTED && !is_placeholder(text.trim()) && !is_name(&text) {
        found.blackened.push(Secret::new(text));
    }
    *value = Value::String(REDACTED.to_owned());
}

/// Whether a text looks like a name: `API_KEY`, `production`.
fn is_name(text: &str) -> bool {
    let is_mixed = text.contains(|c: char| c.is_ascii_digit()) && text.contains(|c: char| c.is_ascii_lowercase());
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !is_mixed && text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(fits)
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

#[cfg(test)]
mod tests;
