//! `/stop`: really ends the turn that runs.

use anyhow::Result;
use base::Moment;
use channels::{Content, OptionKind};
use store::tasks::{self, StopAsked};
use store::topics::Topic;
use store::{Conn, inbox, outbox, topics};

use super::{Asked, Command, Takes, Who};
use crate::session::cancel_work;

pub(super) const STOP: Command = Command {
    name: "stop",
    about: "Have me stop what I am doing here",
    who: Who::Trusted,
    takes: &[Takes {
        name: "topic",
        about: "its number or its name; all of them without it",
        kind: OptionKind::Text,
        required: false,
    }],
    run: |conn, asked| Box::pin(run(conn, asked)),
};

async fn run(conn: &mut Conn, asked: &Asked<'_>) -> Result<String> {
    let meant = match meant(conn, asked).await? {
        Ok(meant) => meant,
        Err(why) => return Ok(why),
    };
    let mut stopped = Vec::new();
    for topic in meant {
        let running = tasks::ask_to_stop(conn, topic.id, StopAsked::Person).await?;
        let work = stop_work(conn, &topic, asked.now).await?;
        if running || work > 0 {
            let work = match work {
                0 => String::new(),
                1 => " and a task of a team".to_owned(),
                count => format!(" and {count} tasks of teams"),
            };
            stopped.push(format!("`{}` **{}**{work}", topic.id, crate::welcome::escaped(&topic.name)));
        }
    }
    Ok(match stopped.is_empty() {
        true => "Nothing is running here.".to_owned(),
        false => format!("Stopping {}.", stopped.join(", ")),
    })
}

/// Ends what teams do for a topic, and what they were to do. How many tasks. Whoever gave those that run hears from their
/// turns; of those that wait, at once.
pub(super) async fn stop_work(conn: &mut Conn, topic: &Topic, now: Moment) -> Result<usize> {
    let mut stopped = tasks::stop_work_of_topic(conn, topic.id).await?.len();
    for task in tasks::queued_work_of_topic(conn, topic.id).await? {
        stopped += usize::from(cancel_work(conn, &task, now).await?);
    }
    Ok(stopped)
}

/// The topic that is named, or that of the message this answers, or all of the conversation's.
async fn meant(conn: &mut Conn, asked: &Asked<'_>) -> Result<Result<Vec<Topic>, String>> {
    if asked.value("topic").is_some() {
        return Ok(super::topic::find(conn, asked).await?.map(|topic| vec![topic]));
    }
    let conversation = &asked.event.conversation;
    let answered = match &asked.event.content {
        Content::Command { reply_to: Some(message), .. } => Some(message),
        Content::Text(said) => said.reply_to.as_ref(),
        _ => None,
    };
    if let Some(message) = answered {
        let topic = match outbox::topic_of(conn, conversation, message).await? {
            Some(topic) => Some(topic),
            None => inbox::topic_of(conn, conversation, message).await?,
        };
        if let Some(topic) = topic {
            return Ok(Ok(topics::get(conn, topic).await?.into_iter().collect()));
        }
    }
    Ok(Ok(topics::open_ones(conn, conversation).await?))
}
