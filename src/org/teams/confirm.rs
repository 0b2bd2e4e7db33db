//! A task for a team that has work already: people decide what becomes of it, by buttons. What they decide comes to the
//! team that wanted to give the task, as work of its own: nobody gives the task but that team.

use anyhow::Result;
use base::{Moment, TeamName};
use channels::{ConversationId, Emphasis};
use store::questions::{Answer, Asking, Kind};
use store::tasks::{self, New, Origin, Priority};
use store::{Conn, teams};

use crate::questions::{self, Ask};

/// The tool whose calls ask, which the question's row names.
const TOOL: &str = "delegate_task";
/// How long the buttons work, in milliseconds: as long as for an approval.
const PATIENCE_MS: Moment = 30 * 60_000;

/// Asks in the conversation that caused the call.
///
/// # Errors
/// Only the database's.
pub async fn ask(
    conn: &mut Conn,
    asking: Asking,
    place: &ConversationId,
    origin: &Origin,
    text: &str,
    now: Moment,
) -> Result<()> {
    let options = [
        ("Wait behind it".to_owned(), Emphasis::Primary),
        ("Replace it".to_owned(), Emphasis::Danger),
        ("Drop the new task".to_owned(), Emphasis::Plain),
    ];
    let ask = Ask {
        asking,
        tool: TOOL,
        places: std::slice::from_ref(place),
        topic: origin.topic,
        kind: Kind::One,
        text,
        options: &options,
        asker: origin.sender.as_ref(),
        wanted: None,
        expires_at: now + PATIENCE_MS,
    };
    questions::ask(conn, &ask, now).await.map(drop)
}

/// Somebody pressed a button of a question: where it was one of these and has an answer, the team that wanted to give the
/// task is told. Called once for each press that was an answer.
///
/// # Errors
/// Only the database's.
pub async fn decided(conn: &mut Conn, question: i64, now: Moment) -> Result<()> {
    let Some(found) = store::questions::get(conn, question).await?.filter(|found| found.tool == TOOL) else {
        return Ok(());
    };
    let Some(Answer::Chosen { options, by }) = found.answer else { return Ok(()) };
    let Some((run, team, arguments)) = teams::confirmation(conn, question).await? else { return Ok(()) };
    let how = match options.first() {
        Some(0) => {
            "let it wait behind that work: call `delegate_task` again, with the same task and without overlap_policy"
        }
        Some(1) => "replace that work: call `delegate_task` again, with the same task and overlap_policy `replace`",
        // What nobody wants needs no turn.
        _ => return Ok(()),
    };
    let team: TeamName = team.parse()?;
    let origin = store::runs::origin(conn, base::RunId(run)).await?;
    let body = format!(
        "{by} decided about the task that you did not give because its team has work: {how}. It was: {arguments}"
    );
    let told = New { priority: Priority::High, ..New::of(&team, tasks::Kind::Handoff, &body, &origin) };
    tasks::give(conn, &told, now).await.map(drop)
}
