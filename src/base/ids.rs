//! Names and row ids as types of their own, so that none can stand in for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

// Row ids are given by the database, in the order in which the rows were made.

/// A message or other event that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub i64);

/// A message that goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutboxId(pub i64);

/// A line of talk in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TopicId(pub i64);

/// A piece of work in a team's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

/// The journaled record of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub i64);

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for OutboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A team's name: a slug, and the name of its folder. Lower-case letters, digits and single hyphens, at most 48.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TeamName(Box<str>);

/// The root team's name.
pub const MAIN: &str = "main";

impl TeamName {
    /// The root team: it talks to people and routes.
    pub fn main() -> Self {
        TeamName(MAIN.into())
    }
    /// The slug.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// Whether this is the root team.
    pub fn is_main(&self) -> bool {
        &*self.0 == MAIN
    }
}

/// A text that is no team name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTeamName(pub String);

impl fmt::Display for BadTeamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever wrote it may have written anything, of any length.
        let shown = crate::text::quoted(&self.0, 60);
        write!(f, "`{shown}` is not a team name: use 1 to 48 lower-case letters, digits and single hyphens")
    }
}
impl std::error::Error for BadTeamName {}

impl FromStr for TeamName {
    type Err = BadTeamName;
    fn from_str(text: &str) -> Result<Self, BadTeamName> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = (1..=48).contains(&text.len());
        if fits && text.split('-').all(|part| !part.is_empty() && part.chars().all(letters)) {
            Ok(TeamName(text.into()))
        } else {
            Err(BadTeamName(text.to_owned()))
        }
    }
}
impl TryFrom<String> for TeamName {
    type Error = BadTeamName;
    fn try_from(text: String) -> Result<Self, BadTeamName> {
        text.parse()
    }
}
impl From<TeamName> for String {
    fn from(name: TeamName) -> String {
        name.0.into()
    }
}
impl fmt::Display for TeamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_name_is_a_slug() {
        for good in ["main", "a", "ops-2", "0"] {
            assert!(good.parse::<TeamName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "A", "a/b", "..", "a b", &"a".repeat(49)] {
            assert!(bad.parse::<TeamName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_team_name_is_shown_in_part_and_harmless() {
        let bad = format!("\u{1b}[2J\n{}", "a".repeat(10_000)).parse::<TeamName>().unwrap_err().to_string();
        assert!(bad.starts_with("`\\u{1b}[2J\\na") && bad.contains("…` is not a team name"), "{bad}");
        assert!(bad.chars().count() < 200 && !bad.chars().any(char::is_control), "{bad}");
    }
}
