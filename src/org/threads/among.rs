//! Choosing among open topics for one message, from nothing but what is known of each: the stateless form, for a
//! conversation whose topics live in a database.

use super::assign::softmax;
use super::form::Form;
use super::people::{People, Person};
use super::words::{Vocabulary, Word};

/// A topic that a message may belong to.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// What it is called; may be empty.
    pub name: &'a str,
    /// What was said in it, in a few sentences; may be empty.
    pub summary: &'a str,
    /// The last lines said in it, oldest first: who, and what.
    pub last_words: &'a [(&'a str, &'a str)],
    /// When something was last said in it, in milliseconds since any fixed moment.
    pub last_at_ms: i64,
}

/// A message to place.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Who wrote it, named as in [`Candidate::last_words`].
    pub sender: &'a str,
    /// What was written.
    pub text: &'a str,
    /// When, on the clock of [`Candidate::last_at_ms`].
    pub at_ms: i64,
}

/// Where a message belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// To the candidate at this place, and nothing else comes near.
    Sure(usize),
    /// Most likely to the candidate at this place, but another choice comes near.
    Unsure(usize),
    /// To none of them.
    New,
}

/// How likely each choice is. All of it adds up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Chances {
    /// Of each candidate, in their order.
    pub of: Vec<f64>,
    /// Of a new topic.
    pub new: f64,
}

/// What tells that a message belongs to a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Clue {
    /// Times the logarithm of how many candidates were talked in later.
    Rank,
    /// Times the logarithm of the minutes since something was said.
    Gap,
    /// How much of the message's worth the name has.
    NameWords,
    /// How much of it the summary has.
    SummaryWords,
    /// How much of it the last words have.
    LastWords,
    /// The author wrote the last line.
    SenderLast,
    /// The author wrote one of the last lines.
    SenderIn,
    /// The author wrote in another candidate's last lines and not in these.
    SenderElsewhere,
    /// The message speaks to somebody who wrote one of the last lines.
    CallsOne,
    /// It speaks to somebody who wrote in another candidate's last lines and not in these.
    CallsElsewhere,
    /// One of the last lines speaks to the author.
    WasCalled,
    /// It reacts ("yes", "thanks") and somebody else wrote last.
    Reacts,
    /// It goes on ("and", "but").
    Onward,
}

/// What tells that it belongs to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum NewClue {
    /// Always.
    Any,
    /// It greets.
    Greeting,
    /// It asks.
    Question,
    /// It speaks to everybody.
    Plea,
    /// The author wrote in no candidate.
    Stranger,
    /// It speaks to nobody.
    CallsNobody,
    /// It has eight words or more.
    Long,
    /// What its words are worth that no candidate knows, in thirties, at most 2.
    Unknown,
}

const CLUES: usize = Clue::Onward as usize + 1;
const NEW_CLUES: usize = NewClue::Unknown as usize + 1;

/// Fitted like the weights of the line by line form (`weights.rs`) and on the same logs, with the marked topics as
/// candidates: the first line as the name, the last four as last words, what lies between as the summary.
#[rustfmt::skip]
const WEIGHTS: [(Clue, f64); CLUES] = [
    (Clue::Rank,              -1.28),
    (Clue::Gap,               -1.02),
    (Clue::NameWords,          2.46),
    (Clue::SummaryWords,       2.42),
    (Clue::LastWords,          4.65),
    (Clue::SenderLast,         0.61),
    (Clue::SenderIn,           2.07),
    (Clue::SenderElsewhere,   -0.64),
    (Clue::CallsOne,           3.65),
    (Clue::CallsElsewhere,    -2.39),
    (Clue::WasCalled,          1.23),
    (Clue::Reacts,             1.38),
    (Clue::Onward,             0.52),
];

/// Fitted together with [`WEIGHTS`].
#[rustfmt::skip]
const NEW_WEIGHTS: [(NewClue, f64); NEW_CLUES] = [
    (NewClue::Any,               -2.50),
    (NewClue::Greeting,           2.33),
    (NewClue::Question,           1.21),
    (NewClue::Plea,               1.08),
    (NewClue::Stranger,           1.77),
    (NewClue::CallsNobody,        1.44),
    (NewClue::Long,               0.28),
    (NewClue::Unknown,            0.44),
];

/// From this chance on a choice is [`Choice::Sure`].
const SURE: f64 = 0.8;

/// How likely `message` belongs to each of `candidates`, or to none of them.
pub fn chances(candidates: &[Candidate<'_>], message: &Message<'_>) -> Chances {
    let (clues, new) = clues(candidates, message);
    let weigh = |values: &[f64], weights: &mut dyn Iterator<Item = f64>| -> f64 {
        values.iter().zip(weights).map(|(value, weight)| value * weight).sum()
    };
    let mut scores: Vec<f64> =
        clues.iter().map(|clues| weigh(clues, &mut WEIGHTS.iter().map(|&(_, weight)| weight))).collect();
    scores.push(weigh(&new, &mut NEW_WEIGHTS.iter().map(|&(_, weight)| weight)));
    let mut of = softmax(&scores);
    let new = of.pop().expect("a new topic is always a choice");
    Chances { of, new }
}

impl Chances {
    /// The likeliest choice. A tie goes to the earlier candidate, and to a candidate before a new topic.
    pub fn choice(&self) -> Choice {
        let best = (0..self.of.len()).rev().max_by(|&a, &b| self.of[a].total_cmp(&self.of[b]));
        match best {
            Some(best) if self.of[best] >= SURE => Choice::Sure(best),
            Some(best) if self.of[best] >= self.new => Choice::Unsure(best),
            _ => Choice::New,
        }
    }
}

/// A candidate as it was understood.
struct Known {
    authors: Vec<Person>,
    calls_sender: bool,
    name: Vec<Word>,
    summary: Vec<Word>,
    last_words: Vec<Word>,
}

fn clues(candidates: &[Candidate<'_>], message: &Message<'_>) -> (Vec<[f64; CLUES]>, [f64; NEW_CLUES]) {
    let mut people = People::default();
    let sender = people.meet(message.sender);
    for (author, _) in candidates.iter().flat_map(|candidate| candidate.last_words) {
        people.meet(author);
    }
    let mut vocabulary = Vocabulary::default();
    let known: Vec<Known> =
        candidates.iter().map(|candidate| understand(candidate, &mut people, &mut vocabulary, sender)).collect();
    let address = people.addressed(message.text, &[], sender);
    let text = &message.text[address.text_from..];
    let form = Form::of(text);
    let words = vocabulary.read(text);
    let worth_of = |known: &dyn Fn(&Word) -> bool| -> f64 {
        words.iter().filter(|word| known(word)).map(|&word| vocabulary.worth(word)).sum()
    };
    // A message of one word says little even if a topic knows it: 12 is about two rare words.
    let worth = worth_of(&|_| true).max(12.0);
    let part = |list: &[Word]| worth_of(&|word| list.binary_search(word).is_ok()) / worth;
    let writes_somewhere = known.iter().any(|known| known.authors.contains(&sender));
    let calls = |known: &Known| address.to.iter().any(|person| known.authors.contains(person));
    let calls_somebody = known.iter().any(calls);

    let mut all = Vec::with_capacity(candidates.len());
    for (candidate, known) in candidates.iter().zip(&known) {
        let mut clues = [0.0; CLUES];
        let mut put = |clue: Clue, value: f64| clues[clue as usize] = value;
        let when = |holds: bool| f64::from(u8::from(holds));
        let later = candidates.iter().filter(|other| other.last_at_ms > candidate.last_at_ms).count();
        let gap_minutes = message.at_ms.saturating_sub(candidate.last_at_ms).max(0) as f64 / 60_000.0;
        let sender_last = known.authors.last() == Some(&sender);
        let other_last = !known.authors.is_empty() && !sender_last;
        let sender_in = known.authors.contains(&sender);
        put(Clue::Rank, (later as f64).ln_1p());
        put(Clue::Gap, gap_minutes.ln_1p());
        put(Clue::NameWords, part(&known.name));
        put(Clue::SummaryWords, part(&known.summary));
        put(Clue::LastWords, part(&known.last_words));
        put(Clue::SenderLast, when(sender_last));
        put(Clue::SenderIn, when(sender_in));
        put(Clue::SenderElsewhere, when(writes_somewhere && !sender_in));
        put(Clue::CallsOne, when(calls(known)));
        put(Clue::CallsElsewhere, when(calls_somebody && !calls(known)));
        put(Clue::WasCalled, when(known.calls_sender));
        put(Clue::Reacts, when(other_last && form.reaction));
        put(Clue::Onward, when(form.onward));
        all.push(clues);
    }

    let nobody_knows = |word: &Word| {
        !known.iter().any(|known| {
            [&known.name, &known.summary, &known.last_words].iter().any(|list| list.binary_search(word).is_ok())
        })
    };
    let mut new = [0.0; NEW_CLUES];
    let mut put = |clue: NewClue, value: f64| new[clue as usize] = value;
    let when = |holds: bool| f64::from(u8::from(holds));
    put(NewClue::Any, 1.0);
    put(NewClue::Greeting, when(form.greeting));
    put(NewClue::Question, when(form.question));
    put(NewClue::Plea, when(form.plea));
    put(NewClue::Stranger, when(!writes_somewhere));
    put(NewClue::CallsNobody, when(!calls_somebody));
    put(NewClue::Long, when(form.words >= 8));
    put(NewClue::Unknown, (worth_of(&nobody_knows) / 30.0).min(2.0));
    (all, new)
}

fn understand(candidate: &Candidate<'_>, people: &mut People, vocabulary: &mut Vocabulary, sender: Person) -> Known {
    let mut last_words = Vec::new();
    let mut authors = Vec::new();
    let mut calls_sender = false;
    for (author, text) in candidate.last_words {
        let author = people.meet(author);
        let words = vocabulary.read(text);
        vocabulary.learn(&words);
        last_words.extend(words);
        calls_sender |= people.addressed(text, &[], author).to.contains(&sender);
        authors.push(author);
    }
    last_words.sort_unstable();
    last_words.dedup();
    Known {
        authors,
        calls_sender,
        name: vocabulary.read(candidate.name),
        summary: vocabulary.read(candidate.summary),
        last_words,
    }
}
