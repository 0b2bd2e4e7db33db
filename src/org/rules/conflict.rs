//! Two rules of one heading: both are read, and which one holds is left to the model. Somebody should say.

use std::fmt;

use crate::markdown::Fault;

use super::{Cascade, Rule, Source};

/// Two rules with the same first heading: of different places, where the more special one does not say that it stands in
/// the other one's place, or may not; or side by side in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The heading, as the more special rule has it.
    pub heading: String,
    /// The file of the more general rule, or of the first of two side by side.
    pub general: String,
    /// The file of the more special rule, or of the second.
    pub special: String,
    /// The line of its heading.
    pub line: usize,
    /// What the one is to the other.
    pub relation: Relation,
}

/// What the more general rule of two is to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is one of this program, which nothing overrides.
    System,
    /// It is of a place above.
    Above,
    /// It stands in the same folder: neither is more special.
    Beside,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { heading, general, .. } = self;
        match self.relation {
            Relation::System => {
                write!(f, "a rule of this program has the heading `{heading}` as well, and nothing overrides it: ")?;
                write!(f, "give this rule a heading of its own")
            }
            Relation::Above => {
                write!(f, "the rule {general} has the heading `{heading}` as well: write ")?;
                write!(f, "`# {heading} [OVERRIDE]` here if this one holds instead, or give it a heading of its own")
            }
            Relation::Beside => {
                let file = general.rsplit('/').next().unwrap_or(general);
                write!(f, "the rule {file} beside it has the heading `{heading}` as well: make one rule of them, or ")?;
                write!(f, "give this one a heading of its own")
            }
        }
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
        let (beside, above): (Vec<&&Rule>, Vec<&&Rule>) =
            all[..at].iter().filter(same).partition(|rule| rule.source == special.source);
        let system = above.iter().find(|rule| rule.source == Source::System).map(|rule| (Relation::System, rule));
        let nearest = above.last().filter(|_| !topic.overrides).map(|rule| (Relation::Above, rule));
        let first = beside.first().map(|rule| (Relation::Beside, rule));
        found.extend(system.or(nearest).into_iter().chain(first).map(|(relation, general)| Conflict {
            heading: topic.heading.clone(),
            general: general.file.clone(),
            special: special.file.clone(),
            line: topic.line,
            relation,
        }));
    }
    found
}
