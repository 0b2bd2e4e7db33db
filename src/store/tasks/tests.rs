//! How a task ends that waits, and which one a call has queued.

use base::Moment;

use super::*;
use crate::teams::{State, add};
use crate::{Db, calls, runs};

const NOW: Moment = 1_000;

async fn database() -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let make = async |conn: &mut Conn| {
        for name in ["ops", "docs"] {
            assert!(add(conn, &name.parse()?, &TeamName::main(), "", State::Ready, NOW).await?);
        }
        Ok(())
    };
    db.tx("make teams", make).await.unwrap();
    (db, folder)
}

#[tokio::test]
async fn what_is_cancelled_while_it_waits_to_be_tried_again_ends_with_its_turn() {
    let (db, _folder) = database().await;
    let test = async |conn: &mut Conn| {
        let (ops, origin) = ("ops".parse()?, Origin::default());
        let id = give(conn, &New::of(&ops, Kind::Delegate, "Go on.", &origin), NOW).await?;
        let task = claim(conn, 1, NOW, NOW + 9).await?.remove(0);
        let run = runs::enter(conn, &task, None, NOW).await?;
        calls::start(conn, run.id, 1, "a", "look", "{}", NOW).await?;
        assert!(!cancel(conn, id, "why", NOW).await?, "it runs");
        assert!(retry(conn, id, std::time::Duration::from_secs(9), NOW).await?.is_some());
        assert!(cancel(conn, id, "why", NOW + 1).await?);
        assert!(!cancel(conn, id, "why", NOW + 2).await?, "it is over");
        let sql = "SELECT t.state, t.note, r.state, r.note, r.finished_at, c.state FROM tasks t
                   JOIN runs r ON r.task = t.id JOIN tool_calls c ON c.run = r.id WHERE t.id = $1";
        let found: (String, String, String, String, i64, String) =
            sql::query_as(sql).bind(id.0).fetch_one(conn).await?;
        let expected = ("cancelled", "why", "stopped", "why", NOW + 1, "interrupted");
        let (state, note, turn, turn_note, at, call) = &found;
        assert_eq!((&**state, &**note, &**turn, &**turn_note, *at, &**call), expected);
        assert_eq!(claim(conn, 1, NOW + 60_000, NOW + 99_000).await?, []);
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}

#[tokio::test]
async fn a_call_finds_what_it_has_delegated_and_nothing_else_of_that_name() {
    let (db, _folder) = database().await;
    let test = async |conn: &mut Conn| {
        let (main, ops, docs, origin) = (TeamName::main(), "ops".parse()?, "docs".parse()?, Origin::default());
        give(conn, &New::of(&ops, Kind::Delegate, "Go on.", &origin), NOW).await?;
        let task = claim(conn, 1, NOW, NOW + 9).await?.remove(0);
        let run = runs::enter(conn, &task, None, NOW).await?.id;
        let word = "call:2:c1";
        let new = |team, kind| New {
            giver: Some(&ops),
            cause: Some(run),
            correlation: Some(word),
            ..New::of(team, kind, "More.", &origin)
        };
        // A child may name what it hands up as it likes.
        give(conn, &new(&main, Kind::Handoff), NOW).await?;
        assert_eq!(of_call(conn, run, word).await?, None);
        let delegated = give(conn, &new(&docs, Kind::Delegate), NOW).await?;
        assert_eq!(of_call(conn, run, word).await?, Some(delegated));
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}
