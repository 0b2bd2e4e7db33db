//! The engine of all tools that ask: rules first, then everybody at once, each on a slot and within its time.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use base::{Clock, Moment, TeamName};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use org::teams::Tree;
use serde_json::json;
use store::events::{self, Kind};
use store::teams::{self, State};
use store::{Conn, Db};
use tokio::time::timeout;

use super::caps;
use super::item::{Answer, Item, Why, no_child, shares};
use super::limits::Limits;
use super::sessions::{Line, Question, Sessions, Unanswered, Whom};
use super::slot::Slot;
use super::so_far::SoFar;
use crate::call::Call;
use crate::gate::{Gates, Saturated};
use crate::tool::ToolError;

/// Hands questions to other sessions and brings back what they say. Clones are the same.
#[derive(Clone)]
pub struct Relay {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Admission to the teams.
    pub gates: Gates,
    /// Leads to the sessions.
    pub line: Line,
    /// The teams, and how many slots each has.
    pub tree: Tree,
    /// How much may be asked.
    pub limits: Limits,
}

/// A question that was let through.
struct Open {
    /// Which one of its call it is, from 0.
    at: usize,
    item: Item,
    opened_at: Moment,
}

/// What came of one of several questions.
pub(super) struct Said {
    /// Who was asked.
    pub whom: String,
    /// Whether there is an answer.
    pub ok: bool,
    /// The answer, or why there is none.
    pub text: String,
}

impl Relay {
    /// Asks one session.
    ///
    /// # Errors
    /// With the reason where there is no answer.
    pub(super) async fn ask_one(&self, call: &Call, items: Vec<Item>) -> Result<String, ToolError> {
        let answer = self.ask(call, items).await?.pop().unwrap_or(Err(Why::NobodyAsked));
        answer.map_err(|why| ToolError::Refused(why.to_string()))
    }

    /// Asks all of them at once. What is said is in the order of the items, each with its share of the result; one that
    /// fails fails alone.
    ///
    /// # Errors
    /// If the whole call must not be made, was stopped, or failed by a fault of ours. Then no session goes on.
    pub(super) async fn ask_all(&self, call: &Call, items: Vec<Item>) -> Result<Vec<Said>, ToolError> {
        let names: Vec<String> = items.iter().map(|item| item.whom.to_string()).collect();
        let answers = shares(self.ask(call, items).await?);
        Ok(names.into_iter().zip(answers).map(|(whom, (ok, text))| Said { whom, ok, text }).collect())
    }

    async fn ask(&self, call: &Call, items: Vec<Item>) -> Result<Vec<Answer>, ToolError> {
        let sessions = self.line.sessions().ok_or_else(|| anyhow!("no session can be asked"))?;
        if !self.limits.may_ask(call.depth) {
            return Err(ToolError::refused(
                "others asked others for this already, and it goes no deeper: do it yourself",
            ));
        }
        let (mut answers, open) = self.open(call, items).await?;
        let mut running: FuturesUnordered<_> = open.iter().map(|open| self.follow(call, &*sessions, open)).collect();
        loop {
            tokio::select! {
                biased;
                () = call.stop.cancelled() => {
                    drop(running);
                    self.give_up(call, &open, &answers).await?;
                    return Err(ToolError::refused("the turn was stopped while others worked for it"));
                }
                next = running.next() => match next {
                    None => break,
                    Some((at, Ok(answer))) => answers[at] = Some(answer),
                    Some((_, Err(fault))) => {
                        drop(running);
                        self.give_up(call, &open, &answers).await?;
                        return Err(ToolError::Broken(fault));
                    }
                },
            }
        }
        drop(running);
        Ok(answers.into_iter().map(|answer| answer.unwrap_or(Err(Why::NobodyAsked))).collect())
    }

    /// Applies the rules and says of each question that passes that it is open, in one transaction: no call of the same
    /// step comes between the counting and what is counted.
    async fn open(&self, call: &Call, items: Vec<Item>) -> Result<(Vec<Option<Answer>>, Vec<Open>), ToolError> {
        let now = self.clock.now();
        let write = async |conn: &mut Conn| {
            // A crash has cut this very call off, and it is made again.
            events::cut_off(conn, call.run, call.step, &call.call_id, now).await?;
            let closed = match self.unreachable(conn, call, &items).await? {
                Ok(closed) => closed,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let so_far = SoFar::read(conn, call, &self.limits).await?;
            // A row that has lost a name with a secret says less than the call itself.
            let own = so_far.own.filter(|own| own.len() == items.len());
            let wanted = own.unwrap_or_else(|| items.iter().map(Item::wanted).collect());
            let verdicts = caps::judge(&self.limits, &so_far.earlier, &wanted);
            let refused = verdicts.into_iter().zip(closed).map(|(verdict, closed)| closed.or(verdict.err()));
            let refused: Vec<Option<Answer>> = refused.map(|why| Some(Err(Why::Refused(why?)))).collect();
            for (at, item) in items.iter().enumerate().filter(|(at, _)| refused[*at].is_none()) {
                events::append(conn, call.run, Kind::DelegationOpened, &body(call, at, item), now).await?;
            }
            Ok(Ok(refused))
        };
        let answers = self.db.note("open delegations", write).await?.map_err(ToolError::Refused)?;
        let open = items.into_iter().enumerate().filter(|(at, _)| answers[*at].is_none());
        let open = open.map(|(at, item)| Open { at, item, opened_at: now }).collect();
        Ok((answers, open))
    }

    /// Why a team takes no question now, for each item; all are refused where one is no child.
    async fn unreachable(
        &self,
        conn: &mut Conn,
        call: &Call,
        items: &[Item],
    ) -> Result<Result<Vec<Option<String>>, String>> {
        let mut closed = Vec::with_capacity(items.len());
        for item in items {
            let Whom::Team(name) = &item.whom else {
                closed.push(None);
                continue;
            };
            let team = teams::get(conn, name).await?.filter(|team| team.parent.as_ref() == Some(&call.team));
            let Some(team) = team else {
                let children = teams::children(conn, &call.team).await?;
                let names: Vec<&str> = children.iter().take(NAMES_TOLD_MAX).map(|team| team.name.as_str()).collect();
                let names = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
                return Ok(Err(format!("{}; its children: {names}", no_child(name.as_str()))));
            };
            closed.push(match team.state {
                State::Spawning => Some(format!("`{name}` is still being made")),
                State::Closing => Some(format!("`{name}` is being shut down")),
                State::Bootstrapping | State::Ready | State::Failed => None,
            });
        }
        Ok(Ok(closed))
    }

    /// One question to its end, and the event that says so.
    async fn follow(&self, call: &Call, sessions: &dyn Sessions, open: &Open) -> (usize, Result<Answer>) {
        let asked = self.one(call, sessions, open);
        let answer = match timeout(open.item.timeout, asked).await {
            Ok(Err(fault)) => return (open.at, Err(fault)),
            Ok(Ok(answer)) => answer,
            Err(_) => Err(Why::Timeout),
        };
        let how = answer.as_ref().map_or_else(Why::word, |_| ANSWERED);
        let closed = self.close(call, &[(open, how)]).await;
        (open.at, closed.map(|()| answer))
    }

    async fn one(&self, call: &Call, sessions: &dyn Sessions, open: &Open) -> Result<Answer> {
        let item = &open.item;
        let slot = match &item.whom {
            Whom::Team(team) => match self.slot(team).await {
                Ok(slot) => Some(Arc::new(slot)),
                Err(saturated) => return Ok(Err(Why::Saturated(saturated))),
            },
            // They are of the caller's own team: their calls are admitted as the caller's are.
            Whom::Subagent(_) | Whom::Scout => call.slot.clone(),
        };
        let (whom, text) = (item.whom.clone(), item.text.clone());
        let question = Question { whom, text, slot, depth: call.depth + 1, at: open.at };
        match sessions.ask(call, question).await {
            Ok(said) if said.trim().is_empty() => Ok(Err(Why::Failed("it said nothing".to_owned()))),
            Ok(said) => Ok(Ok(said)),
            Err(Unanswered::Failed(why)) => Ok(Err(Why::Failed(why))),
            Err(Unanswered::Broken(fault)) => Err(fault.context(format!("ask {}", item.whom))),
        }
    }

    /// A slot of a team, of as many as its file says. Its session says so too, but by then the slot is taken, and a gate
    /// in use stays as it is: a team that is only ever asked would never have its own number.
    async fn slot(&self, team: &TeamName) -> Result<Slot, Saturated> {
        // A file that cannot be read is told by the session that needs it.
        if !self.gates.is_fit(team)
            && let Ok(config) = self.tree.written(team).await
        {
            self.gates.fit(team, config.max_concurrent_daily_ops);
        }
        Slot::take(team, self.gates.of(team), self.limits.slot_patience).await
    }

    /// Says of everything that has no answer that it is over.
    async fn give_up(&self, call: &Call, open: &[Open], answers: &[Option<Answer>]) -> Result<()> {
        let left: Vec<(&Open, &str)> =
            open.iter().filter(|open| answers[open.at].is_none()).map(|open| (open, "stopped")).collect();
        self.close(call, &left).await
    }

    async fn close(&self, call: &Call, closed: &[(&Open, &str)]) -> Result<()> {
        let now = self.clock.now();
        let write = async |conn: &mut Conn| {
            for (open, how) in closed {
                let mut body = body(call, open.at, &open.item);
                body["ok"] = json!(*how == ANSWERED);
                body["how"] = json!(how);
                body["ms"] = json!((now - open.opened_at).max(0));
                events::append(conn, call.run, Kind::DelegationClosed, &body, now).await?;
            }
            Ok(())
        };
        self.db.note("close delegations", write).await
    }
}

/// How a question ended that has an answer.
const ANSWERED: &str = "answered";

/// How many children a refusal names.
const NAMES_TOLD_MAX: usize = 30;

/// How long a tool that asks others has to say that they have ended, once its turn is stopped.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// What events say of a question: who is asked, and by which call; never what.
fn body(call: &Call, at: usize, item: &Item) -> serde_json::Value {
    json!({
        "step": call.step,
        "call_id": &*call.call_id,
        "at": at,
        "assignee": item.whom.to_string(),
        "kind": item.whom.kind(),
        "depth": call.depth + 1,
    })
}
