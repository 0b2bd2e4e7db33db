//! Questions to people in the middle of a turn: asked once, answered by whoever may, by nobody else.
//!
//! | wants | is answered by |
//! |---|---|
//! | one of the options | its button |
//! | several options | ticking their buttons, then `Done` |
//! | words | a reply to the message that asks; in a terminal, the next line |
//! | a secret | `hive secret answer NUMBER` on the machine, never by a message |
//!
//! The first valid answer wins, whoever else was asked. Too late is a no.

use anyhow::{Context, Result};
use base::{Moment, RunId, TopicId};
use channels::{Action, Button, ConversationId, Emphasis, SenderId};
use store::Conn;
use store::outbox::New;
use store::questions::{self, Answer, Asking, Kind, Question, Wanted};

use crate::notices;
use crate::trust::Verdict;

/// What begins the data of a question's button: `answer:ID:OPTION`.
const WORD: &str = "answer";
/// The most options of a question: with `Done`, they are as many buttons as Discord shows below a message (five rows of
/// five, <https://discord.com/developers/docs/components/reference#action-row>).
pub const OPTIONS_MAX: usize = 24;
/// The longest label of an option, in characters: with its tick within Discord's 80.
pub const LABEL_CHARS: usize = 76;
/// The longest answer in words that is kept, in characters: five of Telegram's longest messages.
const WORDS_CHARS: usize = 20_000;
/// What a question says that is too old.
pub const NOT_IN_TIME: &str = "Nobody answered in time.";
/// What is said to whoever answers it then.
const TOO_LATE: &str = "It is too late: nobody had answered in time.";
/// What a question says whose turn is over.
const NOT_NEEDED: &str = "The answer is not needed any more.";
/// The rows of buttons that every platform shows.
const ROWS: usize = 5;

/// A question as it is asked.
pub struct Ask<'a> {
    /// Which call asks.
    pub asking: Asking,
    /// The tool that asks, or that is asked about.
    pub tool: &'a str,
    /// Where, in every place of these: whoever answers first answers for all.
    pub places: &'a [ConversationId],
    /// The topic of the turn.
    pub topic: Option<TopicId>,
    /// What sort of answer it wants.
    pub kind: Kind,
    /// What is asked, in Markdown.
    pub text: &'a str,
    /// What the buttons say, and how they look.
    pub options: &'a [(String, Emphasis)],
    /// Who may answer besides admins.
    pub asker: Option<&'a SenderId>,
    /// Of a question for a secret: where it goes.
    pub wanted: Option<&'a Wanted>,
    /// When it is too late.
    pub expires_at: Moment,
}

/// Asks, where the call has not asked before: then its question stands.
///
/// # Errors
/// Only the database's.
pub async fn ask(conn: &mut Conn, ask: &Ask<'_>, now: Moment) -> Result<Question> {
    if let Some(known) = questions::of_call(conn, &ask.asking).await? {
        return Ok(known);
    }
    let options: Vec<String> =
        ask.options.iter().take(OPTIONS_MAX).map(|(label, _)| base::text::headline(label, LABEL_CHARS)).collect();
    let new = questions::New {
        asking: &ask.asking,
        tool: ask.tool,
        kind: ask.kind,
        options: &options,
        asker: ask.asker,
        wanted: ask.wanted,
        expires_at: ask.expires_at,
    };
    let id = questions::ask(conn, &new, now).await?;
    let question = questions::get(conn, id).await?.context("a question is there once it was asked")?;
    let emphasis = |option: usize| ask.options.get(option).map_or(Emphasis::Plain, |(_, emphasis)| *emphasis);
    for place in ask.places {
        let text = match how_to_answer(&question, place) {
            Some(how) => format!("{}\n\n{how}", ask.text),
            None => ask.text.to_owned(),
        };
        // In a terminal a number presses a button: where any line is an answer, there can be none.
        let buttons = match takes_every_line(&question, place) {
            true => Vec::new(),
            false => buttons(&question, emphasis),
        };
        let action = Action::Delete { message_id: String::new() };
        let template = New { topic: ask.topic, run: Some(ask.asking.run), ..New::message(place, action) };
        if let Some(notice) = notices::send(conn, &text, buttons, &template, now).await? {
            questions::shown(conn, id, notice).await?;
        }
    }
    Ok(question)
}

fn takes_every_line(question: &Question, place: &ConversationId) -> bool {
    question.kind == Kind::Words && place.kind() == channels::Kind::Console
}

/// How a question is answered that its buttons do not explain.
fn how_to_answer(question: &Question, place: &ConversationId) -> Option<String> {
    match question.kind {
        Kind::One => None,
        Kind::Several => Some("Tick as many as you like, then `Done`.".to_owned()),
        Kind::Words if takes_every_line(question, place) => {
            Some("The next line that you type is the answer.".to_owned())
        }
        Kind::Words => Some("Answer by replying to this message.".to_owned()),
        Kind::Secret => Some(format!(
            "Enter it on the machine that I run on: `hive secret answer {}`. Do not write it here: nothing that is \
             written here is taken for it.",
            question.id
        )),
    }
}

/// One button a row while they fit, else several.
fn buttons(question: &Question, emphasis: impl Fn(usize) -> Emphasis) -> Vec<Vec<Button>> {
    let button = |option: usize, label: String, emphasis: Emphasis| Button {
        label,
        data: format!("{WORD}:{}:{option}", question.id),
        emphasis,
    };
    let labels = question.options.iter().enumerate();
    let mut buttons: Vec<Button> = match question.kind {
        Kind::Several => labels
            .map(|(option, label)| {
                let tick = if question.ticked.contains(&option) { '☑' } else { '☐' };
                button(option, format!("{tick} {label}"), Emphasis::Plain)
            })
            .collect(),
        _ => labels.map(|(option, label)| button(option, label.clone(), emphasis(option))).collect(),
    };
    if question.kind == Kind::Several {
        buttons.push(button(question.options.len(), "Done".to_owned(), Emphasis::Primary));
    }
    let width = buttons.len().div_ceil(ROWS).max(1);
    buttons.chunks(width).map(<[Button]>::to_vec).collect()
}

/// Which question and option a button stands for; `None` where it is none of ours.
pub fn of_button(data: &str) -> Option<(i64, usize)> {
    let mut parts = data.strip_prefix(WORD)?.strip_prefix(':')?.split(':');
    let (id, option) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some((id, option))
}

/// Somebody pressed a button. Words for them; without any, the message's own change is the answer.
///
/// # Errors
/// Only the database's.
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
    if let Some(refusal) = refusal(&question, sender, verdict, now) {
        return Ok(Some(refusal));
    }
    let by = sender.to_string();
    match (question.options.get(option), question.kind) {
        (Some(_), Kind::Several) => tick(conn, question, option, now).await?,
        (None, Kind::Several) if option == question.options.len() => {
            let chosen: Vec<&str> = question.ticked.iter().map(|at| question.options[*at].as_str()).collect();
            let said = if chosen.is_empty() { "None of them".to_owned() } else { chosen.join(", ") };
            let answer = Answer::Chosen { options: question.ticked.clone(), by };
            settle(conn, &question, &answer, &format!("{said}, says {sender}."), now).await?;
        }
        (Some(label), _) => {
            let answer = Answer::Chosen { options: vec![option], by };
            settle(conn, &question, &answer, &format!("{label}, says {sender}."), now).await?;
        }
        (None, _) => return Ok(Some("This button means nothing to me any more.".to_owned())),
    }
    Ok(None)
}

/// Somebody answered in words. Words for them; without any, the message's own change is the answer.
///
/// # Errors
/// Only the database's.
pub async fn say(
    conn: &mut Conn,
    question: &Question,
    text: &str,
    sender: &SenderId,
    verdict: Verdict,
    now: Moment,
) -> Result<Option<String>> {
    if let Some(refusal) = refusal(question, sender, verdict, now) {
        return Ok(Some(refusal));
    }
    if text.trim().is_empty() {
        return Ok(Some("There are no words in that: please answer with a text.".to_owned()));
    }
    let answer = Answer::Said { text: base::text::cut(text.trim(), WORDS_CHARS), by: sender.to_string() };
    settle(conn, question, &answer, &format!("Answered by {sender}."), now).await?;
    Ok(None)
}

/// The secret that it asks for is in the vault, put there in the same transaction. `false` where it has an answer or is
/// too old.
///
/// # Errors
/// Only the database's.
pub async fn enter(conn: &mut Conn, question: &Question, by: &str, now: Moment) -> Result<bool> {
    if question.kind != Kind::Secret || question.expires_at <= now {
        return Ok(false);
    }
    settle(conn, question, &Answer::Entered { by: by.to_owned() }, "It was entered, and is in the vault.", now).await
}

/// Nobody answered in time, or nobody needs the answer any more.
///
/// # Errors
/// Only the database's.
pub async fn give_up(conn: &mut Conn, question: &Question, why: &str, now: Moment) -> Result<()> {
    settle(conn, question, &Answer::Nobody, why, now).await.map(drop)
}

/// A turn is over that may have waited for answers: nobody needs them any more.
///
/// # Errors
/// Only the database's.
pub async fn give_up_of(conn: &mut Conn, run: RunId, now: Moment) -> Result<()> {
    for question in questions::waited_for_by(conn, run).await? {
        give_up(conn, &question, NOT_NEEDED, now).await?;
    }
    Ok(())
}

/// The turns in the middle of others are over, all of them: nobody needs the answers that they waited for.
///
/// # Errors
/// Only the database's.
pub async fn give_up_within(conn: &mut Conn, now: Moment) -> Result<()> {
    for question in questions::waited_for_within(conn).await? {
        give_up(conn, &question, NOT_NEEDED, now).await?;
    }
    Ok(())
}

/// Gives up to `limit` questions up whose turns are over, where people can answer them no more or for nothing. How many.
///
/// # Errors
/// Only the database's.
pub async fn give_up_left_over(conn: &mut Conn, limit: u32, now: Moment) -> Result<usize> {
    let left = questions::left_over(conn, limit, now).await?;
    for question in &left {
        let why = if question.expires_at <= now { NOT_IN_TIME } else { NOT_NEEDED };
        give_up(conn, question, why, now).await?;
    }
    Ok(left.len())
}

/// Why somebody cannot answer it, or cannot any more.
fn refusal(question: &Question, sender: &SenderId, verdict: Verdict, now: Moment) -> Option<String> {
    let may = match verdict {
        Verdict::Trusted { admin: true } => true,
        Verdict::Trusted { admin: false } => question.asker.as_ref() == Some(sender),
        Verdict::Denied | Verdict::Unknown => false,
    };
    if !may {
        let whom = question.asker.as_ref().map_or(String::new(), |asker| format!("`{asker}` or "));
        return Some(format!("Only {whom}an admin may answer that."));
    }
    match &question.answer {
        Some(Answer::Chosen { by, .. } | Answer::Said { by, .. } | Answer::Entered { by }) => {
            Some(format!("That was answered already, by `{by}`."))
        }
        Some(Answer::Nobody) if now < question.expires_at => {
            Some("It is too late: the answer is not needed any more.".to_owned())
        }
        Some(Answer::Nobody) => Some(TOO_LATE.to_owned()),
        None => (question.expires_at <= now).then(|| TOO_LATE.to_owned()),
    }
}

/// Ticks an option, or takes its tick off, in every message that shows the question.
async fn tick(conn: &mut Conn, mut question: Question, option: usize, now: Moment) -> Result<()> {
    match question.ticked.iter().position(|ticked| *ticked == option) {
        Some(at) => drop(question.ticked.remove(at)),
        None => question.ticked.push(option),
    }
    question.ticked.sort_unstable();
    questions::tick(conn, question.id, &question.ticked).await?;
    for notice in questions::notices(conn, question.id).await? {
        notices::rebutton(conn, notice, buttons(&question, |_| Emphasis::Plain), now).await?;
    }
    Ok(())
}

/// Answers it, and takes the buttons off its messages. `false` where it has an answer.
async fn settle(conn: &mut Conn, question: &Question, answer: &Answer, words: &str, now: Moment) -> Result<bool> {
    if !questions::answer(conn, question.id, answer, now).await? {
        return Ok(false);
    }
    for notice in questions::notices(conn, question.id).await? {
        notices::close(conn, notice, words, now).await?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: Kind, options: usize) -> Question {
        Question {
            id: 12,
            tool: "prompt_human".into(),
            kind,
            options: (0..options).map(|at| format!("o{at}")).collect(),
            ticked: vec![1],
            asker: None,
            wanted: None,
            expires_at: 100,
            answer: None,
        }
    }

    #[test]
    fn buttons_fit_below_a_message_of_every_platform() {
        for kind in [Kind::One, Kind::Several] {
            for count in 1..=OPTIONS_MAX {
                let rows = buttons(&question(kind, count), |_| Emphasis::Plain);
                let all: Vec<&Button> = rows.iter().flatten().collect();
                assert!(rows.len() <= ROWS && rows.iter().all(|row| row.len() <= 5), "{kind:?} {count}");
                assert_eq!(all.len(), count + usize::from(kind == Kind::Several));
                for (at, button) in all.iter().enumerate() {
                    assert!(button.data.len() <= 64);
                    assert_eq!(of_button(&button.data), Some((12, at)));
                }
            }
        }
        let labels = |kind| -> Vec<String> {
            buttons(&question(kind, 2), |_| Emphasis::Plain).concat().into_iter().map(|button| button.label).collect()
        };
        assert_eq!(labels(Kind::One), ["o0", "o1"]);
        assert_eq!(labels(Kind::Several), ["☐ o0", "☑ o1", "Done"]);
    }

    #[test]
    fn a_button_of_something_else_is_none_of_ours() {
        for data in ["trust:1", "answer:1", "answer:1:2:3", "answer:x:1", "answer:1:-1", "answers:1:1", ""] {
            assert_eq!(of_button(data), None, "{data}");
        }
    }

    #[test]
    fn who_may_answer_depends_on_who_answers_and_when() {
        let alice: SenderId = "discord:1".parse().unwrap();
        let bob: SenderId = "discord:2".parse().unwrap();
        let open = Question { asker: Some(alice.clone()), ..question(Kind::One, 2) };
        let (speaker, admin) = (Verdict::Trusted { admin: false }, Verdict::Trusted { admin: true });
        let taken =
            Question { answer: Some(Answer::Said { text: "x".into(), by: "discord:9".into() }), ..open.clone() };
        let late = Question { answer: Some(Answer::Nobody), ..open.clone() };
        let admins_only = question(Kind::One, 2);
        for (question, sender, verdict, now, expected) in [
            (&open, &alice, speaker, 1, None),
            (&open, &bob, admin, 1, None),
            (&open, &bob, speaker, 1, Some("Only `discord:1` or an admin may answer that.")),
            (&open, &alice, Verdict::Denied, 1, Some("Only `discord:1` or an admin may answer that.")),
            (&open, &alice, Verdict::Unknown, 1, Some("Only `discord:1` or an admin may answer that.")),
            (&open, &alice, speaker, 100, Some("It is too late: nobody had answered in time.")),
            (&taken, &alice, speaker, 1, Some("That was answered already, by `discord:9`.")),
            (&late, &alice, speaker, 99, Some("It is too late: the answer is not needed any more.")),
            (&late, &alice, speaker, 100, Some("It is too late: nobody had answered in time.")),
            (&admins_only, &alice, speaker, 1, Some("Only an admin may answer that.")),
        ] {
            assert_eq!(refusal(question, sender, verdict, now).as_deref(), expected);
        }
    }
}
