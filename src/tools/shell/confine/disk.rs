//! How much a workspace holds, looked at a little at a time while a command runs, and how much its disk has left.

use std::io;
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, ReadDir};

use crate::shell::rules::ShellLimits;

/// How many names one look takes in. Some ten milliseconds; a long look would hold up the end of the command.
const NAMES_PER_LOOK: usize = 4_000;

/// How many looks are taken before the command begins, so that most workspaces are known whole by then.
const LOOKS_BEFORE: usize = 10;

/// What a name takes besides its content, in bytes: its place in a folder, and what the disk notes of the file.
const NAME_BYTES: u64 = 1_024;

/// What the disk counts a file's length in, in bytes (stat(3type), `st_blocks`).
const BLOCK_BYTES: u64 = 512;

/// How much a workspace that is full already may grow all the same, in bytes: whoever tidies up makes lists.
const GROWTH_BYTES: u64 = 16 << 20;

/// A walk through the workspace that begins anew when it is done.
///
/// By handles of folders below the workspace's own, through no link that leads out of it. What cannot be looked into is
/// not counted; the disk's free space bounds that as well.
pub(super) struct Disk {
    workspace: Dir,
    /// The folder that is being read.
    reading: Option<(PathBuf, ReadDir)>,
    /// Folders that are still to be read.
    folders: Vec<PathBuf>,
    /// What was counted in this round.
    bytes: u64,
    /// What the workspace may hold: the bound, or a little more than what it held at the end of the first round.
    bytes_max: Option<u64>,
}

impl Disk {
    /// Looks at the current folder, which is the workspace.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn before(limits: &ShellLimits) -> io::Result<Disk> {
        let workspace = Dir::open_ambient_dir(".", ambient_authority())?;
        let mut disk = Disk { workspace, reading: None, folders: vec![PathBuf::from(".")], bytes: 0, bytes_max: None };
        for _ in 0..LOOKS_BEFORE {
            disk.look();
            if disk.is_round_done() {
                disk.next_round(limits);
                break;
            }
        }
        Ok(disk)
    }

    /// Takes another look. Says what there is too much of, or too little.
    pub(super) fn exceeds(&mut self, limits: &ShellLimits) -> Option<String> {
        let free = rustix::fs::fstatvfs(&self.workspace).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        if free.is_ok_and(|free| free < limits.disk_free_bytes_min) {
            return Some(format!("less than {} MiB are free on the disk", limits.disk_free_bytes_min >> 20));
        }
        self.look();
        // Also before the round is done: it will not become less.
        if self.bytes_max.is_some_and(|bytes_max| self.bytes > bytes_max) {
            return Some(format!("more than {} MiB in the workspace", limits.workspace_bytes_max >> 20));
        }
        if self.is_round_done() {
            self.next_round(limits);
        }
        None
    }

    fn is_round_done(&self) -> bool {
        self.reading.is_none() && self.folders.is_empty()
    }

    fn next_round(&mut self, limits: &ShellLimits) {
        self.bytes_max.get_or_insert(bytes_max(limits.workspace_bytes_max, self.bytes));
        self.bytes = 0;
        self.folders.push(PathBuf::from("."));
    }

    fn look(&mut self) {
        for _ in 0..NAMES_PER_LOOK {
            if !self.name() {
                return;
            }
        }
    }

    /// Counts the next name. `false` where there is none left in this round. What has gone meanwhile is not there.
    fn name(&mut self) -> bool {
        let Some((folder, entries)) = &mut self.reading else {
            let Some(folder) = self.folders.pop() else { return false };
            self.reading = self.workspace.read_dir(&folder).ok().map(|entries| (folder, entries));
            return true;
        };
        let Some(entry) = entries.next() else {
            self.reading = None;
            return true;
        };
        let Ok((entry, metadata)) = entry.and_then(|entry| entry.metadata().map(|metadata| (entry, metadata))) else {
            return true;
        };
        let path = if metadata.is_dir() { Some(folder.join(entry.file_name())) } else { None };
        self.folders.extend(path);
        // A file with several names is counted a part for each.
        let length = metadata.blocks().saturating_mul(BLOCK_BYTES);
        let names = if metadata.is_dir() { 1 } else { metadata.nlink().max(1) };
        self.bytes = self.bytes.saturating_add(NAME_BYTES).saturating_add(length / names);
        true
    }
}

/// A full workspace may be tidied up, and not grow much.
fn bytes_max(bound: u64, held: u64) -> u64 {
    if held > bound { held.saturating_add(GROWTH_BYTES) } else { bound }
}
