//! `providers.yaml`: the profiles, and the references between them.
//!
//! Without `profiles:` each key in the environment makes a profile: `ANTHROPIC_API_KEY` makes `anthropic`,
//! `OPENAI_API_KEY` makes `openai`. Without a key there is no profile, and the hive answers with its offline model.

use base::Secret;
use llm::{Auth, ModelRef, Prices, Profile, Wire, offline};

use super::environment::Environment;
use super::fault::{Log, quoted_list};
use super::form::{self, Form, one_of, usd, variable_name, whole, word};
use super::models::{Models, PROVIDERS, Provider, provider};
use super::reader::{Reader, Value};
use super::token;

/// The variable that names the model of the main agent.
const MODEL: &str = "HIVE_MODEL";
/// The longest answer that is asked for where nothing else is said.
const OUTPUT_TOKENS: u32 = 16_384;
/// The window of a model where nothing else is said.
const WINDOW_TOKENS: u64 = 200_000;

/// What the file came to.
pub(super) struct Read {
    pub(super) models: Models,
    /// The variables that profiles named: whoever has them in the environment did not misspell them.
    pub(super) variables: Vec<String>,
}

/// A profile as it stands in the file: its references are not looked up yet, and its key may be missing.
struct Draft<'l> {
    name: String,
    wire: Wire,
    api_url: Option<String>,
    auth: Auth,
    key: Option<Secret>,
    model: String,
    context_window_tokens: u64,
    output_tokens_max: u32,
    prices: Option<Prices>,
    /// What stands in the file, with its place.
    fallback: Vec<(String, Value<'l>)>,
}

/// Reads the file; `HIVE_MODEL` wins over its `default`.
pub(super) fn read(mut file: Reader<'_>, environment: &Environment, log: &Log) -> Read {
    for provider in &PROVIDERS {
        // Read even if no profile wants them: a fault in them is told in any case.
        drop(environment.read(provider.key, &token::key(), log));
        drop(environment.read(provider.url, &form::url(), log));
    }
    let chosen = environment.read(MODEL, &reference(), log);
    let default = file.find("default", &reference());
    let classifier = file.find("classifier", &reference());
    let mut variables = Vec::new();
    let mut drafts = Vec::new();
    // A profile with a fault is still one that others may name.
    for (name, value) in file.entries("profiles", "<profile>") {
        match form::name().read(&name) {
            Ok(name) if name == offline::PROFILE => value.fault("is the name of the built-in model: take another one"),
            Ok(name) => drafts.push(draft(name, value, environment, log, &mut variables)),
            Err(message) => value.fault(format!("the name: {message}")),
        }
    }
    if !file.has("profiles") {
        drafts.extend(PROVIDERS.iter().filter_map(|provider| from_key(provider, chosen.as_deref(), environment, log)));
    }
    let find = |key: &str, text: Option<String>| {
        let found = text.map(|text| look_up(&text, &drafts));
        found.and_then(|found| found.map_err(|message| file.fault(key, message)).ok())
    };
    let default = find("default", default);
    let classifier = find("classifier", classifier);
    let chosen = chosen.map(|text| look_up(&text, &drafts));
    let chosen = chosen.and_then(|found| found.map_err(|message| log.fault_of(MODEL, message)).ok());
    let fallbacks = fallbacks(&drafts);
    refuse_circles(&drafts, &fallbacks);
    let first = drafts.iter().find(|draft| draft.name == "default").or(drafts.first()).map(Draft::reference);
    let main = chosen.or(default).or(first).unwrap_or_else(offline::reference);
    let classifier = classifier.unwrap_or_else(|| main.clone());
    file.finish();
    let profiles = drafts.iter().zip(&fallbacks).filter_map(|(draft, fallback)| draft.finish(fallback)).collect();
    Read { models: Models { profiles, main, classifier }, variables }
}

/// A number of tokens that a request can carry.
fn tokens(range: std::ops::RangeInclusive<u32>) -> Form<u32> {
    let form = whole(u64::from(*range.start())..=u64::from(*range.end()));
    form.map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

fn reference() -> Form<String> {
    word("a profile, or `profile:model`")
}

/// The profile that a key in the environment makes by itself; `chosen` may name another model for it.
fn from_key(provider: &Provider, chosen: Option<&str>, environment: &Environment, log: &Log) -> Option<Draft<'static>> {
    if !environment.has(provider.key) {
        return None;
    }
    let chosen = chosen.and_then(|text| text.strip_prefix(provider.profile)?.strip_prefix(':'));
    let model = chosen.filter(|model| !model.is_empty()).unwrap_or(provider.model);
    Some(Draft {
        name: provider.profile.to_owned(),
        wire: provider.wire,
        api_url: environment.read(provider.url, &form::url(), log),
        auth: Auth::ApiKey,
        key: environment.read(provider.key, &token::key(), log),
        model: model.to_owned(),
        context_window_tokens: WINDOW_TOKENS,
        output_tokens_max: OUTPUT_TOKENS,
        prices: None,
        fallback: Vec::new(),
    })
}

fn draft<'l>(
    name: String,
    value: Value<'l>,
    environment: &Environment,
    log: &Log,
    variables: &mut Vec<String>,
) -> Draft<'l> {
    const TYPES: &[(&str, Auth)] = &[("api", Auth::ApiKey), ("oauth", Auth::OAuthBearer)];
    const WIRES: &[(&str, Wire)] = &[("anthropic", Wire::Anthropic), ("openai", Wire::OpenAi)];
    let mut section = value.section();
    let auth = section.get("type", "api", &one_of(TYPES));
    let wire = section.get("provider", "anthropic", &one_of(WIRES));
    let provider = provider(wire);
    let written_url = section.find("api_url", &form::url_with_query());
    let key = key(auth, wire, &mut section, environment, log, variables);
    let model = section.find("model", &word("the provider's name of a model, without white space"));
    let model = model.unwrap_or_else(|| provider.model.to_owned());
    let prices = prices(&mut section);
    let mut draft = Draft {
        name,
        wire,
        api_url: written_url.or_else(|| environment.read(provider.url, &form::url(), log)),
        auth,
        key,
        prices,
        model,
        context_window_tokens: section.get("context_window", "200000", &whole(1_000..=100_000_000)),
        output_tokens_max: section.get("max_output_tokens", "16384", &tokens(1..=10_000_000)),
        fallback: section.items("fallback", &reference()),
    };
    let given = section.has("max_output_tokens");
    if given && u64::from(draft.output_tokens_max) >= draft.context_window_tokens {
        let message = format!("expected less than the context window of {} tokens", draft.context_window_tokens);
        section.fault("max_output_tokens", message);
    } else if !given {
        let half = u32::try_from(draft.context_window_tokens / 2).unwrap_or(u32::MAX);
        draft.output_tokens_max = draft.output_tokens_max.min(half);
    }
    section.finish();
    draft
}

/// The key: from the file, from the variable that the file names, else from the provider's own variable.
fn key(
    auth: Auth,
    wire: Wire,
    section: &mut Reader<'_>,
    environment: &Environment,
    log: &Log,
    variables: &mut Vec<String>,
) -> Option<Secret> {
    let written = section.find("api_key", &token::key());
    let named = section.find("api_key_env", &variable_name());
    let oauth = section.find("oauth_token_env", &variable_name());
    variables.extend(named.iter().chain(&oauth).cloned());
    refuse_needless_keys(auth, section);
    let (key, variable) = match auth {
        Auth::ApiKey if section.has("api_key") => return written,
        Auth::ApiKey => ("api_key_env", named),
        Auth::OAuthBearer => ("oauth_token_env", oauth),
    };
    match (variable, auth) {
        (Some(variable), _) => {
            if !environment.has(&variable) {
                section.fault(key, format!("the variable {variable} is not set, expected the key in it"));
            }
            environment.read(&variable, &token::key(), log)
        }
        // Something is there that names no variable, which has been told.
        (None, _) if section.has(key) => None,
        (None, Auth::OAuthBearer) => {
            section.require(key, ", expected the name of the variable that holds the token");
            None
        }
        (None, Auth::ApiKey) => {
            let variable = provider(wire).key;
            if !environment.has(variable) {
                let expected = format!(": set the variable {variable}, or give `api_key` or `api_key_env`");
                section.require("api_key", &expected);
            }
            environment.read(variable, &token::key(), log)
        }
    }
}

/// Of several keys one would be taken and the others silently not.
fn refuse_needless_keys(auth: Auth, section: &Reader<'_>) {
    let (others, their_type): (&[&str], _) = match auth {
        Auth::ApiKey => (&["oauth_token_env"], "oauth"),
        Auth::OAuthBearer => (&["api_key", "api_key_env"], "api"),
    };
    for other in others.iter().filter(|other| section.has(other)) {
        section.fault(other, format!("belongs to `type: {their_type}`, which this profile does not have"));
    }
    if auth == Auth::ApiKey && section.has("api_key") && section.has("api_key_env") {
        section.fault("api_key_env", "stands beside `api_key`: keep one of the two");
    }
}

/// Dollars per million tokens, as providers publish them.
fn prices(section: &mut Reader<'_>) -> Option<Prices> {
    let given = section.has("prices");
    let mut section = section.section("prices");
    let (input, output) = (section.find("input", &usd()), section.find("output", &usd()));
    let (cache_read, cache_write) = (section.find("cache_read", &usd()), section.find("cache_write", &usd()));
    for key in ["input", "output"].iter().filter(|_| given) {
        section.require(key, ", expected US dollars per million tokens");
    }
    section.finish();
    let (input, output) = (input?, output?);
    // A provider without a price for its cache takes the ordinary one.
    Some(Prices { input, output, cache_read: cache_read.unwrap_or(input), cache_write: cache_write.unwrap_or(input) })
}

/// What `profile` or `profile:model` names. A model's name may have colons, a profile's has none.
fn look_up(text: &str, drafts: &[Draft<'_>]) -> Result<ModelRef, String> {
    let (name, model) = match text.split_once(':') {
        Some((name, model)) => (name, Some(model)),
        None => (text, None),
    };
    if model == Some("") {
        return Err(format!("found `{text}`, expected a model after the colon"));
    }
    if name == offline::PROFILE {
        return Ok(offline::reference());
    }
    let names: Vec<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
    let Some(draft) = drafts.iter().find(|draft| draft.name == name) else {
        let hint = match (base::text::meant(name, names.iter().copied()), names.is_empty()) {
            (Some(name), _) => format!("did you mean `{name}`?"),
            (None, true) => "there are none: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write `profiles`".to_owned(),
            (None, false) => format!("known here: {}", quoted_list(&names, "and")),
        };
        return Err(format!("there is no profile `{name}`; {hint}"));
    };
    Ok(ModelRef::new(&draft.name, model.unwrap_or(&draft.model)))
}

/// A fallback that names a model, and the place where it stands.
type Fallback<'d, 'l> = (ModelRef, &'d Value<'l>);

/// The fallbacks of each profile, in the profiles' order.
fn fallbacks<'d, 'l>(drafts: &'d [Draft<'l>]) -> Vec<Vec<Fallback<'d, 'l>>> {
    let of_one = |draft: &'d Draft<'l>| {
        let mut found: Vec<Fallback<'d, 'l>> = Vec::new();
        for (text, place) in &draft.fallback {
            match look_up(text, drafts) {
                Err(message) => place.fault(message),
                Ok(model) if model == draft.reference() => place.fault("names the profile that it stands in"),
                Ok(model) if found.iter().any(|(earlier, _)| *earlier == model) => {
                    place.fault(format!("names `{model}` a second time"));
                }
                Ok(model) => found.push((model, place)),
            }
        }
        found
    };
    drafts.iter().map(of_one).collect()
}

/// A chain that leads back to where it began would never end. Another model of the same profile is no way back.
fn refuse_circles(drafts: &[Draft<'_>], fallbacks: &[Vec<Fallback<'_, '_>>]) {
    let position = |model: &ModelRef| drafts.iter().position(|draft| draft.name == model.profile);
    let mut done = vec![false; drafts.len()];
    for start in 0..drafts.len() {
        // Depth first. The way from `start` is kept, each profile on it with the fallback to try next, so that a
        // circle can be shown; a profile whose fallbacks were all tried is not entered again.
        let mut way: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((at, next)) = way.pop() {
            if done[at] {
                continue;
            }
            let Some(to) = fallbacks[at].get(next).and_then(|(model, _)| position(model)) else {
                done[at] = true;
                continue;
            };
            way.push((at, next + 1));
            match way.iter().position(|(seen, _)| *seen == to) {
                None => way.push((to, 0)),
                Some(_) if to == at => {}
                Some(begin) => {
                    let names: Vec<&str> = way[begin..].iter().map(|(seen, _)| drafts[*seen].name.as_str()).collect();
                    let (_, place) = &fallbacks[at][next];
                    place.fault(format!("closes a circle: {} → {}", names.join(" → "), drafts[to].name));
                }
            }
        }
    }
}

impl Draft<'_> {
    fn reference(&self) -> ModelRef {
        ModelRef::new(&self.name, &self.model)
    }

    /// `None` without a key, which has been told.
    fn finish(&self, fallback: &[Fallback<'_, '_>]) -> Option<Profile> {
        Some(Profile {
            name: self.name.clone(),
            wire: self.wire,
            api_url: self.api_url.clone().unwrap_or_else(|| self.wire.official_url().to_owned()),
            key: Some(self.key.clone()?),
            auth: self.auth,
            model: self.model.clone(),
            context_window_tokens: self.context_window_tokens,
            output_tokens_max: self.output_tokens_max,
            prices: self.prices,
            fallback: fallback.iter().map(|(model, _)| model.clone()).collect(),
        })
    }
}
