//! What a benchmark has found out: for people, and as one JSON object.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::spread::Spread;

/// The result of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its name on the command line.
    pub name: String,
    /// What was measured, in a sentence.
    pub about: String,
    /// How many pairs of our path and its floor were measured.
    pub pairs: usize,
    /// Whether it was a quick run, whose numbers only show that everything works.
    pub quick: bool,
    /// Our path beside its floor.
    pub compared: Vec<Compared>,
    /// What is to be reached, and whether it is.
    pub goals: Vec<Goal>,
    /// Numbers without a goal.
    pub also: Vec<Figure>,
    /// Where it ran.
    pub machine: Machine,
}

/// Our path beside its floor: the least that the same work could cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// What was measured.
    pub what: String,
    /// The unit of both.
    pub unit: String,
    /// Our path.
    pub ours: Spread,
    /// What the floor is.
    pub floor_is: String,
    /// The floor.
    pub floor: Spread,
    /// Ours divided by the floor's, pair by pair.
    pub ratio: Spread,
}

impl Compared {
    /// From pairs that were measured one after the other.
    pub fn of(what: &str, unit: &str, ours: &[f64], floor_is: &str, floor: &[f64]) -> Compared {
        Compared {
            what: what.to_owned(),
            unit: unit.to_owned(),
            ours: Spread::of(ours),
            floor_is: floor_is.to_owned(),
            floor: Spread::of(floor),
            ratio: Spread::of_ratios(ours, floor),
        }
    }
}

/// Something to be reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// What is bounded.
    pub what: String,
    /// What it is.
    pub value: f64,
    /// What it may be.
    pub bound: Bound,
    /// The unit of both; empty for a ratio or a count.
    pub unit: String,
    /// Whether it is within.
    pub met: bool,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Goal {
    /// `value` may be no more than `limit`.
    pub fn at_most(what: &str, value: f64, limit: f64, unit: &str) -> Goal {
        Goal { what: what.to_owned(), value, bound: Bound::AtMost(limit), unit: unit.to_owned(), met: value <= limit }
    }

    /// `value` may be no less than `limit`.
    pub fn at_least(what: &str, value: f64, limit: f64, unit: &str) -> Goal {
        Goal { what: what.to_owned(), value, bound: Bound::AtLeast(limit), unit: unit.to_owned(), met: value >= limit }
    }
}

/// A number by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub what: String,
    /// How much.
    pub value: f64,
    /// Of what; empty for a count.
    pub unit: String,
}

impl Figure {
    /// A number.
    pub fn new(what: &str, value: f64, unit: &str) -> Figure {
        Figure { what: what.to_owned(), value, unit: unit.to_owned() }
    }
}

/// A number as short as it says something: three digits that count.
pub fn short(value: f64) -> String {
    let size = value.abs();
    match () {
        () if value.fract() == 0.0 && size < 1e15 => format!("{value:.0}"),
        () if size >= 100.0 => format!("{value:.0}"),
        () if size >= 10.0 => format!("{value:.1}"),
        () if size >= 0.1 => format!("{value:.2}"),
        () => format!("{value:.4}"),
    }
}

/// A number with its unit.
pub fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { short(value) } else { format!("{} {unit}", short(value)) }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}–{})", short(self.median), short(self.low), short(self.high))
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, limit) = match self.bound {
            Bound::AtMost(limit) => ("at most", limit),
            Bound::AtLeast(limit) => ("at least", limit),
        };
        let verdict = if self.met { "met" } else { "MISSED" };
        let (value, limit) = (with_unit(self.value, &self.unit), with_unit(limit, &self.unit));
        write!(f, "{}: {value}, goal {word} {limit}: {verdict}", self.what)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.about)?;
        let pairs = self.pairs;
        for Compared { what, unit, ours, floor_is, floor, ratio } in &self.compared {
            writeln!(f, "  {what}: {ours} {unit}; floor {floor} {unit} ({floor_is}); ratio {ratio}, {pairs} pairs")?;
        }
        for goal in &self.goals {
            writeln!(f, "  {goal}")?;
        }
        for Figure { what, value, unit } in &self.also {
            writeln!(f, "  {what}: {}", with_unit(*value, unit))?;
        }
        writeln!(f, "  on {}", self.machine)
    }
}
