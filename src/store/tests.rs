//! Every statement runs on a migrated database; constraints refuse what must not be; the door keeps its promises.

use std::sync::Arc;
use std::time::Duration;

use channels::{
    Action, Addressed, Content, ConversationId, Cursor, Inbound, Kind, Piece, Place, Sender, SenderId, Text,
};

use crate::outbox::Loss;
use crate::tasks::{End, Origin};
use crate::topics::NamedBy;
use crate::*;

async fn database() -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    (db, folder)
}

fn room() -> ConversationId {
    ConversationId::new(Kind::Telegram, "-100/7")
}

fn alice() -> Sender {
    Sender { id: SenderId::new(Kind::Telegram, 42), name: "alice".into() }
}

fn message(id: &str, text: &str) -> Inbound {
    Inbound {
        conversation: room(),
        place: Place::Group { title: "room".into() },
        event_id: id.into(),
        sender: alice(),
        sent_at_ms: 1,
        addressed: Addressed::Mention,
        content: Content::Text(Text { text: text.into(), ..Text::default() }),
    }
}

fn hello() -> Action {
    Action::Send(Piece { text: "hello".into(), plain: "hello".into(), ..Piece::default() })
}

fn origin() -> Origin {
    Origin { conversation: Some(room()), topic: None, sender: Some(alice().id) }
}

#[tokio::test]
async fn an_event_is_taken_in_once_and_goes_its_way() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let event = message("5", "hi");
        let id = inbox::insert(conn, &event, inbox::State::Received, 10).await?.unwrap();
        assert_eq!(inbox::insert(conn, &event, inbox::State::Received, 11).await?, None, "a redelivery");
        assert_eq!(inbox::waiting_conversations(conn).await?, [room()]);
        assert_eq!(inbox::next_received(conn, &room()).await?.map(|row| row.id), Some(id));
        assert!(inbox::amend(conn, &room(), "5", "hi there").await?);
        let topic = topics::open(conn, &room(), "Greetings", NamedBy::Code, 10).await?;
        assert!(inbox::place(conn, id, topic).await?);
        let copy = inbox::copy_for(conn, id, topic).await?.unwrap();
        assert_eq!(inbox::copy_for(conn, id, topic).await?, None, "one copy for each topic");
        assert!(inbox::answer(conn, copy).await?);
        assert!(!inbox::place(conn, id, topic).await?, "placed twice");
        assert!(!inbox::answer(conn, id).await?, "answered after it was placed");
        assert!(inbox::waits(conn, topic).await?);
        tasks::enqueue_message(conn, &origin(), topic, 10).await?;
        let task = tasks::claim(conn, 5, 20, 99).await?.remove(0);
        let run = runs::enter(conn, &task, task.origin.topic, 20).await?;
        inbox::take(conn, id, run.id).await?;
        assert_eq!(inbox::of_run(conn, run.id).await?[0].event, message("5", "hi there"));
        assert!(inbox::mailbox(conn, topic, 10).await?.is_empty());
        assert_eq!(inbox::last_of_topic(conn, topic, 3).await?, [message("5", "hi there")]);
        assert_eq!(inbox::topic_of(conn, &room(), "5").await?, Some(topic));
        assert_eq!(inbox::author_of(conn, &room(), "5").await?, Some(alice().id));
        assert_eq!(inbox::senders_called(conn, Kind::Telegram, "ALICE").await?, [alice().id]);
        assert!(inbox::senders_called(conn, Kind::Discord, "alice").await?.is_empty());
        assert_eq!(inbox::event(conn, id).await?, Some(message("5", "hi there")));
        assert_eq!(inbox::counts(conn).await?, [("answered".to_owned(), 1), ("taken".to_owned(), 1)]);
        assert!(!inbox::amend(conn, &room(), "5", "too late").await?);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn what_a_stranger_wrote_is_handed_over_or_buried() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        for (id, sender) in [("1", "42"), ("2", "42"), ("3", "43")] {
            let mut event = message(id, "psst");
            event.sender.id = SenderId::new(Kind::Telegram, sender);
            inbox::insert(conn, &event, inbox::State::Held, 1).await?;
        }
        assert_eq!(inbox::held_count(conn, &alice().id).await?, 2);
        inbox::bury_oldest(conn, &alice().id, 2).await?;
        assert_eq!(inbox::release(conn, &alice().id, Some(&ConversationId::new(Kind::Telegram, 1))).await?, 0);
        assert_eq!(inbox::release(conn, &alice().id, None).await?, 2);
        assert_eq!(inbox::bury(conn, &SenderId::new(Kind::Telegram, 43), None).await?, 1);
        assert_eq!(inbox::release(conn, &SenderId::new(Kind::Telegram, 43), None).await?, 0, "buried is buried");
        assert_eq!(inbox::counts(conn).await?, [("denied".to_owned(), 1), ("received".to_owned(), 2)]);
        let parent = ConversationId::new(Kind::Telegram, -100);
        let thread = Place::Thread { parent: parent.clone(), title: "ops".into() };
        inbox::insert(conn, &Inbound { place: thread, ..message("4", "psst") }, inbox::State::Held, 1).await?;
        assert_eq!(inbox::release(conn, &alice().id, Some(&parent)).await?, 1, "a thread goes with its place");

        let id = strangers::meet(conn, &alice(), &room(), 5).await?.unwrap();
        assert_eq!(strangers::meet(conn, &alice(), &room(), 6).await?, None, "told once");
        let notice = outbox::push(conn, &outbox::New::message(&room(), hello()), 5).await?;
        strangers::add_notice(conn, id, notice).await?;
        assert_eq!(strangers::open_of(conn, &alice().id).await?.unwrap().id, id);
        assert_eq!(strangers::settle(conn, id, "discord:1", 7).await?, Some(vec![notice]));
        assert_eq!(strangers::settle(conn, id, "discord:2", 8).await?, None, "the first admin wins");
        assert_eq!(strangers::get(conn, id).await?.unwrap().settled_by.as_deref(), Some("discord:1"));
        assert_eq!(strangers::open_of(conn, &alice().id).await?, None);
        assert_eq!(strangers::meet(conn, &alice(), &room(), 9).await?, Some(id), "unknown again");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_lane_runs_one_task_at_a_time() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let one = topics::open(conn, &room(), "one", NamedBy::Code, 1).await?;
        let two = topics::open(conn, &room(), "two", NamedBy::Code, 2).await?;
        for topic in [one, one, two] {
            tasks::enqueue_message(conn, &origin(), topic, 5).await?;
        }
        assert!(!tasks::all_done(conn).await?);
        assert_eq!(tasks::load(conn).await?, (2, 0), "one queued task is enough for a mailbox");
        let claimed = tasks::claim(conn, 10, 5, 60).await?;
        assert_eq!(claimed.iter().map(|task| task.lane.as_str()).collect::<Vec<_>>(), ["main/1", "main/2"]);
        tasks::enqueue_message(conn, &origin(), one, 6).await?;
        assert!(!tasks::look(conn, 7).await?.claimable);
        assert!(tasks::claim(conn, 10, 7, 60).await?.is_empty(), "its lane is busy");
        assert!(tasks::ask_to_stop(conn, two, tasks::StopAsked::Message).await?);
        assert!(tasks::ask_to_stop(conn, two, tasks::StopAsked::Person).await?);
        assert!(!tasks::ask_to_stop(conn, two, tasks::StopAsked::Message).await?, "a person's word stands");
        assert_eq!(tasks::to_stop(conn).await?, [(claimed[1].id, tasks::StopAsked::Person)]);
        tasks::renew(conn, &[claimed[0].id], 100).await?;
        assert_eq!(tasks::abandoned(conn, Some(80)).await?, [(claimed[1].id, 1)]);
        assert_eq!(tasks::abandoned(conn, None).await?.len(), 2);
        tasks::put_back(conn, &[claimed[0].id], 50).await?;
        assert_eq!(tasks::load(conn).await?, (1, 1), "the later task of the lane is merged into it");
        let found = tasks::look(conn, 7).await?;
        assert_eq!(found, tasks::Found { claimable: true, to_stop: true, next_due: None });
        assert_eq!(tasks::claim(conn, 10, 50, 60).await?[0].attempts, 2);
        tasks::leave(conn, claimed[0].id, 50).await?;
        assert_eq!(tasks::claim(conn, 10, 50, 60).await?[0].attempts, 2, "a stop in good order is no death");
        assert!(tasks::finish(conn, claimed[0].id, End::Done, "", 51).await?);
        assert!(!tasks::finish(conn, claimed[0].id, End::Failed, "", 52).await?);
        assert_eq!(tasks::open_of_topic(conn, two).await?, [(claimed[1].id, "running".to_owned())]);
        Ok(())
    })
    .await
    .unwrap();
    let second = db
        .tx("two running in one lane", async |conn| {
            let sql = "INSERT INTO tasks (team, lane, kind, priority, state, created_at, due_at, leased_until)
                       VALUES ('main', 'main/2', 'message', 1, 'running', 1, 1, 1)";
            sql::query(sql).execute(conn).await
        })
        .await;
    assert!(format!("{:#}", second.unwrap_err()).contains("UNIQUE constraint failed: tasks.lane"));
}

#[tokio::test]
async fn a_turn_is_journaled_and_read_back() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let topic = topics::open(conn, &room(), "one", NamedBy::Code, 1).await?;
        tasks::enqueue_message(conn, &Origin { topic: Some(topic), ..origin() }, topic, 5).await?;
        let task = tasks::claim(conn, 1, 5, 60).await?.remove(0);
        let run = runs::enter(conn, &task, task.origin.topic, 6).await?;
        journal::append(conn, run.id, Some(topic), 1, journal::Role::User, "[]", 6).await?;
        journal::append(conn, run.id, Some(topic), 1, journal::Role::Assistant, "[1]", 7).await?;
        runs::step(conn, run.id).await?;
        assert_eq!(
            runs::enter(conn, &task, task.origin.topic, 8).await?,
            runs::Run { id: run.id, steps: 1 },
            "entered again"
        );
        assert_eq!(runs::of_task(conn, task.id).await?.map(|run| run.steps), Some(1));
        assert!(calls::start(conn, run.id, 1, "a", "read", "{}", 7).await?);
        assert!(!calls::start(conn, run.id, 1, "a", "read", "{}", 7).await?, "said before");
        assert!(calls::start(conn, run.id, 1, "b", "list", "{}", 7).await?);
        assert_eq!(calls::repeats(conn, run.id, "read", "{}").await?, 1);
        assert_eq!(calls::get(conn, run.id, 1, "b").await?.map(|call| call.tool), Some("list".into()));
        assert_eq!(calls::get(conn, run.id, 2, "b").await?, None);
        calls::finish(conn, run.id, 1, "a", false, "text", 8).await?;
        assert_eq!(calls::interrupt(conn, run.id, 9).await?, 1);
        let states: Vec<_> = calls::of_run(conn, run.id).await?.into_iter().map(|call| call.state).collect();
        assert_eq!(states, [calls::State::Finished, calls::State::Interrupted]);
        assert_eq!(calls::of_topic(conn, topic, run.id).await?.len(), 2);
        let given = calls::of_tools(conn, run.id, &["read", "write"]).await?;
        let read = given.iter().map(|call| (call.call_id.as_str(), call.arguments.as_str(), call.open, call.is_error));
        assert_eq!(read.collect::<Vec<_>>(), [("a", "{}", false, false)], "those of other tools are left out");
        assert_eq!(journal::of_run(conn, run.id).await?.len(), 2);
        assert_eq!(journal::of_topic(conn, topic, 0, None, 1).await?[0].content, "[1]", "the newest");
        assert!(journal::of_topic(conn, topic, 0, Some(run.id), 9).await?.is_empty());
        assert_eq!(journal::turns_of_topic(conn, topic).await?, 1);
        assert_eq!(runs::origin(conn, run.id).await?, task.origin);
        summaries::add(conn, topic, 1, "short", 9).await?;
        summaries::add(conn, topic, 2, "shorter", 9).await?;
        assert_eq!(summaries::latest(conn, topic).await?, Some((2, "shorter".into())));
        assert!(runs::finish(conn, run, End::Done, "", 10).await?);
        assert!(!runs::finish(conn, run, End::Failed, "", 10).await?);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn the_outbox_keeps_the_order_of_each_conversation() {
    let (db, _folder) = database().await;
    let ms = std::time::Duration::from_millis;
    let other = ConversationId::new(Kind::Discord, 9);
    db.tx("test", async |conn| {
        let first = outbox::push(conn, &outbox::New::message(&room(), hello()), 1).await?;
        let second = outbox::push(conn, &outbox::New::message(&room(), hello()), 1).await?;
        let third = outbox::push(conn, &outbox::New::message(&other, hello()), 1).await?;
        assert_eq!(outbox::waiting(conn, 10, 1).await?, [(room(), 1), (other.clone(), 1)]);
        assert_eq!(outbox::get(conn, first).await?, outbox::head(conn, &room()).await?);
        outbox::begin(conn, first, 5).await?;
        outbox::wait_in_doubt(conn, first, ms(15), 5).await?;
        assert_eq!(outbox::waiting(conn, 10, 1).await?, [(other.clone(), 1), (room(), 20)]);
        assert!(outbox::head(conn, &room()).await?.unwrap().cut_off);
        outbox::drop_handle(conn, first).await?;
        outbox::begin(conn, first, 6).await?;
        outbox::put_off(conn, first, ms(24), "429", 6).await?;
        let row = outbox::head(conn, &room()).await?.unwrap();
        assert_eq!((row.attempts, row.first_attempt_at, row.due_at, row.cut_off), (2, Some(5), 30, false));
        outbox::begin(conn, first, 31).await?;
        outbox::sent(conn, first, "m1", 32).await?;
        assert_eq!(outbox::head(conn, &room()).await?.unwrap().id, second);
        outbox::give_up(conn, second, Loss::Dead, "gone", 33).await?;
        assert_eq!(outbox::losses(conn, 5).await?, [(room().to_string(), "dead".into(), "gone".into(), 33)]);
        let edit = Action::Edit { message_id: String::new(), piece: Piece::default() };
        let new = outbox::New { target: Some(first), ..outbox::New::message(&room(), edit) };
        outbox::push(conn, &new, 34).await?;
        let row = outbox::head(conn, &room()).await?.unwrap();
        assert_eq!(
            (row.target_lost, row.action),
            (false, Action::Edit { message_id: "m1".into(), piece: Piece::default() })
        );
        outbox::replace(conn, row.id, &Action::Delete { message_id: String::new() }).await?;
        assert_eq!(outbox::head(conn, &room()).await?.unwrap().action, Action::Delete { message_id: "m1".into() });
        assert_eq!(outbox::move_to(conn, &room(), &other).await?, 1);
        assert_eq!(outbox::head(conn, &other).await?.unwrap().id, third);
        assert_eq!(outbox::counts(conn).await?.len(), 3);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn nothing_to_be_sent_waits_for_a_clock_that_was_set_back() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let hour = 3_600_000;
        let now = 10 * hour;
        let id = outbox::push(conn, &outbox::New::message(&room(), hello()), now).await?;
        let due = async |conn: &mut Conn, at: i64| {
            let waits = outbox::waiting(conn, 10, at).await?;
            let head = outbox::head(conn, &room()).await?.unwrap();
            assert_eq!(head.is_due(at), waits[0].1 <= at, "the scan and the row say the same");
            anyhow::Ok(head.is_due(at))
        };
        // Never tried.
        for at in [now, now - 60_000, now - 2 * hour] {
            assert!(due(conn, at).await?, "{}", now - at);
        }
        // Cut off in its first attempt.
        outbox::begin(conn, id, now).await?;
        assert!(due(conn, now - 60_000).await?);
        // Put off: it waits, and not for the clock.
        outbox::put_off(conn, id, std::time::Duration::from_secs(60), "429", now).await?;
        for (at, is_due) in [(now + 60_000, true), (now, false), (now - 60_000, false), (now - 2 * hour, true)] {
            assert_eq!(due(conn, at).await?, is_due, "{}", now - at);
        }
        // However long a platform asks for: it says so again.
        outbox::begin(conn, id, now).await?;
        outbox::put_off(conn, id, std::time::Duration::MAX, "429", now).await?;
        assert_eq!(outbox::waiting(conn, 10, now).await?, [(room(), now + hour)]);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_draft_becomes_a_message_or_nothing_or_a_question() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let topic = topics::open(conn, &room(), "one", NamedBy::Code, 1).await?;
        tasks::enqueue_message(conn, &origin(), topic, 1).await?;
        let task = tasks::claim(conn, 1, 1, 9).await?.remove(0);
        let run = runs::enter(conn, &task, task.origin.topic, 1).await?.id;
        let new = outbox::New { run: Some(run), topic: Some(topic), ..outbox::New::message(&room(), hello()) };
        // Never tried: nothing is left of it.
        outbox::draft(conn, &new, 1).await?;
        let draft = outbox::draft_of(conn, run).await?.unwrap();
        assert!(!draft.tried);
        outbox::end_draft(conn, &draft, 2).await?;
        assert_eq!(outbox::draft_of(conn, run).await?, None);
        assert!(outbox::counts(conn).await?.is_empty());
        // Tried, and the answer never came: it is looked for, or sent again under the same key.
        let id = outbox::draft(conn, &new, 3).await?;
        outbox::begin(conn, id, 3).await?;
        assert!(outbox::draft_of(conn, run).await?.unwrap().tried);
        outbox::not_shown(conn, id).await?;
        assert!(!outbox::draft_of(conn, run).await?.unwrap().tried, "it was certainly not sent");
        outbox::begin(conn, id, 3).await?;
        assert_eq!(outbox::waiting(conn, 9, 3).await?.len(), 0, "a draft is not in the queue");
        let draft = outbox::draft_of(conn, run).await?.unwrap();
        outbox::end_draft(conn, &draft, 4).await?;
        assert!(outbox::head(conn, &room()).await?.unwrap().cut_off);
        outbox::sent(conn, id, "m0", 4).await?;
        // Shown: a message like any other.
        let id = outbox::draft(conn, &new, 5).await?;
        outbox::begin(conn, id, 5).await?;
        outbox::shown(conn, id, "m9").await?;
        let draft = outbox::draft_of(conn, run).await?.unwrap();
        outbox::end_draft(conn, &draft, 6).await?;
        assert_eq!(outbox::topic_of(conn, &room(), "m9").await?, Some(topic));
        assert_eq!(outbox::head(conn, &room()).await?, None);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn topics_age_and_keep_within_their_cap() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let mut ids = Vec::new();
        for at in 1..=6 {
            ids.push(topics::open(conn, &room(), &format!("t{at}"), NamedBy::Code, at).await?);
        }
        topics::keep_within_cap(conn, &room(), ids[0], 5).await?;
        let states: Vec<_> =
            topics::open_ones(conn, &room()).await?.into_iter().map(|topic| (topic.id, topic.state)).collect();
        assert_eq!(states.iter().filter(|(_, state)| *state == topics::State::Active).count(), 5);
        assert!(states.contains(&(ids[0], topics::State::Active)) && states.contains(&(ids[1], topics::State::Idle)));
        topics::choose(conn, &room(), &alice().id, ids[4], 7).await?;
        topics::forget_choice(conn, &room(), &alice().id).await?;
        assert_eq!(topics::choice(conn, &room(), &alice().id).await?, None);
        topics::choose(conn, &room(), &alice().id, ids[5], 7).await?;
        assert_eq!(topics::choice(conn, &room(), &alice().id).await?, Some(ids[5]));
        tasks::enqueue_message(conn, &origin(), ids[2], 7).await?;
        assert_eq!(topics::age(conn, 100, 3).await?, 5, "all but the one with work in it");
        assert_eq!(topics::choice(conn, &room(), &alice().id).await?, None, "an idle topic is nobody's choice");
        assert_eq!(topics::get(conn, ids[0]).await?.unwrap().state, topics::State::Closed);
        topics::touch(conn, ids[0], 200).await?;
        topics::rename(conn, ids[0], "renamed", NamedBy::Person).await?;
        topics::answered(conn, ids[0], "words", 200).await?;
        let topic = topics::get(conn, ids[0]).await?.unwrap();
        assert_eq!(
            (topic.state, topic.name.as_str(), topic.named_by),
            (topics::State::Active, "renamed", NamedBy::Person)
        );
        assert_eq!(topics::everywhere(conn, 1).await?[0].id, ids[0]);
        let thread = ConversationId::new(Kind::Discord, 5);
        let whole = topics::open(conn, &thread, "thread", NamedBy::Conversation, 1).await?;
        assert_eq!(topics::whole(conn, &thread).await?.unwrap().id, whole);
        assert_eq!(topics::move_to(conn, &thread, &ConversationId::new(Kind::Discord, 6)).await?, 1);
        assert_eq!(topics::move_to(conn, &ConversationId::new(Kind::Discord, 6), &thread).await?, 1);
        topics::set_state(conn, whole, topics::State::Closed).await?;
        assert!(topics::open_ones(conn, &thread).await?.is_empty());
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn trust_rows_are_unique_per_sender_and_place() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let row = trust::Row {
            sender: alice().id,
            conversation: None,
            level: trust::Level::Trusted,
            admin: true,
            granted_by: "cli".into(),
            created_at: 1,
            expires_at: None,
        };
        trust::set(conn, &row).await?;
        let denied = trust::Row { level: trust::Level::Denied, admin: false, expires_at: Some(9), ..row.clone() };
        trust::set(conn, &denied).await?;
        let here = trust::Row { conversation: Some(room()), admin: false, ..row.clone() };
        trust::set(conn, &here).await?;
        assert_eq!(trust::of_sender(conn, &alice().id).await?, [denied.clone(), here.clone()]);
        assert_eq!(trust::list(conn, Some(Kind::Telegram), Some(trust::Level::Denied)).await?, [denied]);
        assert!(trust::list(conn, Some(Kind::Discord), None).await?.is_empty());
        assert!(trust::remove(conn, &alice().id, Some(&room())).await?);
        assert!(!trust::remove(conn, &alice().id, Some(&room())).await?);
        let entry = trust::Audit {
            sender: alice().id,
            conversation: room().local().into(),
            decision: "allowed".into(),
            reason: "db_trusted".into(),
            actor: None,
            at: 3,
        };
        trust::log(conn, &entry).await?;
        assert_eq!(trust::log_latest(conn, false, 5).await?, [entry]);
        assert!(trust::log_latest(conn, true, 5).await?.is_empty());
        trust::set_direct(conn, &alice().id, &room(), 4).await?;
        assert_eq!(trust::direct(conn, &alice().id).await?, Some(room()));
        pairings::add(conn, "digest", 1, 10).await?;
        assert!(!pairings::redeem(conn, "digest", &alice().id, 11).await?, "expired");
        assert!(pairings::redeem(conn, "digest", &alice().id, 9).await?);
        assert!(!pairings::redeem(conn, "digest", &alice().id, 9).await?, "used");
        pairings::add_try(conn, &alice().id, 9).await?;
        assert_eq!(pairings::tries(conn, &alice().id, 9).await?, 1);
        assert_eq!(pairings::tries(conn, &alice().id, 10).await?, 0);
        Ok(())
    })
    .await
    .unwrap();
    let refused = db
        .tx("an admin who is denied", async |conn| {
            let sql = "INSERT INTO sender_trust (channel_type, sender_id, trust_level, admin, granted_by, created_at)
                       VALUES ('discord', '1', 'denied', 1, 'x', 1)";
            sql::query(sql).execute(conn).await
        })
        .await;
    assert!(format!("{:#}", refused.unwrap_err()).contains("CHECK constraint failed"));
}

#[tokio::test]
async fn the_ledger_adds_up_and_settings_and_cursors_are_kept() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let entry = usage::Entry {
            run: None,
            team: "main".into(),
            topic: None,
            sender: Some("telegram:42".into()),
            purpose: "turn",
            model: "a:b".into(),
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: 3,
            cache_write_tokens: 4,
            cost_micro_usd: Some(5),
        };
        usage::add(conn, &entry, 10).await?;
        usage::add(conn, &usage::Entry { cost_micro_usd: None, ..entry }, 10).await?;
        let both = usage::Spent { calls: 2, tokens: 20, cost_micro_usd: 5, unpriced: 1 };
        assert_eq!(usage::of_day(conn, 0, None).await?, both);
        assert_eq!(usage::of_day(conn, 1, None).await?, usage::Spent::default());
        assert_eq!(usage::of_team(conn, 0, &base::TeamName::main()).await?, both);
        assert_eq!(usage::of_team(conn, 1, &base::TeamName::main()).await?, usage::Spent::default());
        for what in [usage::By::Topic, usage::By::Team, usage::By::Sender, usage::By::Model] {
            assert_eq!(usage::by(conn, what, 0, 5).await?[0].1, both);
        }
        let cursor = Cursor { stream: "telegram/updates".into(), value: "5".into() };
        cursors::set(conn, &cursor, 1).await?;
        cursors::set(conn, &Cursor { value: "6".into(), ..cursor.clone() }, 1).await?;
        assert_eq!(cursors::of_kind(conn, Kind::Telegram).await?[0].value, "6");
        assert!(cursors::of_kind(conn, Kind::Discord).await?.is_empty());
        let made = settings::instance(conn, 255).await?;
        assert_eq!((made.as_str(), settings::instance(conn, 256).await?.as_str()), ("ff", "ff"));
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn everything_old_goes_and_nothing_else() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let topic = topics::open(conn, &room(), "one", NamedBy::Code, 1).await?;
        let id = inbox::insert(conn, &message("1", "x"), inbox::State::Received, 1).await?.unwrap();
        inbox::insert(conn, &message("2", "x"), inbox::State::Held, 1).await?;
        inbox::insert(conn, &message("3", "x"), inbox::State::Received, 1).await?;
        inbox::place(conn, id, topic).await?;
        tasks::enqueue_message(conn, &origin(), topic, 1).await?;
        let task = tasks::claim(conn, 1, 1, 9).await?.remove(0);
        let run = runs::enter(conn, &task, task.origin.topic, 1).await?;
        inbox::take(conn, id, run.id).await?;
        journal::append(conn, run.id, Some(topic), 1, journal::Role::User, "[]", 1).await?;
        runs::finish(conn, run, End::Done, "", 2).await?;
        tasks::finish(conn, task.id, End::Done, "", 2).await?;
        let first =
            outbox::push(conn, &outbox::New { topic: Some(topic), ..outbox::New::message(&room(), hello()) }, 1)
                .await?;
        let edit = outbox::New {
            target: Some(first),
            ..outbox::New::message(&room(), Action::Delete { message_id: String::new() })
        };
        let second = outbox::push(conn, &edit, 1).await?;
        for id in [first, second] {
            outbox::sent(conn, id, "m", 2).await?;
        }
        topics::set_state(conn, topic, topics::State::Closed).await?;
        let before = retention::Before { talk: 100, journal: 100, decisions: 100, changes: 100, usage: 100, held: 0 };
        while retention::prune(conn, &before, 1).await? > 0 {}
        assert_eq!(inbox::counts(conn).await?, [("held".to_owned(), 1), ("received".to_owned(), 1)]);
        assert!(outbox::counts(conn).await?.is_empty());
        assert_eq!(topics::get(conn, topic).await?, None);
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn writers_that_meet_share_a_commit_and_a_failing_one_takes_nobody_with_it() {
    let (db, folder) = database().await;
    let mut together = tokio::task::JoinSet::new();
    for number in 0..40_i64 {
        let db = db.clone();
        together.spawn(async move {
            db.tx("write a setting", async |conn| {
                settings::set(conn, &number.to_string(), "x").await?;
                anyhow::ensure!(number % 4 != 0, "on purpose");
                Ok(())
            })
            .await
            .is_ok()
        });
    }
    let good = together.join_all().await.into_iter().filter(|good| *good).count();
    assert_eq!(good, 30);
    drop(db);
    let again = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let count: i64 = again
        .read(async |conn| Ok(sql::query_scalar("SELECT count(*) FROM settings").fetch_one(conn).await?))
        .await
        .unwrap();
    assert_eq!(count, 30, "what was promised is there, what failed is not");
}

#[tokio::test]
async fn a_writer_dropped_in_the_middle_leaves_nothing_behind() {
    let (db, _folder) = database().await;
    let started = Arc::new(tokio::sync::Notify::new());
    let (other, bell) = (db.clone(), started.clone());
    #[expect(clippy::disallowed_methods, reason = "only a spawned task can be aborted")]
    let cut = tokio::spawn(async move {
        other
            .tx("cut", async |conn| {
                settings::set(conn, "cut", "x").await?;
                bell.notify_one();
                std::future::pending::<()>().await;
                Ok(())
            })
            .await
    });
    started.notified().await;
    cut.abort();
    assert!(cut.await.is_err());
    let found = db.tx("after", async |conn| settings::get(conn, "cut").await);
    assert_eq!(tokio::time::timeout(Duration::from_secs(5), found).await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn a_bell_rings_when_one_of_its_rows_changed_and_only_then() {
    let (db, _folder) = database().await;
    let (mut inbox, mut outbox) = (db.changes(Bell::Inbox), db.changes(Bell::Outbox));
    inbox.mark_unchanged();
    outbox.mark_unchanged();
    db.tx("nothing", async |conn| inbox::waiting_conversations(conn).await).await.unwrap();
    db.note("something else", async |conn| settings::set(conn, "a", "b").await).await.unwrap();
    assert!(!inbox.has_changed().unwrap() && !outbox.has_changed().unwrap());
    let came =
        db.note("a message", async |conn| inbox::insert(conn, &message("1", "x"), inbox::State::Received, 1).await);
    assert!(came.await.unwrap().is_some());
    assert!(inbox.has_changed().unwrap() && !outbox.has_changed().unwrap());
    db.ring_all();
    assert!(outbox.has_changed().unwrap());
}

#[tokio::test]
async fn a_dead_database_keeps_what_was_committed() {
    let (db, folder) = database().await;
    db.die_after_named("second");
    for name in ["first", "second", "third"] {
        let write = db.tx(name, async |conn| settings::set(conn, name, "x").await);
        let ended = tokio::time::timeout(Duration::from_millis(300), write).await.is_ok();
        assert_eq!(ended, name == "first", "{name}");
    }
    assert!(db.is_dead());
    let again = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let names = ["first", "second", "third"];
    for (name, there) in names.into_iter().zip([true, true, false]) {
        assert_eq!(again.read(async |conn| settings::get(conn, name).await).await.unwrap().is_some(), there, "{name}");
    }
}

#[tokio::test]
async fn each_transaction_is_as_sure_as_it_asks_to_be() {
    let (db, _folder) = database().await;
    let level = async |conn: &mut Conn| {
        let level: i64 = sql::query_scalar("PRAGMA synchronous").fetch_one(conn).await?;
        Ok(level)
    };
    let (normal, full) = (1, 2);
    for _ in 0..3 {
        assert_eq!(db.tx("survives a power cut", level).await.unwrap(), full);
        assert_eq!(db.note("survives a crash", level).await.unwrap(), normal);
    }
}

#[tokio::test(start_paused = true)]
async fn no_time_passes_on_a_paused_clock() {
    let folder = tempfile::tempdir().unwrap();
    let before = tokio::time::Instant::now();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    for number in 0..20 {
        db.tx("write", async |conn| settings::set(conn, "n", &number.to_string()).await).await.unwrap();
    }
    assert_eq!(db.read(async |conn| settings::get(conn, "n").await).await.unwrap().as_deref(), Some("19"));
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_file_that_is_no_database_and_one_from_the_future_are_refused_in_words() {
    let (db, folder) = database().await;
    let broken = folder.path().join("text.db");
    std::fs::write(&broken, "this is not a database, but it is long enough to be read as a header by anybody").unwrap();
    let error = format!("{:#}", Db::open(&broken).await.err().unwrap());
    assert!(error.contains("this file is not a database"), "{error}");
    db.tx("a later version", async |conn| {
        let sql = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                   VALUES (9999, 'later', 1, x'00', 0)";
        sql::query(sql).execute(conn).await
    })
    .await
    .unwrap();
    let error = format!("{:#}", Db::open(db.path()).await.err().unwrap());
    assert!(error.contains("written by a newer version"), "{error}");
}

#[tokio::test]
async fn a_backup_is_a_whole_database() {
    let (db, folder) = database().await;
    db.tx("write", async |conn| settings::set(conn, "a", "b").await).await.unwrap();
    let copy = folder.path().join("copy.db");
    db.backup(&copy).await.unwrap();
    let copy = Db::open(&copy).await.unwrap();
    assert_eq!(copy.read(async |conn| settings::get(conn, "a").await).await.unwrap().as_deref(), Some("b"));
    assert_eq!(copy.read(async |conn| integrity(conn).await).await.unwrap(), "ok");
    assert!(db.backup(db.path()).await.is_err(), "an existing file is not overwritten");
}

fn audited(call_id: &str, decision: audit::Decision) -> audit::Entry {
    audit::Entry {
        team: base::TeamName::main(),
        tool: "read_file".into(),
        sender: Some(alice().id),
        run: base::RunId(1),
        step: 1,
        call_id: call_id.into(),
        arguments: "{}".into(),
        decision,
        outcome: audit::Outcome::Done,
        duration_ms: 3,
    }
}

#[tokio::test]
async fn the_audit_is_a_chain_that_shows_every_change() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        for (at, id) in [(10, "a"), (20, "b"), (15, "c"), (40, "d")] {
            audit::append(conn, &audited(id, audit::Decision::Allowed), at).await?;
        }
        audit::append(conn, &audited("e", audit::Decision::Refused("no".into())), 50).await?;
        assert_eq!(audit::verify(conn).await?, audit::Verified::Whole { rows: 5 });
        assert_eq!(audit::latest(conn, 1).await?[0].reason, "no");
        assert_eq!(audit::prune(conn, 18, 100).await?, 1, "only from the beginning, so that there is no hole");
        assert_eq!(audit::verify(conn).await?, audit::Verified::Whole { rows: 4 });
        assert_eq!(audit::prune(conn, 30, 1).await?, 1, "at most so many at once");
        assert_eq!(audit::prune(conn, 30, 9).await?, 1);
        assert_eq!(audit::verify(conn).await?, audit::Verified::Whole { rows: 2 });
        let changed = sql::query("UPDATE audit SET tool = 'other'").execute(conn).await;
        assert!(format!("{:#}", changed.unwrap_err()).contains("an audit row is never changed"));
        Ok(())
    })
    .await
    .unwrap();
    let spoilt = async |spoil: &'static str| {
        db.tx("spoil", async |conn| {
            conn.run("DROP TRIGGER IF EXISTS audit_is_never_changed")?;
            sql::query(spoil).execute(conn).await?;
            audit::verify(conn).await
        })
        .await
        .unwrap()
    };
    let broken = spoilt("UPDATE audit SET outcome = 'failed' WHERE call_id = 'd'").await;
    assert_eq!(broken, audit::Verified::Broken { id: 4, why: "it was changed" });
    let broken = spoilt("DELETE FROM audit WHERE call_id = 'd'").await;
    assert_eq!(broken, audit::Verified::Broken { id: 5, why: "the row before it is missing or was changed" });
}

#[tokio::test]
async fn a_vaults_row_is_replaced_by_its_next_version_only() {
    let (db, _folder) = database().await;
    let (ops, docs): (base::TeamName, base::TeamName) = ("ops".parse().unwrap(), "docs".parse().unwrap());
    let sealed = |byte: u8| vault::Sealed { nonce: vec![byte; 24], sealed: vec![byte; 20] };
    let row = |team: &base::TeamName, key: &str, version: i64, is_secret: bool| vault::Row {
        team: team.clone(),
        key: key.to_owned(),
        version,
        is_secret,
        value: sealed(u8::try_from(version).unwrap()),
        updated_by: is_secret.then(|| "main".to_owned()),
        created_at: 1,
        updated_at: version,
    };
    db.tx("test", async |conn| {
        assert_eq!(vault::check(conn).await?, None);
        vault::set_check(conn, &sealed(7)).await?;
        vault::set_check(conn, &sealed(8)).await?;
        assert_eq!(vault::check(conn).await?, Some(sealed(8)));
        assert!(vault::is_empty(conn).await?);
        vault::forget_check(conn).await?;
        assert_eq!(vault::check(conn).await?, None);
        vault::set_check(conn, &sealed(8)).await?;
        assert!(vault::put(conn, &row(&ops, "a", 1, false)).await?);
        assert!(!vault::put(conn, &row(&ops, "a", 1, false)).await?, "it is there already");
        assert!(!vault::put(conn, &row(&ops, "a", 3, false)).await?, "not the version before it");
        assert!(vault::put(conn, &row(&ops, "a", 2, true)).await?);
        assert!(vault::put(conn, &row(&ops, "a%", 1, false)).await?);
        assert!(vault::put(conn, &row(&docs, "a", 1, true)).await?);
        assert!(!vault::is_empty(conn).await?);
        vault::forget_check(conn).await?;
        assert_eq!(vault::check(conn).await?, Some(sealed(8)), "the key of what is there is not forgotten");
        assert_eq!(vault::get(conn, &ops, "a").await?, Some(row(&ops, "a", 2, true)));
        assert_eq!(vault::list(conn, &ops, "a%").await?, [row(&ops, "a%", 1, false)]);
        assert_eq!((vault::list(conn, &ops, "").await?.len(), vault::count(conn, &ops).await?), (2, 2));
        assert_eq!(vault::secrets(conn).await?, [row(&docs, "a", 1, true), row(&ops, "a", 2, true)]);
        assert_eq!(vault::all(conn).await?.len(), 3);
        assert!(!vault::remove(conn, &ops, "a", 1).await?, "another version");
        assert!(vault::remove(conn, &ops, "a", 2).await?);
        assert_eq!((vault::remove_team(conn, &ops).await?, vault::remove_team(conn, &ops).await?), (1, 0));
        Ok(())
    })
    .await
    .unwrap();
    let plain = row(&docs, "a", 2, false);
    let error = db.tx("test", async |conn| vault::put(conn, &plain).await).await.unwrap_err();
    assert!(format!("{error:#}").contains("a secret never becomes a plain value"), "{error:#}");
    let gap = "UPDATE team_vault SET version = 5 WHERE team = 'docs'";
    let error = db.tx("test", async |conn| sql::query(gap).execute(conn).await).await.unwrap_err();
    assert!(format!("{error:#}").contains("exactly the next version"), "{error:#}");
}

#[tokio::test]
async fn memories_chain_and_their_index_follows() {
    let (db, _folder) = database().await;
    let (ops, docs): (base::TeamName, base::TeamName) = ("ops".parse().unwrap(), "docs".parse().unwrap());
    let steps = async |conn: &mut Conn| {
        let new = memory::New {
            team: &ops,
            key: "host",
            content: "The host is db1.",
            kind: "decision",
            supersedes_id: None,
            supersede_reason: None,
            updated_by: Some("ops"),
        };
        let first = memory::insert(conn, &new, 1).await?;
        let vector = [0.5_f32, -1.0];
        let chunk = memory::NewChunk { title: "host", content: new.content, spaced: None, words: 5, vector: None };
        memory::add_chunk(conn, &ops, first, 0, &chunk).await?;
        memory::retire(conn, first, 2).await?;
        let next = memory::New { content: "Hosts are db1, db2.", supersedes_id: Some(first), ..new };
        let second = memory::insert(conn, &next, 2).await?;
        let spaced = memory::NewChunk { content: next.content, spaced: Some("Hosts are"), words: 3, ..chunk };
        memory::add_chunk(conn, &ops, second, 0, &memory::NewChunk { vector: Some(("m", &vector)), ..spaced }).await?;
        assert_eq!(memory::active(conn, &ops, "host").await?, memory::entry(conn, &ops, second).await?);
        assert_eq!(memory::entry(conn, &docs, second).await?, None);
        assert_eq!(memory::list(conn, &ops, Some("decision"), 9).await?.len(), 1);
        assert_eq!(memory::list(conn, &ops, Some("lesson"), 9).await?, []);

        assert_eq!(memory::totals(conn, &ops).await?, memory::Totals { chunks: 2, words: 8, stamp: 2 });
        assert_eq!(memory::terms(conn, "The HOSTS, hosting \"db2\"").await?, ["db2", "host", "the"]);
        assert_eq!((memory::places_of(conn, "host").await?, memory::places_of(conn, "no").await?), (4, 0));
        let places = memory::places(conn, "host", 9).await?;
        assert_eq!(places, [(1, true), (1, false), (2, true), (2, false)]);
        let ranked = memory::ranked(conn, &ops, &["db1", "\"'(AND"], (1.0, 1.0), 9).await?;
        assert_eq!(
            ranked.iter().map(|(chunk, _)| *chunk).collect::<Vec<_>>(),
            [1],
            "what was indexed is the spaced text"
        );
        assert_eq!(memory::found(conn, &ops, &[2, 1, 7]).await?.len(), 2);
        assert_eq!(memory::found(conn, &docs, &[1]).await?, []);

        assert_eq!(memory::stale(conn, "m", 9).await?.len(), 1);
        memory::set_vector(conn, 1, "m", &vector).await?;
        assert_eq!(memory::stale(conn, "m", 9).await?, []);
        let slots = memory::slots_after(conn, &ops, "m", 2, 9).await?;
        assert_eq!(slots, [memory::Slot { chunk: 1, stamp: 3, words: 5, vector: Some(vector.to_vec()) }]);
        memory::check_index(conn).await?;
        anyhow::Ok(())
    };
    db.tx("save", steps).await.unwrap();
    let change =
        async |conn: &mut Conn| sql::query("UPDATE memory_chunks SET content = 'x'").execute(conn).await.map(|_| ());
    assert!(db.tx("change a chunk", change).await.is_err());
    let end = async |conn: &mut Conn| {
        assert!(memory::delete(conn, &ops, "host", 5).await?);
        assert!(!memory::delete(conn, &ops, "host", 5).await?);
        assert_eq!(memory::totals(conn, &ops).await?, memory::Totals { chunks: 0, words: 0, stamp: 0 });
        memory::check_index(conn).await?;
        assert_eq!(memory::prune(conn, 5, 3, 9).await?, 0);
        assert_eq!(memory::prune(conn, 6, 3, 9).await?, 2);
        memory::remove_team(conn, &ops).await
    };
    db.tx("end", end).await.unwrap();
    assert_eq!(db.read(async |conn| integrity(conn).await).await.unwrap(), "ok");
}
