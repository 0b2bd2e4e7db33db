//! The copy of a team's events that lies in its folder: `events.jsonl`, one JSON object a line.
//!
//! The rows are the truth. The file says itself how far it goes, by the id of its last whole line: there is nothing
//! beside it that could say something else after a crash. What stands behind that line was being written when the power
//! went, and goes; what the file lacks is written again from the rows.

use std::io::{self, Read, Seek, SeekFrom, Write};

use base::TeamName;
use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};

use super::Workspaces;

/// The files' names, the newest first. No tool of a team writes them.
pub const EVENT_FILES: [&str; 4] = ["events.jsonl", "events.1.jsonl", "events.2.jsonl", "events.3.jsonl"];

/// How long a file may become before the next one is begun, in bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// How much of a file's end is read first to find its last line, in bytes.
const END_BYTES: u64 = 64 << 10;

/// How a file was left: while it is as long as it was, it goes as far as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftAt {
    length: u64,
    last: i64,
}

/// A team's file, open.
#[derive(Debug)]
pub struct EventFile {
    dir: Dir,
    file: File,
    length: u64,
    last: i64,
    as_left: bool,
}

impl Workspaces {
    /// Opens the file of a team, and makes it if it is not there. `None` where the team has no folder: one that is
    /// gone is not made again. Blocks, for as long as a short write takes.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn event_file(&self, team: &TeamName, left: Option<LeftAt>) -> io::Result<Option<EventFile>> {
        let dir = match self.root.open_dir_nofollow(team.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            dir => dir?,
        };
        let mut file = open(&dir)?;
        let length = file.metadata()?.len();
        if let Some(left) = left.filter(|left| left.length == length) {
            return Ok(Some(EventFile { dir, file, length, last: left.last, as_left: true }));
        }
        let (length, last) = match whole(&mut file, length)? {
            Some((end, last)) => (end, last),
            // An older one says how far the files go, if there is one.
            None => (0, older(&dir)?),
        };
        file.set_len(length)?;
        Ok(Some(EventFile { dir, file, length, last, as_left: false }))
    }
}

impl EventFile {
    /// The id of the last event in it; 0 where there is none.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// Whether nobody has changed it since it was left. Else it may lack something before its end.
    pub fn is_as_left(&self) -> bool {
        self.as_left
    }

    /// How it is left now.
    pub fn leave(self) -> LeftAt {
        LeftAt { length: self.length, last: self.last }
    }

    /// Writes whole lines to its end, the last of which is the event `last`. Where it has become too long, the next
    /// file is begun.
    ///
    /// # Errors
    /// If that cannot be done. What was written in part goes when it is opened again.
    pub fn append(&mut self, lines: &str, last: i64) -> io::Result<()> {
        if self.length > 0 && self.length + lines.len() as u64 > FILE_BYTES_MAX {
            self.begin_next()?;
        }
        self.file.write_all(lines.as_bytes())?;
        self.length += lines.len() as u64;
        self.last = last;
        Ok(())
    }

    /// Puts it aside, for one that is empty: it is too long, or of another database.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn begin_next(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        for pair in EVENT_FILES.windows(2).rev() {
            match self.dir.rename(pair[0], &self.dir, pair[1]) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = open(&self.dir)?;
        (self.length, self.last) = (0, 0);
        Ok(())
    }

    /// Waits until it is on the disk.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Opens the newest file to be written at its end. What is no file of its own goes: no team is to have it.
fn open(dir: &Dir) -> io::Result<File> {
    let name = EVENT_FILES[0];
    match dir.symlink_metadata(name) {
        Ok(found) if found.is_dir() => dir.remove_dir_all(name)?,
        Ok(found) if !found.is_file() || found.nlink() > 1 => dir.remove_file(name)?,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).follow(FollowSymlinks::No).nonblock(true);
    dir.open_with(name, &options)
}

/// Where the last whole line ends, and its event's id.
fn whole(file: &mut File, length: u64) -> io::Result<Option<(u64, i64)>> {
    let mut looked_at = END_BYTES;
    loop {
        let from = length.saturating_sub(looked_at);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(length - from).read_to_end(&mut bytes)?;
        let mut end = bytes.len();
        while let Some(line_end) = bytes[..end].iter().rposition(|byte| *byte == b'\n') {
            let begin = bytes[..line_end].iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            // The first line of a part may be the end of one.
            if begin.is_none() && from > 0 {
                break;
            }
            if let Some(id) = id(&bytes[begin.unwrap_or(0)..line_end]) {
                return Ok(Some((from + line_end as u64 + 1, id)));
            }
            end = line_end;
        }
        if from == 0 {
            return Ok(None);
        }
        looked_at = looked_at.saturating_mul(16);
    }
}

fn id(line: &[u8]) -> Option<i64> {
    serde_json::from_slice::<serde_json::Value>(line).ok()?.get("id")?.as_i64()
}

/// The last event of the file before the newest.
fn older(dir: &Dir) -> io::Result<i64> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let mut file = match dir.open_with(EVENT_FILES[1], &options) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let length = file.metadata()?.len();
    Ok(whole(&mut file, length)?.map_or(0, |(_, id)| id))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(id: i64) -> String {
        format!("{{\"id\":{id},\"kind\":\"step\"}}\n")
    }

    struct Place {
        workspaces: Workspaces,
        team: TeamName,
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let workspaces = Workspaces::open(folder.path()).unwrap();
            let team: TeamName = "ops".parse().unwrap();
            workspaces.of(&team).unwrap();
            Place { workspaces, team, folder }
        }

        fn open(&self) -> EventFile {
            self.workspaces.event_file(&self.team, None).unwrap().unwrap()
        }

        fn path(&self, at: usize) -> std::path::PathBuf {
            self.folder.path().join("ops").join(EVENT_FILES[at])
        }

        fn text(&self, at: usize) -> String {
            fs::read_to_string(self.path(at)).unwrap()
        }
    }

    #[test]
    fn a_file_says_how_far_it_goes_and_loses_what_is_not_whole() {
        let place = Place::new();
        assert_eq!(place.open().last(), 0);
        place.open().append(&(line(3) + &line(7)), 7).unwrap();
        for broken in [
            "",
            "{\"id\":8,\"ki",
            "{\"id\":8}",
            "\0\0\0\0\n\0\0",
            "no json\n{\"id\":\"9\"}\n",
            &format!("{{\"id\":8,\"x\":\"{}", "x".repeat(200_000)),
        ] {
            fs::write(place.path(0), line(3) + &line(7) + broken).unwrap();
            assert_eq!(place.open().last(), 7, "{broken:.20}");
            assert_eq!(place.text(0), line(3) + &line(7));
        }
        fs::write(place.path(0), "nothing of ours").unwrap();
        assert_eq!(place.open().last(), 0);
        assert_eq!(place.text(0), "");
        assert!(place.workspaces.event_file(&"none".parse().unwrap(), None).unwrap().is_none(), "a folder was made");
    }

    #[test]
    fn a_file_that_is_as_long_as_it_was_left_is_as_it_was_left() {
        let place = Place::new();
        let mut file = place.open();
        file.append(&line(1), 1).unwrap();
        let left = file.leave();
        let again = |left| place.workspaces.event_file(&place.team, Some(left)).unwrap().unwrap();
        assert!(again(left).is_as_left());
        fs::remove_file(place.path(0)).unwrap();
        let file = again(left);
        assert!(!file.is_as_left());
        assert_eq!(file.last(), 0);
    }

    #[test]
    fn a_file_that_is_too_long_is_put_aside_and_the_oldest_goes() {
        let place = Place::new();
        let long = |id: i64| format!("{{\"id\":{id},\"x\":\"{}\"}}\n", "x".repeat(5 << 20));
        for id in 1..=6 {
            // Opened anew each time, as after a restart.
            let mut file = place.open();
            assert_eq!(file.last(), id - 1);
            file.append(&long(id), id).unwrap();
        }
        for (at, id) in [(0, 6), (1, 5), (2, 4), (3, 3)] {
            assert_eq!(place.text(at), long(id));
        }
        fs::write(place.path(0), "").unwrap();
        assert_eq!(place.open().last(), 5, "right after the next file was begun");
    }

    #[test]
    fn what_is_no_file_of_its_own_is_not_written_to() {
        let place = Place::new();
        let outside = place.folder.path().join("outside");
        fs::write(&outside, "kept").unwrap();
        std::os::unix::fs::symlink(&outside, place.path(0)).unwrap();
        place.open().append(&line(1), 1).unwrap();
        fs::remove_file(place.path(0)).unwrap();
        fs::hard_link(&outside, place.path(0)).unwrap();
        place.open().append(&line(1), 1).unwrap();
        fs::remove_file(place.path(0)).unwrap();
        fs::create_dir(place.path(0)).unwrap();
        place.open().append(&line(1), 1).unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
        assert_eq!(place.text(0), line(1));
    }
}
