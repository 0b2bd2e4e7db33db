//! The scenario language: plain text, one line one thing; the left column says who, the right one what.
//!
//! | line | meaning |
//! |---|---|
//! | blank, `# …` | between acts: everything that is under way comes to its end first |
//! | `admins discord/alice` · `trust …` · `config` + block · … | set-up: see [`Setup`] and [`Deed`] |
//! | `discord/general alice mention> text` | somebody writes; lines below that begin with `  \| ` go on |
//! | `discord/general < text` | what the hive sends there (output) |
//! | `main: "text"` · `main: tool {json}` · `& tool {json}` | the agent's next answer; `&` adds to it. A team is called by its name, a subagent `team/subagent` |
//! | `main sees` · `main got` + block | the request that the answer above was given to; what its tool calls came to (output) |
//! | `main sees with "text"` + block | of that request, the lines that have this in them, also of its fixed part (output) |
//! | `facts SELECT …` + block | rows (output) |
//! | `log warn text` | a warning or error (output) |
//! | `work ops> text` | a task for a team that no conversation has caused, as a trigger gives it |
//! | `wait 10m` | time passes; outputs below show what had happened by then |
//! | `fail …` · `slow …` · `crash` · `crash after "…"` · `stop` · `restart` | faults |
//!
//! A file is its own snapshot: playing it makes the text that it should have, and any difference is a failure.

pub mod laws;
mod read;
mod turns;

use std::path::PathBuf;
use std::time::Duration;

use channels::memory::Carried;
use channels::{Kind, SendError};
use llm::script::Turn;

pub use read::read;

/// A scenario.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// Where it was read from, for messages.
    pub path: PathBuf,
    /// What holds from the start.
    pub setup: Setup,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Scenario {
    /// Whether it must end the same after a crash at any commit: it says so in a comment.
    pub fn is_crash_safe(&self) -> bool {
        self.says("# crash-safe")
    }

    /// Whether all laws must hold of it after a crash at any commit, however it ends: it says so in a comment.
    pub fn is_crash_lawful(&self) -> bool {
        self.says("# crash-lawful")
    }

    fn says(&self, comment: &str) -> bool {
        self.lines.iter().any(|line| line.head.trim() == comment)
    }
}

/// A line with the indented lines below it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// As it was written.
    pub head: String,
    /// The lines below it, without their two blanks.
    pub block: Vec<String>,
    /// What it means.
    pub means: Means,
}

/// What a line means.
#[derive(Clone, Debug)]
pub enum Means {
    /// An act ends.
    Break,
    /// Set-up; it is in [`Scenario::setup`] already.
    Setup,
    /// Somebody or something does something.
    Does(Box<Deed>),
    /// An agent's next answers.
    Answers {
        /// Who.
        agent: String,
        /// The answer.
        turn: Turn,
        /// How often.
        times: usize,
        /// Whether somebody hears it to its end; not so with `unheard`, whose asker goes away in the middle.
        heard: bool,
    },
    /// A line `& …`: it is part of the answer above.
    Continues,
    /// An output that is there whether it is asked for or not: what was sent, what was logged.
    Seen,
    /// An output that is asked for.
    Asks(Question),
}

/// What holds from the start.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// `admins discord/alice …`: `HIVE_ADMINS`.
    pub admins: Vec<String>,
    /// `classifier`: an agent of that name sorts messages into topics; without it, their words do.
    pub classifier: bool,
    /// `model window=N output=N fallback=AGENT`.
    pub model: ModelSetup,
    /// `config`, `channels`, `rules NAME`, `workspace PATH`, `workspace of TEAM PATH`, each with a block: files, by their
    /// path in the data folder or in that of the teams.
    pub files: Vec<(FileOf, String, String)>,
    /// `secret VALUE`: a value that the hive knows to be one.
    pub secrets: Vec<String>,
    /// `team NAME`, `team PARENT/NAME`: a team that is ready, with its path from the root.
    pub teams: Vec<String>,
    /// `improvise SEED`: agents without a part answer by chance.
    pub improvise: Option<u64>,
}

/// The main agent's model.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    /// Its context, in tokens.
    pub window_tokens: u64,
    /// Its longest answer, in tokens.
    pub output_tokens_max: u32,
    /// The agent that is asked where it cannot answer.
    pub fallback: Option<String>,
    /// US dollars per million tokens, in and out.
    pub prices: Option<(u64, u64)>,
}

impl Default for ModelSetup {
    fn default() -> Self {
        ModelSetup { window_tokens: 200_000, output_tokens_max: 1_000, fallback: None, prices: None }
    }
}

/// Where a file of the set-up lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOf {
    /// In the data directory.
    Data,
    /// In a team's workspace: the path begins with the team's name.
    Workspace,
}

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A person writes.
    Says(Says),
    /// `discord/@root clicks Trust`: on the last message there that ever had such a button, or `on b3`.
    Clicks {
        /// Where.
        place: String,
        /// Who.
        sender: String,
        /// The button's label.
        label: String,
        /// The message, where it is said.
        on: Option<String>,
    },
    /// `trust discord/bob …`, `deny …`, `revoke …`: as the command line would, beside the running hive.
    Judges {
        /// What is done.
        verb: Verb,
        /// Whose trust.
        sender: String,
        /// `in discord/general`.
        place: Option<String>,
        /// `for 7d`.
        lasts: Option<Duration>,
    },
    /// `work ops> text`: nobody's task for a team.
    Gives {
        /// The team.
        team: String,
        /// What it is to do.
        text: String,
    },
    /// `pairing CODE for 15m`: as `hive pair` would.
    Pairs {
        /// The code.
        code: String,
        /// How long it works.
        lasts: Duration,
    },
    /// `fail discord/general send 429 after=3s x2`.
    Fails {
        /// A kind, or one place.
        place: String,
        /// With what.
        fault: Fault,
        /// How often.
        times: usize,
    },
    /// `remove discord/general`: the place is deleted.
    Removes(String),
    /// `wait 10m`.
    Waits(Duration),
    /// `crash`: the process is gone, now.
    Crashes,
    /// `crash after "finish task"`: at the next commit of that name.
    CrashesAfter(String),
    /// `stop`: the hive is told to stop, and does.
    Stops,
    /// `restart after=3h`: a new process on the same rows.
    Restarts {
        /// How long there was none; negative where the clock was set back meanwhile.
        later_ms: i64,
    },
}

/// What is said about somebody's trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Trusted.
    Trust,
    /// Trusted with the admin role.
    Admin,
    /// Denied.
    Deny,
    /// Nothing any more.
    Revoke,
}

/// A message, edit or command of a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Says {
    /// Where.
    pub place: String,
    /// Who.
    pub sender: String,
    /// What.
    pub text: String,
    /// `id=m1`: the platform's id; the same again is a redelivery.
    pub id: Option<String>,
    /// `edit=m1`: it changes that message.
    pub edit: Option<String>,
    /// `reply=m1`, `reply=b2`, `reply=last`: the message it answers.
    pub reply: Option<String>,
    /// `mention`: it mentions the bot.
    pub mention: bool,
    /// `command`: in the platform's own sense, not as text.
    pub command: bool,
    /// `times=60`: so often, `{n}` in the text being the how manieth time.
    pub times: usize,
    /// `file=photo.png:image/png:2000`, or `…:2000:gone` where it cannot be fetched, `…:2000:slow` where that takes 10 s.
    pub files: Vec<FileSaid>,
}

/// A file that hangs on a message.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSaid {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its length as the platform says.
    pub size_bytes: u64,
    /// Whether the platform still has it.
    pub there: bool,
    /// Whether it takes long to fetch.
    pub slow: bool,
}

/// What a delivery comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It fails with this, not carried out.
    Error(SendError),
    /// `moved=discord/other`.
    Moved(String),
    /// Its answer is lost.
    Ambiguous(Carried),
    /// It never ends.
    Hangs(Carried),
}

/// An output that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// `main sees`: the request that the agent's answer above this line was given to, or the `number`th.
    Sees {
        /// Who.
        agent: String,
        /// Which, from 1.
        number: Option<usize>,
        /// `with "text"`: only the lines that have this in them.
        with: Option<String>,
    },
    /// `main got`: the results of the tool calls of the agent's answer above this line.
    Got {
        /// Who.
        agent: String,
    },
    /// `facts SELECT …`.
    Facts(String),
    /// `shown discord/general`: the bot's messages as people see them now.
    Shown(String),
}

/// The kinds that a fault may name without a place.
pub fn kind_of(place: &str) -> Option<Kind> {
    place.parse().ok()
}
