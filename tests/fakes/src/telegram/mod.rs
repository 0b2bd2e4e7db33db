//! A Telegram on loopback: the Bot API for one bot, and the people who talk to it.
//!
//! | file | what |
//! |---|---|
//! | `mod` | what a test does and sees |
//! | `say` | what a person can say, and how the Bot API shows it |
//! | `world` | people, chats, topics, messages, files, updates |
//! | `serve` | the HTTP side: paths, bodies, answers, cut connections |
//! | `methods`, `messages` | what each method of the Bot API does |
//! | `html` | Telegram's reading of HTML |
//! | `faults`, `rates` | what goes wrong when a test says so; the documented rates |

mod faults;
mod html;
mod messages;
mod methods;
mod rates;
mod say;
mod serve;
mod world;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use faults::{Failure, Fault};
pub use say::Say;
use say::{person_message, store_file};
use world::{BOT, BOT_NAME, Chat, ChatKind, Topic, User, World, marks};

/// The secret half of the token. It looks like a real one, so that a search for leaks finds it.
const SECRET: &str = "AAF7-g0gYncWnm5IyfZlpPRqRRv6kNAGlao";

/// A running server. It stops when this is dropped.
pub struct Telegram {
    shared: Arc<Shared>,
    url: String,
    _running: DropGuard,
}

/// The server's side of [`Telegram`].
struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<u64>,
    stop: CancellationToken,
}

impl Shared {
    /// The world, for a moment. Nothing awaits while it is held, and a panic in a test does not poison it.
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn rings(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

/// A message of the bot as people see it now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Its id.
    pub message_id: i64,
    /// The topic that it stands in; `None` in flat chats and in General.
    pub thread: Option<i64>,
    /// The text on the screen, without markup; for a file its caption.
    pub text: String,
    /// The text as it was sent.
    pub source: String,
    /// Whether it was sent as HTML.
    pub html: bool,
    /// The markup, as Telegram's entities.
    pub entities: Vec<Value>,
    /// The message that it answers.
    pub reply_to: Option<i64>,
    /// Rows of buttons: what they say and what they send.
    pub buttons: Vec<Vec<(String, String)>>,
    /// Name and bytes of the file that hangs on it.
    pub document: Option<(String, Vec<u8>)>,
    /// How many times it was changed.
    pub edits: usize,
    /// When it was sent.
    pub sent_at: Option<Instant>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method as it was spelt in the path.
    pub method: String,
    /// Its parameters; of a multipart form each field's text, read as JSON where it is JSON.
    pub params: Map<String, Value>,
    /// Its files: field, file name, number of bytes.
    pub files: Vec<(String, String, usize)>,
    /// When it arrived.
    pub at: Instant,
}

impl Telegram {
    /// Starts a server on a free port of this machine. Rates are off; every request is logged.
    pub async fn start() -> Telegram {
        let stop = CancellationToken::new();
        let shared =
            Arc::new(Shared { world: Mutex::new(World::new()), changed: watch::channel(0).0, stop: stop.clone() });
        let address = serve::start(shared.clone()).await;
        Telegram { shared, url: format!("http://{address}"), _running: stop.drop_guard() }
    }

    /// What `TELEGRAM_API_URL` has to be.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The bot's token.
    pub fn token(&self) -> String {
        format!("{BOT}:{SECRET}")
    }

    /// The bot's user id.
    pub fn bot(&self) -> i64 {
        BOT
    }

    /// The bot's user name, without `@`.
    pub fn bot_name(&self) -> &'static str {
        BOT_NAME
    }

    /// Makes a person, whose user name is the name in lower case. Their id.
    pub fn user(&self, name: &str) -> i64 {
        self.add_user(name, Some(name.to_lowercase()), false)
    }

    /// Makes a person without a user name. Their id.
    pub fn user_without_username(&self, name: &str) -> i64 {
        self.add_user(name, None, false)
    }

    /// Makes another bot. Its id.
    pub fn other_bot(&self, name: &str) -> i64 {
        self.add_user(name, Some(name.to_lowercase()), true)
    }

    fn add_user(&self, name: &str, username: Option<String>, is_bot: bool) -> i64 {
        let mut world = self.shared.world();
        let id = 100_000 + world.fresh();
        world.users.insert(id, User { id, first_name: name.to_owned(), username, is_bot });
        id
    }

    /// The private chat of a person and the bot.
    pub fn private(&self, user: i64) -> i64 {
        let mut world = self.shared.world();
        if !world.chats.contains_key(&user) {
            world.add_chat(user, ChatKind::Private(user), "");
        }
        user
    }

    /// A small group, as it is before it becomes a supergroup.
    pub fn group(&self, title: &str) -> i64 {
        let mut world = self.shared.world();
        let id = -(1_000_000 + world.fresh());
        world.add_chat(id, ChatKind::Group, title)
    }

    /// A supergroup without topics.
    pub fn supergroup(&self, title: &str) -> i64 {
        let mut world = self.shared.world();
        let id = -(1_001_000_000_000 + world.fresh());
        world.add_chat(id, ChatKind::Supergroup, title)
    }

    /// A supergroup with topics; it has General from the start.
    pub fn forum(&self, title: &str) -> i64 {
        let mut world = self.shared.world();
        let id = -(1_001_000_000_000 + world.fresh());
        world.add_chat(id, ChatKind::Forum, title)
    }

    /// Opens a topic in a forum, by `user`. Its thread id.
    pub fn topic(&self, forum: i64, name: &str, user: i64) -> i64 {
        let mut world = self.shared.world();
        let id = world.next_message(forum);
        let mut json = world.message_json(forum, id, user, Some(id));
        json["forum_topic_created"] = json!({"name": name, "icon_color": 7_322_096});
        world.keep(forum, id, user, json.clone(), Shown { message_id: id, thread: Some(id), ..Shown::default() });
        world.chat(forum).topics.insert(id, Topic { name: name.to_owned(), closed: false });
        world.update("message", json);
        drop(world);
        self.shared.rings();
        id
    }

    /// The name of a topic, `None` once it is deleted.
    pub fn topic_name(&self, forum: i64, topic: i64) -> Option<String> {
        self.shared.world().chat(forum).topics.get(&topic).map(|topic| topic.name.clone())
    }

    /// Deletes a topic with all that is in it.
    pub fn delete_topic(&self, forum: i64, topic: i64) {
        let mut world = self.shared.world();
        let chat = world.chat(forum);
        chat.topics.remove(&topic);
        chat.messages.retain(|_, message| message.shown.thread != Some(topic));
    }

    /// Closes a topic: it stays, and takes no messages.
    pub fn close_topic(&self, forum: i64, topic: i64) {
        if let Some(topic) = self.shared.world().chat(forum).topics.get_mut(&topic) {
            topic.closed = true;
        }
    }

    /// Makes a group a supergroup, with the two service messages. The new chat id.
    pub fn migrate(&self, group: i64) -> i64 {
        let title = self.shared.world().chat(group).title.clone();
        let supergroup = self.supergroup(&title);
        let mut world = self.shared.world();
        world.chat(group).migrated_to = Some(supergroup);
        for (chat, key, other) in
            [(group, "migrate_to_chat_id", supergroup), (supergroup, "migrate_from_chat_id", group)]
        {
            let id = world.next_message(chat);
            let mut json = world.message_json(chat, id, BOT, None);
            json[key] = json!(other);
            world.keep(chat, id, BOT, json.clone(), Shown { message_id: id, ..Shown::default() });
            world.update("message", json);
        }
        drop(world);
        self.shared.rings();
        supergroup
    }

    /// The person blocks the bot, or the group throws it out.
    pub fn throw_out(&self, chat: i64) {
        let mut world = self.shared.world();
        let chat = world.chat(chat);
        chat.closed = Some(match chat.kind {
            ChatKind::Private(_) => "Forbidden: bot was blocked by the user",
            ChatKind::Group => "Forbidden: bot was kicked from the group chat",
            _ => "Forbidden: bot was kicked from the supergroup chat",
        });
    }

    /// Takes a chat away, so that its id names nothing any more.
    pub fn delete_chat(&self, chat: i64) {
        self.shared.world().chats.remove(&chat);
    }

    /// Somebody says something. The message's id. With privacy mode on, the bot gets it only if it may see it.
    pub fn say(&self, chat: i64, user: i64, said: impl Into<Say>) -> i64 {
        let said = said.into();
        let mut world = self.shared.world();
        let id = world.next_message(chat);
        let json = person_message(&mut world, chat, id, user, said);
        let thread = json["message_thread_id"].as_i64();
        let text = json["text"].as_str().unwrap_or_default().to_owned();
        let shown = Shown { message_id: id, thread, text, ..Shown::default() };
        world.keep(chat, id, user, json.clone(), shown);
        if world.bot_sees(chat, &json) {
            world.update("message", json);
        }
        drop(world);
        self.shared.rings();
        id
    }

    /// Somebody changes the text of their message.
    pub fn edit(&self, chat: i64, message: i64, text: &str) {
        let mut world = self.shared.world();
        let kept = world.chat(chat).messages.get_mut(&message).expect("a message that was said");
        kept.json["text"] = json!(text);
        kept.json["entities"] = json!(marks(text));
        kept.json["edit_date"] = json!(world::unix_s());
        let json = kept.json.clone();
        if world.bot_sees(chat, &json) {
            world.update("edited_message", json);
        }
        drop(world);
        self.shared.rings();
    }

    /// Somebody presses a button, named by its label or by its data. The id of the callback query.
    pub fn click(&self, chat: i64, message: i64, button: &str, user: i64) -> String {
        let mut world = self.shared.world();
        let kept = world.chat(chat).messages.get(&message).expect("a message with buttons").clone();
        let mut buttons = kept.shown.buttons.iter().flatten();
        let found = buttons.find(|(label, data)| label == button || data == button);
        let (_, data) = found.unwrap_or_else(|| panic!("no button {button}: {:?}", kept.shown.buttons));
        let query = format!("{}", 4_000_000_000_000 + world.fresh());
        let content = json!({
            "id": query,
            "from": world.users[&user].json(),
            "message": kept.json,
            "chat_instance": format!("{}", chat.unsigned_abs()),
            "data": data,
        });
        world.open_clicks.insert(query.clone(), false);
        world.update("callback_query", content);
        drop(world);
        self.shared.rings();
        query
    }

    /// Whether the bot has answered a click, so that the button no longer shows that it is waiting.
    pub fn click_answered(&self, query: &str) -> bool {
        self.shared.world().open_clicks.get(query).copied().unwrap_or(false)
    }

    /// Puts an update of any shape in the bot's queue. Its update id.
    pub fn raw_update(&self, kind: &str, content: Value) -> i64 {
        let id = self.shared.world().update(kind, content);
        self.shared.rings();
        id
    }

    /// The bot's messages in a chat, all topics together, as people see them now, oldest first.
    pub fn messages(&self, chat: i64) -> Vec<Shown> {
        let mut world = self.shared.world();
        let of_bot = |message: &&world::Message| message.from == BOT && message.shown.sent_at.is_some();
        world.chats.get_mut(&chat).map_or_else(Vec::new, |chat: &mut Chat| {
            chat.messages.values().filter(of_bot).map(|message| message.shown.clone()).collect()
        })
    }

    /// Waits until the bot's messages in a chat satisfy `enough`, and gives them. Panics with what is there when
    /// they do not within `patience`.
    pub async fn wait_for(&self, chat: i64, patience: Duration, enough: impl Fn(&[Shown]) -> bool) -> Vec<Shown> {
        let what = || format!("the messages in {chat} are {:#?}", self.messages(chat));
        self.wait_until(patience, what, || Some(self.messages(chat)).filter(|shown| enough(shown))).await
    }

    /// Waits until `look` finds something. It is asked again at each request and each event.
    pub async fn wait_until<T>(
        &self,
        patience: Duration,
        what: impl Fn() -> String,
        look: impl Fn() -> Option<T>,
    ) -> T {
        let mut changed = self.shared.changed.subscribe();
        let found = tokio::time::timeout(patience, async {
            loop {
                if let Some(found) = look() {
                    return found;
                }
                changed.changed().await.expect("the sender lives as long as this server");
            }
        });
        found.await.unwrap_or_else(|_| panic!("waited {patience:?}, and {}", what()))
    }

    /// The bot's reactions in a chat: message and emoji.
    pub fn reactions(&self, chat: i64) -> Vec<(i64, String)> {
        self.shared.world().chat(chat).reactions.clone()
    }

    /// What the bot showed to be doing in a chat: the action and the topic.
    pub fn actions(&self, chat: i64) -> Vec<(String, Option<i64>)> {
        self.shared.world().chat(chat).actions.clone()
    }

    /// The commands in the bot's menu: name and description.
    pub fn commands(&self) -> Vec<(String, String)> {
        self.shared.world().commands.clone()
    }

    /// Every request so far, oldest first; empty when the log is off.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.world().requests.clone().unwrap_or_default()
    }

    /// The requests of one method, in any spelling.
    pub fn requests_of(&self, method: &str) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.method.eq_ignore_ascii_case(method));
        requests
    }

    /// Keeps a log of requests, or forgets it: a long benchmark wants none.
    pub fn log_requests(&self, on: bool) {
        self.shared.world().requests = on.then(Vec::new);
    }

    /// Keeps the rates that Telegram documents, or none.
    pub fn keep_rates(&self, on: bool) {
        self.shared.world().rates = on.then(rates::Rates::default);
    }

    /// Whether the bot gets only what speaks to it in groups. On from the start, as Telegram has it.
    pub fn privacy(&self, on: bool) {
        self.shared.world().privacy = on;
    }

    /// Sets a webhook, as another program might have: polling is refused until it is deleted.
    pub fn set_webhook(&self) {
        self.shared.world().webhook = true;
    }

    /// The owner of the bot revokes the token.
    pub fn revoke_token(&self) {
        self.shared.world().revoked = true;
        self.shared.rings();
    }

    /// Goes wrong in this way when its time comes.
    pub fn fail(&self, failure: Failure) {
        self.shared.world().faults.add(failure);
    }

    /// Cuts the poll that waits now, or else the next one, without an answer.
    pub fn cut_poll(&self) {
        self.shared.world().cut_poll = true;
        self.shared.rings();
    }

    /// How many updates the bot has not acknowledged.
    pub fn updates_waiting(&self) -> usize {
        self.shared.world().updates.len()
    }

    /// Keeps a file that `getFile` knows, and gives its id.
    pub fn file(&self, name: &str, bytes: impl Into<Vec<u8>>) -> String {
        store_file(&mut self.shared.world(), name, bytes.into())
    }
}
