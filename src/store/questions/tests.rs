//! Questions and direct grants, on a migrated database.

use base::{RunId, TeamName};
use channels::{Action, ConversationId, Piece, SenderId};

use super::*;
use crate::grants::{self, Granted};
use crate::tasks::Origin;
use crate::topics::NamedBy;
use crate::{Bell, Db, calls, outbox, runs, tasks, topics};

async fn database() -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    (db, folder)
}

/// A turn of a topic of its own.
async fn run(conn: &mut Conn) -> Result<RunId> {
    let room: ConversationId = "telegram:-1".parse()?;
    let topic = topics::open(conn, &room, "one", NamedBy::Code, 1).await?;
    let origin = Origin { conversation: Some(room), topic: Some(topic), sender: None };
    tasks::enqueue_message(conn, &origin, topic, 1).await?;
    let task = tasks::claim(conn, 1, 1, 9).await?.remove(0);
    Ok(runs::enter(conn, &task, Some(topic), 1).await?.id)
}

fn asking(run: RunId, call_id: &str) -> Asking {
    Asking { run, step: 1, call_id: call_id.into() }
}

fn new<'a>(asking: &'a Asking, kind: Kind, options: &'a [String], wanted: Option<&'a Wanted>) -> New<'a> {
    New { asking, tool: "prompt_human", kind, options, asker: None, wanted, expires_at: 100 }
}

#[tokio::test]
async fn the_first_answer_stands_whatever_it_is() {
    let (db, _folder) = database().await;
    let by = || "discord:1".to_owned();
    let answers = [
        Answer::Chosen { options: vec![2, 0], by: by() },
        Answer::Said { text: "words".into(), by: by() },
        Answer::Entered { by: by() },
        Answer::Nobody,
    ];
    db.tx("test", async |conn| {
        let run = run(conn).await?;
        let asker: SenderId = "telegram:5".parse()?;
        for (at, first) in answers.iter().enumerate() {
            let asking = asking(run, &at.to_string());
            assert_eq!(of_call(conn, &asking).await?, None);
            let options = ["a".to_owned(), "b".to_owned()];
            let new = New { asker: Some(&asker), ..new(&asking, Kind::Several, &options, None) };
            let id = ask(conn, &new, 10).await?;
            tick(conn, id, &[1]).await?;
            let open = get(conn, id).await?.unwrap();
            assert_eq!(
                (&open.options[..], &open.ticked[..], &open.asker),
                (&options[..], &[1][..], &Some(asker.clone()))
            );
            assert!(answer(conn, id, first, 20).await?);
            for second in &answers {
                assert!(!answer(conn, id, second, 30).await?);
            }
            tick(conn, id, &[]).await?;
            let answered = of_call(conn, &asking).await?.unwrap();
            assert_eq!((answered.answer.as_ref(), &answered.ticked[..]), (Some(first), &[1][..]), "nothing changes it");
        }
        assert!(asked_by(conn, run, "prompt_human").await? && !asked_by(conn, run, "notify").await?);
        assert!(open_of_run(conn, run).await?.is_empty());
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_open_question_is_found_by_the_messages_that_show_it() {
    let (db, _folder) = database().await;
    let (room, other): (ConversationId, ConversationId) =
        ("telegram:-1".parse().unwrap(), "telegram:-2".parse().unwrap());
    db.tx("test", async |conn| {
        let run = run(conn).await?;
        let asking = asking(run, "1");
        let id = ask(conn, &new(&asking, Kind::Words, &[], None), 10).await?;
        let mut shown_as = Vec::new();
        for (place, message) in [(&room, "m1"), (&other, "m2")] {
            let row = outbox::New::message(place, Action::Send(Piece::default()));
            let notice = outbox::push(conn, &row, 10).await?;
            outbox::sent(conn, notice, message, 11).await?;
            shown(conn, id, notice).await?;
            shown_as.push(notice);
        }
        assert_eq!(notices(conn, id).await?, shown_as);
        for (place, message, found) in [(&room, "m1", true), (&other, "m2", true), (&room, "m2", false)] {
            assert_eq!(open_in_message(conn, place, message).await?.is_some(), found, "{place} {message}");
        }
        for (now, found) in [(99, Some(id)), (100, None)] {
            let wanted = words_wanted_in(conn, &room, now).await?.map(|question| question.id);
            assert_eq!(wanted, found, "one that is too old takes no line of a terminal");
        }
        assert_eq!(words_wanted_in(conn, &other, 99).await?.map(|question| question.id), Some(id));
        assert_eq!(open_of_run(conn, run).await?.len(), 1);
        assert!(answer(conn, id, &Answer::Nobody, 20).await?);
        assert_eq!(open_in_message(conn, &room, "m1").await?, None);
        assert_eq!(words_wanted_in(conn, &room, 99).await?, None);
        Ok(())
    })
    .await
    .unwrap();
}

/// The ids of questions.
fn ids(questions: &[Question]) -> Vec<i64> {
    questions.iter().map(|question| question.id).collect()
}

#[tokio::test]
async fn a_question_is_waited_for_until_its_call_is_made_or_its_turn_is_over() {
    let (db, _folder) = database().await;
    let room: ConversationId = "telegram:-1".parse().unwrap();
    db.tx("test", async |conn| {
        let run = run(conn).await?;
        let task = runs::task(conn, run).await?.unwrap();
        let (waits, made) = (asking(run, "waits"), asking(run, "made"));
        let waits = ask(conn, &new(&waits, Kind::Words, &[], None), 10).await?;
        let made = ask(conn, &new(&made, Kind::One, &[], None), 10).await?;
        let notice = outbox::push(conn, &outbox::New::message(&room, Action::Send(Piece::default())), 10).await?;
        shown(conn, waits, notice).await?;
        assert_eq!(ids(&waited_for_by(conn, run).await?), [waits, made]);
        assert_eq!(waiting_tasks(conn).await?, [task]);
        calls::start(conn, run, 1, "made", "delegate_task", "{}", 11).await?;
        assert_eq!(ids(&waited_for_by(conn, run).await?), [waits], "the other is answered without the turn");
        assert_eq!(waiting_tasks(conn).await?, [], "it waits, and it works as well");
        calls::finish(conn, run, 1, "made", false, "asked", 12).await?;
        assert_eq!(waiting_tasks(conn).await?, [task]);
        assert_eq!(
            (words_wanted_in(conn, &room, 20).await?.is_some(), ids(&left_over(conn, 9, 20).await?)),
            (true, vec![])
        );
        runs::finish(conn, runs::Run { id: run, steps: 1 }, tasks::End::Done, "", 13).await?;
        assert_eq!(words_wanted_in(conn, &room, 20).await?, None, "nobody would hear the answer");
        assert_eq!(ids(&left_over(conn, 9, 99).await?), [waits], "the other still means something");
        assert_eq!(ids(&left_over(conn, 9, 100).await?), [waits, made]);
        assert_eq!(ids(&left_over(conn, 1, 100).await?), [waits]);
        tasks::finish(conn, task, tasks::End::Done, "", 13).await?;
        assert_eq!(waiting_tasks(conn).await?, []);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_a_turn_within_another_waits_for_is_found_until_it_ends() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let run = run(conn).await?;
        let handed = serde_json::json!({"step": 1, "call_id": "q", "at": 0});
        let within = runs::enter_within(conn, run, &handed, &TeamName::main(), None, 1).await?;
        calls::start(conn, run, 1, "q", "query_team", "{}", 1).await?;
        let (outer, inner) = (asking(run, "1"), asking(within.id, "1"));
        ask(conn, &new(&outer, Kind::One, &[], None), 10).await?;
        let inner = ask(conn, &new(&inner, Kind::One, &[], None), 10).await?;
        assert_eq!(ids(&waited_for_within(conn).await?), [inner]);
        assert_eq!(waiting_tasks(conn).await?, [], "whoever waits for it is in the middle of a call");
        runs::finish(conn, within, tasks::End::Cancelled, "", 12).await?;
        assert_eq!(ids(&waited_for_within(conn).await?), Vec::<i64>::new());
        assert_eq!(ids(&left_over(conn, 9, 12).await?), [inner]);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_secret_is_waited_for_until_it_is_too_late() {
    let (db, _folder) = database().await;
    let wanted = Wanted { team: TeamName::main(), key: "API_KEY".into() };
    db.tx("test", async |conn| {
        let run = run(conn).await?;
        let asking = asking(run, "1");
        let id = ask(conn, &new(&asking, Kind::Secret, &[], Some(&wanted)), 10).await?;
        for (now, waits) in [(99, 1), (100, 0)] {
            assert_eq!(secrets_wanted(conn, now).await?.len(), waits);
        }
        assert_eq!(get(conn, id).await?.unwrap().wanted.as_ref(), Some(&wanted));
        Ok(())
    })
    .await
    .unwrap();
    let nowhere = db.tx("test", async |conn| {
        let run = run(conn).await?;
        let asking = asking(run, "2");
        ask(conn, &new(&asking, Kind::Secret, &[], None), 10).await
    });
    assert!(nowhere.await.is_err(), "a secret goes somewhere");
}

#[tokio::test]
async fn what_a_team_was_granted_is_its_own_and_rings_its_bell() {
    let (db, _folder) = database().await;
    let mut bell = db.changes(Bell::Tools);
    bell.mark_unchanged();
    let (main, other): (TeamName, TeamName) = (TeamName::main(), "other".parse().unwrap());
    let granted = |by: &str| Granted { tool: "web_fetch".into(), reason: "to look".into(), by: by.into() };
    db.tx("grant", async |conn| {
        grants::add(conn, &main, &granted("discord:1"), 1).await?;
        grants::add(conn, &main, &granted("discord:2"), 2).await
    })
    .await
    .unwrap();
    assert!(bell.has_changed().unwrap());
    let of = async |team: &TeamName| db.read(async |conn| grants::of_team(conn, team).await).await.unwrap();
    assert_eq!((of(&main).await, of(&other).await), (vec![granted("discord:1")], vec![]));
    for gone in [true, false] {
        assert_eq!(
            db.tx("take back", async |conn| grants::remove(conn, &main, "web_fetch").await).await.unwrap(),
            gone
        );
    }
}
