//! Clicks: an admin decides about a stranger, somebody answers a question or presses a board's button.
//! Whoever clicks is judged, not whoever was asked.

use anyhow::Result;
use base::Moment;
use channels::{Content, Inbound};
use org::questions;
use org::trust::Verdict;
use org::trust::change::{self, Actor, Change, Role, Via};
use store::{Conn, strangers};

use super::{Facts, board};

/// Does what a button says. `Some`: words for whoever clicked; without them the notice's own change is the answer.
pub(super) async fn click(
    conn: &mut Conn,
    facts: &Facts,
    event: &Inbound,
    verdict: Verdict,
    now: Moment,
) -> Result<Option<String>> {
    let Content::Click { data, .. } = &event.content else { return Ok(None) };
    if let Some(button) = questions::of_button(data) {
        let words = questions::press(conn, button, &event.sender.id, verdict, now).await?;
        if words.is_none() {
            org::teams::confirm::decided(conn, button.0, now).await?;
        }
        return Ok(words);
    }
    if let Some(pressed) = board::of_button(data) {
        return board::press(conn, event, verdict, pressed, now).await.map(Some);
    }
    let Some((word, id)) = data.split_once(':').and_then(|(word, id)| Some((word, id.parse::<i64>().ok()?))) else {
        return Ok(Some("This button means nothing to me any more.".to_owned()));
    };
    if !["trust", "deny"].contains(&word) {
        return Ok(Some("This button means nothing to me any more.".to_owned()));
    }
    if verdict != (Verdict::Trusted { admin: true }) {
        tracing::warn!("{} clicked `{word}` and is no admin", event.sender.id);
        return Ok(Some("Only an admin may decide that.".to_owned()));
    }
    let Some(stranger) = strangers::get(conn, id).await? else {
        return Ok(Some("I don't know any more who that was about.".to_owned()));
    };
    if let Some(by) = &stranger.settled_by {
        return Ok(Some(format!("That was decided already, by `{by}`.")));
    }
    let change = Change {
        sender: stranger.sender,
        conversation: None,
        actor: Actor::Person(event.sender.id.clone()),
        via: Via::Button,
        at: now,
    };
    let done = match word {
        "trust" => change::grant(conn, &facts.policy, &change, Role::Speaker, None).await?,
        _ => change::deny(conn, &facts.policy, &change, None).await?,
    };
    Ok(done.err().map(|refusal| format!("Nothing was changed: {refusal}.")))
}
