//! All models that the configuration knows, by reference.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use base::chance::Chance;
use base::{Clock, Scrub};

use crate::chain::Chain;
use crate::embeddings::Embeddings;
use crate::error::ModelError;
use crate::http::Http;
use crate::limits::Limits;
use crate::model::Model;
use crate::offline::{self, Offline};
use crate::price::{MicroUsd, Prices, list_price};
use crate::profile::Profile;
use crate::remote::{self, Remote};
use crate::request::ModelRef;
use crate::response::Usage;

/// The models of all profiles, and the built-in offline model under [`offline::PROFILE`].
pub struct Models {
    profiles: BTreeMap<String, Profile>,
    http: Arc<Http>,
    clock: Clock,
    chance: Arc<Chance>,
    /// Chains that were asked for: they remember what their servers take.
    chains: Mutex<HashMap<ModelRef, Arc<dyn Model>>>,
}

/// A reference to a profile that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no model profile `{profile}`; there are: {known}")]
pub struct UnknownProfile {
    /// What was asked for.
    pub profile: String,
    /// The names that there are.
    pub known: String,
}

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile `{profile}`: {why}")]
pub struct BadProfile {
    /// Whose it is.
    pub profile: String,
    /// What is wrong and what would be right. Never the key or the address.
    pub why: String,
}

impl Models {
    /// The models of `profiles`; none is needed. Every fault of every profile is told at once.
    pub fn new(profiles: Vec<Profile>, clock: Clock, limits: Limits) -> Result<Self, Vec<BadProfile>> {
        let scrub = Scrub::new();
        profiles.iter().filter_map(|profile| profile.key.as_ref()).for_each(|key| scrub.learn(key));
        let http = Arc::new(Http::new(limits, clock, scrub));
        let faults: Vec<BadProfile> = profiles.iter().flat_map(|profile| faults(profile, &profiles, &http)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let profiles = profiles.into_iter().map(|profile| (profile.name.clone(), profile)).collect();
        let (chance, chains) = (Arc::new(Chance::real()), Mutex::default());
        Ok(Models { profiles, http, clock, chance, chains })
    }

    /// The model of a reference, with its retries and its profile's fallbacks. Any model name is taken: which ones
    /// there are, only the provider knows.
    pub fn get(&self, reference: &ModelRef) -> Result<Arc<dyn Model>, UnknownProfile> {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chain) = chains.get(reference) {
            return Ok(chain.clone());
        }
        let first = self.one(reference)?;
        let fallback = self.profiles.get(&reference.profile).map(|profile| profile.fallback.as_slice());
        let rest = fallback.unwrap_or_default().iter().filter(|next| *next != reference);
        let rest = rest.map(|next| self.one(next)).collect::<Result<Vec<_>, _>>()?;
        let chain = Chain::new(first, rest, self.clock, self.chance.clone(), self.http.limits().clone());
        let chain: Arc<dyn Model> = Arc::new(chain);
        chains.insert(reference.clone(), chain.clone());
        Ok(chain)
    }

    /// The model of a text: `profile:model`, or a profile's name alone for its own model.
    pub fn named(&self, text: &str) -> Result<Arc<dyn Model>, UnknownProfile> {
        self.get(&self.reference(text)?)
    }

    /// The reference that a text means: see [`Models::named`].
    pub fn reference(&self, text: &str) -> Result<ModelRef, UnknownProfile> {
        if let Ok(reference) = text.parse::<ModelRef>() {
            return Ok(reference);
        }
        match self.profiles.get(text) {
            Some(profile) => Ok(profile.reference()),
            None if text == offline::PROFILE => Ok(offline::reference()),
            None => Err(self.unknown(text)),
        }
    }

    /// The profiles, by name. The built-in offline model has none.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// The model `reference` that makes vectors of texts. Any model name is taken: which ones there are, only the
    /// provider knows.
    ///
    /// # Errors
    /// Where there is no such profile, or its protocol has no embeddings.
    pub fn embeddings(&self, reference: &ModelRef) -> Result<Embeddings, BadProfile> {
        let bad = |why: String| BadProfile { profile: reference.profile.clone(), why };
        match self.profiles.get(&reference.profile) {
            Some(profile) => Embeddings::new(profile, &reference.model, self.http.clone()).map_err(bad),
            None if reference.profile == offline::PROFILE => Err(bad("the offline model makes no vectors".to_owned())),
            None => Err(bad(self.unknown(&reference.profile).to_string())),
        }
    }

    /// What a model costs: as configured, else its list price, else `None` for unknown.
    pub fn prices(&self, reference: &ModelRef) -> Option<Prices> {
        let Some(profile) = self.profiles.get(&reference.profile) else {
            return (reference.profile == offline::PROFILE).then_some(Prices::FREE);
        };
        let configured = profile.prices.filter(|_| profile.model == reference.model);
        configured.or_else(|| list_price(&reference.model))
    }

    /// What `usage` of a model costs; `None` where that is unknown, which is not zero.
    pub fn cost(&self, reference: &ModelRef, usage: &Usage) -> Option<MicroUsd> {
        self.prices(reference).map(|prices| prices.cost(usage))
    }

    /// Asks a profile's server for its list of models: proves the address and the key, and costs nothing. A server
    /// that keeps no such list answers 404, which is [`crate::Class::Malformed`]. The offline model is always there.
    pub async fn check(&self, profile: &str) -> Result<(), ModelError> {
        match self.profiles.get(profile) {
            Some(profile) => remote::check(profile, &self.http).await,
            None if profile == offline::PROFILE => Ok(()),
            None => Err(ModelError::new(crate::Class::Malformed, self.unknown(profile).to_string())),
        }
    }

    fn one(&self, reference: &ModelRef) -> Result<Arc<dyn Model>, UnknownProfile> {
        let Some(profile) = self.profiles.get(&reference.profile) else {
            let offline = reference.profile == offline::PROFILE;
            return if offline { Ok(Arc::new(Offline::new())) } else { Err(self.unknown(&reference.profile)) };
        };
        let remote = Remote::new(profile, &reference.model, self.http.clone());
        Ok(Arc::new(remote.expect("`faults` has tried the same profile")))
    }

    fn unknown(&self, profile: &str) -> UnknownProfile {
        let names = self.profiles.keys().map(String::as_str).chain([offline::PROFILE]);
        let known = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        UnknownProfile { profile: profile.to_owned(), known }
    }
}

/// What is wrong with a profile among `all`.
fn faults(profile: &Profile, all: &[Profile], http: &Arc<Http>) -> Vec<BadProfile> {
    let mut whys = Vec::new();
    let name = profile.name.as_str();
    if name.is_empty() || name.contains(':') || name == offline::PROFILE {
        whys.push(format!("the name must not be empty, have a colon or be `{}`", offline::PROFILE));
    }
    if all.iter().filter(|other| other.name == name).count() > 1 {
        whys.push("there is more than one of this name".to_owned());
    }
    if profile.model.is_empty() {
        whys.push("the model is missing".to_owned());
    }
    whys.extend(Remote::new(profile, &profile.model, http.clone()).err());
    for next in &profile.fallback {
        if next.profile != offline::PROFILE && all.iter().all(|other| other.name != next.profile) {
            whys.push(format!("the fallback `{next}` names no profile"));
        }
    }
    whys.into_iter().map(|why| BadProfile { profile: name.to_owned(), why }).collect()
}
