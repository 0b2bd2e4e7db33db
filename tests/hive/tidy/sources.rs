//! The files of this repository, and which parts of them are tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file of Rust.
pub struct Source {
    /// Its path, from the root.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Where its tests begin, as a byte of the text; its end where it has none, 0 where it is one.
    pub tests_at: usize,
}

impl Source {
    /// The lines that are no tests, numbered, without comments that stand alone.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text[..self.tests_at].lines().enumerate().map(|(at, line)| (at + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Whether it is below one of these folders.
    pub fn is_in(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files with this extension, sorted; of what is built or fetched, none.
pub fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), &mut |path| {
        if path.extension().and_then(|extension| extension.to_str()).is_some_and(|e| extensions.contains(&e)) {
            found.push(path.strip_prefix(root()).expect("it was found there").to_owned());
        }
    });
    found.sort();
    found
}

fn walk(folder: &Path, each: &mut impl FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            // `.ci` is ours; everything else with a dot is a tool's.
            if name != "target" && (!name.starts_with('.') || name == ".ci") {
                walk(&path, each);
            }
        } else {
            each(&path);
        }
    }
}

/// Every file of Rust.
pub fn rust() -> Vec<Source> {
    let mut sources: Vec<Source> = files(&["rs"])
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(root().join(&path)).expect("the file can be read");
            let tests_at = inline_tests(&text).unwrap_or(text.len());
            Source { path, text, tests_at }
        })
        .collect();
    let tests = test_modules(&sources);
    for source in &mut sources {
        let below_a_test = source.path.ancestors().any(|path| tests.contains(path));
        if below_a_test || source.is_in(&["tests", "channels/tests", "benches", "examples"]) {
            source.tests_at = 0;
        }
    }
    sources
}

/// Where `#[cfg(test)] mod tests { … }` begins: by custom the last thing of a file.
fn inline_tests(text: &str) -> Option<usize> {
    let opens = |line: &str| line.ends_with(" {") && line.split(' ').any(|word| word == "mod");
    let mut marks = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at);
    marks.find(|at| text[*at..].lines().nth(1).is_some_and(opens))
}

/// The files and folders of modules that are declared for tests only.
fn test_modules(sources: &[Source]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for source in sources {
        for (at, _) in source.text.match_indices("#[cfg(test)]\n") {
            let declared = source.text[at..].lines().nth(1).unwrap_or_default();
            let declared = declared.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let Some(name) = declared.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) else { continue };
            let folder = source.path.parent().unwrap_or(Path::new(""));
            let stem = source.path.file_stem().unwrap_or_default();
            let inside = folder.join(stem);
            for base in [folder, &inside] {
                found.insert(base.join(format!("{name}.rs")));
                found.insert(base.join(name));
            }
        }
    }
    found
}
