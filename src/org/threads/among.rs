//! Choosing among open topics for one message, from nothing but what is known of each: the stateless form, for a
//! conversation whose topics live in a database.

use super::assign::softmax;
use super::form::Form;
use super::people::{Address, People, Person};
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
    /// It speaks to nobody who wrote in a candidate.
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

/// From this chance on a choice is [`Choice::Sure`]. On logs that the weights were not fitted to, 97 of 100 such choices
/// were right, and seven of ten messages had one.
const SURE: f64 = 0.8;

/// How likely `message` belongs to each of `candidates`, or to none of them.
pub fn chances(candidates: &[Candidate<'_>], message: &Message<'_>) -> Chances {
    let scene = Scene::of(candidates, message);
    let weigh = |clues: &[f64], weight: &dyn Fn(usize) -> f64| -> f64 {
        clues.iter().enumerate().map(|(place, clue)| clue * weight(place)).sum()
    };
    let mut scores: Vec<f64> = candidates
        .iter()
        .zip(&scene.known)
        .map(|(candidate, known)| weigh(&scene.clues(candidates, candidate, known, message.at_ms), &|n| WEIGHTS[n].1))
        .collect();
    scores.push(weigh(&scene.new_clues(), &|n| NEW_WEIGHTS[n].1));
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

/// The message and the candidates as they were understood.
struct Scene {
    vocabulary: Vocabulary,
    sender: Person,
    address: Address,
    form: Form,
    words: Vec<Word>,
    known: Vec<Known>,
}

/// What is known of a candidate.
struct Known {
    authors: Vec<Person>,
    calls_sender: bool,
    name: Vec<Word>,
    summary: Vec<Word>,
    last_words: Vec<Word>,
}

impl Scene {
    fn of(candidates: &[Candidate<'_>], message: &Message<'_>) -> Scene {
        let mut people = People::default();
        let sender = people.meet(message.sender);
        // First everybody is met: a line may speak to who writes only in a later candidate.
        for (author, _) in candidates.iter().flat_map(|candidate| candidate.last_words) {
            people.meet(author);
        }
        let mut vocabulary = Vocabulary::default();
        let mut understand = |candidate: &Candidate<'_>| Known::of(candidate, &mut people, &mut vocabulary, sender);
        let known = candidates.iter().map(&mut understand).collect();
        let address = people.addressed(message.text, &[], sender);
        let text = &message.text[address.text_from..];
        Scene { words: vocabulary.read(text), form: Form::of(text), vocabulary, sender, address, known }
    }

    /// What those words of the message are worth for which `holds`.
    fn worth(&self, holds: impl Fn(&Word) -> bool) -> f64 {
        self.words.iter().filter(|word| holds(word)).map(|&word| self.vocabulary.worth(word)).sum()
    }

    /// Which part of the message's worth `words` have. A message of one word says little even if a topic knows it:
    /// it counts as at least 12, which is about two rare words.
    fn part(&self, words: &[Word]) -> f64 {
        self.worth(|word| words.binary_search(word).is_ok()) / self.worth(|_| true).max(12.0)
    }

    fn calls(&self, known: &Known) -> bool {
        self.address.to.iter().any(|person| known.authors.contains(person))
    }

    fn clues(&self, all: &[Candidate<'_>], candidate: &Candidate<'_>, known: &Known, at_ms: i64) -> [f64; CLUES] {
        let mut clues = [0.0; CLUES];
        let mut put = |clue: Clue, value: f64| clues[clue as usize] = value;
        let later = all.iter().filter(|other| other.last_at_ms > candidate.last_at_ms).count();
        put(Clue::Rank, (later as f64).ln_1p());
        put(Clue::Gap, (at_ms.saturating_sub(candidate.last_at_ms).max(0) as f64 / 60_000.0).ln_1p());
        put(Clue::NameWords, self.part(&known.name));
        put(Clue::SummaryWords, self.part(&known.summary));
        put(Clue::LastWords, self.part(&known.last_words));

        let last = known.authors.last();
        let writes = known.authors.contains(&self.sender);
        let writes_elsewhere = !writes && self.known.iter().any(|other| other.authors.contains(&self.sender));
        let calls = self.calls(known);
        let calls_elsewhere = !calls && self.known.iter().any(|other| self.calls(other));
        let mut put_if = |clue: Clue, holds: bool| clues[clue as usize] = f64::from(u8::from(holds));
        put_if(Clue::SenderLast, last == Some(&self.sender));
        put_if(Clue::SenderIn, writes);
        put_if(Clue::SenderElsewhere, writes_elsewhere);
        put_if(Clue::CallsOne, calls);
        put_if(Clue::CallsElsewhere, calls_elsewhere);
        put_if(Clue::WasCalled, known.calls_sender);
        put_if(Clue::Reacts, self.form.reaction && last.is_some_and(|last| *last != self.sender));
        put_if(Clue::Onward, self.form.onward);
        clues
    }

    fn new_clues(&self) -> [f64; NEW_CLUES] {
        let mut clues = [0.0; NEW_CLUES];
        let known = |word: &Word| self.known.iter().any(|known| known.has(word));
        clues[NewClue::Unknown as usize] = (self.worth(|word| !known(word)) / 30.0).min(2.0);
        let mut put_if = |clue: NewClue, holds: bool| clues[clue as usize] = f64::from(u8::from(holds));
        put_if(NewClue::Any, true);
        put_if(NewClue::Greeting, self.form.greeting);
        put_if(NewClue::Question, self.form.question);
        put_if(NewClue::Plea, self.form.plea);
        put_if(NewClue::Stranger, !self.known.iter().any(|known| known.authors.contains(&self.sender)));
        put_if(NewClue::CallsNobody, !self.known.iter().any(|known| self.calls(known)));
        put_if(NewClue::Long, self.form.words >= 8);
        clues
    }
}

impl Known {
    fn of(candidate: &Candidate<'_>, people: &mut People, vocabulary: &mut Vocabulary, sender: Person) -> Known {
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
        let (name, summary) = (vocabulary.read(candidate.name), vocabulary.read(candidate.summary));
        Known { authors, calls_sender, name, summary, last_words }
    }

    fn has(&self, word: &Word) -> bool {
        [&self.name, &self.summary, &self.last_words].iter().any(|words| words.binary_search(word).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn candidates() -> [Candidate<'static>; 2] {
        [
            Candidate {
                name: "ntfs partition",
                summary: "Mounting a Windows partition on a laptop.",
                last_words: &[("ann", "fdisk lists three partitions"), ("bob", "ann: which one is ntfs?")],
                last_at_ms: 10 * MINUTE,
            },
            Candidate {
                name: "Berlin trip",
                summary: "Trains and hotels for a weekend in Berlin.",
                last_words: &[("carl", "the night train is cheaper"), ("dora", "but the hotel is not")],
                last_at_ms: 11 * MINUTE,
            },
        ]
    }

    fn choice(sender: &str, text: &str) -> Choice {
        chances(&candidates(), &Message { sender, text, at_ms: 12 * MINUTE }).choice()
    }

    #[test]
    fn a_message_goes_where_its_people_and_words_are() {
        for (sender, text, expected) in [
            ("ann", "bob: sda2 is", Choice::Sure(0)),
            ("ann", "the second partition, says fdisk", Choice::Sure(0)),
            ("carl", "dora: then another hotel near the train station", Choice::Sure(1)),
            ("carl", "ok", Choice::Sure(1)),
        ] {
            assert_eq!(choice(sender, text), expected, "{sender}: {text}");
        }
    }

    #[test]
    fn a_stranger_with_a_question_of_their_own_opens_a_topic() {
        assert_eq!(choice("eve", "hello, does anyone know how to prune an apple tree?"), Choice::New);
        let message = Message { sender: "eve", text: "ok", at_ms: 0 };
        assert_eq!(chances(&[], &message).choice(), Choice::New);
    }

    #[test]
    fn who_cannot_be_told_apart_is_not_sure() {
        let candidate = candidates()[0];
        let message = Message { sender: "ann", text: "sda2", at_ms: 12 * MINUTE };
        assert_eq!(chances(&[candidate, candidate], &message).choice(), Choice::Unsure(0));
    }

    #[test]
    fn the_tables_are_in_order() {
        for (place, (clue, _)) in WEIGHTS.iter().enumerate() {
            assert_eq!(*clue as usize, place);
        }
        for (place, (clue, _)) in NEW_WEIGHTS.iter().enumerate() {
            assert_eq!(*clue as usize, place);
        }
    }

    proptest! {
        #[test]
        fn chances_add_up_and_the_order_of_candidates_means_nothing(
            texts in prop::collection::vec(("[abc]", "[a-c :,?@é\n]{0,16}", 0i64..9), 0..5), text in "[a-c :,?@é\n]{0,16}",
        ) {
            let said: Vec<[(&str, &str); 1]> = texts.iter().map(|(who, what, _)| [(&**who, &**what)]).collect();
            let candidates: Vec<Candidate<'_>> = said
                .iter()
                .zip(&texts)
                .map(|(last_words, (_, text, at))| Candidate { name: text, summary: "", last_words, last_at_ms: *at })
                .collect();
            let message = Message { sender: "a", text: &text, at_ms: 5 };
            let there = chances(&candidates, &message);
            prop_assert!((there.of.iter().sum::<f64>() + there.new - 1.0).abs() < 1e-9);
            let turned: Vec<Candidate<'_>> = candidates.iter().rev().copied().collect();
            let back = chances(&turned, &message);
            for (one, other) in there.of.iter().zip(back.of.iter().rev()) {
                prop_assert!((one - other).abs() < 1e-9);
            }
        }
    }
}
