//! A session: one conversation of the main agent with a model, for one turn at a time.
//!
//! Nothing of it lives in memory: each step reads the rows of its topic, asks the model, and writes what it said.
//! After a crash the turn is entered again, and what is in the journal is read back, not repeated.
//!
//! | file | what |
//! |---|---|
//! | `enter` | mailbox → journal: what people said becomes part of the turn |
//! | `history` | rows → the model's messages |
//! | `prompt` | the fixed part and the part that varies |
//! | `turn` | the straight loop: ask, run the tools, ask again |
//! | `budget` | may this be spent? |
//! | `compact` | a long topic in fewer words |
//! | `draft` | a text that is still being written, shown as it grows |
//! | `finish` | the reply and the end of the turn, in one transaction |
//! | `apology` | errors in words for people |

mod apology;
mod budget;
mod compact;
mod draft;
mod enter;
mod finish;
mod history;
mod prompt;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Scrub};
use channels::render::RenderLimits;
use llm::Model;
use org::memory::Library;
use store::Db;
use tools::{Executor, Grant};

use crate::config::{Attachments, DuringTurn};
use crate::voices::Voices;

pub use apology::GIVEN_UP;
pub use budget::Ledger;
pub use finish::reply_rows;
pub use prompt::Fixed;
pub use turn::{Ended, Halt, Why, run};

/// What every session of the main agent has a part in. One is made at start.
pub struct Sessions {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The model, with its retries and fallbacks.
    pub model: Arc<dyn Model>,
    /// Runs the tools.
    pub tools: Executor,
    /// The platforms, for signs of life and for fetching what hangs on a message.
    pub voices: Voices,
    /// The fixed part of the prompt, and prices and budgets.
    pub office: Office,
    /// What a turn may take.
    pub limits: Limits,
}

/// What a session reads and never changes.
pub struct Office {
    /// The fixed part of the prompt.
    pub fixed: Fixed,
    /// Prices and budgets.
    pub ledger: Ledger,
    /// Who may speak: an admin's turn may change trust.
    pub policy: Arc<org::trust::Policy>,
    /// Takes secrets out of what is shown.
    pub scrub: Scrub,
    /// The main team's folder.
    pub workspace: PathBuf,
    /// What the main agent may use in a turn that no admin caused.
    pub grant: Grant,
    /// What memory is searched with.
    pub library: Library,
}

/// What a turn may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Most steps of a turn.
    pub steps_max: i64,
    /// The longest that a turn may take.
    pub turn: Duration,
    /// Most journal entries of a topic that the model is shown.
    pub history_max: u32,
    /// The longest answer that is asked for.
    pub output_tokens_max: u32,
    /// Tokens of the window kept free for the answer and for results of tools.
    pub reserve_tokens: u64,
    /// What becomes of a message that arrives while the turn runs.
    pub during_turn: DuringTurn,
    /// A turn that took longer ends in a new message.
    pub new_message_after: Duration,
    /// How answers are cut.
    pub render: RenderLimits,
    /// What files are taken.
    pub attachments: Attachments,
}
