//! What a team remembers about a question: words and vectors together, newer before older, each thing once.

use std::collections::HashMap;

use anyhow::Result;
use base::{Moment, TeamName};
use store::Conn;
use store::memory::{self, Found};

use super::embed::normalise;
use super::shelf::Shelf;
use super::{Kind, Library, diverse, lexical, snippet, stop};

/// The vectors' share of a score. Fitted: from 0.2 to 0.4 there is little to choose, from 0.6 on words alone are better.
const VECTORS: f32 = 0.35;
/// The vector of a question is moved towards those of its best chunks by words: so many of them,
const FEEDBACK: usize = 5;
/// and weighing so much against the question's own. It is worth three points of the mean average precision.
const FEEDBACK_WEIGHT: f32 = 1.0;
/// A chunk without a word of the question must be so near to it, as a cosine. Vectors alone always find something.
const NEAR: f32 = 0.4;
/// How long until what ages has lost half of what it can lose.
const HALF_LIFE_DAYS: f32 = 30.0;
/// What an old memory keeps of its score however old it is: the right one is found after years.
const AGED: f32 = 0.4;
/// What a superseded entry keeps of its score: what took its place comes first.
const SUPERSEDED: f32 = 0.6;
/// How many chunks are looked at at most for each result that is wanted, and at least if there are as many.
const LOOKED_AT: usize = 4;
const LOOKED_AT_MIN: usize = 200;
/// How many of them are read at once: where most are new, the first ones settle it.
const LOOKED_AT_ONCE: usize = 24;
/// How many entries are ranked for each that is wanted: those that say the same as others give way.
const RANKED: usize = diverse::CHOICE;
/// The most results of one search.
pub const RESULTS_MAX: usize = 1_000;

/// A question, with its vector where there is one.
#[derive(Clone, Debug)]
pub struct Question {
    pub(crate) words: Vec<String>,
    vector: Option<Vec<f32>>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The entry.
    pub memory: i64,
    /// Its key.
    pub key: String,
    /// The part of it that answers best, at most 500 characters.
    pub snippet: String,
    /// How well it answers, from 0 to 1; comparable within one search.
    pub score: f32,
    /// Its type.
    pub kind: Kind,
    /// Whether it is what its key means now; else it is superseded.
    pub is_active: bool,
    /// What it was found with.
    pub source: Source,
}

/// What a search used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Words and vectors.
    Hybrid,
    /// Words alone.
    Keyword,
}

impl Source {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Hybrid => "hybrid",
            Source::Keyword => "keyword",
        }
    }
}

/// Makes a question of any text. Where the model does not give its vector soon, it is asked by its words alone. Not to be
/// called in a transaction: a model may be far away.
pub async fn question(library: &Library, text: &str) -> Question {
    let words = stop::content_words(text);
    if words.is_empty() {
        return Question { words, vector: None };
    }
    let text = [base::text::cut(text, QUESTION_CHARS)];
    let says_something = |vector: &Vec<f32>| vector.iter().any(|number| *number != 0.0);
    let vector = library.vectors(&text).await.and_then(|mut vectors| vectors.pop()).filter(says_something);
    Question { words, vector }
}

/// How much of a question is given to a model.
const QUESTION_CHARS: usize = 4_000;

/// The `max` entries that answer best, best first; active and superseded ones, never deleted ones.
pub async fn search(
    conn: &mut Conn,
    library: &Library,
    team: &TeamName,
    question: &Question,
    max: usize,
    now: Moment,
) -> Result<Vec<Hit>> {
    let max = max.clamp(1, RESULTS_MAX);
    let (ranked, source) = ranked(conn, library, team, question, max, now).await?;
    let chosen = diverse::choose(ranked, max);
    let hit = |(found, score): (Found, f32)| Hit {
        memory: found.memory,
        snippet: snippet::of(&found.content, &question.words),
        score,
        kind: kind(&found),
        is_active: found.is_active,
        source,
        key: found.key,
    };
    Ok(chosen.into_iter().map(hit).collect())
}

/// The best chunk of each entry, best first; [`RANKED`] times as many entries as are wanted.
pub(crate) async fn ranked(
    conn: &mut Conn,
    library: &Library,
    team: &TeamName,
    question: &Question,
    max: usize,
    now: Moment,
) -> Result<(Vec<(Found, f32)>, Source)> {
    let totals = memory::totals(conn, team).await?;
    if question.words.is_empty() || totals.chunks == 0 {
        return Ok((Vec::new(), Source::Keyword));
    }
    let shelf = library.shelves.of(conn, team, library.embedder.name(), totals).await?;
    let words = lexical::scores(conn, &shelf, totals, &question.words).await?;
    let (scores, source) = fuse(&shelf, words, question.vector.as_deref());
    let best = best_slots(&scores, LOOKED_AT_MIN.max(max * LOOKED_AT));
    let wanted = max * RANKED;
    let mut of_entry: HashMap<i64, (Found, f32)> = HashMap::new();
    for part in best.chunks(wanted.max(LOOKED_AT_ONCE)) {
        // Age and state only take away: nothing from here on is worth more than its score.
        let settled = of_entry.values().filter(|(_, worth)| *worth > part[0].1).count();
        if settled >= wanted {
            break;
        }
        look_at(conn, team, &shelf, part, now, &mut of_entry).await?;
    }
    let mut ranked: Vec<(Found, f32)> = of_entry.into_values().collect();
    ranked.sort_unstable_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then(b.memory.cmp(&a.memory)));
    ranked.truncate(wanted);
    Ok((ranked, source))
}

/// Reads the chunks of these slots, and keeps the best one of each entry.
async fn look_at(
    conn: &mut Conn,
    team: &TeamName,
    shelf: &Shelf,
    slots: &[(u32, f32)],
    now: Moment,
    of_entry: &mut HashMap<i64, (Found, f32)>,
) -> Result<()> {
    let scores: HashMap<i64, f32> = slots.iter().map(|(slot, score)| (shelf.chunk(*slot), *score)).collect();
    let chunks: Vec<i64> = slots.iter().map(|(slot, _)| shelf.chunk(*slot)).collect();
    for found in memory::found(conn, team, &chunks).await? {
        let score = scores[&found.chunk] * worth(&found, now);
        let better = |(held, best): &(Found, f32)| score > *best || score == *best && found.chunk < held.chunk;
        if of_entry.get(&found.memory).is_none_or(better) {
            of_entry.insert(found.memory, (found, score));
        }
    }
    Ok(())
}

/// Words and vectors in one score from 0 to 1 for every slot.
fn fuse(shelf: &Shelf, mut words: Vec<f32>, vector: Option<&[f32]>) -> (Vec<f32>, Source) {
    let top = words.iter().copied().fold(0.0, f32::max);
    if top > 0.0 {
        words.iter_mut().for_each(|score| *score /= top);
    }
    let Some(vector) = vector.filter(|vector| shelf.compares(vector.len())) else { return (words, Source::Keyword) };
    let mut towards = vec![0.0; vector.len()];
    for (slot, score) in best_slots(&words, FEEDBACK) {
        shelf.add_vector(slot, score, &mut towards);
    }
    normalise(&mut towards);
    let mut moved = vector.to_vec();
    normalise(&mut moved);
    moved.iter_mut().zip(&towards).for_each(|(own, best)| *own += FEEDBACK_WEIGHT * best);
    normalise(&mut moved);
    let cosines = shelf.cosines(&moved);
    for (score, cosine) in words.iter_mut().zip(cosines) {
        let near = if *score > 0.0 {
            cosine.max(0.0)
        } else if cosine >= NEAR {
            cosine
        } else {
            0.0
        };
        *score = (1.0 - VECTORS) * *score + VECTORS * near;
    }
    (words, Source::Hybrid)
}

/// The slots with the `max` highest scores above 0, best first, the newer of two equals first.
fn best_slots(scores: &[f32], max: usize) -> Vec<(u32, f32)> {
    let order = |(a, of_a): &(u32, f32), (b, of_b): &(u32, f32)| of_b.total_cmp(of_a).then(b.cmp(a));
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(max * 2);
    // What does not reach it is not among the best, whatever follows.
    let mut bar = f32::MIN_POSITIVE;
    for (slot, score) in (0_u32..).zip(scores).filter(|(_, score)| **score > 0.0) {
        if *score < bar {
            continue;
        }
        best.push((slot, *score));
        if best.len() == max * 2 {
            let (_, last, _) = best.select_nth_unstable_by(max - 1, order);
            bar = last.1;
            best.truncate(max);
        }
    }
    best.sort_unstable_by(order);
    best.truncate(max);
    best
}

/// What age and state leave of a score.
fn worth(found: &Found, now: Moment) -> f32 {
    let state = if found.is_active { 1.0 } else { SUPERSEDED };
    state * freshness(kind(found), found.updated_at, now)
}

/// 1 for what is new or does not age, and less with time, down to [`AGED`].
pub(crate) fn freshness(kind: Kind, updated_at: Moment, now: Moment) -> f32 {
    if !kind.ages() {
        return 1.0;
    }
    let days = (now.saturating_sub(updated_at)).max(0) as f32 / 86_400_000.0;
    AGED + (1.0 - AGED) * 0.5_f32.powf(days / HALF_LIFE_DAYS)
}

fn kind(found: &Found) -> Kind {
    // The table refuses other words.
    found.kind.parse().unwrap_or(Kind::Context)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_slots_are_the_first_of_all_sorted(
            scores in prop::collection::vec(prop_oneof![(-2..6_i8).prop_map(f32::from), 0.0..1.0_f32], 0..300),
            max in 1..40_usize,
        ) {
            let mut sorted: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).filter(|slot| slot.1 > 0.0).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
            sorted.truncate(max);
            prop_assert_eq!(best_slots(&scores, max), sorted);
        }
    }
}
