//! `read_file`: a text file of the workspace, a page at a time.

use std::borrow::Cow;
use std::io::Seek;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::page::{self, Page, Wanted};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{Mark, Reader, Use, Workspaces, blocking, explain, plain, shown};

/// How many lines are read where nobody said how many.
const LINES: u64 = 2_000;

/// Reads a file.
pub struct Read {
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArgs {
    /// The file, relative to the workspace.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The first line to read, from 1. Left out: 1.
    #[schemars(range(min = 1))]
    pub offset: Option<u64>,
    /// How many lines to read. Left out: 2000.
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

impl Tool for Read {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("read_file"),
        aliases: &["read"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/read_file.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(30),
        // A page and its last line are shorter: what is read is paged, never written to yet another file.
        max_result_bytes: page::PAGE_BYTES_MAX + 4_096,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ReadArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: ReadArgs) -> Result<String, ToolError> {
        let (from, lines_max) = (args.offset.unwrap_or(1), args.limit.unwrap_or(LINES));
        if from == 0 || lines_max == 0 {
            return Err(ToolError::refused("`offset` and `limit` count from 1"));
        }
        let reader = Reader::of(call);
        let (workspaces, team, stop) = (self.workspaces.clone(), call.team.clone(), call.stop.clone());
        let wanted = Wanted { from, lines_max };
        blocking(move || {
            let workspace = workspaces.of(&team)?;
            let (mut file, metadata) = workspace.open_file(&args.path)?;
            let fail = |error: std::io::Error| explain(&args.path, &error);
            let (mark, bytes) = Mark::read(&mut file, &metadata).map_err(fail)?;
            let page = match &bytes {
                Some(bytes) => page::read(bytes.as_slice(), wanted, &stop),
                None => file.rewind().and_then(|()| page::read(file, wanted, &stop)),
            };
            let page = page.map_err(fail)?;
            // Whoever was told that it is no text knows as much of it as can be told.
            if page != Page::Stopped {
                workspaces.note(&reader, &plain(&workspace.path(&args.path, Use::Read)?), mark);
            }
            show(&args.path, page, wanted, metadata.len())
        })
        .await
    }
}

fn show(path: &str, page: Page, wanted: Wanted, size: u64) -> Result<String, ToolError> {
    let (text, last, more, broken) = match page {
        Page::Lines { text, last, more, broken } => (text, last, more, broken),
        Page::Binary => return Err(ToolError::refused(format!("{} is not a text file ({size} bytes)", shown(path)))),
        Page::Stopped => return Err(ToolError::refused("stopped")),
    };
    if text.is_empty() {
        return if last == 0 {
            Ok("[the file is empty]".to_owned())
        } else {
            Err(ToolError::refused(format!("{} ends at line {last}", shown(path))))
        };
    }
    let mut result = text;
    if more {
        let (from, next) = (wanted.from, last + 1);
        result.push_str(&format!("[lines {from} to {last}; there is more: go on with offset {next}]\n"));
    }
    if broken {
        result.push_str("[some bytes are not UTF-8 and are shown as \u{fffd}]\n");
    }
    Ok(result)
}
