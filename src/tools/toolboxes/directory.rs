//! What tools there are, for tools that speak of tools.

use std::sync::{Arc, OnceLock};

use crate::catalogue::Catalogue;
use crate::glob;
use crate::spec::{Effect, Spec};

/// The records of all tools. Made before the catalogue, which fills it: some of its tools hold this. Clones are the
/// same directory.
#[derive(Clone, Default)]
pub struct Directory(Arc<OnceLock<Vec<Spec>>>);

impl Directory {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Directory::default()
    }

    /// Takes over what the catalogue has. The first word stands.
    pub(crate) fn fill(&self, catalogue: &Catalogue) {
        self.0.get_or_init(|| catalogue.entries().map(|entry| entry.spec().clone()).collect());
    }

    /// All records, by domain and name.
    pub(crate) fn records(&self) -> &[Spec] {
        self.0.get().map_or(&[], Vec::as_slice)
    }

    /// The names of a list, cleaned: trimmed, each once, in their order.
    ///
    /// # Errors
    /// Names every one that fits no tool and is no pattern for tools from elsewhere.
    pub(super) fn checked(&self, names: &[String]) -> Result<Vec<String>, String> {
        let (mut kept, mut unknown) = (Vec::new(), Vec::new());
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            let known = self.records().iter().any(|spec| spec.names().any(|own| glob::matches(name, own)));
            // Plugins and servers come and go: their names are taken on trust, and grant nothing until they are there.
            let elsewhere = name.starts_with("mcp__") || name.contains('.');
            if !known && !elsewhere {
                unknown.push(format!("`{}`", base::text::headline(name, 60)));
            } else if !kept.iter().any(|had| had == name) {
                kept.push(name.to_owned());
            }
        }
        if unknown.is_empty() {
            return Ok(kept);
        }
        Err(format!("there is no tool called {}: `list_tools` shows those there are", unknown.join(", ")))
    }

    /// How many tools a list names that are there now.
    pub(super) fn count(&self, names: &[String]) -> usize {
        let named = |spec: &&Spec| names.iter().any(|name| grants(name, spec));
        self.records().iter().filter(named).count()
    }
}

/// Whether an entry of a toolbox stands for the tool. A pattern does not stand for what is disabled by default.
fn grants(pattern: &str, spec: &Spec) -> bool {
    spec.names().any(|name| glob::matches(pattern, name)) && (glob::is_plain(pattern) || !spec.default_disabled)
}

/// The flags of a tool, in words.
pub(super) fn flags(spec: &Spec) -> Vec<&'static str> {
    let flags = [
        (spec.effect == Effect::ReadOnly, "read-only"),
        (spec.destructive, "destructive"),
        (spec.default_disabled, "default-disabled"),
    ];
    flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect()
}
