//! What was said so far, and what it tells about the next line.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::Line;
use super::form::Form;
use super::people::{Address, People, Person};
use super::signs::{Column, Evidence, Opening, Relation, Sign};
use super::words::{Vocabulary, Word, shared};

/// So many lines back an answer is looked for. In real channels one answer in a hundred is further away.
pub(super) const WINDOW: usize = 100;
/// An author who wrote within so many lines is in the middle of something.
pub(super) const LATELY: usize = 12;
/// Two people count as talking with each other for so many lines.
const TALK_LINES: usize = 60;
/// A topic is known by the words of so many of its last lines.
const TOPIC_LINES: usize = 20;
/// The crowd is counted over so many lines, and `CROWD_USUAL` people in them are nothing special.
const CROWD_LINES: usize = 15;
const CROWD_USUAL: f64 = 5.0;

/// One line as it was understood.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) number: usize,
    pub(super) topic: usize,
    at_ms: Option<i64>,
    author: Person,
    address: Address,
    words: Vec<Word>,
    words_length: f64,
    form: Form,
    first_ever: bool,
    answered_by: Vec<Person>,
}

#[derive(Clone, Debug, Default)]
struct Topic {
    size: usize,
    people: Vec<Person>,
    words: VecDeque<Vec<Word>>,
}

/// Everything that was said lately in one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    people: People,
    vocabulary: Vocabulary,
    window: VecDeque<Said>,
    topics: BTreeMap<usize, Topic>,
    partners: HashMap<Person, (Person, usize)>,
    lines: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Fresh,
    Active,
    Back,
}

/// What is the same for every choice that the new line has.
struct Outlook<'a> {
    mine_last: Option<&'a Said>,
    presence: Presence,
    partner: Option<Person>,
    called_last: Option<usize>,
    is_bot: bool,
    crowd: f64,
    worth: f64,
    /// Of each topic: how much of the line's worth its words have.
    topic_words: BTreeMap<usize, f64>,
}

/// The logarithm of `1 + n`: from few to many as from many to very many.
fn log(n: f64) -> f64 {
    n.max(0.0).ln_1p()
}

fn minutes(from: Option<i64>, to: Option<i64>) -> f64 {
    match (from, to) {
        (Some(from), Some(to)) => to.saturating_sub(from).max(0) as f64 / 60_000.0,
        _ => 0.0,
    }
}

impl Room {
    /// Understands a line that `sender` wrote. It is not part of the room before [`Room::settle`].
    pub(super) fn read(&mut self, line: &Line<'_>, sender: &str) -> Said {
        let first_ever = self.people.find(sender).is_none();
        let author = self.people.meet(sender);
        let address = self.people.addressed(line.text, line.mentions, author);
        let text = &line.text[address.text_from..];
        let words = self.vocabulary.read(text);
        Said {
            id: line.id.to_owned(),
            number: self.lines,
            topic: 0,
            at_ms: line.at_ms,
            author,
            address,
            words_length: self.vocabulary.length(&words),
            words,
            form: Form::of(text),
            first_ever,
            answered_by: Vec::new(),
        }
    }

    /// Notes that `old` is called `new` from now on.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        self.people.rename(old, new);
    }

    /// The lines that a new one may answer, newest first.
    pub(super) fn choices(&self) -> impl Iterator<Item = &Said> {
        self.window.iter().rev()
    }

    /// What speaks for each of [`Room::choices`], in their order, and last what speaks for a new topic.
    pub(super) fn evidence(&self, line: &Said) -> Vec<Evidence> {
        let outlook = self.outlook(line);
        let mut relations_met = Vec::new();
        let mut topics_met = Vec::new();
        let mut all = Vec::with_capacity(self.window.len() + 1);
        for earlier in self.choices() {
            let mut evidence = Evidence::default();
            let relation = relation(line, earlier);
            let distance = (line.number - earlier.number) as f64;
            evidence.relation(relation, Column::Holds, 1.0);
            evidence.relation(relation, Column::Distance, log(distance - 1.0));
            if !relations_met.contains(&relation) {
                relations_met.push(relation);
                evidence.relation(relation, Column::Nearest, 1.0);
            }
            match outlook.presence {
                Presence::Fresh => evidence.relation(relation, Column::Fresh, 1.0),
                Presence::Back => evidence.relation(relation, Column::Back, 1.0),
                Presence::Active => {}
            }
            near(&mut evidence, line, earlier, relation, &outlook);
            alike(&mut evidence, &self.vocabulary, line, earlier);
            if earlier.author == line.author {
                going_on(&mut evidence, line, earlier);
            } else {
                self.turns(&mut evidence, line, earlier, &outlook);
                answering(&mut evidence, line, earlier, relation);
                bots(&mut evidence, line, earlier, &outlook);
            }
            self.topic_signs(&mut evidence, line, earlier, &outlook);
            if !topics_met.contains(&earlier.topic) {
                topics_met.push(earlier.topic);
                evidence.sign(Sign::TopicNewest, 1.0);
            }
            all.push(evidence);
        }
        all.push(self.opening(line, &outlook));
        all
    }

    /// Makes `line` a part of the room: in `topic`, as the answer to line number `answers`.
    pub(super) fn settle(&mut self, mut line: Said, answers: Option<usize>, topic: usize) {
        line.topic = topic;
        if let Some(earlier) = self.window.iter_mut().find(|earlier| Some(earlier.number) == answers)
            && earlier.author != line.author
        {
            if !earlier.answered_by.contains(&line.author) {
                earlier.answered_by.push(line.author);
            }
            let other = earlier.author;
            self.talk(line.author, other, line.number);
        }
        if let Some(&called) = line.address.to.first() {
            self.talk(line.author, called, line.number);
        }
        let known = self.topics.entry(topic).or_default();
        known.size += 1;
        if !known.people.contains(&line.author) {
            known.people.push(line.author);
        }
        known.words.push_back(line.words.clone());
        if known.words.len() > TOPIC_LINES {
            known.words.pop_front();
        }
        self.vocabulary.learn(&line.words);
        self.lines += 1;
        self.window.push_back(line);
        if self.window.len() > WINDOW
            && let Some(gone) = self.window.pop_front()
            && !self.window.iter().any(|line| line.topic == gone.topic)
        {
            self.topics.remove(&gone.topic);
        }
    }

    fn talk(&mut self, one: Person, other: Person, number: usize) {
        self.partners.insert(one, (other, number));
        self.partners.insert(other, (one, number));
    }

    fn partner(&self, person: Person, now: usize) -> Option<Person> {
        self.partners.get(&person).filter(|(_, number)| now - number < TALK_LINES).map(|&(partner, _)| partner)
    }

    fn outlook(&self, line: &Said) -> Outlook<'_> {
        let mine_last = self.choices().find(|earlier| earlier.author == line.author);
        let worth: f64 = line.words.iter().map(|&word| self.vocabulary.worth(word)).sum();
        let known = |topic: &Topic| {
            let knows = |word: &Word| topic.words.iter().any(|words| words.binary_search(word).is_ok());
            line.words.iter().filter(|word| knows(word)).map(|&word| self.vocabulary.worth(word)).sum::<f64>()
        };
        Outlook {
            mine_last,
            presence: match mine_last {
                None => Presence::Fresh,
                Some(last) if line.number - last.number <= LATELY => Presence::Active,
                Some(_) => Presence::Back,
            },
            partner: self.partner(line.author, line.number),
            called_last: self.choices().find(|earlier| line.address.to.contains(&earlier.author)).map(|it| it.topic),
            is_bot: self.people.is_bot(line.author),
            crowd: self.crowd(),
            worth,
            // A line of one word says little even if the topic knows it: 12 is about two rare words.
            topic_words: self.topics.iter().map(|(&id, topic)| (id, known(topic) / worth.max(12.0))).collect(),
        }
    }

    /// How many people write at once: 0 at the usual five in fifteen lines, 2 if every line has another author.
    fn crowd(&self) -> f64 {
        let mut authors: Vec<Person> = self.choices().take(CROWD_LINES).map(|line| line.author).collect();
        authors.sort_unstable();
        authors.dedup();
        (authors.len() as f64 - CROWD_USUAL) / CROWD_USUAL
    }

    /// Who talks with whom, two authors.
    fn turns(&self, evidence: &mut Evidence, line: &Said, earlier: &Said, outlook: &Outlook<'_>) {
        let open = line.address.to.is_empty();
        let spoke_since = outlook.mine_last.is_some_and(|last| last.number > earlier.number);
        evidence.sign_if(Sign::SpokeSince, spoke_since);
        evidence.sign_if(Sign::SpokeSinceCalled, spoke_since && earlier.address.to.contains(&line.author));
        evidence.sign_if(Sign::Partner, open && outlook.partner == Some(earlier.author));
        evidence.sign_if(Sign::PartnerBack, self.partner(earlier.author, line.number) == Some(line.author));
        let before = self.window.iter().rev().nth(1).map(|it| it.author);
        let just_before = line.number - earlier.number == 1;
        let nobody_called = open && earlier.address.to.is_empty();
        evidence.sign_if(Sign::PingPong, just_before && nobody_called && before == Some(line.author));
    }

    /// What the topic of the earlier line tells.
    fn topic_signs(&self, evidence: &mut Evidence, line: &Said, earlier: &Said, outlook: &Outlook<'_>) {
        let Some(topic) = self.topics.get(&earlier.topic) else { return };
        let called = &line.address.to;
        let of_my_last = outlook.mine_last.is_some_and(|last| last.topic == earlier.topic);
        let has_me = topic.people.contains(&line.author);
        let (last_sign, me_sign) = if called.is_empty() {
            (Sign::TopicOfMyLast, Sign::TopicHasMe)
        } else {
            (Sign::TopicOfMyLastCalled, Sign::TopicHasMeCalled)
        };
        evidence.sign_if(last_sign, of_my_last);
        evidence.sign_if(me_sign, has_me);
        evidence.sign_if(Sign::TopicStrange, !has_me && outlook.presence != Presence::Fresh);
        evidence.sign_if(Sign::TopicHasCalled, called.iter().any(|person| topic.people.contains(person)));
        evidence.sign_if(Sign::TopicOfCalledLast, outlook.called_last == Some(earlier.topic));
        evidence.sign_if(Sign::TopicLone, topic.size == 1);
        evidence.sign(Sign::TopicWords, outlook.topic_words.get(&earlier.topic).copied().unwrap_or(0.0));
        evidence.sign(Sign::TopicPeople, log(topic.people.len() as f64));
        evidence.sign(Sign::TopicSize, log(topic.size as f64));
    }

    /// What speaks for a new topic.
    fn opening(&self, line: &Said, outlook: &Outlook<'_>) -> Evidence {
        let mut evidence = Evidence::default();
        let called = &line.address.to;
        let open = called.is_empty();
        let (fresh, back) = (outlook.presence == Presence::Fresh, outlook.presence == Presence::Back);
        let active = outlook.presence == Presence::Active;
        let since = outlook.mine_last.map_or(0, |last| last.number);
        let was_called = self
            .choices()
            .take_while(|earlier| outlook.mine_last.is_none() || earlier.number > since)
            .any(|earlier| earlier.address.to.contains(&line.author));
        evidence.opening(Opening::Any, 1.0);
        evidence.opening_if(Opening::Fresh, fresh);
        evidence.opening_if(Opening::Back, back);
        evidence.opening_if(Opening::FirstEver, line.first_ever);
        evidence.opening_if(Opening::Calls, line.address.at_start);
        evidence.opening_if(Opening::Names, !open && !line.address.at_start);
        evidence.opening_if(Opening::CalledGone, !open && outlook.called_last.is_none());
        evidence.opening_if(Opening::CallsStranger, line.address.to_stranger);
        evidence.opening_if(Opening::WasCalled, was_called);
        evidence.opening_if(Opening::InTalk, outlook.partner.is_some());
        let form = line.form;
        evidence.opening_if(Opening::Greeting, form.greeting);
        evidence.opening_if(Opening::Question, form.question);
        evidence.opening_if(Opening::QuestionFresh, form.question && open && fresh);
        evidence.opening_if(Opening::QuestionBack, form.question && open && back);
        evidence.opening_if(Opening::Plea, form.plea);
        evidence.opening_if(Opening::PleaActive, form.plea && open && active);
        evidence.opening_if(Opening::PleaFresh, form.plea && open && fresh);
        evidence.opening_if(Opening::PleaBack, form.plea && open && back);
        evidence.opening_if(Opening::Reaction, form.reaction);
        evidence.opening_if(Opening::Onward, form.onward);
        evidence.opening_if(Opening::Link, form.link);
        evidence.opening_if(Opening::Long, form.words >= 8);
        evidence.opening_if(Opening::Short, form.words <= 2);
        if let Some(last) = outlook.mine_last {
            evidence.opening(Opening::MyDistance, log((line.number - last.number) as f64));
        }
        let quiet = self.window.back().map_or(0.0, |last| minutes(last.at_ms, line.at_ms));
        evidence.opening(Opening::Quiet, log(quiet));
        evidence.opening(Opening::Worth, (outlook.worth / 30.0).min(2.0));
        evidence.opening(Opening::Crowd, outlook.crowd);
        evidence
    }
}

fn relation(line: &Said, earlier: &Said) -> Relation {
    let (now, then) = (&line.address.to, &earlier.address.to);
    let third = now.iter().any(|person| then.contains(person));
    if earlier.author == line.author {
        return match (now.is_empty(), then.is_empty()) {
            (true, true) => Relation::SameOpen,
            (false, true) => Relation::SameNowCalls,
            (true, false) => Relation::SameThenCalled,
            (false, false) if third => Relation::SameCallsSame,
            (false, false) => Relation::SameCallsOther,
        };
    }
    let to_me = then.contains(&line.author);
    match (now.contains(&earlier.author), now.is_empty(), then.is_empty()) {
        (true, ..) if to_me => Relation::BackAndForth,
        (true, _, true) => Relation::ToOpen,
        (true, ..) => Relation::ToBusy,
        (false, true, _) if to_me => Relation::FromOpen,
        (false, ..) if to_me => Relation::FromBusy,
        (false, ..) if third => Relation::BothToThird,
        (false, true, true) => Relation::OtherOpen,
        (false, false, true) => Relation::OtherNowCalls,
        (false, true, false) => Relation::OtherThenCalled,
        (false, false, false) => Relation::OtherBoth,
    }
}

/// How near it is, in lines and in time, and how crowded the room.
fn near(evidence: &mut Evidence, line: &Said, earlier: &Said, relation: Relation, outlook: &Outlook<'_>) {
    let gap = log(minutes(earlier.at_ms, line.at_ms));
    let same = earlier.author == line.author;
    evidence.sign(Sign::Gap, gap);
    if same {
        evidence.sign(Sign::GapSame, gap);
    }
    if line.number - earlier.number == 1 {
        let next = match (same, line.address.to.is_empty()) {
            (true, _) => Sign::NextSame,
            (false, true) => Sign::NextOther,
            (false, false) => Sign::NextAddressed,
        };
        evidence.sign(next, 1.0);
    }
    let crowd = match relation {
        _ if same => Sign::CrowdSame,
        Relation::OtherOpen => Sign::CrowdOpen,
        Relation::BothToThird | Relation::OtherNowCalls | Relation::OtherThenCalled | Relation::OtherBoth => {
            Sign::CrowdOther
        }
        _ => Sign::CrowdAddressed,
    };
    evidence.sign(crowd, outlook.crowd);
}

/// What the words tell.
fn alike(evidence: &mut Evidence, vocabulary: &Vocabulary, line: &Said, earlier: &Said) {
    let worths = shared(&line.words, &earlier.words).map(|word| vocabulary.worth(word));
    let (mut sum, mut squares) = (0.0, 0.0);
    for worth in worths {
        sum += worth;
        squares += worth * worth;
    }
    if sum == 0.0 {
        return;
    }
    let likeness = squares / (line.words_length * earlier.words_length).max(f64::MIN_POSITIVE);
    evidence.sign(Sign::Shared, sum / 10.0);
    evidence.sign(Sign::Likeness, likeness);
    if earlier.author != line.author {
        evidence.sign(Sign::LikenessOther, likeness);
    }
}

/// One author: do they go on?
fn going_on(evidence: &mut Evidence, line: &Said, earlier: &Said) {
    evidence.sign_if(Sign::SameOnward, line.form.onward);
    evidence.sign_if(Sign::SamePlea, line.form.plea);
    evidence.sign_if(Sign::SameReaction, line.form.reaction);
    evidence.sign_if(Sign::SameAfterGreeting, earlier.form.greeting);
    let short = line.form.words <= 3 && line.address.to.is_empty();
    evidence.sign_if(Sign::ShortSameNear, short && line.number - earlier.number <= 2);
    evidence.sign_if(Sign::AfterShort, earlier.form.words <= 2);
}

/// Two authors: does one answer the other?
fn answering(evidence: &mut Evidence, line: &Said, earlier: &Said, relation: Relation) {
    let (now, then) = (line.form, earlier.form);
    let waits = then.question && earlier.answered_by.is_empty();
    evidence.sign_if(Sign::Unanswered, waits);
    evidence.sign_if(Sign::UnansweredOpen, waits && relation == Relation::OtherOpen);
    evidence.sign_if(Sign::BothAsk, then.question && now.question);
    evidence.sign_if(Sign::Reaction, now.reaction);
    evidence.sign_if(Sign::ReactionToQuestion, now.reaction && then.question);
    evidence.sign_if(Sign::Thanks, now.thanks);
    evidence.sign_if(Sign::GreetBack, now.greeting && then.greeting);
    evidence.sign_if(Sign::AfterGreeting, then.greeting);
    evidence.sign_if(Sign::AfterThanks, then.thanks);
    evidence.sign_if(Sign::AfterShort, then.words <= 2);
    let answered = !earlier.answered_by.is_empty() && !earlier.answered_by.contains(&line.author);
    evidence.sign_if(Sign::Answered, answered);
    let short = now.words <= 3 && line.address.to.is_empty();
    evidence.sign_if(Sign::ShortOther, short);
    evidence.sign_if(Sign::ShortOtherNear, short && line.number - earlier.number <= 2);
}

/// Bots and those who call them.
fn bots(evidence: &mut Evidence, line: &Said, earlier: &Said, outlook: &Outlook<'_>) {
    let distance = line.number - earlier.number;
    evidence.sign_if(Sign::AfterCommand, earlier.form.command);
    evidence.sign_if(Sign::AfterCommandNear, earlier.form.command && distance <= 3);
    evidence.sign_if(Sign::BotAnswers, outlook.is_bot && earlier.form.command && distance <= 4);
    evidence.sign_if(Sign::BotOther, outlook.is_bot);
    evidence.sign_if(Sign::CommandNear, line.form.command && distance <= 4);
}
