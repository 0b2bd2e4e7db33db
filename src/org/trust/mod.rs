//! Who may speak to the hive.

pub mod change;
mod decide;
pub mod ids;
mod policy;

pub use decide::{Decision, Reason, TrustLevel, TrustRow, Verdict, Where, decide};
pub use policy::{Access, KindPolicy, Policy};
