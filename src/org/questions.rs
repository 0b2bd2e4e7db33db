//! Questions to people in the middle of a turn: asked once, answered by whoever may, by nobody else.

use anyhow::{Context, Result};
use base::{Moment, RunId, TopicId};
use channels::{Action, Button, ConversationId, Emphasis, SenderId, render};
use store::Conn;
use store::outbox::{self, New};
use store::questions::{self, Answer, Asking, Question};

use crate::notices;
use crate::trust::Verdict;

/// What begins the data of a question's button: `answer:ID:OPTION`.
const WORD: &str = "answer";

/// A question as it is asked.
pub struct Ask<'a> {
    /// Which call asks.
    pub asking: Asking,
    /// Where.
    pub conversation: &'a ConversationId,
    /// The topic of the turn.
    pub topic: Option<TopicId>,
    /// What is asked, in Markdown.
    pub text: &'a str,
    /// What the buttons say, and how they look.
    pub options: &'a [(String, Emphasis)],
    /// Who may answer besides admins.
    pub asker: Option<&'a SenderId>,
    /// When it is too late.
    pub expires_at: Moment,
}

/// Asks, where the call has not asked before: then its question stands.
pub async fn ask(conn: &mut Conn, ask: &Ask<'_>, now: Moment) -> Result<Question> {
    if let Some(known) = questions::of_call(conn, &ask.asking).await? {
        return Ok(known);
    }
    let labels: Vec<String> = ask.options.iter().map(|(label, _)| label.clone()).collect();
    let id = questions::ask(conn, &ask.asking, &labels, ask.asker, (now, ask.expires_at)).await?;
    let pieces = render::pieces(ask.conversation.kind(), ask.text, render::RenderLimits::default());
    let last = pieces.len() - 1;
    for (number, mut piece) in pieces.into_iter().enumerate() {
        if number == last {
            let button = |(option, (label, emphasis)): (usize, &(String, Emphasis))| Button {
                label: label.clone(),
                data: format!("{WORD}:{id}:{option}"),
                emphasis: *emphasis,
            };
            piece.buttons = ask.options.iter().enumerate().map(button).map(|button| vec![button]).collect();
        }
        let run: Option<RunId> = Some(ask.asking.run);
        let row = New { topic: ask.topic, run, ..New::message(ask.conversation, Action::Send(piece)) };
        let notice = outbox::push(conn, &row, now).await?;
        if number == last {
            questions::shown(conn, id, notice).await?;
        }
    }
    questions::get(conn, id).await?.context("a question is there once it was asked")
}

/// Which question and option a button stands for; `None` where it is none of ours.
pub fn of_button(data: &str) -> Option<(i64, usize)> {
    let mut parts = data.strip_prefix(WORD)?.strip_prefix(':')?.split(':');
    let (id, option) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some((id, option))
}

/// Somebody pressed a button. Words for them; without any, the message's own change is the answer.
pub async fn press(
    conn: &mut Conn,
    (id, option): (i64, usize),
    sender: &SenderId,
    verdict: Verdict,
    now: Moment,
) -> Result<Option<String>> {
    let Some(question) = questions::get(conn, id).await? else {
        return Ok(Some("I don't know any more what that was about.".to_owned()));
    };
    let may = match verdict {
        Verdict::Trusted { admin: true } => true,
        Verdict::Trusted { admin: false } => question.asker.as_ref() == Some(sender),
        Verdict::Denied | Verdict::Unknown => false,
    };
    if !may {
        let whom = question.asker.map_or(String::new(), |asker| format!("`{asker}` or "));
        return Ok(Some(format!("Only {whom}an admin may answer that.")));
    }
    match &question.answer {
        Some(Answer::Chosen { by, .. }) => return Ok(Some(format!("That was answered already, by `{by}`."))),
        Some(Answer::Nobody) => return Ok(Some("It is too late: nobody had answered in time.".to_owned())),
        None => {}
    }
    let Some(label) = question.options.get(option) else {
        return Ok(Some("This button means nothing to me any more.".to_owned()));
    };
    if question.expires_at <= now {
        return Ok(Some("It is too late: nobody had answered in time.".to_owned()));
    }
    let answer = Answer::Chosen { option, by: sender.to_string() };
    if questions::answer(conn, id, &answer).await?
        && let Some(notice) = question.notice
    {
        notices::close(conn, notice, &format!("{label}, says {sender}."), now).await?;
    }
    Ok(None)
}

/// Nobody answered in time, or nobody needs the answer any more.
pub async fn give_up(conn: &mut Conn, question: &Question, why: &str, now: Moment) -> Result<()> {
    if questions::answer(conn, question.id, &Answer::Nobody).await?
        && let Some(notice) = question.notice
    {
        notices::close(conn, notice, why, now).await?;
    }
    Ok(())
}
