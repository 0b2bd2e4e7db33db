//! Whatever moment the process dies at, such a call has its effect once, and its result and its audit row with it.

use std::sync::Arc;
use std::time::Duration;

use base::TeamName;
use org::trust::Policy;
use serde_json::{Value, json};
use store::calls::State;
use store::notes::{self, Reader};
use store::teams::{self, State as TeamState};
use store::{Conn, Db, audit, outbox, tasks};

use crate::permission::{AgentKind, Grant};
use crate::testing::{Fake, World, asked, writes};
use crate::{Call, Done};

/// Longer than any of these calls may take.
const LONG: Duration = Duration::from_secs(600);

fn ops() -> TeamName {
    "ops".parse().unwrap()
}

/// A world in which `ops` is a team below the main one, and ready.
async fn world() -> World {
    let world = World::new().await;
    assert!(!run(&world, &world.call(), "spawn_team", json!({"name": "ops"})).await.is_error);
    let ready = async |conn: &mut Conn| teams::set_state(conn, &ops(), TeamState::Ready).await;
    world.db.tx("ready", ready).await.unwrap();
    world
}

async fn run(world: &World, call: &Call, tool: &str, input: Value) -> Done {
    let executor = world.executor_of(world.catalogue(Policy::default()));
    executor.run_calls(call, vec![asked("c", tool, input)]).await.unwrap().remove(0)
}

/// Everything that these tools have an effect on, and what the rows say of the calls.
async fn facts(world: &World) -> Vec<String> {
    let topic = world.origin.topic;
    let look = async |conn: &mut Conn| {
        let mut facts = Vec::new();
        for (team, topic) in [(TeamName::main(), topic), (ops(), None)] {
            let unread = notes::unread(conn, &Reader { team, topic }, 99).await?;
            facts.extend(unread.into_iter().map(|note| format!("{} says {}", note.writer, note.text)));
        }
        facts.push(format!("{:?}", outbox::counts(conn).await?));
        for name in teams::names(conn).await? {
            let open = tasks::open_of_team(conn, &name, 99).await?;
            facts.extend(open.into_iter().map(|task| format!("{name} has {} {}", task.id, task.body)));
        }
        let audited = audit::latest(conn, 99).await?.into_iter();
        facts.extend(audited.map(|row| format!("{} {} {} {}", row.team, row.tool, row.step, row.outcome)));
        Ok(facts)
    };
    let mut facts = world.db.read(look).await.unwrap();
    facts.extend(world.rows().await.into_iter().map(|row| format!("{row:?}")));
    facts
}

#[tokio::test(start_paused = true)]
async fn a_call_that_writes_its_own_result_is_made_once_whatever_dies() {
    for (caller, tool, input, effect) in [
        ("main", "send_message", json!({"target": "ops", "message": "hi"}), "send a message to a team"),
        ("ops", "send_message", json!({"target": "main", "message": "hi"}), "send a message to a team"),
        ("ops", "escalate", json!({"message": "the disk is full"}), "escalate"),
        ("main", "escalate", json!({"message": "the disk is full"}), "escalate"),
        ("main", "notify", json!({"title": "look"}), "notify"),
        ("ops", "enqueue_parent_task", json!({"task": "look", "priority": "high"}), "hand work to the parent"),
        ("main", "spawn_team", json!({"name": "docs", "description": "Writes"}), "open a team"),
        ("ops", "spawn_team", json!({"name": "web", "scope_accepts": ["pages"]}), "open a team"),
    ] {
        let agent = if caller == "main" { AgentKind::Main } else { AgentKind::Sub };
        let grant = Arc::new(Grant { agent, ..Grant::main(true) });
        let of = |world: &World| Call { team: caller.parse().unwrap(), grant: grant.clone(), step: 2, ..world.call() };
        let whole = world().await;
        let done = run(&whole, &of(&whole), tool, input.clone()).await;
        assert!(!done.is_error, "{tool}: {}", done.content);
        let expected = facts(&whole).await;
        for (dies_after, state) in
            [("start a tool call", State::Started), (effect, State::Finished), ("finish a tool call", State::Finished)]
        {
            let world = world().await;
            let call = of(&world);
            world.db.die_after_named(dies_after);
            let dies = run(&world, &call, tool, input.clone());
            assert!(tokio::time::timeout(LONG, dies).await.is_err(), "{tool}: the process is gone");
            let db = Db::open(&world.folder.path().join("openhive.db")).await.unwrap();
            let world = World { db, gates: crate::Gates::new(5), ..world };
            assert_eq!(world.rows().await[1].state, state, "{tool}, killed after {dies_after:?}");
            world.tree().settle().await.unwrap();
            let again = run(&world, &call, tool, input.clone()).await;
            assert_eq!(again, done, "{tool}, killed after {dies_after:?}");
            assert_eq!(facts(&world).await, expected, "{tool}, killed after {dies_after:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_cut_off_after_its_effect_is_told_as_it_came_out() {
    let world = World::new().await;
    world.scrub.learn(&base::Secret::new("hunter2hunter2"));
    let (db, clock, scrub) = (world.db.clone(), world.clock, world.scrub.clone());
    // Its effect is there, and its answer is not when its time is up.
    let tell = Fake::tool(writes("tell"), move |call, _| {
        let (db, scrub) = (db.clone(), scrub.clone());
        async move {
            let tell = async |conn: &mut Conn| super::write(conn, &call, &scrub, &json!(["hunter2hunter2"]), 1).await;
            db.tx("tell", tell).await?;
            clock.sleep(LONG).await;
            Ok(String::new())
        }
    });
    let done = world.executor(vec![tell]).run_calls(&world.call(), vec![asked("c", "tell", json!({}))]).await.unwrap();
    assert_eq!((done[0].content.as_str(), done[0].is_error), (r#"["[REDACTED]"]"#, false));
    let rows = world.db.read(async |conn| audit::latest(conn, 9).await).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.outcome.as_str()).collect::<Vec<_>>(), ["done"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_promised_to_a_call_is_its_result_once_it_is_cut_off() {
    let world = world().await;
    let (run_id, call) = (world.run, Call { step: 2, ..world.call() });
    let begin = async |conn: &mut Conn| {
        store::calls::start(conn, run_id, 2, "c", "shutdown_team", "{}", 1).await?;
        store::calls::promise(conn, run_id, 2, "c", "it is gone").await?;
        // It was agreed to: nobody is asked again.
        Ok(())
    };
    world.db.tx("as a crash leaves it", begin).await.unwrap();
    let done = run(&world, &call, "shutdown_team", json!({"name": "ops"})).await;
    assert_eq!((done.content.as_str(), done.is_error), ("it is gone", false));
    assert_eq!(world.rows().await[1].state, State::Finished);
    let rows = world.db.read(async |conn| audit::latest(conn, 1).await).await.unwrap();
    assert_eq!((rows[0].tool.as_str(), rows[0].outcome.as_str()), ("shutdown_team", "done"));
}
