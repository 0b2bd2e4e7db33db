//! What of a prompt belongs to the turn: what is remembered, where we are, and what this line of talk is about.

use channels::{Inbound, Place};
use store::topics::Topic;

use super::joined;

/// What is only so in this turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now<'a> {
    /// What the team remembers, as `org::memory` puts it; empty for nothing.
    pub memory: &'a str,
    /// What came in.
    pub event: Option<&'a Inbound>,
    /// What the talk is about.
    pub topic: Option<&'a Topic>,
    /// What was said before, in fewer words.
    pub summary: Option<&'a str>,
}

impl Now<'_> {
    /// The text. Empty where there is nothing to say.
    pub fn text(&self) -> String {
        let place = self.event.map(|event| {
            let place = match &event.place {
                Place::Direct => "a direct conversation with one person".to_owned(),
                Place::Group { title } => format!("a room with several people{}", titled(title)),
                Place::Thread { title, .. } => format!("a thread with several people{}", titled(title)),
            };
            format!("## Place\nYou are in {place} on {}.", event.conversation.kind())
        });
        let topic = self.topic.map(|topic| format!("## Current Topic\n{} (topic {})", topic.name, topic.id));
        let summary = self.summary.map(|summary| format!("## What was said before, in fewer words\n{summary}"));
        joined([self.memory.to_owned()].into_iter().chain(place).chain(topic).chain(summary))
    }
}

fn titled(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(" called \"{}\"", base::text::headline(title, 80)) }
}
