//! Calls through all their steps over a real database: results, order, bounds, stops and crashes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use base::{Secret, Stop, Tasks};
use serde_json::json;
use store::calls::{self, State};

use super::*;
use crate::permission::Grant;
use crate::spec::{Ops, Provenance, Spec};
use crate::testing::{Fake, World, asked, spec, writes};
use crate::tool::{AnyTool, ToolError};

mod leaving;

const LONG: Duration = Duration::from_secs(600);

/// How many runs were seen.
fn counting(spec: Spec) -> (Arc<dyn AnyTool>, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let counter = count.clone();
    let tool = Fake::tool(spec, move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok("done".to_owned()) }
    });
    (tool, count)
}

fn sleeping(world: &World, spec: Spec, time: Duration) -> Arc<dyn AnyTool> {
    let clock = world.clock;
    Fake::tool(spec, move |_, input| async move {
        clock.sleep(time).await;
        Ok(input.to_string())
    })
}

fn contents(done: &[Done]) -> Vec<(&str, bool)> {
    done.iter().map(|done| (done.content.as_str(), done.is_error)).collect()
}

#[tokio::test(start_paused = true)]
async fn every_call_gets_its_result_in_the_model_s_order() {
    let world = World::new().await;
    let slow = sleeping(&world, spec("slow"), Duration::from_secs(9));
    let executor = world.executor(vec![slow, Fake::echo(spec("fast")), Fake::echo(writes("write"))]);
    let calls = vec![
        asked("a", "slow", json!({"n": 1})),
        asked("b", "fast", json!({"n": 2})),
        asked("c", "write", json!({"n": 3})),
        asked("d", "fast", json!({"n": 4})),
    ];
    let done = executor.run_calls(&world.call(), calls).await.unwrap();
    assert_eq!(done.iter().map(|done| done.call_id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    let expected = [("{\"n\":1}", false), ("{\"n\":2}", false), ("{\"n\":3}", false), ("{\"n\":4}", false)];
    assert_eq!(contents(&done), expected);
    let rows = world.rows().await;
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.state == State::Finished && !row.is_error), "{rows:?}");
}

#[tokio::test(start_paused = true)]
async fn reads_run_side_by_side_and_writes_alone() {
    let world = World::new().await;
    let inside = Arc::new(Mutex::new((Vec::<String>::new(), Vec::<Vec<String>>::new())));
    let watch = |spec: Spec| {
        let (inside, clock, name) = (inside.clone(), world.clock, spec.name.to_string());
        Fake::tool(spec, move |_, _| {
            let (inside, name) = (inside.clone(), name.clone());
            async move {
                {
                    let mut inside = inside.lock().unwrap();
                    inside.0.push(name.clone());
                    let now = inside.0.clone();
                    inside.1.push(now);
                }
                clock.sleep(Duration::from_secs(1)).await;
                let mut inside = inside.lock().unwrap();
                let at = inside.0.iter().position(|other| *other == name).unwrap();
                inside.0.remove(at);
                Ok(String::new())
            }
        })
    };
    let executor = world.executor(vec![watch(spec("r")), watch(writes("w"))]);
    let calls = ["r", "r", "w", "w", "r"].iter().enumerate();
    let calls = calls.map(|(at, name)| asked(&at.to_string(), name, json!({"n": at}))).collect();
    executor.run_calls(&world.call(), calls).await.unwrap();
    let seen = inside.lock().unwrap().1.clone();
    assert_eq!(seen, [vec!["r"], vec!["r", "r"], vec!["w"], vec!["w"], vec!["r"]]);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_call_is_told_and_runs_nothing() {
    let world = World::new().await;
    let (tool, count) = counting(spec("look"));
    let (admins, _) = counting(Spec { provenance: Provenance::Admin, ..writes("rule") });
    let (hidden, hidden_count) = counting(Spec { default_disabled: true, ..spec("hidden") });
    let (burn, burn_count) = counting(Spec { destructive: true, ..writes("burn") });
    let executor = world.executor(vec![tool, admins, hidden, burn]);
    let call = Call { grant: Arc::new(Grant::main(false)), ..world.call() };
    let broken = Asked { input: Err("{\"a\":".into()), ..asked("b", "look", json!({})) };
    let calls = vec![
        asked("a", "lok\n", json!({})),
        broken,
        asked("c", "rule", json!({})),
        asked("d", "hidden", json!({})),
        asked("e", "burn", json!({})),
        asked("f", "look", json!({})),
        asked("f", "look", json!({})),
    ];
    let done = executor.run_calls(&call, calls).await.unwrap();
    let expected = [
        ("there is no tool `lok\\n`; there are: burn, look, rule", true),
        (
            "the arguments are not JSON, perhaps because they were cut off: nothing was done; ask again with a JSON \
             object",
            true,
        ),
        ("`rule` may not be used here: only a turn that an admin caused may use it", true),
        (
            "`hidden` may not be used here: `*` in an allow-list matches it and does not grant it: it is disabled by \
             default, and only its own name grants it",
            true,
        ),
        ("not run: nobody agreed to it in time", true),
        ("done", false),
        ("not run: two calls of this step have the id `f`", true),
    ];
    assert_eq!(contents(&done), expected);
    let runs = [&count, &hidden_count, &burn_count].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(runs, [1, 0, 0]);
    let rows = world.rows().await;
    assert_eq!(rows.len(), 6, "every id has one row");
    assert!(rows.iter().all(|row| row.state == State::Finished), "{rows:?}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_quote_without_end() {
    let world = World::new().await;
    let done = world.ask("list_topics", json!({"x".repeat(100_000): 1})).await;
    assert!(done.is_error && done.content.starts_with("bad arguments: unknown field `xxx"));
    assert_eq!(done.content.chars().count(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn the_third_time_the_same_call_is_not_made() {
    let world = World::new().await;
    let (tool, count) = counting(spec("look"));
    let executor = world.executor(vec![tool]);
    let mut last = Vec::new();
    for (step, input) in
        [json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), json!({"a": 1, "b": 3}), json!({"a": 1, "b": 2})]
            .into_iter()
            .enumerate()
    {
        let call = Call { step: i64::try_from(step).unwrap() + 1, ..world.call() };
        last = executor.run_calls(&call, vec![asked("1", "look", input)]).await.unwrap();
    }
    let text = "`look` was called with these very arguments 2 times in this turn already and was not run again: use \
                what it answered, or do something else";
    assert_eq!(contents(&last), [(text, true)]);
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_dropped_and_told_to_stop() {
    let world = World::new().await;
    let stopped = Arc::new(Mutex::new(Vec::<base::Stop>::new()));
    let clock = world.clock;
    let seen = stopped.clone();
    let waits = move |spec: Spec| {
        let seen = seen.clone();
        Fake::tool(spec, move |call, _| {
            seen.lock().unwrap().push(call.stop.clone());
            async move {
                clock.sleep(LONG).await;
                Ok(String::new())
            }
        })
    };
    let executor = world.executor(vec![waits(spec("look")), waits(writes("write"))]);
    let calls = vec![asked("a", "look", json!({})), asked("b", "write", json!({}))];
    let done = executor.run_calls(&world.call(), calls).await.unwrap();
    let expected = [
        ("this took longer than 30s", true),
        ("this took longer than 30s; interrupted, outcome unknown: look before you do it again", true),
    ];
    assert_eq!(contents(&done), expected);
    assert!(stopped.lock().unwrap().iter().all(base::Stop::is_cancelled));
    assert_eq!(executor.clock.now() - crate::testing::START, 60_000);
    assert_eq!(executor.gates.of(&world.call().team).load().active_daily_ops, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_what_runs_and_every_call_has_a_result() {
    let world = World::new().await;
    let executor = world.executor(vec![sleeping(&world, spec("look"), LONG), sleeping(&world, writes("write"), LONG)]);
    let call = world.call();
    let tasks = Tasks::new();
    let (stop, clock) = (call.stop.clone(), world.clock);
    tasks.spawn("stop", async move {
        clock.sleep(Duration::from_secs(5)).await;
        stop.cancel();
    });
    let calls = vec![asked("a", "write", json!({})), asked("b", "look", json!({})), asked("c", "nothing", json!({}))];
    let done = executor.run_calls(&call, calls).await.unwrap();
    let expected = [
        ("the turn was stopped while this ran; interrupted, outcome unknown: look before you do it again", true),
        ("not run: the turn was stopped", true),
        ("not run: the turn was stopped", true),
    ];
    assert_eq!(contents(&done), expected);
    assert!(world.rows().await.iter().all(|row| row.state == State::Finished));
    assert_eq!(executor.clock.now() - crate::testing::START, 5_000);
}

#[tokio::test(start_paused = true)]
async fn a_team_that_is_busy_says_when_to_try_again() {
    let world = World::new().await;
    let alone = Spec { ops: Ops::Org, ..writes("alone") };
    let mut executor = world.executor(vec![Fake::echo(spec("look")), Fake::echo(alone)]);
    executor.limits.admission_patience = Duration::from_secs(2);
    let gate = executor.gates.of(&world.call().team);
    let pass = gate.enter(crate::Admission::Daily, LONG).await.unwrap();
    let calls = vec![asked("a", "look", json!({})), asked("b", "alone", json!({}))];
    let done = executor.run_calls(&world.call(), calls).await.unwrap();
    assert_eq!(contents(&done)[0], ("{}", false), "there is room beside one daily op");
    let refused: Value = serde_json::from_str(&done[1].content).unwrap();
    let expected = json!({
        "error": "saturation: the team is busy, and nothing became free within 2s",
        "retry_after_ms": 5_000,
    });
    assert_eq!((refused, done[1].is_error), (expected, true));
    drop(pass);
    let later = Call { step: 2, ..world.call() };
    let done = executor.run_calls(&later, vec![asked("b", "alone", json!({}))]).await.unwrap();
    assert_eq!(contents(&done), [("{}", false)]);
}

#[tokio::test(start_paused = true)]
async fn no_secret_reaches_a_result_the_journal_or_a_file() {
    let world = World::new().await;
    world.scrub.learn(&Secret::new("hunter2hunter2"));
    let tell = Fake::tool(spec("tell"), async |_, _| Ok(format!("it is hunter2hunter2, {}", "x".repeat(5_000))));
    let refuse = Fake::tool(spec("refuse"), async |_, _| Err(ToolError::refused("hunter2hunter2 is wrong")));
    let executor = world.executor(vec![tell, refuse]);
    let calls = vec![
        asked("a", "tell", json!({"key": "hunter2hunter2"})),
        asked("b", "refuse", json!({})),
        asked("c", "hunter2hunter2", json!({})),
    ];
    let done = executor.run_calls(&world.call(), calls).await.unwrap();
    assert_eq!(done[1].content, "[REDACTED] is wrong");
    assert_eq!(done[2].content, "there is no tool `[REDACTED]`; there are: refuse, tell");
    let sql_dump = format!("{done:?} {:?}", world.rows().await);
    let file = std::fs::read_to_string(world.home().join(".results/1-1-0.txt")).unwrap();
    for text in [&sql_dump, &file] {
        assert!(text.contains("[REDACTED]") && !text.contains("hunter2"), "{text}");
    }
    let journaled =
        world.db.read(async |conn| calls::repeats(conn, world.run, "tell", "{\"key\":\"[REDACTED]\"}").await);
    assert_eq!(journaled.await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_long_result_keeps_its_ends_and_goes_to_a_file() {
    let world = World::new().await;
    let long = format!("begin {} end", "ä".repeat(2_000));
    let whole = long.clone();
    let tell = Fake::tool(spec("tell"), move |_, _| {
        let long = long.clone();
        async move { Ok(long) }
    });
    let executor = world.executor(vec![tell]);
    let done = executor.run_calls(&world.call(), vec![asked("a/../b", "tell", json!({}))]).await.unwrap();
    assert!(done[0].content.len() <= 1_000, "{}", done[0].content.len());
    assert!(done[0].content.starts_with("begin ä") && done[0].content.ends_with("ä end"));
    assert!(done[0].content.contains("the whole is in `.results/1-1-0.txt`, which `read_file` shows"));
    assert_eq!(std::fs::read_to_string(world.home().join(".results/1-1-0.txt")).unwrap(), whole);
    assert_eq!(world.rows().await[0].result, done[0].content, "the journal holds what the model got");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_kept_is_cut_all_the_same() {
    let world = World::new().await;
    std::fs::write(world.home().join(".results"), "in the way").unwrap();
    let tell = Fake::tool(spec("tell"), async |_, _| Ok("x".repeat(2_000)));
    let done = world.executor(vec![tell]).run_calls(&world.call(), vec![asked("a", "tell", json!({}))]).await.unwrap();
    assert!(done[0].content.contains("the rest could not be kept: ask for less"), "{}", done[0].content);
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_ours_ends_the_turn_and_leaves_a_result_for_every_call() {
    let world = World::new().await;
    let broken = Fake::tool(spec("broken"), async |_, _| Err(anyhow::anyhow!("disk full at /secret/place").into()));
    let panics = Fake::tool(spec("panics"), |_, _| async { panic!("no idea") });
    let (later, count) = counting(writes("later"));
    let executor = world.executor(vec![broken, panics, Fake::echo(spec("look")), later]);
    let calls = vec![
        asked("a", "look", json!({})),
        asked("b", "panics", json!({})),
        asked("c", "broken", json!({})),
        asked("d", "later", json!({})),
    ];
    let error = executor.run_calls(&world.call(), calls).await.unwrap_err();
    assert_eq!(format!("{error:#}"), "run the tool panics: it panicked: no idea");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let rows = world.rows().await;
    let results: Vec<_> = rows.iter().map(|row| (row.call_id.as_str(), row.result.as_str())).collect();
    let ours = "this failed by a fault of the hive's own, and the turn ends here";
    let expected =
        [("a", "{}"), ("b", ours), ("c", ours), ("d", "not run: an earlier call failed, and the turn has ended")];
    assert_eq!(results, expected, "and nothing internal is in them");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_crash_cut_off_is_made_again_only_if_that_does_no_harm() {
    let world = World::new().await;
    let (look, looked) = counting(spec("look"));
    let (write, wrote) = counting(writes("write"));
    let (done_before, did) = counting(writes("finished"));
    let run = world.run;
    let crash = async |conn: &mut store::Conn| {
        for (id, tool) in [("a", "look"), ("b", "write"), ("c", "finished")] {
            calls::start(conn, run, 1, id, tool, "{}", 1).await?;
        }
        calls::finish(conn, run, 1, "c", false, "as before", 2).await
    };
    world.db.tx("as a crash leaves it", crash).await.unwrap();
    let executor = world.executor(vec![look, write, done_before]);
    let calls = || {
        let calls = [("a", "look"), ("b", "write"), ("c", "finished"), ("d", "look")];
        calls.map(|(id, tool)| asked(id, tool, json!({}))).to_vec()
    };
    let done = executor.run_calls(&world.call(), calls()).await.unwrap();
    let expected = [
        ("done", false),
        ("interrupted, outcome unknown: look before you do it again", true),
        ("as before", false),
        ("done", false),
    ];
    assert_eq!(contents(&done), expected);
    let again = executor.run_calls(&world.call(), calls()).await.unwrap();
    assert_eq!(again, done, "entered a third time, nothing is made again");
    let counts = [looked, wrote, did].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [2, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_in_the_journal_before_its_effect() {
    let world = World::new().await;
    let (db, run) = (world.db.clone(), world.run);
    let look = Fake::tool(writes("look"), move |_, _| {
        let db = db.clone();
        async move {
            let row = db.read(async |conn| calls::get(conn, run, 1, "a").await).await?;
            Ok(format!("{:?}", row.map(|row| row.state)))
        }
    });
    let done = world.executor(vec![look]).run_calls(&world.call(), vec![asked("a", "look", json!({}))]).await.unwrap();
    assert_eq!(contents(&done), [("Some(Started)", false)]);
}

/// Presses a button of the only question, as this sender with this verdict.
async fn press(db: &Db, option: usize, sender: i64, admin: bool) -> Option<String> {
    let sender = channels::SenderId::new(channels::Kind::Telegram, sender);
    let verdict = org::trust::Verdict::Trusted { admin };
    db.tx("press", async |conn| org::questions::press(conn, (1, option), &sender, verdict, 1).await).await.unwrap()
}

/// Waits until the question is asked, on paused time.
async fn asked_for_approval(db: &Db) {
    let mut bell = db.changes(store::Bell::Questions);
    while db.read(async |conn| store::questions::get(conn, 1).await).await.unwrap().is_none() {
        bell.changed().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_destroys_runs_when_a_person_agrees_who_may() {
    for (option, expected, ran) in
        [(0, ("done", false), 1), (1, ("not run: telegram:1 refused it; do not ask again for the same", true), 0)]
    {
        let world = World::new().await;
        let (burn, count) = counting(Spec { destructive: true, ..writes("burn") });
        let executor = world.executor(vec![burn]);
        let (db, call) = (world.db.clone(), world.call());
        let run = executor.run_calls(&call, vec![asked("a", "burn", json!({"what": "all"}))]);
        let answer = async {
            asked_for_approval(&db).await;
            let other = press(&db, 0, 9, false).await;
            assert_eq!(other.as_deref(), Some("Only `telegram:1` or an admin may answer that."));
            assert_eq!(press(&db, option, 1, false).await, None, "whoever asked may say so");
            let late = press(&db, 0, 7, true).await;
            assert_eq!(late.as_deref(), Some("That was answered already, by `telegram:1`."));
        };
        let (done, ()) = tokio::join!(run, answer);
        assert_eq!(contents(&done.unwrap()), [expected]);
        assert_eq!(count.load(Ordering::SeqCst), ran);
        let rows = world.db.read(async |conn| store::outbox::counts(conn).await).await.unwrap();
        assert_eq!(rows, [("due".to_owned(), 2)], "the question, and the edit that takes its buttons away");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_process_that_asked_it() {
    let world = World::new().await;
    let call = world.call();
    let asks = async |world: &World, stop_when_asked: bool| {
        let (burn, count) = counting(Spec { destructive: true, ..writes("burn") });
        let executor = world.executor(vec![burn]);
        let own = Call { stop: Stop::new(), ..call.clone() };
        let run = executor.run_calls(&own, vec![asked("a", "burn", json!({}))]);
        let stop = async {
            if stop_when_asked {
                asked_for_approval(&world.db).await;
                own.stop.cancel();
            }
        };
        let (done, ()) = tokio::join!(run, stop);
        (contents(&done.unwrap())[0].0.to_owned(), count.load(Ordering::SeqCst))
    };
    assert_eq!(asks(&world, true).await, ("not run: the turn was stopped".to_owned(), 0));
    assert!(world.rows().await.is_empty(), "nothing is written down before there is an answer");
    assert_eq!(press(&world.db, 0, 7, true).await, None);
    assert_eq!(asks(&world, false).await, ("done".to_owned(), 1), "the answer that came meanwhile holds");
    let asked: Vec<_> = world.db.read(async |conn| store::outbox::counts(conn).await).await.unwrap();
    assert_eq!(asked, [("due".to_owned(), 2)], "asked once");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_dies_between_effect_and_result_leaves_the_call_started() {
    let world = World::new().await;
    let (write, wrote) = counting(writes("write"));
    let executor = world.executor(vec![write]);
    world.db.die_after_named("start a tool call");
    let call = world.call();
    let run = executor.run_calls(&call, vec![asked("a", "write", json!({}))]);
    assert!(tokio::time::timeout(LONG, run).await.is_err(), "the process is gone");
    assert_eq!(wrote.load(Ordering::SeqCst), 0, "no effect without knowing that the row is there");
    drop(executor);
    let db = Db::open(&world.folder.path().join("openhive.db")).await.unwrap();
    let world = World { db, ..world };
    assert_eq!(world.rows().await[0].state, State::Started);
    let (write, wrote) = counting(writes("write"));
    let done = world.executor(vec![write]).run_calls(&call, vec![asked("a", "write", json!({}))]).await.unwrap();
    assert_eq!(contents(&done), [("interrupted, outcome unknown: look before you do it again", true)]);
    assert_eq!(wrote.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_turn_s_calls_can_be_spawned() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let world = World::new().await;
    let executor = world.executor(vec![Fake::echo(spec("look"))]);
    let call = world.call();
    assert!(is_send(executor.run_calls(&call, vec![asked("a", "look", json!({}))])).await.is_ok());
}
