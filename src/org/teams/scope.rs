//! What a team is for, in words: hints for whoever routes, and where its learning looks.

use base::TeamName;
use store::Conn;
use store::teams;

use super::tree::{Tree, TreeError};

/// The longest word of a scope, in characters.
const KEYWORD_CHARS_MAX: usize = 80;

/// The words of a scope as they are kept: trimmed, in lower case, each once, sorted.
///
/// # Errors
/// Refused where one is empty or too long, or there are too many.
pub(super) fn keywords(words: &[String], most: usize) -> Result<Vec<String>, TreeError> {
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let word = word.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        if word.is_empty() || word.chars().count() > KEYWORD_CHARS_MAX {
            return Err(TreeError::refused(format!(
                "`{}` is no scope keyword: a few words, up to {KEYWORD_CHARS_MAX} characters",
                base::text::headline(&word, 60)
            )));
        }
        kept.push(word);
    }
    kept.sort();
    kept.dedup();
    if kept.len() > most {
        return Err(TreeError::refused(format!("{} scope keywords are too many: at most {most}", kept.len())));
    }
    Ok(kept)
}

impl Tree {
    /// Adds words to a child's scope and takes others away; one in both lists goes. What it is then.
    ///
    /// # Errors
    /// Refused where it is no child of `parent`, or nothing would be left. Then nothing was changed.
    pub async fn rescope(
        &self,
        parent: &TeamName,
        team: &TeamName,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<String>, TreeError> {
        let most = self.inner.rules.scope_max;
        if add.is_empty() && remove.is_empty() {
            return Err(TreeError::refused("nothing to change: say scope_add, scope_remove or both"));
        }
        let (add, remove) = (keywords(add, most)?, keywords(remove, most)?);
        let change = async |conn: &mut Conn| {
            if !teams::is_child(conn, parent, team).await? {
                return Ok(Err(format!("`{team}` is no child of `{parent}`: `list_teams` shows the children")));
            }
            let before = teams::scope(conn, team).await?;
            let mut after: Vec<String> =
                before.iter().chain(&add).filter(|word| !remove.contains(word)).cloned().collect();
            after.sort();
            after.dedup();
            if after.is_empty() {
                return Ok(Err(format!("`{team}` would be for nothing: leave a keyword, or add another one")));
            }
            if after.len() > most {
                return Ok(Err(format!("{} scope keywords are too many: at most {most}", after.len())));
            }
            for word in before.iter().filter(|word| !after.contains(word)) {
                teams::remove_scope(conn, team, word).await?;
            }
            for word in &after {
                teams::add_scope(conn, team, word).await?;
            }
            Ok(Ok(after))
        };
        self.inner.db.tx("change a team's scope", change).await?.map_err(TreeError::Refused)
    }
}
