//! May this be spent? Asked before every model call, never after it.

use std::collections::BTreeMap;

use anyhow::Result;
use base::{Moment, TopicId};
use llm::{ModelRef, Request, Usage};
use store::usage::Spent;
use store::{Db, usage};

use super::BudgetRules;
use crate::config::Prices;

/// Prices and budgets.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// What may be spent in a UTC day.
    pub rules: BudgetRules,
    /// What each profile's tokens cost.
    pub prices: BTreeMap<String, Prices>,
}

/// A budget that a call would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// This topic's.
    Topic,
    /// The whole hive's.
    Hive,
}

impl Over {
    /// What a person is told.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Over::Topic => "⚠️ Today's budget of this topic is used up. It starts anew at 00:00 UTC.",
            Over::Hive => "⚠️ Today's budget of this hive is used up. It starts anew at 00:00 UTC.",
        }
    }
}

impl Ledger {
    /// What a call cost, in billionths of a US dollar; `None` where nobody said what its tokens cost.
    pub fn cost(&self, model: &ModelRef, used: &Usage) -> Option<i64> {
        let prices = self.prices.get(&model.profile)?;
        let parts = [
            (used.input_tokens, prices.input),
            (used.output_tokens, prices.output),
            (used.cache_read_tokens, prices.cache_read),
            (used.cache_write_tokens, prices.cache_write),
        ];
        let total = parts.iter().fold(0_u64, |sum, (tokens, price)| sum.saturating_add(tokens.saturating_mul(*price)));
        Some(i64::try_from(total).unwrap_or(i64::MAX))
    }

    /// Which budget a request would break if it used all it may: its own tokens and the longest answer.
    pub(super) async fn refuses(
        &self,
        db: &Db,
        topic: Option<TopicId>,
        model: &ModelRef,
        request: &Request,
        now: Moment,
    ) -> Result<Option<Over>> {
        let rules = &self.rules;
        let bounded = [rules.topic_daily_nano_usd, rules.hive_daily_nano_usd, rules.topic_daily_tokens, rules.hive_daily_tokens];
        if bounded.iter().all(Option::is_none) {
            return Ok(None);
        }
        let most = Usage {
            input_tokens: llm::tokens::of_request(request),
            output_tokens: u64::from(request.output_tokens_max),
            ..Usage::default()
        };
        let tokens = most.input_tokens + most.output_tokens;
        let cost = self.cost(model, &most).map_or(0, |cost| u64::try_from(cost).unwrap_or(0));
        let day = base::clock::day(now);
        let (of_topic, of_hive) = db
            .read(async |conn| {
                let of_topic = match topic {
                    Some(topic) => usage::of_day(conn, day, Some(topic)).await?,
                    None => Spent::default(),
                };
                Ok((of_topic, usage::of_day(conn, day, None).await?))
            })
            .await?;
        let breaks = |spent: Spent, usd: Option<u64>, most_tokens: Option<u64>| {
            let over = |spent: i64, more: u64, bound: Option<u64>| {
                bound.is_some_and(|bound| u64::try_from(spent).unwrap_or(0).saturating_add(more) > bound)
            };
            over(spent.cost_nano_usd, cost, usd) || over(spent.tokens, tokens, most_tokens)
        };
        if topic.is_some() && breaks(of_topic, rules.topic_daily_nano_usd, rules.topic_daily_tokens) {
            return Ok(Some(Over::Topic));
        }
        Ok(breaks(of_hive, rules.hive_daily_nano_usd, rules.hive_daily_tokens).then_some(Over::Hive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_the_sum_of_its_tokens_and_unknown_without_prices() {
        let prices = Prices { input: 3_000, output: 15_000, cache_read: 300, cache_write: 3_750 };
        let ledger = Ledger { prices: BTreeMap::from([("a".to_owned(), prices)]), ..Ledger::default() };
        let used = Usage { input_tokens: 10, output_tokens: 2, cache_read_tokens: 100, cache_write_tokens: 1 };
        assert_eq!(ledger.cost(&ModelRef::new("a", "m"), &used), Some(30_000 + 30_000 + 30_000 + 3_750));
        assert_eq!(ledger.cost(&ModelRef::new("b", "m"), &used), None);
    }
}
