//! Step 4: a person agrees to a call that destroys something, or answers what the tool asks; else it is not made.

use anyhow::Result;
use base::Moment;
use channels::Emphasis;
use org::questions::{self, Ask};
use store::questions::{Answer, Asking, Kind, Question};
use store::{Conn, calls};

use super::Executor;
use super::checks::Ready;
use crate::asking::{self, Inquiry, Reply};
use crate::call::Call;
use crate::spec::Provenance;
use crate::tool::ToolError;

/// The longest arguments that a question shows, in characters.
const ARGUMENTS_CHARS: usize = 500;

/// What came of asking.
pub(super) enum Approval {
    /// The call may be made; with the reply, where the tool itself has asked.
    Granted(Option<Reply>),
    /// It is not made, and why.
    Refused(String),
    /// The turn stops before there is an answer. Nothing is written down: a turn that is entered again waits on.
    Stopped,
}

/// Asks where there is something to ask, and waits for the answer. A turn that is entered again finds the question that
/// it had asked, and its answer.
pub(super) async fn ask(executor: &Executor, call: &Call, ready: &Ready<'_>) -> Result<Approval> {
    let asks = ready.entry.tool.asks();
    if asks.is_none() && !ready.entry.spec().destructive {
        return Ok(Approval::Granted(None));
    }
    let asking = Asking { run: call.run, step: call.step, call_id: ready.call_id.to_owned() };
    let known = async |conn: &mut Conn| {
        let begun = calls::get(conn, asking.run, asking.step, &asking.call_id).await?.is_some();
        Ok((begun, store::questions::of_call(conn, &asking).await?))
    };
    let (begun, known) = executor.db.read(known).await?;
    if begun {
        // A call that has begun was agreed to.
        return Ok(Approval::Granted(known.and_then(|question| Some(Reply::to(&question, question.answer.clone()?)))));
    }
    let question = match known {
        Some(question) => question,
        None => {
            let inquiry = match asks {
                Some(asks) => asks.inquiry(call, ready.input).await,
                None => approval(executor, call, ready),
            };
            match inquiry {
                Ok(inquiry) => match begin(executor, call, ready, asking, inquiry).await? {
                    Some(question) => question,
                    None => return Ok(Approval::Refused(repeated(&ready.entry.spec().name))),
                },
                Err(ToolError::Refused(why)) => return Ok(Approval::Refused(why)),
                Err(ToolError::Broken(error)) => return Err(error.context("put a tool's question together")),
            }
        }
    };
    let answer = asking::wait(&executor.db, executor.clock, &call.stop, &question).await?;
    Ok(match answer {
        None => Approval::Stopped,
        Some(answer) if asks.is_some() => Approval::Granted(Some(Reply::to(&question, answer))),
        Some(Answer::Chosen { options, .. }) if options == [0] => Approval::Granted(None),
        Some(Answer::Chosen { by, .. } | Answer::Said { by, .. } | Answer::Entered { by }) => {
            Approval::Refused(format!("not run: {by} refused it; do not ask again for the same"))
        }
        Some(Answer::Nobody) => Approval::Refused("not run: nobody agreed to it in time".to_owned()),
    })
}

fn repeated(tool: &str) -> String {
    format!("`{tool}` asks people once in a turn, and has: go on with what you know, or ask in your own answer")
}

/// The question whether a call that destroys something may be made.
fn approval(executor: &Executor, call: &Call, ready: &Ready<'_>) -> Result<Inquiry, ToolError> {
    let spec = ready.entry.spec();
    let Some(conversation) = &call.origin.conversation else {
        let why = format!("`{}` needs a person's approval, and no conversation caused this turn", spec.name);
        return Err(ToolError::Refused(why));
    };
    // Scrubbed before it is cut: the beginning of a secret is one as well.
    let arguments = executor.scrub.clean(&ready.input.to_string());
    let arguments = base::text::cut(&arguments.replace("```", "` ` `"), ARGUMENTS_CHARS);
    let text = format!("May I use `{}`? It may destroy something.\n```json\n{arguments}\n```", spec.name);
    Ok(Inquiry {
        kind: Kind::One,
        text,
        options: vec![("Allow".to_owned(), Emphasis::Danger), ("Refuse".to_owned(), Emphasis::Plain)],
        places: vec![conversation.clone()],
        asker: call.origin.sender.clone().filter(|_| spec.provenance == Provenance::Anyone),
        wanted: None,
        once: false,
    })
}

/// Asks. `None`: the tool asks once in a turn, and has.
async fn begin(
    executor: &Executor,
    call: &Call,
    ready: &Ready<'_>,
    asking: Asking,
    inquiry: Inquiry,
) -> Result<Option<Question>> {
    let spec = ready.entry.spec();
    let now: Moment = executor.clock.now();
    // What a model writes, and what it was told, may hold a secret.
    let text = executor.scrub.clean(&inquiry.text);
    let options: Vec<(String, Emphasis)> =
        inquiry.options.iter().map(|(label, emphasis)| (executor.scrub.clean(label), *emphasis)).collect();
    let ask = Ask {
        asking,
        tool: &spec.name,
        places: &inquiry.places,
        topic: call.origin.topic,
        kind: inquiry.kind,
        text: &text,
        options: &options,
        asker: inquiry.asker.as_ref(),
        wanted: inquiry.wanted.as_ref(),
        expires_at: now + base::clock::ms(executor.limits.approval_patience),
    };
    let write = async |conn: &mut Conn| {
        if inquiry.once && store::questions::asked_by(conn, call.run, &spec.name).await? {
            return Ok(None);
        }
        let question = questions::ask(conn, &ask, now).await?;
        if let Some(asks) = ready.entry.tool.asks() {
            asks.asked(conn, call, ready.input, &question).await?;
        }
        Ok(Some(question))
    };
    executor.db.tx("ask a person", write).await
}
