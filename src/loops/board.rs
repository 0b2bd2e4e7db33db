//! The live board: while teams work for a topic, its conversation has one message that says who does what.
//!
//! A courtesy and no reply: it is shown where nothing else waits to be said and the platform has room, written anew at
//! most every few seconds, and given up where that fails for good. Its row is written before it is shown, so that after
//! a crash the same message is written on. A terminal cannot edit: there is none.

mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use base::{Clock, Moment, TaskId, Tasks, TopicId, clock};
use channels::{Channel, ConversationId, Kind};
use store::boards::{self, Board, Line, Message, Tally};
use store::topics::Topic;
use store::{Bell, Conn, Db, topics};

use super::busy::Busy;
use crate::commands::board as words;
use crate::voices::Voices;

use write::{end, write};

/// Work that is quicker than this shows nothing but its result.
const FIRST_AFTER: Duration = Duration::from_secs(5);
/// The same for what is asked in the middle of a topic's own turn: people wait for its reply as they do for any other.
const ASKED_AFTER: Duration = Duration::from_secs(15);
/// However often rows change, they are read no more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look without a bell.
const RESCAN: Duration = Duration::from_secs(30);
/// For how long the last word is tried: what nobody could be told by then is no news.
const LAST_WITHIN: Duration = Duration::from_secs(3_600);

/// Shows what teams do.
pub struct Showing {
    /// The rows.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The platforms.
    pub voices: Voices,
}

/// What this process knows of each topic's board. A cache: without it a board is written anew once more.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<BTreeMap<TopicId, Page>>>);

#[derive(Clone, Default)]
struct Page {
    /// What it says, in Markdown.
    text: String,
    /// Not before this is it written again.
    next_at: Moment,
    /// How often in a row that has failed.
    failures: u32,
    /// When its work was first seen to be over.
    over_since: Option<Moment>,
}

impl Pages {
    fn with<T>(&self, use_it: impl FnOnce(&mut BTreeMap<TopicId, Page>) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A topic's, with the moment since when its work is over, where it is.
    fn seen(&self, topic: TopicId, over: Option<Moment>) -> Page {
        self.with(|pages| {
            let page = pages.entry(topic).or_default();
            page.over_since = over.map(|now| page.over_since.unwrap_or(now));
            page.clone()
        })
    }

    /// Changes a topic's.
    fn change(&self, topic: TopicId, change: impl FnOnce(&mut Page)) {
        self.with(|pages| change(pages.entry(topic).or_default()));
    }
}

/// A topic whose board may have to change.
struct View {
    topic: Topic,
    board: Option<Board>,
    first_task: TaskId,
    tally: Tally,
    lines: Vec<Line>,
    /// Something else is to be said there first.
    must_wait: bool,
}

impl View {
    fn is_over(&self) -> bool {
        self.tally.open() == 0
    }

    /// What it should say in Markdown, and until when.
    fn text(&self, now: Moment) -> (String, Option<Moment>) {
        match self.is_over() {
            true => (words::over(&self.topic, &self.tally), None),
            false => words::at_work(&self.topic, &self.tally, &self.lines, now),
        }
    }
}

/// Runs until `tasks` is told to stop.
pub async fn run(showing: Arc<Showing>, tasks: Tasks) {
    let stop = tasks.stop_token();
    // What is asked in the middle of a turn is no task: only events tell of it.
    let (mut tasks_bell, mut events_bell) = (showing.db.changes(Bell::Tasks), showing.db.changes(Bell::Events));
    let (busy, pages) = (Busy::default(), Pages::default());
    // The first look comes after what a start puts back has been claimed again.
    let mut soonest = showing.clock.now() + clock::ms(LOOK_EVERY);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = showing.clock.sleep_until(Some(soonest)) => {}
        }
        tasks_bell.mark_unchanged();
        events_bell.mark_unchanged();
        let begun = showing.clock.now();
        let next = match scan(&showing, &tasks, &busy, &pages).await {
            Ok(next) => next,
            Err(error) => {
                tracing::error!("what teams do could not be shown: {error:#}");
                None
            }
        };
        let latest = begun + clock::ms(RESCAN);
        soonest = begun + clock::ms(LOOK_EVERY);
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = tasks_bell.changed() => {}
            _ = events_bell.changed() => {}
            () = showing.clock.sleep_until(Some(next.unwrap_or(latest).min(latest))) => {}
        }
    }
}

/// Has every board written that should say something else. When to look again if no task changes.
async fn scan(showing: &Arc<Showing>, tasks: &Tasks, busy: &Busy, pages: &Pages) -> Result<Option<Moment>> {
    let now = showing.clock.now();
    let (views, mut next) = showing.db.read(async |conn| look(conn, now).await).await?;
    let known: BTreeSet<TopicId> = views.iter().map(|view| view.topic.id).collect();
    pages.with(|pages| pages.retain(|topic, _| known.contains(topic)));
    for view in views {
        let at = consider(showing, tasks, busy, pages, view).await?;
        next = [next, at].into_iter().flatten().min();
    }
    Ok(next)
}

/// The topics whose boards may have to change, and when the next one's work has lasted long enough to have a board.
async fn look(conn: &mut Conn, now: Moment) -> Result<(Vec<View>, Option<Moment>)> {
    let mut boards: BTreeMap<TopicId, Board> =
        boards::open_ones(conn).await?.into_iter().map(|board| (board.topic, board)).collect();
    let (mut wanted, mut next) = (Vec::new(), None::<Moment>);
    for work in boards::topics_with_work(conn).await? {
        let due = work.since + clock::ms(if work.given { FIRST_AFTER } else { ASKED_AFTER });
        match boards.remove(&work.topic) {
            Some(board) => wanted.push((work.topic, board.first_task, Some(board))),
            None if due <= now => wanted.push((work.topic, work.first_task, None)),
            None => next = Some(next.map_or(due, |next| next.min(due))),
        }
    }
    wanted.extend(boards.into_values().map(|board| (board.topic, board.first_task, Some(board))));
    let mut views = Vec::new();
    for (topic, first_task, board) in wanted {
        let Some(topic) = topics::get(conn, topic).await? else { continue };
        let tally = boards::tally(conn, topic.id, first_task).await?;
        let lines = boards::lines(conn, topic.id, now, words::LINES_MAX).await?;
        let must_wait = boards::must_wait(conn, &topic.conversation).await?;
        views.push(View { topic, board, first_task, tally, lines, must_wait });
    }
    Ok((views, next))
}

/// Has one board written if it is time. When to look at it again if no task changes.
async fn consider(
    showing: &Arc<Showing>,
    tasks: &Tasks,
    busy: &Busy,
    pages: &Pages,
    view: View,
) -> Result<Option<Moment>> {
    let now = showing.clock.now();
    let (text, until) = view.text(now);
    let page = pages.seen(view.topic.id, view.is_over().then_some(now));
    let message = view.board.as_ref().map(|board| &board.message);
    let is_said = text == page.text && !matches!(message, Some(Message::InDoubt(_)));
    if let (Some(board), Some(since)) = (&view.board, page.over_since)
        && (is_said || board.message == Message::Left || now - since > clock::ms(LAST_WITHIN))
    {
        end(showing, &view, board).await?;
        return Ok(None);
    }
    let Some(channel) = channel_of(showing, &view.topic.conversation) else { return Ok(None) };
    if is_said || message == Some(&Message::Left) {
        return Ok(until);
    }
    // A clock that was set back holds nothing up.
    if (now + 1..=now + clock::ms(LAST_WITHIN)).contains(&page.next_at) {
        return Ok(Some(page.next_at));
    }
    let again = Some(now + clock::ms(LOOK_EVERY));
    if view.must_wait || !channel.draft_fits(&view.topic.conversation) {
        return Ok(again);
    }
    let Some(entered) = busy.enter(&view.topic.conversation, &showing.db, Bell::Tasks) else { return Ok(again) };
    let (showing, pages) = (showing.clone(), pages.clone());
    tasks.spawn("board", async move {
        let _entered = entered;
        write(&showing, channel.as_ref(), &pages, &view, text).await;
    });
    Ok(None)
}

/// Who shows boards in a conversation, if anybody does.
fn channel_of(showing: &Showing, conversation: &ConversationId) -> Option<Arc<dyn Channel>> {
    match conversation.kind() {
        Kind::Discord | Kind::Telegram => showing.voices.of(conversation.kind()).cloned(),
        Kind::Console | Kind::Web => None,
    }
}
