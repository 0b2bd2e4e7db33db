//! What the tests of this crate share: a hive's folder with a turn in it, and tools that do as a test says.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, RunId, Scrub, Stop, TeamName};
use channels::{ConversationId, Kind, SenderId};
use futures::FutureExt;
use futures::future::BoxFuture;
use org::trust::Policy;
use org::vault::{Vault, VaultRules};
use serde_json::{Value, json};
use store::tasks::Origin;
use store::topics::NamedBy;
use store::{Db, calls, runs, tasks, topics};

use crate::delegation::Line;
use crate::process::Program;
use crate::shell::ShellRules;
use crate::spec::{Admission, Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::{
    AnyTool, Asked, Call, Catalogue, Done, Executor, Gates, Grant, Handles, Limits, ToolError, Workspaces, catalogue,
};

/// A tool that reads, as a test's starting point.
pub fn spec(name: &'static str) -> Spec {
    Spec {
        name: Cow::Borrowed(name),
        aliases: &[],
        about: Cow::Borrowed("For a test."),
        domain: Domain::Memory,
        source: Source::Native,
        availability: Availability::Both,
        partition: Partition::Read,
        ops: Ops::Daily,
        effect: Effect::ReadOnly,
        destructive: false,
        timeout: Duration::from_secs(30),
        max_result_bytes: 1_000,
        default_disabled: false,
        provenance: Provenance::Anyone,
    }
}

/// A tool that has an effect each time.
pub fn writes(name: &'static str) -> Spec {
    Spec { partition: Partition::Write, effect: Effect::Once, ..spec(name) }
}

type Act = Box<dyn Fn(Call, Value) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync>;

/// A tool that does as it is told.
pub struct Fake {
    pub spec: Spec,
    pub act: Act,
}

impl Fake {
    pub fn tool<F>(spec: Spec, act: impl Fn(Call, Value) -> F + Send + Sync + 'static) -> Arc<dyn AnyTool>
    where
        F: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        Arc::new(Fake { spec, act: Box::new(move |call, input| act(call, input).boxed()) })
    }

    /// Answers at once with its arguments.
    pub fn echo(spec: Spec) -> Arc<dyn AnyTool> {
        Fake::tool(spec, async |_, input| Ok(input.to_string()))
    }
}

impl AnyTool for Fake {
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object", "additionalProperties": false})
    }
    fn output_schema(&self) -> Value {
        json!({"type": "string"})
    }
    fn check(&self, _: &Value) -> Result<Admission, String> {
        Ok(if self.spec.ops == Ops::Org { Admission::Org } else { Admission::Daily })
    }
    fn run<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, Result<String, ToolError>> {
        (self.act)(call.clone(), input)
    }
}

/// A hive's folder with a turn in it, caused by an admin.
pub struct World {
    pub folder: tempfile::TempDir,
    pub db: Db,
    pub clock: Clock,
    pub run: RunId,
    pub origin: Origin,
    pub workspaces: Workspaces,
    pub scrub: Scrub,
    pub vault: Vault,
    pub gates: Gates,
    pub line: Line,
}

/// When a world begins: 2026-11-21 20:03 UTC.
pub const START: base::Moment = 1_795_291_380_000;

impl World {
    /// On virtual time where the test's runtime is paused.
    pub async fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::open(&folder.path().join("openhive.db")).await.unwrap();
        let workspaces = Workspaces::open(&folder.path().join("teams")).unwrap();
        let room = ConversationId::new(Kind::Telegram, -100);
        let sender = SenderId::new(Kind::Telegram, 1);
        let begin = async |conn: &mut store::Conn| {
            let topic = topics::open(conn, &room, "Greetings", NamedBy::Code, START).await?;
            let origin = Origin { conversation: Some(room), topic: Some(topic), sender: Some(sender) };
            tasks::enqueue_message(conn, &origin, topic, START).await?;
            let task = tasks::claim(conn, 1, START, START + 60_000).await?.remove(0);
            Ok((runs::enter(conn, &task, task.origin.topic, START).await?.id, origin))
        };
        let (run, origin) = db.tx("begin", begin).await.unwrap();
        let (clock, scrub) = (Clock::starting_at(START), Scrub::new());
        let key = org::vault::Key::generate().unwrap();
        let vault = Vault::with_key(&db, clock, &scrub, &key, VaultRules::default()).await.unwrap();
        let gates = Gates::new(Gates::DAILY_OPS_MAX);
        World { folder, db, clock, run, origin, workspaces, scrub, vault, gates, line: Line::new() }
    }

    /// The tree of this world's teams.
    pub fn tree(&self) -> org::teams::Tree {
        let (folder, rules) = (self.folder.path().join("teams"), org::teams::Rules::default());
        org::teams::Tree::open(&self.db, self.clock, &self.vault, &self.scrub, &folder, rules).unwrap()
    }

    /// The tools of the program, in this world.
    pub fn catalogue(&self, policy: Policy) -> Catalogue {
        let (db, clock, workspaces) = (self.db.clone(), self.clock, self.workspaces.clone());
        catalogue(Handles {
            db,
            clock,
            workspaces,
            policy: Arc::new(policy),
            vault: self.vault.clone(),
            library: org::memory::Library::embedded(),
            web: (net::fetch::Fetcher::new(net::fetch::FetchRules::default()), net::teams::WebTeams::default()),
            shell: Arc::new(ShellRules { launcher: program(crate::shell::ARGUMENT), ..ShellRules::default() }),
            scrub: self.scrub.clone(),
            gates: self.gates.clone(),
            line: self.line.clone(),
            asking: crate::delegation::Limits::default(),
            tree: self.tree(),
            profiles: ["main", "cheap"].map(str::to_owned).into(),
        })
        .unwrap()
    }

    /// An executor of these tools.
    pub fn executor(&self, tools: Vec<Arc<dyn AnyTool>>) -> Executor {
        self.executor_of(Catalogue::new(tools).unwrap())
    }

    /// An executor of this catalogue.
    pub fn executor_of(&self, catalogue: Catalogue) -> Executor {
        Executor {
            db: self.db.clone(),
            clock: self.clock,
            catalogue: Arc::new(catalogue),
            gates: self.gates.clone(),
            line: self.line.clone(),
            scrub: self.scrub.clone(),
            vault: self.vault.clone(),
            workspaces: self.workspaces.clone(),
            limits: Limits::default(),
        }
    }

    /// A call of the main agent in the first step, in a turn that an admin caused.
    pub fn call(&self) -> Call {
        Call {
            team: TeamName::main(),
            grant: Arc::new(Grant::main(true)),
            origin: self.origin.clone(),
            run: self.run,
            step: 1,
            call_id: "".into(),
            stop: Stop::new(),
            leaving: Stop::new(),
            depth: 0,
            slot: None,
        }
    }

    /// Runs one call of one of the program's tools.
    pub async fn ask(&self, tool: &str, input: Value) -> Done {
        let executor = self.executor_of(self.catalogue(Policy::default()));
        // Each in a step of its own: the journal knows a call by its step and id.
        let step = 1 + i64::try_from(self.rows().await.len()).unwrap();
        let call = Call { step, ..self.call() };
        executor.run_calls(&call, vec![asked("1", tool, input)]).await.unwrap().remove(0)
    }

    /// The journal's rows of the turn.
    pub async fn rows(&self) -> Vec<calls::Call> {
        let run = self.run;
        self.db.read(async |conn| calls::of_run(conn, run).await).await.unwrap()
    }

    /// Where the main team's files are.
    pub fn home(&self) -> std::path::PathBuf {
        self.workspaces.of(&TeamName::main()).unwrap();
        self.folder.path().join("teams/main")
    }
}

/// The program for what needs a process of its own, which cargo builds beside the tests.
pub fn program(argument: &str) -> Program {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples/confine");
    Program { path, arguments: vec![argument.into()] }
}

/// A call as a model asks for it.
pub fn asked(call_id: &str, wire_name: &str, input: Value) -> Asked {
    Asked { call_id: call_id.into(), wire_name: wire_name.into(), input: Ok(input) }
}
