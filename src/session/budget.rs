//! May this be spent? Asked before every model call, never after it.

use std::sync::Arc;

use anyhow::Result;
use base::{Moment, RunId, TeamName, TopicId};
use llm::{ModelRef, Models, Progress, Request, Response, Usage};
use store::usage::Spent;
use store::{Db, usage};

use crate::config::Budgets;

/// Prices and budgets.
#[derive(Clone)]
pub struct Ledger {
    /// What may be spent in a UTC day.
    pub rules: Budgets,
    /// The models, which know their prices.
    pub models: Arc<Models>,
}

/// Who has asked a model.
#[derive(Clone, Debug)]
pub struct Spender<'a> {
    /// The team.
    pub team: &'a TeamName,
    /// The turn.
    pub run: Option<RunId>,
    /// The topic that caused it.
    pub topic: Option<TopicId>,
    /// Who caused it.
    pub sender: Option<String>,
}

/// A budget that a call would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// This topic's.
    Topic,
    /// This team's.
    Team,
    /// The whole hive's.
    Hive,
}

impl Over {
    /// What a person is told.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Over::Topic => "⚠️ Today's budget of this topic is used up. It starts anew at 00:00 UTC.",
            Over::Team => "⚠️ Today's budget of this team is used up. It starts anew at 00:00 UTC.",
            Over::Hive => "⚠️ Today's budget of this hive is used up. It starts anew at 00:00 UTC.",
        }
    }
}

impl Ledger {
    /// What a call cost, in millionths of a US dollar; `None` where nobody said what its tokens cost.
    pub fn cost(&self, model: &ModelRef, used: &Usage) -> Option<i64> {
        Some(i64::try_from(self.models.cost(model, used)?).unwrap_or(i64::MAX))
    }

    /// The ledger's row for a call.
    fn entry(&self, of: &Spender<'_>, purpose: &'static str, model: &ModelRef, used: &Usage) -> usage::Entry {
        let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        usage::Entry {
            run: of.run,
            team: of.team.to_string(),
            topic: of.topic,
            sender: of.sender.clone(),
            purpose,
            model: model.to_string(),
            input_tokens: tokens(used.input_tokens),
            output_tokens: tokens(used.output_tokens),
            cache_read_tokens: tokens(used.cache_read_tokens),
            cache_write_tokens: tokens(used.cache_write_tokens),
            cost_micro_usd: self.cost(model, used),
        }
    }

    /// The rows of one question: of its failed attempts that cost something, and of its answer.
    pub fn entries(
        &self,
        of: &Spender<'_>,
        purpose: &'static str,
        failed: &[(ModelRef, Usage)],
        answer: Option<&Response>,
    ) -> Vec<usage::Entry> {
        let failed = failed.iter().filter(|(_, used)| *used != Usage::default()).map(|(model, used)| (model, used));
        let answer = answer.map(|answer| (&answer.model, &answer.usage));
        failed.chain(answer).map(|(model, used)| self.entry(of, purpose, model, used)).collect()
    }

    /// Notes what a failed attempt has cost: its tokens were paid for as well.
    pub fn hear(progress: Progress<'_>, spent: &mut Vec<(ModelRef, Usage)>) {
        if let Progress::Failed(attempt) = progress {
            tracing::warn!("{} failed: {}; {}", attempt.model, attempt.error, attempt.next);
            spent.push((attempt.model.clone(), attempt.error.usage));
        }
    }

    /// Which budget a request would break if it used all it may: its own tokens and the longest answer.
    pub(crate) async fn refuses(
        &self,
        db: &Db,
        (topic, team): (Option<TopicId>, Option<(&TeamName, org::teams::Budgets)>),
        model: &ModelRef,
        request: &Request,
        now: Moment,
    ) -> Result<Option<Over>> {
        let rules = &self.rules;
        let bounded = [rules.topic_daily_usd, rules.hive_daily_usd, rules.topic_daily_tokens, rules.hive_daily_tokens];
        let team = team.filter(|(_, own)| *own != org::teams::Budgets::default());
        if bounded.iter().all(Option::is_none) && team.is_none() {
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
        let (of_topic, of_team, of_hive) = db
            .read(async |conn| {
                let of_topic = match topic {
                    Some(topic) => usage::of_day(conn, day, Some(topic)).await?,
                    None => Spent::default(),
                };
                let of_team = match team {
                    Some((team, _)) => usage::of_team(conn, day, team).await?,
                    None => Spent::default(),
                };
                Ok((of_topic, of_team, usage::of_day(conn, day, None).await?))
            })
            .await?;
        let breaks = |spent: Spent, usd: Option<u64>, most_tokens: Option<u64>| {
            let over = |spent: i64, more: u64, bound: Option<u64>| {
                bound.is_some_and(|bound| u64::try_from(spent).unwrap_or(0).saturating_add(more) > bound)
            };
            over(spent.cost_micro_usd, cost, usd) || over(spent.tokens, tokens, most_tokens)
        };
        if topic.is_some() && breaks(of_topic, rules.topic_daily_usd, rules.topic_daily_tokens) {
            return Ok(Some(Over::Topic));
        }
        if let Some((_, own)) = team
            && breaks(of_team, own.daily_usd.map(micro_usd), own.daily_tokens)
        {
            return Ok(Some(Over::Team));
        }
        Ok(breaks(of_hive, rules.hive_daily_usd, rules.hive_daily_tokens).then_some(Over::Hive))
    }
}

/// Dollars as the ledger counts them.
fn micro_usd(usd: f64) -> u64 {
    // A configuration has no more than some billions, which a float holds exactly enough.
    (usd.max(0.0) * 1e6).round() as u64
}
