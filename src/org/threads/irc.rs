//! Plain text logs of IRC: `[12:18] <nick> text`.

use std::cmp::Ordering;

/// One line, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrcLine<'a> {
    /// Minutes since midnight, where the line says.
    pub minute_of_day: Option<u32>,
    /// Who wrote or did it; `None`: the server.
    pub sender: Option<&'a str>,
    /// The text; of an action what follows the name.
    pub text: &'a str,
}

/// What the server says of people and the channel. Other lines behind `===` are actions of people.
const SERVER: [&str; 9] = [
    " has joined",
    " has left",
    " has quit",
    " is now known as ",
    " has kicked ",
    " was kicked ",
    " sets mode",
    " has changed the topic",
    " changed the topic",
];

/// Takes a line apart. Known are `<nick> text`, the actions `* nick does` and `=== nick does`, and the notices of the
/// server, each with or without `[HH:MM]` or `[HH:MM:SS]` before it. What has no known form is a notice.
pub fn read(line: &str) -> IrcLine<'_> {
    let (minute_of_day, rest) = take_time(line.trim_end());
    let body = rest.trim_start();
    let notice = IrcLine { minute_of_day, sender: None, text: body };
    if let Some((sender, text)) = body.strip_prefix('<').and_then(|body| body.split_once('>')) {
        let sender = sender.trim();
        return if sender.is_empty() {
            notice
        } else {
            IrcLine { minute_of_day, sender: Some(sender), text: text.trim_start() }
        };
    }
    let action = body.strip_prefix("* ").or_else(|| body.strip_prefix("=== "));
    match action.and_then(|action| action.split_once(' ')) {
        Some((sender, text)) if !is_servers(body) && !sender.is_empty() => {
            IrcLine { minute_of_day, sender: Some(sender), text }
        }
        _ => notice,
    }
}

fn is_servers(body: &str) -> bool {
    body.contains("=== Topic ") || SERVER.iter().any(|sign| body.contains(sign))
}

fn take_time(line: &str) -> (Option<u32>, &str) {
    let parsed = line.strip_prefix('[').and_then(|line| line.split_once(']')).and_then(|(time, rest)| {
        let mut parts = time.split(':');
        let hour: u32 = parts.next()?.parse().ok().filter(|hour| *hour < 24)?;
        let minute: u32 = parts.next()?.parse().ok().filter(|minute| *minute < 60)?;
        Some((hour * 60 + minute, rest))
    });
    match parsed {
        Some((minute, rest)) => (Some(minute), rest),
        None => (None, line),
    }
}

/// Turns the minutes of a day, which start again at noon or midnight, into milliseconds that never run back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    last_minute: Option<i64>,
}

impl Clock {
    /// Half a day: some logs write `[12:59]` and then `[01:00]`.
    const TURN_MINUTES: i64 = 12 * 60;
    /// Lines may be this much out of order: they have the time of the line before them.
    const SLACK_MINUTES: i64 = 10;

    /// The time of a line that says `minute_of_day`, in milliseconds since midnight before the first line. A line
    /// without a time has that of the line before it.
    pub fn at_ms(&mut self, minute_of_day: Option<u32>) -> Option<i64> {
        if let Some(minute) = minute_of_day.map(i64::from) {
            let last = self.last_minute.unwrap_or(minute);
            let ahead = (minute - last).rem_euclid(Self::TURN_MINUTES);
            let is_late = ahead >= Self::TURN_MINUTES - Self::SLACK_MINUTES;
            self.last_minute = Some(match minute.cmp(&last) {
                Ordering::Less if is_late => last,
                Ordering::Less => last + ahead,
                Ordering::Equal | Ordering::Greater => minute,
            });
        }
        self.last_minute.map(|minute| minute * 60_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_line() {
        for (line, minute, sender, text) in [
            ("[12:18] <ann> hi there", Some(738), Some("ann"), "hi there"),
            ("[12:18:59] <ann>", Some(738), Some("ann"), ""),
            ("<|a|> <b> c", None, Some("|a|"), "<b> c"),
            ("[09:01]  * bob yawns", Some(541), Some("bob"), "yawns"),
            ("=== bob has a notebook", None, Some("bob"), "has a notebook"),
            ("=== bob [~b@host]  has joined #room", None, None, "=== bob [~b@host]  has joined #room"),
            ("=== a is now known as b", None, None, "=== a is now known as b"),
            ("[99:99] <ann> hi", None, None, "[99:99] <ann> hi"),
            ("", None, None, ""),
            ("<>", None, None, "<>"),
        ] {
            assert_eq!(read(line), IrcLine { minute_of_day: minute, sender, text }, "{line}");
        }
    }

    #[test]
    fn time_never_runs_back() {
        let mut clock = Clock::default();
        let said = [None, Some(779), Some(60), None, Some(58), Some(61), Some(719), Some(0)];
        let minutes: Vec<Option<i64>> = said.into_iter().map(|at| clock.at_ms(at).map(|ms| ms / 60_000)).collect();
        assert_eq!(minutes, [None, Some(779), Some(780), Some(780), Some(780), Some(781), Some(1439), Some(1440)]);
    }
}
