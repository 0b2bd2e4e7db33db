//! `config.yaml`: how the hive behaves.

use std::time::Duration;

use llm::MicroUsd;

use super::environment::Environment;
use super::fault::{Log, quoted_list};
use super::form::{Form, duration, flag, media_type, one_of, size, usd, whole};
use super::reader::Reader;
use super::team::{self, Team};

/// What `config.yaml` means.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The log.
    pub logs: Logs,
    /// Lines of talk.
    pub topics: Topics,
    /// What one session may do.
    pub session: Session,
    /// What turns may ask of other sessions.
    pub delegation: Delegation,
    /// What may be spent.
    pub budgets: Budgets,
    /// What goes out.
    pub replies: Replies,
    /// What is done with sends of which nobody knows whether they arrived.
    pub outbox: Outbox,
    /// Files that people send.
    pub attachments: Attachments,
    /// How long rows are kept.
    pub retention: Retention,
    /// What the main team's agent may do.
    pub team: Team,
    /// How long turns may still run after the hive was told to stop. Default 20 s.
    pub stop_grace: Duration,
}

/// The log, which goes to stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    /// A level (`info`) or directives (`info,openhive=debug`), as `tracing_subscriber::EnvFilter` reads them.
    pub filter: String,
    /// How it looks.
    pub format: LogFormat,
}

/// How the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Lines of talk inside a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    /// Most active topics of a conversation; past it the least recently used goes idle. Default 5.
    pub active_max: u64,
    /// A topic is idle this long after its last message. Default 2 hours.
    pub idle_after: Duration,
    /// A topic is closed this long after its last message; longer than `idle_after`. Default 14 days.
    pub closed_after: Duration,
    /// What becomes of a message that arrives while its topic's turn runs.
    pub during_turn: DuringTurn,
    /// Whether one message may belong to several topics. Default no.
    pub several_topics: bool,
}

/// What becomes of a message that arrives while its topic's turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuringTurn {
    /// The model sees it at its next step.
    Inject,
    /// It waits for a turn of its own.
    Queue,
    /// The turn ends, and the next one begins with it.
    Interrupt,
}

/// What one session may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Most steps of a turn: a step is one answer of the model with the tool calls it asks for. Default 50.
    pub max_steps: u64,
    /// The longest that a turn may take. Default 2 hours.
    pub turn_timeout: Duration,
    /// The longest that one answer of a model may take. Default 10 minutes.
    pub answer_timeout: Duration,
    /// The longest that a model may be silent in the middle of an answer. Default 60 s.
    pub answer_idle_timeout: Duration,
    /// Most messages of a topic that the model is shown; older ones come as a summary. Default 200.
    pub history_messages_max: u64,
    /// Tokens of a model's window kept free for its answer and for results of tools; see
    /// [`Session::reserve_tokens`]. Default 20 000.
    pub context_reserve_tokens: u64,
}

impl Session {
    /// What is kept free of a window of this many tokens: never more than a quarter of it, so that a small model
    /// works without a setting of its own.
    pub fn reserve_tokens(&self, context_window_tokens: u64) -> u64 {
        self.context_reserve_tokens.min(context_window_tokens / 4)
    }
}

/// How much one turn may ask of teams, subagents and scouts that answer at once. The same for every team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// How many sessions may be below people's turn. Default 4.
    pub depth_max: u32,
    /// How often one turn may ask the same one, whatever comes of it. Default 4.
    pub calls_per_child_max: u32,
    /// How many questions of one turn somebody may have at once. Default 3.
    pub at_once_per_child_max: u32,
    /// How many calls that ask run side by side. Default 4.
    pub at_once_max: u32,
    /// How many models answer at once in sessions that were asked, in the whole hive. Default 64.
    pub models_max: u32,
}

impl Default for Delegation {
    fn default() -> Self {
        Delegation { depth_max: 4, calls_per_child_max: 4, at_once_per_child_max: 3, at_once_max: 4, models_max: 64 }
    }
}

/// What may be spent in a day (UTC). `None`: there is no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// By one topic, in millionths of a US dollar.
    pub topic_daily_usd: Option<MicroUsd>,
    /// By the hive, in millionths of a US dollar.
    pub hive_daily_usd: Option<MicroUsd>,
    /// By one topic, in tokens in and out.
    pub topic_daily_tokens: Option<u64>,
    /// By the hive, in tokens in and out.
    pub hive_daily_tokens: Option<u64>,
}

impl Budgets {
    /// Whether some bound is in dollars, which needs the prices of every model.
    pub fn needs_prices(&self) -> bool {
        self.topic_daily_usd.is_some() || self.hive_daily_usd.is_some()
    }
}

/// How answers look in a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replies {
    /// A turn that took longer ends with a new message instead of an edit of the draft, because only a new one
    /// notifies. Default 60 s.
    pub new_message_after: Duration,
    /// An answer with more characters is sent as a file. Default 12 000.
    pub file_over_chars: u64,
}

/// What is done with sends of which nobody knows whether they arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbox {
    /// On a platform where it cannot be looked up.
    pub ambiguous: Ambiguous,
    /// How long after the first attempt a send that keeps failing is given up. Default 24 hours.
    pub give_up_after: Duration,
}

/// What is done with a send of which nobody knows whether it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ambiguous {
    /// It is sent again and says that it may be there twice.
    ResendMarked,
    /// It is not sent again; an admin is told.
    Report,
}

/// Files that people send. What does not fit is not downloaded, and the sender is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachments {
    /// Most bytes of one file. Default 10 MB.
    pub size_max_bytes: u64,
    /// Most files of one message. Default 10.
    pub count_max: u64,
    /// Media types that are taken, in lower case: `image/png`, or a family, `image/*`.
    pub types: Vec<String>,
}

/// How long rows are kept after they ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Messages in and out. Default 90 days.
    pub messages: Duration,
    /// Steps and tool calls of turns. Default 30 days.
    pub journal: Duration,
    /// Decisions about who may speak. Default 365 days.
    pub trust_audit: Duration,
    /// Tokens and cost. Default 400 days.
    pub usage: Duration,
}

/// Reads the file; the variables of the log win over it.
pub(super) fn read(mut file: Reader<'_>, environment: &Environment, log: &Log) -> Settings {
    let settings = Settings {
        logs: logs(&mut file, environment, log),
        topics: topics(file.section("topics")),
        session: session(file.section("session")),
        delegation: delegation(file.section("delegation")),
        budgets: budgets(file.section("budgets")),
        replies: replies(file.section("replies")),
        outbox: outbox(file.section("outbox")),
        attachments: attachments(file.section("attachments")),
        retention: retention(file.section("retention")),
        team: team::read(file.section("team")),
        stop_grace: file.get("stop_grace", "20s", &duration("0s", "1h")),
    };
    file.finish();
    settings
}

fn logs(file: &mut Reader<'_>, environment: &Environment, log: &Log) -> Logs {
    const LEVELS: &[(&str, &str)] =
        &[("trace", "trace"), ("debug", "debug"), ("info", "info"), ("warn", "warn"), ("error", "error")];
    const FORMATS: &[(&str, LogFormat)] = &[("human", LogFormat::Human), ("json", LogFormat::Json)];
    let level = file.get("log_level", "info", &one_of(LEVELS));
    let format = file.get("log_format", "human", &one_of(FORMATS));
    Logs {
        filter: environment.read("HIVE_LOG", &log_filter(), log).unwrap_or_else(|| level.to_owned()),
        format: environment.read("HIVE_LOG_FORMAT", &one_of(FORMATS), log).unwrap_or(format),
    }
}

/// A level or directives. A single word that is no level is refused: a filter takes it for the name of a module and
/// then shows nothing of all others, which is what a misspelled level would get.
fn log_filter() -> Form<String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let expected = format!("{} or directives such as `info,openhive=debug`", quoted_list(&LEVELS, "or"));
    let form = Form::new(expected, |text: &str| {
        let level = |word: &str| LEVELS.contains(&word.trim().to_ascii_lowercase().as_str());
        let directives = text.split(',').all(|directive| directive.contains(['=', '[']) || level(directive));
        // The filter's own reader panics on a directive that begins with a letter of several bytes.
        let readable = text.is_ascii() && tracing_subscriber::EnvFilter::builder().parse(text).is_ok();
        (directives && readable).then(|| text.to_owned())
    });
    form.suggesting(&LEVELS)
}

fn topics(mut section: Reader<'_>) -> Topics {
    const DURING_TURN: &[(&str, DuringTurn)] =
        &[("inject", DuringTurn::Inject), ("queue", DuringTurn::Queue), ("interrupt", DuringTurn::Interrupt)];
    let topics = Topics {
        active_max: section.get("active_max", "5", &whole(1..=50)),
        idle_after: section.get("idle_after", "2h", &duration("1m", "365d")),
        closed_after: section.get("closed_after", "14d", &duration("1m", "3650d")),
        during_turn: section.get("during_turn", "inject", &one_of(DURING_TURN)),
        several_topics: section.get("several_topics", "false", &flag()),
    };
    if topics.closed_after <= topics.idle_after {
        section.fault("closed_after", "expected a longer time than `topics.idle_after`: a topic goes idle first");
    }
    section.finish();
    topics
}

fn session(mut section: Reader<'_>) -> Session {
    let session = Session {
        max_steps: section.get("max_steps", "50", &whole(1..=1000)),
        turn_timeout: section.get("turn_timeout", "2h", &duration("1s", "7d")),
        answer_timeout: section.get("answer_timeout", "10m", &duration("1s", "1d")),
        answer_idle_timeout: section.get("answer_idle_timeout", "60s", &duration("1s", "1h")),
        history_messages_max: section.get("history_messages_max", "200", &whole(2..=10_000)),
        context_reserve_tokens: section.get("context_reserve_tokens", "20000", &whole(1_000..=1_000_000)),
    };
    section.finish();
    session
}

fn delegation(mut section: Reader<'_>) -> Delegation {
    let mut count = |key, default, most| {
        let count: u64 = section.get(key, default, &whole(1..=most));
        u32::try_from(count).expect("its bounds fit into 32 bits")
    };
    let delegation = Delegation {
        depth_max: count("depth_max", "4", 8),
        calls_per_child_max: count("calls_per_child_max", "4", 50),
        at_once_per_child_max: count("at_once_per_child_max", "3", 50),
        at_once_max: count("at_once_max", "4", 50),
        models_max: count("models_max", "64", 10_000),
    };
    section.finish();
    delegation
}

fn budgets(mut section: Reader<'_>) -> Budgets {
    let tokens = whole(1..=1_000_000_000_000);
    let budgets = Budgets {
        topic_daily_usd: section.find("per_topic_daily_usd", &usd()),
        hive_daily_usd: section.find("hive_daily_usd", &usd()),
        topic_daily_tokens: section.find("per_topic_daily_tokens", &tokens),
        hive_daily_tokens: section.find("hive_daily_tokens", &tokens),
    };
    section.finish();
    budgets
}

fn replies(mut section: Reader<'_>) -> Replies {
    let replies = Replies {
        new_message_after: section.get("new_message_after", "60s", &duration("0s", "1d")),
        file_over_chars: section.get("file_over_chars", "12000", &whole(1_000..=1_000_000)),
    };
    section.finish();
    replies
}

fn outbox(mut section: Reader<'_>) -> Outbox {
    const AMBIGUOUS: &[(&str, Ambiguous)] =
        &[("resend_marked", Ambiguous::ResendMarked), ("report", Ambiguous::Report)];
    let outbox = Outbox {
        ambiguous: section.get("ambiguous", "resend_marked", &one_of(AMBIGUOUS)),
        give_up_after: section.get("give_up_after", "24h", &duration("1m", "30d")),
    };
    section.finish();
    outbox
}

fn attachments(mut section: Reader<'_>) -> Attachments {
    const TYPES: [&str; 4] = ["image/*", "text/*", "application/json", "application/pdf"];
    let attachments = Attachments {
        size_max_bytes: section.get("size_max", "10MB", &size("0B", "1GB")),
        count_max: section.get("count_max", "10", &whole(0..=100)),
        types: section.list("types", &TYPES, &media_type()),
    };
    section.finish();
    attachments
}

fn retention(mut section: Reader<'_>) -> Retention {
    let days = || duration("1d", "3650d");
    let retention = Retention {
        messages: section.get("messages", "90d", &days()),
        journal: section.get("journal", "30d", &days()),
        trust_audit: section.get("trust_audit", "365d", &days()),
        usage: section.get("usage", "400d", &days()),
    };
    section.finish();
    retention
}
