//! Tools: what an agent can do, who may, and how it is done.
//!
//! | file | one thing |
//! |---|---|
//! | `tool`, `spec`, `call`, `schema` | a tool: [`Tool`], its record [`Spec`], the facts of a [`Call`] |
//! | `program` → `catalogue` | every tool of this program is built; all tools, sorted, each known by its names |
//! | `wire` | names as providers take them |
//! | `permission`, `glob` | may this agent use this tool: pure, with a reason for every answer |
//! | `asking` | tools that ask a person, and waiting for the answer |
//! | `batches` | how the calls of a turn overlap: pure |
//! | `gate` | admission to a team: daily ops side by side, an org op alone |
//! | `run` | [`Executor`]: the ten steps of a call |
//! | `workspace` | teams' folders, and the only way into them |
//! | `reference` | the records for people |
//! | `model` | between tools and models |
//! | `process` | processes of their own, for commands and for SQL |
//! | `delegation/` | the tools that ask other sessions, and their one way |
//! | `protocol/` | how a task talks with whoever gave it |
//! | `toolboxes/` | the built-in toolboxes, and the tools about tools |
//! | `files/`, `human/`, `memory/`, `org/`, `shell/`, `skills/`, `tables/`, `todos/`, `topics/`, `trust/`, `vault/`, `web/` | one file per tool |
//!
//! Invariants: every call gets exactly one result. What a model is shown depends on the grant, the team's children and its
//! subagents, and is the same bytes every time. A tool that a grant does not let through never runs. A row says `started` before any effect.
//!
//! A new tool is its file, its text in `prompts/tools/`, and its line in `catalogue()`.

mod asking;
mod batches;
mod call;
mod catalogue;
mod gate;
mod glob;
mod model;
mod permission;
mod program;
mod reference;
mod run;
mod schema;
mod spec;
#[cfg(test)]
mod testing;
mod tool;
mod wire;
mod workspace;

pub mod delegation;
pub mod files;
pub mod human;
pub mod memory;
pub mod org;
pub mod process;
pub mod protocol;
pub mod shell;
pub mod skills;
pub mod tables;
pub mod todos;
pub mod toolboxes;
pub mod topics;
pub mod trust;
pub mod vault;
pub mod web;

pub use asking::{AnyAsking, Asking, AskingTool, Inquiry, Reply};
pub use batches::BatchLimits;
pub use call::Call;
pub use catalogue::{ActiveSet, Catalogue, Definition, Entry};
pub use gate::{Gate, Gates, Load, Pass, Saturated};
pub use permission::door::verdict as policy_verdict;
pub use permission::{
    AgentKind, Grant, McpFacts, Needs, PluginFacts, Reason, Remit, Toolbox, Verdict, decide, decide_subagent, shown,
    shown_subagent,
};
pub use program::{Handles, catalogue};
pub use reference::{json, json_of, markdown};
pub use run::{Asked, Done, Executor, Limits};
pub use spec::{Admission, Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
pub use tool::{AnyTool, Tool, ToolError};
pub use wire::BadToolName;
pub use workspace::{EventFile, LeftAt, PathRules, RESULTS, Workspace, Workspaces};
