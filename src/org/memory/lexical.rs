//! Which chunks share words with a question, and how much that says: BM25 over the full-text index.
//!
//! The postings are the index's; the sums are made here, because the index counts over all teams: a word that is
//! common elsewhere says no less in this team, and what others remember must not show in this team's results.

use anyhow::Result;
use store::Conn;
use store::memory::{self, Totals};

use super::script;
use super::shelf::Shelf;

/// How soon more of the same word stops to count, and how much long chunks count less: fitted on abstracts of about
/// 45 words (SQLite's own are 1.2 and 0.75, and find less there).
const K1: f32 = 1.0;
const B: f32 = 0.5;
/// A word of the key counts as much as so many in the text.
const TITLE: f32 = 2.0;
/// Most terms of a question that are looked up, the rarest ones.
const TERMS_MAX: usize = 48;
/// Most places of terms that one question reads. Rare terms come first: what is left out says least.
const PLACES_MAX: i64 = 25_000;

/// A score for every slot; 0 where a chunk shares no word with the question.
pub(crate) async fn scores(conn: &mut Conn, shelf: &Shelf, totals: Totals, words: &[String]) -> Result<Vec<f32>> {
    let mut scores = vec![0.0; shelf.len()];
    let mut left = PLACES_MAX;
    for (places, term) in terms(conn, shelf, words).await? {
        // The rarest term is read in any case, as far as it may be.
        if places > left && left < PLACES_MAX {
            break;
        }
        let read = memory::places(conn, &term, left).await?;
        left -= places;
        add(&mut scores, shelf, totals, &counts(shelf, &read));
    }
    Ok(scores)
}

/// The terms of a question that the index has, the rarest first, each with about how many places it has.
async fn terms(conn: &mut Conn, shelf: &Shelf, words: &[String]) -> Result<Vec<(i64, String)>> {
    let question = words.join(" ");
    let question = script::spaced(&question).unwrap_or(question);
    let mut terms = Vec::new();
    for term in memory::terms(conn, &question).await? {
        let places = match shelf.places_of(&term) {
            Some(places) => places,
            None => memory::places_of(conn, &term).await?,
        };
        shelf.note_places_of(&term, places);
        if places > 0 {
            terms.push((places, term));
        }
    }
    terms.sort_unstable();
    terms.truncate(TERMS_MAX);
    Ok(terms)
}

/// How often a term stands in each slot of this shelf.
fn counts(shelf: &Shelf, places: &[(i64, bool)]) -> Vec<(u32, f32)> {
    let mut counts: Vec<(u32, f32)> = Vec::new();
    let mut rest = shelf.index();
    for same in places.chunk_by(|(a, _), (b, _)| a == b) {
        let chunk = same[0].0;
        // Both are sorted: what was passed is not looked at again, and what is near is found soon.
        let mut reach = 1;
        while reach < rest.len() && rest[reach].0 < chunk {
            reach *= 2;
        }
        let near = &rest[..rest.len().min(reach + 1)];
        rest = &rest[near.partition_point(|(id, _)| *id < chunk)..];
        if let Some((id, slot)) = rest.first()
            && *id == chunk
        {
            let count = same.iter().map(|(_, in_title)| if *in_title { TITLE } else { 1.0 }).sum();
            counts.push((*slot, count));
        }
    }
    counts
}

fn add(scores: &mut [f32], shelf: &Shelf, totals: Totals, counts: &[(u32, f32)]) {
    let (chunks, with) = (totals.chunks.max(1) as f32, counts.len() as f32);
    let mean = (totals.words as f32 / chunks).max(1.0);
    let rarity = (1.0 + (chunks - with + 0.5).max(0.0) / (with + 0.5)).ln();
    for (slot, count) in counts {
        let length = 1.0 - B + B * shelf.words(*slot) / mean;
        scores[*slot as usize] += rarity * count * (K1 + 1.0) / (count + K1 * length);
    }
}
