//! The time. Milliseconds since 1970, because that is what rows hold.

use std::time::Duration;

/// A moment, in milliseconds since 1970 (UTC).
pub type Moment = i64;

/// Where the time comes from.
///
/// Both clocks measure waits with tokio's timer, which a test can pause. The wall clock reads the system's time for
/// [`Clock::now`], so that a clock that jumps shows as a jump; the virtual one follows tokio's timer alone.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The system's time.
    Wall,
    /// `start` plus what has passed on tokio's timer since `since`.
    Virtual {
        /// The moment at which the clock was made.
        start: Moment,
        /// Tokio's time at which the clock was made.
        since: tokio::time::Instant,
    },
}

impl Clock {
    /// A clock that starts at `start` now, and moves with tokio's timer.
    pub fn starting_at(start: Moment) -> Self {
        Clock::Virtual { start, since: tokio::time::Instant::now() }
    }

    /// Now.
    #[expect(clippy::disallowed_methods, reason = "this is the door to the time")]
    pub fn now(&self) -> Moment {
        match self {
            Clock::Wall => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                since.map_or(0, |passed| i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
            }
            Clock::Virtual { start, since } => {
                start.saturating_add(i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX))
            }
        }
    }

    /// Waits.
    #[expect(clippy::disallowed_methods, reason = "this is the door to waiting")]
    pub async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Waits until `moment`; at once where it has passed. `None` waits for ever, for a `select!` with other arms.
    pub async fn sleep_until(&self, moment: Option<Moment>) {
        match moment {
            Some(moment) => self.sleep(millis(moment - self.now())).await,
            None => std::future::pending().await,
        }
    }
}

/// A span of milliseconds; none where it is negative.
pub fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// The length of a span in milliseconds.
pub fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// `2026-11-21 14:03 UTC`, for people.
pub fn show(moment: Moment) -> String {
    let (days, rest) = (moment.div_euclid(86_400_000), moment.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let minutes = rest / 60_000;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// The number of the UTC day that `moment` lies in, counted from 1970.
pub fn day(moment: Moment) -> i64 {
    moment.div_euclid(86_400_000)
}

/// Year, month and day of a day number: Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A span as people write it: `90s`, `15m`, `2h`, `14d`, or several together, `1h30m`. `None` where it is not one.
pub fn parse_span(text: &str) -> Option<Duration> {
    let mut total: u64 = 0;
    let mut number: Option<u64> = None;
    for c in text.trim().chars() {
        if let Some(digit) = c.to_digit(10) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?);
            continue;
        }
        let seconds = match c {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return None,
        };
        total = total.checked_add(number.take()?.checked_mul(seconds)?)?;
    }
    // A number without a unit is not guessed at; a century is longer than any of our waits.
    (number.is_none() && total > 0 && total <= 100 * 366 * 86_400).then(|| Duration::from_secs(total))
}

/// A span for people: the two largest units that are not zero.
pub fn show_span(span: Duration) -> String {
    let seconds = span.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut rest = seconds;
    let mut shown = Vec::new();
    for (size, name) in units {
        if rest >= size && shown.len() < 2 {
            shown.push(format!("{}{name}", rest / size));
            rest %= size;
        }
    }
    if shown.is_empty() { "0s".to_owned() } else { shown.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_as_a_date() {
        assert_eq!(show(0), "1970-01-01 00:00 UTC");
        assert_eq!(show(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(show(1_795_291_381_000), "2026-11-21 20:03 UTC");
        assert_eq!(show(-1), "1969-12-31 23:59 UTC");
    }

    #[test]
    fn spans_read_and_show() {
        for (text, seconds) in [("90s", 90), ("2h", 7_200), ("1h30m", 5_400), ("14d", 1_209_600), ("1w", 604_800)] {
            assert_eq!(parse_span(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "5", "h", "2x", "-1s", "0s", "1h2", "99999999999999999999s", "2 h"] {
            assert_eq!(parse_span(bad), None, "{bad}");
        }
        assert_eq!(show_span(Duration::from_secs(5_400)), "1h 30m");
        assert_eq!(show_span(Duration::ZERO), "0s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_follows_the_timer() {
        let clock = Clock::starting_at(1_000);
        clock.sleep(Duration::from_secs(60)).await;
        assert_eq!(clock.now(), 61_000);
        clock.sleep_until(Some(5)).await;
        assert_eq!(clock.now(), 61_000);
    }
}
