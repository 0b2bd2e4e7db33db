//! The tools of the tree, as a model uses them: whom a caller reaches, and what comes back.

mod lists;
mod removal;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base::TeamName;
use org::trust::Policy;
use serde_json::{Value, json};
use store::notes::{self, Reader};
use store::tasks::{self, End, StopAsked, Task};
use store::teams::{self, State};
use store::{Conn, outbox};

use crate::testing::{START, World, asked};
use crate::{Call, Catalogue, Grant, ToolError};

/// The tools of a world with `ops` and `docs` below the root and `web` below `ops`, all of them ready.
struct Hive {
    world: World,
    tools: Catalogue,
    /// How many calls were made: each has an id of its own.
    calls: AtomicU32,
}

fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

impl Hive {
    async fn new() -> Hive {
        let world = World::new().await;
        let tools = world.catalogue(Policy::default());
        let hive = Hive { world, tools, calls: AtomicU32::new(0) };
        for (name, parent) in [("ops", "main"), ("docs", "main"), ("web", "ops")] {
            hive.say(parent, "spawn_team", json!({"name": name, "scope_accepts": ["x"]})).await.unwrap();
        }
        let ready = async |conn: &mut Conn| {
            for name in ["ops", "docs", "web"] {
                for task in tasks::open_of_team(conn, &team(name), 9).await? {
                    tasks::claim(conn, 9, START, START + 60_000).await?;
                    tasks::finish(conn, task.id, End::Done, "", START).await?;
                }
                teams::set_state(conn, &team(name), State::Ready).await?;
            }
            Ok(())
        };
        hive.world.db.tx("ready", ready).await.unwrap();
        hive
    }

    fn call(&self, caller: &str) -> Call {
        let call_id = format!("c{}", self.calls.fetch_add(1, Ordering::Relaxed));
        Call { team: team(caller), call_id: call_id.into(), ..self.world.call() }
    }

    /// What a tool answers to a team.
    async fn say(&self, caller: &str, tool: &str, input: Value) -> Result<Value, String> {
        let tool = &self.tools.by_name(tool).unwrap().tool;
        tool.check(&input).map(drop)?;
        Self::answer(tool.run(&self.call(caller), input).await)
    }

    fn answer(answer: Result<String, ToolError>) -> Result<Value, String> {
        match answer {
            Ok(text) => Ok(serde_json::from_str(&text).unwrap_or(Value::String(text))),
            Err(ToolError::Refused(why)) => Err(why),
            Err(ToolError::Broken(error)) => panic!("{error:#}"),
        }
    }

    async fn claim(&self, name: &str) -> Task {
        let name = team(name);
        let now = self.world.clock.now();
        let claimed = async |conn: &mut Conn| tasks::claim(conn, 9, now, now + 60_000).await;
        let all = self.world.db.tx("claim", claimed).await.unwrap();
        all.into_iter().find(|task| task.team == name).unwrap()
    }

    async fn finish(&self, task: &Task, end: End, result: &str) {
        let (id, now) = (task.id, self.world.clock.now());
        let finish = async |conn: &mut Conn| tasks::finish_with(conn, id, end, "", result, now).await;
        assert!(self.world.db.tx("finish", finish).await.unwrap());
    }

    async fn bodies(&self, name: &str) -> Vec<String> {
        let name = team(name);
        let open = self.world.db.read(async |conn| tasks::open_of_team(conn, &name, 99).await).await.unwrap();
        open.into_iter().map(|task| task.body).collect()
    }

    async fn unread(&self, name: &str, topic: Option<base::TopicId>) -> Vec<(String, String)> {
        let reader = Reader { team: team(name), topic };
        let notes = self.world.db.read(async |conn| notes::unread(conn, &reader, 9).await).await.unwrap();
        notes.into_iter().map(|note| (note.writer, note.text)).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn everybody_reaches_their_own_children_and_nobody_else() {
    let hive = Hive::new().await;
    for (tool, input) in [
        ("delegate_task", json!({"team": "T", "task": "x"})),
        ("get_status", json!({"team": "T"})),
        ("list_completed_tasks", json!({"team": "T"})),
        ("update_team", json!({"team": "T", "scope_add": ["y"]})),
        ("shutdown_team", json!({"name": "T", "cascade": true})),
    ] {
        // A grandchild, a sibling, the parent, itself, nobody.
        for (caller, target) in [("main", "web"), ("docs", "ops"), ("ops", "main"), ("web", "web"), ("main", "nobody")]
        {
            if tool == "list_completed_tasks" && caller == target {
                continue;
            }
            let mut input = input.clone();
            let field = if input.get("name").is_some() { "name" } else { "team" };
            input[field] = json!(target);
            let why = hive.say(caller, tool, input).await.unwrap_err();
            assert!(why.contains(&format!("`{target}` is no child of `{caller}`")), "{tool}: {why}");
        }
        let bad = hive.say("main", tool, json!({"name": "../x", "team": "../x", "task": "x"})).await.unwrap_err();
        assert!(!bad.is_empty());
    }
    for (caller, target, may) in [
        ("ops", "main", true),
        ("ops", "web", true),
        ("main", "ops", true),
        ("ops", "docs", false),
        ("main", "web", false),
        ("ops", "ops", false),
    ] {
        let sent = hive.say(caller, "send_message", json!({"target": target, "message": "hi"})).await;
        assert_eq!(sent.is_ok(), may, "{caller} to {target}: {sent:?}");
    }
    assert_eq!(hive.unread("web", None).await, [("ops".to_owned(), "hi".to_owned())]);
    // The root reads by topic.
    let topic = hive.world.origin.topic;
    assert_eq!(hive.unread("main", topic).await, [("ops".to_owned(), "hi".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_queued_or_dropped_or_replaces_or_is_asked_about() {
    let hive = Hive::new().await;
    let delegate = async |task: &str, policy: Option<&str>| {
        let mut input = json!({"team": "ops", "task": task});
        if let Some(policy) = policy {
            input["overlap_policy"] = json!(policy);
        }
        hive.say("main", "delegate_task", input).await.unwrap()
    };
    // An idle team takes it, whatever the policy is.
    for policy in [Some("skip"), Some("confirm"), Some("replace"), None] {
        let given = delegate("one", policy).await;
        assert_eq!(given["status"], "queued", "{given}");
        let task = hive.claim("ops").await;
        assert_eq!(
            (json!(task.id), Some(task.origin.clone())),
            (given["task_id"].clone(), Some(hive.world.origin.clone()))
        );
        assert_eq!((task.giver.clone(), task.cause), (Some(TeamName::main()), Some(hive.world.run)));
        hive.finish(&task, End::Done, "").await;
    }
    let first = delegate("first", None).await["task_id"].clone();
    let running = hive.claim("ops").await;
    assert_eq!(delegate("second", Some("skip")).await, json!({"status": "skipped"}));
    let asks = delegate("second", Some("confirm")).await;
    assert_eq!(asks["requires_confirmation"], true);
    assert!(asks["message"].as_str().unwrap().contains("`ops` is at work: \"first\""), "{asks}");
    assert_eq!(hive.bodies("ops").await, ["first"]);
    // People were asked with buttons, once.
    let asked =
        hive.world.db.read(async |conn| store::questions::open_of_run(conn, hive.world.run).await).await.unwrap();
    assert_eq!((asked.len(), asked[0].options.len(), asked[0].asker.clone()), (1, 3, hive.world.origin.sender.clone()));
    let spaced = json!({"team": " ops ", "task": "second", "overlap_policy": "confirm"});
    let spaced = hive.say("main", "delegate_task", spaced).await.unwrap();
    assert_eq!(spaced["message"], asks["message"], "a name is shown as it is, and not as it was written");
    // Without a policy it waits; the very same task is not queued twice.
    assert_eq!(delegate("second", None).await["status"], "queued");
    assert_eq!(delegate("first", None).await, json!({"status": "in_flight", "task_id": first}));
    assert_eq!(hive.bodies("ops").await, ["first", "second"]);
    // What waits is cancelled, and what runs is told to end.
    assert_eq!(delegate("third", Some("replace")).await["status"], "queued");
    assert_eq!(hive.bodies("ops").await, ["first", "third"]);
    let to_stop = hive.world.db.read(async |conn| tasks::to_stop(conn).await).await.unwrap();
    assert_eq!(to_stop, [(running.id, StopAsked::Replaced)]);
    assert!(hive.say("main", "delegate_task", json!({"team": "ops", "task": " "})).await.is_err());
    assert!(
        hive.say("main", "delegate_task", json!({"team": "ops", "task": "x", "overlap_policy": "allow"}))
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn what_people_decide_about_a_task_comes_to_whoever_wanted_to_give_it() {
    let hive = Hive::new().await;
    let executor = hive.world.executor_of(hive.world.catalogue(Policy::default()));
    hive.say("main", "delegate_task", json!({"team": "ops", "task": "first"})).await.unwrap();
    for (step, option, said) in [(1, 1, "overlap_policy `replace`"), (2, 0, "without overlap_policy"), (3, 2, "")] {
        let input = json!({"team": "ops", "task": format!("number {step}"), "overlap_policy": "confirm"});
        let call = Call { step, ..hive.call("main") };
        let done = executor.run_calls(&call, vec![asked("1", "delegate_task", input)]).await.unwrap().remove(0);
        assert!(done.content.contains("\"requires_confirmation\":true"), "{}", done.content);
        let (run, now, before) = (hive.world.run, hive.world.clock.now(), hive.bodies("main").await.len());
        let press = async |conn: &mut Conn| {
            let question = store::questions::open_of_run(conn, run).await?.remove(0);
            let (asker, admin) = ("telegram:1".parse()?, org::trust::Verdict::Trusted { admin: false });
            let words = org::questions::press(conn, (question.id, option), &asker, admin, now).await?;
            assert_eq!(words, None);
            org::teams::confirm::decided(conn, question.id, now).await
        };
        hive.world.db.tx("press", press).await.unwrap();
        let bodies = hive.bodies("main").await;
        assert_eq!(bodies.len() - before, usize::from(!said.is_empty()));
        let told = bodies.last().unwrap();
        assert!(said.is_empty() || (told.contains(said) && told.contains(&format!("number {step}"))), "{told}");
        assert_eq!(hive.bodies("ops").await, ["first"], "nobody gives it but the caller");
    }
}

#[tokio::test(start_paused = true)]
async fn the_urgent_comes_first_and_then_the_older() {
    let hive = Hive::new().await;
    for (task, priority) in [("a", "low"), ("b", "normal"), ("c", "critical"), ("d", "normal"), ("e", "high")] {
        let input = json!({"team": "ops", "task": task, "priority": priority});
        hive.say("main", "delegate_task", input).await.unwrap();
    }
    assert_eq!(hive.bodies("ops").await, ["c", "e", "b", "d", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_team_gets_its_first_task_and_says_who_waits_for_it() {
    let hive = Hive::new().await;
    let made = hive.say(
        "ops",
        "spawn_team",
        json!({"name": "db", "description": "Keeps tables", "credentials": {"K": "very-secret-value"}}),
    );
    let made = made.await.unwrap();
    assert_eq!(made["status"], "queued");
    assert!(made["message_for_user"].as_str().unwrap().contains("`db`"), "{made}");
    assert!(made["note"].is_string() && !made.to_string().contains("very-secret-value"));
    let status = hive.say("ops", "get_status", json!({"team": "db"})).await.unwrap();
    assert_eq!(status["pending_tasks"][0]["task"], "(initializing)");
    assert_eq!(status["pending_tasks"][0]["task_id"], made["bootstrap_task_id"]);
    let again = hive.say("ops", "spawn_team", json!({"name": "db"})).await.unwrap_err();
    assert!(again.contains("there is a team `db` already"), "{again}");
    let lost = json!({"name": "e", "credentials": {"K": "[REDACTED]"}});
    assert!(hive.say("ops", "spawn_team", lost).await.unwrap_err().contains("not known any more"));
    for name in ["", "A", "a b", "../a", "main"] {
        assert!(hive.say("ops", "spawn_team", json!({"name": name})).await.is_err(), "{name}");
    }
    // All of a description is kept, or it is said to be too long.
    let long = json!({"name": "f", "description": "x ".repeat(501)});
    let why = hive.say("ops", "spawn_team", long).await.unwrap_err();
    assert!(why.starts_with("the description has 1001 characters, and may have 1000"), "{why}");
    let lines = json!({"name": "f", "description": format!(" Keeps\n\n  tables,\tand {} ", "y".repeat(980))});
    hive.say("ops", "spawn_team", lines).await.unwrap();
    let listed = hive.say("ops", "list_teams", json!({})).await.unwrap();
    let described =
        listed.as_array().unwrap().iter().find(|listed| listed["name"] == "f").unwrap()["description"].clone();
    assert_eq!(described, format!("Keeps tables, and {}", "y".repeat(980)));
}

#[tokio::test(start_paused = true)]
async fn a_configuration_grants_nothing_that_its_author_lacks() {
    let hive = Hive::new().await;
    let home = hive.world.home();
    let grant = Grant { allowed_tools: vec!["vault_*".into(), "spawn_team".into()], ..Grant::main(false) };
    let call = Call { grant: Arc::new(grant), ..hive.call("main") };
    let spawn = async |yaml: &str, path: &str| {
        std::fs::write(home.join("team.yaml"), yaml).unwrap();
        let tool = &hive.tools.by_name("spawn_team").unwrap().tool;
        match tool.run(&call, json!({"name": "new", "config_path": path})).await {
            Ok(_) => String::new(),
            Err(ToolError::Refused(why)) => why,
            Err(ToolError::Broken(error)) => panic!("{error:#}"),
        }
    };
    for (yaml, said) in [
        ("allowed_tools: [web_fetch]", "`allowed_tools`: you may not use `web_fetch` yourself"),
        ("allowed_tools: [nothing_such]", "there is no tool `nothing_such`"),
        ("allowed_tools: [add_trusted_sender]", "you may not use `add_trusted_sender`"),
        ("shell_network: true", "the shell of the team above has no network"),
        ("toolboxes: [nothing-such]", "there is no toolbox `nothing-such`"),
        ("provider_profile: dear", "`provider_profile`: there is no profile `dear`; there are: `main`, `cheap`"),
        ("memory_embedding: dear", "`memory_embedding`: there is no profile `dear`; there are: `main`, `cheap`"),
        ("name: other", "team.yaml: `name`: it must be `new`"),
        ("parent: ops", "team.yaml: `parent`: it must be `main`"),
        ("credentials: {a: b}", "team.yaml:1"),
        ("max_steps: -1", "team.yaml:1: `max_steps`"),
    ] {
        let why = spawn(yaml, "team.yaml").await;
        assert!(why.contains(said), "{yaml}: {why}");
    }
    for path in ["../ops/config.yaml", "/etc/passwd", "nowhere.yaml", ".", ""] {
        assert!(!spawn("{}", path).await.is_empty(), "{path}");
    }
    assert_eq!(
        spawn("allowed_tools: ['*', vault_get, react-dev]\nmax_steps: 9\nprovider_profile: cheap", "team.yaml").await,
        ""
    );
    let written = hive.world.tree().written(&team("new")).await.unwrap();
    assert_eq!((written.max_steps, written.parent, written.name), (9, Some(TeamName::main()), Some(team("new"))));
}

#[tokio::test(start_paused = true)]
async fn credentials_are_in_no_row_and_no_result() {
    let hive = Hive::new().await;
    let executor = hive.world.executor_of(hive.world.catalogue(Policy::default()));
    let secret = "hunter2-hunter2-hunter2";
    let input =
        json!({"name": "safe", "init_context": format!("token {secret}"), "credentials": {"TOKEN": secret, "N": "12"}});
    // As a session does, before it writes the answer down that asks for the call.
    let (call, mut wanted) = (hive.call("main"), asked("1", "spawn_team", input));
    executor.put_aside(&call.team, call.run, call.step, &mut wanted).await.unwrap();
    let written = wanted.input.clone().unwrap().to_string();
    assert!(!written.contains(secret) && !written.contains("\"12\""), "{written}");
    assert_eq!(hive.world.vault.list(&call.team, "").await.unwrap().len(), 2);
    let done = executor.run_calls(&call, vec![wanted]).await.unwrap().remove(0);
    assert!(!done.is_error, "{}", done.content);
    let in_no_row = || {
        for file in ["openhive.db", "openhive.db-wal"] {
            let bytes = std::fs::read(hive.world.folder.path().join(file)).unwrap();
            assert!(!bytes.windows(secret.len()).any(|at| at == secret.as_bytes()), "{file}");
        }
    };
    in_no_row();
    assert!(hive.world.vault.list(&call.team, "").await.unwrap().is_empty(), "what was put aside has gone on");
    let context = hive.world.folder.path().join("teams/safe/team-rules/team-context.md");
    assert_eq!(std::fs::read_to_string(context).unwrap(), "token [REDACTED]\n");
    let found = hive.world.vault.list(&team("safe"), "").await.unwrap();
    assert!(found.len() == 2 && found[0].is_secret() && found[0].updated_by.as_deref() == Some("main"));
    // The value is that of the arguments, although these were written down without it.
    let expanded = hive.world.vault.expand(&team("safe"), json!("{{secret:TOKEN}}")).await.unwrap();
    assert_eq!(expanded, json!(secret));
    // A secret of one's own is handed on by its name.
    let input = json!({"name": "heir", "credentials": {"HEIR": "{{secret:TOKEN}}"}});
    let call = Call { step: 2, ..hive.call("safe") };
    let done = executor.run_calls(&call, vec![asked("1", "spawn_team", input)]).await.unwrap().remove(0);
    assert!(!done.is_error, "{}", done.content);
    let expanded = hive.world.vault.expand(&team("heir"), json!("{{secret:HEIR}}")).await.unwrap();
    assert_eq!(expanded, json!(secret));
    // Neither a task nor a message carries one.
    let input = json!({"team": "heir", "task": "use {{secret:TOKEN}}"});
    let call = Call { step: 3, ..hive.call("safe") };
    executor.run_calls(&call, vec![asked("1", "delegate_task", input)]).await.unwrap();
    assert!(hive.bodies("heir").await.contains(&"use [REDACTED]".to_owned()));
    in_no_row();
}

#[tokio::test(start_paused = true)]
async fn work_is_handed_up_ten_times_a_minute_and_once_for_each_id() {
    let hive = Hive::new().await;
    let hand_up = async |id: Option<&str>| {
        let mut input = json!({"task": "look", "priority": "high"});
        if let Some(id) = id {
            input["correlation_id"] = json!(id);
        }
        hive.say("web", "enqueue_parent_task", input).await
    };
    let first = hand_up(Some("a")).await.unwrap();
    assert_eq!(first["correlation_id"], "a");
    let again = hand_up(Some("a")).await.unwrap();
    assert_eq!((again["task_id"].clone(), again["deduplicated"].clone()), (first["task_id"].clone(), json!(true)));
    // Also once the first is over: what counts is the minute.
    let task = hive.claim("ops").await;
    assert_eq!((task.priority, task.giver.clone()), (tasks::Priority::High, Some(team("web"))));
    hive.finish(&task, End::Done, "").await;
    assert_eq!(hand_up(Some("a")).await.unwrap()["deduplicated"], true);
    for number in 1..10 {
        hand_up(Some(&number.to_string())).await.unwrap();
    }
    assert!(hand_up(Some("b")).await.unwrap_err().contains("rate_limit_exceeded"));
    assert_eq!(hand_up(Some("a")).await.unwrap()["deduplicated"], true);
    // Another child has its own minute, and the parent its own ids.
    let other = json!({"task": "x", "priority": "low", "correlation_id": "a"});
    assert!(hive.say("docs", "enqueue_parent_task", other).await.unwrap().get("deduplicated").is_none());
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    assert!(hand_up(Some("a")).await.unwrap().get("deduplicated").is_none());
    let made = hand_up(None).await.unwrap();
    assert!(made["correlation_id"].as_str().unwrap().starts_with("handoff:web:"), "{made}");
    let root = json!({"task": "x", "priority": "low"});
    assert!(hive.say("main", "enqueue_parent_task", root).await.unwrap_err().contains("no_parent"));
}

#[tokio::test(start_paused = true)]
async fn an_escalation_reaches_the_parent_and_the_people_behind_the_root() {
    let hive = Hive::new().await;
    let escalate = async |caller: &str| {
        let input = json!({"message": "the disk is full", "reason": "backups stop"});
        hive.say(caller, "escalate", input).await.unwrap()
    };
    let sent = async || {
        let rows = hive.world.db.read(async |conn| outbox::counts(conn).await).await.unwrap();
        rows.iter().map(|(_, count)| count).sum::<i64>()
    };
    let done = escalate("web").await;
    assert_eq!((done["success"].clone(), done["notification_only"].clone()), (json!(true), json!(true)));
    let heard = hive.unread("ops", None).await;
    assert_eq!(heard[0].0, "web");
    assert!(heard[0].1.contains("the disk is full") && heard[0].1.contains("backups stop"), "{heard:?}");
    assert!(heard[0].1.contains(done["correlation_id"].as_str().unwrap()));
    assert_eq!(sent().await, 0);
    escalate("ops").await;
    assert_eq!(hive.unread("main", hive.world.origin.topic).await.len(), 1);
    assert_eq!(sent().await, 1);
    // It makes no work.
    assert!(hive.bodies("ops").await.is_empty() && hive.bodies("web").await.is_empty());
    escalate("main").await;
    assert_eq!(sent().await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_status_tells_slots_queue_and_current_task() {
    let hive = Hive::new().await;
    for task in ["one", "two"] {
        hive.say("main", "delegate_task", json!({"team": "ops", "task": task})).await.unwrap();
    }
    let task = hive.claim("ops").await;
    let gate = hive.world.gates.of(&team("ops"));
    let _pass = gate.enter(crate::Admission::Daily, std::time::Duration::ZERO).await.unwrap();
    let one = hive.say("main", "get_status", json!({"team": "ops"})).await.unwrap();
    let shown = |id: i64, task: &str| json!({"task_id": id, "task": task, "kind": "delegate", "priority": "normal"});
    assert_eq!(
        one,
        json!({
            "team": "ops", "status": "ready", "active_daily_ops": 1, "saturation": false, "org_op_pending": false,
            "queue_depth": 1, "current_task": shown(task.id.0, "one"), "pending_tasks": [shown(task.id.0 + 1, "two")],
        })
    );
    let all = hive.say("main", "get_status", json!({})).await.unwrap();
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!((all[0]["team"].clone(), all[1].clone()), (json!("docs"), one));
    for number in 0..30 {
        hive.say("main", "delegate_task", json!({"team": "ops", "task": format!("more {number}")})).await.unwrap();
    }
    let many = hive.say("main", "get_status", json!({"team": "ops"})).await.unwrap();
    assert_eq!((many["queue_depth"].clone(), many["pending_tasks"].as_array().unwrap().len()), (json!(31), 20));
}

#[tokio::test(start_paused = true)]
async fn what_is_over_is_listed_newest_first() {
    let hive = Hive::new().await;
    for (task, end, result) in [("one", End::Done, "x".repeat(500)), ("two", End::Failed, "no disk".to_owned())] {
        hive.say("main", "delegate_task", json!({"team": "ops", "task": task})).await.unwrap();
        let task = hive.claim("ops").await;
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        hive.finish(&task, end, &result).await;
    }
    let listed = hive.say("main", "list_completed_tasks", json!({"team": "ops", "limit": 2})).await.unwrap();
    let status = |at: usize| listed[at]["status"].as_str().unwrap().to_owned();
    assert_eq!((status(0), status(1)), ("failed".to_owned(), "done".to_owned()));
    assert_eq!(listed[0]["result_snippet"], "no disk");
    assert!(listed[1]["result_snippet"].as_str().unwrap().chars().count() <= 200);
    assert!(listed[1]["duration_ms"].as_i64().unwrap() >= 1_000);
    assert_eq!(listed[0]["created_at"].as_str().unwrap().len(), "2026-11-21T20:03:00Z".len());
    // One's own, as without a name; not what was over before.
    let own = hive.say("ops", "list_completed_tasks", json!({})).await.unwrap();
    assert_eq!(own.as_array().unwrap().len(), 3);
    let none = hive.say("ops", "list_completed_tasks", json!({"since": "2031-01-01"})).await.unwrap();
    assert_eq!(none, json!([]));
    for bad in [json!({"since": "soon"}), json!({"limit": 0}), json!({"limit": 500})] {
        assert!(hive.say("ops", "list_completed_tasks", bad).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn teams_are_listed_with_what_they_are_for() {
    let hive = Hive::new().await;
    hive.say("main", "update_team", json!({"team": "ops", "scope_add": ["Deploys"]})).await.unwrap();
    let listed = hive.say("main", "list_teams", json!({})).await.unwrap();
    let ops =
        json!({"name": "ops", "description": "", "keywords": ["deploys", "x"], "status": "ready", "queue_depth": 0});
    assert_eq!(listed[1], ops);
    let all = hive.say("main", "list_teams", json!({"recursive": true})).await.unwrap();
    assert_eq!((all.as_array().unwrap().len(), all[2]["parent"].clone()), (3, json!("ops")));
    let empty = json!({"team": "ops", "scope_remove": ["deploys", "x"]});
    assert!(hive.say("main", "update_team", empty).await.unwrap_err().contains("would be for nothing"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_a_question_that_the_team_answers() {
    let hive = Hive::new().await;
    let gate = hive.world.gates.of(&team("ops"));
    let pass = gate.enter(crate::Admission::Daily, std::time::Duration::ZERO).await.unwrap();
    let close = hive.say("main", "shutdown_team", json!({"name": "ops", "cascade": true}));
    let answered = async {
        tokio::time::sleep_until(tokio::time::Instant::now() + std::time::Duration::from_secs(5)).await;
        assert!(hive.world.folder.path().join("teams/ops").is_dir());
        // Closing, it takes no more.
        let why = hive.say("main", "delegate_task", json!({"team": "ops", "task": "x"})).await.unwrap_err();
        assert!(why.contains("`ops` is closing"), "{why}");
        drop(pass);
    };
    let (closed, ()) = tokio::join!(close, answered);
    assert_eq!(closed.unwrap(), json!({"success": true, "removed": ["web", "ops"]}));
    assert!(!hive.world.folder.path().join("teams/ops").exists());
    assert!(hive.say("main", "shutdown_team", json!({"name": "docs"})).await.is_ok());
    assert_eq!(hive.say("main", "list_teams", json!({})).await.unwrap(), json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_delegation_that_is_made_again_after_a_crash_finds_its_task() {
    let hive = Hive::new().await;
    let call = hive.call("main");
    let tool = &hive.tools.by_name("delegate_task").unwrap().tool;
    let input = json!({"team": "ops", "task": "Check the disks."});
    let first = Hive::answer(tool.run(&call, input.clone()).await).unwrap();
    let task = hive.claim("ops").await;
    hive.finish(&task, End::Done, "Sound.").await;
    // The process died after the task was queued and before the call's result was written down.
    assert_eq!(Hive::answer(tool.run(&call, input.clone()).await).unwrap(), first);
    let open = async |conn: &mut Conn| tasks::open_of_team(conn, &team("ops"), 9).await;
    assert_eq!(hive.world.db.read(open).await.unwrap(), [], "the work is not done twice");
    let another = Hive::answer(tool.run(&hive.call("main"), input).await).unwrap();
    assert_ne!(another, first, "a new call is new work");
}
