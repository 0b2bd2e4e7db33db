//! What each sign is worth: the one table that the placing of lines rests on.
//!
//! The numbers are the weights of a log-linear model over the choices that a line has: each of the last
//! [`super::room::WINDOW`] lines, or none. The evidence of a choice times its weights, summed, is its score, and a
//! softmax makes probabilities of the scores. Read a number so: 0.7 doubles the odds of a choice, -0.7 halves them.
//!
//! They were fitted to ten public IRC logs of a help channel (the development part of the irc-disentanglement corpus,
//! 2,500 marked lines, CC BY 4.0): 80 steps of gradient descent (Adam) on the likelihood that the chosen line is in
//! the marked topic, with a quadratic penalty of 2, twice; the second time the signs that rest on earlier placements
//! came from the model's own placements, as they do at work. A new topic was then made a little more welcome (0.2).
//! When each log is placed by weights fitted to the other nine, the figures over all ten are: 1-VI 0.93, one-to-one
//! 0.83, F1 of exact topics 0.42.

use super::signs::{COLUMNS, Evidence, OPENINGS, Opening, RELATIONS, Relation, SIGNS, Sign};

/// How much each sign counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(Vec<f64>);

#[rustfmt::skip]
const OF_RELATIONS: [(Relation, [f64; COLUMNS]); RELATIONS] = [
    // how the two lines stand            holds  distance nearest  fresh   back
    (Relation::SameOpen,            [  0.42,  -0.69,   1.13,   0.00,   0.42]),
    (Relation::SameNowCalls,        [ -0.19,  -0.22,   0.30,   0.00,   0.27]),
    (Relation::SameThenCalled,      [  0.08,  -0.81,   0.15,   0.00,  -0.12]),
    (Relation::SameCallsSame,       [  0.74,  -0.12,   0.85,   0.00,   0.30]),
    (Relation::SameCallsOther,      [ -0.65,  -0.60,  -0.03,   0.00,   0.01]),
    (Relation::BackAndForth,        [  1.33,   0.26,   1.39,   0.13,  -0.04]),
    (Relation::ToOpen,              [  0.93,  -0.11,   1.39,   0.56,  -0.81]),
    (Relation::ToBusy,              [ -0.41,  -0.55,  -0.33,   0.06,  -0.29]),
    (Relation::FromOpen,            [  0.52,  -0.48,   0.83,   0.00,   0.70]),
    (Relation::FromBusy,            [ -0.52,  -0.37,  -0.42,   0.00,  -0.04]),
    (Relation::BothToThird,         [  0.24,  -0.30,   0.12,  -0.22,   0.39]),
    (Relation::OtherOpen,           [  0.51,  -1.02,  -0.20,  -0.37,  -0.51]),
    (Relation::OtherNowCalls,       [ -0.84,  -0.91,  -0.25,  -0.15,  -0.25]),
    (Relation::OtherThenCalled,     [ -0.90,  -1.33,   0.21,  -0.28,   0.30]),
    (Relation::OtherBoth,           [ -0.80,  -0.73,  -0.50,  -0.08,  -0.28]),
];

#[rustfmt::skip]
const OF_SIGNS: [(Sign, f64); SIGNS] = [
    (Sign::Gap,                     -1.18),
    (Sign::GapSame,                  0.07),
    (Sign::NextSame,                 0.36),
    (Sign::NextOther,               -0.50),
    (Sign::NextAddressed,           -0.12),
    (Sign::CrowdSame,               -0.09),
    (Sign::CrowdAddressed,           0.60),
    (Sign::CrowdOpen,               -0.48),
    (Sign::CrowdOther,              -0.34),
    (Sign::SpokeSince,              -0.91),
    (Sign::SpokeSinceCalled,        -0.62),
    (Sign::Partner,                  0.47),
    (Sign::PartnerBack,              0.63),
    (Sign::PingPong,                 0.05),
    (Sign::Likeness,                 1.58),
    (Sign::LikenessOther,            1.89),
    (Sign::Shared,                   0.96),
    (Sign::Unanswered,               0.22),
    (Sign::UnansweredOpen,          -0.54),
    (Sign::BothAsk,                 -0.56),
    (Sign::Reaction,                 0.80),
    (Sign::ReactionToQuestion,       0.04),
    (Sign::Thanks,                   0.09),
    (Sign::GreetBack,                0.72),
    (Sign::AfterGreeting,            0.01),
    (Sign::AfterThanks,             -0.56),
    (Sign::AfterShort,              -0.63),
    (Sign::Answered,                 0.07),
    (Sign::AfterCommand,             0.63),
    (Sign::AfterCommandNear,         0.49),
    (Sign::BotAnswers,               1.14),
    (Sign::BotOther,                 0.84),
    (Sign::CommandNear,             -0.05),
    (Sign::ShortOther,               0.24),
    (Sign::ShortOtherNear,          -0.01),
    (Sign::ShortSameNear,            0.68),
    (Sign::SameOnward,              -0.21),
    (Sign::SamePlea,                 1.00),
    (Sign::SameReaction,            -0.15),
    (Sign::SameAfterGreeting,       -0.76),
    (Sign::TopicOfMyLast,            0.95),
    (Sign::TopicOfMyLastCalled,      0.79),
    (Sign::TopicHasMe,               0.65),
    (Sign::TopicHasMeCalled,         0.46),
    (Sign::TopicStrange,            -0.17),
    (Sign::TopicHasCalled,           1.45),
    (Sign::TopicOfCalledLast,        0.82),
    (Sign::TopicNewest,              0.98),
    (Sign::TopicLone,               -0.03),
    (Sign::TopicWords,               3.15),
    (Sign::TopicPeople,              0.20),
    (Sign::TopicSize,               -0.40),
];

#[rustfmt::skip]
const OF_OPENINGS: [(Opening, f64); OPENINGS] = [
    (Opening::Any,              -0.12),
    (Opening::Fresh,             0.32),
    (Opening::Back,             -0.03),
    (Opening::FirstEver,         0.52),
    (Opening::Calls,            -0.19),
    (Opening::Names,             0.36),
    (Opening::CalledGone,        0.42),
    (Opening::CallsStranger,    -0.44),
    (Opening::WasCalled,         0.55),
    (Opening::InTalk,           -0.65),
    (Opening::Greeting,          1.49),
    (Opening::Question,          0.80),
    (Opening::QuestionFresh,     0.58),
    (Opening::QuestionBack,      0.63),
    (Opening::Plea,              0.69),
    (Opening::PleaActive,        1.08),
    (Opening::PleaFresh,         0.28),
    (Opening::PleaBack,         -0.38),
    (Opening::Reaction,         -0.65),
    (Opening::Onward,           -0.66),
    (Opening::Link,             -0.49),
    (Opening::Long,              0.38),
    (Opening::Short,             0.55),
    (Opening::MyDistance,       -0.13),
    (Opening::Quiet,            -0.66),
    (Opening::Worth,             0.69),
    (Opening::Crowd,             0.33),
];

impl Weights {
    /// The weights of the tables above.
    pub fn learned() -> Weights {
        let relations = OF_RELATIONS.iter().flat_map(|(_, row)| row.iter().copied());
        let signs = OF_SIGNS.iter().map(|&(_, weight)| weight);
        let openings = OF_OPENINGS.iter().map(|&(_, weight)| weight);
        Weights(relations.chain(signs).chain(openings).collect())
    }

    /// The score of a choice of which this was seen.
    pub(super) fn score(&self, evidence: &Evidence) -> f64 {
        evidence.0.iter().map(|&(place, value)| self.0[place] * value).sum()
    }
}

impl Default for Weights {
    fn default() -> Weights {
        Weights::learned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_has_its_weight_at_its_place() {
        for (place, (relation, _)) in OF_RELATIONS.iter().enumerate() {
            assert_eq!(*relation as usize, place, "{relation:?}");
        }
        for (place, (sign, _)) in OF_SIGNS.iter().enumerate() {
            assert_eq!(*sign as usize, place, "{sign:?}");
        }
        for (place, (opening, _)) in OF_OPENINGS.iter().enumerate() {
            assert_eq!(*opening as usize, place, "{opening:?}");
        }
    }
}
