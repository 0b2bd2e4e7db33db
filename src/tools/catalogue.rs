//! All tools, sorted, each known by its names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use llm::Schema;

use crate::permission::{Grant, shown};
use crate::spec::{Domain, Effect, Ops, Partition, Source, Spec};
use crate::tool::AnyTool;
use crate::wire;

/// A tool with what the catalogue worked out about it.
pub struct Entry {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// The name that providers see.
    pub wire_name: String,
    /// The JSON Schema of its arguments.
    pub schema: Schema,
}

impl Entry {
    /// The tool's record.
    pub fn spec(&self) -> &Spec {
        self.tool.spec()
    }
}

/// A tool as a model is shown it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name on the wire.
    pub name: String,
    /// What it does and when to use it.
    pub about: String,
    /// The JSON Schema of its arguments.
    pub schema: Schema,
}

/// The tools that one session sees, by logical name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveSet(BTreeSet<Box<str>>);

impl ActiveSet {
    /// Whether a tool is one of them.
    pub fn contains(&self, logical_name: &str) -> bool {
        self.0.contains(logical_name)
    }

    /// Their logical names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }
}

impl<'a> FromIterator<&'a str> for ActiveSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        ActiveSet(names.into_iter().map(Box::from).collect())
    }
}

/// All tools. Invariant: sorted by domain, then by name; every logical name, alias and wire name names one tool.
pub struct Catalogue {
    entries: Vec<Entry>,
    by_name: BTreeMap<String, usize>,
    by_wire: BTreeMap<String, usize>,
}

impl Catalogue {
    /// A catalogue of these tools.
    ///
    /// # Errors
    /// If two tools share a name, or a record contradicts itself.
    pub fn new(tools: Vec<Arc<dyn AnyTool>>) -> Result<Catalogue> {
        let mut entries = tools.into_iter().map(entry).collect::<Result<Vec<_>>>()?;
        entries.sort_by(|a, b| order(a.spec()).cmp(&order(b.spec())));
        let (mut by_name, mut by_wire) = (BTreeMap::new(), BTreeMap::new());
        for (at, entry) in entries.iter().enumerate() {
            for name in entry.spec().names() {
                if by_name.insert(name.to_owned(), at).is_some() {
                    bail!("two tools are called `{name}`");
                }
                // An alias is understood on the wire too: models know some tools by their common names.
                let wire_name = wire::name(name)?;
                if by_wire.insert(wire_name.clone(), at).is_some() {
                    bail!("two tools are called `{wire_name}` on the wire");
                }
            }
        }
        Ok(Catalogue { entries, by_name, by_wire })
    }

    /// Every tool, in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The tool with this logical name or alias.
    pub fn by_name(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    /// The tool that providers see under this name.
    pub fn by_wire(&self, name: &str) -> Option<&Entry> {
        self.by_wire.get(name).map(|at| &self.entries[*at])
    }

    /// What a session with this grant is shown. Who caused the turn makes no difference.
    pub fn active(&self, grant: &Grant) -> ActiveSet {
        self.entries.iter().map(Entry::spec).filter(|spec| shown(spec, grant).allowed).map(|spec| &*spec.name).collect()
    }

    /// The tools of a set as a model is shown them: the same bytes for the same set, always.
    pub fn definitions(&self, active: &ActiveSet) -> Vec<Definition> {
        let entries = self.entries.iter().filter(|entry| active.contains(&entry.spec().name));
        entries.map(Entry::definition).collect()
    }
}

impl Entry {
    fn definition(&self) -> Definition {
        Definition {
            name: self.wire_name.clone(),
            about: self.spec().about.trim().to_owned(),
            schema: self.schema.clone(),
        }
    }
}

fn order(spec: &Spec) -> (&'static str, &str) {
    (spec.domain.as_str(), &spec.name)
}

fn entry(tool: Arc<dyn AnyTool>) -> Result<Entry> {
    let spec = tool.spec();
    let name = &spec.name;
    let wire_name = wire::name(name)?;
    let input = tool.input_schema();
    ensure!(!spec.about.trim().is_empty(), "nothing says what `{name}` does");
    ensure!(input["type"] == "object", "the arguments of `{name}` are no object");
    if spec.source == Source::Native {
        ensure!(input["additionalProperties"] == false, "`{name}` takes arguments that it does not know");
    }
    ensure!(!spec.timeout.is_zero(), "`{name}` has no time to run");
    ensure!(spec.max_result_bytes > 0, "`{name}` may say nothing");
    let internal = matches!(spec.source, Source::Internal { .. });
    ensure!(internal == (spec.domain == Domain::Internal), "`{name}` is half internal");
    let read_only = spec.effect == Effect::ReadOnly;
    ensure!(!(read_only && spec.destructive), "`{name}` only reads and yet destroys");
    ensure!(!(read_only && spec.ops == Ops::Org), "`{name}` only reads and yet wants the team for itself");
    ensure!(!(spec.destructive && tool.asks().is_some()), "`{name}` asks twice before it does anything");
    let overlaps = spec.partition == Partition::Read;
    ensure!(!overlaps || spec.may_run_again(), "`{name}` may overlap with itself and yet has an effect each time");
    Ok(Entry { wire_name, schema: input.into(), tool })
}

#[cfg(test)]
mod tests;
