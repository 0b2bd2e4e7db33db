//! `glob`: files by a pattern of their paths.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Deserialize;

use super::pattern::PathPattern;
use super::time_limit::{TOOL_TIME, bounded};
use super::walk::{Ended, Passing, walk};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Workspaces, printable};

/// How many files one result shows.
const SHOWN_MAX: usize = 500;

/// How many files are found before the search ends; the newest of them are shown.
const FOUND_MAX: usize = 20_000;

/// Finds files.
pub struct Glob {
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// What to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobArgs {
    /// The pattern for paths below `path`: `src/**/*.rs`. Without a slash it is about names in every folder: `*.md`.
    pub pattern: String,
    /// The folder to search, relative to the workspace. Left out: the workspace itself.
    pub path: Option<String>,
    /// Whether files that `.gitignore` names are found as well.
    #[serde(default)]
    pub include_ignored: bool,
    /// Whether names that begin with a dot are found as well. They are where the pattern itself names one.
    #[serde(default)]
    pub include_hidden: bool,
}

impl Tool for Glob {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("glob"),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/glob.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: TOOL_TIME,
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = GlobArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: GlobArgs) -> Result<String, ToolError> {
        let pattern = PathPattern::read(&args.pattern).map_err(ToolError::Refused)?;
        let hidden = args.include_hidden || pattern.speaks_of_hidden();
        let passing = Passing { ignored: args.include_ignored, hidden };
        let (workspaces, team) = (self.workspaces.clone(), call.team.clone());
        bounded(call, move |stop| {
            let workspace = workspaces.of(&team)?;
            let mut files: Vec<(SystemTime, String)> = Vec::new();
            let ended = walk(&workspace, args.path.as_deref().unwrap_or("."), passing, stop, &mut |found| {
                if pattern.matches(found.below) {
                    let changed = found.metadata.modified().map(cap_std::time::SystemTime::into_std);
                    let path = printable(&found.path.to_string_lossy());
                    files.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), path));
                }
                if files.len() < FOUND_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            Ok(show(files, ended))
        })
        .await
    }
}

/// The newest first; of the same age by name.
fn show(mut files: Vec<(SystemTime, String)>, ended: Ended) -> String {
    files.sort_by(|(a_changed, a), (b_changed, b)| b_changed.cmp(a_changed).then_with(|| a.cmp(b)));
    let more = files.len().saturating_sub(SHOWN_MAX);
    let mut text: String = files.iter().take(SHOWN_MAX).map(|(_, path)| format!("{path}\n")).collect();
    if files.is_empty() {
        text.push_str("[no files match]\n");
    }
    if more > 0 {
        text.push_str(&format!("[{more} more files match: give a narrower pattern or a folder]\n"));
    }
    if ended != Ended::Whole {
        text.push_str("[there was too much to look at all of it: give a folder]\n");
    }
    text.pop();
    text
}
