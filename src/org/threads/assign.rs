//! Placing the lines of a log in topics, one after the other.

use std::collections::{BTreeMap, HashMap};

use super::Line;
use super::room::{Room, Said};
use super::weights::Weights;

/// Where a line belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The topic, numbered from 0 in order of appearance.
    pub topic: usize,
    /// The id of the line that it answers; `None`: it opens its topic.
    pub answers: Option<String>,
    /// How sure that is: the probability of this topic, or of a new one, from 0 to 1.
    pub confidence: f64,
}

/// Places lines in topics. It looks only back: a line is placed when it comes and stays where it was placed.
///
/// Deterministic: the same lines in the same order are placed the same way.
#[derive(Clone, Debug)]
pub struct Assigner {
    weights: Weights,
    room: Room,
    topic_of: HashMap<String, usize>,
    topics: usize,
}

impl Assigner {
    /// An assigner that has seen nothing.
    pub fn new(weights: Weights) -> Assigner {
        Assigner { weights, room: Room::default(), topic_of: HashMap::new(), topics: 0 }
    }

    /// Places the next line.
    ///
    /// A line of the system is a topic of its own that nothing joins. A line that says which line it answers joins
    /// that line's topic, however long ago that was. Every other line joins the topic for which most speaks, or
    /// opens one.
    pub fn place(&mut self, line: &Line<'_>) -> Placement {
        let Some(sender) = line.sender else {
            self.note_rename(line.text);
            return self.remember(line.id, Placement { topic: self.topics, answers: None, confidence: 1.0 });
        };
        let said = self.room.read(line, sender);
        let told = line.reply_to.and_then(|id| self.topic_of.get(id).map(|&topic| (id, topic)));
        let (placement, number) = match told {
            Some((id, topic)) => {
                let answered = self.room.choices().find(|earlier| earlier.id == id).map(|earlier| earlier.number);
                (Placement { topic, answers: Some(id.to_owned()), confidence: 1.0 }, answered)
            }
            None => self.choose(&said),
        };
        self.room.settle(said, number, placement.topic);
        self.remember(line.id, placement)
    }

    /// The likeliest topic, and the number of the line in it that is likeliest to be the one answered.
    fn choose(&self, said: &Said) -> (Placement, Option<usize>) {
        let scores: Vec<f64> = self.room.evidence(said).iter().map(|evidence| self.weights.score(evidence)).collect();
        let mut chances = softmax(&scores);
        let new = chances.pop().expect("the last choice is a new topic");
        // A topic is as likely as all its lines together. The map is ordered and a tie goes to the newer topic, so
        // that the outcome does not depend on chance.
        let mut topics: BTreeMap<usize, f64> = BTreeMap::new();
        for (earlier, chance) in self.room.choices().zip(&chances) {
            *topics.entry(earlier.topic).or_default() += chance;
        }
        let best = topics.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((topic, confidence)) = best.filter(|&(_, chance)| chance > new) else {
            return (Placement { topic: self.topics, answers: None, confidence: new }, None);
        };
        let likeliest = self
            .room
            .choices()
            .zip(&chances)
            .filter(|(earlier, _)| earlier.topic == topic)
            .max_by(|a, b| a.1.total_cmp(b.1).then(a.0.number.cmp(&b.0.number)))
            .map(|(earlier, _)| earlier)
            .expect("a topic that was found by its lines has one");
        (Placement { topic, answers: Some(likeliest.id.clone()), confidence }, Some(likeliest.number))
    }

    fn remember(&mut self, id: &str, placement: Placement) -> Placement {
        self.topics = self.topics.max(placement.topic + 1);
        self.topic_of.insert(id.to_owned(), placement.topic);
        placement
    }

    /// "=== ann is now known as ann_away": the person stays the same.
    fn note_rename(&mut self, text: &str) {
        if let Some((before, after)) = text.split_once(" is now known as ")
            && let (Some(old), Some(new)) = (before.split_whitespace().last(), after.split_whitespace().next())
        {
            self.room.rename(old, new);
        }
    }
}

/// Scores as probabilities.
pub(super) fn softmax(scores: &[f64]) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
    let whole: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / whole).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines `minute, sender, text`; ids are their numbers. Returns their topics.
    fn topics(lines: &[(i64, &str, &str)]) -> Vec<usize> {
        place(lines).into_iter().map(|placement| placement.topic).collect()
    }

    fn place(lines: &[(i64, &str, &str)]) -> Vec<Placement> {
        let mut assigner = Assigner::new(Weights::learned());
        let place = |(number, &(minute, sender, text)): (usize, &(i64, &str, &str))| {
            let sender = (!sender.is_empty()).then_some(sender);
            let at_ms = Some(minute * 60_000);
            assigner.place(&Line { id: &number.to_string(), at_ms, sender, text, reply_to: None, mentions: &[] })
        };
        lines.iter().enumerate().map(place).collect()
    }

    #[test]
    fn two_conversations_that_run_through_each_other_are_told_apart() {
        let lines = [
            (0, "ann", "hi, how do I mount an ntfs partition?"),
            (0, "carl", "is there a good torrent client for gnome?"),
            (1, "bob", "ann: what does fdisk -l print?"),
            (1, "dora", "carl: try deluge or transmission"),
            (1, "ann", "bob: three partitions, the ntfs one is sda2"),
            (2, "carl", "dora: thanks, transmission works"),
            (2, "bob", "ann: mount -t ntfs /dev/sda2 /mnt"),
        ];
        assert_eq!(topics(&lines), [0, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_line_of_the_system_stands_alone() {
        let lines = [(0, "ann", "hello"), (0, "", "=== bob has joined"), (0, "", "=== carl has left")];
        assert_eq!(topics(&lines), [0, 1, 2]);
    }

    #[test]
    fn who_changes_their_name_stays_in_their_topic() {
        let lines = [
            (0, "ann", "my sound card is silent after the kernel update, any idea?"),
            (0, "bob", "ann: is it muted in alsamixer?"),
            (1, "", "=== ann is now known as ann_x"),
            (1, "ann_x", "bob: no, not muted"),
        ];
        assert_eq!(topics(&lines), [0, 0, 1, 0]);
    }

    #[test]
    fn the_platforms_reply_wins_over_every_sign_and_has_no_age() {
        let mut assigner = Assigner::new(Weights::learned());
        let mut say = |id: &str, sender: &str, text: &str, reply_to: Option<&str>| {
            assigner.place(&Line { id, at_ms: None, sender: Some(sender), text, reply_to, mentions: &[] })
        };
        let first = say("first", "ann", "where is the printer configured?", None);
        for n in 0..300 {
            say(&n.to_string(), "bob", "carl: the kernel panics", None);
        }
        let late = say("late", "carl", "bob: kernel panics are fun", Some("first"));
        assert_eq!((late.topic, late.answers.as_deref()), (first.topic, Some("first")));
        assert!((late.confidence - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_reply_to_a_line_that_nobody_saw_is_placed_by_its_signs() {
        let mut assigner = Assigner::new(Weights::learned());
        let line = Line { id: "1", at_ms: None, sender: Some("ann"), text: "hi", reply_to: Some("?"), mentions: &[] };
        assert_eq!(assigner.place(&line).topic, 0);
    }

    proptest! {
        /// Any log: topics are numbered without gaps in order of appearance, a line is placed by what came before it
        /// alone, and a probability is one.
        #[test]
        fn only_the_past_is_used(
            lines in prop::collection::vec((0i64..50, "[abc]?", "[abc:, ?!é\n]{0,12}"), 1..40),
            cut in 1usize..40,
        ) {
            let lines: Vec<(i64, &str, &str)> = lines.iter().map(|(at, who, text)| (*at, &**who, &**text)).collect();
            let whole = place(&lines);
            let cut = cut.min(lines.len());
            prop_assert_eq!(&place(&lines[..cut]), &whole[..cut]);
            let mut topics = 0;
            for placement in &whole {
                prop_assert!(placement.topic <= topics, "a gap before {}", placement.topic);
                prop_assert_eq!(placement.answers.is_none(), placement.topic == topics);
                prop_assert!((0.0..=1.0 + 1e-9).contains(&placement.confidence));
                topics = topics.max(placement.topic + 1);
            }
        }
    }
}
