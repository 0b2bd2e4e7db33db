//! A team's chunks in memory, for scans: their lengths in words and their vectors, a byte a number.
//!
//! A cache: the rows are the truth. A shelf is brought up to date with the chunks whose stamp it has not seen; a chunk
//! that is gone leaves a slot that finds nothing, until enough of them are gone and the shelf is made anew. Searches at
//! the same time may each bring a shelf up to date; blocks that did not change are shared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use base::TeamName;
use store::Conn;
use store::memory::{self, Slot, Totals};

/// How many chunks are read at once.
const PAGE: u32 = 10_000;
/// So many more slots than chunks are no reason to make a shelf anew.
const GONE: usize = 64;
/// How many slots a block has: what is copied when one of them changes while somebody searches.
const BLOCK: usize = 4_096;
/// From this number of places on, it is worth remembering how many a term has: to count them is to read them all.
const COMMON: i64 = 1_000;

/// The shelves of the teams that searched last.
#[derive(Debug)]
pub(crate) struct Shelves {
    bytes_max: usize,
    /// The one used last is at the end.
    held: Mutex<Vec<Held>>,
}

#[derive(Debug)]
struct Held {
    team: TeamName,
    model: String,
    shelf: Arc<Shelf>,
    /// Whether somebody searched since [`Shelves::release_unused`] looked last.
    used: bool,
}

/// The chunks of one team. Invariant: `index` is sorted, and its slots are those of the blocks.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    /// How many numbers a vector has; 0 until one was seen.
    dimension: usize,
    bytes_max: usize,
    /// How many bytes of vectors there are.
    row_bytes: usize,
    stamp: i64,
    /// Chunk and slot, by chunk.
    index: Vec<(i64, u32)>,
    /// All full but the last.
    blocks: Vec<Arc<Block>>,
    common: Arc<Common>,
}

/// Some slots. `chunks`, `words` and `scales` are of one length.
#[derive(Clone, Debug, Default)]
struct Block {
    chunks: Vec<i64>,
    words: Vec<u16>,
    /// What a slot's bytes are multiplied with; 0 where there is no vector.
    scales: Vec<f32>,
    /// The slots' bytes one after the other, up to the last slot that has any.
    rows: Vec<i8>,
}

/// How many places common terms have, about: a cache within a cache.
#[derive(Debug, Default)]
struct Common {
    /// How many slots there were when it was begun.
    slots: usize,
    counts: Mutex<HashMap<String, i64>>,
}

impl Shelves {
    /// Room for so many bytes of vectors, over all teams.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Shelves { bytes_max, held: Mutex::default() }
    }

    /// The team's shelf, with the vectors of this model, as the database is now.
    pub(crate) async fn of(&self, conn: &mut Conn, team: &TeamName, model: &str, totals: Totals) -> Result<Arc<Shelf>> {
        let chunks = usize::try_from(totals.chunks).unwrap_or(0);
        let held = self.find(team, model).filter(|shelf| shelf.len() <= chunks + chunks / 4 + GONE);
        if let Some(shelf) = held.clone().filter(|shelf| shelf.stamp >= totals.stamp) {
            return Ok(shelf);
        }
        let mut shelf = held.map_or_else(|| Shelf::empty(self.bytes_max), Arc::unwrap_or_clone);
        shelf.catch_up(conn, team, model).await?;
        let shelf = Arc::new(shelf);
        self.keep(team, model, shelf.clone());
        Ok(shelf)
    }

    fn find(&self, team: &TeamName, model: &str) -> Option<Arc<Shelf>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let at = held.iter().position(|held| held.team == *team && held.model == model)?;
        let mut found = held.remove(at);
        found.used = true;
        let shelf = found.shelf.clone();
        held.push(found);
        Some(shelf)
    }

    fn keep(&self, team: &TeamName, model: &str, shelf: Arc<Shelf>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Another search may have brought it up to date at the same time, and further.
        let newer = |other: &Held| other.team == *team && other.model == model && other.shelf.stamp > shelf.stamp;
        if held.iter().any(newer) {
            return;
        }
        held.retain(|other| other.team != *team);
        held.push(Held { team: team.clone(), model: model.to_owned(), shelf, used: true });
        let bytes = |held: &[Held]| held.iter().map(|held| held.shelf.bytes()).sum::<usize>();
        while held.len() > 1 && bytes(&held) > self.bytes_max {
            held.remove(0);
        }
    }

    /// Gives back the memory of the shelves that nobody used since this was called last.
    pub(crate) fn release_unused(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain_mut(|held| std::mem::take(&mut held.used));
    }
}

impl Shelf {
    fn empty(bytes_max: usize) -> Self {
        let (index, blocks, common) = (Vec::new(), Vec::new(), Arc::default());
        Shelf { dimension: 0, bytes_max, row_bytes: 0, stamp: 0, index, blocks, common }
    }

    async fn catch_up(&mut self, conn: &mut Conn, team: &TeamName, model: &str) -> Result<()> {
        loop {
            let page = memory::slots_after(conn, team, model, self.stamp, PAGE).await?;
            let last = page.len() < PAGE as usize;
            self.add(page);
            if last {
                break;
            }
        }
        if self.len() > self.common.slots + self.common.slots / 8 {
            self.common = Arc::new(Common { slots: self.len(), counts: Mutex::default() });
        }
        Ok(())
    }

    /// Takes in chunks, in the order of their stamps; one that is here already is replaced.
    fn add(&mut self, page: Vec<Slot>) {
        let known = self.index.len();
        for chunk in page {
            self.stamp = self.stamp.max(chunk.stamp);
            let slot = match self.index[..known].binary_search_by_key(&chunk.chunk, |(id, _)| *id) {
                Ok(at) => self.index[at].1 as usize,
                Err(_) => {
                    let slot = self.len();
                    self.index.push((chunk.chunk, u32::try_from(slot).expect("a team has fewer than 2^32 chunks")));
                    slot
                }
            };
            self.put(slot, &chunk);
        }
        self.index.sort_unstable();
    }

    /// Fills a slot, which is there or is the next one.
    fn put(&mut self, slot: usize, chunk: &Slot) {
        let (block, at) = (slot / BLOCK, slot % BLOCK);
        if block == self.blocks.len() {
            self.blocks.push(Arc::default());
        }
        let block = Arc::make_mut(&mut self.blocks[block]);
        if at == block.chunks.len() {
            block.chunks.push(chunk.chunk);
            block.words.push(0);
            block.scales.push(0.0);
        }
        block.words[at] = u16::try_from(chunk.words).unwrap_or(u16::MAX);
        block.scales[at] = 0.0;
        let Some(vector) = chunk.vector.as_deref().filter(|vector| !vector.is_empty()) else { return };
        if self.dimension == 0 {
            self.dimension = vector.len();
        }
        let row = at * self.dimension..(at + 1) * self.dimension;
        let more = row.end.saturating_sub(block.rows.len());
        // Past the bound a chunk is found by its words alone.
        if self.row_bytes + more <= self.bytes_max {
            block.rows.resize(block.rows.len() + more, 0);
            self.row_bytes += more;
            block.scales[at] = quantise(vector, &mut block.rows[row]);
        }
    }

    fn bytes(&self) -> usize {
        self.row_bytes + self.len() * (size_of::<(i64, u32)>() + size_of::<(i64, u16, f32)>())
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Chunks with their slots, by chunk.
    pub(crate) fn index(&self) -> &[(i64, u32)] {
        &self.index
    }

    /// A slot's chunk.
    pub(crate) fn chunk(&self, slot: u32) -> i64 {
        let (block, at) = self.place(slot);
        block.chunks[at]
    }

    /// How many words a slot's chunk has.
    pub(crate) fn words(&self, slot: u32) -> f32 {
        let (block, at) = self.place(slot);
        f32::from(block.words[at])
    }

    /// About how many places a common term has in the index, if that is known already.
    pub(crate) fn places_of(&self, term: &str) -> Option<i64> {
        self.common.counts.lock().unwrap_or_else(PoisonError::into_inner).get(term).copied()
    }

    /// Remembers how many places a term has.
    pub(crate) fn note_places_of(&self, term: &str, places: i64) {
        if places >= COMMON {
            self.common.counts.lock().unwrap_or_else(PoisonError::into_inner).insert(term.to_owned(), places);
        }
    }

    /// Whether a vector of this length can be compared with any slot's.
    pub(crate) fn compares(&self, dimension: usize) -> bool {
        self.dimension == dimension && self.blocks.iter().any(|block| block.scales.iter().any(|scale| *scale > 0.0))
    }

    /// A slot's vector, times `weight`, on top of `sum`.
    pub(crate) fn add_vector(&self, slot: u32, weight: f32, sum: &mut [f32]) {
        let (block, at) = self.place(slot);
        let factor = block.scales[at] * weight;
        if let Some(row) = block.rows.get(at * self.dimension..(at + 1) * self.dimension)
            && factor != 0.0
        {
            for (number, byte) in sum.iter_mut().zip(row) {
                *number += factor * f32::from(*byte);
            }
        }
    }

    /// Every slot's product with a vector: the cosine, as both are of length 1. 0 where a slot has none.
    pub(crate) fn cosines(&self, vector: &[f32]) -> Vec<f32> {
        let mut bytes = vec![0; self.dimension];
        let scale = quantise(vector, &mut bytes);
        let question: Vec<i16> = bytes.into_iter().map(i16::from).collect();
        let mut out = Vec::with_capacity(self.len());
        for (number, block) in self.blocks.iter().enumerate() {
            let rows = block.rows.chunks_exact(self.dimension.max(1));
            out.extend(rows.zip(&block.scales).map(|(row, own)| product(row, &question) as f32 * own * scale));
            out.resize(((number + 1) * BLOCK).min(self.len()), 0.0);
        }
        out
    }

    fn place(&self, slot: u32) -> (&Block, usize) {
        let slot = slot as usize;
        (&self.blocks[slot / BLOCK], slot % BLOCK)
    }
}

/// Written so that the compiler makes instructions of it that multiply and add eight pairs at once.
fn product(row: &[i8], question: &[i16]) -> i32 {
    let (rows, rest) = row.as_chunks::<32>();
    let (questions, rest_of_question) = question.as_chunks::<32>();
    let pair = |row: i8, question: i16| i32::from(i16::from(row)) * i32::from(question);
    let mut whole = 0;
    for (row, question) in rows.iter().zip(questions) {
        let mut sum = 0;
        for at in 0..32 {
            sum += pair(row[at], question[at]);
        }
        whole += sum;
    }
    whole + rest.iter().zip(rest_of_question).map(|(row, question)| pair(*row, *question)).sum::<i32>()
}

/// A vector as bytes, and what to multiply them with. All zeros where it has another length than the bytes.
fn quantise(vector: &[f32], row: &mut [i8]) -> f32 {
    row.fill(0);
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    if largest == 0.0 || !length.is_normal() || vector.len() != row.len() {
        return 0.0;
    }
    for (byte, number) in row.iter_mut().zip(vector) {
        *byte = (number / largest * 127.0).round() as i8;
    }
    largest / length / 127.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slot(chunk: i64, stamp: i64, vector: Option<Vec<f32>>) -> Slot {
        Slot { chunk, stamp, words: chunk, vector }
    }

    fn hundredths(cosines: &[f32]) -> Vec<i32> {
        cosines.iter().map(|cosine| (cosine * 100.0).round() as i32).collect()
    }

    #[test]
    fn a_shelf_knows_each_chunk_once_and_as_it_is_now() {
        let mut shelf = Shelf::empty(1_000);
        shelf.add(vec![slot(5, 1, None), slot(7, 2, Some(vec![0.0, 2.0]))]);
        let before = shelf.clone();
        shelf.add(vec![slot(6, 3, Some(vec![1.0, 1.0])), slot(5, 4, Some(vec![3.0, 0.0]))]);
        assert_eq!((shelf.stamp, shelf.index()), (4, [(5, 0), (6, 2), (7, 1)].as_slice()));
        assert_eq!([0, 1, 2].map(|slot| shelf.chunk(slot)), [5, 7, 6]);
        assert_eq!(hundredths(&shelf.cosines(&[0.5, 0.0])), [100, 0, 71]);
        assert_eq!((before.stamp, hundredths(&before.cosines(&[0.5, 0.0]))), (2, vec![0, 0]));
    }

    #[test]
    fn past_its_bound_a_shelf_keeps_words_and_no_vectors() {
        let mut shelf = Shelf::empty(3);
        shelf.add(vec![slot(1, 1, Some(vec![1.0, 0.0])), slot(2, 2, Some(vec![1.0, 0.0]))]);
        assert_eq!(hundredths(&shelf.cosines(&[1.0, 0.0])), [100, 0]);
        assert_eq!((shelf.len(), shelf.words(1)), (2, 2.0));
    }

    #[test]
    fn a_vector_of_another_length_counts_as_none() {
        let mut shelf = Shelf::empty(1_000);
        assert!(!shelf.compares(0) && !shelf.compares(2));
        shelf.add(vec![slot(1, 1, Some(vec![1.0, 0.0])), slot(2, 2, Some(vec![1.0, 0.0, 0.0]))]);
        assert!(shelf.compares(2) && !shelf.compares(3));
        assert_eq!(hundredths(&shelf.cosines(&[1.0, 0.0])), [100, 0]);
    }

    #[test]
    fn every_slot_has_its_own_product_over_all_blocks() {
        let mut shelf = Shelf::empty(1_000_000);
        let block = BLOCK as i64;
        let chunks = block * 3 + 100;
        // Every third has a vector, none of the last of a block, none of the second block: what is missing must shift
        // nothing.
        let has = |chunk: i64| chunk % 3 == 0 && chunk % block < block - 10 && chunk / block != 1;
        let vector = |chunk: i64| has(chunk).then(|| vec![1.0, (chunk % 7) as f32]);
        shelf.add((0..chunks).map(|chunk| slot(chunk, chunk + 1, vector(chunk))).collect());
        let expected = |chunk: i64| if has(chunk) { 1.0 / (1.0 + ((chunk % 7) as f32).powi(2)).sqrt() } else { 0.0 };
        let cosines = shelf.cosines(&[1.0, 0.0]);
        assert_eq!(cosines.len(), shelf.len());
        for (chunk, cosine) in cosines.iter().enumerate() {
            assert!((cosine - expected(chunk as i64)).abs() < 0.02, "{chunk}: {cosine}");
        }
    }

    #[test]
    fn what_nobody_uses_is_given_back() {
        let shelves = Shelves::new(1_000);
        let (ops, docs): (TeamName, TeamName) = ("ops".parse().unwrap(), "docs".parse().unwrap());
        for team in [&ops, &docs] {
            shelves.keep(team, "m", Arc::new(Shelf::empty(1_000)));
        }
        shelves.release_unused();
        assert!(shelves.find(&ops, "m").is_some() && shelves.find(&docs, "other").is_none());
        shelves.release_unused();
        assert!(shelves.find(&docs, "m").is_none() && shelves.find(&ops, "m").is_some());
    }

    #[test]
    fn an_older_shelf_does_not_take_the_place_of_a_newer_one() {
        let (shelves, ops): (_, TeamName) = (Shelves::new(1_000), "ops".parse().unwrap());
        for stamp in [2, 1] {
            shelves.keep(&ops, "m", Arc::new(Shelf { stamp, ..Shelf::empty(1_000) }));
        }
        assert_eq!(shelves.find(&ops, "m").map(|shelf| shelf.stamp), Some(2));
    }

    proptest! {
        #[test]
        fn a_product_is_the_sum_of_the_products(pairs in prop::collection::vec((any::<i8>(), -127..=127_i16), 0..200)) {
            let (row, question): (Vec<i8>, Vec<i16>) = pairs.iter().copied().unzip();
            let expected: i32 = pairs.iter().map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            prop_assert_eq!(product(&row, &question), expected);
        }
    }
}
