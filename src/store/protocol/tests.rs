//! What tasks say of themselves, against a real database.

use super::*;
use crate::tasks::{self, End, Kind, New, Origin};
use crate::{Db, teams};
use base::TeamName;

#[tokio::test]
async fn the_last_word_of_a_task_is_kept_and_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    db.tx("test", async |conn| {
        let (main, origin) = (TeamName::main(), Origin::default());
        assert!(teams::get(conn, &main).await?.is_some());
        let task = tasks::give(conn, &New::of(&main, Kind::Delegate, "x", &origin), 1).await?;
        let other = tasks::give(conn, &New::of(&main, Kind::Delegate, "y", &origin), 1).await?;
        assert_eq!(said(conn, task).await?, None);

        assert!(report(conn, task, "1/a").await?);
        assert!(!report(conn, task, "1/a").await?, "the same call, made again after a crash");
        assert!(report(conn, task, "2/a").await?);
        assert_eq!(said(conn, task).await?, None, "a report is no status");

        assert!(show(conn, task, 60_000, 1_000).await?);
        assert!(!show(conn, task, 60_000, 60_999).await?);
        assert!(show(conn, other, 60_000, 60_999).await?, "each task has its own minute");
        assert!(show(conn, task, 60_000, 61_000).await?);

        for status in Status::ALL {
            let last = Said { status, text: format!("so {}", status.as_str()) };
            say(conn, task, &last, 2).await?;
            assert_eq!(said(conn, task).await?, Some(last));
        }
        assert_eq!(said(conn, other).await?, None);
        assert!(!report(conn, task, "2/a").await?, "a status does not forget what was reported");

        let ids: Vec<_> = tasks::claim(conn, 5, 10, 99).await?.iter().map(|task| task.id).collect();
        assert_eq!(ids, [task], "both are of one lane");
        assert!(tasks::finish(conn, task, End::Done, "", 11).await?);
        crate::sql::query("DELETE FROM tasks WHERE id = $1").bind(task.0).execute(&mut *conn).await?;
        assert_eq!(said(conn, task).await?, None);
        Ok(())
    })
    .await
    .unwrap();
}
