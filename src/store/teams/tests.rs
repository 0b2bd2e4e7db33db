//! Every statement about teams, their queues and their notes runs; constraints refuse what must not be.

use base::{RunId, TaskId};

use super::*;
use crate::notes::Reader;
use crate::tasks::{End, Kind, New, Origin, Priority, StopAsked};
use crate::{Db, grants, notes, runs, tasks};

const NOW: Moment = 1_000;

async fn database() -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
    let tree = async |conn: &mut Conn| {
        for (name, parent) in [("ops", "main"), ("docs", "main"), ("web", "ops"), ("api", "web")] {
            assert!(add(conn, &team(name), &team(parent), "", State::Ready, NOW).await?);
        }
        Ok(())
    };
    db.tx("make a tree", tree).await.unwrap();
    (db, folder)
}

fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

fn names(teams: Vec<Team>) -> Vec<String> {
    teams.into_iter().map(|team| team.name.to_string()).collect()
}

#[tokio::test]
async fn a_tree_is_read_from_every_side() {
    let (db, _folder) = database().await;
    let look = async |conn: &mut Conn| {
        assert_eq!(names(children(conn, &team("main")).await?), ["docs", "ops"]);
        assert_eq!(names(descendants(conn, &team("ops")).await?), ["web", "api"]);
        assert_eq!(names(all_but_root(conn).await?), ["docs", "ops", "web", "api"]);
        assert_eq!(names(ancestors(conn, &team("api")).await?), ["main", "ops", "web"]);
        assert_eq!(super::names(conn).await?, ["api", "docs", "main", "ops", "web"].map(team));
        assert!(
            is_child(conn, &team("ops"), &team("web")).await? && !is_child(conn, &team("main"), &team("web")).await?
        );
        assert_eq!((count(conn).await?, get(conn, &team("api")).await?.unwrap().depth), (5, 3));
        assert_eq!(get(conn, &team("nobody")).await?, None);
        Ok(())
    };
    db.tx("look", look).await.unwrap();
}

#[tokio::test]
async fn a_team_moves_on_only_from_where_it_is() {
    let (db, _folder) = database().await;
    let change = async |conn: &mut Conn| {
        assert!(!add(conn, &team("ops"), &team("main"), "", State::Ready, NOW).await?, "the name is taken");
        assert!(!add(conn, &team("x"), &team("nobody"), "", State::Ready, NOW).await?, "there is no such parent");
        assert!(move_on(conn, &team("ops"), State::Ready, State::Closing).await?);
        assert!(!move_on(conn, &team("ops"), State::Ready, State::Failed).await?);
        assert!(!move_on(conn, &team("nobody"), State::Ready, State::Failed).await?);
        set_state(conn, &team("api"), State::Spawning).await?;
        assert_eq!(names(unsettled(conn).await?), ["api", "ops"]);
        Ok(())
    };
    db.tx("change", change).await.unwrap();
    // Nobody goes before their children, and nobody becomes a second root.
    assert!(db.tx("remove", async |conn| remove(conn, &team("web")).await).await.is_err());
    let orphan = async |conn: &mut Conn| {
        sql::query("UPDATE teams SET parent = NULL, depth = 0 WHERE name = 'web'").execute(conn).await
    };
    assert!(db.tx("orphan", orphan).await.is_err());
    assert!(db.tx("remove", async |conn| remove(conn, &team("api")).await).await.unwrap());
    assert!(!db.tx("remove", async |conn| remove(conn, &team("api")).await).await.unwrap());
}

#[tokio::test]
async fn words_of_a_scope_are_kept_once() {
    let (db, _folder) = database().await;
    let change = async |conn: &mut Conn| {
        for word in ["b", "a", "b"] {
            add_scope(conn, &team("web"), word).await?;
        }
        assert_eq!(scope(conn, &team("web")).await?, ["a", "b"]);
        remove_scope(conn, &team("web"), "a").await?;
        remove_scope(conn, &team("web"), "a").await?;
        add_scope(conn, &team("docs"), "c").await?;
        let words =
            |all: Vec<(String, String)>| all.into_iter().map(|(team, word)| team + "=" + &word).collect::<Vec<_>>();
        assert_eq!(words(scopes_below(conn, &team("main")).await?), ["docs=c", "web=b"]);
        assert_eq!(words(scopes_below(conn, &team("ops")).await?), ["web=b"]);
        assert_eq!(words(scopes_of_children(conn, &team("main")).await?), ["docs=c"]);
        assert_eq!(words(scopes(conn).await?), ["docs=c", "web=b"]);
        remove(conn, &team("api")).await?;
        remove(conn, &team("web")).await?;
        assert!(scope(conn, &team("web")).await?.is_empty());
        Ok(())
    };
    db.tx("change", change).await.unwrap();
}

async fn give(conn: &mut Conn, to: &str, giver: &str, kind: Kind, body: &str) -> Result<TaskId> {
    let (to, giver, origin) = (team(to), team(giver), Origin::default());
    let new = New { giver: Some(&giver), correlation: Some(body), ..New::of(&to, kind, body, &origin) };
    tasks::give(conn, &new, NOW).await
}

#[tokio::test]
async fn a_queue_is_seen_cancelled_stopped_and_dropped() {
    let (db, _folder) = database().await;
    let ops = team("ops");
    let work = async |conn: &mut Conn| {
        let first = give(conn, "ops", "main", Kind::Delegate, "first").await?;
        let claimed = tasks::claim(conn, 9, NOW, NOW + 9).await?;
        assert_eq!(claimed.iter().map(|task| task.id).collect::<Vec<_>>(), [first]);
        let second = give(conn, "ops", "main", Kind::Delegate, "second").await?;
        give(conn, "ops", "web", Kind::Handoff, "third").await?;
        give(conn, "ops", "main", Kind::Bootstrap, "fourth").await?;
        let open = tasks::open_of_team(conn, &ops, 9).await?;
        let shown: Vec<_> = open.iter().map(|task| (task.body.as_str(), task.running)).collect();
        assert_eq!(shown, [("first", true), ("second", false), ("third", false), ("fourth", false)]);
        assert_eq!(open[0].priority, Priority::Normal);
        assert_eq!((tasks::queued_of(conn, &ops).await?, tasks::depths(conn).await?), (3, vec![("ops".to_owned(), 3)]));
        assert_eq!(tasks::same_open(conn, &ops, &team("main"), "first").await?, Some(first));
        assert_eq!(tasks::same_open(conn, &ops, &team("main"), "third").await?, None);
        let running = tasks::running(conn).await?;
        assert_eq!((running.len(), running[0].id, running[0].team.clone()), (1, first, ops.clone()));
        assert_eq!(tasks::running_of(conn, &ops).await?, [first]);
        // What this giver gave, and nothing else.
        assert_eq!(tasks::cancel_given(conn, &ops, &team("main"), "replaced", NOW).await?, [second]);
        assert_eq!(tasks::stop_work(conn, &ops, StopAsked::Replaced).await?, 1);
        assert_eq!(tasks::stop_work(conn, &ops, StopAsked::Replaced).await?, 0, "it was asked already");
        assert_eq!(tasks::to_stop(conn).await?, [(first, StopAsked::Replaced)]);
        assert_eq!(tasks::stop_team(conn, &ops, StopAsked::Closing).await?, 1);
        assert_eq!(tasks::to_stop(conn).await?, [(first, StopAsked::Closing)]);
        assert_eq!(tasks::cancel_queued(conn, &ops, "", NOW).await?.len(), 1, "a bootstrap stays");
        assert_eq!(tasks::drop_queue(conn, &ops).await?, 1);
        assert!(tasks::finish_with(conn, first, End::Failed, "no disk", "", NOW + 5).await?);
        let over = tasks::completed(conn, &ops, NOW, 9).await?;
        let shown: Vec<_> =
            over.iter().map(|task| (task.state.as_str(), task.result.as_str(), task.duration_ms)).collect();
        let expected = [("failed", "no disk", Some(5)), ("cancelled", "", None), ("cancelled", "replaced", None)];
        assert_eq!(shown, expected);
        assert_eq!(tasks::completed(conn, &ops, NOW + 6, 9).await?, []);
        Ok(())
    };
    db.tx("work", work).await.unwrap();
}

#[tokio::test]
async fn what_a_child_hands_over_is_counted_and_known() {
    let (db, _folder) = database().await;
    let work = async |conn: &mut Conn| {
        let task = give(conn, "ops", "web", Kind::Handoff, "id").await?;
        give(conn, "ops", "main", Kind::Delegate, "other").await?;
        let (ops, web) = (team("ops"), team("web"));
        assert_eq!(tasks::handed_over_since(conn, &ops, &web, NOW - 1).await?, 1);
        assert_eq!(tasks::handed_over_since(conn, &ops, &web, NOW).await?, 0);
        assert_eq!(tasks::known_correlation(conn, &ops, &web, "id", NOW - 1).await?, Some(task));
        assert_eq!(tasks::known_correlation(conn, &ops, &web, "id", NOW).await?, None);
        assert_eq!(tasks::known_correlation(conn, &ops, &web, "other", 0).await?, None);
        Ok(())
    };
    db.tx("work", work).await.unwrap();
}

#[tokio::test]
async fn a_note_is_read_once_and_goes_with_its_reader() {
    let (db, _folder) = database().await;
    let work = async |conn: &mut Conn| {
        let reader = Reader { team: team("api"), topic: None };
        notes::add(conn, &reader, &team("web"), "hello", NOW).await?;
        notes::add(conn, &reader, &team("web"), "again", NOW).await?;
        give(conn, "api", "web", Kind::Delegate, "x").await?;
        let task = tasks::claim(conn, 1, NOW, NOW + 9).await?.remove(0);
        let run: RunId = runs::enter(conn, &task, None, NOW).await?.id;
        let unread = notes::unread(conn, &reader, 1).await?;
        assert_eq!((unread.len(), unread[0].text.as_str()), (1, "hello"));
        notes::take(conn, unread[0].id, run).await?;
        let unread = notes::unread(conn, &reader, 9).await?;
        assert_eq!((unread.len(), unread[0].text.as_str()), (1, "again"));
        let granted = grants::Granted { tool: "x".into(), reason: String::new(), by: "y".into() };
        grants::add(conn, &team("api"), &granted, NOW).await?;
        remove_belongings(conn, &team("api")).await?;
        assert!(grants::of_team(conn, &team("api")).await?.is_empty());
        assert!(remove(conn, &team("api")).await?);
        assert!(notes::unread(conn, &reader, 9).await?.is_empty());
        assert_eq!(tasks::get(conn, task.id).await?, None);
        Ok(())
    };
    db.tx("work", work).await.unwrap();
}
