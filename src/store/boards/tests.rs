//! A topic has one board for each stretch of work, and whoever looks for work need not read it.

use std::time::Duration;

use channels::{Action, Kind as Platform, Piece};

use super::*;
use crate::outbox::{self, Loss, New};
use crate::tasks::{self, End, Kind, Origin, StopAsked};
use crate::topics::{self, NamedBy};
use crate::{Db, retention, runs, teams, usage};

fn room() -> ConversationId {
    ConversationId::new(Platform::Discord, 7)
}

fn ops() -> TeamName {
    "ops".parse().unwrap()
}

async fn database() -> (Db, tempfile::TempDir, TopicId) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let topic = db
        .tx("test", async |conn| {
            teams::add(conn, &ops(), &TeamName::main(), "", teams::State::Ready, 1).await?;
            topics::open(conn, &room(), "servers", NamedBy::Code, 1).await
        })
        .await
        .unwrap();
    (db, folder, topic)
}

async fn give(conn: &mut Conn, topic: Option<TopicId>, kind: Kind, body: &str, now: Moment) -> TaskId {
    let origin = Origin { conversation: Some(room()), topic, sender: None };
    tasks::give(conn, &tasks::New::of(&ops(), kind, body, &origin), now).await.unwrap()
}

async fn message(conn: &mut Conn, topic: TopicId) -> OutboxId {
    let piece = Piece { text: "at work".into(), plain: "at work".into(), ..Piece::default() };
    let new = New { topic: Some(topic), ..New::message(&room(), Action::Send(piece)) };
    let id = outbox::draft(conn, &new, 20).await.unwrap();
    outbox::begin(conn, id, 20).await.unwrap();
    id
}

#[tokio::test]
async fn work_is_found_by_its_topic_and_counted_from_its_first_task() {
    let (db, _folder, topic) = database().await;
    db.tx("test", async |conn| {
        assert_eq!(topics_with_work(conn).await?, []);
        let other = topics::open(conn, &room(), "texts", NamedBy::Code, 2).await?;
        tasks::enqueue_message(conn, &Origin::default(), other, 3).await?;
        give(conn, None, Kind::Trigger, "nobody's", 3).await;
        assert_eq!(topics_with_work(conn).await?, [], "talk, and work without a topic");
        let first = give(conn, Some(topic), Kind::Bootstrap, "", 4).await;
        let second = give(conn, Some(topic), Kind::Delegate, "disks", 5).await;
        let third = give(conn, Some(other), Kind::Delegate, "fans", 6).await;
        assert_eq!(
            topics_with_work(conn).await?,
            [
                Work { topic, first_task: first, since: 4, given: true },
                Work { topic: other, first_task: third, since: 6, given: true }
            ]
        );
        let claimed = tasks::claim(conn, 9, 10, 99).await?;
        let running = claimed.iter().find(|task| task.body == "nobody's").expect("the oldest of its lane");
        tasks::finish(conn, running.id, End::Done, "", 11).await?;
        tasks::claim(conn, 9, 12, 99).await?;
        let line = |sort, body: &str, progress| Line { run: None, team: ops(), sort, body: body.into(), progress };
        assert_eq!(
            lines(conn, topic, 12, 9).await?,
            [line(Sort::Bootstrap, "", Progress::Working(12)), line(Sort::Task, "disks", Progress::Queued(5)),]
        );
        assert_eq!(lines(conn, topic, 12, 1).await?.len(), 1);
        assert_eq!(tally(conn, topic, first).await?, Tally { running: 1, queued: 1, ..Tally::default() });
        assert_eq!(tasks::retry(conn, first, Duration::from_millis(20), 20).await?, Some(40));
        assert_eq!(lines(conn, topic, 12, 1).await?[0].progress, Progress::Waiting(40));
        tasks::claim(conn, 1, 41, 99).await?;
        tasks::stop_work_of_topic(conn, topic).await?;
        assert_eq!(tasks::to_stop(conn).await?, [(first, StopAsked::Person)]);
        assert_eq!(lines(conn, topic, 12, 1).await?[0].progress, Progress::Stopping);
        assert_eq!(tasks::retry(conn, first, Duration::from_millis(20), 20).await?, None, "it is to end");
        tasks::finish(conn, first, End::Failed, "why", 42).await?;
        let waits = tasks::queued_work_of_topic(conn, topic).await?;
        assert_eq!(waits.iter().map(|task| task.id).collect::<Vec<_>>(), [second]);
        assert!(tasks::cancel(conn, second, "why", 43).await?);
        assert!(!tasks::cancel(conn, second, "why", 43).await?);
        assert_eq!(tally(conn, topic, first).await?, Tally { failed: 1, cancelled: 1, ..Tally::default() });
        assert_eq!(tally(conn, topic, second).await?, Tally { cancelled: 1, ..Tally::default() });
        assert_eq!(topics_with_work(conn).await?, [Work { topic: other, first_task: third, since: 6, given: true }]);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_is_asked_in_the_middle_of_a_turn_is_work_too() {
    let (db, _folder, topic) = database().await;
    db.tx("test", async |conn| {
        let origin = Origin { conversation: Some(room()), topic: Some(topic), sender: None };
        tasks::enqueue_message(conn, &origin, topic, 3).await?;
        let talk = tasks::claim(conn, 9, 4, 99).await?.remove(0);
        let turn = runs::enter(conn, &talk, Some(topic), 4).await?;
        assert_eq!(topics_with_work(conn).await?, [], "talk alone");

        let asked = runs::enter_within(conn, turn.id, &serde_json::Value::Null, &ops(), None, 5).await?;
        let own = runs::enter_within(conn, turn.id, &serde_json::Value::Null, &TeamName::main(), None, 6).await?;
        let alone = Work { topic, first_task: talk.id, since: 5, given: false };
        assert_eq!(topics_with_work(conn).await?, [alone]);
        assert_eq!(tally(conn, topic, talk.id).await?, Tally { asked: 2, ..Tally::default() });
        assert_eq!(tally(conn, topic, talk.id).await?.open(), 2);

        let given = give(conn, Some(topic), Kind::Delegate, "disks", 7).await;
        assert_eq!(topics_with_work(conn).await?, [Work { first_task: given, given: true, ..alone }]);
        give(conn, Some(topic), Kind::Delegate, "fans", 7).await;
        tasks::claim(conn, 1, 8, 99).await?;
        let seen: Vec<_> =
            lines(conn, topic, 9, 9).await?.into_iter().map(|line| (line.run, line.sort, line.progress)).collect();
        assert_eq!(
            seen,
            [
                (None, Sort::Task, Progress::Working(8)),
                (Some(asked.id), Sort::Question, Progress::Working(5)),
                (Some(own.id), Sort::Subagent, Progress::Working(6)),
                (None, Sort::Task, Progress::Queued(7)),
            ]
        );
        assert_eq!(lines(conn, topic, 9, 2).await?.len(), 2);

        tasks::ask_to_stop(conn, topic, StopAsked::Person).await?;
        let stopping = lines(conn, topic, 9, 2).await?.pop().map(|line| line.progress);
        assert_eq!(stopping, Some(Progress::Stopping), "whoever asks is asked to end");
        for run in [asked, own] {
            runs::finish(conn, run, End::Cancelled, "", 10).await?;
        }
        assert_eq!(tally(conn, topic, talk.id).await?, Tally { running: 1, queued: 1, ..Tally::default() });
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_topic_has_one_board_at_a_time_whatever_became_of_its_message() {
    let (db, _folder, topic) = database().await;
    db.tx("test", async |conn| {
        let first = give(conn, Some(topic), Kind::Delegate, "disks", 5).await;
        let id = message(conn, topic).await;
        begin(conn, id, topic, first, 21).await?;
        let board = |message| Board { id, topic, first_task: first, message };
        assert_eq!(open_ones(conn).await?, [board(Message::InDoubt(20))]);
        outbox::shown(conn, id, "m1").await?;
        assert_eq!(get(conn, id).await?, Some(board(Message::Shown("m1".into()))));
        let another = message(conn, topic).await;
        assert!(begin(conn, another, topic, first, 22).await.is_err(), "a second one beside it");
        outbox::sent(conn, id, "m1", 23).await?;
        assert_eq!(open_ones(conn).await?, [board(Message::Left)]);
        end(conn, id, 24).await?;
        assert_eq!((open_ones(conn).await?, get(conn, id).await?), (vec![], None));
        begin(conn, another, topic, first, 25).await?;
        outbox::give_up(conn, another, Loss::Ambiguous, "why", 26).await?;
        assert_eq!(get(conn, another).await?.map(|board| board.message), Some(Message::Left));
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_board_goes_with_its_message() {
    let (db, _folder, topic) = database().await;
    db.tx("test", async |conn| {
        let first = give(conn, Some(topic), Kind::Delegate, "disks", 5).await;
        let (old, untried) = (message(conn, topic).await, message(conn, topic).await);
        begin(conn, old, topic, first, 21).await?;
        outbox::sent(conn, old, "m1", 22).await?;
        end(conn, old, 22).await?;
        begin(conn, untried, topic, first, 23).await?;
        outbox::end_draft(conn, &outbox::Draft { id: untried, message_id: None, tried: false }, 24).await?;
        assert_eq!(open_ones(conn).await?, []);
        let before = retention::Before { talk: 50, journal: 0, decisions: 0, changes: 0, usage: 0, held: 0 };
        retention::prune(conn, &before, 10).await?;
        let left: i64 = sql::query_scalar("SELECT count(*) FROM boards").fetch_one(conn).await?;
        assert_eq!(left, 0);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn the_effort_of_a_turn_is_its_own() {
    let (db, _folder, topic) = database().await;
    db.tx("test", async |conn| {
        give(conn, Some(topic), Kind::Delegate, "disks", 5).await;
        let task = tasks::claim(conn, 1, 6, 99).await?.remove(0);
        let run = runs::enter(conn, &task, None, 7).await?;
        assert_eq!(effort(conn, run.id).await?, (0, Spent::default()));
        assert_eq!(lines(conn, topic, 7, 1).await?[0].run, Some(run.id));
        runs::step(conn, run.id).await?;
        let entry = |run, cost_micro_usd| usage::Entry {
            run,
            team: "ops".into(),
            topic: Some(topic),
            sender: None,
            purpose: "turn",
            model: "p:m".into(),
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: 3,
            cache_write_tokens: 4,
            cost_micro_usd,
        };
        usage::add(conn, &entry(Some(run.id), Some(70)), 8).await?;
        usage::add(conn, &entry(Some(run.id), None), 8).await?;
        usage::add(conn, &entry(None, Some(9)), 8).await?;
        let spent = Spent { calls: 2, tokens: 20, cost_micro_usd: 70, unpriced: 1 };
        assert_eq!(effort(conn, run.id).await?, (1, spent));
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_board_waits_for_what_else_is_to_be_said() {
    let (db, _folder, topic) = database().await;
    db.tx("test", async |conn| {
        message(conn, topic).await;
        assert!(!must_wait(conn, &room()).await?, "a draft holds nothing up");
        let reply = outbox::push(conn, &New::message(&room(), Action::Send(Piece::default())), 20).await?;
        assert!(must_wait(conn, &room()).await?);
        outbox::sent(conn, reply, "m1", 21).await?;
        assert!(!must_wait(conn, &room()).await?);
        Ok(())
    })
    .await
    .unwrap();
}
