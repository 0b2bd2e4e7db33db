//! A storm: people talk in both platforms while the hive is killed again and again. Nothing may be lost, and nothing
//! said twice without saying so.
//!
//! Every message carries a mark, `<n>`; the model answers with the marks of what it was asked, so that whoever reads
//! the answers knows what each of them answers. Some answers are slow, so that kills meet turns in their middle.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::discord::Discord;
use crate::model::{Asked, ModelServer, Reply};
use crate::product::{Product, Setup};
use crate::telegram::Telegram;

/// What the hive writes before something that may be there twice.
const MARK_OF_REPEAT: &str = "↻";
/// The wait of a slow answer, all in all: long enough for a draft to be shown in the middle of it.
const SLOW: Duration = Duration::from_millis(2_400);
/// An answer is slow so often; then it is not, or a turn that is killed each time would never end.
const SLOW_TIMES: u32 = 2;
/// How many pieces a slow answer has.
const SLOW_PIECES: usize = 8;
/// How long the first message of each conversation may take to be answered.
const FIRST_ANSWERS: Duration = Duration::from_secs(60);

/// What happens in a storm.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program `hive`.
    pub program: PathBuf,
    /// An empty folder for it.
    pub folder: PathBuf,
    /// How many messages, the first of each conversation among them.
    pub messages: usize,
    /// How many conversations on each platform: half of Discord's are channels of a guild, all others are direct.
    pub conversations: usize,
    /// How often the process is killed.
    pub kills: usize,
    /// How long it runs before it is killed: between these, evenly.
    pub between_kills: (Duration, Duration),
    /// One answer in so many is slow; 0: none.
    pub one_slow_in: usize,
    /// What chance depends on: the same seed says and kills the same, as far as real time allows.
    pub seed: u64,
    /// How long after the last kill everything may take to be answered.
    pub patience: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How many messages people sent.
    pub messages: usize,
    /// How often the process was killed.
    pub kills: usize,
    /// Marks of messages that nothing answers.
    pub lost: Vec<usize>,
    /// Marks that Discord shows an answer to more than once.
    pub twice_on_discord: Vec<usize>,
    /// Marks that Telegram shows an answer to more than once without saying so.
    pub twice_on_telegram: Vec<usize>,
    /// Answers on Telegram that say they may be there twice.
    pub marked_repeats: usize,
    /// Of those, how many really are.
    pub true_repeats: usize,
    /// Answers on Discord that say they may be there twice. Discord can tell, so there is no cause for any.
    pub marked_on_discord: usize,
    /// Turns that were given up.
    pub given_up: usize,
    /// From the first message to the last answer.
    pub took: Duration,
}

impl Report {
    /// Nothing was lost, and nothing doubled without a word.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty()
            && self.twice_on_discord.is_empty()
            && self.twice_on_telegram.is_empty()
            && self.marked_on_discord == 0
            && self.given_up == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} messages, {} kills, {:.1} s: lost {:?}, doubled on Discord {:?}, doubled on Telegram without a word \
             {:?}, marked as a possible repeat on Telegram {} ({} of them repeats), on Discord {}, given up {}",
            self.messages,
            self.kills,
            self.took.as_secs_f64(),
            self.lost,
            self.twice_on_discord,
            self.twice_on_telegram,
            self.marked_repeats,
            self.true_repeats,
            self.marked_on_discord,
            self.given_up,
        )
    }
}

/// Where somebody talks.
#[derive(Clone, Copy, Debug)]
enum Where {
    /// Channel and author.
    Discord(u64, u64),
    /// A private chat, which has its author's id.
    Telegram(i64),
}

/// What people see as an answer.
struct Answer {
    text: String,
    on_discord: bool,
}

/// Has a storm, and says what came of it.
///
/// # Panics
/// Where the program cannot be started, or does not answer the first messages.
pub async fn run(plan: &Plan) -> Report {
    let (discord, telegram, model) = (Discord::start().await, Telegram::start().await, ModelServer::start().await);
    discord.forget_requests();
    telegram.log_requests(false);
    model.record(false);
    answer_marks(&model, plan.one_slow_in);
    let setup = Setup::new(&plan.program, &plan.folder)
        .on_discord(&discord)
        .on_telegram(&telegram)
        .with_anthropic(&model, "a-key")
        .file("channels.yaml", "trust:\n  default_policy: allow\n");
    let mut storm = Storm { discord, telegram, places: Vec::new(), said: 0, chance: Chance(plan.seed) };
    storm.open_places(plan.conversations);
    let began = Instant::now();
    let product = setup.start();
    product.listens_to(&["discord", "telegram"], FIRST_ANSWERS).await;
    storm.first_words(plan.messages).await;
    let product = storm.rage(&setup, product, plan).await;
    // What is missing then is in the report.
    let _all = storm.all_answered(plan.patience).await;
    let took = began.elapsed();
    settle_rows(&setup, plan.patience).await;
    product.stop().await;
    Report { took, ..storm.report(plan) }
}

struct Storm {
    discord: Discord,
    telegram: Telegram,
    places: Vec<Where>,
    said: usize,
    chance: Chance,
}

impl Storm {
    fn open_places(&mut self, conversations: usize) {
        for number in 0..conversations {
            let name = format!("person-{number}");
            let person = self.discord.user(&name);
            let channel = match number % 2 {
                0 => self.discord.dm(person),
                _ => self.discord.channel(&format!("room-{number}")),
            };
            self.places.push(Where::Discord(channel, person));
            self.places.push(Where::Telegram(self.telegram.private(self.telegram.user(&name))));
        }
    }

    /// Discord shows a bot no list of its direct conversations, so each begins while the hive runs.
    async fn first_words(&mut self, most: usize) {
        for place in self.places.clone().into_iter().take(most) {
            self.say(place);
        }
        assert!(self.all_answered(FIRST_ANSWERS).await, "not all of the first messages were answered");
    }

    /// The next message, somewhere.
    fn say_somewhere(&mut self) {
        let place = self.places[self.chance.below(self.places.len())];
        self.say(place);
    }

    fn say(&mut self, place: Where) {
        let mark = self.said;
        self.said += 1;
        match place {
            Where::Discord(channel, person) => {
                let text = format!("{} message <{mark}>", self.discord.mention());
                self.discord.say(channel, person, &text);
            }
            Where::Telegram(chat) => {
                self.telegram.say(chat, chat, format!("message <{mark}>"));
            }
        }
    }

    /// Says the rest, a little at a time, and kills the process meanwhile.
    async fn rage(&mut self, setup: &Setup, mut product: Product, plan: &Plan) -> Product {
        let each = plan.messages.saturating_sub(self.said).div_ceil(plan.kills.max(1));
        for kill in 0..plan.kills {
            let (least, most) = plan.between_kills;
            let until = Instant::now() + least + most.saturating_sub(least).mul_f64(self.chance.share());
            let last = kill + 1 == plan.kills;
            let due = if last { plan.messages } else { (self.said + each).min(plan.messages) };
            while self.said < due {
                self.say_somewhere();
                let left = until.saturating_duration_since(Instant::now());
                let gap = left.div_f64((due - self.said + 1) as f64);
                tokio::time::sleep(gap.mul_f64(2.0 * self.chance.share())).await;
            }
            tokio::time::sleep(until.saturating_duration_since(Instant::now())).await;
            product.kill().await;
            product = setup.start();
        }
        product
    }

    /// Waits until everything is answered, or patience ends.
    async fn all_answered(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if self.lost().is_empty() {
                return true;
            }
            // Two servers change independently; whichever does, the other is looked at soon after.
            let _changed =
                self.discord.until(|| self.lost().is_empty().then_some(()), Duration::from_millis(200)).await;
        }
        self.lost().is_empty()
    }

    fn answers(&self) -> Vec<Answer> {
        let mut answers = Vec::new();
        for place in &self.places {
            match *place {
                Where::Discord(channel, _) => {
                    let shown = self.discord.answers(channel).into_iter();
                    answers.extend(shown.map(|shown| Answer { text: shown.text, on_discord: true }));
                }
                Where::Telegram(chat) => {
                    let shown = self.telegram.messages(chat).into_iter();
                    answers.extend(shown.map(|shown| Answer { text: shown.text, on_discord: false }));
                }
            }
        }
        answers
    }

    fn lost(&self) -> Vec<usize> {
        let mut found = vec![false; self.said];
        for answer in self.answers() {
            for mark in answered(&answer.text) {
                if let Some(found) = found.get_mut(mark) {
                    *found = true;
                }
            }
        }
        (0..self.said).filter(|mark| !found[*mark]).collect()
    }

    fn report(&self, plan: &Plan) -> Report {
        let mut report = Report { messages: self.said, kills: plan.kills, lost: self.lost(), ..Report::default() };
        // For each mark: on Discord, on Telegram without a word, on Telegram with one.
        let mut copies: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
        let answers = self.answers();
        for answer in &answers {
            let repeat = answer.text.starts_with(MARK_OF_REPEAT);
            report.given_up += usize::from(answer.text.contains("was interrupted each time"));
            report.marked_repeats += usize::from(repeat && !answer.on_discord);
            report.marked_on_discord += usize::from(repeat && answer.on_discord);
            for mark in answered(&answer.text) {
                copies.entry(mark).or_default()[match (answer.on_discord, repeat) {
                    (true, _) => 0,
                    (false, false) => 1,
                    (false, true) => 2,
                }] += 1;
            }
        }
        let again = |mark: &usize| copies.get(mark).is_some_and(|[_, plain, marked]| plain + marked > 1);
        let marked = answers.iter().filter(|it| !it.on_discord && it.text.starts_with(MARK_OF_REPEAT));
        report.true_repeats = marked.filter(|it| answered(&it.text).iter().any(again)).count();
        for (&mark, &[discord, plain, _]) in &copies {
            if discord > 1 {
                report.twice_on_discord.push(mark);
            }
            if plain > 1 {
                report.twice_on_telegram.push(mark);
            }
        }
        report
    }
}

/// Waits until the hive has nothing more to send: what is sent late would be a repeat, and has to be seen.
async fn settle_rows(setup: &Setup, patience: Duration) {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        let status = setup.run(&["status", "--json"], "").await;
        let status: Value = serde_json::from_str(&status.output).unwrap_or_default();
        let open = |states: &[&str], rows: &Value| states.iter().any(|state| rows[*state].as_i64().unwrap_or(0) > 0);
        let idle = status["tasks"]["queued"] == 0 && status["tasks"]["running"] == 0;
        if idle && !open(&["draft", "due", "sending"], &status["outbox"]) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Has the model answer with the marks of what it was asked.
fn answer_marks(model: &ModelServer, one_slow_in: usize) {
    let slowed = std::sync::Mutex::new(BTreeMap::<usize, u32>::new());
    model.rule_by(move |asked| {
        if asked.tools.is_empty() {
            // Asked which topic a message belongs to: unsure, so it is the latest.
            return Some(Reply::text(r#"{"unsure": true}"#));
        }
        let marks = asked_marks(asked);
        let text = marks
            .iter()
            .map(|mark| format!("About {mark} I say a few words, and that is it: [{mark}]"))
            .collect::<Vec<_>>();
        let reply = Reply::text(text.join("\n\n"));
        let slow = marks.iter().find(|mark| one_slow_in > 0 && *mark % one_slow_in == one_slow_in - 1);
        let Some(slow) = slow else { return Some(reply) };
        let mut slowed = slowed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let times = slowed.entry(*slow).or_default();
        *times += 1;
        Some(match *times <= SLOW_TIMES {
            true => reply.in_chunks(SLOW_PIECES).paced(SLOW / SLOW_PIECES as u32),
            false => reply,
        })
    });
}

/// The marks of what people said since the model last spoke.
fn asked_marks(asked: &Asked) -> Vec<usize> {
    let messages = asked.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let start = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
    let said = messages[start..].iter().map(|message| message["content"].to_string());
    said.flat_map(|said| between(&said, '<', '>')).collect()
}

/// The marks that an answer ends with: a draft, which has not come so far, answers nothing.
fn answered(text: &str) -> Vec<usize> {
    between(text, '[', ']')
}

/// The numbers that stand between two signs.
fn between(text: &str, open: char, close: char) -> Vec<usize> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)?.0.parse().ok()).collect()
}

/// Chance that a seed decides (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, but not including, `limit`.
    fn below(&mut self, limit: usize) -> usize {
        (self.share() * limit as f64) as usize
    }

    /// From 0 up to, but not including, 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_where_they_stand_whole() {
        assert_eq!(answered("About 3 I say: [3]\n\nAbout 14 …: [14]"), [3, 14]);
        assert_eq!(answered("About 3 I say a few words, and that is it: [3"), [] as [usize; 0], "cut at its very end");
        assert_eq!(between("<@1234> message <7>", '<', '>'), [7]);
    }

    #[test]
    fn chance_is_the_seed_s() {
        let drawn = |seed| {
            let mut chance = Chance(seed);
            (0..100).map(|_| chance.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(drawn(7).iter().all(|n| *n < 10) && (0..10).all(|n| drawn(7).contains(&n)));
    }
}
