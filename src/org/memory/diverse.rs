//! Each thing once: of entries that say the same, the best one is enough (maximal marginal relevance, Carbonell and
//! Goldstein 1998).

use std::collections::HashSet;

use store::memory::Found;

/// What relevance counts against sameness.
const RELEVANCE: f32 = 0.7;
/// So many entries for each that is wanted are chosen from.
pub(crate) const CHOICE: usize = 2;
/// Below this share of common words two entries are not the same thing: texts about one subject share words.
const SAME: f32 = 0.5;
/// Larger choices are not made: they grow with the square, and who wants a hundred results wants all of them.
const WANTED_MAX: usize = 50;

/// At most `max` of the ranked entries, in the order of their scores.
pub(crate) fn choose(mut ranked: Vec<(Found, f32)>, max: usize) -> Vec<(Found, f32)> {
    if ranked.len() <= max || max > WANTED_MAX {
        ranked.truncate(max);
        return ranked;
    }
    ranked.truncate(max * CHOICE);
    let top = ranked.first().map_or(1.0, |(_, score)| score.max(f32::MIN_POSITIVE));
    let words: Vec<HashSet<String>> = ranked.iter().map(|(found, _)| words(&found.content)).collect();
    let mut sameness = vec![0.0_f32; ranked.len()];
    let mut chosen = vec![false; ranked.len()];
    for _ in 0..max {
        let value = |at: usize| RELEVANCE * ranked[at].1 / top - (1.0 - RELEVANCE) * sameness[at];
        let open = (0..ranked.len()).filter(|at| !chosen[*at]);
        // The first of equals: they are sorted.
        let Some(next) = open.reduce(|best, at| if value(at) > value(best) { at } else { best }) else { break };
        chosen[next] = true;
        for at in 0..ranked.len() {
            sameness[at] = sameness[at].max(same(&words[at], &words[next]));
        }
    }
    let mut chosen = chosen.into_iter();
    ranked.retain(|_| chosen.next().unwrap_or(false));
    ranked
}

fn words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The share of common words, from 0 for [`SAME`] and less to 1 for all.
fn same(a: &HashSet<String>, b: &HashSet<String>) -> f32 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 1.0 } else { ((common as f32 / all as f32 - SAME) / (1.0 - SAME)).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(memory: i64, content: &str, score: f32) -> (Found, f32) {
        let (key, kind) = (memory.to_string(), "context".to_owned());
        let found = Found { chunk: memory, memory, key, kind, is_active: true, updated_at: 0, content: content.into() };
        (found, score)
    }

    #[test]
    fn of_two_that_say_the_same_the_second_gives_way() {
        let ranked = vec![
            found(1, "the host is db1 in Frankfurt", 1.0),
            found(2, "The host is DB1, in Frankfurt!", 0.9),
            found(3, "backups run at night", 0.8),
            found(4, "nothing of use", 0.1),
        ];
        let ids = |max| -> Vec<i64> { choose(ranked.clone(), max).iter().map(|(found, _)| found.memory).collect() };
        assert_eq!(ids(1), [1]);
        assert_eq!(ids(2), [1, 3]);
        assert_eq!(ids(3), [1, 2, 3]);
        assert_eq!(ids(9), [1, 2, 3, 4]);
    }
}
