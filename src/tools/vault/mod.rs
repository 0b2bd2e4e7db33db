//! What a team keeps: its own values, and the names of the secrets that the system keeps for it.

mod shown;
mod vault_delete;
mod vault_get;
mod vault_list;
mod vault_set;

pub use shown::EntryShown;
pub use vault_delete::{VaultDelete, VaultDeleteArgs, VaultDeleteOutput};
pub use vault_get::{VaultGet, VaultGetArgs, VaultGetOutput};
pub use vault_list::{VaultList, VaultListArgs};
pub use vault_set::{VaultSet, VaultSetArgs, VaultSetOutput};

#[cfg(test)]
mod tests;
