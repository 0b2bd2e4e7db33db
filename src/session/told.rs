//! What a task itself said it came to, in the place of its turn's last words.

use anyhow::Result;
use store::Conn;
use store::protocol::{self, Said, Status};
use store::tasks::{End, Task};

use super::finish::Ending;

/// The longest reason of a failure in a task's row, in characters.
const NOTE_CHARS: usize = 200;

/// The ending as the task itself said it, where it has. What a person stopped stays stopped. A turn that only answered
/// another task's question ends without a word.
///
/// # Errors
/// Only the database's.
pub(super) async fn as_told(conn: &mut Conn, task: &Task, ending: Ending) -> Result<Ending> {
    Ok(settled(protocol::said(conn, task.id).await?, task.options.answers.is_some(), ending))
}

fn settled(said: Option<Said>, only_answers: bool, ending: Ending) -> Ending {
    if ending.end == End::Cancelled || ending.reply.is_none() {
        return ending;
    }
    match said {
        Some(Said { status: Status::Failed, text }) => Ending {
            end: End::Failed,
            note: base::text::headline(&text, NOTE_CHARS),
            reply: Some(format!("⚠️ {text}")),
            ..ending
        },
        _ if only_answers && ending.end == End::Done => {
            Ending { reply: None, note: "nothing to say".to_owned(), ..ending }
        }
        // It was done before whatever went wrong with its last words.
        Some(Said { status: Status::Completed, text }) if !text.is_empty() => {
            Ending { end: End::Done, reply: Some(text), ..ending }
        }
        Some(_) | None => ending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(end: End, note: &str, reply: Option<&str>) -> Ending {
        Ending { end, note: note.into(), reply: reply.map(Into::into), reply_to: None, passes: None }
    }

    #[test]
    fn what_a_task_said_of_itself_stands_for_its_last_words() {
        let said = |status, text: &str| Some(Said { status, text: text.into() });
        let words = || ended(End::Done, "", Some("last words"));
        let fault = || ended(End::Failed, "the model said nothing", Some("sorry"));
        for (said, only_answers, ending, expected) in [
            (None, false, words(), (End::Done, "", Some("last words"))),
            (None, false, fault(), (End::Failed, "the model said nothing", Some("sorry"))),
            (None, true, words(), (End::Done, "nothing to say", None)),
            (None, true, fault(), (End::Failed, "the model said nothing", Some("sorry"))),
            (said(Status::InProgress, "half"), false, words(), (End::Done, "", Some("last words"))),
            (said(Status::Completed, ""), false, words(), (End::Done, "", Some("last words"))),
            (said(Status::Completed, "42"), false, words(), (End::Done, "", Some("42"))),
            (said(Status::Completed, "42"), false, fault(), (End::Done, "the model said nothing", Some("42"))),
            (said(Status::Completed, "42"), true, words(), (End::Done, "nothing to say", None)),
            (
                said(Status::Failed, "no key\n\nmore"),
                false,
                words(),
                (End::Failed, "no key", Some("⚠️ no key\n\nmore")),
            ),
            (
                said(Status::Failed, "no key"),
                false,
                ended(End::Cancelled, "stopped", Some("stop")),
                (End::Cancelled, "stopped", Some("stop")),
            ),
            (said(Status::Completed, "42"), false, ended(End::Done, "silent", None), (End::Done, "silent", None)),
        ] {
            let told = format!("{said:?} {only_answers}");
            let found = settled(said, only_answers, ending);
            assert_eq!((found.end, found.note.as_str(), found.reply.as_deref()), expected, "{told}");
        }
    }
}
