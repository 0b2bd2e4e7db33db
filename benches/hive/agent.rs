//! `agent`: what a turn reads before it begins, of the rows and of its team's folder: who its agent is.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use base::{Clock, Scrub, TeamName};
use llm::Models;
use openhive::config::{self, Environment};
use openhive::session::{Agents, Made, Mind, Prompts};
use openhive::toolkit::{self, Kit, Means, Rights};
use rusqlite::Connection;
use store::Db;
use store::teams::{self, State};

use crate::Extent;
use crate::house;
use crate::machine::Machine;
use crate::raw;
use crate::report::{Compared, Figure, Goal, Report};
use crate::spread::{median, percentile};

/// What a turn of the main agent may take for it, in milliseconds.
const GOAL_MS: f64 = 0.2;
/// The main team's children.
const CHILDREN: usize = 12;
/// What stands in the main team's folder, and in a child's.
const FILES: [(&str, &str); 6] = [
    ("AGENT.md", "You are calm, and say what you do not know.\n"),
    ("org-rules/words.md", "# Words\n\nPlain ones. No abbreviation that was not explained.\n"),
    ("team-rules/context.md", "# Who we are\n\nA small company that makes maps for hikers.\n"),
    ("team-rules/hours.md", "# Hours\n\nNobody is woken at night for anything that can wait.\n"),
    (
        "skills/release.md",
        "Prepares a release.\n\n## Required Tools\n- shell\n\n1. Read what was merged.\n2. Write it.\n",
    ),
    ("subagents/reader.md", "# Agent: reader\n\n## Role\nReads what is long, and says what matters.\n"),
];

/// Where agents come from, as a hive has it, and what its folders' teams are.
struct House {
    agents: Agents,
    db: Db,
}

impl House {
    async fn open(folder: &Path) -> Result<House> {
        let (data_dir, run_dir) = (folder.join("data"), folder.join("run"));
        std::fs::create_dir_all(&data_dir)?;
        std::fs::create_dir_all(&run_dir)?;
        let paths = [("HIVE_DATA_DIR", &data_dir), ("HIVE_RUN_DIR", &run_dir)];
        let environment = Environment::from_pairs(paths.map(|(name, path)| (name, path.display().to_string())));
        let config = config::load(&environment).map_err(|errors| anyhow!("{errors}"))?;
        let db = Db::open(&run_dir.join("openhive.db")).await?;
        grow(&db, &run_dir).await?;
        let (policy, scrub) = (Arc::new(config.trust), Scrub::new());
        let means = Means {
            db: &db,
            clock: Clock::Wall,
            run_dir: &run_dir,
            hidden: Vec::new(),
            policy: &policy,
            scrub: &scrub,
            team: &config.settings.team,
            vault_key: None,
            profiles: Vec::new(),
            delegation: config.settings.delegation,
            library: org::memory::Library::embedded(),
        };
        let Kit { executor, tree, outfit, .. } = toolkit::build(&means).await?;
        let (_, model) = house::listening();
        let models = Models::new(Vec::new(), Clock::Wall, llm::Limits::STANDARD);
        let session = config.settings.session.clone();
        let agents = Agents {
            rights: Arc::new(Rights::open(&db, Clock::Wall, &executor.catalogue, &config.settings.team).await?),
            tree,
            outfit,
            mind: Mind::of(model, 1_024, &session),
            models: Arc::new(models.map_err(|faults| anyhow!("{faults:?}"))?),
            session,
            prompts: Prompts::of(Vec::new()),
            teams_dir: run_dir.join("teams"),
            made: Made::default(),
        };
        Ok(House { agents, db })
    }

    /// How long an agent takes, in milliseconds.
    async fn agent(&self, team: &TeamName) -> Result<f64> {
        let begun = Instant::now();
        let agent = self.agents.of_team(&self.db, team).await?;
        let took = begun.elapsed();
        ensure!(agent.own.contains("Hours"), "its rules are part of it: {}", agent.own);
        Ok(took.as_secs_f64() * 1e3)
    }
}

fn child(number: usize) -> Result<TeamName> {
    Ok(format!("team-{number}").parse()?)
}

/// The main team and its children, each with a folder.
async fn grow(db: &Db, run_dir: &Path) -> Result<()> {
    for number in 0..CHILDREN {
        let name = child(number)?;
        let add = async |conn: &mut store::Conn| {
            teams::add(conn, &name, &TeamName::main(), "Looks after a part of the maps.", State::Ready, 0).await
        };
        db.tx("add a team", add).await?;
    }
    let names = (0..CHILDREN).map(child).chain([Ok(TeamName::main())]);
    for name in names.collect::<Result<Vec<_>>>()? {
        let folder = run_dir.join("teams").join(name.as_str());
        let config = ("config.yaml", "allowed_tools: ['*']\n");
        for (path, text) in FILES.into_iter().chain([config]) {
            let path = folder.join(path);
            path.parent().map(std::fs::create_dir_all).transpose()?;
            std::fs::write(path, text)?;
        }
    }
    Ok(())
}

/// The rows alone: the team, its children, and what it is for.
fn by_hand(conn: &Connection) -> Result<f64> {
    let begun = Instant::now();
    let columns = "name, parent, depth, description, state, created_at";
    let team = format!("SELECT {columns} FROM teams WHERE name = 'main'");
    let children = format!("SELECT {columns} FROM teams WHERE parent = 'main' ORDER BY name");
    let words = "SELECT keyword, '', '', '' FROM scope_keywords WHERE team = 'main' ORDER BY keyword".to_owned();
    let mut found = 0;
    for sql in [team, children, words] {
        let mut statement = conn.prepare_cached(&sql)?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let (_name, _description): (String, String) = (row.get(0)?, row.get(3)?);
            found += 1;
        }
    }
    let took = begun.elapsed();
    ensure!(found == CHILDREN + 1, "{found} rows");
    Ok(took.as_secs_f64() * 1e3)
}

/// Runs it.
pub async fn run(extent: Extent) -> Result<Report> {
    let folder = house::folder()?;
    let house = House::open(folder.path()).await?;
    let conn = raw::connect(&folder.path().join("run").join("openhive.db"))?;
    let (main, team) = (TeamName::main(), child(3)?);
    let anew_ms = house.agent(&main).await?;
    // What is in a folder that changed just now is read each time.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    for team in [&main, &team] {
        house.agent(team).await?;
    }
    by_hand(&conn)?;
    let (mut main_ms, mut floor_ms, mut team_ms, mut every_ms) = (vec![], vec![], vec![], vec![]);
    for _ in 0..extent.pairs {
        let (mut mains, mut floors, mut teams) = (vec![], vec![], vec![]);
        for _ in 0..extent.of(300, 10) {
            mains.push(house.agent(&main).await?);
            floors.push(by_hand(&conn)?);
            teams.push(house.agent(&team).await?);
        }
        main_ms.push(median(&mains));
        floor_ms.push(median(&floors));
        team_ms.push(median(&teams));
        every_ms.extend(mains);
    }
    let floor_is = "the rows of the team, of its children and of what it is for, by hand";
    Ok(Report {
        name: "agent".to_owned(),
        about: "what a turn reads before it begins: its team's rows and folder, its prompt, its tools".to_owned(),
        pairs: extent.pairs,
        quick: extent.quick,
        compared: vec![
            Compared::of("of the main agent", "ms", &main_ms, floor_is, &floor_ms),
            Compared::of("of a child team", "ms", &team_ms, floor_is, &floor_ms),
        ],
        goals: vec![Goal::at_most("before a turn of the main agent", median(&main_ms), GOAL_MS, "ms")],
        also: vec![
            Figure::new("before a turn of the main agent, p99", percentile(&every_ms, 0.99), "ms"),
            Figure::new("the first time, with everything read", anew_ms, "ms"),
        ],
        machine: Machine::here(folder.path())?,
    })
}
