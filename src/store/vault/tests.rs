//! What calls were given goes with their turn.

use super::*;
use crate::runs;
use crate::tasks::End;
use crate::todos::tests::turn;

fn row(team: &str, key: &str, is_secret: bool) -> Row {
    let value = Sealed { nonce: vec![1; 24], sealed: vec![2; 20] };
    let team = team.parse().unwrap();
    Row { team, key: key.into(), version: 1, is_secret, value, updated_by: None, created_at: 1, updated_at: 1 }
}

async fn keys(conn: &mut Conn) -> Result<Vec<String>> {
    Ok(all(conn).await?.into_iter().map(|row| format!("{} {}", row.team, row.key)).collect())
}

#[tokio::test]
async fn secrets_of_a_turn_s_calls_go_when_it_ends_and_no_others() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        let own = handed(run.id, 2, "call/é 1");
        assert_eq!(own, format!("handed/{}/2/call...1/", run.id));
        let (within, neighbour) = (format!("{own}0"), format!("handed/{}0/1/c/0", run.id));
        for (team, key, is_secret) in [
            ("main", within.as_str(), true),
            // A turn with a longer number, a value of the team's own, another team, another secret.
            ("main", &neighbour, true),
            ("main", &format!("handed/{}/note", run.id), false),
            ("ops", &within, true),
            ("main", "handed", true),
            ("main", "handed0", true),
        ] {
            assert!(put(conn, &row(team, key, is_secret)).await?);
        }
        assert!(runs::finish(conn, run, End::Done, "", 20).await?);
        let note = format!("main handed/{}/note", run.id);
        let (other, neighbour) = (format!("ops {within}"), format!("main {neighbour}"));
        assert_eq!(keys(conn).await?, ["main handed", &note, &neighbour, "main handed0", &other]);
        assert_eq!(remove_handed(conn, run.id).await?, 0);
        // Of turns that are not there, or are another team's.
        assert_eq!(remove_handed_of_ended(conn).await?, 2);
        assert_eq!(keys(conn).await?, ["main handed", &note, "main handed0"]);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_start_leaves_the_secrets_of_turns_that_go_on() {
    let (db, _folder, run, _) = turn().await;
    db.tx("test", async |conn| {
        let key = format!("{}0", handed(run.id, 1, "c"));
        for key in [key.as_str(), "handed/x/1/c/0", "handed/999/1/c/0"] {
            assert!(put(conn, &row("main", key, true)).await?);
        }
        assert_eq!(runs::end_orphans(conn, 20).await?, 0);
        assert_eq!(keys(conn).await?, [format!("main {key}")]);
        Ok(())
    })
    .await
    .unwrap();
}
