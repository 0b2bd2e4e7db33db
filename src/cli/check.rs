//! `hive check`: the hive's rules for outsiders, one JSON object a line. The format is in `docs/doors.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};

use anyhow::Result;
use channels::{ConversationId, Kind, SenderId};
use org::trust::{Access, Decision, KindPolicy, Policy, TrustLevel, TrustRow, Verdict, Where, decide};
use serde_json::{Map, Value, json};

use super::jsonl;

/// Reads one case a line and writes one decision a line, in order. A case that cannot be understood in full gets an
/// error that names the place, never a decision.
///
/// # Errors
/// Only where `input` cannot be read or `output` not written.
pub fn trust(input: impl BufRead, mut output: impl Write) -> Result<()> {
    jsonl::each_line(input, |number, line| {
        let (id, decision) = match jsonl::object(line) {
            Ok(object) => {
                let id = object.get("id").filter(|id| !id.is_null()).cloned();
                (id, Case::read(object).map(|case| case.decide()))
            }
            Err(error) => (None, Err(error)),
        };
        let id = id.unwrap_or_else(|| number.into());
        let answer = match decision {
            Ok(decision) => json!({
                "id": id,
                "decision": if matches!(decision.verdict, Verdict::Trusted { .. }) { "allow" } else { "deny" },
                "reason": decision.reason.as_str(),
                "silent": decision.verdict == Verdict::Denied,
                "admin": decision.verdict == Verdict::Trusted { admin: true },
            }),
            Err(error) => json!({ "id": id, "error": error }),
        };
        jsonl::write(&mut output, &answer)
    })?;
    Ok(output.flush()?)
}

/// Puts each line to a rule that answers for itself, and writes one answer a line, in order. A case without an id gets the
/// number of its line.
///
/// # Errors
/// Only where `input` cannot be read or `output` not written.
pub fn each(verdict: impl Fn(&Value) -> Value, input: impl BufRead, mut output: impl Write) -> Result<()> {
    jsonl::each_line(input, |number, line| {
        let mut answer = match jsonl::object(line) {
            Ok(object) => verdict(&Value::Object(object)),
            Err(error) => json!({ "decision": "error", "rule": "input", "detail": error }),
        };
        if answer["id"].is_null() {
            answer["id"] = number.into();
        }
        jsonl::write(&mut output, &answer)
    })?;
    Ok(output.flush()?)
}

/// A place that no row and no override can name, for a case without a conversation: addresses from outside have no
/// white space.
const NOWHERE: &str = "no conversation";

/// One question.
struct Case {
    policy: Policy,
    rows: Vec<TrustRow>,
    sender: SenderId,
    conversation: ConversationId,
    parent: Option<ConversationId>,
    now_ms: i64,
}

impl Case {
    fn read(object: Map<String, Value>) -> Result<Case, String> {
        let mut top = Fields { path: String::new(), rest: object };
        top.take("id");
        let mut policy = match top.take("policy") {
            Some(value) => read_policy(Fields::of("policy", value)?)?,
            None => Policy::default(),
        };
        for (place, value) in top.list("admins")? {
            policy.admins.insert(address(&place, &value)?);
        }
        let rows = top.list("rows")?.into_iter().map(|(place, value)| read_row(Fields::of(&place, value)?));
        let rows: Vec<TrustRow> = rows.collect::<Result<_, _>>()?;
        let now_ms = top.whole_number("now_ms")?;
        let (sender, conversation, parent) = read_sender(&mut top)?;
        top.finish()?;
        let now_ms = match now_ms {
            Some(now_ms) => now_ms,
            None if rows.iter().all(|row| row.expires_at_ms.is_none()) => 0,
            None => return Err("now_ms: is missing, and a row has `expires_at_ms`".to_owned()),
        };
        Ok(Case { policy, rows, sender, conversation, parent, now_ms })
    }

    fn decide(&self) -> Decision {
        let place = Where { conversation: &self.conversation, parent: self.parent.as_ref() };
        decide(&self.policy, &self.rows, &self.sender, place, self.now_ms)
    }
}

/// The `trust:` mapping of `channels.yaml`.
fn read_policy(mut fields: Fields) -> Result<Policy, String> {
    let mut policy = Policy { default: fields.access("default_policy")?, ..Policy::default() };
    if let Some(kinds) = fields.take("channels") {
        let kinds = Fields::of(&fields.place("channels"), kinds)?;
        for (name, value) in kinds.rest {
            let place = join(&kinds.path, &name);
            let kind = read_kind(&place, &name)?;
            policy.kinds.insert(kind, read_kind_policy(kind, Fields::of(&place, value)?)?);
        }
    }
    fields.finish()?;
    Ok(policy)
}

fn read_kind_policy(kind: Kind, mut fields: Fields) -> Result<KindPolicy, String> {
    let users = |list: Vec<(String, Value)>| -> Result<BTreeSet<String>, String> {
        list.into_iter().map(|(place, value)| Ok(user(&place, kind, &value)?.user().to_owned())).collect()
    };
    let policy = fields.access("policy")?;
    let allow = users(fields.list("sender_allowlist")?)?;
    let deny = users(fields.list("sender_denylist")?)?;
    let mut conversations = BTreeMap::new();
    if let Some(overrides) = fields.take("channel_overrides") {
        let overrides = Fields::of(&fields.place("channel_overrides"), overrides)?;
        for (id, value) in overrides.rest {
            let place = join(&overrides.path, &id);
            let mut rule = Fields::of(&place, value)?;
            let access = rule.access("policy")?;
            rule.finish()?;
            let access = access.ok_or_else(|| format!("{place}.policy: is missing, expected `allow` or `deny`"))?;
            if conversations.insert(conversation(&place, kind, &Value::String(id))?, access).is_some() {
                return Err(format!("{place}: names the same conversation as an earlier key"));
            }
        }
    }
    fields.finish()?;
    Ok(KindPolicy { policy, allow, deny, conversations })
}

fn read_row(mut fields: Fields) -> Result<TrustRow, String> {
    let kind = fields.kind()?;
    let sender = fields.sender(kind)?;
    let conversation = fields.conversation(sender.kind())?;
    let level = fields.one_of(["trust_level", "level"])?;
    let level = match level {
        Some((_, Value::String(text))) if text == "trusted" => TrustLevel::Trusted,
        Some((_, Value::String(text))) if text == "denied" => TrustLevel::Denied,
        Some((place, other)) => return Err(unexpected(&place, &other, "`trusted` or `denied`")),
        None => return Err(format!("{}: is missing, expected `trusted` or `denied`", fields.place("trust_level"))),
    };
    let admin = match fields.take("admin") {
        None => false,
        Some(Value::Bool(admin)) => admin,
        Some(other) => return Err(unexpected(&fields.place("admin"), &other, "true or false")),
    };
    let expires_at_ms = fields.whole_number("expires_at_ms")?;
    fields.finish()?;
    Ok(TrustRow { sender, conversation, level, admin, expires_at_ms })
}

/// The sender and the place. Each may stand in the object `sender` or beside the rest of the case.
fn read_sender(top: &mut Fields) -> Result<(SenderId, ConversationId, Option<ConversationId>), String> {
    const PLACE: [&str; 3] = ["channel_id", "conversation", "parent"];
    const PERSON: [&str; 4] = ["channel_type", "kind", "sender", "sender_id"];
    let mut place = top.part(&PLACE);
    let mut person = match top.rest.get("sender") {
        Some(Value::Object(_)) => Fields::of("sender", top.rest.remove("sender").unwrap_or_default())?,
        _ => top.part(&PERSON),
    };
    let kind = person.kind()?;
    let sender = person.sender(kind)?;
    if PLACE.iter().any(|key| person.rest.contains_key(*key)) {
        place.finish()?;
        place = person.part(&PLACE);
    }
    person.finish()?;
    let conversation_id = place.conversation(sender.kind())?;
    let parent = match place.take("parent") {
        Some(value) => Some(conversation(&place.place("parent"), sender.kind(), &value)?),
        None => conversation_id.as_ref().and_then(forum_of),
    };
    place.finish()?;
    let conversation_id = conversation_id.unwrap_or_else(|| ConversationId::new(sender.kind(), NOWHERE));
    Ok((sender, conversation_id, parent))
}

/// A Telegram forum topic says itself which chat it belongs to.
fn forum_of(conversation: &ConversationId) -> Option<ConversationId> {
    let (chat, _) = conversation.local().split_once('/').filter(|_| conversation.kind() == Kind::Telegram)?;
    Some(ConversationId::new(Kind::Telegram, chat))
}

/// The fields of one object that nobody has taken yet, and where it stands.
struct Fields {
    path: String,
    rest: Map<String, Value>,
}

impl Fields {
    fn of(path: &str, value: Value) -> Result<Fields, String> {
        match value {
            Value::Object(rest) => Ok(Fields { path: path.to_owned(), rest }),
            other => Err(unexpected(path, &other, "an object")),
        }
    }

    fn place(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Takes out the fields of these names.
    fn part(&mut self, keys: &[&str]) -> Fields {
        let rest = keys.iter().filter_map(|key| self.rest.remove_entry(*key)).collect();
        Fields { path: self.path.clone(), rest }
    }

    /// The value of `key`; null is as good as absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.rest.remove(key).filter(|value| !value.is_null())
    }

    /// The value under one of several names of the same thing, and its place.
    fn one_of<const N: usize>(&mut self, keys: [&str; N]) -> Result<Option<(String, Value)>, String> {
        let mut found = None;
        for key in keys {
            if let Some(value) = self.take(key)
                && found.replace((self.place(key), value)).is_some()
            {
                return Err(format!("{}: says a second time what another key has said", self.place(key)));
            }
        }
        Ok(found)
    }

    /// The items of a list, each with its place.
    fn list(&mut self, key: &str) -> Result<Vec<(String, Value)>, String> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let place = self.place(key);
                Ok(items.into_iter().enumerate().map(|(n, item)| (format!("{place}[{n}]"), item)).collect())
            }
            Some(other) => Err(unexpected(&self.place(key), &other, "a list")),
        }
    }

    fn access(&mut self, key: &str) -> Result<Option<Access>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if text == "allow" => Ok(Some(Access::Allow)),
            Some(Value::String(text)) if text == "deny" => Ok(Some(Access::Deny)),
            Some(other) => Err(unexpected(&self.place(key), &other, "`allow` or `deny`")),
        }
    }

    fn whole_number(&mut self, key: &str) -> Result<Option<i64>, String> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let expected = "milliseconds since 1970 as a whole number";
        value.as_i64().map(Some).ok_or_else(|| unexpected(&self.place(key), &value, expected))
    }

    fn kind(&mut self) -> Result<Option<Kind>, String> {
        match self.one_of(["channel_type", "kind"])? {
            None => Ok(None),
            Some((place, Value::String(name))) => read_kind(&place, &name).map(Some),
            Some((place, other)) => Err(unexpected(&place, &other, "the name of a platform")),
        }
    }

    fn sender(&mut self, kind: Option<Kind>) -> Result<SenderId, String> {
        match (self.one_of(["sender_id", "id", "sender"])?, kind) {
            (None, _) => Err(format!("{}: is missing", self.place("sender_id"))),
            (Some((place, value)), Some(kind)) => user(&place, kind, &value),
            (Some((place, value)), None) => address(&place, &value),
        }
    }

    fn conversation(&mut self, kind: Kind) -> Result<Option<ConversationId>, String> {
        let found = self.one_of(["channel_id", "conversation"])?;
        found.map(|(place, value)| conversation(&place, kind, &value)).transpose()
    }

    /// Whatever is left was not understood.
    fn finish(self) -> Result<(), String> {
        match self.rest.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("{}: is not a key that is known here", self.place(key))),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn unexpected(place: &str, value: &Value, expected: &str) -> String {
    let found = match value {
        Value::String(text) => format!("`{}`", base::text::cut(text, 60)),
        other => jsonl::kind_of(other).to_owned(),
    };
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    format!("{place}found {found}, expected {expected}")
}

fn read_kind(place: &str, name: &str) -> Result<Kind, String> {
    let unknown = || unexpected(place, &Value::String(name.to_owned()), "`discord`, `telegram`, `console` or `web`");
    name.parse().map_err(|_| unknown())
}

/// An id with its platform before it: `discord:42`.
fn address(place: &str, value: &Value) -> Result<SenderId, String> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.ok_or_else(|| unexpected(place, value, "an id with its platform, such as `discord:42`"))
}

fn user(place: &str, kind: Kind, value: &Value) -> Result<SenderId, String> {
    with_kind(kind, value).and_then(|text| text.parse().ok()).ok_or_else(|| expected_id(place, kind, value))
}

fn conversation(place: &str, kind: Kind, value: &Value) -> Result<ConversationId, String> {
    with_kind(kind, value).and_then(|text| text.parse().ok()).ok_or_else(|| expected_id(place, kind, value))
}

fn expected_id(place: &str, kind: Kind, value: &Value) -> String {
    unexpected(place, value, &format!("an id of {kind}, as text or as a whole number"))
}

/// The id with `kind` before it. `None`: it is no id, or one of another platform.
fn with_kind(kind: Kind, value: &Value) -> Option<String> {
    let text = jsonl::id_text(value)?;
    match text.split_once(':') {
        Some((before, _)) if before == kind.as_str() => Some(text),
        Some((before, _)) if before.parse::<Kind>().is_ok() => None,
        _ => Some(format!("{kind}:{text}")),
    }
}

#[cfg(test)]
mod public_json;
#[cfg(test)]
mod tests;
