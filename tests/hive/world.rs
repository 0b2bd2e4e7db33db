//! One trial's world: platforms in memory, scripted models, rows in a real database file, and a hive that lives in it
//! on virtual time, dies, and lives again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::chance::Chance;
use base::{Clock, Moment, Scrub, Secret};
use channels::memory::Memory;
use channels::{Channel, Kind};
use llm::{Chain, Limits};
use openhive::app::{Hive, House, Minds, Parts};
use openhive::config::Config;
use store::{Bell, Db};
use tokio::runtime::Runtime;

use crate::fatal::{Fatal, Fate};
use crate::furnish;
use crate::language::Setup;
use crate::names::{KINDS, Names};
use crate::rows::Rows;
use crate::stage::Stage;

/// Monday, 5 January 2026, 12:00 UTC: where every world begins.
const BEGINNING: Moment = 1_767_614_400_000;
/// A hive that is not at rest after so long has something that never ends.
const REST_WITHIN: Duration = Duration::from_secs(40 * 3_600);
/// How often a hive that rings no bell is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A world.
pub struct World {
    /// Who and where.
    pub names: Names,
    /// The models.
    pub stage: Stage,
    /// When the database dies, and whether a new process is started then: see [`Death`].
    pub death: Death,
    /// How many processes there were.
    pub lives: usize,
    #[expect(dead_code, reason = "it is deleted when the world goes")]
    folder: tempfile::TempDir,
    memories: BTreeMap<Kind, Arc<Memory>>,
    config: Config,
    setup: Setup,
    scrub: Scrub,
    /// The clock of the process that lives, for the platforms.
    clock: Arc<Mutex<Clock>>,
    /// Where the next process's time begins.
    resumes_at: Moment,
    life: Option<Life>,
    fate: Fate,
    dies_by_name: bool,
    /// Until then a death may come without a bell.
    busy_until: Moment,
    rows: Option<Rows>,
}

/// A dead database is noticed within this time, while something happens; [`LOOK_EVERY`] else.
const DEATH_WITHIN: Duration = Duration::from_millis(5);
/// Something happens for this long after a bell.
const BUSY: Duration = Duration::from_secs(2);

/// What ends a process in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Only the scenario's own words.
    Scripted,
    /// After this many commits of the first process; a new one is started at once.
    AfterCommits(u64),
    /// After this many deliveries, carried out and not heard of; a new process is started at once.
    AfterDeliveries(u64),
}

/// A process. Its runtime is its own, so that nothing of it goes on once it is dropped.
struct Life {
    runtime: Runtime,
    clock: Clock,
    db: Db,
    /// `None` where it died while it started.
    hive: Option<Hive>,
}

impl World {
    /// A world in which nothing has happened.
    ///
    /// # Errors
    /// Where the set-up's files are not a configuration.
    pub fn new(setup: &Setup) -> Result<World, String> {
        let folder =
            tempfile::Builder::new().prefix("hive-").tempdir_in(furnish::shelf()).expect("a folder can be made");
        let mut names = Names::default();
        let config = furnish::configuration(&folder, setup, &mut names)?;
        let clock = Arc::new(Mutex::new(Clock::Wall));
        let memory = |kind: Kind| {
            let clock = clock.clone();
            let now = move || clock.lock().unwrap_or_else(PoisonError::into_inner).now();
            (kind, Arc::new(Memory::new(kind).with_clock(now)))
        };
        let scrub = Scrub::new();
        setup.secrets.iter().for_each(|secret| scrub.learn(&Secret::new(secret)));
        let stage = Stage::default();
        setup.improvise.iter().for_each(|seed| stage.improvise(*seed));
        Ok(World {
            names,
            stage,
            death: Death::Scripted,
            lives: 0,
            memories: KINDS.into_iter().map(memory).collect(),
            config,
            setup: setup.clone(),
            scrub,
            clock,
            resumes_at: BEGINNING,
            life: None,
            fate: Fate::default(),
            dies_by_name: false,
            busy_until: BEGINNING,
            rows: None,
            folder,
        })
    }

    /// The platform of a kind.
    pub fn memory(&self, kind: Kind) -> &Arc<Memory> {
        self.memories.get(&kind).expect("scenarios play the three kinds of `KINDS`")
    }

    /// What the owner wrote about trust.
    pub fn policy(&self) -> &org::trust::Policy {
        &self.config.trust
    }

    /// Whether the owner wrote rules, which are part of every prompt.
    pub fn has_rules(&self) -> bool {
        self.setup.files.iter().any(|(_, path, _)| path.starts_with("rules/"))
    }

    /// Whether the main team has subagents, which are tools of its agent.
    pub fn has_subagents(&self) -> bool {
        self.setup.files.iter().any(|(_, path, _)| path.starts_with("main/subagents/"))
    }

    /// Whether the owner wrote what the main agent may use, which shows it other tools.
    pub fn chooses_tools(&self) -> bool {
        self.config.settings.team != openhive::config::Team::default()
    }

    /// The values that nobody may see.
    pub fn secrets(&self) -> &[String] {
        &self.setup.secrets
    }

    /// The main team's folder.
    pub fn workspace(&self) -> PathBuf {
        std::path::absolute(self.config.run_dir.join("teams/main")).expect("the folder has a path")
    }

    /// The rows, as an outsider sees them.
    pub fn rows(&mut self) -> &mut Rows {
        let path = self.database();
        self.rows.get_or_insert_with(|| Rows::open(&path))
    }

    /// Now.
    pub fn now(&self) -> Moment {
        match &self.life {
            Some(life) => life.runtime.block_on(async { life.clock.now() }),
            None => self.resumes_at,
        }
    }

    /// Whether a process lives.
    pub fn is_alive(&self) -> bool {
        self.life.is_some()
    }

    /// The teams whose gates are not free, and what those are doing.
    pub fn busy_gates(&self) -> Vec<String> {
        let loads = self.life.iter().flat_map(|life| &life.hive).flat_map(Hive::loads);
        loads.filter(|(_, load)| !load.is_free()).map(|(team, load)| format!("{team}: {load:?}")).collect()
    }

    /// Whether the process's database has died.
    pub fn is_dying(&self) -> bool {
        self.fate.has_come() || self.life.as_ref().is_some_and(|life| life.db.is_dead())
    }

    /// Starts a process.
    pub fn start(&mut self) -> Result<(), String> {
        loop {
            let hive = self.start_once()?;
            if hive || !self.dies_by_trial() {
                return Ok(());
            }
            self.crash();
        }
    }

    /// Whether it came up; `false` where it died while it started.
    fn start_once(&mut self) -> Result<bool, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.expect("a runtime can be made");
        let first = self.lives == 0;
        self.lives += 1;
        std::fs::create_dir_all(&self.config.run_dir).expect("the folder can be made");
        furnish::lay_template(&self.database());
        let started = runtime.block_on(async {
            let clock = Clock::starting_at(self.resumes_at);
            *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
            let db = Db::open(&self.database()).await?;
            if first {
                furnish::make_teams(&db, &self.config.run_dir, &self.setup.teams, self.resumes_at).await?;
            }
            if let (Death::AfterCommits(count), true) = (self.death, first) {
                db.die_after(count);
            }
            if let (Death::AfterDeliveries(count), true) = (self.death, first) {
                self.fate.after(count);
            }
            // A start takes no time; one that dies waits for ever for its database.
            let hive = tokio::time::timeout(Duration::from_secs(1), Hive::start(self.parts(&db, clock))).await;
            Ok::<_, anyhow::Error>((clock, db, hive.ok().transpose()?))
        });
        let (clock, db, hive) = started.map_err(|error| format!("the hive does not start: {error:#}"))?;
        let came_up = hive.is_some();
        self.life = Some(Life { runtime, clock, db, hive });
        Ok(came_up)
    }

    fn parts(&self, db: &Db, clock: Clock) -> Parts {
        let setup = &self.setup;
        let window = setup.model.window_tokens;
        let actor = |agent: &str| self.stage.actor(agent, window);
        let rest = setup.model.fallback.iter().map(|agent| actor(agent)).collect();
        let chance = || Arc::new(Chance::seeded(1));
        let main = Chain::new(actor("main"), rest, clock, chance(), Limits::STANDARD);
        let classifier = Chain::new(actor("classifier"), Vec::new(), clock, chance(), Limits::STANDARD);
        let fatal = |memory: &Arc<Memory>| Fatal { clock, memory: memory.clone(), fate: self.fate.clone() };
        let channels = self.memories.values().map(|memory| Arc::new(fatal(memory)) as Arc<dyn Channel>).collect();
        Parts {
            db: db.clone(),
            clock,
            channels,
            minds: Minds {
                main: Arc::new(main),
                output_tokens_max: setup.model.output_tokens_max,
                classifier: setup.classifier.then(|| Arc::new(classifier) as Arc<dyn llm::Model>),
                all: furnish::models(setup.model.prices),
            },
            settings: self.config.settings.clone(),
            policy: self.config.trust.clone(),
            house: House {
                data_dir: self.config.data_dir.clone(),
                run_dir: self.config.run_dir.clone(),
                scrub: self.scrub.clone(),
                vault_key: None,
                // No other process writes here, and each look costs real time: days pass in a scenario.
                listen_every: std::time::Duration::from_secs(30),
            },
        }
    }

    /// The process is gone, without a word.
    pub fn crash(&mut self) {
        self.resumes_at = self.now();
        (self.life, self.dies_by_name) = (None, false);
        self.fate.is_over();
    }

    /// The process is told to stop, and does.
    pub fn stop(&mut self) {
        if let Some(life) = &mut self.life
            && let Some(hive) = life.hive.take()
        {
            life.runtime.block_on(hive.stop());
        }
        self.crash();
    }

    /// The next process begins this much later than the last one ended.
    pub fn pass_without_process(&mut self, later_ms: i64) {
        self.resumes_at += later_ms;
    }

    /// Has the database die with the next commit of that name.
    pub fn die_after_named(&mut self, name: &str) {
        self.dies_by_name = true;
        if let Some(life) = &self.life {
            life.db.die_after_named(name);
        }
    }

    /// Lets exactly this much time pass.
    pub fn run(&mut self, span: Duration) -> Result<(), String> {
        let until = self.now() + base::clock::ms(span);
        loop {
            let left = base::clock::millis(until - self.now());
            if left.is_zero() || !self.is_alive() {
                return Ok(());
            }
            self.run_until_bell(left, true)?;
        }
    }

    /// Lets time pass until nothing is left to do.
    pub fn rest(&mut self) -> Result<(), String> {
        let limit = self.now() + base::clock::ms(REST_WITHIN);
        // What has just been said comes in before anything is looked at.
        self.run(Duration::from_millis(1))?;
        while !self.is_at_rest() {
            if self.now() > limit {
                return Err(format!("the hive does not come to rest: {}", self.open_work().join("; ")));
            }
            self.run_until_bell(LOOK_EVERY, false)?;
        }
        self.run(Duration::from_millis(1))
    }

    /// Lets time pass until the database has died.
    pub fn until_death(&mut self, name: &str) -> Result<(), String> {
        let limit = self.now() + base::clock::ms(REST_WITHIN);
        self.run(Duration::from_millis(1))?;
        while !self.is_dying() {
            if self.is_at_rest() || self.now() > limit {
                return Err(format!("\"{name}\" was never committed"));
            }
            self.run_until_bell(LOOK_EVERY, false)?;
        }
        Ok(())
    }

    /// Runs until rows change or `span` is over. A process that a trial has killed is replaced.
    fn run_until_bell(&mut self, span: Duration, through: bool) -> Result<(), String> {
        let dies = (self.dies_by_trial() && self.lives == 1) || self.dies_by_name;
        let Some(life) = &self.life else { return Ok(()) };
        let busy_until = &mut self.busy_until;
        let end = life.runtime.block_on(async {
            let mut bells = [Bell::Inbox, Bell::Tasks, Bell::Outbox].map(|bell| life.db.changes(bell));
            let [inbox, tasks, outbox] = &mut bells;
            let end = life.clock.now() + base::clock::ms(span);
            while !life.db.is_dead() && !self.fate.has_come() && life.clock.now() < end {
                let now = life.clock.now();
                // Not every commit that may kill rings a bell; one that does not comes soon after one that does.
                let look = if dies && now < *busy_until { DEATH_WITHIN } else { LOOK_EVERY };
                let rang = tokio::select! {
                    biased;
                    _ = inbox.changed() => true,
                    _ = tasks.changed() => true,
                    _ = outbox.changed() => true,
                    () = self.fate.comes() => true,
                    () = life.clock.sleep(base::clock::millis(end - now).min(look)) => false,
                };
                if rang {
                    *busy_until = now + base::clock::ms(BUSY);
                }
                if rang && !through {
                    break;
                }
            }
            end
        });
        if self.is_dying() && self.dies_by_trial() {
            self.crash();
            self.start()?;
        } else if self.is_dying() && through {
            // It stands still; its time passes all the same.
            let life = self.life.as_ref().expect("it is dying");
            life.runtime.block_on(life.clock.sleep_until(Some(end)));
        }
        Ok(())
    }

    fn dies_by_trial(&self) -> bool {
        self.death != Death::Scripted
    }

    /// Nothing is left to do: everything that came in is dealt with, everything to be sent is sent.
    fn is_at_rest(&mut self) -> bool {
        self.memories.values().all(|memory| memory.untaken() == 0) && self.open_work().is_empty()
    }

    fn open_work(&mut self) -> Vec<String> {
        let open = "SELECT 'inbox ' || id || ' ' || state FROM inbox WHERE state IN ('received', 'placed')
                    UNION ALL SELECT 'task ' || id || ' ' || state FROM tasks WHERE state IN ('queued', 'running')
                    UNION ALL SELECT 'outbox ' || id || ' ' || state || ' ' || note FROM outbox
                              WHERE state IN ('draft', 'due', 'sending')";
        self.rows().of(open).expect("the query is right").into_iter().flatten().collect()
    }

    fn database(&self) -> PathBuf {
        self.config.run_dir.join("openhive.db")
    }

    /// Does something to the rows as another process would, beside the one that lives.
    pub fn beside<T>(&self, work: impl AsyncFnOnce(&mut store::Conn) -> anyhow::Result<T>) -> Result<T, String> {
        let path = self.database();
        std::fs::create_dir_all(&self.config.run_dir).expect("the folder can be made");
        furnish::lay_template(&path);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let done = runtime.expect("a runtime can be made").block_on(async {
            let db = Db::open(&path).await?;
            db.tx("beside the hive", work).await
        });
        done.map_err(|error| format!("{error:#}"))
    }
}
