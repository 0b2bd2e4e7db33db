//! What a turn has asked already, read from its journal: so the caps hold also when a turn is entered again, and need
//! nothing kept in memory.

use anyhow::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use store::Conn;
use store::calls::{self, Given};
use store::events::{self, Delegation};

use super::caps::{Earlier, State};
use super::delegate_parallel::DelegateParallelArgs;
use super::delegate_to::DelegateToArgs;
use super::item::{Item, Wanted};
use super::limits::Limits;
use super::query_team::QueryTeamArgs;
use super::query_teams::QueryTeamsArgs;
use super::run_subagent::RunSubagentArgs;
use super::scout::ScoutArgs;
use crate::call::Call;
use crate::tool::{ToolError, arguments};

/// The tools that ask other sessions.
const TOOLS: [&str; 6] = ["delegate_parallel", "delegate_to", "query_team", "query_teams", "run_subagent", "scout"];

/// What a turn has asked when one of its calls begins.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    /// By calls that started before this one.
    pub earlier: Vec<Earlier>,
    /// By this one, as its row has it: with other calls' rows it is compared as a row, without secrets. `None` for a
    /// call that has no row.
    pub own: Option<Vec<Wanted>>,
}

impl SoFar {
    /// Reads the turn's journal.
    ///
    /// # Errors
    /// Only the database's.
    pub async fn read(conn: &mut Conn, call: &Call, limits: &Limits) -> Result<SoFar> {
        let rows = calls::of_tools(conn, call.run, &TOOLS).await?;
        let handed = events::delegations(conn, call.run).await?;
        Ok(SoFar::of(&rows, &handed, call.step, &call.call_id, limits))
    }

    fn of(rows: &[Given], handed: &[Delegation], step: i64, call_id: &str, limits: &Limits) -> SoFar {
        let mut so_far = SoFar::default();
        for row in rows {
            let wanted = wanted(row, limits);
            if (row.step, row.call_id.as_str()) == (step, call_id) {
                so_far.own = Some(wanted);
                break;
            }
            let states = states(row, handed, wanted.len());
            let asked = wanted.into_iter().zip(states);
            so_far.earlier.extend(asked.filter_map(|(wanted, state)| Some(Earlier { wanted, state: state? })));
        }
        so_far
    }
}

/// What a row asks. Nothing where its arguments are none of its tool's: such a call asked nobody.
fn wanted(row: &Given, limits: &Limits) -> Vec<Wanted> {
    let items = match row.tool.as_str() {
        "delegate_parallel" => items(row, |args: DelegateParallelArgs| args.items(limits)),
        "delegate_to" => items(row, |args: DelegateToArgs| args.items(limits)),
        "query_team" => items(row, |args: QueryTeamArgs| args.items(limits)),
        "query_teams" => items(row, |args: QueryTeamsArgs| args.items(limits)),
        "run_subagent" => items(row, |args: RunSubagentArgs| args.items(limits)),
        "scout" => items(row, |args: ScoutArgs| args.items(limits)),
        _ => None,
    };
    items.unwrap_or_default().iter().map(Item::wanted).collect()
}

fn items<A: DeserializeOwned>(row: &Given, of: impl Fn(A) -> Result<Vec<Item>, ToolError>) -> Option<Vec<Item>> {
    let args = arguments(serde_json::from_str(&row.arguments).ok()?).ok()?;
    of(args).ok()
}

/// What came of each of the things that a row asks; `None` of what nobody was asked.
fn states(row: &Given, handed: &[Delegation], asked: usize) -> Vec<Option<State>> {
    #[derive(Deserialize)]
    struct Part {
        ok: bool,
    }
    let of = |ok: bool| if ok { State::Answered } else { State::Failed };
    if row.open {
        return vec![Some(State::Open); asked];
    }
    let several = matches!(row.tool.as_str(), "delegate_parallel" | "query_teams");
    if !several {
        return vec![Some(of(!row.is_error)); asked];
    }
    let handed = |at: usize| {
        let same = |one: &&Delegation| (one.step, &one.call_id) == (row.step, &row.call_id);
        handed.iter().filter(same).find(|one| usize::try_from(one.at) == Ok(at))
    };
    if row.is_error {
        // Refused as a whole before anybody was asked, or cut off: then no answer has come to whoever asked.
        return (0..asked).map(|at| handed(at).map(|_| State::Failed)).collect();
    }
    match serde_json::from_str::<Vec<Part>>(&row.result) {
        Ok(parts) => parts.into_iter().map(|part| Some(of(part.ok))).collect(),
        // Too long to stand in the row: the events know.
        Err(_) => (0..asked).map(|at| Some(of(handed(at).is_some_and(|one| one.ok == Some(true))))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(call_id: &str, tool: &str, arguments: Value, result: Result<Value, &str>) -> Given {
        let (is_error, result) = match result {
            Ok(value) => (false, value.as_str().map_or(value.to_string(), str::to_owned)),
            Err(why) => (true, why.to_owned()),
        };
        let (tool, arguments) = (tool.to_owned(), arguments.to_string());
        Given { step: 1, call_id: call_id.to_owned(), tool, arguments, open: false, is_error, result }
    }

    fn handed(call_id: &str, at: i64, ok: bool) -> Delegation {
        Delegation { step: 1, call_id: call_id.to_owned(), at, ok: Some(ok), opened_at: 0, body: String::new() }
    }

    /// What is known of earlier questions, as text.
    fn seen(so_far: &SoFar) -> Vec<String> {
        let told = |earlier: &Earlier| format!("{} {} {:?}", earlier.wanted.whom, earlier.wanted.task, earlier.state);
        so_far.earlier.iter().map(told).collect()
    }

    #[test]
    fn a_fan_out_that_was_cut_off_counts_for_whoever_was_asked() {
        let two = json!({"targets": [{"team": "ops", "query": "a"}, {"team": "docs", "query": "b"}]});
        let rows = [
            // Stopped when one had answered: nobody has read that answer.
            row("1", "query_teams", two.clone(), Err("interrupted, outcome unknown: look before you do it again")),
            // One of them was refused, the other asked.
            row("2", "query_teams", two.clone(), Err("the turn was stopped while others worked for it")),
            row("3", "query_teams", two.clone(), Err("`docs` is no child of this team, and nobody was asked")),
            // Too long for its row.
            row("4", "query_teams", two, Ok(json!("[{\"team\":\"ops\",\"ok\":true,\"result_or_err … ]"))),
        ];
        let events = [
            handed("1", 0, true),
            handed("1", 1, false),
            handed("2", 1, false),
            handed("4", 0, true),
            handed("4", 1, false),
        ];
        let so_far = SoFar::of(&rows, &events, 2, "1", &Limits::default());
        let expected =
            ["ops a Failed", "docs b Failed", "docs b Failed", "ops a Answered", "docs b Failed"].map(str::to_owned);
        assert_eq!(seen(&so_far), expected);
    }

    #[test]
    fn a_turn_s_rows_say_what_it_has_asked() {
        let two = json!({"targets": [{"team": "ops", "query": "a"}, {"team": "docs", "query": "b"}]});
        let parts = json!([{"team": "ops", "ok": true, "result_or_error": "x"},
                           {"team": "docs", "ok": false, "result_or_error": "timeout"}]);
        let rows = [
            row("1", "query_team", json!({"team": "ops", "query": "c"}), Ok(json!("said"))),
            row("2", "query_team", json!({"team": "ops"}), Err("bad arguments: missing field `query`")),
            row("3", "query_teams", two.clone(), Ok(parts)),
            row("4", "query_teams", two.clone(), Err("`docs` is no child of this team, and nobody was asked")),
            row("5", "delegate_to", json!({"assignee": "ops", "task": "d"}), Err("timeout")),
            Given { open: true, ..row("6", "scout", json!({"task_description": "e"}), Ok(json!(""))) },
            row("7", "run_subagent", json!({"name": "ana", "task": "f"}), Ok(json!("done"))),
            row("8", "query_team", json!({"team": "ops", "query": "g"}), Ok(json!("later"))),
        ];
        let so_far = SoFar::of(&rows, &[], 1, "7", &Limits::default());
        assert_eq!(
            seen(&so_far),
            ["ops c Answered", "ops a Answered", "docs b Failed", "ops d Failed", "scout e Open"],
            "what came after the call is not before it"
        );
        let own = so_far.own.unwrap();
        assert_eq!(format!("{} {}", own[0].whom, own[0].task), "ana f");
        assert!(SoFar::of(&rows, &[], 2, "7", &Limits::default()).own.is_none());
    }
}
