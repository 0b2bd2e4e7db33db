//! Saving, superseding, deleting and listing entries.

use std::borrow::Cow;

use anyhow::Result;
use base::{Moment, TeamName};
use store::Conn;
use store::memory::{self, Entry, New, NewChunk};

use super::embed::text_of;
use super::{Kind, Library, chunk, script};

/// The longest key, in characters.
const KEY_CHARS_MAX: usize = 200;
/// The longest content, in characters: a long document, which belongs in a file.
const CONTENT_CHARS_MAX: usize = 100_000;
/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 1_000;
/// The most entries of one list.
const LIST_MAX: u32 = 500;

/// An entry that is ready to be saved: checked, cut into chunks, with their vectors.
#[derive(Clone, Debug)]
pub struct Draft {
    key: String,
    content: String,
    kind: Kind,
    title: String,
    chunks: Vec<(String, Option<Vec<f32>>)>,
    model: String,
}

/// Why an entry was not saved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSaved {
    /// No key.
    #[error("`key` is empty")]
    NoKey,
    /// No content.
    #[error("`content` is empty")]
    NoContent,
    /// Something is too long.
    #[error("`{what}` has {chars} characters, at most {max} are kept: write long texts to a file")]
    TooLong {
        /// What.
        what: &'static str,
        /// How long it is.
        chars: usize,
        /// How long it may be.
        max: usize,
    },
    /// The key means something already, and nobody said why it should mean something else.
    #[error("`{key}` is remembered already (entry {id}): give `supersede_reason` to replace it, or use another key")]
    NeedsReason {
        /// The key.
        key: String,
        /// The entry that it means now.
        id: i64,
    },
}

/// Makes an entry ready, with its vectors; where the model does not give them soon they are made later. Not to be
/// called in a transaction: a model may be far away.
pub async fn draft(library: &Library, key: &str, content: &str, kind: Kind) -> Result<Draft, NotSaved> {
    let (key, content) = (&*without_nul(key), &*without_nul(content));
    let key = key.trim();
    if key.is_empty() {
        return Err(NotSaved::NoKey);
    }
    if content.trim().is_empty() {
        return Err(NotSaved::NoContent);
    }
    short_enough("key", key, KEY_CHARS_MAX)?;
    short_enough("content", content, CONTENT_CHARS_MAX)?;
    let title = title_of(key);
    let mut chunks = chunk::chunks(content);
    if chunks.is_empty() {
        chunks.push(content.to_owned());
    }
    let texts: Vec<String> = chunks.iter().map(|chunk| text_of(&title, chunk)).collect();
    let vectors = match library.vectors(&texts).await {
        Some(vectors) => vectors.into_iter().map(Some).collect(),
        None => vec![None; texts.len()],
    };
    let chunks = chunks.into_iter().zip(vectors).collect();
    let model = library.embedder().name().to_owned();
    Ok(Draft { key: key.to_owned(), content: content.to_owned(), kind, title, chunks, model })
}

/// The table refuses a text with a NUL: many who read a database take it for the end. A model that sends one means a
/// gap between two words.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', " ")) } else { Cow::Borrowed(text) }
}

fn short_enough(what: &'static str, text: &str, max: usize) -> Result<(), NotSaved> {
    let chars = text.chars().count();
    if chars > max { Err(NotSaved::TooLong { what, chars, max }) } else { Ok(()) }
}

/// A key as words: `deployHost_eu` is asked for as "deploy host".
fn title_of(key: &str) -> String {
    let mut title = String::new();
    let mut before = ' ';
    for c in key.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            title.push(' ');
        }
        title.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    script::spaced(&title).unwrap_or(title)
}

/// Saves an entry. Where its key has an active one, that one is superseded, for which a reason is needed.
///
/// Saving what is there already, for the same reason, changes nothing and gives the entry that is there.
pub async fn save(
    conn: &mut Conn,
    team: &TeamName,
    draft: &Draft,
    reason: Option<&str>,
    by: Option<&str>,
    now: Moment,
) -> Result<Result<Entry, NotSaved>> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if let Some(Err(error)) = reason.map(|reason| short_enough("supersede_reason", reason, REASON_CHARS_MAX)) {
        return Ok(Err(error));
    }
    let before = memory::active(conn, team, &draft.key).await?;
    if let Some(before) = &before {
        if reason.is_none() {
            return Ok(Err(NotSaved::NeedsReason { key: draft.key.clone(), id: before.id }));
        }
        let same = before.content == draft.content && before.kind == draft.kind.as_str();
        if same && before.supersede_reason.as_deref() == reason {
            return Ok(Ok(before.clone()));
        }
        memory::retire(conn, before.id, now).await?;
    }
    let new = New {
        team,
        key: &draft.key,
        content: &draft.content,
        kind: draft.kind.as_str(),
        supersedes_id: before.map(|before| before.id),
        supersede_reason: reason,
        updated_by: by,
    };
    let id = memory::insert(conn, &new, now).await?;
    for (index, (text, vector)) in draft.chunks.iter().enumerate() {
        let spaced = script::spaced(text);
        let words = script::words(&draft.title) + script::words(spaced.as_deref().unwrap_or(text));
        let chunk = NewChunk {
            title: &draft.title,
            content: text,
            spaced: spaced.as_deref(),
            words: i64::try_from(words)?,
            vector: vector.as_deref().map(|vector| (&*draft.model, vector)),
        };
        memory::add_chunk(conn, team, id, index, &chunk).await?;
    }
    let saved = memory::active(conn, team, &draft.key).await?;
    saved.map(Ok).ok_or_else(|| anyhow::anyhow!("an entry that was saved is not there"))
}

/// Forgets what a key means and meant. `false` where it means nothing.
pub async fn delete(conn: &mut Conn, team: &TeamName, key: &str, now: Moment) -> Result<bool> {
    memory::delete(conn, team, without_nul(key).trim(), now).await
}

/// What is active, last saved first, at most 500 entries; all, or of one type.
pub async fn list(conn: &mut Conn, team: &TeamName, kind: Option<Kind>) -> Result<Vec<Entry>> {
    memory::list(conn, team, kind.map(Kind::as_str), LIST_MAX).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_words() {
        for (key, title) in [
            ("deploy_host", "deploy host"),
            ("deployHost.eu", "deploy Host eu"),
            ("HTTPPort", "HTTPPort"),
            ("会", " 会"),
        ] {
            assert_eq!(title_of(key), title);
        }
    }
}
