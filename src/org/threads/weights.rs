//! What each sign is worth: the one table that the placing of lines rests on.
//!
//! The numbers are the weights of a log-linear model over the choices a line has (each of the last
//! [`super::room::WINDOW`] lines, or none): the evidence of a choice times its weights, summed, is its score, and
//! scores become probabilities by a softmax. They were fitted by gradient descent on the likelihood of the marked
//! answers in ten public IRC logs of a help channel (the development part of the irc-disentanglement corpus, 2,500
//! marked lines, CC BY 4.0), with a quadratic penalty of 2. The signs that depend on earlier placements were taken
//! from the model's own placements of the round before (three rounds), not from the marked ones, because that is what
//! it sees at work. When each log is placed by weights fitted on the other nine, the figures over all ten are
//! 1-VI 93, one-to-one 83, exact clusters F1 40.
//!
//! Read a number so: 0.7 doubles the odds of a choice, -0.7 halves them.

use super::signs::{Evidence, Opening, Relation, Sign};

/// How much each sign counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights(Vec<f64>);

#[rustfmt::skip]
const RELATIONS: [(Relation, [f64; 5]); 15] = [
    // how the two lines stand            holds  distance nearest  fresh   back
    (Relation::SameOpen,            [ -0.07,  -0.85,   1.02,   0.00,   0.69]),
    (Relation::SameNowCalls,        [ -0.78,  -0.54,   0.13,   0.00,   0.09]),
    (Relation::SameThenCalled,      [  0.30,  -0.97,   0.34,   0.00,  -0.36]),
    (Relation::SameCallsSame,       [  0.66,  -0.90,   0.99,   0.00,   0.72]),
    (Relation::SameCallsOther,      [ -1.02,  -1.10,  -0.69,   0.00,  -0.03]),
    (Relation::BackAndForth,        [  1.49,  -0.41,   1.77,   0.19,  -0.19]),
    (Relation::ToOpen,              [  2.52,  -0.81,  -0.02,   0.39,  -0.49]),
    (Relation::ToBusy,              [  0.16,  -0.52,   0.04,   0.60,  -0.02]),
    (Relation::FromOpen,            [  1.22,  -1.02,   0.40,   0.00,   0.78]),
    (Relation::FromBusy,            [ -0.69,  -0.55,  -0.07,   0.00,   0.16]),
    (Relation::BothToThird,         [ -0.27,  -1.13,  -0.31,  -0.34,  -0.07]),
    (Relation::OtherOpen,           [  0.44,  -1.11,   0.26,  -0.52,  -0.58]),
    (Relation::OtherNowCalls,       [ -1.03,  -1.12,  -0.17,  -0.28,  -0.51]),
    (Relation::OtherThenCalled,     [ -0.71,  -1.06,  -0.14,  -0.38,   0.11]),
    (Relation::OtherBoth,           [ -0.87,  -1.11,  -0.45,  -0.09,  -0.32]),
];

#[rustfmt::skip]
const SIGNS: [(Sign, f64); 52] = [
    (Sign::Gap,                     -1.03),
    (Sign::GapSame,                 -0.28),
    (Sign::NextSame,                 0.44),
    (Sign::NextOther,               -1.28),
    (Sign::NextAddressed,           -0.88),
    (Sign::CrowdSame,                0.33),
    (Sign::CrowdAddressed,           0.71),
    (Sign::CrowdOpen,               -0.52),
    (Sign::CrowdOther,              -0.71),
    (Sign::SpokeSince,              -1.03),
    (Sign::SpokeSinceCalled,        -0.46),
    (Sign::Partner,                  0.38),
    (Sign::PartnerBack,              0.47),
    (Sign::PingPong,                 0.50),
    (Sign::Likeness,                 1.40),
    (Sign::LikenessOther,            2.62),
    (Sign::Shared,                   0.69),
    (Sign::Unanswered,               0.46),
    (Sign::UnansweredOpen,          -0.59),
    (Sign::BothAsk,                 -0.19),
    (Sign::Reaction,                 1.01),
    (Sign::ReactionToQuestion,       0.40),
    (Sign::Thanks,                   0.39),
    (Sign::GreetBack,                0.66),
    (Sign::AfterGreeting,            0.39),
    (Sign::AfterThanks,             -0.30),
    (Sign::AfterShort,              -1.11),
    (Sign::Answered,                 0.26),
    (Sign::AfterCommand,            -0.60),
    (Sign::AfterCommandNear,         0.45),
    (Sign::BotAnswers,               3.08),
    (Sign::BotOther,                 1.11),
    (Sign::CommandNear,              0.35),
    (Sign::ShortOther,               0.31),
    (Sign::ShortOtherNear,           0.40),
    (Sign::ShortSameNear,            0.79),
    (Sign::SameOnward,               0.48),
    (Sign::SamePlea,                 0.23),
    (Sign::SameReaction,            -0.50),
    (Sign::SameAfterGreeting,       -0.52),
    (Sign::TopicOfMyLast,            0.66),
    (Sign::TopicOfMyLastCalled,      0.61),
    (Sign::TopicHasMe,               1.27),
    (Sign::TopicHasMeCalled,         0.93),
    (Sign::TopicStrange,            -0.23),
    (Sign::TopicHasCalled,           1.69),
    (Sign::TopicOfCalledLast,        0.38),
    (Sign::TopicNewest,              0.18),
    (Sign::TopicLone,                0.11),
    (Sign::TopicWords,               3.36),
    (Sign::TopicPeople,             -0.25),
    (Sign::TopicSize,               -0.28),
];

#[rustfmt::skip]
const OPENINGS: [(Opening, f64); 27] = [
    (Opening::Any,              -1.15),
    (Opening::Fresh,             0.42),
    (Opening::Back,              0.01),
    (Opening::FirstEver,         0.53),
    (Opening::Calls,            -0.49),
    (Opening::Names,             0.31),
    (Opening::CalledGone,        0.32),
    (Opening::CallsStranger,    -0.40),
    (Opening::WasCalled,         0.49),
    (Opening::InTalk,           -0.49),
    (Opening::Greeting,          1.44),
    (Opening::Question,          0.75),
    (Opening::QuestionFresh,     0.63),
    (Opening::QuestionBack,      0.64),
    (Opening::Plea,              0.48),
    (Opening::PleaActive,        0.75),
    (Opening::PleaFresh,         0.40),
    (Opening::PleaBack,         -0.30),
    (Opening::Reaction,         -0.51),
    (Opening::Onward,           -0.54),
    (Opening::Link,             -0.48),
    (Opening::Long,              0.33),
    (Opening::Short,             0.60),
    (Opening::MyDistance,       -0.18),
    (Opening::Quiet,            -0.68),
    (Opening::Worth,             0.54),
    (Opening::Crowd,             0.19),
];

impl Weights {
    /// The weights of the tables above.
    pub fn learned() -> Weights {
        let relations = RELATIONS.iter().flat_map(|(_, row)| row.iter().copied());
        let signs = SIGNS.iter().map(|&(_, weight)| weight);
        let openings = OPENINGS.iter().map(|&(_, weight)| weight);
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
    use super::super::signs::{Column, WEIGHTS};
    use super::*;

    #[test]
    fn every_sign_has_its_weight_at_its_place() {
        for (place, (relation, _)) in RELATIONS.iter().enumerate() {
            assert_eq!(*relation as usize, place, "{relation:?}");
        }
        for (place, (sign, _)) in SIGNS.iter().enumerate() {
            assert_eq!(*sign as usize, place, "{sign:?}");
        }
        for (place, (opening, _)) in OPENINGS.iter().enumerate() {
            assert_eq!(*opening as usize, place, "{opening:?}");
        }
        assert_eq!(Weights::learned().0.len(), WEIGHTS);
        assert_eq!(RELATIONS[0].1.len(), Column::Back as usize + 1);
    }
}
