//! Files of a team's workspace.

mod list;
mod page;
mod read;

pub use list::{List, ListArgs};
pub use read::{Read, ReadArgs};

#[cfg(test)]
mod tests;
