//! What stands in the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Findings, sources};

/// A function longer than a screen does two things.
const FUNCTION_LINES_MAX: usize = 70;
/// Names that say nothing.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "helpers", "helper", "manager", "service", "engine", "handler", "misc"];

/// A file opens with `//!`.
pub fn openings() -> Findings {
    let sources = sources::rust();
    let wrong = sources.iter().filter(|source| !source.text.starts_with("//! "));
    let wrong = wrong.map(|source| format!("{}: it does not begin with `//! `", source.path.display())).collect();
    Findings { seen: sources.len(), wrong }
}

/// `unwrap()` is for tests.
pub fn unwraps() -> Findings {
    let (mut seen, mut wrong) = (0, Vec::new());
    for source in sources::rust() {
        for (number, line) in source.product_lines() {
            seen += 1;
            if line.contains(".unwrap()") {
                wrong.push(format!("{}:{number}: say with `expect` why it cannot fail", source.path.display()));
            }
        }
    }
    Findings { seen, wrong }
}

/// Files are called what they are.
pub fn names() -> Findings {
    let files = sources::files(&["rs", "md", "sql", "hive"]);
    let hides = |path: &&PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        stem.split(['_', '-', '.']).any(|word| EMPTY_NAMES.contains(&word))
    };
    let wrong = files.iter().filter(hides).map(|path| format!("{}: say what it is", path.display())).collect();
    Findings { seen: files.len(), wrong }
}

/// `#[expect(lint, reason)]` and no `#[allow]`; no test is switched off.
pub fn attributes() -> Findings {
    let (mut seen, mut wrong) = (0, Vec::new());
    // Written so that this file does not find itself.
    let bad = [concat!("#[al", "low("), concat!("#![al", "low("), concat!("#[ig", "nore")];
    for source in sources::rust() {
        for (at, line) in source.text.lines().enumerate() {
            seen += usize::from(line.contains("#["));
            if bad.iter().any(|attribute| line.contains(attribute)) {
                wrong.push(format!("{}:{}: {}", source.path.display(), at + 1, line.trim()));
            }
        }
        for (at, _) in source.text.match_indices(concat!("#[ex", "pect(")) {
            let until = source.text[at..].find(")]").map_or(source.text.len(), |end| at + end);
            if !source.text[at..until].contains("reason") {
                wrong.push(format!("{}: a lint is expected without a reason", source.path.display()));
            }
        }
    }
    Findings { seen, wrong }
}

/// A function ends where a line closes it at the depth at which it began: rustfmt sees to that.
pub fn functions() -> Findings {
    let (mut seen, mut wrong) = (0, Vec::new());
    for source in sources::rust() {
        // A table of a test may be as long as it is.
        let lines: Vec<&str> = source.text[..source.tests_at].lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            if !begins_function(line.trim_start()) {
                continue;
            }
            let closing = format!("{}}}", " ".repeat(indent));
            let opens =
                lines[at..].iter().position(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with('}'));
            let Some(opens) = opens.filter(|opens| lines[at + opens].ends_with('{')) else { continue };
            let Some(length) = lines[at + opens..].iter().position(|line| *line == closing) else { continue };
            seen += 1;
            if length + opens >= FUNCTION_LINES_MAX {
                let shown = source.path.display();
                wrong.push(format!("{shown}:{}: a function of {} lines", at + 1, length + opens + 1));
            }
        }
    }
    Findings { seen, wrong }
}

fn begins_function(line: &str) -> bool {
    let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe "];
    let mut rest = line;
    while let Some(after) = words.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after;
    }
    rest.starts_with("fn ")
}

/// Every prompt is included by some file of Rust, and every included one is there.
pub fn prompts() -> Findings {
    let root = sources::root();
    let mut included = BTreeSet::new();
    let mut wrong = Vec::new();
    for source in sources::rust() {
        for (at, mark) in source.text.match_indices("include_str!(\"") {
            let rest = &source.text[at + mark.len()..];
            let Some(end) = rest.find('"') else { continue };
            let folder = source.path.parent().unwrap_or(Path::new(""));
            let path = root.join(folder).join(&rest[..end]);
            match path.canonicalize() {
                Ok(path) => {
                    included.insert(path);
                }
                Err(_) if rest[..end].contains("prompts/") => {
                    wrong.push(format!("{}: there is no {}", source.path.display(), &rest[..end]));
                }
                Err(_) => {}
            }
        }
    }
    let prompts: Vec<PathBuf> =
        sources::files(&["md"]).into_iter().filter(|path| path.starts_with("prompts")).collect();
    for prompt in &prompts {
        let whole = root.join(prompt).canonicalize().expect("it was found");
        if !included.contains(&whole) {
            wrong.push(format!("{}: nobody includes it", prompt.display()));
        }
    }
    Findings { seen: prompts.len(), wrong }
}

/// No path of somebody's own machine stands in a text.
pub fn machines() -> Findings {
    let marks = [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("C:\\", "Users")];
    let files = sources::files(&["rs", "md", "toml", "sql", "hive", "yaml", "yml", "json", "sh", "txt"]);
    let mut wrong = Vec::new();
    for path in &files {
        let Ok(text) = std::fs::read_to_string(sources::root().join(path)) else { continue };
        for (at, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                wrong.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    Findings { seen: files.len(), wrong }
}

/// A scenario's first line is a sentence that says what holds.
pub fn scenarios() -> Findings {
    let files = sources::files(&["hive"]);
    let first = |path: &PathBuf| {
        let text = std::fs::read_to_string(sources::root().join(path)).expect("the file can be read");
        text.lines().next().unwrap_or_default().to_owned()
    };
    let is_sentence = |line: &str| line.starts_with("# ") && line.ends_with('.');
    let wrong = files.iter().filter(|path| !is_sentence(&first(path)));
    let wrong = wrong.map(|path| format!("{}: it begins with `# ` and a sentence", path.display())).collect();
    Findings { seen: files.len(), wrong }
}
