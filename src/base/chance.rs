//! Chance: seeded in tests, the system's elsewhere.

use std::sync::{Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A source of random values. Clones of one share nothing: make one and lend it.
#[derive(Debug)]
pub struct Chance(Mutex<StdRng>);

impl Chance {
    /// From the system's entropy.
    #[expect(clippy::disallowed_methods, reason = "this is the door to chance")]
    pub fn real() -> Self {
        Chance(Mutex::new(rand::make_rng()))
    }

    /// The same values from the same seed.
    pub fn seeded(seed: u64) -> Self {
        Chance(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// A number below `bound`; zero where `bound` is zero.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..bound)
    }

    /// A code that a person types: `length` characters of an alphabet without look-alikes (no 0 O 1 I L U).
    /// 30 characters, so 8 of them are 39 bits.
    pub fn code(&self, length: usize) -> String {
        const ALPHABET: &[u8; 30] = b"ABCDEFGHJKMNPQRSTVWXYZ23456789";
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (0..length).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_code() {
        assert_eq!(Chance::seeded(7).code(8), Chance::seeded(7).code(8));
        assert_ne!(Chance::real().code(12), Chance::real().code(12));
        assert_eq!(Chance::real().below(0), 0);
    }
}
