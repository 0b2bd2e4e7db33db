//! Long polling: updates in, cursor with them, and only then the next request.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use teloxide::payloads::{AnswerCallbackQuery, DeleteWebhook, GetMe, GetUpdates, GetUpdatesSetters};
use teloxide::types::{AllowedUpdate, CallbackQueryId, UpdateKind};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::call::{Api, CallError};
use super::errors;
use super::inbound::{Me, Reader};
use super::{Telegram, menu, update};
use crate::{Answering, Cursor, Inbound, Intake, Kind, ReceiveError, Report};

/// The stream of updates; its value is the next offset.
pub(super) const STREAM: &str = "telegram/updates";
/// How long beyond its own patience a poll may take to be answered.
const POLL_GRACE: Duration = Duration::from_secs(10);
/// The most updates in one answer (getUpdates).
const UPDATES_MAX: u8 = 100;
/// The waits after a failed poll: the first is short, as most faults are gone at once.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The same while another process polls: whoever asks too often only takes turns with it.
const FIRST_CONFLICT_WAIT: Duration = Duration::from_secs(1);
const LONGEST_CONFLICT_WAIT: Duration = Duration::from_secs(30);
/// The wait after an empty answer, for a server that does not hold polls open.
const EMPTY_WAIT: Duration = Duration::from_millis(20);

/// What is wrong with the connection, if anything. Each is reported once, when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connected,
    Disconnected,
    Conflict,
}

/// One run of receiving.
pub(super) struct Poll<'a> {
    telegram: &'a Telegram,
    intake: Arc<dyn Intake>,
    me: Me,
    offset: Option<i32>,
    state: State,
    wait: Duration,
    /// Answers to clicks that are on their way. Whatever is left at the end is dropped: they are a courtesy.
    answers: JoinSet<()>,
}

/// What was read of one answer.
struct Batch {
    events: Vec<Inbound>,
    clicks: Vec<CallbackQueryId>,
    unreadable: Vec<String>,
    next: Option<i32>,
}

/// Asks who the bot is.
pub(super) async fn who(api: &Api) -> Result<Me, CallError> {
    api.call(&GetMe::new()).await
}

/// Receives until `stop`, or until waiting does not help.
pub(super) async fn run(
    telegram: &Telegram,
    intake: Arc<dyn Intake>,
    stop: CancellationToken,
) -> Result<(), ReceiveError> {
    let cursors = intake.cursors(Kind::Telegram).await.map_err(|_| ReceiveError::Closed)?;
    let connecting = async {
        tokio::select! {
            biased;
            _ = stop.cancelled() => Ok(None),
            me = connect(telegram, &*intake) => me.map(Some),
        }
    };
    let Some(me) = connecting.await? else { return Ok(()) };
    let mut registering = JoinSet::new();
    let offset = prepare(telegram, &intake, &me, &cursors, &mut registering).await?;
    intake.report(Kind::Telegram, Report::Connected { name: me.username.clone() });
    let mut poll =
        Poll { telegram, intake, me, offset, state: State::Connected, wait: FIRST_WAIT, answers: JoinSet::new() };
    loop {
        let answer = tokio::select! {
            biased;
            _ = stop.cancelled() => return Ok(()),
            answer = poll.ask() => answer,
        };
        // Not under the select: what was begun is made durable before anybody stops.
        let wait = match answer {
            Ok(updates) => poll.take(updates).await?,
            Err(error) => poll.failed(error)?,
        };
        if wait > Duration::ZERO {
            tokio::select! {
                biased;
                _ = stop.cancelled() => return Ok(()),
                _ = tokio::time::sleep(wait) => {}
            }
        }
    }
}

/// Asks who we are until there is an answer.
async fn connect(telegram: &Telegram, intake: &dyn Intake) -> Result<Me, ReceiveError> {
    let mut wait = FIRST_WAIT;
    loop {
        let error = match who(&telegram.api).await {
            Ok(me) => return Ok(me),
            Err(error) if errors::is_unauthorized(&error) => return Err(errors::check_error(error)),
            Err(error) => error,
        };
        if wait == FIRST_WAIT {
            intake.report(Kind::Telegram, Report::Disconnected { why: error.to_string() });
        }
        let asked = match &error {
            CallError::Refused(refusal) => refusal.retry_after,
            CallError::NotDone(_) | CallError::Unknown(_) => None,
        };
        tokio::time::sleep(asked.unwrap_or(wait)).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// What is done once before the first poll: the offset, and the menu, which is registered on the side.
async fn prepare(
    telegram: &Telegram,
    intake: &Arc<dyn Intake>,
    me: &Me,
    cursors: &[Cursor],
    registering: &mut JoinSet<()>,
) -> Result<Option<i32>, ReceiveError> {
    let stored = |stream: &str| cursors.iter().find(|cursor| cursor.stream == stream);
    let mut offset = stored(STREAM).and_then(|cursor| cursor.value.parse::<i32>().ok()).filter(|offset| *offset > 0);
    let registered = stored(menu::STREAM);
    if registered.is_some_and(|stored| menu::is_of_another_bot(stored, me)) {
        // The numbers of another bot's updates would hide this one's.
        tracing::info!("the token is another bot's than before: its updates are read from their beginning");
        offset = None;
        let cursor = Cursor { stream: STREAM.to_owned(), value: "0".to_owned() };
        intake.take(Vec::new(), Some(cursor)).await.map_err(|_| ReceiveError::Closed)?;
    }
    let hears_all = telegram.hearing.default == Answering::Always
        || telegram.hearing.rooms.values().any(|rule| *rule == Answering::Always);
    if hears_all && !me.can_read_all_group_messages {
        tracing::warn!(
            "the bot is to answer always in some Telegram groups, but its privacy mode is on: it gets only what \
             speaks to it, unless it is an admin there or privacy mode is turned off with /setprivacy at @BotFather"
        );
    }
    let commands = menu::commands(&telegram.menu);
    let mark = menu::mark(me, &commands);
    if registered != Some(&mark) {
        let (api, intake) = (telegram.api.clone(), intake.clone());
        registering.spawn(async move {
            if let Err(error) = menu::register(&api, commands).await {
                tracing::warn!(%error, "the Telegram commands menu could not be set; the next start tries again");
            } else if intake.take(Vec::new(), Some(mark)).await.is_err() {
                tracing::debug!("the host closed before it could note the menu; the next start sets it again");
            }
        });
    }
    Ok(offset)
}

impl Poll<'_> {
    /// Asks for updates. After a fault the first question does not wait for any, so that its answer shows at once
    /// that the connection is back.
    async fn ask(&self) -> Result<Vec<Box<RawValue>>, CallError> {
        let patience = match self.state {
            State::Disconnected => Duration::ZERO,
            State::Connected | State::Conflict => self.telegram.poll_timeout,
        };
        let seconds = u32::try_from(patience.as_secs()).unwrap_or(u32::MAX);
        let mut payload = GetUpdates::new().limit(UPDATES_MAX).timeout(seconds).allowed_updates([
            AllowedUpdate::Message,
            AllowedUpdate::EditedMessage,
            AllowedUpdate::CallbackQuery,
        ]);
        payload.offset = self.offset;
        self.telegram.api.call_within(&payload, patience + POLL_GRACE).await
    }

    /// Gives the host what came. The wait before the next question.
    async fn take(&mut self, updates: Vec<Box<RawValue>>) -> Result<Duration, ReceiveError> {
        if self.state != State::Connected {
            self.state = State::Connected;
            self.intake.report(Kind::Telegram, Report::Connected { name: self.me.username.clone() });
        }
        if updates.is_empty() {
            self.wait = FIRST_WAIT;
            return Ok(EMPTY_WAIT);
        }
        let batch = self.read(&updates);
        for what in batch.unreadable {
            self.intake.report(Kind::Telegram, Report::Unreadable { what });
        }
        let Some(next) = batch.next else {
            // Not one update has a number, so none can be acknowledged, and the same ones will come again.
            return Ok(self.longer(LONGEST_WAIT));
        };
        self.wait = FIRST_WAIT;
        let cursor = Cursor { stream: STREAM.to_owned(), value: next.to_string() };
        self.intake.take(batch.events, Some(cursor)).await.map_err(|_| ReceiveError::Closed)?;
        self.offset = Some(next);
        self.answer(batch.clicks);
        Ok(Duration::ZERO)
    }

    fn read(&self, updates: &[Box<RawValue>]) -> Batch {
        let reader =
            Reader { me: &self.me, hearing: &self.telegram.hearing, names: &self.telegram.names, now_ms: now_ms() };
        let mut batch = Batch { events: Vec::new(), clicks: Vec::new(), unreadable: Vec::new(), next: None };
        for raw in updates {
            let arrived = update::read(raw);
            match arrived.id.and_then(|id| id.checked_add(1)) {
                Some(next) => batch.next = batch.next.max(Some(next)),
                None => {
                    batch.unreadable.push("an update without a number".to_owned());
                    continue;
                }
            }
            let update = match arrived.update {
                Ok(update) => update,
                Err(what) => {
                    batch.unreadable.push(what);
                    continue;
                }
            };
            if let UpdateKind::CallbackQuery(query) = &update.kind {
                batch.clicks.push(query.id.clone());
            }
            match reader.read(&update) {
                Some(event) => batch.events.push(event),
                None => tracing::debug!(update.id = update.id.0, "an update that is not for a host"),
            }
        }
        batch
    }

    /// Tells the clients that their clicks have arrived, which ends the waiting that the buttons show.
    fn answer(&mut self, clicks: Vec<CallbackQueryId>) {
        while self.answers.try_join_next().is_some() {}
        for id in clicks {
            let api = self.telegram.api.clone();
            self.answers.spawn(async move {
                if let Err(error) = api.call::<_, bool>(&AnswerCallbackQuery::new(id)).await {
                    tracing::debug!(%error, "a click was not answered");
                }
            });
        }
    }

    /// Notes a failed question. The wait before the next one, or the end.
    fn failed(&mut self, error: CallError) -> Result<Duration, ReceiveError> {
        if errors::is_unauthorized(&error) {
            return Err(errors::check_error(error));
        }
        let CallError::Refused(refusal) = &error else {
            self.becomes(State::Disconnected, FIRST_WAIT, || Report::Disconnected { why: error.to_string() });
            return Ok(self.longer(LONGEST_WAIT));
        };
        if refusal.code == 409 && refusal.says("webhook") {
            let why = "a webhook is set for this bot, which stops polling; it is being deleted".to_owned();
            self.becomes(State::Disconnected, FIRST_WAIT, || Report::Disconnected { why });
            self.delete_webhook();
            return Ok(self.longer(LONGEST_WAIT));
        }
        if refusal.code == 409 {
            self.becomes(State::Conflict, FIRST_CONFLICT_WAIT, || Report::SecondPoller);
            return Ok(self.longer(LONGEST_CONFLICT_WAIT));
        }
        let asked = refusal.retry_after;
        self.becomes(State::Disconnected, FIRST_WAIT, || Report::Disconnected { why: error.to_string() });
        Ok(asked.unwrap_or_default().max(self.longer(LONGEST_WAIT)))
    }

    fn becomes(&mut self, state: State, first_wait: Duration, report: impl FnOnce() -> Report) {
        if self.state != state {
            self.state = state;
            self.wait = first_wait;
            self.intake.report(Kind::Telegram, report());
        }
    }

    /// The wait that is due, and twice as long the next time.
    fn longer(&mut self, most: Duration) -> Duration {
        let wait = self.wait.min(most);
        self.wait = (wait * 2).min(most);
        wait
    }

    fn delete_webhook(&mut self) {
        let api = self.telegram.api.clone();
        self.answers.spawn(async move {
            if let Err(error) = api.call::<_, bool>(&DeleteWebhook::new()).await {
                tracing::warn!(%error, "the webhook of the Telegram bot could not be deleted");
            }
        });
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
