//! Facts become events in the statement that makes them; nobody who has seen up to one event misses the next.

use channels::{Action, ConversationId, Kind as Platform, Piece};
use serde_json::{Value, json};

use super::*;
use crate::tasks::End;
use crate::todos::tests::turn;
use crate::{calls, journal, outbox, runs, tasks, todos, usage};

/// What happened, without ids: the kind, when, in which turn, for which task, and what else is known.
async fn told(conn: &mut Conn) -> Vec<(String, i64, Option<i64>, Option<i64>, Value)> {
    let all = after(conn, 0, 1_000).await.unwrap();
    assert!(all.iter().all(|event| event.team == "main"), "{all:?}");
    assert!(all.windows(2).all(|two| two[0].id < two[1].id));
    all.into_iter().map(|e| (e.kind, e.at, e.run, e.task, serde_json::from_str(&e.body).unwrap())).collect()
}

#[tokio::test]
async fn every_fact_that_is_a_row_becomes_an_event() {
    let (db, _folder, run, task) = turn().await;
    db.tx("test", async |conn| {
        calls::start(conn, run.id, 1, "c", "look", "{}", 13).await?;
        calls::finish(conn, run.id, 1, "c", true, "né", 15).await?;
        calls::finish(conn, run.id, 1, "c", true, "again", 16).await?;
        calls::start(conn, run.id, 1, "d", "look", "{}", 16).await?;
        calls::interrupt(conn, run.id, 17).await?;
        journal::append(conn, run.id, None, 1, journal::Role::User, "[]", 18).await?;
        journal::append(conn, run.id, None, 1, journal::Role::Assistant, "[]", 18).await?;
        let spent = usage::Entry {
            run: Some(run.id),
            team: "main".into(),
            topic: None,
            sender: None,
            purpose: "turn",
            model: "p:m".into(),
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: 3,
            cache_write_tokens: 4,
            cost_micro_usd: None,
        };
        usage::add(conn, &spent, 18).await?;
        todos::activate_skill(conn, run.id, "deploy", 18).await?;
        append(conn, run.id, Kind::DelegationOpened, &json!({"team": "ops"}), 19).await?;
        append(conn, run.id, Kind::DelegationClosed, &json!({"team": "ops"}), 19).await?;
        let hello = Action::Send(Piece { text: "hi".into(), plain: "hi".into(), ..Piece::default() });
        let room = ConversationId::new(Platform::Telegram, 7);
        outbox::push(conn, &outbox::New::message(&room, hello.clone()), 20).await?;
        // In the middle of a turn; its draft and what changes a message are none.
        let said = outbox::New { run: Some(run.id), ..outbox::New::message(&room, hello) };
        let first = outbox::push(conn, &said, 20).await?;
        outbox::draft(conn, &said, 20).await?;
        outbox::push(conn, &outbox::New { target: Some(first), ..said.clone() }, 20).await?;
        tasks::put_back(conn, &[task.id], 21).await?;
        tasks::claim(conn, 1, 22, 99).await?;
        tasks::renew(conn, &[task.id], 120).await?;
        runs::finish(conn, run, End::Failed, &"x".repeat(300), 30).await?;
        runs::finish(conn, run, End::Failed, "", 31).await?;
        // What a turn of a topic's talk says at its end is its reply.
        outbox::push(conn, &said, 30).await?;
        tasks::finish(conn, task.id, End::Failed, "why", 30).await?;
        let (r, t) = (Some(run.id.0), Some(task.id.0));
        let first = json!({"kind": "message", "priority": 1, "giver": null, "topic": 1});
        let lost = json!({"step": 1, "call_id": "d", "tool": "look", "state": "interrupted", "is_error": true,
                          "bytes": 57, "ms": 1});
        let cost = json!({"purpose": "turn", "model": "p:m", "input_tokens": 1, "output_tokens": 2,
                          "cache_read_tokens": 3, "cache_write_tokens": 4, "cost_micro_usd": null});
        let ended = json!({"state": "failed", "steps": 0, "ms": 18, "note": "x".repeat(200)});
        let failed = json!({"kind": "message", "state": "failed", "note": "why"});
        let expected = [
            ("task_queued", 10, None, t, first),
            ("task_started", 11, None, t, json!({"kind": "message", "attempt": 1})),
            ("turn_started", 12, r, t, json!({"topic": 1, "parent": null, "delegation": null})),
            ("tool_called", 13, r, t, json!({"step": 1, "call_id": "c", "tool": "look"})),
            (
                "tool_result",
                15,
                r,
                t,
                json!({"step": 1, "call_id": "c", "tool": "look", "state": "finished",
                                             "is_error": true, "bytes": 3, "ms": 2}),
            ),
            ("tool_called", 16, r, t, json!({"step": 1, "call_id": "d", "tool": "look"})),
            ("tool_result", 17, r, t, lost),
            ("step", 18, r, t, json!({"step": 1, "bytes": 2})),
            ("cost", 18, r, t, cost),
            ("skill_activated", 18, r, t, json!({"skill": "deploy"})),
            ("delegation_opened", 19, r, t, json!({"team": "ops"})),
            ("delegation_closed", 19, r, t, json!({"team": "ops"})),
            ("notice", 20, None, None, json!({"outbox": 1, "conversation": "telegram:7", "topic": null})),
            ("notice", 20, r, t, json!({"outbox": 2, "conversation": "telegram:7", "topic": null})),
            ("task_put_back", 21, None, t, json!({"kind": "message", "attempt": 1, "due_at": 21})),
            ("task_started", 21, None, t, json!({"kind": "message", "attempt": 2})),
            ("turn_finished", 30, r, t, ended),
            ("task_finished", 30, None, t, failed),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(kind, at, run, task, body)| (kind.to_owned(), at, run, task, body)).collect();
        assert_eq!(told(conn).await, expected);
        Ok(())
    })
    .await
    .unwrap();
}

/// What was said of delegations, in order: kind, when, to which turn, and the rest.
async fn delegations_told(conn: &mut Conn) -> Vec<(String, i64, Option<i64>, Value)> {
    let all = after(conn, 0, 1_000).await.unwrap().into_iter().filter(|event| event.kind.starts_with("delegation_"));
    all.map(|e| (e.kind, e.at, e.run, serde_json::from_str(&e.body).unwrap())).collect()
}

/// Opens two of a call, one of which is answered, and one of another call.
async fn open_some(conn: &mut Conn, run: RunId) -> Result<()> {
    for (call_id, tool) in [("c", "query_teams"), ("d", "scout")] {
        calls::start(conn, run, 2, call_id, tool, "{}", 10).await?;
    }
    for (call_id, at) in [("c", 0), ("c", 1), ("d", 0)] {
        let body = json!({"step": 2, "call_id": call_id, "at": at, "assignee": "ops"});
        append(conn, run, Kind::DelegationOpened, &body, 11).await?;
    }
    let answered =
        json!({"step": 2, "call_id": "c", "at": 0, "assignee": "ops", "ok": true, "how": "answered", "ms": 2});
    append(conn, run, Kind::DelegationClosed, &answered, 13).await
}

#[tokio::test]
async fn what_was_handed_over_is_closed_with_the_call_that_did_it() {
    let (db, _folder, run, _) = turn().await;
    let lost = |call_id: &str, at: i64, ms: i64| json!({"step": 2, "call_id": call_id, "at": at, "assignee": "ops", "ok": false, "how": "cut off", "ms": ms});
    db.tx("test", async |conn| {
        open_some(conn, run.id).await?;
        let known = delegations(conn, run.id).await?;
        let known: Vec<_> = known.iter().map(|one| (one.call_id.as_str(), one.at, one.ok, one.opened_at)).collect();
        assert_eq!(known, [("c", 0, Some(true), 11), ("c", 1, None, 11), ("d", 0, None, 11)]);
        let (was, r) = (delegations_told(conn).await.len(), Some(run.id.0));
        calls::finish(conn, run.id, 2, "c", true, "timeout", 20).await?;
        calls::interrupt(conn, run.id, 30).await?;
        let closed = delegations_told(conn).await.split_off(was);
        let closed_at = |at, body| ("delegation_closed".to_owned(), at, r, body);
        assert_eq!(closed, [closed_at(20, lost("c", 1, 9)), closed_at(30, lost("d", 0, 19))]);
        // The close stands before the result that tells of it.
        let order = after(conn, 0, 1_000).await?;
        let order: Vec<_> = order.iter().rev().take(4).map(|event| event.kind.as_str()).collect();
        assert_eq!(order, ["tool_result", "delegation_closed", "tool_result", "delegation_closed"]);
        assert!(delegations(conn, run.id).await?.iter().all(|one| one.ok.is_some()));
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_call_that_is_made_again_closes_what_it_had_handed_over_and_nothing_else() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        open_some(conn, run.id).await?;
        let was = delegations_told(conn).await.len();
        cut_off(conn, run.id, 2, "d", 40).await?;
        let again = json!({"step": 2, "call_id": "d", "at": 0, "assignee": "ops"});
        append(conn, run.id, Kind::DelegationOpened, &again, 41).await?;
        calls::interrupt(conn, run.id, 50).await?;
        let closed: Vec<_> = delegations_told(conn).await.split_off(was);
        let closed: Vec<_> =
            closed.iter().map(|(kind, at, _, body)| (kind.as_str(), *at, body["ms"].as_i64())).collect();
        let expected = [
            ("delegation_closed", 40, Some(29)),
            ("delegation_opened", 41, None),
            ("delegation_closed", 50, Some(39)),
            ("delegation_closed", 50, Some(9)),
        ];
        assert_eq!(closed, expected, "`d` twice, and of `c` the one that was out");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_session_that_a_crash_cut_off_ends_with_its_calls_and_keeps_its_steps() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        let (ops, asked) = ("ops".parse()?, json!({"step": 2, "call_id": "c", "at": 1}));
        let child = runs::enter_within(conn, run.id, &asked, &ops, None, 12).await?.id;
        runs::step(conn, child).await?;
        calls::start(conn, child, 1, "x", "write_file", "{}", 13).await?;
        calls::start(conn, run.id, 1, "y", "query_team", "{}", 13).await?;
        let before = newest(conn).await?;
        assert_eq!(runs::end_orphans(conn, 20).await?, 1);
        let told = after(conn, before, 10).await?;
        let told: Vec<_> = told.iter().map(|e| (e.kind.as_str(), e.run, e.at)).collect();
        assert_eq!(told, [("tool_result", Some(child.0), 20), ("turn_finished", Some(child.0), 20)]);
        let ended = latest(conn, Some(&ops), 1).await?.remove(0);
        assert_eq!(serde_json::from_str::<Value>(&ended.body)?["steps"], 1);
        let open = calls::of_run(conn, run.id).await?;
        assert_eq!(open[0].state, calls::State::Started, "the turn itself goes on");
        let began = of_team_after(conn, &ops, 0, 1).await?.remove(0);
        let began: Value = serde_json::from_str(&began.body)?;
        assert_eq!((&began["parent"], &began["delegation"]), (&json!(run.id.0), &asked));
        assert!(!runs::cut_off(conn, child, 21).await?, "it is over");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_a_team_tells_people_is_a_notice_of_that_team() {
    let (db, _folder, _, _) = turn().await;
    db.tx("test", async |conn| {
        let (ops, room): (TeamName, _) = ("ops".parse()?, ConversationId::new(Platform::Telegram, 7));
        crate::teams::add(conn, &ops, &TeamName::main(), "", crate::teams::State::Ready, 9).await?;
        let task =
            tasks::give(conn, &tasks::New::of(&ops, tasks::Kind::Delegate, "x", &Default::default()), 10).await?;
        let task = tasks::get(conn, task).await?.unwrap();
        let run = runs::enter(conn, &task, None, 11).await?;
        let hello = Action::Send(Piece { text: "hi".into(), plain: "hi".into(), ..Piece::default() });
        let said = outbox::New { run: Some(run.id), ..outbox::New::message(&room, hello) };
        outbox::push(conn, &said, 12).await?;
        runs::finish(conn, run, End::Done, "", 13).await?;
        // What came of the task.
        outbox::push(conn, &said, 13).await?;
        let told = of_team_after(conn, &ops, 0, 100).await?;
        let told: Vec<_> = told.iter().filter(|e| e.kind == "notice").map(|e| (e.run, e.task, e.at)).collect();
        assert_eq!(told, [12, 13].map(|at| (Some(run.id.0), Some(task.id.0), at)));
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_is_taken_back_has_not_happened() {
    let (db, _folder, run, _) = turn().await;
    let count = async || db.read(async |conn| Ok(after(conn, 0, 1_000).await?.len())).await.unwrap();
    let before = count().await;
    let failed = db
        .tx("test", async |conn| {
            calls::start(conn, run.id, 1, "c", "look", "{}", 13).await?;
            anyhow::bail!("on purpose") as Result<()>
        })
        .await;
    assert!(failed.is_err());
    assert_eq!(count().await, before);
    let changed =
        db.tx("test", async |conn| sql::query("UPDATE events SET at = 0").execute(conn).await.map(drop)).await;
    assert!(format!("{:#}", changed.unwrap_err()).contains("an event is never changed"));
}

#[tokio::test]
async fn a_subscriber_reads_on_from_what_it_has_seen() {
    let (db, _folder, run, _) = turn().await;
    let bell = db.changes(crate::Bell::Events);
    let tell = async |number: i64| {
        let body = json!({ "number": number });
        db.tx("tell", async |conn| append(conn, run.id, Kind::TodosChanged, &body, number).await).await.unwrap();
    };
    for number in 0..10 {
        tell(number).await;
    }
    assert!(bell.has_changed().unwrap());
    let (main, ops): (TeamName, TeamName) = ("main".parse().unwrap(), "ops".parse().unwrap());
    db.read(async |conn| {
        let (mut seen, mut all) = (0, Vec::new());
        loop {
            let some = after(conn, seen, 3).await?;
            let Some(last) = some.last() else { break };
            seen = last.id;
            all.extend(some);
        }
        assert_eq!(all.len(), 13);
        assert_eq!(newest(conn).await?, seen);
        assert_eq!(of_team_after(conn, &main, all[3].id, 2).await?, all[4..6]);
        assert!(of_team_after(conn, &ops, 0, 10).await?.is_empty());
        assert_eq!(latest(conn, None, 2).await?, all[11..]);
        assert_eq!(latest(conn, Some(&main), 3).await?, all[10..]);
        assert!(latest(conn, Some(&ops), 3).await?.is_empty());
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn nothing_goes_that_somebody_has_not_seen_nor_the_newest() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        for at in [100, 9_000, 200, 300] {
            append(conn, run.id, Kind::TodosChanged, &json!({}), at).await?;
        }
        let ids: Vec<i64> = after(conn, 0, 100).await?.iter().map(|event| event.id).collect();
        assert_eq!(ids.len(), 7);
        assert_eq!(prune(conn, 1_000, 100).await?, 0, "nobody has seen any");
        assert_eq!(seen_by(conn, Subscriber::Files).await?, 0);
        note_seen(conn, Subscriber::Files, ids[3]).await?;
        note_seen(conn, Subscriber::Files, ids[2]).await?;
        assert_eq!(seen_by(conn, Subscriber::Files).await?, ids[3], "it does not go back");
        assert_eq!(prune(conn, 1_000, 3).await?, 3);
        assert_eq!(prune(conn, 1_000, 3).await?, 1);
        note_seen(conn, Subscriber::Files, ids[6]).await?;
        assert_eq!(prune(conn, 1_000, 100).await?, 1, "the one that looks young keeps nobody");
        let left: Vec<i64> = after(conn, 0, 100).await?.iter().map(|event| event.id).collect();
        assert_eq!(left, [ids[4], ids[6]], "and the newest stays, or its id would be given again");
        Ok(())
    })
    .await
    .unwrap();
}
