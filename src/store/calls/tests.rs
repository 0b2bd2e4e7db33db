//! A call's end and its row in the audit log are one transaction, whoever writes them.

use super::*;
use crate::audit::Verified;
use crate::todos::tests::turn;

/// The audit log's rows, oldest first.
async fn audited(conn: &mut Conn) -> Result<Vec<(String, String, Option<String>, i64)>> {
    let mut rows = audit::latest(conn, 99).await?;
    rows.reverse();
    assert_eq!(audit::verify(conn).await?, Verified::Whole { rows: rows.len() as u64 });
    Ok(rows.into_iter().map(|row| (row.call_id, row.outcome, row.sender, row.duration_ms)).collect())
}

#[tokio::test]
async fn a_call_that_writes_its_own_result_is_audited_with_it_and_once() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        let (team, sender) = (TeamName::main(), SenderId::new(channels::Kind::Telegram, 42));
        let made = Made { team: &team, sender: Some(&sender), run: run.id, step: 1, call_id: "a" };
        assert!(!settle(conn, made, "sent", 20).await?, "it was not started");
        assert!(start(conn, run.id, 1, "a", "tell", "{}", 21).await?);
        assert!(settle(conn, made, "sent", 25).await?);
        assert!(!settle(conn, made, "sent again", 26).await?);
        assert!(!finish(conn, run.id, 1, "a", true, "too late", 27).await?);
        let row = get(conn, run.id, 1, "a").await?.unwrap();
        assert_eq!((row.state, row.is_error, row.result.as_str()), (State::Finished, false, "sent"));
        assert_eq!(audited(conn).await?, [("a".into(), "done".into(), Some("telegram:42".into()), 4)]);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_is_cut_off_is_audited_as_unknown() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        assert_eq!(interrupt(conn, run.id, 20).await?, 0);
        for id in ["a", "b", "c"] {
            assert!(start(conn, run.id, 1, id, "tell", "{}", 21).await?);
        }
        assert!(finish(conn, run.id, 1, "b", false, "there", 22).await?);
        promise(conn, run.id, 1, "b", "elsewhere").await?;
        assert_eq!(get(conn, run.id, 1, "b").await?.unwrap().result, "there", "what is over stays as it is");
        promise(conn, run.id, 1, "a", "gone").await?;
        let row = get(conn, run.id, 1, "a").await?.unwrap();
        assert_eq!((row.state, row.result.as_str()), (State::Started, "gone"));
        assert_eq!(interrupt(conn, run.id, 24).await?, 2);
        let ended = |id: &str, how: &str| (id.to_owned(), how.to_owned(), Some("telegram:42".to_owned()), 3);
        assert_eq!(audited(conn).await?, [ended("a", "done"), ended("c", "unknown")]);
        let kept = get(conn, run.id, 1, "a").await?.unwrap();
        assert_eq!((kept.state, kept.is_error, kept.result.as_str()), (State::Finished, false, "gone"), "as promised");
        let lost = get(conn, run.id, 1, "c").await?.unwrap();
        assert!(lost.state == State::Interrupted && lost.is_error && lost.result.starts_with("interrupted"));
        Ok(())
    })
    .await
    .unwrap();
}
