//! What is claimed of a long queue, and when a worker looks again.

use base::TeamName;

use super::*;
use crate::Db;
use crate::tasks::{End, Kind, New, Origin, Priority, finish, give};
use crate::teams::{State, add};

const NOW: Moment = 1_000;
const LATER: Moment = 9_000;

async fn database(teams: &[&str]) -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let make = async |conn: &mut Conn| {
        for name in teams {
            assert!(add(conn, &team(name), &TeamName::main(), "", State::Ready, NOW).await?);
        }
        Ok(())
    };
    db.tx("make teams", make).await.unwrap();
    (db, folder)
}

fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

async fn queue(conn: &mut Conn, name: &str, priority: Priority, at: Moment) -> Result<TaskId> {
    let (team, origin) = (team(name), Origin::default());
    give(conn, &New { priority, ..New::of(&team, Kind::Delegate, "Go on.", &origin) }, at).await
}

fn ids(tasks: &[Task]) -> Vec<TaskId> {
    tasks.iter().map(|task| task.id).collect()
}

#[tokio::test]
async fn a_long_queue_of_a_busy_team_keeps_nobody_waiting() {
    let (db, _folder) = database(&["busy", "late", "idle"]).await;
    let test = async |conn: &mut Conn| {
        let first = queue(conn, "busy", Priority::High, NOW).await?;
        assert_eq!(ids(&claim(conn, 64, NOW, LATER).await?), [first]);
        for _ in 0..2 * HEAD {
            queue(conn, "busy", Priority::High, NOW).await?;
        }
        assert!(!look(conn, NOW).await?.claimable);
        assert_eq!(claim(conn, 64, NOW, LATER).await?, []);
        let low = queue(conn, "late", Priority::Low, NOW).await?;
        let normal = queue(conn, "idle", Priority::Normal, NOW).await?;
        let second = queue(conn, "idle", Priority::Normal, NOW).await?;
        assert!(look(conn, NOW).await?.claimable);
        assert_eq!(ids(&claim(conn, 1, NOW, LATER).await?), [normal]);
        assert_eq!(ids(&claim(conn, 64, NOW, LATER).await?), [low]);
        assert_eq!(claim(conn, 64, NOW, LATER).await?, []);
        assert!(finish(conn, normal, End::Done, "", NOW).await?);
        assert_eq!(ids(&claim(conn, 64, NOW, LATER).await?), [second]);
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}

#[tokio::test]
async fn a_lane_s_next_is_its_most_urgent_then_its_oldest() {
    let (db, _folder) = database(&["ops"]).await;
    let test = async |conn: &mut Conn| {
        let low = queue(conn, "ops", Priority::Low, NOW).await?;
        let (first, second) =
            (queue(conn, "ops", Priority::Normal, NOW).await?, queue(conn, "ops", Priority::Normal, NOW).await?);
        let critical = queue(conn, "ops", Priority::Critical, NOW).await?;
        for wanted in [critical, first, second, low] {
            assert_eq!(ids(&claim(conn, 64, NOW, LATER).await?), [wanted]);
            assert!(finish(conn, wanted, End::Done, "", NOW).await?);
        }
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}

#[tokio::test]
async fn what_was_put_back_is_looked_for_when_it_is_due() {
    let (db, _folder) = database(&["ops", "docs", "web"]).await;
    let test = async |conn: &mut Conn| {
        for name in ["ops", "docs", "web"] {
            queue(conn, name, Priority::Normal, NOW).await?;
        }
        let claimed = ids(&claim(conn, 64, NOW, LATER).await?);
        assert_eq!(look(conn, NOW).await?, Found { claimable: false, to_stop: false, next_due: None });
        put_back(conn, &claimed[..1], 3_000).await?;
        put_back(conn, &claimed[1..], 2_000).await?;
        // Nothing of it runs any more: doing it again changes nothing.
        put_back(conn, &claimed, 5_000).await?;
        assert_eq!(look(conn, NOW).await?, Found { claimable: false, to_stop: false, next_due: Some(2_000) });
        assert_eq!(claim(conn, 64, NOW, LATER).await?, []);
        assert_eq!(look(conn, 2_000).await?, Found { claimable: true, to_stop: false, next_due: Some(3_000) });
        assert_eq!(ids(&claim(conn, 64, 2_000, LATER).await?), claimed[1..]);
        assert_eq!(look(conn, 3_000).await?, Found { claimable: true, to_stop: false, next_due: None });
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}
