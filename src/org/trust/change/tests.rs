//! What a change of trust does to rows, and what it refuses to do.

use std::collections::BTreeSet;

use base::OutboxId;
use channels::{Action, Addressed, Button, Content, Emphasis, Inbound, Piece, Place, Sender, Text};
use store::Db;
use store::outbox::{self, New};

use super::*;
use crate::trust::KindPolicy;

async fn database() -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = Db::open(&folder.path().join("openhive.db")).await.expect("a new database");
    (db, folder)
}

fn alice() -> SenderId {
    SenderId::new(Kind::Telegram, 42)
}

fn boss() -> SenderId {
    SenderId::new(Kind::Discord, 1)
}

fn room() -> ConversationId {
    ConversationId::new(Kind::Telegram, -100)
}

fn change(sender: SenderId, conversation: Option<ConversationId>) -> Change {
    Change { sender, conversation, actor: Actor::Person(boss()), via: Via::Command, at: 50 }
}

/// A message of Alice's that is held, in the room or in a thread of it.
async fn hold(conn: &mut Conn, id: &str, conversation: &ConversationId, place: Place) -> Result<()> {
    let event = Inbound {
        conversation: conversation.clone(),
        place,
        event_id: id.into(),
        sender: Sender { id: alice(), name: "alice".into() },
        sent_at_ms: 1,
        addressed: Addressed::Mention,
        content: Content::Text(Text { text: "hello?".into(), ..Text::default() }),
    };
    inbox::insert(conn, &event, inbox::State::Held, 1).await?;
    Ok(())
}

/// Alice is met: the admins have a notice with buttons.
async fn meet(conn: &mut Conn) -> Result<OutboxId> {
    let sender = Sender { id: alice(), name: "alice".into() };
    let stranger = strangers::meet(conn, &sender, &room(), 2).await?.expect("she is new");
    let buttons = vec![vec![Button { label: "Trust".into(), data: "t".into(), emphasis: Emphasis::Plain }]];
    let asked = Piece { text: "<b>alice</b>?".into(), plain: "alice?".into(), buttons, files: vec![] };
    let admins = ConversationId::new(Kind::Telegram, 7);
    let notice = outbox::push(conn, &New::message(&admins, Action::Send(asked)), 2).await?;
    strangers::add_notice(conn, stranger, notice).await?;
    Ok(notice)
}

async fn states(conn: &mut Conn) -> Result<Vec<(String, i64)>> {
    inbox::counts(conn).await
}

#[tokio::test]
async fn a_grant_writes_the_row_and_the_log_and_hands_over_what_was_held() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let group = Place::Group { title: String::new() };
        hold(conn, "1", &room(), group).await?;
        let thread = ConversationId::new(Kind::Telegram, "-100/7");
        hold(conn, "2", &thread, Place::Thread { parent: room(), title: "ops".into() }).await?;
        let notice = meet(conn).await?;

        let done = grant(conn, &Policy::default(), &change(alice(), None), Role::Speaker, Some(90)).await?;
        assert_eq!(done, Ok(Changed { before: None, messages: 2, settled: true }));

        let row = trust::of_sender(conn, &alice()).await?.remove(0);
        assert_eq!((row.level, row.admin, row.granted_by.as_str()), (Level::Trusted, false, "discord:1"));
        assert_eq!((row.created_at, row.expires_at), (50, Some(90)));
        let entry = trust::log_latest(conn, true, 9).await?.remove(0);
        assert_eq!((entry.decision.as_str(), entry.reason.as_str(), entry.at), ("trusted", "command", 50));
        assert_eq!(entry.actor.as_deref(), Some("discord:1"));
        assert_eq!(states(conn).await?, [("received".to_owned(), 2)]);

        let edit = outbox::get(conn, OutboxId(notice.0 + 1)).await?.expect("the notice is closed").action;
        let Action::Edit { piece, .. } = edit else { panic!("{edit:?}") };
        assert!(piece.buttons.is_empty());
        assert_eq!(piece.plain, "alice?\n\nTrusted by discord:1.");
        assert!(piece.text.starts_with("<b>alice</b>?\n\n"), "{}", piece.text);
        Ok(())
    })
    .await
    .expect("every statement runs");
}

#[tokio::test]
async fn a_grant_in_one_conversation_leaves_the_question_open_while_more_is_held() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let elsewhere = ConversationId::new(Kind::Telegram, 9);
        let thread = ConversationId::new(Kind::Telegram, "-100/7");
        hold(conn, "1", &thread, Place::Thread { parent: room(), title: String::new() }).await?;
        hold(conn, "2", &elsewhere, Place::Direct).await?;
        meet(conn).await?;
        let policy = Policy::default();
        let here = grant(conn, &policy, &change(alice(), Some(room())), Role::Speaker, None).await?;
        assert_eq!(here.map(|done| (done.messages, done.settled)), Ok((1, false)), "the thread belongs to the room");
        let there = deny(conn, &policy, &change(alice(), Some(elsewhere)), None).await?;
        assert_eq!(there.map(|done| (done.messages, done.settled)), Ok((1, true)));
        assert_eq!(states(conn).await?, [("denied".to_owned(), 1), ("received".to_owned(), 1)]);
        Ok(())
    })
    .await
    .expect("every statement runs");
}

#[tokio::test]
async fn a_denial_buries_and_a_revocation_takes_it_back() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        hold(conn, "1", &room(), Place::Direct).await?;
        meet(conn).await?;
        let policy = Policy::default();
        let everywhere = change(alice(), None);
        let denied = deny(conn, &policy, &everywhere, None).await?;
        assert_eq!(denied.map(|done| (done.messages, done.settled)), Ok((1, true)));
        let refused = grant(conn, &policy, &change(alice(), Some(room())), Role::Speaker, None).await?;
        assert_eq!(refused, Err(Refusal::DeniedEverywhere(alice())));
        let revoked = revoke(conn, &policy, &everywhere).await?;
        assert_eq!(revoked.map(|done| done.before.map(|row| row.level)), Ok(Some(Level::Denied)));
        assert!(trust::of_sender(conn, &alice()).await?.is_empty());
        let words: Vec<_> = trust::log_latest(conn, true, 9).await?.into_iter().map(|entry| entry.decision).collect();
        assert_eq!(words, ["revoked", "denied"]);
        Ok(())
    })
    .await
    .expect("every statement runs");
}

#[tokio::test]
async fn a_grant_never_takes_the_role_of_an_admin() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let policy = Policy::default();
        let everywhere = change(alice(), None);
        let done = grant(conn, &policy, &everywhere, Role::Admin, None).await?;
        assert_eq!(done.map(|done| done.before), Ok(None));
        let done = grant(conn, &policy, &everywhere, Role::Speaker, None).await?;
        assert_eq!(done.map(|done| done.before.map(|row| row.admin)), Ok(Some(true)));
        assert!(trust::of_sender(conn, &alice()).await?[0].admin);
        let done = deny(conn, &policy, &everywhere, None).await?;
        assert!(done.is_ok(), "another admin may deny them");
        assert!(!trust::of_sender(conn, &alice()).await?[0].admin);
        Ok(())
    })
    .await
    .expect("every statement runs");
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let (db, _folder) = database().await;
    db.tx("test", async |conn| {
        let mut policy = Policy { admins: BTreeSet::from([boss()]), ..Policy::default() };
        let denied = KindPolicy { deny: BTreeSet::from(["66".to_owned()]), ..KindPolicy::default() };
        policy.kinds.insert(Kind::Telegram, denied);
        let terminal = SenderId::new(Kind::Console, "local");
        let mallory = SenderId::new(Kind::Telegram, 66);
        let discord = ConversationId::new(Kind::Discord, 9);

        let on = |sender: &SenderId, place: Option<&ConversationId>| change(sender.clone(), place.cloned());
        let grants = [
            (on(&terminal, None), Role::Speaker, None, Refusal::Terminal),
            (on(&mallory, None), Role::Speaker, None, Refusal::Denylist(mallory.clone())),
            (on(&alice(), Some(&room())), Role::Admin, None, Refusal::AdminInOnePlace),
            (on(&alice(), None), Role::Speaker, Some(50), Refusal::Over),
            (on(&alice(), Some(&discord)), Role::Speaker, None, Refusal::OtherPlatform(discord.clone(), alice())),
        ];
        for (change, role, expires_at, refusal) in grants {
            assert_eq!(grant(conn, &policy, &change, role, expires_at).await?, Err(refusal));
        }
        let paired = Change { actor: Actor::Person(alice()), ..on(&alice(), None) };
        let by_alice = Change { actor: Actor::Person(alice()), ..on(&boss(), None) };
        for (change, refusal) in [
            (on(&terminal, None), Refusal::Terminal),
            (on(&boss(), None), Refusal::Yourself),
            (by_alice, Refusal::EnvironmentAdmin(boss())),
            (paired.clone(), Refusal::Yourself),
        ] {
            assert_eq!(deny(conn, &policy, &change, None).await?, Err(refusal));
        }
        assert!(trust::list(conn, None, None).await?.is_empty());
        assert!(trust::log_latest(conn, false, 9).await?.is_empty());

        let nothing = Refusal::NotThere(alice(), None, vec![]);
        assert_eq!(revoke(conn, &policy, &on(&alice(), None)).await?, Err(nothing));
        grant(conn, &policy, &on(&alice(), Some(&room())), Role::Speaker, None).await?.expect("granted");
        let there = revoke(conn, &policy, &on(&alice(), None)).await?.expect_err("that row is another one");
        assert_eq!(there.to_string(), "nothing was said about telegram:42 everywhere, only in telegram:-100");
        grant(conn, &policy, &on(&alice(), None), Role::Admin, None).await?.expect("granted");
        assert_eq!(revoke(conn, &policy, &paired).await?, Err(Refusal::Yourself));
        Ok(())
    })
    .await
    .expect("every statement runs");
}
