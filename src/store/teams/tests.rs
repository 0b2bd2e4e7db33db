//! Every statement about teams, their queues and their notes runs; constraints refuse what must not be.

use base::{RunId, TaskId};

use super::*;
use crate::notes::Reader;
use crate::tasks::{End, Given, Kind, New, Origin, Priority, StopAsked};
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
        let (giver, origin) = (team("main"), Origin::default());
        let given = Given { team: &ops, giver: &giver, origin: &origin };
        assert_eq!(tasks::same_open(conn, &given, "first").await?, Some(first));
        assert_eq!(tasks::same_open(conn, &given, "third").await?, None);
        let elsewhere = Origin { conversation: Some("discord:1".parse()?), ..Origin::default() };
        let given = Given { origin: &elsewhere, ..given };
        assert_eq!(tasks::same_open(conn, &given, "first").await?, None, "what comes of it goes elsewhere");
        let running = tasks::running(conn).await?;
        assert_eq!((running.len(), running[0].id, running[0].team.clone()), (1, first, ops.clone()));
        assert_eq!(tasks::running_of(conn, &ops).await?, [first]);
        // What this giver gave, and nothing else.
        let cancelled = tasks::cancel_given(conn, &ops, &giver, "replaced", NOW).await?;
        assert_eq!(cancelled.iter().map(|task| task.id).collect::<Vec<_>>(), [second]);
        assert_eq!(tasks::replaced_by(conn, first).await?, None);
        assert_eq!(tasks::stop_given(conn, &ops, second).await?, 1);
        assert_eq!(tasks::stop_given(conn, &ops, first).await?, 0, "it was asked already");
        assert_eq!(tasks::replaced_by(conn, first).await?.map(|by| by.id), Some(second));
        assert_eq!(tasks::to_stop(conn).await?, [(first, StopAsked::Replaced)]);
        assert_eq!(tasks::stop_team(conn, &ops, StopAsked::Closing).await?, 1);
        assert_eq!(tasks::to_stop(conn).await?, [(first, StopAsked::Closing)]);
        assert_eq!(tasks::drop_queue(conn, &ops).await?, 2);
        assert!(tasks::finish_with(conn, first, End::Failed, "no disk", "", NOW + 5).await?);
        let over = tasks::completed(conn, &ops, NOW, 9).await?;
        let shown: Vec<_> =
            over.iter().map(|task| (task.state.as_str(), task.result.as_str(), task.duration_ms)).collect();
        let expected = [("failed", "no disk", Some(5)), ("cancelled", "replaced", None)];
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
        // The same words for something else are something else.
        give(conn, "ops", "web", Kind::Delegate, "mine").await?;
        assert_eq!(tasks::known_correlation(conn, &ops, &web, "mine", 0).await?, None);
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
        assert!(remove(conn, &team("api")).await?);
        assert!(grants::of_team(conn, &team("api")).await?.is_empty());
        assert!(notes::unread(conn, &reader, 9).await?.is_empty());
        assert_eq!(tasks::get(conn, task.id).await?, None);
        Ok(())
    };
    db.tx("work", work).await.unwrap();
}

#[tokio::test]
async fn a_team_goes_with_all_its_work_a_part_at_a_time() {
    let (db, _folder) = database().await;
    let work = async |conn: &mut Conn| {
        let (api, mut asked) = (team("api"), Vec::new());
        for number in 0..5 {
            give(conn, "api", "web", Kind::Delegate, &format!("task {number}")).await?;
            let other = give(conn, "web", "ops", Kind::Delegate, &format!("asks {number}")).await?;
            for task in tasks::claim(conn, 9, NOW, NOW + 9).await? {
                let run = runs::enter(conn, &task, None, NOW).await?;
                if task.id == other {
                    let within = runs::enter_within(conn, run.id, &serde_json::json!({}), &api, None, NOW).await?;
                    crate::journal::append(conn, within.id, None, 1, crate::journal::Role::User, "?", NOW).await?;
                    asked.push(within.id);
                }
                tasks::finish(conn, task.id, End::Done, "", NOW).await?;
            }
        }
        give(conn, "api", "web", Kind::Delegate, "waits").await?;
        let left =
            "SELECT (SELECT count(*) FROM tasks WHERE team = 'api'), (SELECT count(*) FROM runs WHERE team = 'api')";
        let left = async |conn: &mut Conn| sql::query_as::<(i64, i64)>(left).fetch_one(conn).await;
        assert_eq!(left(conn).await?, (6, 10));
        assert!(remove_some_work(conn, &api, 2).await?);
        assert_eq!(left(conn).await?, (4, 6), "two tasks with their turns, and two turns");
        assert!(remove_some_work(conn, &api, 4).await?);
        assert_eq!(left(conn).await?, (0, 0));
        assert!(!remove_some_work(conn, &api, 4).await?);
        // What it was asked went with it, and whoever asked stays.
        assert!(crate::journal::of_run(conn, asked[4]).await?.is_empty());
        assert_eq!(tasks::completed(conn, &team("web"), 0, 9).await?.len(), 5);
        // In one go as well.
        assert!(remove(conn, &api).await?);
        give(conn, "web", "ops", Kind::Delegate, "waits").await?;
        assert!(remove(conn, &team("web")).await?);
        let none = "SELECT count(*) FROM runs WHERE team IN ('api', 'web')";
        assert_eq!(sql::query_scalar::<i64>(none).fetch_one(conn).await?, 0);
        Ok(())
    };
    db.tx("work", work).await.unwrap();
}

#[tokio::test]
async fn a_team_goes_without_a_look_at_the_work_of_all_others() {
    let (db, _folder) = database().await;
    let look = async |conn: &mut Conn| {
        let sql = "EXPLAIN QUERY PLAN DELETE FROM teams WHERE name = $1";
        let plan: Vec<(i64, i64, i64, String)> = sql::query_as(sql).bind("ops").fetch_all(conn).await?;
        Ok(plan.into_iter().map(|(.., step)| step).collect::<Vec<_>>())
    };
    let plan = db.read(look).await.unwrap();
    assert!(["tasks", "notes", "teams"].iter().all(|table| plan.iter().any(|step| step.contains(table))), "{plan:?}");
    assert!(plan.iter().all(|step| step.starts_with("SEARCH")), "{plan:?}");
}

#[tokio::test]
async fn a_team_of_a_name_that_was_there_before_has_a_history_of_its_own() {
    let (db, _folder) = database().await;
    let work = async |conn: &mut Conn| {
        let (docs, of) = (team("docs"), async |conn: &mut Conn| {
            let all = crate::events::of_team_after(conn, &team("docs"), 0, 99).await?;
            Ok::<_, anyhow::Error>(all.into_iter().map(|event| event.task).collect::<Vec<_>>())
        });
        let first = give(conn, "docs", "main", Kind::Delegate, "first").await?;
        assert_eq!(of(conn).await?, [Some(first.0)]);
        remove(conn, &docs).await?;
        // Who looks after it has gone sees what there was.
        assert_eq!(of(conn).await?, [Some(first.0)]);
        assert!(add(conn, &docs, &team("main"), "", State::Ready, NOW).await?);
        assert!(of(conn).await?.is_empty());
        let second = give(conn, "docs", "main", Kind::Delegate, "second").await?;
        assert_eq!(of(conn).await?, [Some(second.0)]);
        assert_eq!(crate::events::latest(conn, Some(&docs), 9).await?.len(), 2, "nothing is lost to people");
        Ok(())
    };
    db.tx("work", work).await.unwrap();
}
