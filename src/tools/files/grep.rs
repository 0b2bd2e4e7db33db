//! `grep`: lines of files that match a regular expression.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use base::Stop;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::types::{Types, TypesBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::hits::{Hits, Shown};
use super::pattern::PathPattern;
use super::time_limit::{TOOL_TIME, bounded};
use super::walk::{Ended, Passing, walk};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Use, Workspace, Workspaces, shown};

/// How many matching lines (or files) are shown where nobody said how many.
const RESULTS: u64 = 200;

/// The most that may be asked for.
const RESULTS_MAX: u64 = 1_000;

/// The most lines of context on each side.
const CONTEXT_MAX: u64 = 50;

/// The longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 4_096;

/// How much memory a compiled pattern may take, in bytes.
const COMPILED_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// Searches files.
pub struct Grep {
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepArgs {
    /// A regular expression as of ripgrep: `fn \w+\(`. Look-around and backreferences are not known.
    pub pattern: String,
    /// The file or folder to search, relative to the workspace. Left out: the workspace itself.
    pub path: Option<String>,
    /// Only files whose path below `path` matches: `*.rs`, `src/**/*.{ts,tsx}`, `!*.lock`.
    pub glob: Option<String>,
    /// Only files of this sort, as ripgrep names them: `rust`, `py`, `js`, `md`.
    #[serde(rename = "type")]
    pub sort: Option<String>,
    /// What to show. Left out: `content`.
    #[serde(default, alias = "outputMode")]
    pub output_mode: OutputMode,
    /// How many lines to show before each match, at most 50.
    #[serde(alias = "contextBefore")]
    #[schemars(range(max = 50))]
    pub context_before: Option<u64>,
    /// How many lines to show after each match, at most 50.
    #[serde(alias = "contextAfter")]
    #[schemars(range(max = 50))]
    pub context_after: Option<u64>,
    /// How many lines to show on both sides of each match, at most 50.
    #[schemars(range(max = 50))]
    pub context: Option<u64>,
    /// Whether upper and lower case are the same.
    #[serde(default, alias = "caseInsensitive")]
    pub case_insensitive: bool,
    /// Whether each line comes with its number. Left out: it does.
    #[serde(alias = "lineNumbers")]
    pub line_numbers: Option<bool>,
    /// How many matching lines (or files) to show, at most 1000. Left out: 200.
    #[serde(alias = "maxResults")]
    #[schemars(range(min = 1, max = 1_000))]
    pub max_results: Option<u64>,
    /// Whether a match may go over several lines, with `.` matching line breaks as well.
    #[serde(default)]
    pub multiline: bool,
    /// Whether files that `.gitignore` names are searched as well.
    #[serde(default)]
    pub include_ignored: bool,
    /// Whether files whose names begin with a dot are searched as well.
    #[serde(default)]
    pub include_hidden: bool,
}

/// What a search shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// The lines.
    #[default]
    Content,
    /// The files.
    FilesWithMatches,
    /// The files, and how many lines match in each.
    Count,
}

impl Tool for Grep {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("grep"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/grep.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: TOOL_TIME,
        max_result_bytes: 48 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = GrepArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: GrepArgs) -> Result<String, ToolError> {
        let search = Search::read(args).map_err(ToolError::Refused)?;
        let (workspaces, team) = (self.workspaces.clone(), call.team.clone());
        bounded(call, move |stop| search.run(&workspaces.of(&team)?, stop)).await
    }
}

/// A search that makes sense.
struct Search {
    start: String,
    matcher: RegexMatcher,
    files: Option<PathPattern>,
    sort: Option<Types>,
    passing: Passing,
    shown: Shown,
}

impl Search {
    fn read(args: GrepArgs) -> Result<Search, String> {
        let max_results = args.max_results.unwrap_or(RESULTS);
        if !(1..=RESULTS_MAX).contains(&max_results) {
            return Err(format!("`max_results` goes from 1 to {RESULTS_MAX}"));
        }
        let before = args.context_before.or(args.context).unwrap_or(0);
        let after = args.context_after.or(args.context).unwrap_or(0);
        if before.max(after) > CONTEXT_MAX {
            return Err(format!("at most {CONTEXT_MAX} lines of context are shown"));
        }
        let files = args.glob.as_deref().map(PathPattern::read).transpose()?;
        let hidden = args.include_hidden || files.as_ref().is_some_and(PathPattern::speaks_of_hidden);
        Ok(Search {
            start: args.path.unwrap_or_else(|| ".".to_owned()),
            matcher: matcher(&args.pattern, args.case_insensitive, args.multiline)?,
            files,
            sort: args.sort.as_deref().map(sort).transpose()?,
            passing: Passing { ignored: args.include_ignored, hidden },
            shown: Shown {
                mode: args.output_mode,
                before: usize::try_from(before).unwrap_or(usize::MAX),
                after: usize::try_from(after).unwrap_or(usize::MAX),
                line_numbers: args.line_numbers.unwrap_or(true),
                max_results,
                multiline: args.multiline,
            },
        })
    }

    fn run(&self, workspace: &Workspace, stop: &Stop) -> Result<String, ToolError> {
        let mut hits = Hits::new(&self.matcher, self.shown, stop);
        let path = workspace.path(&self.start, Use::Read)?;
        let is_folder = workspace.root().symlink_metadata(&path).is_ok_and(|seen| seen.is_dir());
        if !is_folder {
            // A file by its name is searched whatever the patterns say.
            let (file, _) = workspace.open_file(&self.start)?;
            hits.file(&path, file);
            return Ok(hits.text(Ended::Whole));
        }
        let ended = walk(workspace, &self.start, self.passing, stop, &mut |found| {
            if self.is_wanted(found.below, found.path) {
                hits.found(found);
            }
            if hits.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(hits.text(ended))
    }

    fn is_wanted(&self, below: &Path, path: &Path) -> bool {
        let of_sort = self.sort.as_ref().is_none_or(|sort| sort.matched(path, false).is_whitelist());
        of_sort && self.files.as_ref().is_none_or(|files| files.matches(below))
    }
}

fn matcher(pattern: &str, case_insensitive: bool, multiline: bool) -> Result<RegexMatcher, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("a pattern may have {PATTERN_BYTES_MAX} bytes"));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(case_insensitive).multi_line(true).dot_matches_new_line(multiline);
    builder.size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        let error = error.to_string();
        let hint = if error.contains("literal") && error.contains("\\n") { ": set `multiline`" } else { "" };
        format!("{} is no pattern{hint}: {error}", shown(pattern))
    })
}

fn sort(name: &str) -> Result<Types, String> {
    let mut types = TypesBuilder::new();
    types.add_defaults().select(name);
    types.build().map_err(|_| {
        format!("no sort of files is called {}: use one like `rust`, `py`, `js`, `md`, or give a `glob`", shown(name))
    })
}
