//! What a turn may still ask, given what it has asked. Pure.

use super::item::Wanted;
use super::limits::Limits;

/// Something that the turn asked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Earlier {
    /// Whom, and what.
    pub wanted: Wanted,
    /// What came of it.
    pub state: State,
}

/// What came of something that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is being asked by another call of the same step.
    Open,
    /// There was no answer.
    Failed,
    /// There was one.
    Answered,
}

/// For each thing that a call wants to ask: whether it may, or why not. What does not fit keeps nothing else back.
///
/// Only an answer ends a matter: what failed may be asked again, as often as the cap of the pair lets it.
pub(super) fn judge(limits: &Limits, earlier: &[Earlier], wanted: &[Wanted]) -> Vec<Result<(), String>> {
    let mut all = earlier.to_vec();
    let mut verdicts = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let verdict = one(limits, &all, wanted);
        if verdict.is_ok() {
            all.push(Earlier { wanted: wanted.clone(), state: State::Open });
        }
        verdicts.push(verdict);
    }
    verdicts
}

fn one(limits: &Limits, earlier: &[Earlier], wanted: &Wanted) -> Result<(), String> {
    let whom = &wanted.whom;
    let of_pair = || earlier.iter().filter(|earlier| earlier.wanted.whom == *whom);
    let same = |state: State| of_pair().any(|earlier| earlier.wanted == *wanted && earlier.state == state);
    if same(State::Answered) {
        return Err(format!("`{whom}` has answered this very task in this turn: use its answer"));
    }
    if same(State::Open) {
        return Err(format!("`{whom}` is being asked this very task already"));
    }
    if of_pair().count() >= limits.pair_calls_max {
        let most = base::text::count(i64::try_from(limits.pair_calls_max).unwrap_or(i64::MAX), "time");
        return Err(format!(
            "`{whom}` is asked at most {most} in one turn: go on with what you have, or say what is missing"
        ));
    }
    let open = of_pair().filter(|earlier| earlier.state == State::Open).count();
    if open >= limits.per_child_max {
        return Err(format!(
            "`{whom}` has {open} questions of yours at once already: ask again when they are answered"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegation::Whom;
    use proptest::prelude::*;

    fn wanted(whom: &str, task: &str) -> Wanted {
        Wanted { whom: Whom::Subagent(whom.to_owned()), task: task.to_owned() }
    }

    fn earlier(whom: &str, task: &str, state: State) -> Earlier {
        Earlier { wanted: wanted(whom, task), state }
    }

    #[test]
    fn only_an_answer_ends_a_matter() {
        let limits = Limits::default();
        for (before, asked, refused) in [
            (vec![], wanted("a", "x"), None),
            (vec![earlier("a", "x", State::Failed)], wanted("a", "x"), None),
            (vec![earlier("a", "x", State::Answered)], wanted("a", "y"), None),
            (vec![earlier("a", "x", State::Answered)], wanted("b", "x"), None),
            (
                vec![earlier("a", "x", State::Answered)],
                wanted("a", "x"),
                Some("`a` has answered this very task in this turn: use its answer"),
            ),
            (vec![earlier("a", "x", State::Open)], wanted("a", "x"), Some("`a` is being asked this very task already")),
            (
                (0..4).map(|n| earlier("a", &n.to_string(), State::Failed)).collect(),
                wanted("a", "x"),
                Some("`a` is asked at most 4 times in one turn: go on with what you have, or say what is missing"),
            ),
            ((0..4).map(|n| earlier("b", &n.to_string(), State::Failed)).collect(), wanted("a", "x"), None),
        ] {
            let verdict = judge(&limits, &before, &[asked]).remove(0);
            assert_eq!(verdict.err().as_deref(), refused, "{before:?}");
        }
    }

    #[test]
    fn of_too_many_at_once_the_first_ones_go_through() {
        let limits = Limits { per_child_max: 2, ..Limits::default() };
        let asked = [wanted("a", "1"), wanted("a", "2"), wanted("b", "3"), wanted("a", "4")];
        let verdicts = judge(&limits, &[], &asked);
        let why = "`a` has 2 questions of yours at once already: ask again when they are answered";
        assert_eq!(verdicts, [Ok(()), Ok(()), Ok(()), Err(why.to_owned())]);
    }

    proptest! {
        #[test]
        fn no_turn_asks_more_than_the_caps_let_it(
            calls in prop::collection::vec(
                (prop::collection::vec((0_u8..3, 0_u8..4), 1..6), prop::collection::vec(any::<bool>(), 6)), 0..12),
            pair_calls_max in 1_usize..6,
            per_child_max in 1_usize..5,
        ) {
            let limits = Limits { pair_calls_max, per_child_max, ..Limits::default() };
            let mut past: Vec<Earlier> = Vec::new();
            for (items, answered) in calls {
                let items: Vec<Wanted> =
                    items.iter().map(|(whom, task)| wanted(&whom.to_string(), &task.to_string())).collect();
                let verdicts = judge(&limits, &past, &items);
                prop_assert_eq!(verdicts.len(), items.len());
                let let_through: Vec<_> =
                    items.iter().zip(&verdicts).filter(|(_, verdict)| verdict.is_ok()).map(|(item, _)| item).collect();
                for item in &let_through {
                    let at_once = let_through.iter().filter(|other| other.whom == item.whom).count();
                    let again = let_through.iter().filter(|other| *other == item).count();
                    prop_assert!(at_once <= per_child_max && again == 1);
                    let done = Earlier { wanted: (*item).clone(), state: State::Answered };
                    prop_assert!(!past.contains(&done), "asked again after an answer");
                }
                for (item, answered) in let_through.into_iter().zip(answered) {
                    let state = if answered { State::Answered } else { State::Failed };
                    past.push(Earlier { wanted: item.clone(), state });
                }
                for item in &past {
                    let of_pair = past.iter().filter(|other| other.wanted.whom == item.wanted.whom).count();
                    prop_assert!(of_pair <= pair_calls_max);
                }
            }
        }
    }
}
