//! A team's chunks in memory, for scans: their lengths in words and their vectors, a byte a number.
//!
//! A cache: the rows are the truth. A shelf is brought up to date with the chunks whose stamp it has not seen; a chunk
//! that is gone leaves a slot that finds nothing, until enough of them are gone and the shelf is made anew.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use base::TeamName;
use store::Conn;
use store::memory::{self, Slot, Totals};

/// How many chunks are read at once.
const PAGE: u32 = 10_000;
/// So many more slots than chunks are no reason to make a shelf anew.
const GONE: usize = 64;

/// The shelves of the teams that searched last.
#[derive(Debug)]
pub(crate) struct Shelves {
    bytes_max: usize,
    /// The one used last is at the end.
    held: Mutex<Vec<(TeamName, Arc<Shelf>)>>,
}

/// The chunks of one team. Invariant: `index` is sorted, and its slots are those of the other lists.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    dimension: usize,
    bytes_max: usize,
    stamp: i64,
    /// Chunk and slot, by chunk.
    index: Vec<(i64, u32)>,
    words: Vec<u16>,
    /// What a slot's bytes are multiplied with; 0 where there is no vector.
    scales: Vec<f32>,
    rows: Vec<i8>,
}

impl Shelves {
    /// Room for so many bytes of vectors, over all teams.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Shelves { bytes_max, held: Mutex::default() }
    }

    /// The team's shelf as the database is now.
    pub(crate) async fn of(
        &self,
        conn: &mut Conn,
        team: &TeamName,
        (model, dimension): (&str, usize),
        totals: Totals,
    ) -> Result<Arc<Shelf>> {
        let chunks = usize::try_from(totals.chunks).unwrap_or(0);
        let held = self.take(team).filter(|shelf| shelf.len() <= chunks + chunks / 4 + GONE);
        let shelf = match held {
            Some(shelf) if shelf.stamp >= totals.stamp => shelf,
            held => {
                let empty = || Shelf::empty(dimension, self.bytes_max);
                let mut shelf = held.map_or_else(empty, Arc::unwrap_or_clone);
                shelf.catch_up(conn, team, model).await?;
                Arc::new(shelf)
            }
        };
        self.put(team, shelf.clone());
        Ok(shelf)
    }

    fn take(&self, team: &TeamName) -> Option<Arc<Shelf>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let at = held.iter().position(|(name, _)| name == team)?;
        Some(held.remove(at).1)
    }

    fn put(&self, team: &TeamName, shelf: Arc<Shelf>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Two searches at once may both have brought a shelf up to date.
        held.retain(|(name, _)| name != team);
        held.push((team.clone(), shelf));
        let bytes = |held: &[(TeamName, Arc<Shelf>)]| held.iter().map(|(_, shelf)| shelf.bytes()).sum::<usize>();
        while held.len() > 1 && bytes(&held) > self.bytes_max {
            held.remove(0);
        }
    }
}

impl Shelf {
    fn empty(dimension: usize, bytes_max: usize) -> Self {
        let (index, words, scales, rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Shelf { dimension, bytes_max, stamp: 0, index, words, scales, rows }
    }

    async fn catch_up(&mut self, conn: &mut Conn, team: &TeamName, model: &str) -> Result<()> {
        loop {
            let page = memory::slots_after(conn, team, model, self.stamp, PAGE).await?;
            let last = page.len() < PAGE as usize;
            self.add(page);
            if last {
                return Ok(());
            }
        }
    }

    /// Takes in chunks, in the order of their stamps; one that is here already is replaced.
    fn add(&mut self, page: Vec<Slot>) {
        let known = self.index.len();
        for chunk in page {
            self.stamp = self.stamp.max(chunk.stamp);
            let at = match self.index[..known].binary_search_by_key(&chunk.chunk, |(id, _)| *id) {
                Ok(at) => self.index[at].1 as usize,
                Err(_) => {
                    let at = self.words.len();
                    self.index.push((chunk.chunk, u32::try_from(at).expect("a team has fewer than 2^32 chunks")));
                    self.words.push(0);
                    self.scales.push(0.0);
                    // Past the bound a chunk is found by its words alone.
                    if self.rows.len() == at * self.dimension && self.rows.len() + self.dimension <= self.bytes_max {
                        self.rows.resize(self.rows.len() + self.dimension, 0);
                    }
                    at
                }
            };
            self.words[at] = u16::try_from(chunk.words).unwrap_or(u16::MAX);
            self.scales[at] = 0.0;
            if let (Some(vector), Some(row)) =
                (chunk.vector, self.rows.get_mut(at * self.dimension..(at + 1) * self.dimension))
            {
                self.scales[at] = quantise(&vector, row);
            }
        }
        self.index.sort_unstable();
    }

    fn bytes(&self) -> usize {
        self.rows.len() + self.words.len() * (size_of::<(i64, u32)>() + 6)
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Chunks with their slots, by chunk.
    pub(crate) fn index(&self) -> &[(i64, u32)] {
        &self.index
    }

    /// How many words a slot's chunk has.
    pub(crate) fn words(&self, slot: u32) -> f32 {
        f32::from(self.words[slot as usize])
    }

    /// Whether any slot has a vector.
    pub(crate) fn has_vectors(&self) -> bool {
        self.scales.iter().any(|scale| *scale > 0.0)
    }

    /// A slot's vector, times `weight`, on top of `sum`.
    pub(crate) fn add_vector(&self, slot: u32, weight: f32, sum: &mut [f32]) {
        let slot = slot as usize;
        let factor = self.scales[slot] * weight;
        if let Some(row) = self.rows.get(slot * self.dimension..(slot + 1) * self.dimension)
            && factor != 0.0
        {
            for (number, byte) in sum.iter_mut().zip(row) {
                *number += factor * f32::from(*byte);
            }
        }
    }

    /// Every slot's product with a vector: the cosine, as both are of length 1. 0 where a slot has none.
    pub(crate) fn cosines(&self, vector: &[f32]) -> Vec<f32> {
        let mut question = vec![0; self.dimension];
        let scale = quantise(vector, &mut question);
        let mut out = vec![0.0; self.len()];
        for ((out, row), own) in out.iter_mut().zip(self.rows.chunks_exact(self.dimension.max(1))).zip(&self.scales) {
            *out = product(row, &question) as f32 * own * scale;
        }
        out
    }
}

/// Written so that the compiler makes vector instructions of it: sums of 16-bit products.
fn product(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
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
    use super::*;

    fn slot(chunk: i64, stamp: i64, vector: Option<Vec<f32>>) -> Slot {
        Slot { chunk, stamp, words: chunk, vector }
    }

    #[test]
    fn a_shelf_knows_each_chunk_once_and_as_it_is_now() {
        let mut shelf = Shelf::empty(2, 1_000);
        shelf.add(vec![slot(5, 1, None), slot(7, 2, Some(vec![0.0, 2.0]))]);
        shelf.add(vec![slot(6, 3, Some(vec![1.0, 1.0])), slot(5, 4, Some(vec![3.0, 0.0]))]);
        assert_eq!((shelf.stamp, shelf.index()), (4, [(5, 0), (6, 2), (7, 1)].as_slice()));
        let cosines: Vec<i32> =
            shelf.cosines(&[0.5, 0.0]).iter().map(|cosine| (cosine * 100.0).round() as i32).collect();
        assert_eq!(cosines, [100, 0, 71]);
    }

    #[test]
    fn past_its_bound_a_shelf_keeps_words_and_no_vectors() {
        let mut shelf = Shelf::empty(2, 3);
        shelf.add(vec![slot(1, 1, Some(vec![1.0, 0.0])), slot(2, 2, Some(vec![1.0, 0.0]))]);
        assert_eq!(shelf.cosines(&[1.0, 0.0]).iter().map(|cosine| cosine.round()).collect::<Vec<_>>(), [1.0, 0.0]);
        assert_eq!((shelf.len(), shelf.words(1)), (2, 2.0));
    }

    #[test]
    fn a_vector_of_another_length_counts_as_none() {
        let mut shelf = Shelf::empty(3, 1_000);
        shelf.add(vec![slot(1, 1, Some(vec![1.0, 0.0]))]);
        assert!(!shelf.has_vectors());
    }
}
