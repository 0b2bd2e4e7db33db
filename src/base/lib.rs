//! What every layer needs and none should own: ids, time, chance, secrets, text, tasks.
//!
//! Time, chance and tasks come from here alone, so that a whole hive can run on virtual time and give the same
//! trace from the same seed. The only owner of `SystemTime`, `rand` and `tokio::spawn`.

pub mod chance;
pub mod clock;
pub mod ids;
pub mod secret;
pub mod tasks;
pub mod text;

pub use clock::{Clock, Moment};
pub use ids::{InboxId, OutboxId, RunId, TaskId, TeamName, TopicId};
pub use secret::{Scrub, ScrubStream, Secret};
pub use tasks::Tasks;
pub use tokio_util::sync::CancellationToken as Stop;
