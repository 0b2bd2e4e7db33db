//! Who reads a note, and that it is read once.

use channels::{ConversationId, Kind as Platform};

use super::*;
use crate::tasks::{self, Kind, New, Origin};
use crate::topics::{self, NamedBy};
use crate::{Db, runs};

#[tokio::test]
async fn a_note_without_a_topic_is_for_whichever_turn_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let test = async |conn: &mut Conn| {
        let room = ConversationId::new(Platform::Discord, 7);
        let one = topics::open(conn, &room, "one", NamedBy::Code, 1).await?;
        let two = topics::open(conn, &room, "two", NamedBy::Code, 2).await?;
        let (main, ops) = (TeamName::main(), "ops".parse()?);
        let reader = |topic| Reader { team: main.clone(), topic };
        add(conn, &reader(Some(one)), &ops, "of one", 3).await?;
        add(conn, &reader(None), &ops, "of none", 3).await?;
        add(conn, &reader(Some(two)), &ops, "of two", 3).await?;
        let texts = async |conn: &mut Conn, topic, limit| {
            let unread = unread(conn, &reader(topic), limit).await?;
            anyhow::Ok(unread.into_iter().map(|note| note.text).collect::<Vec<_>>())
        };
        assert_eq!(texts(conn, Some(one), 9).await?, ["of one", "of none"]);
        assert_eq!(texts(conn, Some(two), 9).await?, ["of none", "of two"]);
        assert_eq!(texts(conn, Some(two), 1).await?, ["of none"]);
        assert_eq!(texts(conn, None, 9).await?, ["of none"]);
        let task = tasks::give(conn, &New::of(&main, Kind::Trigger, "", &Origin::default()), 4).await?;
        let task = tasks::get(conn, task).await?.expect("it was given");
        let run = runs::enter(conn, &task, None, 5).await?.id;
        let ids: Vec<i64> = unread(conn, &reader(None), 9).await?.iter().map(|note| note.id).collect();
        assert!(any_unread(conn, &ids).await?);
        assert!(take(conn, ids[0], run).await?);
        assert!(!take(conn, ids[0], run).await?, "it is read");
        assert!(!any_unread(conn, &ids).await?);
        assert_eq!(texts(conn, Some(two), 9).await?, ["of two"]);
        Ok(())
    };
    db.tx("test", test).await.unwrap();
}
