//! Every statement runs; the table refuses what must not be.

use channels::{ConversationId, Kind, SenderId};

use super::*;
use crate::tasks::{End, Origin};
use crate::topics::{self, NamedBy};
use crate::{Db, runs, tasks};

pub(crate) async fn turn() -> (Db, tempfile::TempDir, runs::Run, tasks::Task) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let room = ConversationId::new(Kind::Telegram, 7);
    let begin = async |conn: &mut Conn| {
        let topic = topics::open(conn, &room, "one", NamedBy::Code, 1).await?;
        let sender = Some(SenderId::new(Kind::Telegram, 42));
        let origin = Origin { conversation: Some(room.clone()), topic: Some(topic), sender };
        tasks::enqueue_message(conn, &origin, topic, 10).await?;
        let task = tasks::claim(conn, 1, 11, 99).await?.remove(0);
        Ok((runs::enter(conn, &task, task.origin.topic, 12).await?, task))
    };
    let (run, task) = db.tx("begin", begin).await.unwrap();
    (db, folder, run, task)
}

fn todo(id: &str, status: Status) -> Todo {
    Todo { id: id.into(), subject: format!("do {id}"), status }
}

#[tokio::test]
async fn a_list_is_replaced_whole_and_goes_with_its_turn() {
    let (db, _folder, run, task) = turn().await;
    db.tx("test", async |conn| {
        assert!(of_run(conn, run.id).await?.is_empty());
        let first = [todo("a", Status::Completed), todo("b", Status::InProgress), todo("c", Status::Pending)];
        replace(conn, run.id, &first, 20).await?;
        assert_eq!(of_run(conn, run.id).await?, first);
        let second = [todo("c", Status::InProgress), todo("a", Status::Completed)];
        replace(conn, run.id, &second, 21).await?;
        replace(conn, run.id, &second, 22).await?;
        assert_eq!(of_run(conn, run.id).await?, second);
        assert!(activate_skill(conn, run.id, "deploy", 23).await?);
        assert!(!activate_skill(conn, run.id, "deploy", 24).await?, "it is active already");
        assert!(activate_skill(conn, run.id, "audit", 25).await?);
        assert_eq!(active_skills(conn, run.id).await?, ["deploy", "audit"], "in the order in which they were taken up");
        let changed = events::after(conn, 0, 100).await?;
        let changed: Vec<_> = changed.iter().filter(|event| event.kind == "todos_changed").collect();
        assert_eq!(changed.len(), 2, "the same list again changes nothing");
        assert_eq!(changed[1].body, r#"{"completed":1,"total":2}"#);
        runs::finish(conn, run, End::Done, "", 30).await?;
        tasks::finish(conn, task.id, End::Done, "", 30).await?;
        let before = crate::retention::Before { talk: 100, journal: 100, decisions: 0, changes: 0, usage: 0, held: 0 };
        while crate::retention::prune(conn, &before, 1).await? > 0 {}
        assert!(of_run(conn, run.id).await?.is_empty());
        assert!(active_skills(conn, run.id).await?.is_empty());
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn the_table_refuses_two_in_progress_an_id_twice_and_too_many() {
    let (db, _folder, run, _) = turn().await;
    let many: Vec<Todo> = (0..=MAX).map(|at| todo(&at.to_string(), Status::Pending)).collect();
    for bad in [
        &[todo("a", Status::InProgress), todo("b", Status::InProgress)],
        &[todo("a", Status::Pending), todo("a", Status::Pending)],
        &[todo("", Status::Pending)][..],
        many.as_slice(),
    ] {
        let done = db.tx("test", async |conn| replace(conn, run.id, bad, 20).await).await;
        assert!(done.is_err(), "{bad:?}");
    }
    db.tx("test", async |conn| replace(conn, run.id, &many[1..], 20).await).await.unwrap();
}
