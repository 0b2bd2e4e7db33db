//! The right to answer one slash command, as it is kept in a [`ReplyHandle`].
//!
//! An answer goes to a webhook that is named by application and token, and may be sent by a process that has not
//! (or not yet) a gateway session; so the handle carries both, as `APPLICATION/TOKEN`.

use super::snowflake;
use crate::ReplyHandle;

/// How long Discord takes answers to an interaction
/// (<https://discord.com/developers/docs/interactions/receiving-and-responding>: "valid for 15 minutes").
const VALID_MS: i64 = 15 * 60 * 1000;

/// An answer begun this close to the end may come too late.
const MARGIN_MS: i64 = 5_000;

/// The handle of interaction `id`.
pub(super) fn of_interaction(id: u64, application: u64, token: &str) -> ReplyHandle {
    ReplyHandle { token: format!("{application}/{token}"), expires_at_ms: snowflake::made_at_ms(id) + VALID_MS }
}

/// The application and the token of a handle that is still good at `now_ms`.
pub(super) fn open(handle: &ReplyHandle, now_ms: i64) -> Option<(u64, &str)> {
    if now_ms + MARGIN_MS >= handle.expires_at_ms {
        return None;
    }
    let (application, token) = handle.token.split_once('/')?;
    Some((application.parse().ok()?, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_opens_until_shortly_before_its_end() {
        let id = snowflake::first_of_ms(1_700_000_000_000);
        let handle = of_interaction(id, 42, "aW50/x");
        assert_eq!(open(&handle, 1_700_000_000_000), Some((42, "aW50/x")));
        assert_eq!(open(&handle, handle.expires_at_ms - MARGIN_MS - 1), Some((42, "aW50/x")));
        assert_eq!(open(&handle, handle.expires_at_ms - MARGIN_MS), None);
        assert_eq!(open(&ReplyHandle { token: "no parts".into(), expires_at_ms: i64::MAX }, 0), None);
    }
}
