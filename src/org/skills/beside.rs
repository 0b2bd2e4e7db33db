//! The files beside a skill: texts that it refers to, and scripts that it has run.

use std::io;
use std::path::{Component, Path};

use crate::markdown::{Fault, Folder, Kind, Listed, is_outside};

use super::{OWN_FILE, Skill, shown};

/// Most files that are listed of one skill.
const FILES_MAX: usize = 200;
/// How deep folders are looked into.
const DEPTH_MAX: usize = 4;
/// The longest text that is given of a file, in bytes.
pub const TEXT_BYTES_MAX: u64 = 256 * 1_024;

/// A file beside a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Its path from the skill's folder, `scripts/check.py`.
    pub path: String,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// What runs it, where it is a script.
    pub script: Option<Interpreter>,
}

/// What runs a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpreter {
    /// `.py`
    Python,
    /// `.js`, `.mjs`, `.cjs`
    Node,
    /// `.sh`
    Bash,
}

impl Interpreter {
    /// What runs a file of this name.
    pub fn of(path: &str) -> Option<Interpreter> {
        match Path::new(path).extension()?.to_str()? {
            "py" => Some(Interpreter::Python),
            "js" | "mjs" | "cjs" => Some(Interpreter::Node),
            "sh" => Some(Interpreter::Bash),
            _ => None,
        }
    }

    /// The program.
    pub fn program(self) -> &'static str {
        match self {
            Interpreter::Python => "python3",
            Interpreter::Node => "node",
            Interpreter::Bash => "bash",
        }
    }
}

/// A file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// The text, its beginning where it is too long.
    pub text: String,
    /// Whether there is more.
    pub is_cut: bool,
}

/// Why a file is not given. For the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The skill is one file.
    #[error("the skill `{0}` has no files beside it")]
    NoFolder(String),
    /// The path leads out of the skill's folder.
    #[error("`{0}` is outside of the skill's folder: give a path from that folder, such as `scripts/check.py`")]
    Outside(String),
    /// There is no such file.
    #[error("there is no file `{path}` beside the skill; there are: {known}")]
    Unknown {
        /// What was asked for.
        path: String,
        /// What there is.
        known: String,
    },
    /// It is no text.
    #[error("`{0}` is no text")]
    Binary(String),
    /// The system says no.
    #[error("`{path}` cannot be read: {why}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// Why not.
        why: String,
    },
}

/// The files beside a skill, folder by folder, sorted by name. Blocks.
pub fn files(folder: &Folder, skill: &Skill, faults: &mut Vec<Fault>) -> Vec<Beside> {
    let Some(root) = &skill.folder else { return Vec::new() };
    // A handle of the skill's own folder: what leads out of that is not listed, because it could not be read.
    let Ok(own) = folder.below(root) else { return Vec::new() };
    let mut within = Vec::new();
    let found = walk(&own, &mut within);
    faults.extend(within.into_iter().map(|fault| Fault { file: format!("{root}/{}", fault.file), ..fault }));
    found
}

/// The files beside a skill in a few lines, for the end of its text; empty where there are none. Blocks.
pub fn told(folder: &Folder, skill: &Skill) -> String {
    let line = |file: &Beside| {
        let script = if file.script.is_some() { ", a script" } else { "" };
        format!("\n- {} ({} bytes{script})", shown(&file.path), file.bytes)
    };
    match &files(folder, skill, &mut Vec::new())[..] {
        [] => String::new(),
        files => {
            let lines: String = files.iter().map(line).collect();
            format!("Files beside this skill (`read_skill_file`, and `run_skill_script` for scripts):{lines}")
        }
    }
}

fn walk(own: &Folder, faults: &mut Vec<Fault>) -> Vec<Beside> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), 1)];
    while let Some((below, depth)) = open.pop() {
        let mut folders = Vec::new();
        for Listed { path, kind, bytes, .. } in own.list(&below, faults) {
            match kind {
                Kind::Folder if depth < DEPTH_MAX => folders.push((path, depth + 1)),
                Kind::Folder => {
                    let message = format!("folders deeper than {DEPTH_MAX} are not looked into: move its files up");
                    faults.push(Fault::warning(&crate::markdown::shown(&path), None, message));
                }
                Kind::File if path == OWN_FILE => {}
                Kind::File if found.len() == FILES_MAX => {
                    let message = format!("there are more than {FILES_MAX} files, and the rest is not listed");
                    faults.push(Fault::warning(&path, None, format!("{message}: take away what is not needed")));
                    return found;
                }
                Kind::File => {
                    let script = Interpreter::of(&path);
                    found.push(Beside { path, bytes, script });
                }
            }
        }
        open.extend(folders.into_iter().rev());
    }
    found
}

/// The text of a file beside a skill, at most [`TEXT_BYTES_MAX`] of it. Blocks.
///
/// # Errors
/// If there is no such file, or it is no text. The path is a model's: what leads out of the skill's folder is refused,
/// be it in words or by a link.
pub fn read_file(folder: &Folder, skill: &Skill, path: &str) -> Result<FileText, Refusal> {
    let root = skill.folder.as_ref().ok_or_else(|| Refusal::NoFolder(skill.name.to_string()))?;
    let path_shown = shown(path);
    let names = Path::new(path).components().filter(|part| *part != Component::CurDir);
    let inside: Option<Vec<&str>> = names
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let inside = inside.filter(|names| !names.is_empty() && !path.contains(['\0', '\\']));
    let Some(inside) = inside else { return Err(Refusal::Outside(path_shown)) };
    let own = folder.below(root).map_err(|error| unreadable(&path_shown, &error))?;
    let read = own.bytes(&inside.join("/"), TEXT_BYTES_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Refusal::Unknown { path: path_shown.clone(), known: known(folder, skill) }
        }
        _ if is_outside(&error) => Refusal::Outside(path_shown.clone()),
        _ => unreadable(&path_shown, &error),
    })?;
    let text = match String::from_utf8(read.bytes) {
        Ok(text) => text,
        // A character may have been cut in two at the end.
        Err(error) if read.is_cut && error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..whole]).into_owned()
        }
        Err(_) => return Err(Refusal::Binary(path_shown)),
    };
    if text.contains('\0') {
        return Err(Refusal::Binary(path_shown));
    }
    Ok(FileText { text, is_cut: read.is_cut })
}

fn unreadable(path: &str, error: &io::Error) -> Refusal {
    let why = if error.raw_os_error().is_some() { error.kind().to_string() } else { error.to_string() };
    Refusal::Unreadable { path: path.to_owned(), why }
}

/// The first few files, for somebody who asked for one that is not there.
fn known(folder: &Folder, skill: &Skill) -> String {
    const SHOWN: usize = 20;
    let files = files(folder, skill, &mut Vec::new());
    let mut names: Vec<String> = files.iter().take(SHOWN).map(|file| format!("`{}`", shown(&file.path))).collect();
    match files.len() {
        0 => return "none".to_owned(),
        count if count > SHOWN => names.push(format!("and {} more", count - SHOWN)),
        _ => {}
    }
    names.join(", ")
}
