//! The six types of memories, and the other words that models use for them.

use std::str::FromStr;

/// What kind of thing is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What the team is. Does not age.
    Identity,
    /// What was learned. Does not age.
    Lesson,
    /// What was decided.
    Decision,
    /// What is going on.
    Context,
    /// Where to look something up. In no prompt by itself.
    Reference,
    /// What was once. In no prompt by itself.
    Historical,
}

impl Kind {
    /// Every type: first those that prompts carry, in the order in which they do.
    pub const ALL: [Kind; 6] =
        [Kind::Identity, Kind::Lesson, Kind::Decision, Kind::Context, Kind::Reference, Kind::Historical];

    /// The types that prompts carry, in the order in which they do.
    pub const IN_PROMPTS: [Kind; 4] = [Kind::Identity, Kind::Lesson, Kind::Decision, Kind::Context];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Identity => "identity",
            Kind::Lesson => "lesson",
            Kind::Decision => "decision",
            Kind::Context => "context",
            Kind::Reference => "reference",
            Kind::Historical => "historical",
        }
    }

    /// Whether an old one is worth less than a new one.
    pub fn ages(self) -> bool {
        !matches!(self, Kind::Identity | Kind::Lesson)
    }
}

/// A word that is no type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no type of memory: use identity, lesson, decision, context, reference or historical")]
pub struct BadKind(pub String);

impl FromStr for Kind {
    type Err = BadKind;

    /// Reads a type or another word for one, in any case. Nothing is context.
    fn from_str(text: &str) -> Result<Kind, BadKind> {
        Ok(match text.trim().to_lowercase().as_str() {
            "identity" | "core" | "self" => Kind::Identity,
            "lesson" | "warning" | "insight" | "learning" => Kind::Lesson,
            "decision" | "commitment" | "choice" | "note" => Kind::Decision,
            "" | "context" | "active" | "background" => Kind::Context,
            "reference" | "pointer" | "link" => Kind::Reference,
            "historical" | "archive" | "past" => Kind::Historical,
            _ => return Err(BadKind(base::text::cut(text.trim(), 40))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_word_is_understood() {
        for (words, kind) in [
            ("identity core self Identity", Kind::Identity),
            ("lesson warning insight learning LEARNING", Kind::Lesson),
            ("decision commitment choice note", Kind::Decision),
            ("context active background", Kind::Context),
            ("reference pointer link", Kind::Reference),
            ("historical archive past", Kind::Historical),
        ] {
            for word in words.split(' ') {
                assert_eq!(word.parse(), Ok(kind), "{word}");
            }
        }
        assert_eq!(" ".parse(), Ok(Kind::Context));
        for bad in ["fact", "lessons", "identity;", "コンテキスト"] {
            assert_eq!(bad.parse::<Kind>(), Err(BadKind(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn each_type_reads_as_itself() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
    }
}
