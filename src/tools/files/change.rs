//! What the tools that write have in common: only who has read a file changes it.

use super::edits::{self, Replacement};
use crate::call::Call;
use crate::tool::ToolError;
use crate::workspace::{Existing, FILE_BYTES_MAX, Mark, Reader, Workspaces, blocking, shown};

/// Writes what `decide` makes of a file, and remembers that the caller knows the new content. `decide` gives the new
/// content, or none where there is nothing to write, and what to say.
pub async fn change(
    workspaces: &Workspaces,
    call: &Call,
    path: String,
    make_folders: bool,
    decide: impl FnOnce(&Known<'_>) -> Result<(Option<Vec<u8>>, String), ToolError> + Send + 'static,
) -> Result<String, ToolError> {
    let (workspaces, team, reader) = (workspaces.clone(), call.team.clone(), Reader::of(call));
    let stop = call.stop.clone();
    blocking(move || {
        let workspace = workspaces.of(&team)?;
        let mut written = None;
        let (at, said) = workspace.change(&path, make_folders, |at, existing| {
            let known = workspaces.known(&reader, at);
            let (content, said) = decide(&Known { path: &path, existing, known })?;
            // The last moment: whoever has stopped waiting is not surprised by a write.
            if stop.is_cancelled() {
                return Err(ToolError::refused("stopped"));
            }
            written = content.as_deref().map(Mark::of).or_else(|| existing.map(|existing| existing.mark.clone()));
            Ok((content, said))
        })?;
        if let Some(mark) = written {
            workspaces.note(&reader, &at, mark);
        }
        Ok(said)
    })
    .await
}

/// Makes edits in a file.
pub async fn edit(
    workspaces: &Workspaces,
    call: &Call,
    path: String,
    edits: Vec<Replacement>,
) -> Result<String, ToolError> {
    change(workspaces, call, path, false, move |known| {
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
