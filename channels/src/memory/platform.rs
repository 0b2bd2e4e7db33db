//! What a platform keeps: its queue, its messages, and the faults that were scripted for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use crate::render;
use crate::{Action, Button, ConversationId, Cursor, Gone, Inbound, Kind, Outbound, Piece, Report, SendError, Sent};

/// The first message id. High, so that it is never taken for the id of an event that a test made up.
const FIRST_MESSAGE_ID: u64 = 9_000_000_001;

/// Telegram's limit for what comes back from a button.
const BUTTON_DATA_MAX_BYTES: usize = 64;

/// Discord's limit for a nonce.
const KEY_MAX_CHARS: usize = 25;

/// One message of the bot as people see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The platform's id of the message.
    pub message_id: String,
    /// Its text in the platform's own markup, as it was last sent or edited.
    pub text: String,
    /// Its rows of buttons.
    pub buttons: Vec<Vec<Button>>,
    /// The names of its files.
    pub files: Vec<String>,
    /// The message it is shown as an answer to.
    pub reply_to: Option<String>,
    /// How often it was edited: drafts and the final text alike.
    pub edits: usize,
}

/// One delivery that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// When, in milliseconds since 1970, on the channel's clock.
    pub at_ms: i64,
    /// What was to be done.
    pub out: Outbound,
    /// What came of it, as the host saw it.
    pub outcome: Outcome,
}

/// What came of a delivery, as the host saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was carried out, or a message with its key was there already.
    Done(Sent),
    /// An error. Whether it was carried out nevertheless shows in what is shown.
    Failed(SendError),
    /// No answer ever came.
    Hung,
}

/// Whether a delivery that went wrong was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// It was: people see it.
    Out,
    /// It was not.
    NotOut,
}

/// The state behind the lock.
#[derive(Default)]
pub(super) struct Platform {
    pub(super) incoming: VecDeque<(Inbound, Option<Cursor>)>,
    pub(super) posted: BTreeMap<ConversationId, Vec<Message>>,
    pub(super) tried: Vec<Delivery>,
    pub(super) typed: Vec<ConversationId>,
    pub(super) reports: Vec<Report>,
    pub(super) removed: BTreeSet<ConversationId>,
    pub(super) files: HashMap<String, Vec<u8>>,
    faults: Vec<Fault>,
    messages: u64,
}

/// A message with what only the platform knows of it.
pub(super) struct Message {
    shown: Shown,
    key: String,
    sent_at_ms: i64,
    deleted: bool,
}

/// What the next delivery comes to. Without a conversation: the next one anywhere; without an error: no answer.
struct Fault {
    conversation: Option<ConversationId>,
    error: Option<SendError>,
    carried: Carried,
}

impl Platform {
    /// The oldest events, as many as one cursor can stand for: those of one stream.
    pub(super) fn batch(&self, count_max: usize) -> (Vec<Inbound>, Option<Cursor>) {
        let mut last: Option<&Cursor> = None;
        let mut events = Vec::new();
        for (event, cursor) in self.incoming.iter().take(count_max) {
            match (last, cursor) {
                (Some(last), Some(cursor)) if last.stream != cursor.stream => break,
                (_, Some(cursor)) => last = Some(cursor),
                (_, None) => {}
            }
            events.push(event.clone());
        }
        (events, last.cloned())
    }

    pub(super) fn script(&mut self, conversation: Option<ConversationId>, error: Option<SendError>, carried: Carried) {
        self.faults.push(Fault { conversation, error, carried });
    }

    /// Carries a request out, or not, as scripted; notes it in either case.
    pub(super) fn deliver(&mut self, kind: Kind, out: &Outbound, at_ms: i64, key_window: Duration) -> Outcome {
        let outcome = match self.next_fault(&out.conversation) {
            None => match self.carry_out(kind, out, at_ms, key_window) {
                Ok(sent) => Outcome::Done(sent),
                Err(error) => Outcome::Failed(error),
            },
            Some(Fault { error, carried, .. }) => {
                let refused = match carried {
                    Carried::Out => self.carry_out(kind, out, at_ms, key_window).err(),
                    Carried::NotOut => None,
                };
                // What the platform refuses it refuses before any answer could be lost.
                refused.or(error).map_or(Outcome::Hung, Outcome::Failed)
            }
        };
        self.tried.push(Delivery { at_ms, out: out.clone(), outcome: outcome.clone() });
        outcome
    }

    pub(super) fn find(&self, out: &Outbound, since_ms: i64) -> Result<Option<Sent>, SendError> {
        if self.removed.contains(&out.conversation) {
            return Err(SendError::Gone(Gone::Conversation));
        }
        let mut messages = self.posted.get(&out.conversation).into_iter().flatten();
        let found =
            messages.find(|message| message.key == out.key && message.sent_at_ms >= since_ms && !message.deleted);
        Ok(found.map(Message::sent))
    }

    pub(super) fn shown_in(&self, conversation: &ConversationId) -> Vec<Shown> {
        let messages = self.posted.get(conversation).into_iter().flatten();
        messages.filter(|message| !message.deleted).map(|message| message.shown.clone()).collect()
    }

    fn next_fault(&mut self, conversation: &ConversationId) -> Option<Fault> {
        let meant = |fault: &Fault| fault.conversation.as_ref().is_none_or(|only| only == conversation);
        let index = self.faults.iter().position(meant)?;
        Some(self.faults.remove(index))
    }

    fn carry_out(&mut self, kind: Kind, out: &Outbound, now_ms: i64, key_window: Duration) -> Result<Sent, SendError> {
        if self.removed.contains(&out.conversation) {
            return Err(SendError::Gone(Gone::Conversation));
        }
        let messages = self.posted.entry(out.conversation.clone()).or_default();
        match &out.action {
            Action::Send(piece) => {
                accepts(kind, out, piece)?;
                let window_ms = key_window.as_millis() as i64;
                let same = |message: &&Message| message.key == out.key && now_ms - message.sent_at_ms < window_ms;
                if let Some(message) = messages.iter().rev().find(same) {
                    return Ok(message.sent());
                }
                let message_id = (FIRST_MESSAGE_ID + self.messages).to_string();
                self.messages += 1;
                let message = Message::new(message_id, out, piece, now_ms);
                let sent = message.sent();
                messages.push(message);
                Ok(sent)
            }
            Action::Edit { message_id, piece } => {
                accepts(kind, out, piece)?;
                let shown = &mut find_id(messages, message_id).ok_or(SendError::Gone(Gone::Message))?.shown;
                shown.text.clone_from(&piece.text);
                shown.buttons.clone_from(&piece.buttons);
                shown.edits += 1;
                Ok(Sent { message_id: message_id.clone() })
            }
            Action::Delete { message_id } => {
                if let Some(message) = find_id(messages, message_id) {
                    message.deleted = true;
                }
                Ok(Sent { message_id: message_id.clone() })
            }
        }
    }
}

impl Message {
    fn new(message_id: String, out: &Outbound, piece: &Piece, sent_at_ms: i64) -> Self {
        let shown = Shown {
            message_id,
            text: piece.text.clone(),
            buttons: piece.buttons.clone(),
            files: piece.files.iter().map(|file| file.name.clone()).collect(),
            reply_to: out.reply_to.clone(),
            edits: 0,
        };
        Message { shown, key: out.key.clone(), sent_at_ms, deleted: false }
    }

    fn sent(&self) -> Sent {
        Sent { message_id: self.shown.message_id.clone() }
    }
}

fn find_id<'a>(messages: &'a mut [Message], id: &str) -> Option<&'a mut Message> {
    messages.iter_mut().find(|message| message.shown.message_id == id && !message.deleted)
}

/// The platforms' own limits, so that a host that breaks them is seen in a test without a socket.
fn accepts(kind: Kind, out: &Outbound, piece: &Piece) -> Result<(), SendError> {
    let refuse = |why: String| Err(SendError::Refused(why));
    let length = render::length(kind, piece);
    let length_max = render::length_max(kind).unwrap_or(usize::MAX);
    if length > length_max {
        return refuse(format!("the text has {length} units, more than {length_max}"));
    }
    if piece.text.trim().is_empty() && piece.files.is_empty() {
        return refuse("the message is empty".to_owned());
    }
    if out.key.chars().count() > KEY_MAX_CHARS {
        return refuse(format!("the key `{}` has more than {KEY_MAX_CHARS} characters", out.key));
    }
    match piece.buttons.iter().flatten().find(|button| button.data.len() > BUTTON_DATA_MAX_BYTES) {
        Some(button) => refuse(format!("the data of button `{}` has more than 64 bytes", button.label)),
        None => Ok(()),
    }
}
