//! Tools that ask and tell people, and one that talks to nobody.

mod notify;
mod prompt_human;
mod prompt_secret;
#[cfg(test)]
mod tests;
mod think;
mod written;

use std::sync::Arc;

use anyhow::Result;
use base::Clock;
use channels::ConversationId;
use org::notices;
use org::trust::Policy;
use store::{Conn, Db};

use crate::call::Call;

pub use notify::Notify;
pub use prompt_human::PromptHuman;
pub use prompt_secret::PromptSecret;
pub use think::Think;

/// How people are reached. Clones are the same.
#[derive(Clone)]
pub struct People {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Who is an admin.
    pub policy: Arc<Policy>,
}

impl People {
    /// Where a call's people are: the conversation that caused its turn, else wherever an admin can be reached alone.
    /// Empty where there is neither.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn of(&self, call: &Call) -> Result<Vec<ConversationId>> {
        match &call.origin.conversation {
            Some(conversation) => Ok(vec![conversation.clone()]),
            None => self.admins().await,
        }
    }

    /// Where the admins can be reached alone, each place once.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn admins(&self) -> Result<Vec<ConversationId>> {
        let now = self.clock.now();
        self.db.read(async |conn: &mut Conn| notices::reach_admins(conn, &self.policy, now).await).await
    }
}

/// Says to the model what is too long; `None` where it fits.
fn too_long(what: &str, text: &str, chars_max: usize) -> Option<String> {
    let chars = text.chars().count();
    (chars > chars_max).then(|| format!("the {what} has {chars} characters, and at most {chars_max} are shown"))
}
