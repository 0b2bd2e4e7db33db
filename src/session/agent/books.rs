//! What teams' folders say, read again only where something in them has changed.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use base::{Clock, Moment, TeamName};
use org::handbook::Handbook;
use org::markdown::{Fault, Folder, Grade, Whose};
use org::{rules, skills, subagents};

/// Most teams whose handbooks are kept: those that had turns last. A team at rest takes no memory.
const KEPT_MAX: usize = 32;
/// A file that changed less than this before it was read may change again without showing it: file systems write
/// moments down in steps of up to 10 ms (a tick of the kernel's clock), and FAT's are of 2 s.
const SETTLED_MS: Moment = 2_500;
/// Most files whose state is remembered: a folder with more is read anew for each turn.
const FILES_MAX: usize = 300;

/// The handbooks that were read last.
#[derive(Default)]
pub(super) struct Books {
    kept: Mutex<VecDeque<Kept>>,
    /// What was wrong with each team's files when they were read last, where something was: it is told once.
    told: Mutex<VecDeque<(TeamName, Vec<Fault>)>>,
}

struct Kept {
    team: TeamName,
    seen: Vec<Seen>,
    book: Arc<Handbook>,
}

/// A path as it was; `None` where nothing was there.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    state: Option<State>,
}

/// What differs whenever something else stands at a path, or something else stands in it. Nobody can set `changed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    device: u64,
    file: u64,
    bytes: u64,
    /// In nanoseconds since 1970.
    changed: i128,
}

impl State {
    fn of(metadata: &Metadata) -> State {
        State {
            device: metadata.dev(),
            file: metadata.ino(),
            bytes: metadata.size(),
            changed: i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()),
        }
    }
}

impl Seen {
    fn at(path: PathBuf) -> io::Result<Seen> {
        let state = match std::fs::metadata(&path) {
            Ok(metadata) => Some(State::of(&metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Seen { path, state })
    }

    fn still_so(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(metadata) => self.state == Some(State::of(&metadata)),
            Err(error) => error.kind() == io::ErrorKind::NotFound && self.state.is_none(),
        }
    }
}

impl Books {
    /// What the folder of a team says. It is small and local: reading it takes less than handing the work to another
    /// thread. `is_tool` says whether a tool of this program has that name, always the same.
    ///
    /// # Errors
    /// Where the folder cannot be opened.
    pub fn read(&self, path: &Path, team: &TeamName, is_tool: impl Fn(&str) -> bool) -> Result<Arc<Handbook>> {
        let kept = self.take(team);
        if let Some(kept) = kept
            && kept.seen.iter().all(Seen::still_so)
        {
            let book = kept.book.clone();
            self.keep(kept);
            return Ok(book);
        }
        // Looked at before it is read: what changes meanwhile shows the next time.
        let seen = look(path, Clock::Wall.now());
        let folder = Folder::open(path, Whose::Team).with_context(|| format!("open {}", path.display()))?;
        let book = Arc::new(Handbook::read(&folder, team, is_tool));
        for fault in self.news(&book) {
            match fault.grade {
                Grade::Error => tracing::warn!(%team, "teams/{team}/{fault}"),
                Grade::Warning => tracing::info!(%team, "teams/{team}/{fault}"),
            }
        }
        if let Some(seen) = seen {
            self.keep(Kept { team: team.clone(), seen, book: book.clone() });
        }
        Ok(book)
    }

    /// What is wrong with a team's files and was not when they were read before.
    fn news(&self, book: &Handbook) -> Vec<Fault> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let at = told.iter().position(|(team, _)| *team == book.team);
        let before = at.and_then(|at| told.remove(at)).map(|(_, faults)| faults).unwrap_or_default();
        if !book.faults.is_empty() {
            told.truncate(KEPT_MAX - 1);
            told.push_front((book.team.clone(), book.faults.clone()));
        }
        book.faults.iter().filter(|fault| !before.contains(fault)).cloned().collect()
    }

    fn take(&self, team: &TeamName) -> Option<Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|kept| kept.team == *team)?;
        kept.remove(at)
    }

    fn keep(&self, book: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Two turns of one team may read at once.
        kept.retain(|other| other.team != book.team);
        kept.truncate(KEPT_MAX - 1);
        kept.push_front(book);
    }
}

/// The state of everything that a handbook is read from. `None` where it cannot be told, where there is too much of it,
/// and where something of it has changed only just now.
fn look(folder: &Path, now: Moment) -> Option<Vec<Seen>> {
    let mut seen = Vec::new();
    let mut add = |path: PathBuf| {
        seen.push(Seen::at(path).ok()?);
        (seen.len() <= FILES_MAX).then_some(())
    };
    // A folder changes with the names in it; what stands in a file, with the file.
    add(folder.to_owned())?;
    add(folder.join(subagents::PERSONA_FILE))?;
    add(folder.join(org::handbook::PLUGINS_FOLDER))?;
    for inside in [rules::ORG_FOLDER, rules::TEAM_FOLDER, skills::FOLDER, subagents::FOLDER] {
        let inside = folder.join(inside);
        add(inside.clone())?;
        for entry in entries(&inside).ok()? {
            let is_folder = entry.is_dir();
            let own_file = entry.join(skills::OWN_FILE);
            add(entry)?;
            if is_folder {
                add(own_file)?;
            }
        }
    }
    let settled = i128::from(now - SETTLED_MS) * 1_000_000;
    seen.iter().all(|seen| seen.state.is_none_or(|state| state.changed < settled)).then_some(seen)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const CONTEXT: &str = "team-rules/context.md";

    fn ops() -> TeamName {
        "ops".parse().unwrap()
    }

    fn home() -> TempDir {
        let home = TempDir::new().unwrap();
        for (path, text) in [
            (CONTEXT, "# Words\nPlain ones."),
            ("skills/deploy/SKILL.md", "Deploys.\n\n1. Deploy."),
            ("subagents/dev.md", "# Agent: dev\n\n## Role\nWrites."),
        ] {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        home
    }

    /// Keeps what a folder says as if nothing in it had changed for long.
    fn settled(home: &Path) -> (Books, Arc<Handbook>) {
        let books = Books::default();
        let book = books.read(home, &ops(), |_| false).unwrap();
        let seen = look(home, Moment::MAX / 2_000_000).unwrap();
        books.keep(Kept { team: ops(), seen, book: book.clone() });
        (books, book)
    }

    #[test]
    fn what_has_not_changed_is_not_read_again() {
        let home = home();
        let (books, book) = settled(home.path());
        fs::write(home.path().join("notes.txt"), "Not read.").unwrap();
        // The folder itself has another name in it: read again, and the same.
        let again = books.read(home.path(), &ops(), |_| false).unwrap();
        assert!(!Arc::ptr_eq(&again, &book) && again == book);
        let (books, book) = settled(home.path());
        fs::write(home.path().join("notes.txt"), "Not read either.").unwrap();
        assert!(Arc::ptr_eq(&books.read(home.path(), &ops(), |_| false).unwrap(), &book));
        assert!(Arc::ptr_eq(&books.read(home.path(), &ops(), |_| false).unwrap(), &book));
    }

    #[test]
    fn every_change_shows_at_once() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 8] = [
            ("a rule of the same length", |home| fs::write(home.join(CONTEXT), "# Words\nOther ones.").unwrap()),
            ("a rule more", |home| fs::write(home.join("team-rules/more.md"), "# More\nMore.").unwrap()),
            ("a rule less", |home| fs::remove_file(home.join(CONTEXT)).unwrap()),
            ("a rule by rename", |home| {
                fs::write(home.join("new"), "# Words\nRare ones.").unwrap();
                fs::rename(home.join("new"), home.join(CONTEXT)).unwrap();
            }),
            ("a skill with a folder", |home| {
                fs::write(home.join("skills/deploy/SKILL.md"), "Ships.\n\n1. Ship.").unwrap();
            }),
            ("a first folder", |home| {
                fs::create_dir(home.join("org-rules")).unwrap();
                fs::write(home.join("org-rules/a.md"), "# All\nAll.").unwrap();
            }),
            ("a persona", |home| fs::write(home.join("AGENT.md"), "You are calm.").unwrap()),
            ("a subagent", |home| fs::write(home.join("subagents/dev.md"), "# Agent: dev\n\n## Role\nReads.").unwrap()),
        ];
        for (what, change) in changes {
            let home = home();
            let (books, book) = settled(home.path());
            // A change is not seen where it comes in the same tick as the last: what is that new is not kept.
            std::thread::sleep(std::time::Duration::from_millis(20));
            change(home.path());
            let read = books.read(home.path(), &ops(), |_| false).unwrap();
            let fresh = Books::default().read(home.path(), &ops(), |_| false).unwrap();
            assert!(read == fresh && read != book, "{what}");
        }
    }

    #[test]
    fn what_changed_just_now_is_not_kept() {
        let home = home();
        let books = Books::default();
        books.read(home.path(), &ops(), |_| false).unwrap();
        assert!(books.kept.lock().unwrap().is_empty());
        assert!(look(home.path(), Clock::Wall.now() + 2 * SETTLED_MS).is_some());
    }

    #[test]
    fn what_is_wrong_is_told_once_and_again_when_it_comes_back() {
        let home = home();
        let (books, skill) = (Books::default(), home.path().join("skills/x.md"));
        let news = |books: &Books| {
            let book = Handbook::read(&Folder::open(home.path(), Whose::Team).unwrap(), &ops(), |_| false);
            let news = books.news(&book).into_iter().filter(|fault| fault.file == "skills/x.md");
            news.map(|fault| fault.to_string()).collect::<Vec<_>>()
        };
        let wrong = ["skills/x.md:2: it is not UTF-8 from here on: save it as UTF-8"];
        assert_eq!(news(&books), Vec::<String>::new());
        for _ in 0..2 {
            fs::write(&skill, b"a\n\xff").unwrap();
            assert_eq!(news(&books), wrong);
            assert_eq!(news(&books), Vec::<String>::new());
            fs::write(&skill, "1. Do it.").unwrap();
            assert_eq!(news(&books), Vec::<String>::new());
        }
        assert!(books.told.lock().unwrap().len() <= 1);
    }

    #[test]
    fn no_more_handbooks_are_kept_than_may_be() {
        let home = home();
        let (books, book) = settled(home.path());
        for number in 0..2 * KEPT_MAX {
            let team: TeamName = format!("team-{number}").parse().unwrap();
            books.keep(Kept { team, seen: Vec::new(), book: book.clone() });
        }
        assert_eq!(books.kept.lock().unwrap().len(), KEPT_MAX);
        assert!(books.take(&ops()).is_none());
    }
}
