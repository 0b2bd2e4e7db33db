//! Discord's ids: numbers whose upper 42 bits are the time at which they were made.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first millisecond of 2015 since 1970, where Discord's ids begin to count
/// (<https://discord.com/developers/docs/reference#snowflakes>).
const EPOCH_MS: i64 = 1_420_070_400_000;

/// The milliseconds since 1970 at which `id` was made.
pub(super) fn made_at_ms(id: u64) -> i64 {
    // 42 bits always fit.
    (id >> 22) as i64 + EPOCH_MS
}

/// The smallest id that could have been made at `ms` (milliseconds since 1970).
pub(super) fn first_of_ms(ms: i64) -> u64 {
    u64::try_from(ms.saturating_sub(EPOCH_MS)).unwrap_or(0) << 22
}

/// The smallest id that could have been made `age` ago.
pub(super) fn first_since(age: Duration) -> u64 {
    let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    first_of_ms(now_ms().saturating_sub(age_ms))
}

/// Now, in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    // A clock before 1970 is taken for 1970: nothing here is worth a panic.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_documentation_reads_as_it_says_there() {
        assert_eq!(made_at_ms(175_928_847_299_117_063), 1_462_015_105_796);
    }

    #[test]
    fn the_first_id_of_a_millisecond_was_made_in_it_and_the_one_before_was_not() {
        let id = first_of_ms(1_700_000_000_123);
        assert_eq!(made_at_ms(id), 1_700_000_000_123);
        assert_eq!(made_at_ms(id - 1), 1_700_000_000_122);
        assert_eq!(first_of_ms(0), 0);
    }
}
