//! A hint: `#3 …` or `#name …` at the start of a message says where it belongs.

use base::TopicId;
use store::topics::Topic;

/// The topic that a message's first word names, if it names one that is open. The word stays in the text: a person
/// who writes `#1 priority` in a conversation without topic 1 means something else.
pub fn hint(text: &str, open: &[Topic]) -> Option<TopicId> {
    let word = text.split_whitespace().next()?.strip_prefix('#')?.trim_end_matches([':', ',']);
    let plain = |name: &str| name.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
    let by_id = open.iter().find(|topic| topic.id.to_string() == word);
    by_id.or_else(|| open.iter().find(|topic| plain(&topic.name) == word.to_lowercase())).map(|topic| topic.id)
}

#[cfg(test)]
mod tests {
    use base::TopicId;
    use channels::{ConversationId, Kind};
    use store::topics::{NamedBy, State, Topic};

    use super::hint;

    #[test]
    fn a_hint_names_an_open_topic_or_nothing() {
        let topic = |id: i64, name: &str| Topic {
            id: TopicId(id),
            conversation: ConversationId::new(Kind::Discord, 1),
            name: name.into(),
            summary: String::new(),
            state: State::Idle,
            named_by: NamedBy::Code,
            last_activity_at: 0,
        };
        let open = [topic(3, "Release plan"), topic(4, "Lunch")];
        for (text, meant) in [
            ("#3 go on", Some(3)),
            ("#lunch: pizza", Some(4)),
            ("#Release-Plan", Some(3)),
            ("#1 priority", None),
            ("about #3", None),
            ("", None),
            ("#", None),
        ] {
            assert_eq!(hint(text, &open), meant.map(TopicId), "{text}");
        }
    }
}
