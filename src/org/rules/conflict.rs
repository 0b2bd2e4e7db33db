//! Two rules of one heading: both are read, and which one holds is left to the model. Somebody should say.

use std::fmt;

use crate::markdown::Fault;

use super::{Cascade, Rule, Source};

/// Two rules of different places with the same first heading, where the more special one does not say that it stands in
/// the other one's place, or may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The heading, as the more special rule has it.
    pub heading: String,
    /// The file of the more general rule.
    pub general: String,
    /// The file of the more special rule.
    pub special: String,
    /// The line of its heading.
    pub line: usize,
    /// Whether the general rule is one of this program, which nothing overrides.
    pub with_system: bool,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { heading, general, .. } = self;
        if self.with_system {
            write!(f, "a rule of this program has the heading `{heading}` as well, and nothing overrides it: ")?;
            return write!(f, "give this rule a heading of its own");
        }
        write!(f, "the rule {general} has the heading `{heading}` as well: write `# {heading} [OVERRIDE]` here if ")?;
        write!(f, "this one holds instead, or give it a heading of its own")
    }
}

impl From<Conflict> for Fault {
    fn from(conflict: Conflict) -> Fault {
        Fault::warning(&conflict.special, Some(conflict.line), conflict.to_string())
    }
}

/// The conflicts of the rules that belong to the cascade's own team with those above them; of the main team also those
/// of the owner's. Asked of every team, each conflict comes once.
pub fn conflicts(cascade: &Cascade) -> Vec<Conflict> {
    let all: Vec<&Rule> = cascade.fixed.iter().chain(&cascade.varying).collect();
    let team = cascade.team();
    let own = |rule: &Rule| match &rule.source {
        Source::System => false,
        Source::Owner => team.is_main(),
        Source::Org(of) | Source::Team(of) => of == team,
    };
    let mut found = Vec::new();
    for (at, special) in all.iter().enumerate().filter(|(_, rule)| own(rule)) {
        let Some(topic) = &special.topic else { continue };
        let same = |rule: &&&Rule| rule.topic.as_ref().is_some_and(|other| other.key() == topic.key());
        let above = all[..at].iter().filter(|rule| rule.source != special.source).filter(same);
        let above: Vec<&&Rule> = above.collect();
        let system = above.iter().find(|rule| rule.source == Source::System);
        let nearest = above.last().filter(|_| !topic.overrides);
        let Some(general) = system.or(nearest) else { continue };
        found.push(Conflict {
            heading: topic.heading.clone(),
            general: general.file.clone(),
            special: special.file.clone(),
            line: topic.line,
            with_system: general.source == Source::System,
        });
    }
    found
}
