//! A database as it is after a long time: many messages, all of them answered.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use base::{Clock, Moment, TopicId, clock};
use channels::{Action, Content, Inbound, Piece};
use org::topics::Rules;
use store::runs::Run;
use store::tasks::{End, Origin};
use store::{Conn, Db, inbox, journal, outbox, runs, tasks, usage};

use crate::line;

/// How old the messages are: younger than what is deleted, older than what is talked in.
const AGE: Moment = 20 * 86_400_000;
/// How many messages each topic has.
const IN_TOPIC: u64 = 20;
/// Messages written in one transaction.
const TOGETHER: u64 = 1_000;

/// Makes the database at `path` with so many messages, each with its turn and its reply, as a hive leaves them.
pub async fn make(path: &Path, messages: u64) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).context("make the folder")?;
    }
    let db = Db::open(path).await?;
    let then = Clock::Wall.now() - AGE;
    for first in (0..messages).step_by(TOGETHER as usize) {
        let last = (first + TOGETHER).min(messages);
        db.note("make old messages", async |conn| {
            for number in first..last {
                one(conn, number, then + number as Moment).await?;
            }
            Ok(())
        })
        .await?;
    }
    let states = db.read(async |conn| inbox::counts(conn).await).await?;
    ensure!(states == [("taken".to_owned(), messages as i64)], "all messages were taken: {states:?}");
    Ok(())
}

/// One message on the way that every message goes.
async fn one(conn: &mut Conn, number: u64, now: Moment) -> Result<()> {
    let event = line::event(number / IN_TOPIC, number, format!("What did we say about point {number} last week?"));
    let id = inbox::insert(conn, &event, inbox::State::Received, now).await?.context("a new message")?;
    let topic = org::topics::place(conn, &event, Rules { active_max: 5 }, now).await?.context("a thread is a topic")?;
    inbox::place(conn, id, topic).await?;
    let origin = Origin {
        conversation: Some(event.conversation.clone()),
        topic: Some(topic),
        sender: Some(event.sender.id.clone()),
    };
    tasks::enqueue_message(conn, &origin, topic, now).await?;
    let lease = now + clock::ms(openhive::loops::worker::LEASE);
    let claimed = tasks::claim(conn, 1, now, lease).await?;
    let task = claimed.first().context("the task can be claimed")?;
    let entered = runs::enter(conn, task, Some(topic), now).await?;
    let run = entered.id;
    inbox::take(conn, id, run).await?;
    let said = words(&event);
    journal::append(conn, run, Some(topic), 1, journal::Role::User, &text_block(&said)?, now).await?;
    let answer = format!("We said this about it: {said}");
    journal::append(conn, run, Some(topic), 1, journal::Role::Assistant, &text_block(&answer)?, now).await?;
    usage::add(conn, &spent(run, topic), now).await?;
    runs::finish(conn, Run { steps: 1, ..entered }, End::Done, "", now).await?;
    tasks::finish(conn, task.id, End::Done, "", now).await?;
    let piece = Piece { text: answer.clone(), plain: answer, ..Piece::default() };
    let reply = outbox::New {
        topic: Some(topic),
        run: Some(run),
        ..outbox::New::message(&event.conversation, Action::Send(piece))
    };
    let row = outbox::push(conn, &reply, now).await?;
    outbox::begin(conn, row, now).await?;
    outbox::sent(conn, row, &format!("9{number}"), now).await
}

fn words(event: &Inbound) -> String {
    match &event.content {
        Content::Text(said) => said.text.clone(),
        _ => String::new(),
    }
}

/// Words as the journal has them.
fn text_block(text: &str) -> Result<String> {
    Ok(serde_json::to_string(&[llm::Block::Text(text.to_owned())])?)
}

fn spent(run: base::RunId, topic: TopicId) -> usage::Entry {
    usage::Entry {
        run: Some(run),
        team: base::ids::MAIN.to_owned(),
        topic: Some(topic),
        sender: None,
        purpose: "turn",
        model: "offline:parrot".to_owned(),
        input_tokens: 1_000,
        output_tokens: 20,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_micro_usd: None,
    }
}
