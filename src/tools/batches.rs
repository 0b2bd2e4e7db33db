//! How the calls of one turn overlap: adjacent ones of a parallel class together, everything else alone. Pure.

use std::ops::Range;

use crate::spec::Partition;

/// How many calls run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Reads.
    pub reads_max: usize,
    /// Delegations.
    pub delegations_max: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        BatchLimits { reads_max: 10, delegations_max: 4 }
    }
}

/// Splits calls, given by their classes, into batches that run one after the other. The batches are in order,
/// without gaps, and none is empty.
pub fn split(classes: &[Partition], limits: BatchLimits) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    for (at, class) in classes.iter().enumerate() {
        match batches.last_mut() {
            Some(last) if classes[last.start] == *class && last.len() < size_max(*class, limits) => last.end += 1,
            _ => batches.push(at..at + 1),
        }
    }
    batches
}

fn size_max(class: Partition, limits: BatchLimits) -> usize {
    match class {
        Partition::Control | Partition::Write => 1,
        Partition::Delegate => limits.delegations_max,
        Partition::Read => limits.reads_max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const R: Partition = Partition::Read;
    const W: Partition = Partition::Write;
    const C: Partition = Partition::Control;
    const D: Partition = Partition::Delegate;

    #[test]
    fn neighbours_of_a_parallel_class_go_together() {
        let limits = BatchLimits { reads_max: 2, delegations_max: 4 };
        let sizes = |classes: &[Partition]| split(classes, limits).iter().map(Range::len).collect::<Vec<_>>();
        for (classes, expected) in [
            (&[][..], &[][..]),
            (&[R, R, R, W, R], &[2, 1, 1, 1]),
            (&[W, W, C, C], &[1, 1, 1, 1]),
            (&[D, D, R, D], &[2, 1, 1]),
        ] {
            assert_eq!(sizes(classes), expected, "{classes:?}");
        }
    }

    proptest! {
        #[test]
        fn batches_keep_the_order_and_the_limits(
            classes in prop::collection::vec(prop::sample::select(vec![C, W, D, R]), 0..60),
            reads_max in 0_usize..12,
            delegations_max in 0_usize..6,
        ) {
            let limits = BatchLimits { reads_max, delegations_max };
            let batches = split(&classes, limits);
            let joined: Vec<usize> = batches.iter().cloned().flatten().collect();
            prop_assert_eq!(joined, (0..classes.len()).collect::<Vec<_>>());
            for batch in &batches {
                let class = classes[batch.start];
                prop_assert!(classes[batch.clone()].iter().all(|other| *other == class));
                // A limit of zero is as one: nothing would run otherwise.
                prop_assert!((1..=size_max(class, limits).max(1)).contains(&batch.len()));
            }
            for pair in batches.windows(2) {
                let same = classes[pair[0].start] == classes[pair[1].start];
                prop_assert!(!same || pair[0].len() >= size_max(classes[pair[0].start], limits), "split for nothing");
            }
        }
    }
}
