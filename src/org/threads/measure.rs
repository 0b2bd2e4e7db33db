//! How well a division of lines into topics agrees with a given one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// One line: the log it is of, the topic it should have and the topic it was given. Topics of different logs are
/// different even if they are named alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The log.
    pub log: usize,
    /// The topic that somebody marked.
    pub gold: usize,
    /// The topic that it was given.
    pub given: usize,
}

/// Agreement of two divisions; every share is between 0 and 1, and 1 is complete agreement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Number of lines judged.
    pub lines: usize,
    /// 1 - VI / log2(lines): the variation of information, scaled to its largest value and turned round.
    pub variation_of_information: f64,
    /// The share of lines in the overlap of topics when each marked topic is paired with at most one given topic so
    /// that the overlap is largest.
    pub one_to_one: f64,
    /// Of the given topics with two lines or more, the share that is marked exactly so.
    pub exact_precision: f64,
    /// Of the marked topics with two lines or more, the share that was given exactly so.
    pub exact_recall: f64,
    /// The harmonic mean of the two.
    pub exact_f1: f64,
    /// Of all pairs of lines that share a given topic, the share that shares a marked one.
    pub pair_precision: f64,
    /// Of all pairs of lines that share a marked topic, the share that shares a given one.
    pub pair_recall: f64,
}

/// Marked topic, given topic, number of lines that have both.
type Cell = (usize, usize, usize);

/// Compares. Several logs are pooled: their lines count together, their topics apart.
///
/// Nothing to judge agrees completely. So do two divisions without any topic of two lines as far as exact topics and
/// pairs go.
pub fn agreement(lines: &[Judged]) -> Agreement {
    let mut gold: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut given: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut both: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        gold.entry((line.log, line.gold)).or_default().push(number);
        given.entry((line.log, line.given)).or_default().push(number);
        *both.entry((line.log, line.gold, line.given)).or_default() += 1;
    }
    let total = lines.len();
    let entropy = |sizes: &mut dyn Iterator<Item = usize>| -> f64 {
        sizes.map(|size| size as f64 / total as f64).map(|share| -share * share.log2()).sum()
    };
    let apart = 2.0 * entropy(&mut both.values().copied())
        - entropy(&mut gold.values().map(Vec::len))
        - entropy(&mut given.values().map(Vec::len));
    let many = |topics: &BTreeMap<(usize, usize), Vec<usize>>| -> BTreeSet<Vec<usize>> {
        topics.values().filter(|topic| topic.len() > 1).cloned().collect()
    };
    let (gold_many, given_many) = (many(&gold), many(&given));
    let exact = gold_many.intersection(&given_many).count();
    let (exact_precision, exact_recall) = (share(exact, given_many.len()), share(exact, gold_many.len()));
    let pairs = |sizes: &mut dyn Iterator<Item = usize>| -> usize { sizes.map(|size| size * (size - 1) / 2).sum() };
    let shared = pairs(&mut both.values().copied());
    Agreement {
        lines: total,
        variation_of_information: if total > 1 { 1.0 - apart.max(0.0) / (total as f64).log2() } else { 1.0 },
        one_to_one: share(overlap(&both), total),
        exact_precision,
        exact_recall,
        exact_f1: harmonic(exact_precision, exact_recall),
        pair_precision: share(shared, pairs(&mut given.values().map(Vec::len))),
        pair_recall: share(shared, pairs(&mut gold.values().map(Vec::len))),
    }
}

/// `part` of `whole`; of nothing it is all.
pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

fn harmonic(a: f64, b: f64) -> f64 {
    if a + b == 0.0 { 0.0 } else { 2.0 * a * b / (a + b) }
}

/// The number of lines in the best pairing of marked and given topics.
fn overlap(both: &BTreeMap<(usize, usize, usize), usize>) -> usize {
    let mut logs: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
    for (&(log, gold, given), &count) in both {
        logs.entry(log).or_default().push((gold, given, count));
    }
    logs.values().flat_map(|cells| components(cells)).map(|cells| best_pairing(&cells)).sum()
}

/// Parts of a table that share no row and no column. Pairing each alone keeps the matrices small.
fn components(cells: &[Cell]) -> Vec<Vec<Cell>> {
    let mut parts: Vec<Vec<Cell>> = Vec::new();
    for &cell in cells {
        let touches = |part: &Vec<Cell>| part.iter().any(|other| other.0 == cell.0 || other.1 == cell.1);
        let (joined, mut apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(touches);
        apart.push(joined.into_iter().flatten().chain([cell]).collect());
        parts = apart;
    }
    parts
}

/// The largest sum of cells of which no two share a row or a column: the Hungarian method with potentials, cubic in
/// the number of topics.
fn best_pairing(cells: &[Cell]) -> usize {
    let rows = places(cells.iter().map(|cell| cell.0));
    let columns = places(cells.iter().map(|cell| cell.1));
    let size = rows.len().max(columns.len());
    let mut gain = vec![vec![0i64; size]; size];
    for (row, column, count) in cells {
        gain[rows[row]][columns[column]] += i64::try_from(*count).expect("counts of lines in memory fit");
    }
    // Row and column 0 are the method's own; `row_of[column]` is who holds the column.
    let (mut row_price, mut column_price) = (vec![0i64; size + 1], vec![0i64; size + 1]);
    let mut row_of = vec![0usize; size + 1];
    for row in 1..=size {
        let from = find_path(row, &gain, &mut row_price, &mut column_price, &mut row_of);
        let mut column = from.end;
        while column != 0 {
            row_of[column] = row_of[from.before[column]];
            column = from.before[column];
        }
    }
    let sum: i64 = (1..=size).map(|column| gain[row_of[column] - 1][column - 1]).sum();
    usize::try_from(sum).expect("gains are not negative")
}

/// How a free column was reached.
struct Path {
    end: usize,
    before: Vec<usize>,
}

/// The cheapest way from `row` to a column that nobody holds (the inner step of the Hungarian method).
fn find_path(row: usize, gain: &[Vec<i64>], rows: &mut [i64], columns: &mut [i64], row_of: &mut [usize]) -> Path {
    let size = gain.len();
    let mut cheapest = vec![i64::MAX; size + 1];
    let mut before = vec![0usize; size + 1];
    let mut done = vec![false; size + 1];
    row_of[0] = row;
    let mut at = 0;
    loop {
        done[at] = true;
        let holder = row_of[at];
        let (mut step, mut next) = (i64::MAX, 0);
        for column in (1..=size).filter(|&column| !done[column]) {
            let cost = -gain[holder - 1][column - 1] - rows[holder] - columns[column];
            if cost < cheapest[column] {
                cheapest[column] = cost;
                before[column] = at;
            }
            if cheapest[column] < step {
                (step, next) = (cheapest[column], column);
            }
        }
        for column in 0..=size {
            if done[column] {
                rows[row_of[column]] += step;
                columns[column] -= step;
            } else {
                cheapest[column] -= step;
            }
        }
        at = next;
        if row_of[at] == 0 {
            return Path { end: at, before };
        }
    }
}

/// Each different value with its place in order.
fn places<T: Ord + Hash>(values: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    values.collect::<BTreeSet<T>>().into_iter().enumerate().map(|(place, value)| (value, place)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judged(gold: &[usize], given: &[usize]) -> Vec<Judged> {
        gold.iter().zip(given).map(|(&gold, &given)| Judged { log: 0, gold, given }).collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn figures_of_small_cases_by_hand() {
        let halves = agreement(&judged(&[0, 0, 1, 1], &[0, 1, 0, 1]));
        assert!(near(halves.variation_of_information, 0.0), "{halves:?}");
        assert!(near(halves.one_to_one, 0.5));
        assert!(near(halves.exact_f1, 0.0) && near(halves.pair_precision, 0.0));

        let merged = agreement(&judged(&[0, 0, 0, 1], &[0, 0, 0, 0]));
        assert!(near(merged.one_to_one, 0.75));
        // H(gold) = 0.8113 bits of 2.
        assert!((merged.variation_of_information - (1.0 - 0.811_278_124 / 2.0)).abs() < 1e-6);
        assert!(near(merged.pair_precision, 0.5) && near(merged.pair_recall, 1.0));

        let third = agreement(&judged(&[0, 0, 1, 1, 2, 3], &[0, 0, 1, 2, 3, 3]));
        assert!(near(third.exact_precision, 0.5) && near(third.exact_recall, 0.5) && near(third.exact_f1, 0.5));
        assert!(near(third.one_to_one, 4.0 / 6.0));
    }

    #[test]
    fn the_best_pairing_is_not_the_greedy_one() {
        // Greedy takes 5 and then 0; the best is 4 + 4.
        assert_eq!(best_pairing(&[(0, 0, 5), (0, 1, 4), (1, 0, 4)]), 8);
    }

    #[test]
    fn nothing_to_judge_agrees() {
        let empty = agreement(&[]);
        assert!(near(empty.variation_of_information, 1.0) && near(empty.one_to_one, 1.0) && near(empty.exact_f1, 1.0));
    }

    #[test]
    fn topics_of_two_logs_are_never_one() {
        let mut lines = judged(&[0, 0], &[0, 0]);
        lines.extend(judged(&[0, 0], &[0, 0]).into_iter().map(|line| Judged { log: 1, ..line }));
        let agreement = agreement(&lines);
        assert!(near(agreement.one_to_one, 1.0) && near(agreement.variation_of_information, 1.0));
    }

    /// All pairings, tried.
    fn best_by_trying(cells: &[Cell], rows: &[usize], taken: &mut Vec<usize>) -> usize {
        let Some((&row, rest)) = rows.split_first() else { return 0 };
        let mut best = best_by_trying(cells, rest, taken);
        for &(_, column, count) in cells.iter().filter(|cell| cell.0 == row) {
            if !taken.contains(&column) {
                taken.push(column);
                best = best.max(count + best_by_trying(cells, rest, taken));
                taken.pop();
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_pairing_is_the_best_of_all(
            table in prop::collection::btree_map((0usize..5, 0usize..5), 1usize..9, 1..14)
        ) {
            let cells: Vec<_> = table.iter().map(|(&(row, column), &count)| (row, column, count)).collect();
            let by_parts: usize = components(&cells).iter().map(|part| best_pairing(part)).sum();
            prop_assert_eq!(by_parts, best_by_trying(&cells, &[0, 1, 2, 3, 4], &mut Vec::new()));
        }

        #[test]
        fn a_division_agrees_with_itself_under_any_names(gold in prop::collection::vec(0usize..6, 1..40)) {
            let renamed: Vec<usize> = gold.iter().map(|topic| 100 - topic).collect();
            let figures = agreement(&judged(&gold, &renamed));
            prop_assert!(near(figures.variation_of_information, 1.0));
            prop_assert!(near(figures.one_to_one, 1.0) && near(figures.exact_f1, 1.0));
        }
    }
}
