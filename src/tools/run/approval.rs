//! Step 4: a person agrees to a call that destroys something, or it is not made.

use anyhow::Result;
use channels::Emphasis;
use org::questions::{self, Ask};
use store::questions::{Answer, Asking};
use store::{Conn, calls};

use super::Executor;
use super::checks::Ready;
use crate::asking;
use crate::call::Call;
use crate::spec::Provenance;

/// The longest arguments that a question shows, in characters.
const ARGUMENTS_CHARS: usize = 500;

/// What came of asking.
pub(super) enum Approval {
    /// The call may be made.
    Granted,
    /// It is not made, and why.
    Refused(String),
    /// The turn stops before there is an answer. Nothing is written down: a turn that is entered again waits on.
    Stopped,
}

/// Asks, and waits for the answer. A turn that is entered again finds the question that it had asked, and its answer.
pub(super) async fn ask(executor: &Executor, call: &Call, ready: &Ready<'_>) -> Result<Approval> {
    let spec = ready.entry.spec();
    let asking = Asking { run: call.run, step: call.step, call_id: ready.call_id.to_owned() };
    // A call that has begun was agreed to.
    let begun = async |conn: &mut Conn| calls::get(conn, asking.run, asking.step, &asking.call_id).await;
    if executor.db.read(begun).await?.is_some() {
        return Ok(Approval::Granted);
    }
    let Some(conversation) = &call.origin.conversation else {
        let why = format!("`{}` needs a person's approval, and no conversation caused this turn", spec.name);
        return Ok(Approval::Refused(why));
    };
    let now = executor.clock.now();
    let arguments = executor.scrub.clean(&ready.input.to_string());
    let text = format!(
        "May I use `{}`? It may destroy something.\n```json\n{}\n```",
        spec.name,
        base::text::cut(&arguments.replace("```", "` ` `"), ARGUMENTS_CHARS)
    );
    let asker = call.origin.sender.as_ref().filter(|_| spec.provenance == Provenance::Anyone);
    let ask = Ask {
        asking,
        conversation,
        topic: call.origin.topic,
        text: &text,
        options: &[("Allow".to_owned(), Emphasis::Danger), ("Refuse".to_owned(), Emphasis::Plain)],
        asker,
        expires_at: now + base::clock::ms(executor.limits.approval_patience),
    };
    let question = executor.db.tx("ask for approval", async |conn| questions::ask(conn, &ask, now).await).await?;
    let answer = asking::wait(&executor.db, executor.clock, &call.stop, &question).await?;
    Ok(match answer {
        Some(Answer::Chosen { option: 0, .. }) => Approval::Granted,
        Some(Answer::Chosen { by, .. }) => {
            Approval::Refused(format!("not run: {by} refused it; do not ask again for the same"))
        }
        Some(Answer::Nobody) => Approval::Refused("not run: nobody agreed to it in time".to_owned()),
        None => Approval::Stopped,
    })
}
