//! Mailboxes, on a migrated database.

use base::RunId;
use channels::{Addressed, Content, Place, Sender, Text};

use super::*;
use crate::tasks::{self, Origin};
use crate::topics::{self, NamedBy};
use crate::{Db, runs};

fn room() -> ConversationId {
    ConversationId::new(Kind::Telegram, 1)
}

fn message(id: &str, sender: i64, text: &str) -> Inbound {
    Inbound {
        conversation: room(),
        place: Place::Direct,
        event_id: id.into(),
        sender: Sender { id: SenderId::new(Kind::Telegram, sender), name: "Alice".into() },
        sent_at_ms: 1,
        addressed: Addressed::Direct,
        content: Content::Text(Text { text: text.into(), ..Text::default() }),
    }
}

/// A topic with these messages in its mailbox, and a turn of it.
async fn mailbox_of(conn: &mut Conn, messages: &[Inbound]) -> Result<(TopicId, Vec<InboxId>, RunId)> {
    let topic = topics::open(conn, &room(), "one", NamedBy::Code, 1).await?;
    let mut ids = Vec::new();
    for event in messages {
        let id = insert(conn, event, State::Received, 1).await?.context("it is new")?;
        assert!(place(conn, id, topic).await?);
        ids.push(id);
    }
    let origin = Origin { conversation: Some(room()), topic: Some(topic), sender: None };
    tasks::enqueue_message(conn, &origin, topic, 1).await?;
    let task = tasks::claim(conn, 1, 1, 9).await?.remove(0);
    Ok((topic, ids, runs::enter(conn, &task, Some(topic), 1).await?.id))
}

#[tokio::test]
async fn what_is_taken_is_what_the_message_says_now_and_only_where_it_still_waits() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    db.tx("test", async |conn| {
        let messages = [message("1", 5, "hi"), message("2", 6, "psst"), message("3", 5, "bye")];
        let (_, ids, run) = mailbox_of(conn, &messages).await?;
        assert!(amend(conn, &room(), "1", "hello").await?);
        assert_eq!(bury(conn, &messages[1].sender.id, None).await?, 1);
        for (id, waits) in [(ids[0], true), (ids[1], false), (InboxId(99), false)] {
            assert_eq!(any_waits(conn, &[id]).await?, waits, "{id}");
        }
        assert!(any_waits(conn, &ids).await? && !any_waits(conn, &[]).await?);
        let taken = take(conn, ids[0], run).await?.map(|row| (row.id, row.event));
        assert_eq!(taken, Some((ids[0], message("1", 5, "hello"))));
        assert_eq!(take(conn, ids[0], run).await?, None, "a turn has it");
        assert_eq!(take(conn, ids[1], run).await?, None, "nobody is to read it");
        let of_run: Vec<InboxId> = of_run(conn, run).await?.into_iter().map(|row| row.id).collect();
        assert_eq!(of_run, [ids[0]]);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_is_passed_over_is_the_oldest_of_one_mailbox() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    db.tx("test", async |conn| {
        let messages = ["1", "2", "3"].map(|id| message(id, 5, "hi"));
        let (topic, ids, _) = mailbox_of(conn, &messages).await?;
        assert_eq!(pass_over(conn, topic, 2).await?, 2);
        assert_eq!(mailbox(conn, topic, 9).await?.into_iter().map(|row| row.id).collect::<Vec<_>>(), ids[2..]);
        assert_eq!(pass_over(conn, topic, 9).await?, 1);
        assert_eq!(pass_over(conn, topic, 9).await?, 0);
        assert_eq!(counts(conn).await?, [("answered".to_owned(), 3)]);
        Ok(())
    })
    .await
    .unwrap();
}
