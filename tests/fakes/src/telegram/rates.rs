//! The rates that Telegram documents, kept as strictly as it says and no stricter.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Messages to one private chat: one a second (Bot FAQ, "Broadcasting to Users").
const PRIVATE: Window = Window { most: 1, within: Duration::from_secs(1) };
/// Messages to one group: twenty a minute.
const GROUP: Window = Window { most: 20, within: Duration::from_secs(60) };
/// Messages to everybody: thirty a second.
const OVERALL: Window = Window { most: 30, within: Duration::from_secs(1) };
/// The network moves requests together: this much of a window is forgiven.
const SLACK: Duration = Duration::from_millis(60);

struct Window {
    most: usize,
    within: Duration,
}

impl Window {
    /// How long one more would have to wait.
    fn wait(&self, sent: &VecDeque<Instant>, now: Instant) -> Option<Duration> {
        let within = self.within - SLACK;
        let recent = sent.iter().filter(|at| now.duration_since(**at) < within);
        let oldest = sent.len().checked_sub(self.most)?;
        (recent.count() >= self.most).then(|| within - now.duration_since(sent[oldest]))
    }
}

/// When what was sent.
#[derive(Debug, Default)]
pub(super) struct Rates {
    overall: VecDeque<Instant>,
    chats: BTreeMap<i64, VecDeque<Instant>>,
}

impl Rates {
    /// Counts a message to `chat`, or says after how many seconds it could be sent.
    pub(super) fn admit(&mut self, chat: i64, now: Instant) -> Result<(), u64> {
        let window = if chat < 0 { &GROUP } else { &PRIVATE };
        let sent = self.chats.entry(chat).or_default();
        let wait = window.wait(sent, now).max(OVERALL.wait(&self.overall, now));
        if let Some(wait) = wait {
            return Err((wait.as_secs_f64().ceil() as u64).max(1));
        }
        for (sent, most) in [(sent, window.most), (&mut self.overall, OVERALL.most)] {
            sent.push_back(now);
            while sent.len() > most {
                sent.pop_front();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_chat_takes_one_a_second_and_a_group_twenty_a_minute() {
        let mut rates = Rates::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(rates.admit(1, at(0)), Ok(()));
        assert_eq!(rates.admit(1, at(500)), Err(1));
        assert_eq!(rates.admit(1, at(1000)), Ok(()));
        for n in 0..20 {
            assert_eq!(rates.admit(-1, at(2000 + n * 100)), Ok(()), "message {n}");
        }
        assert_eq!(rates.admit(-1, at(12_000)), Err(50));
        assert_eq!(rates.admit(-1, at(62_000)), Ok(()));
    }

    #[test]
    fn everybody_together_gets_thirty_a_second() {
        let mut rates = Rates::default();
        let start = Instant::now();
        for chat in 1..=30 {
            assert_eq!(rates.admit(chat, start), Ok(()));
        }
        assert_eq!(rates.admit(31, start), Err(1));
        assert_eq!(rates.admit(31, start + Duration::from_secs(1)), Ok(()));
    }
}
