//! What an answer costs, in millionths of a US dollar, as integers.

use serde::{Deserialize, Serialize};

use crate::response::Usage;

/// Millionths of a US dollar.
pub type MicroUsd = u64;

/// What a million tokens cost, in millionths of a US dollar: 3 dollars are 3,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Of input that was neither read from a cache nor written to one.
    pub input: MicroUsd,
    /// Of output.
    pub output: MicroUsd,
    /// Of input read from the cache.
    pub cache_read: MicroUsd,
    /// Of input written to the cache.
    pub cache_write: MicroUsd,
}

impl Prices {
    /// Costs nothing, and is known to.
    pub const FREE: Prices = Prices { input: 0, output: 0, cache_read: 0, cache_write: 0 };

    /// What `usage` costs, rounded up to a whole millionth once, so that many small answers are not free.
    pub fn cost(&self, usage: &Usage) -> MicroUsd {
        let parts = [
            (self.input, usage.input_tokens),
            (self.output, usage.output_tokens),
            (self.cache_read, usage.cache_read_tokens),
            (self.cache_write, usage.cache_write_tokens),
        ];
        // Four products of 64-bit numbers: only the sum of absurd ones could overflow 128 bits.
        let sum = parts
            .iter()
            .fold(0u128, |sum, (price, tokens)| sum.saturating_add(u128::from(*price) * u128::from(*tokens)));
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The list price of a model, or `None`: unknown, which is not zero.
///
/// A model is found under its name, and under its name followed by a date (`-20250929`, `-2024-08-06`) or `-latest`.
pub fn list_price(model: &str) -> Option<Prices> {
    let of = |name: &str| LIST.iter().find(|(known, ..)| *known == name);
    let (_, input, output, cache_read, cache_write) = of(model).or_else(|| of(undated(model)?))?;
    let micro = |thousandths: &u64| thousandths * 1_000;
    Some(Prices {
        input: micro(input),
        output: micro(output),
        cache_read: micro(cache_read),
        cache_write: micro(cache_write),
    })
}

/// The name without a date or `-latest` at its end.
fn undated(model: &str) -> Option<&str> {
    if let Some(name) = model.strip_suffix("-latest") {
        return Some(name);
    }
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, last) = model.rsplit_once('-')?;
    if digits(last, 8) {
        return Some(name);
    }
    let (name, month) = name.rsplit_once('-')?;
    let (name, year) = name.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(name)
}

/// Public list prices as of 2026-10-24, for requests of up to 200,000 tokens: name, then thousandths of a dollar per
/// million tokens for input, output, reading from and writing to the cache. Anthropic's writes are its five-minute
/// ones; OpenAI does not charge for writes beyond the input. Models that cost more from a shorter request on
/// (`claude-haiku-5-5`) are left out on purpose: one number would be wrong. What the configuration says goes first.
const LIST: &[(&str, u64, u64, u64, u64)] = &[
    ("claude-fable-5-1", 10_000, 50_000, 250, 12_500),
    ("claude-fable-5", 10_000, 50_000, 1_000, 12_500),
    ("claude-opus-5-5", 4_000, 20_000, 200, 5_000),
    ("claude-opus-5", 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-8", 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-7", 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-6", 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-5", 5_000, 25_000, 500, 6_250),
    ("claude-opus-4-1", 15_000, 75_000, 1_500, 18_750),
    ("claude-opus-4", 15_000, 75_000, 1_500, 18_750),
    ("claude-sonnet-5-5", 2_000, 10_000, 100, 2_500),
    ("claude-sonnet-5", 2_000, 10_000, 200, 2_500),
    ("claude-sonnet-4-6", 3_000, 15_000, 300, 3_750),
    ("claude-sonnet-4-5", 3_000, 15_000, 300, 3_750),
    ("claude-sonnet-4", 3_000, 15_000, 300, 3_750),
    ("claude-haiku-4-5", 1_000, 5_000, 100, 1_250),
    ("claude-3-5-haiku", 800, 4_000, 80, 1_000),
    ("gpt-5.5", 5_000, 30_000, 500, 5_000),
    ("gpt-5.4", 2_500, 15_000, 250, 2_500),
    ("gpt-5.4-mini", 750, 4_500, 75, 750),
    ("gpt-5.4-nano", 200, 1_250, 20, 200),
    ("gpt-5", 1_250, 10_000, 125, 1_250),
    ("gpt-5-mini", 250, 2_000, 25, 250),
    ("gpt-5-nano", 50, 400, 5, 50),
    ("gpt-4.1", 2_000, 8_000, 500, 2_000),
    ("gpt-4.1-mini", 400, 1_600, 100, 400),
    ("gpt-4.1-nano", 100, 400, 25, 100),
    ("gpt-4o", 2_500, 10_000, 1_250, 2_500),
    ("gpt-4o-mini", 150, 600, 75, 150),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_an_integer_rounded_up_once() {
        let prices = Prices { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
        let usage =
            Usage { input_tokens: 1_000, output_tokens: 200, cache_read_tokens: 10_001, cache_write_tokens: 400 };
        // 3,000 + 3,000 + 3,000.3 + 1,500 millionths.
        assert_eq!(prices.cost(&usage), 10_501);
        assert_eq!(prices.cost(&Usage::default()), 0);
        assert_eq!(prices.cost(&Usage { cache_read_tokens: 1, ..Usage::default() }), 1);
        let absurd = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(prices.cost(&absurd), u64::MAX);
    }

    #[test]
    fn a_list_price_is_found_with_and_without_a_date_and_never_guessed() {
        let sonnet = list_price("claude-sonnet-4-5");
        assert_eq!(sonnet.map(|prices| prices.output), Some(15_000_000));
        assert_eq!(list_price("claude-sonnet-4-5-20250929"), sonnet);
        assert_eq!(list_price("claude-3-5-haiku-latest"), list_price("claude-3-5-haiku-20241022"));
        assert_eq!(list_price("gpt-4o-2024-08-06"), list_price("gpt-4o"));
        assert_ne!(list_price("gpt-4o-mini"), list_price("gpt-4o"));
        for unknown in ["", "-", "llama3:8b", "gpt-4o-audio-preview", "claude-sonnet-9", "my-gpt-4o", "gpt-4o-202"] {
            assert_eq!(list_price(unknown), None, "{unknown}");
        }
    }
}
