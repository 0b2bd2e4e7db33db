//! Each line is in a team's file exactly once, whatever comes between.

use std::fs;
use std::path::PathBuf;

use channels::{ConversationId, Kind};
use store::tasks::{self, Origin};
use store::{Conn, runs, topics};

use super::*;

struct House {
    folder: tempfile::TempDir,
    copying: Copying,
    run: base::RunId,
}

impl House {
    async fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
        let workspaces = Workspaces::open(&folder.path().join("teams")).unwrap();
        workspaces.of(&TeamName::main()).unwrap();
        let room = ConversationId::new(Kind::Telegram, 7);
        let begin = async |conn: &mut Conn| {
            let topic = topics::open(conn, &room, "one", topics::NamedBy::Code, 1).await?;
            let origin = Origin { conversation: Some(room.clone()), topic: Some(topic), sender: None };
            tasks::enqueue_message(conn, &origin, topic, 1).await?;
            let task = tasks::claim(conn, 1, 1, 99).await?.remove(0);
            Ok(runs::enter(conn, &task, task.origin.topic, 1).await?.id)
        };
        let run = db.tx("begin", begin).await.unwrap();
        let clock = Clock::starting_at(1_000);
        House { folder, copying: Copying { db, clock, workspaces }, run }
    }

    /// So many more things happen.
    async fn happen(&self, count: i64) {
        let (run, body) = (self.run, serde_json::json!({}));
        let tell = async |conn: &mut Conn| {
            for at in 0..count {
                events::append(conn, run, events::Kind::TodosChanged, &body, at).await?;
            }
            Ok(())
        };
        self.copying.db.tx("tell", tell).await.unwrap();
    }

    fn copies(&self) -> Copies {
        Copies::new(self.copying.clock.now())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("teams/main").join(name)
    }

    /// Whether every event that there is stands in the files once, in order, and whole.
    async fn is_whole(&self) {
        let rows = self.copying.db.read(async |conn| events::after(conn, 0, u32::MAX).await).await.unwrap();
        let lines: Vec<String> = rows.iter().map(Event::to_json).collect();
        let mut text = fs::read_to_string(self.path("events.1.jsonl")).unwrap_or_default();
        text.push_str(&fs::read_to_string(self.path("events.jsonl")).unwrap());
        assert!(!lines.is_empty());
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }

    async fn seen(&self) -> i64 {
        self.copying.db.read(async |conn| events::seen_by(conn, Subscriber::Files).await).await.unwrap()
    }
}

#[tokio::test]
async fn every_event_is_copied_once_also_after_a_restart_in_between() {
    let house = House::new().await;
    let mut copies = house.copies();
    for count in [1, 3, 1_200, 2] {
        house.happen(count).await;
        copies.round(&house.copying).await.unwrap();
        copies.round(&house.copying).await.unwrap();
        house.is_whole().await;
        // A restart: what is in memory is gone.
        if count == 3 {
            assert_eq!(house.seen().await, 0, "the rows are told seldom");
            copies = house.copies();
        }
    }
    assert_eq!(house.seen().await, 1_207);
}

#[tokio::test]
async fn what_somebody_did_to_a_file_is_made_good() {
    let house = House::new().await;
    let mut copies = house.copies();
    let file = house.path("events.jsonl");
    house.happen(5).await;
    copies.round(&house.copying).await.unwrap();
    let text = fs::read_to_string(&file).unwrap();
    for damaged in [text[..text.len() - 3].to_owned(), String::new(), format!("{text}{{\"id\":"), "x".repeat(70_000)] {
        fs::write(&file, damaged).unwrap();
        house.happen(1).await;
        copies.round(&house.copying).await.unwrap();
        house.is_whole().await;
    }
    fs::remove_file(&file).unwrap();
    house.happen(1).await;
    house.copies().round(&house.copying).await.unwrap();
    house.is_whole().await;
    // Of another history: what is in it is put aside.
    fs::write(&file, "{\"id\":99999}\n").unwrap();
    house.happen(1).await;
    house.copies().round(&house.copying).await.unwrap();
    assert_eq!(fs::read_to_string(house.path("events.1.jsonl")).unwrap(), "{\"id\":99999}\n");
    fs::remove_file(house.path("events.1.jsonl")).unwrap();
    house.is_whole().await;
}

#[tokio::test]
async fn a_team_without_a_folder_gets_its_events_when_it_has_one() {
    let house = House::new().await;
    let mut copies = house.copies();
    fs::remove_dir_all(house.path("")).unwrap();
    house.happen(3).await;
    copies.round(&house.copying).await.unwrap();
    assert!(!house.path("").exists(), "a team that is gone is not made again");
    house.copying.workspaces.of(&TeamName::main()).unwrap();
    house.happen(1).await;
    copies.round(&house.copying).await.unwrap();
    house.is_whole().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_written_later_and_until_then_no_row_is_forgotten() {
    let house = House::new().await;
    let mut copies = house.copies();
    let teams = house.folder.path().join("teams");
    // A link is no folder of a team's.
    fs::rename(teams.join("main"), teams.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", teams.join("main")).unwrap();
    house.happen(1_500).await;
    copies.round(&house.copying).await.unwrap();
    assert_eq!(house.seen().await, 0);
    fs::remove_file(teams.join("main")).unwrap();
    fs::rename(teams.join("elsewhere"), teams.join("main")).unwrap();
    copies.round(&house.copying).await.unwrap();
    house.is_whole().await;
    assert_eq!(house.seen().await, 1_503);
}

#[tokio::test(start_paused = true)]
async fn the_loop_copies_on_the_bell_and_once_more_when_it_stops() {
    let house = House::new().await;
    let Copying { db, clock, workspaces } = &house.copying;
    let copying = Copying { db: db.clone(), clock: *clock, workspaces: workspaces.clone() };
    let tasks = Tasks::new();
    tasks.spawn("events", run(Arc::new(copying), tasks.clone()));
    clock.sleep(Duration::from_millis(1)).await;
    house.is_whole().await;
    house.happen(2).await;
    clock.sleep(GATHER * 2).await;
    house.is_whole().await;
    house.happen(2).await;
    tasks.stop();
    assert!(tasks.wait(Duration::from_secs(5)).await);
    house.is_whole().await;
}

#[tokio::test]
async fn a_new_team_s_file_begins_with_its_own_events_and_not_with_those_of_its_name() {
    let house = House::new().await;
    let (main, ops): (TeamName, TeamName) = (TeamName::main(), "ops".parse().unwrap());
    let file = house.folder.path().join("teams/ops/events.jsonl");
    let begin = async || {
        let add = async |conn: &mut Conn| store::teams::add(conn, &ops, &main, "", store::teams::State::Ready, 1).await;
        assert!(house.copying.db.tx("add", add).await.unwrap());
        fs::create_dir(file.parent().unwrap()).unwrap();
    };
    let work = async |count: usize| {
        let give = async |conn: &mut Conn| {
            let nobody = Origin::default();
            for _ in 0..count {
                let new = tasks::New::of(&ops, tasks::Kind::Delegate, "x", &nobody);
                tasks::give(conn, &new, 1).await?;
            }
            Ok(())
        };
        house.copying.db.tx("give", give).await.unwrap();
    };
    let lines = || fs::read_to_string(&file).unwrap().lines().count();
    let mut copies = house.copies();
    begin().await;
    work(2).await;
    copies.round(&house.copying).await.unwrap();
    assert_eq!(lines(), 2);
    // More happens than is read at once, and is not copied before the team goes and another comes.
    work(2 * BATCH as usize + 9).await;
    house.copying.db.tx("remove", async |conn: &mut Conn| store::teams::remove(conn, &ops).await).await.unwrap();
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    begin().await;
    copies.round(&house.copying).await.unwrap();
    assert_eq!(lines(), 0, "nothing has happened to it yet");
    work(3).await;
    for mut copies in [copies, house.copies()] {
        copies.round(&house.copying).await.unwrap();
        assert_eq!(lines(), 3);
    }
}
