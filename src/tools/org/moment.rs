//! Moments as tools write and read them: ISO 8601.

use base::Moment;

/// `2026-11-21T14:03:05Z`.
pub(super) fn show(moment: Moment) -> String {
    let seconds = moment.rem_euclid(86_400_000) / 1_000;
    // `2026-11-21 14:03 UTC`, which knows the calendar.
    let date = base::clock::show(moment);
    format!("{}T{:02}:{:02}:{:02}Z", &date[..10], seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A moment as a model writes it: a date, a date with a time, with or without an offset; or a span before now: `7d`.
pub(super) fn read(text: &str, now: Moment) -> Option<Moment> {
    let text = text.trim();
    if let Some(span) = base::clock::parse_span(text) {
        return Some(now.saturating_sub(base::clock::ms(span)));
    }
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00Z"),
    };
    let days = day(date)?;
    let (clock, offset_ms) = offset(time.trim())?;
    Some(days * 86_400_000 + of_day(clock)? - offset_ms)
}

/// The number of a date's day, counted from 1970: Howard Hinnant's `days_from_civil`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn day(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    if parts.next().is_some() || !(1..=length).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// A time without its offset, and the offset in milliseconds; without one it is UTC.
fn offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let ms = (hours * 60 + minutes) * 60_000;
    (hours < 24 && minutes < 60).then(|| (&time[..at], if time.as_bytes()[at] == b'-' { -ms } else { ms }))
}

/// Milliseconds since midnight.
fn of_day(clock: &str) -> Option<i64> {
    let mut parts = clock.split(':');
    let (hours, minutes) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let (seconds, rest) =
        parts.next().unwrap_or("00").split_once('.').unwrap_or((clock.get(6..8).unwrap_or("00"), "0"));
    let seconds = digits(seconds, 2)?;
    let whole = parts.next().is_none() && rest.chars().all(|c| c.is_ascii_digit()) && !rest.is_empty();
    let thousandths: String = rest.chars().chain("000".chars()).take(3).collect();
    let fits = whole && hours < 24 && minutes < 60 && seconds < 60;
    fits.then(|| ((hours * 60 + minutes) * 60 + seconds) * 1_000 + thousandths.parse().unwrap_or(0))
}

fn digits(text: &str, length: usize) -> Option<i64> {
    (text.len() == length && text.chars().all(|c| c.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 20:03 UTC.
    const NOW: Moment = 1_795_291_380_000;

    #[test]
    fn a_moment_is_read_as_it_is_shown() {
        for moment in [0, NOW, NOW + 59_000, 951_782_400_000, 4_107_542_399_000] {
            assert_eq!(read(&show(moment), NOW), Some(moment), "{}", show(moment));
        }
        assert_eq!(show(NOW), "2026-11-21T20:03:00Z");
        for (text, expected) in [
            ("2026-11-21", Some(NOW - (20 * 60 + 3) * 60_000)),
            ("2026-11-21T22:03:00+02:00", Some(NOW)),
            ("2026-11-21T22:03+02:00", Some(NOW)),
            ("2026-11-21 20:03", Some(NOW)),
            ("2026-11-21T20:03:00.250Z", Some(NOW + 250)),
            ("2026-11-21T12:03:00-08:00", Some(NOW)),
            ("7d", Some(NOW - 7 * 86_400_000)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-11-21T25:00Z", None),
            ("2026-11-21T20:03:00.xZ", None),
            ("yesterday", None),
            ("", None),
            ("2026-11-21T", None),
            ("é026-11-21T20:03:é0Z", None),
        ] {
            assert_eq!(read(text, NOW), expected, "{text}");
        }
    }
}
