//! Sessions in the middle of a call: a team, a subagent or a scout is asked, and answers at once.
//!
//! Such a turn has no task: the asked team's queue stays as it is, whatever becomes of the question. When the call that
//! asks is dropped, so is the turn, and its run is ended as cut off.

use std::sync::{Arc, OnceLock};

use anyhow::Result;
use base::RunId;
use futures::FutureExt;
use futures::future::BoxFuture;
use store::tasks::End;
use store::{Conn, runs};
use tools::Call;
use tools::delegation::{Question, Sessions as Ask, Unanswered, Whom};

use super::Sessions;
use super::turn::{CUT_SHORT, Halt, Turn, interrupt};

/// The sessions as tools reach them.
pub struct Asked(Arc<Sessions>);

impl Asked {
    /// Has the tools of these sessions reach them. They do so as long as what is given back lives.
    pub fn on(sessions: &Arc<Sessions>) -> Arc<dyn Ask> {
        let asked: Arc<dyn Ask> = Arc::new(Asked(sessions.clone()));
        sessions.tools.line.lead_to(&asked);
        asked
    }
}

impl Ask for Asked {
    fn ask<'a>(&'a self, call: &'a Call, question: Question) -> BoxFuture<'a, Result<String, Unanswered>> {
        answer(&self.0, call, question).boxed()
    }
}

async fn answer(session: &Arc<Sessions>, call: &Call, question: Question) -> Result<String, Unanswered> {
    let agent = match &question.whom {
        Whom::Team(team) => session.agents.of_team(&session.db, team).await,
        Whom::Subagent(name) => session.agents.subagent(&session.db, &call.team, name).await,
        Whom::Scout => session.agents.scout(&session.db, &call.team).await,
    };
    let agent = agent.map_err(|error| Unanswered::Failed(format!("{error:#}")))?;
    let mut cut_off = CutOff { session: session.clone(), run: Arc::default() };
    let mut turn = match Turn::within(session, Arc::new(agent), call, &question, &cut_off.run).await {
        Ok(turn) => turn,
        Err(fault) => {
            cut_off.over();
            return Err(Unanswered::Broken(fault));
        }
    };
    // The question ends with the call that asks it.
    let halt = Halt::on(call);
    let ending = turn.proceed(&halt).await;
    // Where its end could not be written, it is cut off.
    let ended = turn.close(ending).await.map_err(Unanswered::Broken)?;
    cut_off.over();
    let said = ended.reply.unwrap_or_default();
    match ended.end {
        // Whoever asked may ask for less, in the same words.
        End::Done if ended.note == CUT_SHORT => Err(Unanswered::Failed(said)),
        End::Done if !said.trim().is_empty() => Ok(said),
        End::Done => Err(Unanswered::Failed("it said nothing".to_owned())),
        End::Failed | End::Cancelled => Err(Unanswered::Failed(match said.trim() {
            "" => ended.note,
            said => said.to_owned(),
        })),
    }
}

/// Ends the run of a turn that is dropped in the middle.
struct CutOff {
    session: Arc<Sessions>,
    /// Known from the moment at which its row is written: the transaction is carried out also where nobody waits for its
    /// end any more.
    run: Arc<OnceLock<RunId>>,
}

impl CutOff {
    /// The turn has come to its end.
    fn over(&mut self) {
        self.run = Arc::default();
    }
}

impl Drop for CutOff {
    fn drop(&mut self) {
        let Some(run) = self.run.get().copied() else { return };
        let (db, now) = (self.session.db.clone(), self.session.clock.now());
        self.session.loose.spawn("end a turn that was cut off", async move {
            let end = async |conn: &mut Conn| {
                interrupt(conn, run, now).await?;
                runs::cut_off(conn, run, now).await
            };
            if let Err(error) = db.tx("end a turn that was cut off", end).await {
                tracing::warn!(run = run.0, "the end of turn {run} could not be written: {error:#}");
            }
        });
    }
}
