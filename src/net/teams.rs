//! What each team may ask of the web: its list of domains and its rates.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base::TeamName;

use crate::buckets::{BucketRule, Buckets};
use crate::guard::Allowlist;

/// What a team's configuration says about the web.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebRules {
    /// The hosts that it may ask (`allowed_domains`).
    pub allowed: Allowlist,
    /// How often it may ask, by the keys that its agents give (`rate_limit_buckets`).
    pub buckets: BTreeMap<String, BucketRule>,
}

/// The rules of all teams and the buckets that belong to them: one value of a process, which outlives every session.
/// Clones are the same. A team that nobody has set rules for has the default ones.
#[derive(Clone, Default)]
pub struct WebTeams {
    rules: Arc<RwLock<HashMap<TeamName, Arc<WebRules>>>>,
    buckets: Buckets,
}

impl WebTeams {
    /// The rules of a team from now on. A bucket whose rule stays keeps its level.
    pub fn set(&self, team: &TeamName, rules: WebRules) {
        self.rules.write().unwrap_or_else(PoisonError::into_inner).insert(team.clone(), Arc::new(rules));
    }

    /// Forgets a team that is gone.
    pub fn forget(&self, team: &TeamName) {
        self.rules.write().unwrap_or_else(PoisonError::into_inner).remove(team);
        self.buckets.forget(team);
    }

    /// The rules of a team.
    pub fn of(&self, team: &TeamName) -> Arc<WebRules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).get(team).cloned().unwrap_or_default()
    }

    /// Takes one request of a team under a key. A key that the team's rules do not know is not throttled.
    ///
    /// # Errors
    /// If its bucket is empty: how long until there is one.
    pub fn take(&self, team: &TeamName, key: &str) -> Result<(), Duration> {
        match self.of(team).buckets.get(key) {
            Some(rule) => self.buckets.take(team, key, *rule),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(burst: u32) -> WebRules {
        let buckets = BTreeMap::from([("news".to_owned(), BucketRule { rps: 0.1, burst })]);
        WebRules { buckets, ..WebRules::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_throttled_by_its_teams_rules_and_an_unknown_one_not_at_all() {
        let (teams, ops, docs) =
            (WebTeams::default(), "ops".parse::<TeamName>().unwrap(), "docs".parse::<TeamName>().unwrap());
        teams.set(&ops, rules(1));
        assert!(teams.take(&ops, "news").is_ok());
        assert_eq!(teams.clone().take(&ops, "news"), Err(Duration::from_secs(10)));
        for _ in 0..100 {
            assert!(teams.take(&ops, "weather").is_ok() && teams.take(&docs, "news").is_ok());
        }
        // The configuration is read again: what did not change stays as empty as it was.
        teams.set(&ops, rules(1));
        assert!(teams.take(&ops, "news").is_err());
        teams.set(&ops, rules(2));
        assert!(teams.take(&ops, "news").is_ok());
        teams.forget(&ops);
        assert_eq!(*teams.of(&ops), WebRules::default());
    }
}
