//! Who has read what. A file is changed only by whoever knows what is in it.
//!
//! Kept in memory: after a restart everybody reads again before they change, which costs a call and loses nothing.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base::{TeamName, TopicId};
use cap_std::fs::{File, Metadata};
use sha2::{Digest, Sha256};

use super::{FILE_BYTES_MAX, Workspaces};
use crate::call::Call;

/// How many files are known to have been read, of all teams together: about two megabytes.
const SEEN_MAX: usize = 8_192;

/// Whose knowledge it is: one line of talk of one team. What another topic's session has read, this one's model has
/// never seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    pub(super) team: TeamName,
    pub(super) topic: Option<TopicId>,
}

impl Reader {
    /// Whoever makes this call.
    pub fn of(call: &Call) -> Reader {
        Reader { team: call.team.clone(), topic: call.origin.topic }
    }
}

/// What a file was when it was read: equal marks, equal files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The hash of its bytes. A file that was touched and not changed is the same.
    Content([u8; 32]),
    /// Of a file that is too long to be read whole: its length and when it was written.
    Stamp {
        /// In bytes.
        length: u64,
        /// As its file system has it.
        modified: Option<SystemTime>,
    },
}

impl Mark {
    /// The mark of these bytes.
    pub fn of(bytes: &[u8]) -> Mark {
        Mark::Content(Sha256::digest(bytes).into())
    }

    /// The mark of an open file, and its bytes where there are at most [`FILE_BYTES_MAX`].
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(file: &mut File, metadata: &Metadata) -> io::Result<(Mark, Option<Vec<u8>>)> {
        let stamp = || Mark::Stamp {
            length: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
        };
        if metadata.len() > FILE_BYTES_MAX {
            return Ok((stamp(), None));
        }
        let mut bytes = Vec::new();
        // One byte more than fits: the file may be growing.
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES_MAX { Ok((stamp(), None)) } else { Ok((Mark::of(&bytes), Some(bytes))) }
    }
}

/// The files that were read, and when in the order of all reads.
#[derive(Debug, Default)]
pub(super) struct Seen {
    files: HashMap<(Reader, PathBuf), (u64, Mark)>,
    reads: u64,
}

impl Workspaces {
    /// Says that somebody knows a file of their workspace as it is now.
    pub fn note(&self, reader: &Reader, path: &Path, mark: Mark) {
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.reads += 1;
        let read = seen.reads;
        seen.files.insert((reader.clone(), path.to_owned()), (read, mark));
        if seen.files.len() > SEEN_MAX {
            // The oldest quarter at once, so that a full table is not searched at every read.
            let keep_from = read.saturating_sub(SEEN_MAX as u64 / 4 * 3);
            seen.files.retain(|_, (read, _)| *read > keep_from);
        }
    }

    /// What somebody knows of a file of their workspace.
    pub fn known(&self, reader: &Reader, path: &Path) -> Option<Mark> {
        let seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        seen.files.get(&(reader.clone(), path.to_owned())).map(|(_, mark)| mark.clone())
    }
}
