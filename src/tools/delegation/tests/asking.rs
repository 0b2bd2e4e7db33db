//! Questions through the executor: rules, order, times, stops, crashes, secrets.

use base::{Clock, Secret, Stop};
use serde_json::json;
use store::calls::State as CallState;
use store::tasks::{self, New};

use super::*;
use crate::spec::Admission;

/// Longer than anything here takes.
const PATIENT: Duration = Duration::from_secs(3_600);

/// Each child answers with its own name after so many seconds.
fn after(clock: Clock, seconds: &'static [(&'static str, u64)]) -> Arc<Script> {
    Script::of(move |_, question| async move {
        let whom = question.whom.to_string();
        let wait = seconds.iter().find(|(name, _)| *name == whom).map_or(0, |(_, wait)| *wait);
        clock.sleep(Duration::from_secs(wait)).await;
        Ok(format!("{whom} says"))
    })
}

/// Everybody answers at once.
fn prompt() -> Arc<Script> {
    Script::of(|_, question| async move { Ok(format!("{} says", question.whom)) })
}

fn targets(names: &[&str]) -> Value {
    json!({"targets": names.iter().map(|name| json!({"team": name, "query": "state?"})).collect::<Vec<_>>()})
}

fn entry(team: &str, ok: bool, said: &str) -> Value {
    json!({"team": team, "ok": ok, "result_or_error": said})
}

fn parsed(done: &Done) -> Value {
    serde_json::from_str(&done.content).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_child_is_asked_with_the_question_alone_on_a_slot_of_its_own() {
    let hive = Hive::new(prompt()).await;
    let done = hive.call(1, "query_team", json!({"team": "a", "query": " state?"})).await;
    assert_eq!((done.content.as_str(), done.is_error), ("a says", false));
    let seen = Seen { whom: Whom::Team(team("a")), text: " state?".into(), depth: 1, slot_of: Some(team("a")) };
    assert_eq!(hive.script.seen(), [seen]);
    assert_eq!(hive.events().await, ["delegation_opened a", "delegation_closed a answered"]);
    hive.assert_free();
}

#[tokio::test(start_paused = true)]
async fn answers_keep_the_order_of_the_targets_and_take_as_long_as_the_slowest() {
    let world = World::new().await;
    let clock = world.clock;
    let hive = Hive::on(world, after(clock, &[("a", 9), ("b", 3), ("c", 6)])).await;
    let began = clock.now();
    let done = hive.call(1, "query_teams", targets(&["a", "b", "c"])).await;
    assert_eq!(clock.now() - began, 9_000);
    let expected = json!([entry("a", true, "a says"), entry("b", true, "b says"), entry("c", true, "c says")]);
    assert_eq!((parsed(&done), done.is_error), (expected, false));
    let closed: Vec<_> = hive.events().await.split_off(3);
    let expected = ["b", "c", "a"].map(|name| format!("delegation_closed {name} answered"));
    assert_eq!(closed, expected, "each ends when it ends");
}

#[tokio::test(start_paused = true)]
async fn one_child_s_failure_is_its_own() {
    let world = World::new().await;
    let clock = world.clock;
    let script = Script::of(move |_, question| async move {
        match question.whom.to_string().as_str() {
            "b" => Err(Unanswered::Failed("the model failed".to_owned())),
            "c" => Ok(" \n".to_owned()),
            "d" => {
                clock.sleep(Duration::from_secs(20)).await;
                Ok("late".to_owned())
            }
            whom => {
                clock.sleep(Duration::from_secs(7)).await;
                Ok(format!("{whom} says"))
            }
        }
    });
    let hive = Hive::on(world, script).await;
    // Every slot of `e` is taken.
    let gate = hive.world.gates.of(&team("e"));
    let _busy = gate.enter(Admission::Org, PATIENT).await.unwrap();
    let mut asked = targets(&["a", "b", "c", "d", "e"]);
    asked["default_timeout_ms"] = json!(8_000);
    asked["targets"][3]["timeout_ms"] = json!(2_000);
    let began = clock.now();
    let done = hive.call(1, "query_teams", asked).await;
    assert_eq!(clock.now() - began, 7_000);
    let saturated = "saturation: the team is busy, and nothing became free within 5s";
    assert_eq!(
        parsed(&done),
        json!([
            entry("a", true, "a says"),
            entry("b", false, "the model failed"),
            entry("c", false, "it said nothing"),
            entry("d", false, "timeout"),
            entry("e", false, saturated),
        ])
    );
    let mut asked = hive.script.asked();
    // All at once: in no order.
    asked.sort_unstable();
    assert_eq!(asked, ["a", "b", "c", "d"], "a team without a slot is not asked");
    let events = hive.events().await;
    for how in ["a answered", "b failed", "c failed", "d timeout", "e saturation"] {
        assert!(events.contains(&format!("delegation_closed {how}")), "{how} in {events:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_no_child_is_not_asked_and_neither_are_the_others() {
    let hive = Hive::new(prompt()).await;
    let why = "is no child of this team, and nobody was asked; its children: a, b, c, d, e";
    for (step, stranger) in (1..).zip(["grandchild", "nobody", "main"]) {
        let done = hive.call(step, "query_teams", targets(&["a", stranger])).await;
        assert_eq!((done.content, done.is_error), (format!("`{stranger}` {why}"), true));
    }
    let done = hive.call(9, "delegate_to", json!({"assignee": "No Name", "prompt": "x"})).await;
    assert_eq!(done.content, "`No Name` is no child of this team, and nobody was asked");
    assert!(hive.script.seen().is_empty() && hive.events().await.is_empty());
    let done = hive.call(10, "query_teams", targets(&["a", "b"])).await;
    assert!(!done.is_error, "what was refused as a whole counts for nobody: {}", done.content);
}

#[tokio::test(start_paused = true)]
async fn a_team_that_goes_or_is_not_made_yet_is_not_asked() {
    let hive = Hive::new(prompt()).await;
    let turn = async |conn: &mut Conn| {
        teams::set_state(conn, &team("a"), State::Closing).await?;
        teams::set_state(conn, &team("b"), State::Spawning).await?;
        teams::set_state(conn, &team("c"), State::Bootstrapping).await
    };
    hive.world.db.tx("turn", turn).await.unwrap();
    let done = hive.call(1, "query_teams", targets(&["a", "b", "c"])).await;
    let expected = json!([
        entry("a", false, "`a` is being shut down"),
        entry("b", false, "`b` is still being made"),
        entry("c", true, "c says"),
    ]);
    assert_eq!(parsed(&done), expected);
}

#[tokio::test(start_paused = true)]
async fn what_asks_nobody_or_too_many_is_refused() {
    let hive = Hive::new(prompt()).await;
    let six = json!({"targets": vec![json!({"team": "a", "query": "?"}); 6]});
    for (tool, input, why) in [
        ("query_teams", json!({"targets": []}), "nobody is asked"),
        ("query_teams", six, "6 are asked, and one call asks at most 5: split it"),
        (
            "query_team",
            json!({"team": "a", "query": " "}),
            "nothing is said to `a`: write everything that it has to know",
        ),
        (
            "query_teams",
            json!({"targets": [{"team": "a", "query": "?", "timeout_ms": 600_001}]}),
            "a timeout is 1 to 600000 ms",
        ),
        (
            "query_teams",
            json!({"targets": [{"team": "a", "query": "?"}], "default_timeout_ms": 0}),
            "a timeout is 1 to 600000 ms",
        ),
        ("delegate_parallel", json!({"assignee": "a"}), "give either `branches`, or an `assignee` with its `tasks`"),
        (
            "delegate_parallel",
            json!({"branches": [], "tasks": ["x"]}),
            "give either `branches`, or an `assignee` with its `tasks`",
        ),
        ("run_subagent", json!({"name": " ", "task": "x"}), "name the subagent"),
        ("scout", json!({"task_description": "x", "title": "t".repeat(61)}), "a title has at most 60 characters"),
    ] {
        let step = 1 + i64::try_from(hive.world.rows().await.len()).unwrap();
        let done = hive.call(step, tool, input).await;
        assert_eq!((done.content.as_str(), done.is_error), (why, true), "{tool}");
    }
    assert!(hive.script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_child_that_has_answered_is_not_asked_the_same_again() {
    let hive = Hive::new(prompt()).await;
    let same = "`a` has answered this very task in this turn: use its answer";
    for (step, input, expected) in [
        (1, json!({"team": "a", "query": "state?"}), "a says"),
        (2, json!({"team": "a", "query": " state? \n"}), same),
        (3, json!({"team": "a", "query": "and now?"}), "a says"),
    ] {
        assert_eq!(hive.call(step, "query_team", input).await.content, expected);
    }
    let done = hive.call(4, "query_teams", targets(&["a", "b"])).await;
    assert_eq!(parsed(&done), json!([entry("a", false, same), entry("b", true, "b says")]), "also by another tool");
}

#[tokio::test(start_paused = true)]
async fn what_failed_may_be_asked_again_until_the_turn_has_asked_often_enough() {
    let script = Script::of(|_, _| async { Err(Unanswered::Failed("the model failed".to_owned())) });
    let hive = Hive::new(script).await;
    let mut said = Vec::new();
    for step in 1..=5 {
        // Not the very same words: those the executor stops by itself.
        let query = "x".to_owned() + &" ".repeat(usize::try_from(step).unwrap());
        said.push(hive.call(step, "query_team", json!({"team": "a", "query": query})).await.content);
    }
    let most = "`a` is asked at most 4 times in one turn: go on with what you have, or say what is missing";
    assert_eq!(said, ["the model failed", "the model failed", "the model failed", "the model failed", most]);
    assert_eq!(hive.script.seen().len(), 4);
    let other = hive.call(6, "query_team", json!({"team": "b", "query": "x"})).await;
    assert_eq!(other.content, "the model failed", "each pair has its own count");
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_step_share_the_caps() {
    let world = World::new().await;
    let clock = world.clock;
    let hive = Hive::on(world, after(clock, &[("a", 1)])).await;
    let ask = |at: usize, query: &str| asked(&at.to_string(), "query_team", json!({"team": "a", "query": query}));
    let calls = ["1", "2", "2 ", "3"].iter().enumerate().map(|(at, query)| ask(at, query)).collect();
    let done = hive.step(1, calls).await;
    let said: Vec<_> = done.iter().map(|done| done.content.as_str()).collect();
    assert_eq!(said, ["a says", "a says", "`a` is being asked this very task already", "a says"]);
    assert_eq!(hive.script.seen().len(), 3);
    let again = hive.call(2, "query_team", json!({"team": "a", "query": "4"})).await;
    assert!(again.content.starts_with("`a` is asked at most 4 times"), "a call counts, whatever came of it");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_deep_enough_asks_nobody() {
    let hive = Hive::new(prompt()).await;
    let at = async |depth: u32| {
        let step = i64::from(depth) + 1;
        let call = Call { depth, step, ..hive.world.call() };
        let input = json!({"team": "a", "query": depth.to_string()});
        hive.executor.run_calls(&call, vec![asked("1", "query_team", input)]).await.unwrap().remove(0)
    };
    assert!(!at(3).await.is_error);
    assert_eq!(hive.script.seen()[0].depth, 4);
    let refused = at(4).await;
    assert_eq!(refused.content, "others asked others for this already, and it goes no deeper: do it yourself");
    let deep = Limits { depth_max: 99, ..Limits::default() };
    assert!(deep.may_ask(7) && !deep.may_ask(8), "no configuration leads deeper");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_all_of_it_and_changes_no_row_of_a_child_s_queue() {
    let world = World::new().await;
    let clock = world.clock;
    let hive = Hive::on(world, after(clock, &[("a", 1), ("b", 60), ("c", 60)])).await;
    let queue = async |conn: &mut Conn| {
        let (child, origin) = (team("b"), store::tasks::Origin::default());
        tasks::give(conn, &New::of(&child, tasks::Kind::Delegate, "waits", &origin), START).await
    };
    hive.world.db.tx("queue", queue).await.unwrap();
    let rows = async |conn: &mut Conn| {
        let mut rows = Vec::new();
        for id in 1..10 {
            rows.push(tasks::get(conn, base::TaskId(id)).await?);
        }
        Ok((rows, tasks::look(conn, START).await?.claimable))
    };
    let tables = async || format!("{:?}", hive.world.db.read(rows).await.unwrap());
    let before = tables().await;
    let call = hive.world.call();
    let run = hive.executor.run_calls(&call, vec![asked("1", "query_teams", targets(&["a", "b", "c"]))]);
    let stop = async {
        clock.sleep(Duration::from_secs(5)).await;
        call.stop.cancel();
    };
    let began = clock.now();
    let (done, ()) = tokio::join!(run, stop);
    assert_eq!(clock.now() - began, 5_000, "at once");
    let done = done.unwrap().remove(0);
    assert_eq!((done.content.as_str(), done.is_error), ("the turn was stopped while others worked for it", true));
    assert_eq!(tables().await, before);
    hive.assert_free();
    let closed = |name: &str, how: &str, ms| (name.to_owned(), how.to_owned(), how == "answered", ms);
    let expected = [closed("a", "answered", 1_000), closed("b", "stopped", 5_000), closed("c", "stopped", 5_000)];
    assert_eq!(hive.closes().await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_ours_ends_the_call_and_everything_that_it_asked() {
    let world = World::new().await;
    let clock = world.clock;
    let script = Script::of(move |_, question| async move {
        clock.sleep(Duration::from_secs(2)).await;
        if question.whom == Whom::Team(team("b")) {
            return Err(Unanswered::Broken(anyhow::anyhow!("no disk")));
        }
        clock.sleep(PATIENT).await;
        Ok(String::new())
    });
    let hive = Hive::on(world, script).await;
    let began = clock.now();
    let calls = vec![asked("1", "query_teams", targets(&["a", "b"]))];
    let error = hive.executor.run_calls(&hive.world.call(), calls).await.unwrap_err();
    assert_eq!(format!("{error:#}"), "run the tool query_teams: ask b: no disk");
    assert_eq!(clock.now() - began, 2_000);
    let closed = hive.events().await.split_off(2);
    assert_eq!(closed, ["delegation_closed a stopped", "delegation_closed b stopped"]);
    hive.assert_free();
}

#[tokio::test(start_paused = true)]
async fn a_question_is_told_with_its_call_and_never_with_its_words() {
    let world = World::new().await;
    let clock = world.clock;
    let hive = Hive::on(world, after(clock, &[("a", 2)])).await;
    hive.step(3, vec![asked("x", "query_teams", targets(&["b", "a"]))]).await;
    let events = hive.world.db.read(async |conn| store::events::after(conn, 0, 1_000).await).await.unwrap();
    let told = events.iter().filter(|event| event.kind.starts_with("delegation_"));
    let told: Vec<(&str, Value)> =
        told.map(|event| (event.kind.as_str(), serde_json::from_str(&event.body).unwrap())).collect();
    let opened = |at: usize, name: &str| json!({"step": 3, "call_id": "x", "at": at, "assignee": name, "kind": "team", "depth": 1});
    let closed = |at: usize, name: &str, ms: i64| {
        let mut body = opened(at, name);
        (body["ok"], body["how"], body["ms"]) = (json!(true), json!("answered"), json!(ms));
        body
    };
    let expected = [
        ("delegation_opened", opened(0, "b")),
        ("delegation_opened", opened(1, "a")),
        ("delegation_closed", closed(0, "b", 0)),
        ("delegation_closed", closed(1, "a", 2_000)),
    ];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn what_a_child_says_is_not_taken_for_what_became_of_it() {
    let script = Script::of(|_, question| async move {
        Err(Unanswered::Failed(match question.whom.to_string().as_str() {
            "a" => "saturation of the disks: 99 %".to_owned(),
            _ => "timeout".to_owned(),
        }))
    });
    let hive = Hive::new(script).await;
    hive.call(1, "query_teams", targets(&["a", "b"])).await;
    let how: Vec<String> = hive.closes().await.into_iter().map(|(_, how, ..)| how).collect();
    assert_eq!(how, ["failed", "failed"]);
}

#[tokio::test(start_paused = true)]
async fn of_too_many_pieces_for_one_child_as_many_go_through_as_it_may_have_at_once() {
    let hive = Hive::new(prompt()).await;
    let pieces = json!({"assignee": "a", "tasks": ["1", "2", "3", "4", "5"]});
    let done = parsed(&hive.call(1, "delegate_parallel", pieces).await);
    let entry = |ok: bool, said: &str| json!({"assignee": "a", "ok": ok, "result_or_error": said});
    let why = "`a` has 3 questions of yours at once already: ask again when they are answered";
    let (said, refused) = (entry(true, "a says"), entry(false, why));
    assert_eq!(done, json!([said, said, said, refused, refused]));
    assert_eq!(hive.events().await.len(), 6, "what did not go through was not opened");
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_step_share_the_caps_also_where_they_run_in_two_batches() {
    let world = World::new().await;
    let clock = world.clock;
    let hive = Hive::on(world, after(clock, &[("a", 1)])).await;
    let ask = |at: usize| asked(&at.to_string(), "query_team", json!({"team": "a", "query": at.to_string()}));
    let began = clock.now();
    let done = hive.step(1, (0..8).map(ask).collect()).await;
    let said: Vec<_> = done.iter().map(|done| (done.call_id.as_str(), done.is_error)).collect();
    let expected = ["0", "1", "2"].map(|id| (id, false)).into_iter();
    assert_eq!(said, expected.chain(["3", "4", "5", "6", "7"].map(|id| (id, true))).collect::<Vec<_>>());
    assert_eq!((hive.script.seen().len(), clock.now() - began), (3, 1_000));
    let most = "`a` is asked at most 4 times in one turn: go on with what you have, or say what is missing";
    assert!(done[4..].iter().all(|done| done.content == most), "a call counts, whatever came of it: {done:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_panics_leaves_nothing_open() {
    let script = Script::of(|_, question| async move {
        assert!(question.whom != Whom::Team(team("b")), "on purpose");
        std::future::pending().await
    });
    let hive = Hive::new(script).await;
    let calls = vec![asked("1", "query_teams", targets(&["a", "b"]))];
    let error = hive.executor.run_calls(&hive.world.call(), calls).await.unwrap_err();
    assert!(format!("{error:#}").contains("it panicked: on purpose"), "{error:#}");
    let lost = |name: &str| (name.to_owned(), "cut off".to_owned(), false, 0);
    assert_eq!(hive.closes().await, [lost("a"), lost("b")]);
    hive.assert_free();
}

/// The hive of a database that another process has left.
async fn revived(hive: Hive) -> (World, Arc<Executor>, Arc<Script>, Arc<dyn Sessions>) {
    let Hive { world, .. } = hive;
    let db = store::Db::open(&world.folder.path().join("openhive.db")).await.unwrap();
    let world = World { db, line: Line::new(), gates: crate::Gates::new(5), ..world };
    let (script, executor) = (prompt(), Arc::new(world.executor_of(world.catalogue(Policy::default()))));
    let sessions: Arc<dyn Sessions> = script.clone();
    world.line.lead_to(&sessions);
    (world, executor, script, sessions)
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_cuts_off_is_closed_whether_it_is_made_again_or_not() {
    for (tool, input, how) in [
        ("query_teams", targets(&["a", "b"]), ["a cut off", "b cut off"].as_slice()),
        ("scout", json!({"task_description": "x"}), ["scout cut off", "scout answered"].as_slice()),
    ] {
        let hive = Hive::new(Script::of(|_, _| std::future::pending())).await;
        let call = hive.world.call();
        let cut_off = vec![asked("1", tool, input)];
        let dies = hive.executor.run_calls(&call, cut_off.clone());
        assert!(tokio::time::timeout(Duration::from_secs(3), dies).await.is_err(), "the process is gone");
        let (world, executor, script, _sessions) = revived(hive).await;
        executor.run_calls(&call, cut_off).await.unwrap();
        let hive = Hive { world, executor, script: script.clone(), _sessions: script };
        let closes: Vec<String> =
            hive.closes().await.into_iter().map(|(who, how, ..)| format!("{who} {how}")).collect();
        assert_eq!(closes, how, "{tool}");
        let opened = hive.events().await.iter().filter(|event| event.starts_with("delegation_opened")).count();
        assert_eq!(opened, 2, "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_team_that_is_only_ever_asked_has_as_many_slots_as_its_file_says() {
    let hive = Hive::new(prompt()).await;
    let folder = hive.world.folder.path().join("teams/a");
    std::fs::create_dir_all(&folder).unwrap();
    // The file may be changed at any time: a session finds that out, and by then it has its slot.
    for (step, cap) in (1_u32..).zip([1, 7, 2]) {
        std::fs::write(folder.join("config.yaml"), format!("max_concurrent_daily_ops: {cap}\n")).unwrap();
        if step > 1 {
            let held = hive.world.gates.of(&team("a")).enter(Admission::Daily, Duration::ZERO).await.unwrap();
            hive.world.gates.fit(&team("a"), cap);
            drop(held);
        }
        let done = hive.call(step.into(), "query_team", json!({"team": "a", "query": cap.to_string()})).await;
        assert_eq!(done.content, "a says");
        let (gate, mut passes) = (hive.world.gates.of(&team("a")), Vec::new());
        while let Ok(pass) = gate.enter(Admission::Daily, Duration::ZERO).await {
            passes.push(pass);
        }
        assert_eq!(passes.len(), cap as usize);
    }
    hive.assert_free();
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_has_a_length() {
    let hive = Hive::new(prompt()).await;
    let ask = async |step: i64, chars: usize| {
        let input = json!({"team": "a", "query": "é".repeat(chars)});
        hive.call(step, "query_team", input).await
    };
    assert_eq!(ask(1, 50_000).await.content, "a says");
    let long = "what is said to `a` has 50001 characters, and may have 50000: put the rest into a file";
    let refused = ask(2, 50_001).await;
    assert_eq!((refused.content.as_str(), refused.is_error), (long, true));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_entered_again_has_asked_what_its_rows_say() {
    let hive = Hive::new(prompt()).await;
    hive.call(1, "query_team", json!({"team": "a", "query": "state?"})).await;
    hive.world.db.die_after_named("start a tool call");
    let call = Call { step: 2, ..hive.world.call() };
    let cut_off = vec![asked("1", "query_team", json!({"team": "b", "query": "state?"}))];
    let dies = hive.executor.run_calls(&call, cut_off.clone());
    assert!(tokio::time::timeout(PATIENT, dies).await.is_err(), "the process is gone");
    let (world, executor, _script, _sessions) = revived(hive).await;
    let done = executor.run_calls(&call, cut_off).await.unwrap().remove(0);
    assert_eq!(done.content, "interrupted, outcome unknown: look before you do it again");
    let call = Call { step: 3, ..world.call() };
    let calls = ["a", "b"].map(|name| asked(name, "query_team", json!({"team": name, "query": "state?"})));
    let done = executor.run_calls(&call, calls.to_vec()).await.unwrap();
    let said: Vec<_> = done.iter().map(|done| done.content.as_str()).collect();
    assert_eq!(said, ["`a` has answered this very task in this turn: use its answer", "b says"]);
    assert!(world.rows().await.iter().all(|row| row.state == CallState::Finished));
}

#[tokio::test(start_paused = true)]
async fn no_answer_brings_a_secret() {
    let world = World::new().await;
    world.scrub.learn(&Secret::new("hunter2-hunter2"));
    let script = Script::of(|_, question| async move {
        match question.whom.to_string().as_str() {
            "a" => Ok("the key is hunter2-hunter2".to_owned()),
            _ => Err(Unanswered::Failed("401 for hunter2-hunter2".to_owned())),
        }
    });
    let hive = Hive::on(world, script).await;
    let several = hive.call(1, "query_teams", targets(&["a", "b"])).await.content;
    let one = hive.call(2, "delegate_to", json!({"assignee": "a", "prompt": "x"})).await.content;
    for said in [several, one] {
        assert!(!said.contains("hunter2"), "{said}");
        assert!(said.contains("the key is "), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_among_several_leaves_the_others_whole() {
    let script = Script::of(|_, question| async move {
        Ok(if question.whom == Whom::Team(team("a")) { "line\n".repeat(100_000) } else { "short".to_owned() })
    });
    let hive = Hive::new(script).await;
    let done = hive.call(1, "query_teams", targets(&["a", "b"])).await;
    assert!(done.content.len() < 128 * 1_024, "{}", done.content.len());
    let said = parsed(&done);
    assert!(said[0]["result_or_error"].as_str().unwrap().ends_with(" bytes left out: ask for less …]"));
    assert_eq!(said[1], entry("b", true, "short"));
}

#[tokio::test(start_paused = true)]
async fn work_is_handed_over_with_what_sort_it_is() {
    let hive = Hive::new(prompt()).await;
    let done = hive.call(1, "delegate_to", json!({"assignee": "a", "task": "Look at x.", "mode": "research"})).await;
    assert_eq!(done.content, "a says");
    let several = json!({"mode": "verify", "branches": [
        {"assignee": "b", "prompt": "Look at y."},
        {"assignee": "c", "task": "Make z.", "mode": "produce"},
    ]});
    let done = parsed(&hive.call(2, "delegate_parallel", several).await);
    let entry = |assignee: &str, said: &str| json!({"assignee": assignee, "ok": true, "result_or_error": said});
    assert_eq!(done, json!([entry("b", "b says"), entry("c", "c says")]));
    let one = json!({"assignee": "d", "tasks": ["1", "2"]});
    let done = parsed(&hive.call(3, "delegate_parallel", one).await);
    assert_eq!(done, json!([entry("d", "d says"), entry("d", "d says")]));
    let texts: Vec<_> = hive.script.seen().into_iter().map(|seen| seen.text).collect();
    assert_eq!(
        texts,
        [
            "Look at x.\n\nThis is research: find out and report; change nothing that others use.",
            "Look at y.\n\nThis is a check: report what holds and what does not; change nothing that others use.",
            "Make z.\n\nThis is to be made: do it, and say where it is.",
            "1",
            "2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn subagents_and_scouts_are_the_team_s_own_and_ride_where_their_caller_rides() {
    let hive = Hive::new(prompt()).await;
    let hints = json!({"task_description": "Find x.", "title": "x", "hints": {"paths": ["src"], "queries": ["fn x"]}});
    assert_eq!(hive.call(1, "scout", hints).await.content, "scout says");
    assert_eq!(hive.call(2, "run_subagent", json!({"name": "Ana", "task": "y"})).await.content, "Ana says");
    let gate = hive.world.gates.of(&TeamName::main());
    let slot = Arc::new(Slot::take(&TeamName::main(), gate, PATIENT).await.unwrap());
    let call = Call { step: 3, slot: Some(slot), depth: 1, stop: Stop::new(), ..hive.world.call() };
    let calls = vec![asked("1", "run_subagent", json!({"name": "Ana", "task": "z"}))];
    hive.executor.run_calls(&call, calls).await.unwrap();
    let own = |whom, text: &str, depth, slot_of| Seen { whom, text: text.into(), depth, slot_of };
    let ana = || Whom::Subagent("Ana".into());
    assert_eq!(
        hive.script.seen(),
        [
            own(Whom::Scout, "# x\n\nFind x.\n\nLook in:\n- src\n\nSearch for:\n- fn x", 1, None),
            own(ana(), "y", 1, None),
            own(ana(), "z", 2, Some(TeamName::main())),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn where_no_session_can_be_asked_the_turn_hears_of_a_fault() {
    let world = World::new().await;
    let executor = world.executor_of(world.catalogue(Policy::default()));
    let calls = vec![asked("1", "scout", json!({"task_description": "x"}))];
    let error = executor.run_calls(&world.call(), calls).await.unwrap_err();
    assert_eq!(format!("{error:#}"), "run the tool scout: no session can be asked");
}
