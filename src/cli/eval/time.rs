//! When a line was written, in the spellings that logs have.

use serde_json::Value;

/// When a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// Minutes since midnight of an unknown day.
    OfDay(u32),
    /// Milliseconds since 1970.
    Moment(i64),
}

/// Numbers below this are seconds: as milliseconds they would lie before 1973.
const SECONDS_BELOW: f64 = 1e11;

impl Time {
    /// Reads the field `name`: a number of seconds or milliseconds since 1970 (`at_ms`: milliseconds in any case),
    /// `HH:MM`, `HH:MM:SS`, or a date and time such as `2024-05-01T12:18:30+02:00`.
    pub(super) fn read(name: &str, value: &Value) -> Result<Time, String> {
        let found = match value {
            Value::Number(number) => number.as_f64().map(|number| {
                let ms = if name == "at_ms" || number.abs() >= SECONDS_BELOW { number } else { number * 1000.0 };
                Time::Moment(ms as i64)
            }),
            Value::String(text) => {
                of_day(text.trim()).map(Time::OfDay).or_else(|| moment(text.trim()).map(Time::Moment))
            }
            _ => None,
        };
        found.ok_or_else(|| {
            format!("{name}: expected seconds or milliseconds since 1970, `HH:MM`, or `YYYY-MM-DDTHH:MM:SSZ`")
        })
    }
}

/// `HH:MM` or `HH:MM:SS`, in brackets or not.
fn of_day(text: &str) -> Option<u32> {
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let (minutes, _) = hour_and_minute(text)?;
    u32::try_from(minutes).ok()
}

/// Minutes since midnight, and the seconds.
fn hour_and_minute(text: &str) -> Option<(i64, f64)> {
    let mut parts = text.split(':');
    let hour: u32 = parts.next()?.parse().ok().filter(|hour| *hour < 24)?;
    let minute: u32 = parts.next()?.parse().ok().filter(|minute| *minute < 60)?;
    let second: f64 = parts.next().map_or(Some(0.0), |second| second.parse().ok())?;
    let good = parts.next().is_none() && (0.0..61.0).contains(&second);
    good.then_some((i64::from(hour * 60 + minute), second))
}

/// `2024-05-01 12:18`, with seconds and a zone or without (then UTC).
fn moment(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    let time = time.trim();
    let (time, offset_minutes) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0),
        None => match time.rfind(['+', '-']) {
            None => (time, 0),
            Some(at) => {
                let zone = time[at + 1..].replace(':', "");
                let digits: i64 = zone.parse().ok().filter(|_| zone.len() == 4)?;
                let minutes = digits / 100 * 60 + digits % 100;
                (&time[..at], if time[at..].starts_with('-') { -minutes } else { minutes })
            }
        },
    };
    let (minutes, seconds) = hour_and_minute(time.trim())?;
    let whole = (days_since_1970(year, month, day) * 1440 + minutes - offset_minutes) * 60_000;
    Some(whole + (seconds * 1000.0) as i64)
}

/// Days from 1 January 1970 to a date of the Gregorian calendar (H. Hinnant's method: years begin in March, so that
/// the leap day is the last of its year).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_spellings_of_a_time() {
        for (value, expected) in [
            (json!("12:18"), Time::OfDay(738)),
            (json!("[00:05:59]"), Time::OfDay(5)),
            (json!(1_700_000_000), Time::Moment(1_700_000_000_000)),
            (json!(1_700_000_000_123_u64), Time::Moment(1_700_000_000_123)),
            (json!(1.5), Time::Moment(1_500)),
            (json!("1970-01-01T00:00:00Z"), Time::Moment(0)),
            (json!("1969-12-31 23:59"), Time::Moment(-60_000)),
            (json!("2024-02-29T12:00:00.25+02:00"), Time::Moment(1_709_200_800_250)),
            (json!("2000-03-01t00:00:00-0030"), Time::Moment(951_870_600_000)),
        ] {
            assert_eq!(Time::read("at", &value), Ok(expected), "{value}");
        }
        assert_eq!(Time::read("at_ms", &json!(5)), Ok(Time::Moment(5)));
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        for value in
            ["", "noon", "24:00", "12:60", "12", "2024-13-01T00:00Z", "2024-01-01", "2024-01-01T00:00+2", "é:é"]
        {
            assert!(Time::read("at", &json!(value)).is_err(), "{value}");
        }
        assert!(Time::read("at", &json!([])).is_err());
    }
}
