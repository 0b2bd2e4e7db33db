//! The composition root: builds everything once, starts the loops, and stops them in reverse order.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use base::{Clock, Scrub, Secret, Stop, Tasks, TeamName};
use channels::render::RenderLimits;
use channels::{Channel, Intake, Kind};
use llm::{Model, Models};
use org::memory::Library;
use org::teams::Tree;
use org::topics::Rules;
use org::trust::Policy;
use store::{Bell, Db, settings};
use tokio::sync::Semaphore;
use tools::{Gates, Load};

use crate::classifier::Classifier;
use crate::commands::{Commands, Facts};
use crate::config::Settings;
use crate::loops::worker::Running;
use crate::loops::{board, events, inbound, outbound, recovery, upkeep, vectors, worker};
use crate::session::{Agents, Asked, Ledger, Limits, Made, Mind, Office, Prompts, Sessions, owner_rules};
use crate::toolkit::{Kit, Means, Outfit, Rights};
use crate::voices::Voices;

/// What a hive is made of. The product makes it from its configuration ([`crate::cli::run`]), tests from doubles.
pub struct Parts {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The platforms.
    pub channels: Vec<Arc<dyn Channel>>,
    /// The models.
    pub minds: Minds,
    /// How the hive behaves.
    pub settings: Settings,
    /// Who may speak.
    pub policy: Policy,
    /// Where things are, and what must not be shown.
    pub house: House,
}

/// The models of a hive.
pub struct Minds {
    /// What the main agent asks.
    pub main: Arc<dyn Model>,
    /// The longest answer that is asked of it, in tokens.
    pub output_tokens_max: u32,
    /// What sorts messages into topics; `None`: their words do.
    pub classifier: Option<Arc<dyn Model>>,
    /// All models, with their prices.
    pub all: Arc<Models>,
}

/// Where things are.
pub struct House {
    /// What the user writes.
    pub data_dir: PathBuf,
    /// What the hive writes.
    pub run_dir: PathBuf,
    /// Takes secrets out of what is shown.
    pub scrub: Scrub,
    /// The vault's key, where the environment has it.
    pub vault_key: Option<Secret>,
    /// How often another process's writes are looked for: `hive trust add` beside a running hive takes effect within
    /// it. Where no other process is, seldom will do.
    pub listen_every: Duration,
}

impl House {
    /// What no command of a tool may read: configuration with keys in it.
    fn hidden(&self) -> Vec<PathBuf> {
        vec![self.data_dir.clone(), PathBuf::from(".env")]
    }

    fn means<'a>(
        &'a self,
        db: &'a Db,
        clock: Clock,
        policy: &'a Arc<Policy>,
        settings: &'a Settings,
        models: &Models,
        library: Library,
    ) -> Means<'a> {
        let vault_key = self.vault_key.as_ref();
        let (run_dir, hidden, scrub) = (&*self.run_dir, self.hidden(), &self.scrub);
        let (team, delegation) = (&settings.team, settings.delegation);
        let profiles = models.profiles().map(|profile| profile.name.clone()).collect();
        Means { db, clock, run_dir, hidden, policy, scrub, team, vault_key, profiles, delegation, library }
    }
}

/// A hive that runs.
pub struct Hive {
    receiving: Tasks,
    placing: Tasks,
    working: Tasks,
    turns: Tasks,
    sending: Tasks,
    door: Arc<inbound::Door>,
    rest: Rest,
}

struct Rest {
    running: Running,
    gates: Gates,
    /// What tools reach other sessions by: they hold no more than a weak end of it.
    asked: Option<Arc<dyn tools::delegation::Sessions>>,
    stop_grace: Duration,
    /// Cancelled when every platform has failed for good.
    deaf: Stop,
}

/// How long a loop may take to end that has nothing long to do.
const LOOP_END: Duration = Duration::from_secs(10);

impl Hive {
    /// Recovers what the last process left, then starts every loop.
    ///
    /// # Errors
    /// Where a part cannot be made, or the rows cannot be read.
    pub async fn start(parts: Parts) -> Result<Hive> {
        let Parts { db, clock, channels, minds, settings, policy, house } = parts;
        let render = RenderLimits { file_over_chars: usize::try_from(settings.replies.file_over_chars)? };
        recovery::run(&db, clock, render).await?;
        let now = clock.now();
        let instance = db.tx("name this database", async |conn| settings::instance(conn, now).await).await?;
        let voices = Voices::new(&instance, channels);
        let policy = Arc::new(policy);
        let rules = Rules { active_max: u32::try_from(settings.topics.active_max)? };
        let library = crate::toolkit::library(&settings.team, &minds.all)?;
        let means = house.means(&db, clock, &policy, &settings, &minds.all, library);
        let Kit { executor, library, tree, outfit } = crate::toolkit::build(&means).await?;
        tree.settle().await.context("settle the teams that were being made or taken away")?;
        let rights = Arc::new(Rights::open(&db, clock, &executor.catalogue, &settings.team).await?);
        let workspaces = executor.workspaces.clone();
        let ledger = Ledger { rules: settings.budgets.clone(), models: minds.all.clone() };
        let door = inbound::Door { db: db.clone(), clock, policy: policy.clone(), closed: Stop::new() };
        let mut hive = Hive::silent(door, executor.gates.clone(), settings.stop_grace);
        let sending = outbound::Sending {
            db: db.clone(),
            clock,
            voices: voices.clone(),
            rules: settings.outbox.clone(),
            policy: policy.clone(),
        };
        let copying = events::Copying { db: db.clone(), clock, workspaces: workspaces.clone() };
        let showing = board::Showing { db: db.clone(), clock, voices: voices.clone() };
        hive.start_sending(sending, copying, showing);
        let office =
            Office { ledger: ledger.clone(), policy: policy.clone(), scrub: house.scrub, library: library.clone() };
        let model = minds.main.reference().to_string();
        let teams = (tree, outfit, std::path::absolute(house.run_dir.join("teams"))?);
        let prompts = Prompts::of(owner_rules(&house.data_dir)?);
        let agents = agents(&settings, &minds, teams, rights.clone(), prompts);
        let facts = Facts { policy, rules, started_at: now, model, render, rights };
        let several = settings.topics.several_topics;
        let classifier = Classifier { db: db.clone(), clock, model: minds.classifier, ledger, several };
        let limits = limits(&settings, render)?;
        let sessions = Arc::new(Sessions {
            db: db.clone(),
            clock,
            agents,
            tools: executor,
            voices: voices.clone(),
            office,
            limits,
            loose: hive.turns.clone(),
            within: Semaphore::new(settings.delegation.models_max as usize),
        });
        hive.start_work(sessions);
        hive.start_upkeep(upkeep::Upkeep {
            db: db.clone(),
            clock,
            running: hive.rest.running.clone(),
            settings: settings.clone(),
            render,
            workspaces,
            listen_every: house.listen_every,
        });
        hive.working.spawn("vectors", vectors::run(db.clone(), clock, library, hive.working.clone()));
        let commands = Commands { db: db.clone(), clock, facts: Arc::new(facts) };
        let during_turn = settings.topics.during_turn;
        let placing = inbound::Placing { db, clock, commands, classifier, rules, during_turn };
        hive.placing.spawn("inbound", inbound::run(Arc::new(placing), hive.placing.clone()));
        hive.start_receiving(&voices);
        Ok(hive)
    }

    /// A hive that does nothing yet.
    fn silent(door: inbound::Door, gates: Gates, stop_grace: Duration) -> Hive {
        Hive {
            receiving: Tasks::new(),
            placing: Tasks::new(),
            working: Tasks::new(),
            turns: Tasks::new(),
            sending: Tasks::new(),
            door: Arc::new(door),
            rest: Rest { running: Running::default(), gates, asked: None, stop_grace, deaf: Stop::new() },
        }
    }

    fn start_sending(&self, sending: outbound::Sending, copying: events::Copying, showing: board::Showing) {
        self.sending.spawn("outbound", outbound::run(Arc::new(sending), self.sending.clone()));
        self.sending.spawn("board", board::run(Arc::new(showing), self.sending.clone()));
        // Among the last to stop: what the others do in the end has happened as well.
        self.sending.spawn("events", events::run(Arc::new(copying), self.sending.clone()));
    }

    fn start_work(&mut self, sessions: Arc<Sessions>) {
        self.rest.asked = Some(Asked::on(&sessions));
        let (running, tasks, turns) = (self.rest.running.clone(), self.working.clone(), self.turns.clone());
        self.working.spawn("worker", worker::run(sessions, running, tasks, turns));
    }

    fn start_upkeep(&self, upkeep: upkeep::Upkeep) {
        self.working.spawn("upkeep", upkeep::run(Arc::new(upkeep), self.working.clone()));
    }

    fn start_receiving(&self, voices: &Voices) {
        // The terminal alone is nobody's reason to stay: a hive whose every platform refuses it should be seen to fail.
        let remote = voices.all().filter(|channel| channel.kind() != Kind::Console).count();
        let listened_to = Arc::new(AtomicUsize::new(remote));
        for channel in voices.all() {
            let channel = channel.clone();
            let (door, stop): (Arc<dyn Intake>, _) = (self.door.clone(), self.receiving.stop_token());
            let (listened_to, deaf) = (listened_to.clone(), self.rest.deaf.clone());
            self.receiving.spawn("receive", async move {
                match channel.receive(door, stop).await {
                    Ok(()) => tracing::debug!("{} is closed", channel.kind()),
                    Err(error) => {
                        tracing::error!("{} is not listened to: {error}", channel.kind());
                        if channel.kind() != Kind::Console && listened_to.fetch_sub(1, Ordering::AcqRel) == 1 {
                            deaf.cancel();
                        }
                    }
                }
            });
        }
    }

    /// What the teams' gates are doing, of the teams that have called a tool in this process.
    pub fn loads(&self) -> Vec<(TeamName, Load)> {
        self.rest.gates.loads()
    }

    /// Resolves when every platform has failed for good.
    pub async fn deaf(&self) {
        self.rest.deaf.cancelled().await;
    }

    /// Resolves when there is nothing to do: all is answered and sent, or `limit` has passed.
    pub async fn idle(&self, limit: Duration) {
        // What is answered last is sent last.
        let mut bell = self.door.db.changes(Bell::Outbox);
        let all_done = async {
            loop {
                bell.mark_unchanged();
                match self.door.db.read(async |conn| store::tasks::all_done(conn).await).await {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => tracing::warn!("whether all is done could not be read: {error:#}"),
                }
                tokio::select! {
                    biased;
                    _ = bell.changed() => {}
                    // A message that is answered by silence rings no outbox.
                    () = self.door.clock.sleep(Duration::from_millis(200)) => {}
                }
            }
        };
        // `sleep` and not a time-out of the runtime's: the clock is the hive's.
        tokio::select! {
            biased;
            () = all_done => {}
            () = self.door.clock.sleep(limit) => {}
        }
    }

    /// Stops: takes nothing in any more, lets turns end within the configured time and sends what they said; the
    /// rest waits in the rows for the next start. Turns that only wait for somebody's answer are not waited for.
    pub async fn stop(self) {
        self.door.closed.cancel();
        self.receiving.stop();
        ended("receiving", &self.receiving, LOOP_END).await;
        self.placing.stop();
        ended("placing", &self.placing, LOOP_END).await;
        self.working.stop();
        ended("working", &self.working, LOOP_END).await;
        if !self.turns_end().await {
            tracing::info!("{} turns are left for the next start", self.turns.running());
            self.rest.running.halt_all();
            ended("turns", &self.turns, LOOP_END).await;
        }
        self.sending.stop();
        ended("sending", &self.sending, LOOP_END).await;
    }

    /// Waits until the turns have ended. `false` where some had not within their time.
    async fn turns_end(&self) -> bool {
        tokio::select! {
            biased;
            ended = self.turns.wait(self.rest.stop_grace) => ended,
            never = self.leave_who_waits() => match never {},
        }
    }

    /// Leaves the turns to the next start that wait for somebody's answer, now or once they begin to: none can come, for
    /// nothing is taken in any more.
    async fn leave_who_waits(&self) -> Infallible {
        let mut bell = self.door.db.changes(Bell::Questions);
        loop {
            bell.mark_unchanged();
            if let Err(error) = self.rest.running.halt_waiting(&self.door.db).await {
                tracing::warn!("which turns wait for an answer could not be read: {error:#}");
            }
            if bell.changed().await.is_err() {
                // The database is gone, and with it every question.
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn ended(what: &str, tasks: &Tasks, limit: Duration) {
    if !tasks.wait(limit).await {
        tracing::warn!("{what} did not end within {limit:?}; what it was doing is in the rows");
    }
}

fn agents(
    settings: &Settings,
    minds: &Minds,
    (tree, outfit, teams_dir): (Tree, Outfit, PathBuf),
    rights: Arc<Rights>,
    prompts: Prompts,
) -> Agents {
    let session = settings.session.clone();
    let mind = Mind::of(minds.main.clone(), minds.output_tokens_max, &session);
    let (models, made) = (minds.all.clone(), Made::default());
    Agents { rights, tree, outfit, mind, models, session, prompts, teams_dir, made }
}

fn limits(settings: &Settings, render: RenderLimits) -> Result<Limits> {
    let session = &settings.session;
    Ok(Limits {
        turn: session.turn_timeout,
        history_max: u32::try_from(session.history_messages_max).context("session.history_messages_max")?,
        during_turn: settings.topics.during_turn,
        new_message_after: settings.replies.new_message_after,
        render,
        attachments: settings.attachments.clone(),
    })
}
