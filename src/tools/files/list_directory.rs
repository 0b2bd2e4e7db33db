//! `list_directory`: what is in a folder of the workspace.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use base::Stop;
use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::glob;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::{Tool, ToolError};
use crate::workspace::{EVENT_FILES, Use, Workspaces, blocking, explain, printable};

/// How many entries one result shows.
const ENTRIES_MAX: usize = 1_000;
/// How many entries are looked at for one result, in all folders together.
const LOOKED_AT_MAX: usize = 50_000;
/// How deep a recursive list goes where nobody said how deep.
const DEPTH: u32 = 3;
/// The deepest that a list may go.
const DEPTH_MAX: u32 = 10;

/// Lists a folder.
pub struct List {
    /// The teams' folders.
    pub workspaces: Workspaces,
}

/// What to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArgs {
    /// The folder, relative to the workspace. Left out: the workspace itself.
    pub path: Option<String>,
    /// Whether to look into the folders inside as well.
    #[serde(default)]
    pub recursive: bool,
    /// How many levels deep a recursive list goes, 1 to 10. Left out: 3.
    #[serde(alias = "maxDepth")]
    #[schemars(range(min = 1, max = 10))]
    pub max_depth: Option<u32>,
    /// Only entries whose own name matches: `*` is any run of characters, `?` is any one.
    pub pattern: Option<String>,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed("list_directory"),
        aliases: &["list"],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/list_directory.md")),
        domain: Domain::Files,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 32 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = ListArgs;
    type Output = String;

    async fn run(&self, call: &Call, args: ListArgs) -> Result<String, ToolError> {
        let depth = match (args.recursive, args.max_depth) {
            (false, _) => 1,
            (true, depth) => depth.unwrap_or(DEPTH),
        };
        if !(1..=DEPTH_MAX).contains(&depth) {
            return Err(ToolError::refused(format!("`max_depth` goes from 1 to {DEPTH_MAX}")));
        }
        let (workspaces, team, stop) = (self.workspaces.clone(), call.team.clone(), call.stop.clone());
        blocking(move || {
            let path = args.path.as_deref().unwrap_or(".");
            let workspace = workspaces.of(&team)?;
            let dir = workspace.open_dir(path)?;
            let whole = workspace.path(path, Use::List)? == Path::new(".");
            let (lines, pattern) = (Vec::new(), args.pattern);
            let mut listing = Listing { pattern, whole, stop, lines, looked_at: 0, cut: false };
            listing.folder(&dir, "", depth).map_err(|error| explain(path, &error))?;
            Ok(listing.text())
        })
        .await
    }
}

struct Listing {
    pattern: Option<String>,
    /// It begins at the workspace itself.
    whole: bool,
    stop: Stop,
    lines: Vec<String>,
    looked_at: usize,
    cut: bool,
}

impl Listing {
    /// One folder, sorted by name, each folder in it followed by what is in that. Links are shown and not followed.
    fn folder(&mut self, dir: &Dir, prefix: &str, depth: u32) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            self.looked_at += 1;
            if self.looked_at > LOOKED_AT_MAX || self.stop.is_cancelled() {
                self.cut = true;
                break;
            }
            entries.push(entry?);
        }
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            if self.lines.len() >= ENTRIES_MAX {
                self.cut = true;
                return Ok(());
            }
            // What was deleted meanwhile is not there.
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name();
            // The copies of the team's events are the hive's, and grow while somebody looks.
            if self.whole && prefix.is_empty() && EVENT_FILES.iter().any(|copy| name == *copy) {
                continue;
            }
            let shown = name.to_string_lossy();
            let kind = metadata.file_type();
            let path = format!("{prefix}{}", printable(&shown));
            if self.pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, &shown)) {
                self.lines.push(if kind.is_dir() {
                    format!("{path}/")
                } else if kind.is_symlink() {
                    format!("{path}  (link)")
                } else if kind.is_file() {
                    format!("{path}  {} bytes", metadata.len())
                } else {
                    format!("{path}  (neither file nor folder)")
                });
            }
            if kind.is_dir()
                && depth > 1
                && let Ok(inner) = dir.open_dir_nofollow(&name)
            {
                self.folder(&inner, &format!("{path}/"), depth - 1)?;
            }
        }
        Ok(())
    }

    fn text(self) -> String {
        if self.lines.is_empty() && !self.cut {
            let what = if self.pattern.is_some() { "nothing matches" } else { "the folder is empty" };
            return format!("[{what}]");
        }
        let mut text = self.lines.join("\n");
        if self.cut {
            text.push_str("\n[there is more: list a folder inside, or give a pattern]");
        }
        text
    }
}
