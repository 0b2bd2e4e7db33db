//! A session: one conversation of an agent with a model, for one turn at a time.
//!
//! Nothing of it lives in memory: each step reads the rows of its topic, asks the model, and writes what it said.
//! After a crash the turn is entered again, and what is in the journal is read back, not repeated.
//!
//! | file | what |
//! |---|---|
//! | `agent` | who has a turn: a team's prompt, tools, model and bounds |
//! | `asked` | a session in the middle of a call: asked, and answering at once |
//! | `enter` | mailbox → journal: what people and teams said becomes part of the turn |
//! | `history` | rows → the model's messages |
//! | `prompt` | the fixed part and the part that varies |
//! | `turn` | the straight loop: ask, run the tools, ask again |
//! | `budget` | may this be spent? |
//! | `compact` | a long topic in fewer words |
//! | `draft` | a text that is still being written, shown as it grows |
//! | `finish` | the reply and the end of the turn, in one transaction |
//! | `deliver` | what a team made of a task, for whoever waits for it |
//! | `told` | what a task itself said it came to |
//! | `apology` | errors in words for people |

mod agent;
mod apology;
mod asked;
mod budget;
mod compact;
mod deliver;
mod draft;
mod enter;
mod finish;
mod history;
mod prompt;
mod told;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Scrub, Tasks};
use channels::render::RenderLimits;
use org::memory::Library;
use store::Db;
use tokio::sync::Semaphore;
use tools::Executor;

use crate::config::{Attachments, DuringTurn};
use crate::voices::Voices;

pub use agent::{Agent, Agents, Made, Mind, Prompts};
pub use apology::GIVEN_UP;
pub use asked::Asked;
pub use budget::{Ledger, Spender};
pub use deliver::{cancel as cancel_work, give_up as give_up_work};
pub use enter::pass_over;
pub use finish::{look_again, reply_rows};
pub use prompt::{Fixed, owner_rules};
pub use turn::{Ended, Halt, Why, answers_people, interrupt, run};

/// What every session has a part in. One is made at start.
pub struct Sessions {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Who has turns.
    pub agents: Agents,
    /// Runs the tools.
    pub tools: Executor,
    /// The platforms, for signs of life and for fetching what hangs on a message.
    pub voices: Voices,
    /// The fixed part of the prompt, and prices and budgets.
    pub office: Office,
    /// What a turn may take.
    pub limits: Limits,
    /// Last words of turns that were dropped.
    pub loose: Tasks,
    /// Room for models that answer in turns within others: each such turn may ask several more. Only an answer takes it,
    /// and nothing is waited for meanwhile, so that no level can keep another from going on.
    pub within: Semaphore,
}

/// What a session reads and never changes.
pub struct Office {
    /// Prices and budgets.
    pub ledger: Ledger,
    /// Who may speak: an admin's turn may change trust.
    pub policy: Arc<org::trust::Policy>,
    /// Takes secrets out of what is shown.
    pub scrub: Scrub,
    /// What memory is searched with.
    pub library: Library,
}

/// What a turn may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest that a turn may take.
    pub turn: Duration,
    /// Most journal entries of a topic that the model is shown.
    pub history_max: u32,
    /// What becomes of a message that arrives while the turn runs.
    pub during_turn: DuringTurn,
    /// A turn that took longer ends in a new message.
    pub new_message_after: Duration,
    /// How answers are cut.
    pub render: RenderLimits,
    /// What files are taken.
    pub attachments: Attachments,
}
