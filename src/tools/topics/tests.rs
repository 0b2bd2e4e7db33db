//! `list_topics` as a model calls it.

use std::sync::Arc;

use channels::{ConversationId, Kind};
use serde_json::{Value, json};
use store::tasks::Origin;
use store::topics::{self, NamedBy, State};

use crate::testing::{START, World, asked};
use crate::{Call, Grant};

#[tokio::test(start_paused = true)]
async fn the_open_topics_of_this_conversation_are_listed() {
    let world = World::new().await;
    let room = world.origin.conversation.clone().unwrap();
    let prepare = async |conn: &mut store::Conn| {
        let idle = topics::open(conn, &room, "Deploys", NamedBy::Model, START + 60_000).await?;
        topics::answered(conn, idle, "Friday is out.", START).await?;
        topics::set_state(conn, idle, State::Idle).await?;
        let closed = topics::open(conn, &room, "Over", NamedBy::Model, START).await?;
        topics::set_state(conn, closed, State::Closed).await?;
        topics::open(conn, &ConversationId::new(Kind::Discord, 5), "Elsewhere", NamedBy::Code, START).await
    };
    world.db.tx("prepare", prepare).await.unwrap();
    let done = world.ask("list_topics", json!({})).await;
    let shown: Value = serde_json::from_str(&done.content).unwrap();
    let expected = json!({"topics": [
        {
            "id": 2, "name": "Deploys", "state": "idle", "current": false, "summary": "Friday is out.",
            "last_activity": "2026-11-21 20:04 UTC",
        },
        {
            "id": 1, "name": "Greetings", "state": "active", "current": true, "summary": "",
            "last_activity": "2026-11-21 20:03 UTC",
        },
    ]});
    assert_eq!((shown, done.is_error), (expected, false));
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_a_conversation_has_no_topics() {
    let world = World::new().await;
    let executor = world.executor_of(world.catalogue(org::trust::Policy::default()));
    let call = Call { origin: Origin::default(), grant: Arc::new(Grant::main(false)), ..world.call() };
    let done = executor.run_calls(&call, vec![asked("1", "list_topics", json!({}))]).await.unwrap();
    assert!(done[0].is_error);
    assert_eq!(done[0].content, "no conversation caused this turn, so there are no topics to list");
}
