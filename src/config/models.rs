//! The models that there are, which one answers, and what is known of a provider without being told.

use llm::{ModelRef, Profile, Wire};

/// The models that there are.
#[derive(Clone, Debug)]
pub struct Models {
    /// In the order of the file; empty: there is only the offline model.
    pub profiles: Vec<Profile>,
    /// What the main agent uses: `HIVE_MODEL`, else `default`, else the profile named `default`, else the first,
    /// else the offline model.
    pub main: ModelRef,
    /// What sorts messages into topics; the same as `main` where nothing else is said.
    pub classifier: ModelRef,
}

impl Models {
    /// The profile of that name. The offline model has none.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// Every model that somebody named: the profiles' own, their fallbacks, the one that answers, the classifier.
    pub fn named(&self) -> impl Iterator<Item = ModelRef> {
        let profiles = self.profiles.iter();
        let of_profiles =
            profiles.flat_map(|profile| [profile.reference()].into_iter().chain(profile.fallback.clone()));
        of_profiles.chain([self.main.clone(), self.classifier.clone()])
    }
}

/// What is known of a provider without being told.
pub(super) struct Provider {
    /// The protocol, and the word for it in the file.
    pub(super) wire: Wire,
    /// The name of the profile that the key alone makes.
    pub(super) profile: &'static str,
    /// The variable of the key.
    pub(super) key: &'static str,
    /// The variable of the server.
    pub(super) url: &'static str,
    /// The model where none is named: the provider's ordinary one at the time of writing.
    pub(super) model: &'static str,
}

/// The providers, in the order in which their keys make profiles.
pub(super) const PROVIDERS: [Provider; 2] = [
    Provider {
        wire: Wire::Anthropic,
        profile: "anthropic",
        key: "ANTHROPIC_API_KEY",
        url: "ANTHROPIC_API_URL",
        model: "claude-sonnet-5-5",
    },
    Provider { wire: Wire::OpenAi, profile: "openai", key: "OPENAI_API_KEY", url: "OPENAI_API_URL", model: "gpt-5.5" },
];

/// The provider that made the protocol.
pub(super) fn provider(wire: Wire) -> &'static Provider {
    PROVIDERS.iter().find(|provider| provider.wire == wire).expect("every protocol has its provider")
}
