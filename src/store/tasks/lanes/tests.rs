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
        let ms = Duration::from_millis;
        assert_eq!(retry(conn, claimed[0], ms(2_000), NOW).await?, Some(3_000));
        for id in &claimed[1..] {
            assert_eq!(retry(conn, *id, ms(1_000), NOW).await?, Some(2_000));
        }
        // Nothing of it runs any more: doing it again changes nothing.
        assert_eq!(retry(conn, claimed[0], ms(9_000), NOW).await?, None);
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

#[tokio::test]
async fn a_clock_that_was_set_back_freezes_nothing() {
    let (db, _folder) = database(&["ops", "docs"]).await;
    let test = async |conn: &mut Conn| {
        let (hour, ms) = (3_600_000, Duration::from_millis);
        let now = 10 * hour;
        let fresh = queue(conn, "ops", Priority::Normal, now).await?;
        // What was never put off can be done, whatever the time is.
        let earlier = now - 2 * hour;
        assert!(look(conn, earlier).await?.claimable);
        assert_eq!(ids(&claim(conn, 9, earlier, now).await?), [fresh]);
        leave(conn, fresh, now).await?;
        assert_eq!(ids(&claim(conn, 9, earlier, now).await?), [fresh], "left in good order by the clock as it was");
        // What a fault has put off waits, and never for longer than anything is put off.
        assert_eq!(retry(conn, fresh, ms(15_000), now).await?, Some(now + 15_000));
        for (at, due) in [(now, false), (now - hour + 15_001, false), (now - hour + 14_999, true), (earlier, true)] {
            assert_eq!(look(conn, at).await?.claimable, due, "{}", now - at);
        }
        assert_eq!(claim(conn, 9, now - 60_000, now).await?, []);
        assert_eq!(ids(&claim(conn, 9, earlier, now).await?), [fresh]);
        assert_eq!(retry(conn, fresh, Duration::MAX, now).await?, Some(now + hour), "however long a provider asks for");
        assert_eq!(look(conn, now).await?, Found { claimable: false, to_stop: false, next_due: Some(now + hour) });
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}

#[tokio::test]
async fn nobody_works_in_a_team_before_it_was_made_ready() {
    let (db, _folder) = database(&["ops", "docs"]).await;
    let test = async |conn: &mut Conn| {
        let (ops, origin) = (team("ops"), Origin::default());
        let critical = New { priority: Priority::Critical, ..New::of(&ops, Kind::Bootstrap, "", &origin) };
        let bootstrap = give(conn, &critical, NOW).await?;
        assert_eq!(ids(&claim(conn, 9, NOW, LATER).await?), [bootstrap]);
        let urgent = queue(conn, "ops", Priority::Critical, NOW).await?;
        assert_eq!(retry(conn, bootstrap, Duration::from_secs(1), NOW).await?, Some(NOW + 1_000));
        let found = Found { claimable: false, to_stop: false, next_due: Some(NOW + 1_000) };
        assert_eq!(look(conn, NOW).await?, found);
        assert_eq!(claim(conn, 9, NOW, LATER).await?, []);
        let other = queue(conn, "docs", Priority::Low, NOW).await?;
        assert_eq!(ids(&claim(conn, 9, NOW, LATER).await?), [other], "it holds up its own lane");
        for wanted in [bootstrap, urgent] {
            assert_eq!(ids(&claim(conn, 9, NOW + 1_000, LATER).await?), [wanted]);
            assert!(finish(conn, wanted, End::Done, "", NOW).await?);
        }
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}
