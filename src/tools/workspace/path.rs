//! Whether a path's text stays inside a folder, and may be used as it is meant to be. Pure: what stands at the path's
//! end is the kernel's to say, when it is opened.

use std::path::{Component, Path, PathBuf};

use super::{readings, shown};

/// The longest path that is looked at, in bytes (`PATH_MAX` of Linux).
const PATH_BYTES_MAX: usize = 4_096;

/// The longest name of a file, in bytes (`NAME_MAX` of Linux).
const NAME_BYTES_MAX: usize = 255;

/// What a path is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To read a file.
    Read,
    /// To look into a folder.
    List,
    /// To make, change or replace a file.
    Write,
}

/// The file of a team's folder that says what the team may do.
pub const CONFIG: &str = "config.yaml";

/// What of a team's own folder the team reads and does not write, neither by a tool nor by a command: its configuration,
/// which grants its tools; its plugins, whose text is looked through before it is written; the results that the hive
/// keeps there; and the names of the rules that stand above every team: a folder that is called so could only mislead.
/// Everything else is the team's: `org-rules`, `team-rules`, `skills`, `subagents` and its files.
pub const GOVERNED: &[&str] = &[CONFIG, "plugins", "system-rules", "admin-rules", super::RESULTS];

/// What no team may write, although it lies in the team's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRules {
    /// Files and folders, relative to the team's folder: upper and lower case are the same here.
    pub unwritable: Vec<String>,
    /// Files and folders of the hive by their absolute paths: rules of the system and of the owner, settings, data.
    /// They lie elsewhere as a rule; where somebody put one into a team's folder, it stays closed.
    pub protected: Vec<PathBuf>,
}

impl Default for PathRules {
    /// What is [`GOVERNED`], and the copies of the team's events. A command could write to these, which the hive makes
    /// good: they grow while it runs, so that they are not put back at its end as [`CONFIG`] is.
    fn default() -> Self {
        let unwritable = GOVERNED.iter().chain(&super::EVENT_FILES).map(|name| (*name).to_owned());
        PathRules { unwritable: unwritable.collect(), protected: Vec::new() }
    }
}

/// The rule that refused a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is no path: empty of meaning, too long, or with a zero byte in it.
    NotAPath,
    /// It leads out of the folder.
    Outside,
    /// It would lead out where somebody decodes or cleans it.
    Disguised,
    /// It speaks of a home folder, or of a folder by a variable, which nothing here expands.
    Home,
    /// A name with control characters is not made.
    ControlCharacter,
    /// Nor is one with a backslash: it was meant to part folders, or to escape.
    Backslash,
    /// It names a folder where a file is wanted.
    Folder,
    /// The governance of the hive: teams do not write this.
    Governed,
}

impl Rule {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::NotAPath => "not-a-path",
            Rule::Outside => "outside",
            Rule::Disguised => "disguised",
            Rule::Home => "home",
            Rule::ControlCharacter => "control-character",
            Rule::Backslash => "backslash",
            Rule::Folder => "folder",
            Rule::Governed => "governed",
        }
    }
}

/// Why a path may not be used so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rule.
    pub rule: Rule,
    /// For the model.
    pub detail: String,
}

/// The path inside a folder that `given` names. `names` are the folder's own absolute paths: an absolute path may
/// begin with any of them.
///
/// Without `.` and without a slash at the end, which would have a link at the end followed. To write, also without
/// `..`: no link is followed on the way to a file that is written, so that the words say where it lies.
///
/// # Errors
/// If the words lead out under any reading, or the path may not be used so.
pub fn inside(names: &[PathBuf], given: &str, usage: Use, rules: &PathRules) -> Result<PathBuf, Refusal> {
    let refuse = |rule, what: &str| Refusal { rule, detail: format!("{} {what}", shown(given)) };
    let too_long = |part: &str| part.len() > NAME_BYTES_MAX;
    if given.len() > PATH_BYTES_MAX || given.contains('\0') || given.split('/').any(too_long) {
        return Err(refuse(Rule::NotAPath, "is not a path"));
    }
    let outside = || refuse(Rule::Outside, "is outside of the workspace");
    let stripped = if given.starts_with('/') { Some(strip(names, given).ok_or_else(outside)?) } else { None };
    let relative = stripped.as_deref().unwrap_or(given);
    if climbs(relative) {
        return Err(outside());
    }
    let disguised = || {
        refuse(Rule::Disguised, "could be read as a path out of the workspace by whoever decodes it: use a plain name")
    };
    let others = readings::of(relative).ok_or_else(disguised)?;
    for text in others.iter().map(String::as_str).chain([relative]) {
        if is_home(text) {
            return Err(refuse(
                Rule::Home,
                "begins with `~` or a variable, which are not expanded here: paths are relative to the workspace",
            ));
        }
        if text.contains(['\0', '\n', '\r']) && text != relative || leads_out(names, text) {
            return Err(disguised());
        }
    }
    if usage == Use::Write {
        may_write(names, relative, &others, rules).map_err(|(rule, what)| refuse(rule, what))?;
    }
    Ok(match usage {
        Use::Read | Use::List => kept(relative),
        Use::Write => collapsed(relative).iter().collect(),
    })
}

/// What of an absolute path stands behind the folder's own.
fn strip(names: &[PathBuf], given: &str) -> Option<String> {
    let rest = names.iter().find_map(|name| Path::new(given).strip_prefix(name).ok())?.to_str()?;
    // A slash or dot at the end says that a folder is meant, and was dropped.
    let is_folder = given.ends_with('/') || given.ends_with("/.");
    let end = if is_folder && !rest.is_empty() { "/" } else { "" };
    Some(format!("{rest}{end}"))
}

fn kept(relative: &str) -> PathBuf {
    let path: PathBuf = Path::new(relative).components().filter(|part| !matches!(part, Component::CurDir)).collect();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

/// Whether the kernel would leave the folder, were there no links.
fn climbs(relative: &str) -> bool {
    let mut depth = 0_i64;
    relative.split('/').any(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}

/// A path without `..`, as its words have it: what it is called, not where it leads.
pub fn plain(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| collapsed(text).iter().collect())
}

/// The parts of a path whose `..` are known not to lead out.
fn collapsed(relative: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

/// Whether one reading of a relative path leads out, on any system: both slashes part names, white space around dots
/// does not count, and a folder of three dots is two steps up, as it was on old systems. A file may be called that.
fn leads_out(names: &[PathBuf], text: &str) -> bool {
    let stripped = match text.as_bytes().first() {
        Some(b'\\') => return true,
        Some(b'/') => match strip(names, text) {
            None => return true,
            within => within,
        },
        _ => None,
    };
    let relative = stripped.as_deref().unwrap_or(text);
    let windows = relative.contains('\\');
    let mut depth = 0_i64;
    let mut parts = relative.split(['/', '\\']).map(str::trim).peekable();
    while let Some(name) = parts.next() {
        let is_folder = parts.peek().is_some();
        // A step up by its stream (`..::$INDEX_ALLOCATION`) is one as well.
        let name = name.split_once(':').map_or(name, |(step, _)| if step.is_empty() { name } else { step });
        let dots = name.bytes().all(|byte| byte == b'.').then_some(name.len());
        depth += match dots {
            Some(0 | 1) => 0,
            Some(2) => -1,
            Some(more) if windows || is_folder => 1 - i64::try_from(more).unwrap_or(i64::MAX),
            _ => 1,
        };
        if depth < 0 {
            return true;
        }
    }
    false
}

/// `~`, `~/notes`, `$HOME/x`, `%APPDATA%\x`; `~$letter.docx`, `$lib/x` and `100%` are names.
fn is_home(text: &str) -> bool {
    let (first, is_folder) = text.split_once(['/', '\\']).map_or((text, false), |(first, _)| (first, true));
    let name =
        first.strip_prefix('$').map(|name| name.strip_prefix('{').and_then(|n| n.strip_suffix('}')).unwrap_or(name));
    let name = name.or_else(|| first.strip_prefix('%').and_then(|name| name.strip_suffix('%')));
    let is_variable = name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
    });
    text == "~" || is_folder && (first.starts_with('~') || is_variable)
}

fn may_write(
    names: &[PathBuf],
    relative: &str,
    others: &[String],
    rules: &PathRules,
) -> Result<(), (Rule, &'static str)> {
    let last = relative.rsplit('/').next().unwrap_or("");
    if matches!(last, "" | "." | "..") {
        return Err((Rule::Folder, "names a folder, and only files are written"));
    }
    if relative.contains(char::is_control) {
        return Err((Rule::ControlCharacter, "has control characters in it: use a plain name"));
    }
    let governed = |text: &str| {
        let path = folded(text);
        rules.unwritable.iter().any(|rule| path.starts_with(&folded(rule)))
    };
    let real: PathBuf = collapsed(relative).iter().collect();
    let protected = || rules.protected.iter().any(|rule| names.iter().any(|name| name.join(&real).starts_with(rule)));
    if others.iter().map(String::as_str).chain([relative]).any(governed) || protected() {
        return Err((Rule::Governed, "is governed by the hive, and no team writes it: an admin changes it"));
    }
    if relative.contains('\\') {
        return Err((Rule::Backslash, "has a backslash in it: `/` parts folders, and nothing is escaped"));
    }
    Ok(())
}

/// The parts of a path as the most forgiving file system compares them: without case, dots and blanks at the end of a
/// name, and streams (`name::$DATA`).
fn folded(text: &str) -> Vec<String> {
    let fold = |part: &str| match part.trim() {
        step @ ("." | "..") => step.to_owned(),
        name => {
            let name = name.split(':').next().unwrap_or("").trim_end_matches([' ', '.']);
            // Through upper case: it also takes ligatures apart.
            name.to_uppercase().to_lowercase()
        }
    };
    let text: Vec<String> = text.split(['/', '\\']).map(fold).collect();
    collapsed(&text.join("/")).into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
