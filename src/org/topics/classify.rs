//! The judgement: which of the open topics a message is about, or that it opens a new one.

use anyhow::Result;
use base::{Moment, TopicId, text};
use channels::{Content, Inbound};
use serde::Deserialize;
use store::topics::{State, Topic};
use store::{Conn, inbox};

use crate::threads;

/// How many topics a classifier is shown: the latest ones.
const CANDIDATES_MAX: usize = 12;
/// How many of the last things said in each.
const LAST_WORDS: u32 = 4;
const WORDS_CHARS: usize = 280;

/// A topic as a classifier sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The topic.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// What was said in it.
    pub summary: String,
    /// Whether it waits.
    pub idle: bool,
    /// The last things people said in it, oldest first: who, and what.
    pub last_words: Vec<(String, String)>,
    /// When it was last talked in.
    pub last_at: Moment,
}

/// What a classifier says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It belongs to these topics: one, or several where the configuration allows it.
    Joins(Vec<TopicId>),
    /// It opens a topic with that name; code makes one where the name is empty.
    Opens(String),
}

/// The topics that a classifier chooses from: active and idle ones, the latest first.
pub async fn candidates(conn: &mut Conn, open: Vec<Topic>) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for topic in open.into_iter().take(CANDIDATES_MAX) {
        let said = inbox::last_of_topic(conn, topic.id, LAST_WORDS).await?;
        let last_words = said.iter().filter_map(words_of).collect();
        candidates.push(Candidate {
            id: topic.id,
            name: topic.name,
            summary: topic.summary,
            idle: topic.state == State::Idle,
            last_words,
            last_at: topic.last_activity_at,
        });
    }
    Ok(candidates)
}

fn words_of(event: &Inbound) -> Option<(String, String)> {
    match &event.content {
        Content::Text(said) => Some((event.sender.name.clone(), text::cut(&said.text, WORDS_CHARS))),
        _ => None,
    }
}

/// The judgement without a model: from who wrote what in each topic, and when. Unsure is unsure: the latest topic
/// gets the message.
pub fn from_words(candidates: &[Candidate], event: &Inbound) -> Option<Judgement> {
    let (who, what) = words_of(event)?;
    let said: Vec<Vec<(&str, &str)>> = candidates
        .iter()
        .map(|candidate| candidate.last_words.iter().map(|(who, what)| (who.as_str(), what.as_str())).collect())
        .collect();
    let known: Vec<threads::Candidate<'_>> = candidates
        .iter()
        .zip(&said)
        .map(|(candidate, last_words)| threads::Candidate {
            name: &candidate.name,
            summary: &candidate.summary,
            last_words,
            last_at_ms: candidate.last_at,
        })
        .collect();
    let message = threads::Message { sender: &who, text: &what, at_ms: event.sent_at_ms };
    match threads::chances(&known, &message).choice() {
        threads::Choice::Sure(at) | threads::Choice::Unsure(at) => Some(Judgement::Joins(vec![candidates.get(at)?.id])),
        threads::Choice::New => Some(Judgement::Opens(String::new())),
    }
}

/// The question to a model: the topics and the message, as data. `several`: a message may belong to more than one.
pub fn question(candidates: &[Candidate], event: &Inbound, several: bool) -> String {
    let topics: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            let last: Vec<_> = candidate.last_words.iter().map(|(who, what)| format!("{who}: {what}")).collect();
            serde_json::json!({
                "id": candidate.id.0, "name": candidate.name, "idle": candidate.idle,
                "summary": candidate.summary, "last_words": last,
            })
        })
        .collect();
    let (who, what) = words_of(event).unwrap_or_default();
    serde_json::json!({ "topics": topics, "message": { "from": who, "text": what }, "several": several }).to_string()
}

/// What a model's answer to [`question`] means. `None` where it is unsure, speaks of a topic that was not offered, or
/// does not answer in the form that it was asked for.
pub fn parse(answer: &str, candidates: &[Candidate], several: bool) -> Option<Judgement> {
    #[derive(Deserialize)]
    struct Answer {
        topic: Option<i64>,
        topics: Option<Vec<i64>>,
        new: Option<String>,
    }
    // A fence or a sentence around the object is forgiven; two objects are not.
    let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    let said: Answer = serde_json::from_str(object).ok()?;
    let offered = |id: &i64| candidates.iter().map(|candidate| candidate.id).find(|offered| offered.0 == *id);
    match (said.topic, said.topics, said.new) {
        (Some(id), None, None) => offered(&id).map(|id| Judgement::Joins(vec![id])),
        (None, Some(ids), None) if ids.len() == 1 || (several && !ids.is_empty()) => {
            let mut ids = ids.iter().map(offered).collect::<Option<Vec<_>>>()?;
            ids.sort_unstable();
            ids.dedup();
            Some(Judgement::Joins(ids))
        }
        (None, None, Some(name)) if !name.trim().is_empty() => Some(Judgement::Opens(name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_about_an_offered_topic_counts() {
        let candidate = Candidate {
            id: TopicId(3),
            name: "x".into(),
            summary: String::new(),
            idle: false,
            last_words: Vec::new(),
            last_at: 0,
        };
        let three = || Some(Judgement::Joins(vec![TopicId(3)]));
        for (answer, meant) in [
            (r#"{"topic": 3}"#, three()),
            ("```json\n{\"topic\": 3}\n```", three()),
            (r#"{"topics": [3]}"#, three()),
            (r#"{"topics": [3, 3]}"#, None),
            (r#"{"topics": []}"#, None),
            (r#"{"new": "Lunch"}"#, Some(Judgement::Opens("Lunch".into()))),
            (r#"{"topic": 4}"#, None),
            (r#"{"topic": 3, "new": "Lunch"}"#, None),
            (r#"{"unsure": true}"#, None),
            (r#"{"new": " "}"#, None),
            ("3", None),
            ("} {", None),
            ("", None),
        ] {
            assert_eq!(parse(answer, std::slice::from_ref(&candidate), false), meant, "{answer}");
        }
        let both = [candidate.clone(), Candidate { id: TopicId(5), ..candidate }];
        assert_eq!(parse(r#"{"topics": [5, 3]}"#, &both, true), Some(Judgement::Joins(vec![TopicId(3), TopicId(5)])));
        assert_eq!(parse(r#"{"topics": [5, 3]}"#, &both, false), None, "only where it is allowed");
        assert_eq!(parse(r#"{"topics": [5, 4]}"#, &both, true), None, "one that was not offered");
    }
}
