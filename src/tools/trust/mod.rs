//! Who may speak: the main agent's tools for admins.

mod add_trusted_sender;
mod list_trusted_senders;
mod revoke_sender_trust;
mod words;

pub use add_trusted_sender::{AddTrustedSender, AddTrustedSenderArgs};
pub use list_trusted_senders::{ListTrustedSenders, ListTrustedSendersArgs, ListTrustedSendersOutput, SenderShown};
pub use revoke_sender_trust::{RevokeSenderTrust, RevokeSenderTrustArgs};
pub use words::{ChangeOutput, ChannelType, TrustLevel};

#[cfg(test)]
mod tests;
