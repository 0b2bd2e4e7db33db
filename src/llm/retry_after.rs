//! How long a provider asks to wait, from the headers of its refusal.

use std::time::{Duration, UNIX_EPOCH};

use base::Moment;
use base::clock::millis;
use reqwest::header::HeaderMap;

/// The wait that the headers ask for, seen at `now`. The most exact header wins:
///
/// 1. `retry-after-ms`: milliseconds (OpenAI);
/// 2. `retry-after`: seconds, or a date;
/// 3. of every exhausted limit (`…-remaining: 0`) the latest reset: Anthropic gives a moment in
///    `anthropic-ratelimit-<limit>-reset`, OpenAI a span in `x-ratelimit-reset-<limit>`.
pub(crate) fn retry_after(headers: &HeaderMap, now: Moment) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 0.001)) {
        return Some(wait);
    }
    if let Some(wait) = text("retry-after").and_then(|text| seconds(text, 1.0).or_else(|| until_date(text, now))) {
        return Some(wait);
    }
    let exhausted = |name: String| text(&name) == Some("0");
    let anthropic = ["requests", "tokens", "input-tokens", "output-tokens"].into_iter().filter_map(|limit| {
        let reset = text(&format!("anthropic-ratelimit-{limit}-reset"))?;
        exhausted(format!("anthropic-ratelimit-{limit}-remaining")).then(|| until_rfc3339(reset, now))?
    });
    let openai = ["requests", "tokens"].into_iter().filter_map(|limit| {
        let reset = text(&format!("x-ratelimit-reset-{limit}"))?;
        exhausted(format!("x-ratelimit-remaining-{limit}")).then(|| span(reset))?
    });
    anthropic.chain(openai).max()
}

/// A plain number of units of `unit` seconds.
fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// `Fri, 31 Dec 1999 23:59:59 GMT`; none left where it has passed.
fn until_date(text: &str, now: Moment) -> Option<Duration> {
    let date = httpdate::parse_http_date(text).ok()?;
    let at = date.duration_since(UNIX_EPOCH).ok()?;
    Some(millis(i64::try_from(at.as_millis()).ok()?.saturating_sub(now)))
}

/// `2026-01-31T12:00:00Z`, the one form of RFC 3339 that Anthropic sends (a fraction of a second is let go).
fn until_rfc3339(text: &str, now: Moment) -> Option<Duration> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    let fits = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !fits || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let at = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(millis(at * 1_000 - now))
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between).map(|part| part.parse::<u16>().ok().map(i64::from));
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

/// Days since 1970: Howard Hinnant's `days_from_civil`
/// (<https://howardhinnant.github.io/date_algorithms.html>), for years from 1970 on.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let era = year / 400;
    let of_era = year % 400;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A span as Go writes it: `6m0s`, `1.5s`, `20ms`, `1h2m`.
fn span(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let size = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * size;
        rest = after;
    }
    Duration::try_from_secs_f64(total).ok().filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn every_way_of_asking_to_wait_is_understood() {
        // 2026-01-31 12:00:00 UTC.
        let now = 1_769_860_800_000;
        type Headers = &'static [(&'static str, &'static str)];
        let cases: &[(Headers, Option<u64>)] = &[
            (&[], None),
            (&[("retry-after", "3")], Some(3_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after", "7"), ("retry-after-ms", "250")], Some(250)),
            (&[("retry-after", "Sat, 31 Jan 2026 12:00:30 GMT")], Some(30_000)),
            (&[("retry-after", "Sat, 31 Jan 2026 11:00:00 GMT")], Some(0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-5")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "NaN")], None),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "5"),
                    ("anthropic-ratelimit-requests-reset", "2026-01-31T13:00:00Z"),
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2026-01-31T12:00:20Z"),
                    ("anthropic-ratelimit-output-tokens-remaining", "0"),
                    ("anthropic-ratelimit-output-tokens-reset", "2026-01-31T12:00:10.5Z"),
                ],
                Some(20_000),
            ),
            (&[("anthropic-ratelimit-tokens-remaining", "0"), ("anthropic-ratelimit-tokens-reset", "now")], None),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0.5s")], Some(360_500)),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")], Some(20)),
            (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1x")], None),
        ];
        for (headers, expected) in cases {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            assert_eq!(retry_after(&map, now), expected.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn a_date_is_counted_in_days() {
        assert_eq!((days(1970, 1, 1), days(2000, 2, 29), days(2026, 1, 31)), (0, 11_016, 20_484));
    }
}
