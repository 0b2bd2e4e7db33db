//! Sessions that do as a test says, asked through the executor.

mod asking;
mod reach;
mod slot;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::TeamName;
use futures::FutureExt;
use futures::future::BoxFuture;
use org::trust::Policy;
use serde_json::Value;
use store::Conn;
use store::teams::{self, State};

use super::*;
use crate::testing::{START, World, asked};
use crate::{Asked, Call, Done, Executor};

type Play = dyn Fn(Call, Question) -> BoxFuture<'static, Result<String, Unanswered>> + Send + Sync;

/// Sessions that do as a test says, and remember whom they were asked about.
pub struct Script {
    play: Box<Play>,
    seen: Mutex<Vec<Seen>>,
}

/// A question as a session got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub whom: Whom,
    pub text: String,
    pub depth: u32,
    /// Whose slot it rides on.
    pub slot_of: Option<TeamName>,
}

impl Script {
    pub fn of<F>(play: impl Fn(Call, Question) -> F + Send + Sync + 'static) -> Arc<Script>
    where
        F: Future<Output = Result<String, Unanswered>> + Send + 'static,
    {
        let play = Box::new(move |call, question| play(call, question).boxed());
        Arc::new(Script { play, seen: Mutex::default() })
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn asked(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.whom.to_string()).collect()
    }
}

impl Sessions for Script {
    fn ask<'a>(&'a self, call: &'a Call, question: Question) -> BoxFuture<'a, Result<String, Unanswered>> {
        self.seen.lock().unwrap().push(Seen {
            whom: question.whom.clone(),
            text: question.text.clone(),
            depth: question.depth,
            slot_of: question.slot.as_ref().map(|slot| slot.team().clone()),
        });
        (self.play)(call.clone(), question)
    }
}

/// A hive in which the main team has the children `a` to `e`, and `a` the child `grandchild`.
pub struct Hive {
    pub world: World,
    pub executor: Arc<Executor>,
    pub script: Arc<Script>,
    /// Keeps the sessions: the line to them does not.
    _sessions: Arc<dyn Sessions>,
}

pub fn team(name: &str) -> TeamName {
    name.parse().unwrap()
}

impl Hive {
    pub async fn new(script: Arc<Script>) -> Hive {
        Hive::on(World::new().await, script).await
    }

    pub async fn on(world: World, script: Arc<Script>) -> Hive {
        let grow = async |conn: &mut Conn| {
            for name in ["a", "b", "c", "d", "e"] {
                teams::add(conn, &team(name), &TeamName::main(), "", State::Ready, START).await?;
            }
            teams::add(conn, &team("grandchild"), &team("a"), "", State::Ready, START).await
        };
        world.db.tx("grow", grow).await.unwrap();
        let executor = Arc::new(world.executor_of(world.catalogue(Policy::default())));
        let sessions: Arc<dyn Sessions> = script.clone();
        world.line.lead_to(&sessions);
        Hive { world, executor, script, _sessions: sessions }
    }

    /// Calls of one step, as a model asks for them.
    pub async fn step(&self, step: i64, calls: Vec<Asked>) -> Vec<Done> {
        self.executor.run_calls(&Call { step, ..self.world.call() }, calls).await.unwrap()
    }

    /// One call in a step of its own.
    pub async fn call(&self, step: i64, tool: &str, input: Value) -> Done {
        self.step(step, vec![asked("1", tool, input)]).await.remove(0)
    }

    /// What was said of delegations: kind, whom, and how it ended.
    pub async fn events(&self) -> Vec<String> {
        let events = self.world.db.read(async |conn| store::events::after(conn, 0, 1_000).await).await.unwrap();
        let told = events.iter().filter(|event| event.kind.starts_with("delegation_")).map(|event| {
            let body: Value = serde_json::from_str(&event.body).unwrap();
            let how = body["how"].as_str().unwrap_or("");
            format!("{} {} {how}", event.kind, body["assignee"].as_str().unwrap()).trim_end().to_owned()
        });
        told.collect()
    }

    /// How what was asked has ended, in order: who, how, whether with an answer, after how many milliseconds.
    pub async fn closes(&self) -> Vec<(String, String, bool, i64)> {
        let events = self.world.db.read(async |conn| store::events::after(conn, 0, 1_000).await).await.unwrap();
        let closed = events.iter().filter(|event| event.kind == "delegation_closed").map(|event| {
            let body: Value = serde_json::from_str(&event.body).unwrap();
            let text = |key: &str| body[key].as_str().unwrap().to_owned();
            (text("assignee"), text("how"), body["ok"].as_bool().unwrap(), body["ms"].as_i64().unwrap())
        });
        closed.collect()
    }

    /// Every gate is free.
    pub fn assert_free(&self) {
        for (team, load) in self.world.gates.loads() {
            assert!(load.is_free(), "{team}: {load:?}");
        }
    }
}
