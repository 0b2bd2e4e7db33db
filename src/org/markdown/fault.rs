//! What is wrong with a file: where, and what to do about it.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grade {
    /// Something that was written has no effect.
    Error,
    /// Everything has an effect, perhaps not the one that was meant.
    Warning,
}

impl Grade {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Grade::Error => "error",
            Grade::Warning => "warning",
        }
    }
}

/// One thing that is wrong with a file. Shown as `subagents/react-dev.md:12: what is wrong: what to do`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, relative to its folder, on one line.
    pub file: String,
    /// The line, counted from 1; `None` where the file as a whole is meant.
    pub line: Option<usize>,
    /// How bad it is.
    pub grade: Grade,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Fault {
    /// Something has no effect.
    pub fn error(file: &str, line: Option<usize>, message: impl Into<String>) -> Self {
        Fault { file: file.to_owned(), line, grade: Grade::Error, message: message.into() }
    }

    /// Something is perhaps not as it was meant.
    pub fn warning(file: &str, line: Option<usize>, message: impl Into<String>) -> Self {
        Fault { file: file.to_owned(), line, grade: Grade::Warning, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}
