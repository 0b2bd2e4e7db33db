//! A chat and a forum topic ↔ our conversation id.

use teloxide::types::{ChatId, Message, MessageId, ThreadId};

use crate::{ConversationId, Kind, Place, SendError};

/// The thread id that Telegram's clients use for a forum's General topic. The Bot API knows no such thread: it is
/// absent from what comes in, and refused in what goes out.
const GENERAL: i32 = 1;

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub chat: ChatId,
    /// The topic; `None` in flat chats and in General.
    pub thread: Option<ThreadId>,
}

impl Target {
    /// Reads `telegram:CHAT` and `telegram:CHAT/THREAD`.
    pub(super) fn of(conversation: &ConversationId) -> Result<Target, SendError> {
        let bad = || SendError::Refused(format!("{conversation} is no Telegram conversation"));
        if conversation.kind() != Kind::Telegram {
            return Err(bad());
        }
        let (chat, thread) = match conversation.local().split_once('/') {
            Some((chat, thread)) => (chat, Some(thread.parse::<i32>().map_err(|_| bad())?)),
            None => (conversation.local(), None),
        };
        let chat = ChatId(chat.parse().map_err(|_| bad())?);
        Ok(Target { chat, thread: thread.and_then(|thread| topic(chat, thread)) })
    }

    /// The conversation that stands for the whole chat: what Telegram's rates are counted by.
    pub(super) fn whole_chat(self) -> ConversationId {
        chat_id(self.chat)
    }
}

/// The conversation that stands for a chat, or for its General topic.
pub(super) fn chat_id(chat: ChatId) -> ConversationId {
    ConversationId::new(Kind::Telegram, chat.0)
}

/// Where a message stands. Only `is_topic_message` makes a thread: in other supergroups `message_thread_id` is a
/// chain of replies.
pub(super) fn of_message(message: &Message) -> (ConversationId, Place) {
    let parent = chat_id(message.chat.id);
    let named = message.thread_id.filter(|_| message.is_topic_message);
    if let Some(ThreadId(MessageId(thread))) = named.and_then(|thread| topic(message.chat.id, thread.0.0)) {
        let conversation = ConversationId::new(Kind::Telegram, format_args!("{}/{thread}", message.chat.id.0));
        let root = message.reply_to_message().and_then(|root| root.forum_topic_created());
        let title = root.map(|topic| topic.name.clone()).unwrap_or_default();
        return (conversation, Place::Thread { parent, title });
    }
    if message.chat.is_private() {
        return (parent, Place::Direct);
    }
    (parent, Place::Group { title: message.chat.title().unwrap_or_default().to_owned() })
}

/// The topic that a thread id names; General names none. Private chats have no General.
fn topic(chat: ChatId, thread: i32) -> Option<ThreadId> {
    (thread != GENERAL || chat.0 > 0).then_some(ThreadId(MessageId(thread)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_names_a_chat_and_perhaps_a_topic() {
        let target = |text: &str| Target::of(&text.parse().unwrap());
        let thread = |id| Some(ThreadId(MessageId(id)));
        assert_eq!(target("telegram:42"), Ok(Target { chat: ChatId(42), thread: None }));
        assert_eq!(target("telegram:-1001/7"), Ok(Target { chat: ChatId(-1001), thread: thread(7) }));
        assert_eq!(target("telegram:-1001/1"), Ok(Target { chat: ChatId(-1001), thread: None }), "General");
        for bad in ["discord:42", "telegram:x", "telegram:1/x", "telegram:1/2/3", "telegram:1/"] {
            assert!(matches!(target(bad), Err(SendError::Refused(_))), "{bad}");
        }
    }
}
