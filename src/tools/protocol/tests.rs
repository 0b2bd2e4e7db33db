//! The task protocol as tools: who speaks for a task, who answers it, what is refused.

use std::sync::Arc;
use std::time::Duration;

use base::{Stop, TaskId, TeamName};
use org::trust::Policy;
use serde_json::{Value, json};
use store::notes::{self, Reader};
use store::protocol::{Said, Status};
use store::questions::{self, Answer};
use store::tasks::{self, Kind, New, Options, Origin, Task};
use store::teams::{self, State};
use store::{Bell, Conn, protocol, runs};

use super::{ASKS, waits_for};
use crate::testing::{START, World, asked};
use crate::{AgentKind, Call, Done, Grant};

const MINUTE: Duration = Duration::from_secs(60);

fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

/// A hive with `ops` below the root and `web` below `ops`.
struct Hive(World);

impl Hive {
    async fn new() -> Hive {
        let world = World::new().await;
        for (name, parent) in [("ops", "main"), ("web", "ops")] {
            let call = Call { team: team(parent), call_id: "c".into(), ..world.call() };
            let input = json!({"name": name, "scope_accepts": ["x"]});
            let tools = world.catalogue(Policy::default());
            tools.by_name("spawn_team").unwrap().tool.run(&call, input).await.unwrap();
        }
        let ready = async |conn: &mut Conn| {
            for name in ["ops", "web"] {
                for task in tasks::claim(conn, 9, START, START + 60_000).await? {
                    tasks::finish(conn, task.id, tasks::End::Done, "", START).await?;
                }
                teams::set_state(conn, &team(name), State::Ready).await?;
            }
            Ok(())
        };
        world.db.tx("ready", ready).await.unwrap();
        Hive(world)
    }

    /// The turn of a task of this team, as a call of its agent.
    async fn works(&self, of: &str, kind: Kind, giver: Option<&str>, origin: &Origin) -> (Task, Call) {
        let (of, giver) = (team(of), giver.map(team));
        let begin = async |conn: &mut Conn| {
            let new = New { giver: giver.as_ref(), cause: Some(self.0.run), ..New::of(&of, kind, "do it", origin) };
            let id = tasks::give(conn, &new, START).await?;
            let all = tasks::claim(conn, 9, START, START + 60_000).await?;
            let task = all.into_iter().find(|task| task.id == id).unwrap();
            let run = runs::enter(conn, &task, None, START).await?;
            Ok((task, run.id))
        };
        let (task, run) = self.0.db.tx("begin", begin).await.unwrap();
        let grant = Arc::new(Grant { agent: AgentKind::Sub, ..Grant::main(false) });
        let call = Call { team: task.team.clone(), run, grant, origin: origin.clone(), ..self.0.call() };
        (task, call)
    }

    /// What a call comes to, in a step of its own.
    async fn say(&self, call: &Call, step: i64, tool: &str, input: Value) -> Done {
        let executor = self.0.executor_of(self.0.catalogue(Policy::default()));
        let call = Call { step, ..call.clone() };
        executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0)
    }

    async fn refused(&self, call: &Call, step: i64, tool: &str, input: Value) -> String {
        let done = self.say(call, step, tool, input).await;
        assert!(done.is_error, "{}", done.content);
        done.content
    }

    /// Waits until a turn asks.
    async fn asks(&self, call: &Call) -> questions::Question {
        let mut bell = self.0.db.changes(Bell::Questions);
        loop {
            bell.mark_unchanged();
            let open = async |conn: &mut Conn| questions::open_of_run(conn, call.run).await;
            if let Some(found) = self.0.db.read(open).await.unwrap().pop() {
                return found;
            }
            bell.changed().await.unwrap();
        }
    }

    async fn notes(&self, reader: &str, topic: Option<base::TopicId>) -> Vec<String> {
        let reader = Reader { team: team(reader), topic };
        let notes = self.0.db.read(async |conn| notes::unread(conn, &reader, 99).await).await.unwrap();
        notes.into_iter().map(|note| note.text).filter(|text| text.starts_with("Task")).collect()
    }

    async fn queued(&self, name: &str) -> Vec<(Kind, String, Options)> {
        let name = team(name);
        let read = async |conn: &mut Conn| {
            let mut queued = Vec::new();
            for open in tasks::open_of_team(conn, &name, 99).await?.into_iter().filter(|open| !open.running) {
                let task = tasks::get(conn, open.id).await?.unwrap();
                queued.push((task.kind, task.body, task.options));
            }
            Ok(queued)
        };
        self.0.db.read(read).await.unwrap()
    }

    async fn said(&self, task: TaskId) -> Option<Said> {
        self.0.db.read(async |conn| protocol::said(conn, task).await).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn the_main_agent_is_asked_in_its_topic_and_answers_once() {
    let hive = Hive::new().await;
    let (task, call) = hive.works("ops", Kind::Delegate, Some("main"), &hive.0.origin).await;
    let id = task.id.0;
    let main = hive.0.call();
    let asks = hive.say(&call, 1, ASKS, json!({"question": " Which disk? "}));
    let answers = async {
        let question = hive.asks(&call).await;
        assert_eq!(question.expires_at - hive.0.clock.now(), 30 * 60_000);
        let told = hive.notes("main", task.origin.topic).await;
        assert!(told[0].starts_with(&format!("Task {id} asks you: Which disk?\n\n")), "{told:?}");
        assert!(told[0].contains(&format!("within 30m with `respond_to_task`, task_id {id};")), "{told:?}");
        assert!(hive.queued("main").await.iter().any(|(kind, ..)| *kind == Kind::Message), "it is woken");
        assert_eq!(hive.0.gates.of(&task.team).load().active_daily_ops, 0, "who waits has no slot");
        let elsewhere = Call { origin: Origin::default(), ..main.clone() };
        let none = format!("{id} is no task that you gave here");
        let answer = |text: &str| json!({"task_id": id, "answer": text});
        assert_eq!(hive.refused(&elsewhere, 2, "respond_to_task", answer("a")).await, none);
        let stranger = Call { team: team("ops"), ..main.clone() };
        assert_eq!(hive.refused(&stranger, 3, "respond_to_task", answer("a")).await, none);
        assert_eq!(hive.refused(&main, 4, "respond_to_task", answer(" ")).await, "the answer is empty");
        for step in [5, 6] {
            let done = hive.say(&main, step, "respond_to_task", answer("the first")).await;
            assert_eq!((done.content, done.is_error), (format!("{{\"success\":true,\"task_id\":{id}}}"), false));
        }
        let second = hive.refused(&main, 7, "respond_to_task", answer("the second")).await;
        assert_eq!(second, format!("task {id} has its answer already: the first one stands"));
    };
    let (done, ()) = tokio::join!(asks, answers);
    assert_eq!((done.content.as_str(), done.is_error), ("{\"answer\":\"the first\",\"by\":\"main\"}", false));
}

#[tokio::test(start_paused = true)]
async fn a_team_is_woken_by_work_that_only_answers() {
    let hive = Hive::new().await;
    let (task, call) = hive.works("web", Kind::Delegate, Some("ops"), &hive.0.origin).await;
    let asks = hive.say(&call, 1, ASKS, json!({"question": "Which page?"}));
    let answers = async {
        hive.asks(&call).await;
        let queued = hive.queued("ops").await;
        let (kind, body, options) = queued.last().unwrap();
        assert_eq!((*kind, options.answers), (Kind::Result, Some(task.id)));
        assert!(body.starts_with(&format!("Task {} asks you: Which page?", task.id)), "{body}");
        let ops = Call { team: team("ops"), ..call.clone() };
        let done = hive.say(&ops, 2, "respond_to_task", json!({"task_id": task.id.0, "answer": "The first."})).await;
        assert!(!done.is_error, "{}", done.content);
    };
    let (done, ()) = tokio::join!(asks, answers);
    assert_eq!(done.content, "{\"answer\":\"The first.\",\"by\":\"ops\"}");
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_task_is_told_to_go_on() {
    let hive = Hive::new().await;
    let (task, call) = hive.works("ops", Kind::Delegate, Some("main"), &hive.0.origin).await;
    let why = hive.refused(&call, 1, ASKS, json!({"question": "Which disk?"})).await;
    assert!(why.starts_with("there was no answer in time: go on with the assumption"), "{why}");
    assert_eq!(hive.0.clock.now() - START, 30 * 60_000);
    let late = hive.refused(&hive.0.call(), 2, "respond_to_task", json!({"task_id": task.id.0, "answer": "a"})).await;
    assert!(late.contains("waits no longer"), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_process_that_asked_it_and_is_asked_once() {
    let hive = Hive::new().await;
    let (task, call) = hive.works("ops", Kind::Delegate, Some("main"), &hive.0.origin).await;
    let stopped = Call { stop: Stop::new(), ..call.clone() };
    let asks = hive.say(&stopped, 1, ASKS, json!({"question": "Which disk?"}));
    let stop = async {
        hive.asks(&call).await;
        stopped.stop.cancel();
    };
    let (done, ()) = tokio::join!(asks, stop);
    assert_eq!(done.content, "not run: the turn was stopped");
    let answer = json!({"task_id": task.id.0, "answer": "sda"});
    assert!(!hive.say(&hive.0.call(), 2, "respond_to_task", answer).await.is_error);
    let again = hive.say(&call, 1, ASKS, json!({"question": "Which disk?"})).await;
    assert_eq!(again.content, "{\"answer\":\"sda\",\"by\":\"main\"}");
    assert_eq!(hive.notes("main", task.origin.topic).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_is_not_waited_for() {
    let hive = Hive::new().await;
    let ask = json!({"question": "Which?"});
    let origin = &hive.0.origin;
    // A lane has one turn at a time: each of these is in a lane of its own.
    let (_, triggered) = hive.works("ops", Kind::Trigger, None, origin).await;
    let why = hive.refused(&triggered, 1, ASKS, ask.clone()).await;
    assert!(why.starts_with("nobody waits for this task"), "{why}");
    let (_, itself) = hive.works("web", Kind::Delegate, Some("web"), origin).await;
    let why = hive.refused(&itself, 1, ASKS, ask.clone()).await;
    assert!(why.starts_with("`web` waits for this very turn"), "{why}");
    let closing = async |conn: &mut Conn| teams::set_state(conn, &team("web"), State::Closing).await;
    hive.0.db.tx("close", closing).await.unwrap();
    let why = hive.refused(&itself, 2, ASKS, json!({"question": "Which one?"})).await;
    assert!(why.starts_with("`web`, which gave this task, is gone"), "{why}");
    // A session in the middle of another turn.
    let asked = json!({"step": 1, "call_id": "1", "at": 0});
    let within =
        async |conn: &mut Conn| runs::enter_within(conn, triggered.run, &asked, &team("ops"), None, START).await;
    let run = hive.0.db.tx("within", within).await.unwrap().id;
    let asked_at_once = Call { run, depth: 1, ..triggered.clone() };
    for (step, tool, input) in [
        (1, ASKS, ask),
        (2, "report_to_parent", json!({"message": "x"})),
        (3, "update_task_status", json!({"status": "completed"})),
    ] {
        let why = hive.refused(&asked_at_once, step, tool, input).await;
        assert!(why.starts_with("you were asked something at once"), "{tool}: {why}");
    }
    let waits = hive.0.db.read(async |conn| questions::waiting_tasks(conn).await).await.unwrap();
    assert_eq!(waits, [], "nothing was asked");
}

#[tokio::test(start_paused = true)]
async fn reports_are_read_by_whoever_gave_the_task_and_shown_once_a_minute() {
    let hive = Hive::new().await;
    let (task, call) = hive.works("ops", Kind::Delegate, Some("main"), &hive.0.origin).await;
    let before = sent(&hive).await;
    for (step, wait) in [(1, Duration::ZERO), (2, MINUTE / 2), (3, MINUTE / 2)] {
        hive.0.clock.sleep(wait).await;
        let done = hive.say(&call, step, "report_to_parent", json!({"message": format!("step {step}\nmore")})).await;
        assert_eq!(done.content, "{\"success\":true,\"to\":\"main\"}");
    }
    let id = task.id;
    let expected: Vec<_> = (1..=3).map(|step| format!("Task {id} goes on: step {step}\nmore")).collect();
    assert_eq!(hive.notes("main", task.origin.topic).await, expected);
    assert_eq!(sent(&hive).await - before, 2, "the second came within the first one's minute");
    let (_, below) = hive.works("web", Kind::Delegate, Some("ops"), &hive.0.origin).await;
    let done = hive.say(&below, 1, "report_to_parent", json!({"message": "x"})).await;
    assert_eq!(done.content, "{\"success\":true,\"to\":\"ops\"}");
    assert_eq!(hive.notes("ops", None).await.len(), 1);
    assert_eq!(sent(&hive).await - before, 2, "people see what reaches the main agent");
    let why = hive.refused(&below, 2, "report_to_parent", json!({"message": "x".repeat(10_001)})).await;
    assert_eq!(why, "the message has 10001 characters, and may have 10000");
}

async fn sent(hive: &Hive) -> i64 {
    let counts = hive.0.db.read(async |conn| store::outbox::counts(conn).await).await.unwrap();
    counts.iter().map(|(_, count)| count).sum()
}

#[tokio::test(start_paused = true)]
async fn the_last_status_counts_and_holds_no_secret() {
    let hive = Hive::new().await;
    hive.0.scrub.learn(&base::Secret::new("hunter2hunter2"));
    let (task, call) = hive.works("ops", Kind::Trigger, None, &Origin::default()).await;
    for (step, input, expected) in [
        (1, json!({"status": "in_progress"}), Some((Status::InProgress, ""))),
        (2, json!({"status": "in_progress", "result": "half"}), Some((Status::InProgress, "half"))),
        (3, json!({"status": "failed", "error": "no", "result": "half"}), Some((Status::Failed, "no\n\nhalf"))),
        (4, json!({"status": "completed", "result": "hunter2hunter2"}), Some((Status::Completed, "[REDACTED]"))),
        (5, json!({"status": "completed", "error": "no"}), None),
        (6, json!({"status": "failed", "result": "no"}), None),
        (7, json!({"status": "completed", "result": " "}), Some((Status::Completed, ""))),
    ] {
        let before = hive.said(task.id).await;
        let done = hive.say(&call, step, "update_task_status", input).await;
        let expected = expected.map(|(status, text)| Said { status, text: text.to_owned() });
        assert_eq!(done.is_error, expected.is_none(), "{}", done.content);
        assert_eq!(hive.said(task.id).await, expected.or(before), "step {step}");
    }
    assert_eq!(hive.notes("main", None).await, [format!("Task {} goes on: half", task.id)]);
}

#[tokio::test(start_paused = true)]
async fn the_room_of_who_waits_is_counted() {
    let hive = Hive::new().await;
    let (task, call) = hive.works("ops", Kind::Delegate, Some("main"), &hive.0.origin).await;
    let waiting = async || hive.0.db.read(async |conn| questions::waiting_tasks(conn).await).await.unwrap();
    let asks = hive.say(&call, 1, ASKS, json!({"question": "Which?"}));
    let answers = async {
        let question = hive.asks(&call).await;
        assert_eq!(waiting().await, [task.id]);
        let answer = Answer::Said { text: "x".into(), by: "main".into() };
        let settle = async |conn: &mut Conn| questions::answer(conn, question.id, &answer, START).await;
        hive.0.db.tx("answer", settle).await.unwrap()
    };
    assert!(tokio::join!(asks, answers).1);
    assert_eq!(waiting().await, []);
    assert_eq!(waits_for(&task), Some(&TeamName::main()));
}
