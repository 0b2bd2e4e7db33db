//! Files on their way to a conversation: a copy of each, where no team reaches it. What is sent is what was looked
//! at, whatever happens to the file meanwhile.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{File, OpenOptions};
use sha2::{Digest, Sha256};

use super::Workspaces;
use crate::tool::ToolError;

/// The folder beside the teams' own. No team has such a name.
pub(super) const FOLDER: &str = ".outgoing";

impl Workspaces {
    /// Copies an open file, and gives the copy's absolute path. The same content is the same copy. `None` where the
    /// file is longer than `bytes_max`.
    ///
    /// # Errors
    /// Refused where a secret stands in it: nobody takes it out of a file that is sent. Broken if it cannot be read or
    /// written.
    pub fn keep_to_send(&self, file: &mut File, bytes_max: u64) -> Result<Option<PathBuf>, ToolError> {
        let mut bytes = Vec::new();
        file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).context("read a file that is to be sent")?;
        if bytes.len() as u64 > bytes_max {
            return Ok(None);
        }
        if self.secrets.finds_in(&String::from_utf8_lossy(&bytes)) {
            return Err(ToolError::refused("a secret stands in the file, and secrets are not sent"));
        }
        let name: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        self.keep(&name, &bytes).context("keep a file that is to be sent")?;
        let root = self.names.first().context("the teams' folder has no name")?;
        Ok(Some(root.join(FOLDER).join(name)))
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self.root.create_dir(FOLDER) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let folder = self.root.open_dir_nofollow(FOLDER)?;
        let _one = self.writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let part = format!("{name}.part");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).follow(FollowSymlinks::No);
        let mut file = folder.open_with(&part, &options)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        folder.rename(&part, &folder, name)
    }
}
