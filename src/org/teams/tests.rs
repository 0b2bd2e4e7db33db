//! Teams come and go as a whole: whatever cuts it off, and whatever was there before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::{Clock, Moment, Scrub, Secret, Stop, TaskId, TeamName};
use store::tables::{Ask, Tables};
use store::tasks::{self, End, Kind, New, Origin, StopAsked};
use store::teams::{self, State};
use store::{Bell, Conn, Db, memory};

use super::*;
use crate::vault::{Key, Vault, VaultRules};

const NOW: Moment = 1_795_291_380_000;
const SECRET: &str = "tok-3f9a1c77b2e84d50";

/// A hive's folder with a tree in it; opened anew it is the same hive after a restart.
struct World {
    folder: PathBuf,
    db: Db,
    tree: Tree,
}

async fn open(folder: &Path, key: &Key) -> World {
    let db = Db::open(&folder.join("openhive.db")).await.unwrap();
    let (clock, scrub) = (Clock::starting_at(NOW), Scrub::new());
    let vault = Vault::with_key(&db, clock, &scrub, key, VaultRules::default()).await.unwrap();
    let rules = Rules { depth_max: 4, patience: Duration::from_secs(60), ..Rules::default() };
    let tree = Tree::open(&db, clock, &vault, &scrub, &folder.join("teams"), rules).unwrap();
    World { folder: folder.to_owned(), db, tree }
}

async fn world(folder: &Path) -> World {
    open(folder, &Key::generate().unwrap()).await
}

fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

fn wish(name: &str, parent: &str) -> Wish {
    let (name, parent) = (team(name), team(parent));
    Wish {
        config: TeamConfig::of_new_team(&name, &parent, "Runs things"),
        scope: vec!["Deploys ".to_owned(), "uptime".to_owned(), "deploys".to_owned()],
        init_context: Some(format!("The service is at example.org; its token is {SECRET}.")),
        credentials: BTreeMap::from([("TOKEN".to_owned(), Secret::new(SECRET))]),
        origin: Origin::default(),
        call: None,
        name,
        parent,
    }
}

impl World {
    async fn spawn(&self, name: &str, parent: &str) -> Result<Spawned, String> {
        self.tree.spawn(wish(name, parent)).await.map_err(|error| format!("{error:#}"))
    }

    async fn close(&self, parent: &str, name: &str, cascade: bool) -> Result<Vec<String>, String> {
        let closed = self.tree.close(&team(parent), &team(name), cascade, None, async |_| Ok(())).await;
        let names = |closed: Closed| closed.teams.iter().map(ToString::to_string).collect();
        closed.map(names).map_err(|error| error.to_string())
    }

    async fn state(&self, name: &str) -> Option<State> {
        let name = team(name);
        self.db.read(async |conn| teams::get(conn, &name).await).await.unwrap().map(|team| team.state)
    }

    fn home(&self, name: &str) -> PathBuf {
        self.folder.join("teams").join(name)
    }

    /// What stands among the teams' folders, sorted.
    fn folders(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.join("teams")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The tables in which rows of this team are. The audit, the events and the ledger stay for ever.
    fn rows_of(&self, name: &str) -> Vec<String> {
        let conn = rusqlite::Connection::open(self.folder.join("openhive.db")).unwrap();
        let sql = "SELECT DISTINCT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
                   WHERE m.type = 'table' AND c.name IN ('team', 'reader', 'parent', 'secret_team')
                     AND m.name NOT IN ('audit', 'events', 'usage') AND m.name NOT LIKE 'memory_fts%'";
        let columns: Vec<(String, String)> = conn
            .prepare(sql)
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(columns.len() >= 8, "{columns:?}");
        let has = |(table, column): &(String, String)| {
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {column} = ?1)");
            conn.query_row(&sql, [name], |row| row.get::<_, bool>(0)).unwrap()
        };
        let mut tables: Vec<String> = columns.into_iter().filter(has).map(|(table, _)| table).collect();
        tables.push("teams".to_owned());
        tables.retain(|table| {
            *table != "teams"
                || conn
                    .query_row("SELECT EXISTS (SELECT 1 FROM teams WHERE name = ?1)", [name], |row| row.get(0))
                    .unwrap()
        });
        tables.sort();
        tables.dedup();
        tables
    }

    /// Everything of the team is there, as an uninterrupted spawn leaves it.
    async fn is_whole(&self, name: &str) -> bool {
        let of = team(name);
        let look = async |conn: &mut Conn| {
            Ok((
                teams::get(conn, &of).await?.is_some_and(|team| team.state == State::Bootstrapping),
                teams::scope(conn, &of).await? == ["deploys", "uptime"],
                tasks::open_of_team(conn, &of, 9).await?.iter().map(|task| task.kind).collect::<Vec<_>>(),
                store::vault::list(conn, &of, "").await?.iter().filter(|row| row.is_secret).count(),
            ))
        };
        let (row, scope, open, secrets) = self.db.read(look).await.unwrap();
        let files = ["config.yaml", "team-rules/team-context.md"].map(|file| self.home(name).join(file).is_file());
        let folders =
            ["org-rules", "skills", "subagents", "plugins"].map(|inside| self.home(name).join(inside).is_dir());
        let config = self.tree.written(&of).await.is_ok_and(|config| config.description == "Runs things");
        row && scope
            && open == [Kind::Bootstrap]
            && secrets == 1
            && files == [true; 2]
            && folders == [true; 4]
            && config
    }

    /// Nothing of the team is there.
    fn is_gone(&self, name: &str) -> bool {
        self.rows_of(name).is_empty()
            && !self.folders().iter().any(|folder| folder.ends_with(name))
            && self.databases().iter().all(|file| !file.starts_with(&format!("{name}.")))
    }

    /// The files of the teams' own databases.
    fn databases(&self) -> Vec<String> {
        let Ok(files) = std::fs::read_dir(self.folder.join("tables")) else { return Vec::new() };
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The names of what a team has in its own database.
    fn tables_of(&self, name: &str) -> Vec<serde_json::Value> {
        let (team, sql) = (team(name), "SELECT name FROM sqlite_schema");
        let ask = Ask { team: &team, sql, values: &[], rows_max: 9 };
        Tables::beside(&self.db).query(&ask, &Stop::new()).unwrap().rows.concat()
    }

    /// Rows of every sort for a team that is at work, and a database of its own.
    async fn furnish(&self, name: &str) {
        let of = team(name);
        let ask = Ask { team: &of, sql: "CREATE TABLE kept (x)", values: &[], rows_max: 0 };
        Tables::beside(&self.db).exec(&ask, &Stop::new()).unwrap();
        let fill = async |conn: &mut Conn| {
            let new = memory::New {
                team: &of,
                key: "k",
                content: "remembered",
                kind: "context",
                supersedes_id: None,
                supersede_reason: None,
                updated_by: None,
            };
            memory::insert(conn, &new, NOW).await?;
            let granted = store::grants::Granted { tool: "x".into(), reason: String::new(), by: "y".into() };
            store::grants::add(conn, &of, &granted, NOW).await?;
            let reader = store::notes::Reader { team: of.clone(), topic: None };
            store::notes::add(conn, &reader, &TeamName::main(), "hello", NOW).await?;
            tasks::give(conn, &New::of(&of, Kind::Delegate, "later", &Origin::default()), NOW).await?;
            let main = TeamName::main();
            tasks::give(conn, &New::of(&main, Kind::Delegate, "ask", &Origin::default()), NOW).await?;
            for task in tasks::claim(conn, 9, NOW, NOW + 60_000).await? {
                let run = store::runs::enter(conn, &task, None, NOW).await?;
                if task.team.is_main() {
                    // Somebody else's turn asks the team.
                    let asked = store::runs::enter_within(conn, run.id, &serde_json::json!({}), &of, None, NOW).await?;
                    store::journal::append(conn, asked.id, None, 1, store::journal::Role::User, "Why?", NOW).await?;
                    store::runs::finish(conn, asked, End::Done, "", NOW).await?;
                }
                tasks::finish(conn, task.id, End::Done, "", NOW).await?;
            }
            Ok(())
        };
        self.db.tx("furnish", fill).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_team_comes_whole_and_goes_whole() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let spawned = world.spawn("ops", "main").await.unwrap();
    assert!(world.is_whole("ops").await);
    let task = world.db.read(async |conn| tasks::get(conn, spawned.bootstrap).await).await.unwrap().unwrap();
    assert_eq!((task.priority, task.giver), (tasks::Priority::Critical, Some(TeamName::main())));
    // The secret is in no file and in no row as it is.
    let context = std::fs::read_to_string(world.home("ops").join("team-rules/team-context.md")).unwrap();
    assert_eq!(context, "The service is at example.org; its token is [REDACTED].\n");
    for file in ["openhive.db", "openhive.db-wal"] {
        let bytes = std::fs::read(folder.path().join(file)).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|at| at == SECRET.as_bytes()), "{file}");
    }
    world.furnish("ops").await;
    assert!(world.rows_of("ops").len() >= 7, "{:?}", world.rows_of("ops"));
    assert_eq!(world.tables_of("ops"), ["kept"]);
    assert_eq!(world.close("main", "ops", false).await.unwrap(), ["ops"]);
    assert!(world.is_gone("ops"), "{:?} {:?} {:?}", world.rows_of("ops"), world.folders(), world.databases());
    world.spawn("ops", "main").await.unwrap();
    assert!(world.is_whole("ops").await);
}

#[tokio::test(start_paused = true)]
async fn a_team_begins_with_an_empty_database_whatever_was_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let ask = Ask { team: &team("ops"), sql: "CREATE TABLE kept (x)", values: &[], rows_max: 0 };
    Tables::beside(&world.db).exec(&ask, &Stop::new()).unwrap();
    assert_eq!(world.tables_of("ops"), ["kept"]);
    world.spawn("ops", "main").await.unwrap();
    assert!(world.tables_of("ops").is_empty());
}

#[tokio::test(start_paused = true)]
async fn whoever_remembers_a_team_by_its_name_is_told_that_it_has_gone() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::generate().unwrap();
    let world = open(folder.path(), &key).await;
    for (name, parent) in [("a", "main"), ("b", "a"), ("c", "main")] {
        world.spawn(name, parent).await.unwrap();
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = told.clone();
    world.tree.when_gone(move |team| tells.lock().unwrap().push(team.to_string()));
    world.close("main", "a", true).await.unwrap();
    assert_eq!(*told.lock().unwrap(), ["b", "a"]);
    let close = async |conn: &mut Conn| teams::set_state(conn, &team("c"), State::Closing).await;
    world.db.tx("crash", close).await.unwrap();
    world.tree.settle().await.unwrap();
    assert_eq!(*told.lock().unwrap(), ["b", "a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_stopped_does_not_leave_half_a_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    world.spawn("ops", "main").await.unwrap();
    world.furnish("ops").await;
    let gone = Arc::new(tokio::sync::Notify::new());
    let goes = gone.clone();
    world.tree.when_gone(move |_| goes.notify_one());
    {
        let close = std::pin::pin!(world.close("main", "ops", false));
        assert!(futures::poll!(close).is_pending());
    }
    tokio::time::timeout(Duration::from_secs(600), gone.notified()).await.expect("it goes on by itself");
    assert!(world.rows_of("ops").is_empty() && world.databases().is_empty(), "{:?}", world.databases());
}

#[tokio::test(start_paused = true)]
async fn the_work_of_years_goes_in_parts_and_a_crash_between_two_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::generate().unwrap();
    let world = open(folder.path(), &key).await;
    world.spawn("ops", "main").await.unwrap();
    let work = async |conn: &mut Conn| {
        for _ in 0..350 {
            tasks::give(conn, &New::of(&team("ops"), Kind::Delegate, "x", &Origin::default()), NOW).await?;
            for task in tasks::claim(conn, 1, NOW, NOW + 60_000).await? {
                store::runs::enter(conn, &task, None, NOW).await?;
                tasks::finish(conn, task.id, End::Done, "", NOW).await?;
            }
        }
        Ok(())
    };
    world.db.tx("work", work).await.unwrap();
    let left = async |world: &World| {
        let over = async |conn: &mut Conn| tasks::completed(conn, &team("ops"), 0, u32::MAX).await;
        world.db.read(over).await.unwrap().len()
    };
    let before = left(&world).await;
    assert!(before >= 350);
    world.db.die_after_named("remove some work of a team");
    assert!(tokio::time::timeout(Duration::from_secs(600), world.close("main", "ops", false)).await.is_err());
    let next = open(folder.path(), &key).await;
    let after = left(&next).await;
    assert!((1..before).contains(&after), "{after} of {before}");
    assert_eq!(next.tree.settle().await.unwrap().removed, [team("ops")]);
    assert!(next.is_gone("ops"));
}

#[tokio::test(start_paused = true)]
async fn what_a_call_comes_to_is_written_down_with_the_beginning_of_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::generate().unwrap();
    for (death, state, promised) in [
        ("start", Some(State::Bootstrapping), ""),
        ("begin to close teams", None, "gone: web ops"),
        ("remove a team", None, "gone: web ops"),
    ] {
        let world = open(folder.path(), &key).await;
        for (name, parent) in [("ops", "main"), ("web", "ops")] {
            world.spawn(name, parent).await.unwrap();
        }
        let start = async |conn: &mut Conn| {
            let main = TeamName::main();
            tasks::give(conn, &New::of(&main, Kind::Delegate, "close", &Origin::default()), NOW).await?;
            let all = tasks::claim(conn, 9, NOW, NOW + 60_000).await?;
            let run = store::runs::enter(conn, all.iter().find(|task| task.team.is_main()).unwrap(), None, NOW).await?;
            for task in all {
                tasks::finish(conn, task.id, End::Done, "", NOW).await?;
            }
            store::calls::start(conn, run.id, 1, "c", "shutdown_team", "{}", NOW).await?;
            Ok(run.id)
        };
        let run = world.db.tx("start", start).await.unwrap();
        let words = |teams: &[TeamName]| teams.iter().fold("gone:".to_owned(), |said, team| format!("{said} {team}"));
        let promise = Promise { run, step: 1, call_id: "c".into(), words };
        if death != "start" {
            world.db.die_after_named(death);
            let (main, ops) = (TeamName::main(), team("ops"));
            let close = world.tree.close(&main, &ops, true, Some(promise), async |_| Ok(()));
            assert!(tokio::time::timeout(Duration::from_secs(600), close).await.is_err());
        }
        let next = open(folder.path(), &key).await;
        let call = async |conn: &mut Conn| store::calls::get(conn, run, 1, "c").await;
        let call = next.db.read(call).await.unwrap().unwrap();
        assert_eq!((call.state, call.result.as_str()), (store::calls::State::Started, promised), "{death}");
        next.tree.settle().await.unwrap();
        assert_eq!(next.state("ops").await, state, "{death}: what it says is true after a start");
        if state.is_some() {
            next.close("main", "ops", true).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_spawned_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    world.spawn("a", "main").await.unwrap();
    for (name, parent) in [("b", "a"), ("c", "b"), ("d", "c")] {
        world.spawn(name, parent).await.unwrap();
    }
    std::fs::create_dir(world.home("mine")).unwrap();
    let before = (world.folders(), world.db.read(async |conn| teams::names(conn).await).await.unwrap());
    let refused = async |name: &str, change: fn(&mut Wish), said: &str| {
        let mut wish = wish(name, if name == "e" { "d" } else { "main" });
        change(&mut wish);
        let error = world.tree.spawn(wish).await.unwrap_err();
        assert!(matches!(&error, TreeError::Refused(why) if why.contains(said)), "{error:?}");
    };
    refused("a", |_| {}, "there is a team `a` already").await;
    refused("main", |_| {}, "there is a team `main` already").await;
    refused("mine", |_| {}, "belongs to no team").await;
    refused("e", |_| {}, "4 teams below the main one").await;
    refused("f", |wish| wish.scope.push("  ".to_owned()), "is no scope keyword").await;
    refused("f", |wish| wish.scope = (0..60).map(|n| n.to_string()).collect(), "too many").await;
    refused("f", |wish| drop(wish.credentials.insert("no key".into(), Secret::new("x"))), "credentials: ").await;
    refused("f", |wish| wish.config.description = SECRET.to_owned(), "holds a secret").await;
    refused("f", |wish| wish.init_context = Some("x".repeat(30_000)), "shorten it").await;
    assert_eq!(before, (world.folders(), world.db.read(async |conn| teams::names(conn).await).await.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn what_has_children_goes_only_with_them_and_the_deepest_first() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    for (name, parent) in [("a", "main"), ("b", "a"), ("c", "b"), ("z", "a")] {
        world.spawn(name, parent).await.unwrap();
    }
    let why = world.close("main", "a", false).await.unwrap_err();
    assert!(why.contains("`b`, `z`, `c`") && why.contains("cascade"), "{why}");
    assert_eq!(world.close("main", "b", true).await.unwrap_err(), "`b` is no child of `main`");
    assert!(world.close("a", "a", true).await.is_err());
    assert_eq!(world.state("c").await, Some(State::Bootstrapping));
    assert_eq!(world.close("main", "a", true).await.unwrap(), ["c", "z", "b", "a"]);
    assert!(["a", "b", "c", "z"].iter().all(|name| world.is_gone(name)));
}

#[tokio::test(start_paused = true)]
async fn a_team_goes_only_when_its_turns_have_ended_and_takes_nothing_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    world.spawn("ops", "main").await.unwrap();
    let claimed = async |conn: &mut Conn| tasks::claim(conn, 1, NOW, NOW + 60_000).await;
    let task: TaskId = world.db.tx("claim", claimed).await.unwrap()[0].id;
    let asked = Stop::new();
    let worker = async {
        let mut bell = world.db.changes(Bell::Tasks);
        // A turn that is told to end takes a while, and is put back once by a fault that passes.
        while world.db.read(async |conn| tasks::to_stop(conn).await).await.unwrap() != [(task, StopAsked::Closing)] {
            bell.changed().await.unwrap();
        }
        asked.cancel();
        assert_eq!(world.state("ops").await, Some(State::Closing));
        assert!(world.home("ops").is_dir());
        assert!(world.spawn("under", "ops").await.unwrap_err().contains("closing"));
        world.db.tx("put back", async |conn| tasks::put_back(conn, &[task], NOW).await).await.unwrap();
    };
    let (closed, ()) = tokio::join!(world.close("main", "ops", false), worker);
    assert_eq!(closed.unwrap(), ["ops"]);
    assert!(asked.is_cancelled() && world.is_gone("ops"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_never_ends_is_not_waited_for_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::generate().unwrap();
    let world = open(folder.path(), &key).await;
    world.spawn("ops", "main").await.unwrap();
    world.db.tx("claim", async |conn| tasks::claim(conn, 1, NOW, NOW + 60_000).await).await.unwrap();
    assert!(world.close("main", "ops", false).await.unwrap_err().contains("at the next start"));
    assert_eq!(world.state("ops").await, Some(State::Closing));
    let next = open(folder.path(), &key).await;
    assert_eq!(next.tree.settle().await.unwrap().removed, [team("ops")]);
    assert!(next.is_gone("ops"));
}

#[tokio::test(start_paused = true)]
async fn killed_after_any_commit_a_spawn_is_whole_or_nothing() {
    let (mut whole, mut gone) = (0, 0);
    for commits in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::generate().unwrap();
        let world = open(folder.path(), &key).await;
        world.db.die_after(commits);
        let done = tokio::time::timeout(Duration::from_secs(600), world.spawn("ops", "main")).await;
        let next = open(folder.path(), &key).await;
        let settled = next.tree.settle().await.unwrap();
        assert_eq!(next.tree.settle().await.unwrap(), Settled::default(), "doing it again changes nothing");
        let (is_whole, is_gone) = (next.is_whole("ops").await, next.is_gone("ops"));
        assert!(is_whole != is_gone, "after {commits}: {settled:?} {:?} {:?}", next.rows_of("ops"), next.folders());
        (whole, gone) = (whole + u32::from(is_whole), gone + u32::from(is_gone));
        if is_gone {
            next.spawn("ops", "main").await.unwrap();
            assert!(next.is_whole("ops").await);
        }
        if done.is_ok() {
            break;
        }
    }
    assert!(whole >= 2 && gone >= 1, "{whole} {gone}");
}

#[tokio::test(start_paused = true)]
async fn killed_after_any_commit_a_shutdown_is_finished() {
    let mut died = 0;
    for commits in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::generate().unwrap();
        let world = open(folder.path(), &key).await;
        for (name, parent) in [("a", "main"), ("b", "a"), ("c", "b"), ("other", "main")] {
            world.spawn(name, parent).await.unwrap();
        }
        world.furnish("b").await;
        world.db.die_after(commits);
        let done = tokio::time::timeout(Duration::from_secs(600), world.close("main", "a", true)).await;
        died += u32::from(done.is_err());
        let next = open(folder.path(), &key).await;
        next.tree.settle().await.unwrap();
        assert!(["a", "b", "c"].iter().all(|name| next.is_gone(name)), "after {commits}: {:?}", next.folders());
        assert_eq!(next.folders(), ["other"]);
        assert_eq!(next.tree.settle().await.unwrap(), Settled::default());
        if done.is_ok() {
            break;
        }
    }
    assert!(died >= 4, "{died}");
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_left_on_the_disk_is_cleared_and_what_a_person_left_stays() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    world.spawn("homeless", "main").await.unwrap();
    std::fs::remove_dir_all(world.home("homeless")).unwrap();
    let add = async |conn: &mut Conn| {
        for name in ["half", "renamed"] {
            teams::add(conn, &team(name), &TeamName::main(), "", State::Spawning, NOW).await?;
        }
        teams::add(conn, &team("trashed"), &TeamName::main(), "", State::Closing, NOW).await.map(drop)
    };
    world.db.tx("crash", add).await.unwrap();
    for left in [".spawning-half/skills", "renamed/skills", ".closing-trashed/skills", ".closing-gone", "mine", "main"]
    {
        std::fs::create_dir_all(world.home(left)).unwrap();
    }
    std::fs::write(world.home("note.txt"), "not a team").unwrap();
    let settled = world.tree.settle().await.unwrap();
    assert_eq!(settled.undone, [team("half"), team("renamed")]);
    assert_eq!(settled.removed, [team("trashed")]);
    assert_eq!((settled.strangers, settled.homeless), (vec![team("mine")], vec![team("homeless")]));
    assert_eq!(world.folders(), ["main", "mine", "note.txt"]);
    assert!(
        world.tree.written(&team("homeless")).await.unwrap_err().to_string().contains("teams/homeless/config.yaml")
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopped_caller_does_not_leave_half_a_team() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let mut bell = world.db.changes(Bell::Tasks);
    {
        let spawn = std::pin::pin!(world.spawn("ops", "main"));
        assert!(futures::poll!(spawn).is_pending());
    }
    let comes = async {
        while !world.is_whole("ops").await {
            bell.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(600), comes).await.expect("the spawn goes on by itself");
}

#[tokio::test(start_paused = true)]
async fn what_is_in_force_is_folded_from_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let mut open = wish("a", "main");
    open.config.allowed_domains = Some(vec!["example.org".to_owned()]);
    world.tree.spawn(open).await.unwrap();
    world.spawn("b", "a").await.unwrap();
    // Somebody writes more into the file than there was to give.
    let yaml = "name: b\nparent: main\nshell_network: true\nallowed_tools: ['*']\nmax_steps: 7\n";
    std::fs::write(world.home("b").join("config.yaml"), yaml).unwrap();
    let chain = world.tree.in_force(&team("b")).await.unwrap();
    let names: Vec<String> = chain.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["main", "a", "b"]);
    let (_, config) = &chain[2];
    assert_eq!(config.parent, Some(team("a")));
    assert_eq!(config.allowed_domains.as_deref(), Some(&["example.org".to_owned()][..]));
    assert!(!config.shell_network && config.max_steps == 7);
    std::fs::write(world.home("a").join("config.yaml"), "max_steps: 0\n").unwrap();
    let fault = world.tree.in_force(&team("b")).await.unwrap_err().to_string();
    assert_eq!(fault, "teams/a/config.yaml:1: `max_steps`: 0 is not a whole number from 1 to 500");
    assert!(world.tree.in_force(&team("nobody")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_scope_is_never_empty() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    world.spawn("ops", "main").await.unwrap();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let change = async |parent: &str, add: &[&str], remove: &[&str]| {
        let (add, remove) = (words(add), words(remove));
        world.tree.rescope(&team(parent), &team("ops"), &add, &remove).await.map_err(|error| error.to_string())
    };
    assert!(change("main", &[], &["deploys", "uptime"]).await.unwrap_err().contains("would be for nothing"));
    assert!(change("main", &["x"], &["deploys", "uptime", "X "]).await.is_err());
    assert!(change("main", &[], &[]).await.is_err());
    assert!(change("ops", &["x"], &[]).await.unwrap_err().contains("is no child"));
    assert_eq!(change("main", &["  New  Things"], &["deploys"]).await.unwrap(), words(&["new things", "uptime"]));
    assert_eq!(change("main", &["new things"], &["nothing of it"]).await.unwrap(), words(&["new things", "uptime"]));
    for bad in ["\u{200b}", "a\u{200b}b", "\u{1b}[2J", "a\u{202e}b", "...", " ", &"x".repeat(81)] {
        let why = change("main", &[bad], &[]).await.unwrap_err();
        assert!(why.contains("is no scope keyword") && !why.contains(base::text::is_unseen), "{why:?}");
    }
    // Scripts that are written with joiners are words like any other.
    assert!(change("main", &["می\u{200c}خواهم"], &[]).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn no_secret_becomes_a_keyword() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let secret = "ToK-3f9A1c77-sEcReT";
    let mut leaks = wish("ops", "main");
    leaks.credentials = BTreeMap::from([("TOKEN".to_owned(), Secret::new(secret))]);
    leaks.scope.push(format!("deploys {secret}"));
    let why = world.tree.spawn(leaks).await.unwrap_err().to_string();
    assert!(why.contains("holds a secret") && !why.to_lowercase().contains(&secret.to_lowercase()), "{why}");
    assert!(world.is_gone("ops"));
    world.spawn("ops", "main").await.unwrap();
    for (add, remove) in [(vec![secret.to_owned()], vec![]), (vec!["x".repeat(90) + secret], vec![secret.to_owned()])] {
        let why = world.tree.rescope(&TeamName::main(), &team("ops"), &add, &remove).await.unwrap_err().to_string();
        assert!(why.contains("holds a secret") && !why.to_lowercase().contains(&secret.to_lowercase()), "{why}");
    }
    let scope = world.db.read(async |conn| teams::scope(conn, &team("ops")).await).await.unwrap();
    assert_eq!(scope, ["deploys", "uptime"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_of_the_children_or_of_all_below() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    for (name, parent) in [("b", "main"), ("a", "main"), ("c", "b"), ("d", "c")] {
        world.spawn(name, parent).await.unwrap();
    }
    let list = async |root: &str, recursive: bool| {
        let root = team(root);
        let listed = world.db.read(async |conn| listing::below(conn, &root, recursive).await).await.unwrap();
        let shown =
            |listed: &Listed| format!("{} {} {}", listed.team.name, listed.keywords.join("+"), listed.queue_depth);
        listed.iter().map(shown).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(list("main", false).await, "a deploys+uptime 1, b deploys+uptime 1");
    let all = "a deploys+uptime 1, b deploys+uptime 1, c deploys+uptime 1, d deploys+uptime 1";
    assert_eq!(list("main", true).await, all);
    assert_eq!(list("b", true).await, "c deploys+uptime 1, d deploys+uptime 1");
    assert_eq!(list("b", false).await, "c deploys+uptime 1");
    assert_eq!(list("d", true).await, "");
}
