//! One thing that one session is asked, and what came of it.

use std::time::Duration;

use super::limits::Limits;
use super::sessions::Whom;
use crate::gate::Saturated;
use crate::org::TEXT_CHARS_MAX;
use crate::tool::ToolError;

/// One thing that one session is asked.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Who is asked.
    pub whom: Whom,
    /// All that it is told.
    pub text: String,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// What was said, or why nothing was.
pub(super) type Answer = Result<String, Why>;

/// Why there is no answer. Whoever asked reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Why {
    /// It was not in before the others were given up.
    #[error("nobody was asked")]
    NobodyAsked,
    /// The rules of the turn, or the state of the team, kept it from being asked.
    #[error("{0}")]
    Refused(String),
    /// It did not come in time.
    #[error("timeout")]
    Timeout,
    /// The team has no slot.
    #[error(transparent)]
    Saturated(Saturated),
    /// The session failed: its own words, or what is known of it.
    #[error("{0}")]
    Failed(String),
}

impl Why {
    /// It in one word, as events say it.
    pub fn word(&self) -> &'static str {
        match self {
            Why::Timeout => "timeout",
            Why::Saturated(_) => "saturation",
            Why::NobodyAsked | Why::Refused(_) | Why::Failed(_) => "failed",
        }
    }
}

impl Item {
    /// Asks a child team. Whether it is one is for the rows to say.
    ///
    /// # Errors
    /// If there is nothing to ask, the time is out of bounds, or the name cannot be a team's.
    pub fn to_team(team: &str, text: &str, timeout_ms: Option<u64>, default: Duration) -> Result<Item, ToolError> {
        let name = team.trim().parse().map_err(|_| no_child(team))?;
        Item::to(Whom::Team(name), text, timeout_ms, default)
    }

    /// Asks somebody.
    ///
    /// # Errors
    /// If there is nothing to ask, it is longer than a task may be, or the time is out of bounds.
    pub fn to(whom: Whom, text: &str, timeout_ms: Option<u64>, default: Duration) -> Result<Item, ToolError> {
        if text.trim().is_empty() {
            return Err(ToolError::Refused(format!(
                "nothing is said to `{whom}`: write everything that it has to know"
            )));
        }
        let chars = text.chars().count();
        if chars > TEXT_CHARS_MAX {
            return Err(ToolError::Refused(format!(
                "what is said to `{whom}` has {chars} characters, and may have {TEXT_CHARS_MAX}: put the rest into a file"
            )));
        }
        let timeout = timeout_ms.map_or(default, Duration::from_millis);
        if timeout.is_zero() || timeout > Limits::TIMEOUT_MAX {
            let most = Limits::TIMEOUT_MAX.as_millis();
            return Err(ToolError::Refused(format!("a timeout is 1 to {most} ms")));
        }
        Ok(Item { whom, text: text.to_owned(), timeout })
    }

    /// Whom and what, as the rules of a turn compare it: the same words are the same task, however they are set.
    pub fn wanted(&self) -> Wanted {
        let task = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        Wanted { whom: self.whom.clone(), task }
    }
}

/// Whom a turn asks, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub whom: Whom,
    pub task: String,
}

/// Says that a call asks too few or too many.
///
/// # Errors
/// If it does.
pub(super) fn check_fan_out(asked: usize, limits: &Limits) -> Result<(), ToolError> {
    match asked {
        0 => Err(ToolError::refused("nobody is asked")),
        asked if asked > limits.fan_out_max => {
            let most = limits.fan_out_max;
            Err(ToolError::Refused(format!("{asked} are asked, and one call asks at most {most}: split it")))
        }
        _ => Ok(()),
    }
}

/// The refusal where somebody is asked who is no child.
pub(super) fn no_child(name: &str) -> ToolError {
    let name = base::text::cut(&crate::workspace::printable(name), 60);
    ToolError::Refused(format!("`{name}` is no child of this team, and nobody was asked"))
}

/// The longest result of a call that asks several, in bytes.
pub(super) const FAN_OUT_BYTES_MAX: usize = 128 * 1_024;
/// What the fields around an answer take, with room for what stands in for a secret.
const AROUND_BYTES: usize = 512;

/// Answers in as much of the result as each has a right to: whether there is one, and its text. The result stays whole,
/// so that every answer can be found in it again.
pub(super) fn shares(answers: Vec<Answer>) -> Vec<(bool, String)> {
    let each = (FAN_OUT_BYTES_MAX / answers.len().max(1)).saturating_sub(AROUND_BYTES);
    answers
        .into_iter()
        .map(|answer| match answer {
            Ok(text) => (true, within(&text, each)),
            Err(why) => (false, within(&why.to_string(), each)),
        })
        .collect()
}

/// As much of the beginning of `text` as takes at most `bytes_max` in JSON, and how much is missing.
fn within(text: &str, bytes_max: usize) -> String {
    let mut bytes = 0;
    for (at, c) in text.char_indices() {
        bytes += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        if bytes > bytes_max {
            return format!("{}\n[… {} bytes left out: ask for less …]", &text[..at], text.len() - at);
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_shares_of_a_result_fit_into_it(texts in prop::collection::vec("[ -~\u{0}-\u{1f}é🦀]{0,400}", 1..6), times in 1_usize..400) {
            let answers: Vec<Answer> = texts.iter().map(|text| Ok(text.repeat(times))).collect();
            let whole = answers.clone();
            let shares = shares(answers);
            let json = serde_json::to_string(&shares).unwrap();
            prop_assert!(json.len() <= FAN_OUT_BYTES_MAX, "{}", json.len());
            for ((ok, share), whole) in shares.iter().zip(whole) {
                let (head, cut) = share.rsplit_once("\n[… ").map_or((share.as_str(), false), |(head, _)| (head, true));
                let kept = if cut { head } else { share };
                prop_assert!(*ok && whole.unwrap().starts_with(kept));
            }
        }
    }

    #[test]
    fn the_same_words_are_the_same_task() {
        let ask = |text: &str| Item::to(Whom::Scout, text, None, Duration::from_secs(1)).unwrap().wanted();
        assert_eq!(ask("look  at\nit"), ask(" look at it "));
        assert_ne!(ask("look at it"), ask("look at that"));
    }
}
