//! `request_input`: a task asks whoever gave it, and its turn waits for the answer.
//!
//! While it waits it has no slot of its team, and nothing of the call is in the journal: a stop ends the question, a
//! crash or a restart waits on. Its team's lane stays taken.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Scrub};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::questions::{self, Answer, Kind, Question};
use store::{Conn, Db, calls};

use super::{ASKS, giver, text};
use crate::asking::{AskingTool, Inquiry, Reply};
use crate::call::Call;
use crate::spec::{Availability, Domain, Effect, Ops, Partition, Provenance, Source, Spec};
use crate::tool::ToolError;

/// Most questions of one task.
const QUESTIONS_MAX: i64 = 3;
/// The longest question, in characters.
const QUESTION_CHARS: usize = 4_000;

/// Asks whoever gave the task.
pub struct RequestInput {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// No question holds a secret, whatever placeholder stood in it.
    pub scrub: Scrub,
}

/// The question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestInputArgs {
    /// What you have to know, with the choices there are and what you would take. Up to 4000 characters.
    pub question: String,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct InputGiven {
    /// The answer.
    pub answer: String,
    /// The team that gave it.
    pub by: String,
}

impl AskingTool for RequestInput {
    const SPEC: Spec = Spec {
        name: Cow::Borrowed(ASKS),
        aliases: &[],
        about: Cow::Borrowed(include_str!("../../../prompts/tools/request_input.md")),
        domain: Domain::Delegation,
        source: Source::Native,
        availability: Availability::Sub,
        partition: Partition::Control,
        ops: Ops::Daily,
        effect: Effect::Idempotent,
        destructive: false,
        timeout: Duration::from_secs(15),
        max_result_bytes: 64 * 1_024,
        default_disabled: false,
        provenance: Provenance::Anyone,
    };
    type Args = RequestInputArgs;
    type Output = InputGiven;

    async fn inquiry(&self, call: &Call, args: &RequestInputArgs) -> Result<Inquiry, ToolError> {
        let text = text("question", &args.question, QUESTION_CHARS)?;
        // As the journal keeps the arguments of a call.
        let arguments = self.scrub.clean(&json!({ "question": args.question }).to_string());
        let may = async |conn: &mut Conn| {
            let task = match giver::own_task(conn, call).await? {
                Ok(task) => task,
                Err(why) => return Ok(Some(why)),
            };
            if calls::repeats(conn, call.run, ASKS, &arguments).await? > 0 {
                return Ok(Some("you have asked exactly that in this task: go on with what came of it".to_owned()));
            }
            if questions::count_by(conn, call.run, ASKS).await? >= QUESTIONS_MAX {
                return Ok(Some(format!(
                    "a task asks at most {QUESTIONS_MAX} questions, and this one has: take the assumption that does the \
                     least harm, and name it in your result"
                )));
            }
            Ok(giver::asked_about(conn, &task).await?.err())
        };
        match self.db.read(may).await? {
            Some(why) => Err(ToolError::Refused(why)),
            None => Ok(Inquiry {
                kind: Kind::Words,
                text: text.to_owned(),
                options: Vec::new(),
                // No person sees it: who is to answer is told with it.
                places: Vec::new(),
                asker: None,
                wanted: None,
                once: false,
            }),
        }
    }

    async fn asked(&self, conn: &mut Conn, call: &Call, args: &RequestInputArgs, question: &Question) -> Result<()> {
        let task = giver::own_task(conn, call).await?.map_err(anyhow::Error::msg)?;
        let reader = giver::asked_about(conn, &task).await?.map_err(anyhow::Error::msg)?;
        let now = self.clock.now();
        let patience = base::clock::show_span(base::clock::millis(question.expires_at - now));
        let text = format!(
            "Task {id} asks you: {}\n\nPeople have not seen this. The task waits: answer within {patience} with \
             `respond_to_task`, task_id {id}; where people have to decide, ask them first. Without an answer it goes on \
             with the assumption that does the least harm.",
            self.scrub.clean(args.question.trim()),
            id = task.id,
        );
        giver::ask(conn, &task, &reader, &text, now).await
    }

    async fn answered(&self, _: &Call, _: RequestInputArgs, reply: Reply) -> Result<InputGiven, ToolError> {
        match reply.answer {
            Answer::Said { text, by } => Ok(InputGiven { answer: text, by }),
            Answer::Chosen { .. } | Answer::Entered { .. } | Answer::Nobody => Err(ToolError::refused(
                "there was no answer in time: go on with the assumption that does the least harm, and name it in your \
                 result",
            )),
        }
    }
}
