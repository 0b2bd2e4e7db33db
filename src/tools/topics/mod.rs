//! Lines of talk in a conversation.

mod list_topics;

pub use list_topics::{ListTopics, ListTopicsArgs, ListTopicsOutput, TopicShown};

#[cfg(test)]
mod tests;
