//! Subagents: what the file of one says of the tools that it has, and what lists say of a subagent as a tool.

use super::grant::TASK_PROTOCOL;
use super::{AgentKind, Grant, Named, Reason, Remit, Verdict, active, judge, no, yes};
use crate::delegation::asks_another;
use crate::glob;
use crate::skills::{READS_SKILLS, RUNS_SCRIPTS};
use crate::spec::{Source, Spec};

/// What a subagent has whatever its file says: it must be able to answer, and to think.
const ALWAYS: [&str; 1] = ["think"];
/// Gives work to a team's queue.
const DELEGATES: &str = "delegate_task";

/// What a subagent's file says of a tool; `None` leaves it to the lists.
pub(super) fn by_file(tool: Named<'_>, remit: &Remit) -> Option<Verdict> {
    let is_native = tool.spec.source == Source::Native;
    let is = |names: &[&str]| is_native && tool.names().any(|own| names.contains(&own));
    // What a team makes of a task later on would come to a session that is over.
    if is(&[DELEGATES]) || is_native && tool.names().any(asks_another) {
        return Some(no(Reason::SubagentAsks));
    }
    // What it could take up are files of its team's folder, which it reads anyway: no list needs to grant that.
    match remit.skills.is_empty() {
        true if is(&READS_SKILLS) || is(&[RUNS_SCRIPTS]) => return Some(no(Reason::NoSkills)),
        false if is(&READS_SKILLS) => return Some(yes(Reason::OwnSkills)),
        _ => {}
    }
    let at_most = remit.tools.as_ref()?;
    let named = at_most.iter().any(|pattern| tool.names().any(|name| glob::matches(pattern, name)));
    (!named && !is(TASK_PROTOCOL) && !is(&ALWAYS)).then(|| no(Reason::NotInFile))
}

/// Whether an agent is shown the subagent `name` of its team as a tool. All of them are calls of `run_subagent`, whose
/// record this takes: in a list that name stands for all of them, and the name of each for itself. No tool has this name.
pub fn shown_subagent(run_subagent: &Spec, name: &str, grant: &Grant) -> Verdict {
    as_tool(run_subagent, name, |tool| active(tool, grant))
}

/// Whether the subagent `name` may be called now: [`shown_subagent`], and who caused the turn.
pub fn decide_subagent(run_subagent: &Spec, name: &str, grant: &Grant) -> Verdict {
    as_tool(run_subagent, name, |tool| judge(tool, grant))
}

fn as_tool(run_subagent: &Spec, name: &str, verdict: impl FnOnce(Named<'_>) -> Verdict) -> Verdict {
    // Nobody has a subagent for its name alone.
    let is_floor = AgentKind::ALL.iter().any(|kind| kind.floor().any(|tool| tool == name));
    let aliases: &[&str] = if is_floor { &[] } else { &[name] };
    verdict(Named { spec: run_subagent, aliases })
}
