//! The full-text index as other connections see it.

use crate::{Db, integrity};

use super::*;

fn ops() -> TeamName {
    "ops".parse().unwrap()
}

async fn database() -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    (db, folder)
}

async fn save(conn: &mut Conn, key: &str, content: &str) -> Result<i64> {
    let team = ops();
    let before = active(conn, &team, key).await?.map(|before| before.id);
    if let Some(before) = before {
        retire(conn, before, 1).await?;
    }
    let new = New {
        team: &team,
        key,
        content,
        kind: "context",
        supersedes_id: before,
        supersede_reason: None,
        updated_by: None,
    };
    let id = insert(conn, &new, 1).await?;
    let words = i64::try_from(content.split(' ').count())?;
    add_chunk(conn, &team, id, 0, &NewChunk { title: key, content, spaced: None, words, vector: None }).await?;
    Ok(id)
}

/// SQLite keeps the structure of a full-text index with the connection that searched it, and its own check of the
/// index would take the old structure with the new rows for damage.
#[tokio::test]
async fn a_connection_that_searched_finds_the_index_whole_after_others_wrote() {
    let (db, _folder) = database().await;
    for round in 0..40 {
        let write = async |conn: &mut Conn| {
            for key in 0..5 {
                save(conn, &format!("key{key}"), &format!("word{round} shared by all of round {round}")).await?;
            }
            if round % 3 == 2 {
                delete(conn, &ops(), "key1", 2).await?;
            }
            Ok(())
        };
        db.tx("write", write).await.unwrap();
        // Twice each: readers take turns.
        for _ in 0..2 {
            assert_eq!(db.read(async |conn| integrity(conn).await).await.unwrap(), "ok", "round {round}");
        }
        for _ in 0..2 {
            let found = db.read(async |conn| places(conn, "share", 1_000).await).await.unwrap();
            assert!(found.len() > 3, "round {round}");
            let ranked = db.read(async |conn| ranked(conn, &ops(), &["shared"], (1.0, 1.0), 5).await).await.unwrap();
            assert!(!ranked.is_empty(), "round {round}");
        }
    }
}

/// What the migration's check keeps out would do no harm to the index of today's SQLite: every statement of the triggers
/// reads a text to its end. The check stays, for whatever else reads a text only to its first NUL.
#[tokio::test]
async fn a_nul_is_refused_though_the_index_would_bear_it() {
    let (db, _folder) = database().await;
    for (key, content) in [("key", "before\0after"), ("a\0b", "text")] {
        let refused = db.tx("save", async |conn| save(conn, key, content).await).await.unwrap_err();
        assert!(format!("{refused:#}").contains("CHECK constraint failed"), "{refused:#}");
    }

    let plain = rusqlite::Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE texts (id INTEGER PRIMARY KEY, content TEXT);
                  CREATE VIRTUAL TABLE found USING fts5 (
                      content, content = 'texts', content_rowid = 'id',
                      tokenize = 'porter unicode61 remove_diacritics 2'
                  );
                  CREATE VIRTUAL TABLE words USING fts5vocab ('found', 'row');
                  CREATE TRIGGER added AFTER INSERT ON texts BEGIN
                      INSERT INTO found (rowid, content) VALUES (new.id, new.content);
                  END;
                  CREATE TRIGGER removed AFTER DELETE ON texts BEGIN
                      INSERT INTO found (found, rowid, content) VALUES ('delete', old.id, old.content);
                  END";
    plain.execute_batch(tables).unwrap();
    let check = || plain.execute("INSERT INTO found (found, rank) VALUES ('integrity-check', 1)", ()).unwrap();
    let words =
        || -> Option<String> { plain.query_row("SELECT group_concat(term) FROM words", (), |row| row.get(0)).unwrap() };
    for content in ["before\0after", "\0", "end\0"] {
        plain.execute("INSERT INTO texts (content) VALUES (?1)", [content]).unwrap();
    }
    check();
    assert_eq!(words(), Some("after,befor,end".to_owned()));
    plain.execute("DELETE FROM texts", ()).unwrap();
    check();
    assert_eq!(words(), None);
}
