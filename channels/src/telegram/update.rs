//! An update as it arrives → teloxide's [`Update`], one by one, so that one that cannot be read harms no other.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use teloxide::types::{Message, MessageEntity, MessageKind, Update, UpdateKind};

/// The fields of a message that we use. When teloxide cannot read a message as a whole, what is new in it is most
/// often somewhere else.
const USED: [&str; 23] = [
    "message_id",
    "message_thread_id",
    "is_topic_message",
    "from",
    "sender_chat",
    "date",
    "edit_date",
    "chat",
    "text",
    "entities",
    "caption",
    "caption_entities",
    "is_automatic_forward",
    "reply_to_message",
    "forum_topic_created",
    "animation",
    "audio",
    "document",
    "photo",
    "sticker",
    "video",
    "video_note",
    "voice",
];

/// The deepest update that is given to teloxide, whose reader takes a large piece of stack for each level. A message
/// with buttons, in reply to another, under a click, is nine deep.
const DEPTH_MAX: usize = 10;

/// What became of an update.
#[derive(Debug)]
pub(super) struct Arrived {
    /// Its number, from which the next offset follows. `None` if even that is missing.
    pub id: Option<i32>,
    /// The update, or the type of what could not be read.
    pub update: Result<Update, String>,
}

/// Reads one update.
pub(super) fn read(raw: &RawValue) -> Arrived {
    #[derive(Deserialize)]
    struct Number {
        update_id: i32,
    }
    let id = serde_json::from_str::<Number>(raw.get()).ok().map(|number| number.update_id).filter(|id| *id >= 0);
    let update = whole(raw.get()).or_else(|| reduced(raw)).ok_or_else(|| type_of(raw));
    Arrived { id, update }
}

/// Reads an update as it stands.
fn whole(text: &str) -> Option<Update> {
    if depth(text) > DEPTH_MAX {
        return None;
    }
    serde_json::from_str::<Update>(text).ok().filter(is_readable)
}

/// How deep brackets of both kinds lie in each other.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether teloxide made something of it. It makes an error of an update that it cannot read, and an empty message
/// of one in which it cannot read a single field.
fn is_readable(update: &Update) -> bool {
    match &update.kind {
        UpdateKind::Error(_) => false,
        UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => !is_empty(message),
        _ => true,
    }
}

fn is_empty(message: &Message) -> bool {
    matches!(message.kind, MessageKind::Empty {})
}

/// Tries again with nothing but the fields that we use.
fn reduced(raw: &RawValue) -> Option<Update> {
    let mut update = serde_json::from_str::<Map<String, Value>>(raw.get()).ok()?;
    for kind in ["message", "edited_message"] {
        if let Some(message) = update.get_mut(kind) {
            reduce(message, 1);
        }
    }
    if let Some(message) = update.get_mut("callback_query").and_then(|query| query.get_mut("message")) {
        reduce(message, 1);
    }
    // `Update` is read from its text, as its reader wants the keys in their order.
    whole(&serde_json::to_string(&update).ok()?)
}

fn reduce(message: &mut Value, replies: usize) {
    let Some(message) = message.as_object_mut() else { return };
    message.retain(|field, _| USED.contains(&field.as_str()));
    for field in ["entities", "caption_entities"] {
        if let Some(entities) = message.get_mut(field).and_then(Value::as_array_mut) {
            entities.retain(|entity| MessageEntity::deserialize(entity).is_ok());
        }
    }
    if let Some(reply) = message.get_mut("reply_to_message") {
        if replies == 0 {
            message.remove("reply_to_message");
            return;
        }
        reduce(reply, replies - 1);
        // Of a reply nothing matters but that it is one, to what and to whom.
        if let Some(reply) = reply.as_object_mut()
            && !reply.contains_key("forum_topic_created")
        {
            let kept = ["message_id", "message_thread_id", "is_topic_message", "from", "sender_chat", "date", "chat"];
            reply.retain(|field, _| kept.contains(&field.as_str()));
        }
    }
}

/// The type of an update, for an operator: its key, if that is a word of the Bot API's making.
fn type_of(raw: &RawValue) -> String {
    let keys = serde_json::from_str::<Map<String, Value>>(raw.get()).unwrap_or_default();
    let word = |key: &&String| key.len() <= 40 && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let kind = keys.keys().filter(|key| *key != "update_id").find(word);
    match kind {
        Some(kind) => format!("an update of type `{kind}` that does not have its shape"),
        None => "an update of no known type".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::inbound::{Me, Reader};
    use super::super::names::Names;
    use super::*;
    use crate::{Answering, Content, Hearing, Inbound};

    fn arrived(update: Value) -> Arrived {
        read(&RawValue::from_string(update.to_string()).unwrap())
    }

    fn text_message(more: Value) -> Value {
        let mut message = json!({
            "message_id": 7, "date": 1, "text": "hello",
            "chat": {"id": 42, "type": "private", "first_name": "Alice"},
            "from": {"id": 42, "is_bot": false, "first_name": "Alice"},
        });
        message.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
        json!({"update_id": 5, "message": message})
    }

    #[test]
    fn what_is_new_in_a_message_does_not_hide_what_is_known() {
        for more in [
            json!({}),
            json!({"entities": [{"type": "hologram", "offset": 0, "length": 1}, {"type": "bold", "offset": 0, "length": 5}]}),
            json!({"entities": [{"type": "text_link", "offset": 0, "length": 1, "url": "no url"}]}),
            json!({"reply_markup": {"inline_keyboard": [[{"text": "x", "teleport": true}]]}}),
            json!({"external_reply": 7, "link_preview_options": []}),
            json!({"reply_to_message": text_message(json!({"entities": [{"type": "?", "offset": 0, "length": 1}]}))["message"]}),
        ] {
            let arrived = arrived(text_message(more.clone()));
            let Ok(Update { kind: UpdateKind::Message(message), .. }) = arrived.update else {
                panic!("{more}: {:?}", arrived.update)
            };
            assert_eq!((arrived.id, message.text()), (Some(5), Some("hello")), "{more}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_by_its_type_and_nothing_else() {
        let update = json!({"update_id": 5, "message": {"text": "my secret", "date": "yesterday"}});
        let read = arrived(update);
        let what = read.update.unwrap_err();
        assert_eq!((read.id, what.as_str()), (Some(5), "an update of type `message` that does not have its shape"));
        assert_eq!(arrived(json!({"update_id": 6, "MY SECRET": 1})).update.unwrap_err(), "an update of no known type");
        assert_eq!(arrived(json!([1, 2])).id, None);
        assert_eq!(arrived(json!({"update_id": -1})).id, None);
    }

    /// Goes the rest of the way, for a bot that hears everything.
    fn events(arrived: &Arrived) -> Option<Inbound> {
        let me = Me { id: 1, first_name: "B".into(), username: "some_bot".into(), can_read_all_group_messages: true };
        let hearing = Hearing { default: Answering::Always, ..Hearing::default() };
        let reader = Reader { me: &me, hearing: &hearing, names: &Names::default(), now_ms: 0 };
        reader.read(arrived.update.as_ref().ok()?)
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 6, |inner| {
            let key = prop_oneof![
                prop::sample::select(USED.to_vec()).prop_map(str::to_owned),
                prop::sample::select(vec![
                    "id",
                    "type",
                    "offset",
                    "length",
                    "user",
                    "is_bot",
                    "first_name",
                    "file_id",
                    "data"
                ])
                .prop_map(str::to_owned),
                "[a-z_]{1,8}",
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn brackets_in_strings_are_not_depth() {
        for (json, expected) in [("1", 0), ("[]", 1), (r#"{"a":["]",{"b":"\\"}]}"#, 3), (r#"["\"[[["]"#, 1)] {
            assert_eq!(depth(json), expected, "{json}");
        }
    }

    #[test]
    fn an_update_of_any_depth_is_read_or_named() {
        for depth in [1, 5, DEPTH_MAX - 2, DEPTH_MAX, 60, 120, 5_000] {
            let text = |open: &str, close: &str| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let message = text_message(json!({}))["message"].to_string();
            let opened = message.trim_end_matches('}');
            let reply = format!("{opened},\"reply_to_message\":");
            for content in [text("[", "]"), text("{\"reply_to_message\":", "}"), text(&reply, "}")] {
                let raw = RawValue::from_string(format!("{{\"update_id\":5,\"message\":{content}}}"));
                assert_eq!(raw.ok().and_then(|raw| read(&raw).id), Some(5), "{depth}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_json_makes_the_reader_panic(
            id in any::<i64>(),
            kind in prop::sample::select(vec!["message", "edited_message", "callback_query", "poll", "my_chat_member"]),
            content in any_json(),
        ) {
            let read = arrived(json!({"update_id": id, kind: content}));
            prop_assert_eq!(read.id.map(i64::from), Some(id).filter(|id| (0..=i64::from(i32::MAX)).contains(id)));
            events(&read);
        }

        #[test]
        fn any_text_with_any_marks_arrives_but_for_the_mention_at_its_start(
            text in "(@some_bot |/x@some_bot )?\\PC{1,20}",
            marks in prop::collection::vec(
                (prop::sample::select(vec!["mention", "bot_command", "text_mention", "bold"]), 0_usize..25, 0_usize..25),
                0..4,
            ),
        ) {
            let user = json!({"id": 9, "is_bot": false, "first_name": "U"});
            let mark = |(kind, offset, length)| json!({"type": kind, "offset": offset, "length": length, "user": user});
            let entities: Vec<Value> = marks.into_iter().map(mark).collect();
            let read = arrived(text_message(json!({"text": text, "entities": entities})));
            match events(&read).map(|event| event.content) {
                Some(Content::Text(heard)) => prop_assert!(text.ends_with(&heard.text)),
                Some(Content::Command { name, .. }) => prop_assert!(text.to_lowercase().contains(&name)),
                // A command to another bot.
                other => prop_assert!(other.is_none() && text.contains('@'), "{:?}", other),
            }
        }

        #[test]
        fn a_message_with_garbage_in_any_field_is_read_or_named(
            field in prop::sample::select(USED.to_vec()),
            garbage in any_json(),
        ) {
            let read = arrived(text_message(json!({field: garbage})));
            prop_assert_eq!(read.id, Some(5));
            events(&read);
            if let Err(what) = read.update {
                prop_assert_eq!(what, "an update of type `message` that does not have its shape");
            }
        }
    }
}
