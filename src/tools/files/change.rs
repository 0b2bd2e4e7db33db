//! What the tools that write have in common: only who has read a file changes it.

use std::path::Path;

use base::TeamName;
use cap_std::fs::Dir;
use org::handbook::{self, Handbook};
use org::markdown::{Folder, Whose};

use super::edits::{self, Replacement};
use crate::call::Call;
use crate::tool::ToolError;
use crate::toolboxes::Directory;
use crate::workspace::{Existing, FILE_BYTES_MAX, Mark, Reader, Workspaces, blocking, shown};

/// Most faults of a file that whoever wrote it is told.
const FAULTS_TOLD_MAX: usize = 5;

/// What the tools that write are made of. Clones are the same.
#[derive(Clone)]
pub struct Pen {
    /// The teams' folders.
    pub workspaces: Workspaces,
    /// What tools there are: no subagent should have the name of one.
    pub directory: Directory,
}

impl Pen {
    /// What is wrong with a file of those that say who the team is and how it works, for whoever has just written it; empty
    /// where nothing is, and of every other file.
    fn faults(&self, root: &Dir, team: &TeamName, at: &Path) -> String {
        let Some(file) = at.to_str().filter(|file| handbook::is_read(file)) else { return String::new() };
        // It is written: for that, nothing beside it needs to be readable.
        let Ok(folder) = Folder::of(root, Whose::Team) else { return String::new() };
        let is_tool = |name: &str| self.directory.records().iter().any(|tool| tool.names().any(|known| known == name));
        let book = Handbook::read(&folder, team, is_tool);
        let lines: String = book.faults_of(file).take(FAULTS_TOLD_MAX).map(|fault| format!("\n- {fault}")).collect();
        if lines.is_empty() { lines } else { format!("\nWhat is wrong with it:{lines}") }
    }
}

/// Writes what `decide` makes of a file, and remembers that the caller knows the new content. `decide` gives the new
/// content, or none where there is nothing to write, and what to say.
pub async fn change(
    pen: &Pen,
    call: &Call,
    path: String,
    make_folders: bool,
    decide: impl FnOnce(&Known<'_>) -> Result<(Option<Vec<u8>>, String), ToolError> + Send + 'static,
) -> Result<String, ToolError> {
    let (pen, team, reader) = (pen.clone(), call.team.clone(), Reader::of(call));
    let stop = call.stop.clone();
    blocking(move || {
        let workspace = pen.workspaces.of(&team)?;
        let mut written = None;
        let (at, said) = workspace.change(&path, make_folders, |at, existing| {
            let known = pen.workspaces.known(&reader, at);
            let (content, said) = decide(&Known { path: &path, existing, known })?;
            // The last moment: whoever has stopped waiting is not surprised by a write.
            if stop.is_cancelled() {
                return Err(ToolError::refused("stopped"));
            }
            written = content.as_deref().map(Mark::of).or_else(|| existing.map(|existing| existing.mark.clone()));
            Ok((content, said))
        })?;
        if let Some(mark) = written {
            pen.workspaces.note(&reader, &at, mark);
        }
        Ok(format!("{said}{}", pen.faults(workspace.root(), &team, &at)))
    })
    .await
}

/// Makes edits in a file.
pub async fn edit(pen: &Pen, call: &Call, path: String, edits: Vec<Replacement>) -> Result<String, ToolError> {
    change(pen, call, path, false, move |known| {
        let existing = known.as_read()?;
        let too_long = || {
            ToolError::refused(format!("{} is longer than {FILE_BYTES_MAX} bytes and is not edited", shown(known.path)))
        };
        let text = existing.bytes.as_deref().ok_or_else(too_long)?;
        if memchr::memchr(0, text).is_some() {
            return Err(ToolError::refused(format!("{} is not a text file", shown(known.path))));
        }
        let (text, places) =
            edits::apply(text, &edits).map_err(|why| ToolError::refused(format!("{}: {why}", shown(known.path))))?;
        let replaced = base::text::count(i64::try_from(places).unwrap_or(i64::MAX), "replacement");
        Ok((Some(text), format!("{} edited: {replaced}", shown(known.path))))
    })
    .await
}

/// A file that is about to be changed, and what the caller knows of it.
pub struct Known<'a> {
    /// As the model named it.
    pub path: &'a str,
    /// What is there.
    pub existing: Option<&'a Existing>,
    known: Option<Mark>,
}

impl<'a> Known<'a> {
    /// The file, which the caller has read as it is.
    ///
    /// # Errors
    /// Where it is not there, was not read, or has changed since.
    pub fn as_read(&self) -> Result<&'a Existing, ToolError> {
        let path = shown(self.path);
        let existing = self.existing.ok_or_else(|| {
            ToolError::refused(format!("there is no {path} in the workspace: make it with `write_file`"))
        })?;
        match &self.known {
            None => Err(ToolError::refused(format!(
                "{path} was not read yet: read it with `read_file` before you change it"
            ))),
            Some(mark) if *mark != existing.mark => Err(ToolError::refused(format!(
                "{path} has changed since it was read: read it again before you change it"
            ))),
            Some(_) => Ok(existing),
        }
    }
}
