//! Patterns for paths, as a model writes them.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// The longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1_000;

/// A pattern for the paths below a folder.
#[derive(Debug)]
pub struct PathPattern {
    matcher: GlobMatcher,
    /// It has no slash: it is about names, in every folder.
    of_names: bool,
    /// It began with `!`: everything else is meant.
    negated: bool,
    /// It speaks of names that begin with a dot.
    hidden: bool,
}

impl PathPattern {
    /// Reads a pattern: `*` is any run of characters without a slash, `?` is one, `**` any number of folders,
    /// `[ab]` one of these, `{a,b}` either; `!` in front turns it round. One without a slash is about names in every
    /// folder.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn read(text: &str) -> Result<PathPattern, String> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("a pattern may have {PATTERN_BYTES_MAX} bytes"));
        }
        let (negated, glob) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let glob = glob.trim_start_matches("./");
        if glob.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if glob.starts_with('/') || glob.split('/').any(|part| part == "..") {
            return Err(format!(
                "the pattern {} leads elsewhere: it is for paths below `path`, without `..` and without a slash in front",
                crate::workspace::shown(text)
            ));
        }
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        let glob = built.map_err(|error| format!("that is no pattern: {error}"))?;
        let hidden = glob.glob().split('/').any(|part| part.starts_with('.'));
        let of_names = !glob.glob().contains('/');
        Ok(PathPattern { matcher: glob.compile_matcher(), of_names, negated, hidden })
    }

    /// Whether a path below the folder is meant.
    pub fn matches(&self, below: &Path) -> bool {
        let subject = if self.of_names { below.file_name().map_or(below, Path::new) } else { below };
        self.matcher.is_match(subject) != self.negated
    }

    /// Whether hidden names are meant as well.
    pub fn speaks_of_hidden(&self) -> bool {
        self.hidden && !self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_look_like() {
        for (pattern, path, expected) in [
            ("*.rs", "src/a.rs", true),
            ("*.rs", "a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("**/*.{md,txt}", "a.md", true),
            ("./a?.md", "ab.md", true),
            ("[ab].md", "c.md", false),
            ("!*.md", "a.txt", true),
            ("!*.md", "a.md", false),
            ("*.RS", "a.rs", false),
        ] {
            assert_eq!(PathPattern::read(pattern).unwrap().matches(Path::new(path)), expected, "{pattern} {path}");
        }
        for bad in ["", "!", "[", "{a", "/etc/*", "../*", "a/../../*"] {
            assert!(PathPattern::read(bad).is_err(), "{bad}");
        }
        assert!(PathPattern::read(&"{a,b}".repeat(500)).is_err());
        assert!(PathPattern::read("{[ab],{c,d}}**/.x").unwrap().speaks_of_hidden());
    }
}
