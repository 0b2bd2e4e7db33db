//! The matches of a search as a text, in bounded memory.

use std::io::{self, Read};
use std::path::Path;

use base::Stop;
use cap_fs_ext::{FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{File, OpenOptions};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::grep::OutputMode;
use super::walk::{Ended, Found};
use crate::workspace::printable;

/// The longest part of a line that is shown, in bytes: a minified file has lines of megabytes.
const LINE_BYTES_MAX: usize = 500;

/// How much of a long line is shown before what matches in it, in bytes.
const LINE_BEFORE: usize = 100;

/// The longest text, in bytes: about 10,000 tokens.
const TEXT_BYTES_MAX: usize = 40 * 1_024;

/// How much memory the search in one file takes, in bytes: the longest line, or of a search over several lines the
/// longest file.
const HEAP_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Lines, files or numbers.
    pub mode: OutputMode,
    /// Lines before a match.
    pub before: usize,
    /// Lines after a match.
    pub after: usize,
    /// Whether lines have their numbers.
    pub line_numbers: bool,
    /// How many matching lines, or files.
    pub max_results: u64,
    /// Whether a match may go over several lines.
    pub multiline: bool,
}

/// What was found so far.
pub struct Hits<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    shown: Shown,
    stop: &'a Stop,
    text: String,
    /// Matching lines, or files.
    results: u64,
    /// There is more than is shown.
    more: bool,
    /// Files that could not be searched.
    passed_over: u64,
}

impl<'a> Hits<'a> {
    /// Nothing yet.
    pub fn new(matcher: &'a RegexMatcher, shown: Shown, stop: &'a Stop) -> Hits<'a> {
        let lines = shown.mode == OutputMode::Content;
        let mut builder = SearcherBuilder::new();
        builder
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .multi_line(shown.multiline)
            .heap_limit(Some(HEAP_BYTES_MAX))
            .before_context(if lines { shown.before } else { 0 })
            .after_context(if lines { shown.after } else { 0 });
        let searcher = builder.build();
        Hits { matcher, searcher, shown, stop, text: String::new(), results: 0, more: false, passed_over: 0 }
    }

    /// Searches a file that a walk found.
    pub fn found(&mut self, found: &Found<'_>) {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        // What went away meanwhile is not there.
        let Ok(file) = found.dir.open_with(found.name, &options) else { return };
        match file.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.nlink() == 1 => self.file(found.path, file),
            // One of several names may lie outside of the workspace.
            Ok(metadata) if metadata.is_file() => self.passed_over += 1,
            _ => {}
        }
    }

    /// Searches an open file.
    pub fn file(&mut self, path: &Path, file: File) {
        let path = printable(&path.to_string_lossy());
        let reader = Stoppable { file, stop: self.stop };
        let (matcher, mut searcher) = (self.matcher, self.searcher.clone());
        let before = self.results;
        let mut of_file = OfFile { hits: self, path: &path, lines: 0, begun: false };
        let searched = searcher.search_reader(matcher, reader, &mut of_file);
        let lines = of_file.lines;
        if searched.is_err() && !self.stop.is_cancelled() {
            self.passed_over += 1;
        }
        if lines == 0 {
            return;
        }
        match self.shown.mode {
            OutputMode::Content => {}
            OutputMode::FilesWithMatches => self.line(&path),
            OutputMode::Count => self.line(&format!("{path}:{lines}")),
        }
        if self.shown.mode != OutputMode::Content {
            self.results = before + 1;
            self.more |= self.results >= self.shown.max_results;
        }
    }

    /// Whether there is no room for more.
    pub fn is_full(&self) -> bool {
        self.more
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.more |= self.text.len() > TEXT_BYTES_MAX;
    }

    /// The result.
    pub fn text(mut self, ended: Ended) -> String {
        if self.text.is_empty() {
            self.text.push_str("[nothing matches]\n");
        }
        if self.passed_over > 0 {
            let files = base::text::count(i64::try_from(self.passed_over).unwrap_or(i64::MAX), "file");
            self.text.push_str(&format!("[{files} could not be searched: too long, or with several names]\n"));
        }
        if self.more {
            self.text.push_str("[there may be more: give a narrower pattern, a folder or a glob]\n");
        } else if ended == Ended::Cut || self.stop.is_cancelled() {
            self.text.push_str("[there was too much to look at all of it: give a folder or a glob]\n");
        }
        self.text.pop();
        self.text
    }
}

/// A file whose reading ends when the search is to end.
struct Stoppable<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

/// The matches of one file.
struct OfFile<'h, 'a> {
    hits: &'h mut Hits<'a>,
    path: &'h str,
    lines: u64,
    /// Whether anything of it is shown.
    begun: bool,
}

impl Sink for OfFile<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let content = self.hits.shown.mode == OutputMode::Content;
        let first = found.line_number();
        for (at, line) in found.lines().enumerate() {
            self.lines += 1;
            if content {
                if self.hits.more {
                    return Ok(false);
                }
                self.show(first.map(|first| first + at as u64), line, ':');
                self.hits.results += 1;
                self.hits.more |= self.hits.results >= self.hits.shown.max_results;
            }
        }
        Ok(self.hits.shown.mode != OutputMode::FilesWithMatches && !(content && self.hits.more))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        debug_assert!(*context.kind() != SinkContextKind::Other, "only asked for with passthru");
        self.show(context.line_number(), context.bytes(), '-');
        Ok(!self.hits.more)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.hits.line("--");
        Ok(!self.hits.more)
    }
}

impl OfFile<'_, '_> {
    /// `path:12:text` of a match, `path-12-text` of what stands around it.
    fn show(&mut self, number: Option<u64>, line: &[u8], mark: char) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let number = match number {
            Some(number) if self.hits.shown.line_numbers => format!("{number}{mark}"),
            _ => String::new(),
        };
        let context = self.hits.shown.before + self.hits.shown.after > 0;
        if !std::mem::replace(&mut self.begun, true) && context && !self.hits.text.is_empty() {
            self.hits.line("--");
        }
        let shown = part(line, self.hits.matcher);
        self.hits.line(&format!("{}{mark}{number}{shown}", self.path));
    }
}

/// A line, or of a long one the part around what matches.
fn part(line: &[u8], matcher: &RegexMatcher) -> String {
    if line.len() <= LINE_BYTES_MAX {
        return String::from_utf8_lossy(line).into_owned();
    }
    let at = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    let text = String::from_utf8_lossy(line);
    let start = text.floor_char_boundary(at.saturating_sub(LINE_BEFORE).min(text.len()));
    let end = text.floor_char_boundary((start + LINE_BYTES_MAX).min(text.len()));
    let front = if start > 0 { format!("[{start} bytes] … ") } else { String::new() };
    let back =
        if end < text.len() { format!(" … [{} more bytes in this line]", text.len() - end) } else { String::new() };
    format!("{front}{}{back}", &text[start..end])
}
