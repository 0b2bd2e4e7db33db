//! What a team is for, in words: hints for whoever routes, and where its learning looks.

use base::text::{is_unseen, quoted};
use base::{Scrub, TeamName};
use store::Conn;
use store::teams;

use super::tree::{Tree, TreeError};

/// The longest word of a scope, in characters.
const KEYWORD_CHARS_MAX: usize = 80;

/// The words of a scope as they are kept: trimmed, in lower case, each once, sorted.
///
/// # Errors
/// Refused where one is no word, is too long, or holds a secret, or there are too many.
pub(super) fn keywords(words: &[String], most: usize, scrub: &Scrub) -> Result<Vec<String>, TreeError> {
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
        // Before anything is said of it, and before it is in lower case: then nobody would know it any more.
        if scrub.finds_in(&word) {
            let why = "a scope keyword holds a secret: keywords are read by every team that routes, so leave it out";
            return Err(TreeError::refused(why));
        }
        let word = word.to_lowercase();
        let is_word = word.contains(char::is_alphanumeric) && !word.contains(is_unseen);
        if !is_word || word.chars().count() > KEYWORD_CHARS_MAX {
            return Err(TreeError::refused(format!(
                "`{}` is no scope keyword: a few words, up to {KEYWORD_CHARS_MAX} characters",
                quoted(&word, 60)
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
        let scrub = &self.inner.scrub;
        let (add, remove) = (keywords(add, most, scrub)?, keywords(remove, most, scrub)?);
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
