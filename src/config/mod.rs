//! What the user wrote → what it means.
//!
//! Three files in the data directory (`config.yaml`, `channels.yaml`, `providers.yaml`, each may be missing or
//! empty) and the variables of the environment become one [`Config`]. Only the meaning travels: nothing outside this
//! module sees a key, a file or a variable. Every fault is told at once, with its place and what would be right;
//! with a single one there is no `Config`, and the hive does not start.
//!
//! | file | what |
//! |---|---|
//! | `environment`, `variables` | the variables: the process's, `.env`, and the table of those that there are |
//! | `yaml` → `reader` ← `form`, `id`, `token` | text → tree → keys asked for by name ← how one value is written |
//! | `settings` | `config.yaml` |
//! | `platforms`, `trust` | `channels.yaml` |
//! | `profiles` → `models` | `providers.yaml` → the models that there are |
//! | `fault` | what is wrong |
//!
//! Invariants: no variable of the process is read elsewhere; no fault shows a secret; what is not written about
//! trust closes.

mod environment;
mod fault;
mod form;
mod id;
mod models;
mod platforms;
mod profiles;
mod reader;
mod settings;
mod team;
mod token;
mod trust;
mod variables;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use base::Secret;
use llm::{ModelRef, Profile, Wire};
use org::trust::Policy;

pub use environment::Environment;
pub use fault::{ConfigErrors, Fault, Key};
pub use models::Models;
pub use platforms::{CatchUp, Discord, Telegram};
pub use settings::{
    Ambiguous, Attachments, Budgets, Delegation, DuringTurn, LogFormat, Logs, Outbox, Replies, Retention, Session,
    Settings, Topics,
};
pub use team::Team;
pub use variables::{VARIABLES, Variable, env_example};

use fault::Log;
use form::Form;
use reader::Reader;
use yaml::Node;

const SETTINGS: &str = "config.yaml";
const CHANNELS: &str = "channels.yaml";
const PROVIDERS: &str = "providers.yaml";
/// The files, in the order in which their faults are told.
const FILES: [&str; 3] = [SETTINGS, CHANNELS, PROVIDERS];

/// What the user wrote, understood and found consistent.
#[derive(Clone, Debug)]
pub struct Config {
    /// The directory of what the user writes. It may be missing.
    pub data_dir: PathBuf,
    /// The directory of what the hive writes. It may be missing.
    pub run_dir: PathBuf,
    /// How the hive behaves.
    pub settings: Settings,
    /// What concerns Discord.
    pub discord: Discord,
    /// What concerns Telegram.
    pub telegram: Telegram,
    /// Who may speak, with the first admins.
    pub trust: Policy,
    /// The models that there are.
    pub models: Models,
    /// The key of the vault, or the word that it is in the keyring; without either it is in a file of the run directory.
    pub vault_key: Option<Secret>,
}

impl Config {
    /// Every secret in it, so that logs and texts can be scrubbed of them.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let tokens = self.discord.token.iter().chain(&self.telegram.token);
        let keys = self.models.profiles.iter().filter_map(|profile| profile.key.as_ref());
        tokens.chain(keys).chain(&self.vault_key)
    }
}

/// Reads and understands everything.
///
/// # Errors
///
/// All that is wrong in the variables and the three files, and rules (`rules/*.md`) that are not readable text.
pub fn load(environment: &Environment) -> Result<Config, ConfigErrors> {
    let log = Log::default();
    environment.tell_faults(&log);
    let directory = |name, default: &str| {
        let path = environment.read(name, &Form::new("a directory", |text| Some(PathBuf::from(text))), &log);
        path.unwrap_or_else(|| PathBuf::from(default))
    };
    let data_dir = directory("HIVE_DATA_DIR", "data");
    let run_dir = directory("HIVE_RUN_DIR", ".run");
    for (name, path) in [("HIVE_DATA_DIR", &data_dir), ("HIVE_RUN_DIR", &run_dir)] {
        if path.exists() && !path.is_dir() {
            log.fault_of(name, format!("`{}` is no directory", path.display()));
        }
    }
    refuse_near_names(&data_dir, &log);
    let [settings, channels, providers] = FILES.map(|file| tree(&data_dir, file, &log));
    let settings = settings::read(Reader::of_file(&log, SETTINGS, settings.as_ref()), environment, &log);
    let (discord, telegram, trust) =
        read_channels(Reader::of_file(&log, CHANNELS, channels.as_ref()), environment, &log);
    let providers = profiles::read(Reader::of_file(&log, PROVIDERS, providers.as_ref()), environment, &log);
    let models = providers.models;
    let vault_key = environment.read("HIVE_VAULT_KEY", &vault_key(), &log);
    refuse_unpriced(&settings, &models, &log);
    refuse_without_vectors(&settings, &models, &log);
    refuse_unreadable_rules(&data_dir.join("rules"), &log);
    environment.refuse_unknown(&providers.variables, &log);
    match log.faults() {
        faults if faults.is_empty() => {
            Ok(Config { data_dir, run_dir, settings, discord, telegram, trust, models, vault_key })
        }
        faults => Err(ConfigErrors { data_dir, faults }),
    }
}

/// The key of the vault, as its own reader takes it.
fn vault_key() -> Form<Secret> {
    let read = |text: &str| {
        let key = Secret::new(text);
        org::vault::Source::read(&key).is_ok().then_some(key)
    };
    let why = |text: &str| match org::vault::Source::read(&Secret::new(text)) {
        Err(error) => error.to_string(),
        Ok(_) => String::new(),
    };
    Form::new("a key", read).hidden(why)
}

/// Every key that the files may have, with its default as it would be written; empty where there is none.
pub fn keys() -> BTreeMap<Key, String> {
    let (log, environment) = (Log::default(), Environment::default());
    settings::read(Reader::survey(&log, SETTINGS), &environment, &log);
    read_channels(Reader::survey(&log, CHANNELS), &environment, &log);
    profiles::read(Reader::survey(&log, PROVIDERS), &environment, &log);
    log.keys()
}

fn read_channels(mut file: Reader<'_>, environment: &Environment, log: &Log) -> (Discord, Telegram, Policy) {
    let discord = platforms::discord(file.section("discord"), environment, log);
    let telegram = platforms::telegram(file.section("telegram"), environment, log);
    let trust = trust::read(file.section("trust"), environment, log);
    file.finish();
    (discord, telegram, trust)
}

/// The tree of one file; `None` where it is missing, empty or unreadable.
fn tree(data_dir: &Path, file: &str, log: &Log) -> Option<Rc<Node>> {
    let text = read_text(&data_dir.join(file), file, log)?;
    yaml::parse(file, &text, &mut |fault| log.fault(fault))
}

/// The text of a file of the user's; `None` where it is missing or unreadable, which is told.
fn read_text(path: &Path, shown: &str, log: &Log) -> Option<String> {
    let fault = |message: String| {
        log.fault_of(shown, message);
        None
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > yaml::FILE_BYTES_MAX => {
            return fault(format!("has more than {} bytes", yaml::FILE_BYTES_MAX));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return fault(format!("cannot be read: {error}")),
    }
    match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => Some(text),
        Ok(Err(error)) => fault(format!("is not UTF-8 from byte {} on", error.utf8_error().valid_up_to() + 1)),
        Err(error) => fault(format!("cannot be read: {error}")),
    }
}

/// A file that is not read because its name is a little off would silently mean nothing.
fn refuse_near_names(data_dir: &Path, log: &Log) {
    let Ok(entries) = std::fs::read_dir(data_dir) else { return };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    for name in names.iter().filter(|name| !FILES.contains(&name.as_str())) {
        let Some(stem) = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")) else { continue };
        let stems = FILES.map(|file| file.trim_end_matches(".yaml"));
        if let Some(stem) = base::text::meant(stem, stems) {
            log.fault_of(name, format!("is not read; did you mean `{stem}.yaml`?"));
        }
    }
}

/// What is only wrong when two files are looked at together: a bound in dollars on models without a price.
fn refuse_unpriced(settings: &Settings, models: &Models, log: &Log) {
    if !settings.budgets.needs_prices() {
        return;
    }
    for model in models.named().filter(|model| !is_priced(model, models)) {
        let path = format!("profiles.{}.prices", yaml::step(&model.profile));
        let message = format!("nobody knows the price of `{}`, and {SETTINGS} has a budget in US dollars", model.model);
        log.fault(Fault { source: PROVIDERS.to_owned(), path, line: None, message });
    }
}

/// What makes vectors is a model of a profile whose protocol has them.
fn refuse_without_vectors(settings: &Settings, models: &Models, log: &Log) {
    let Some(model) = &settings.team.memory_embedding else { return };
    let message = match models.profile(&model.profile).map(|profile| profile.wire) {
        Some(Wire::OpenAi) => return,
        Some(wire) => format!("the profile `{}` is of `{wire}`, which has no model for vectors", model.profile),
        None => format!("there is no profile `{}`", model.profile),
    };
    let path = "team.memory_embedding".to_owned();
    log.fault(Fault { source: SETTINGS.to_owned(), path, line: None, message });
}

/// Whether it is known what a model costs: said in its profile, published, or nothing as for the offline model.
fn is_priced(model: &ModelRef, models: &Models) -> bool {
    let own = |profile: &Profile| profile.model == model.model && profile.prices.is_some();
    let profile = models.profile(&model.profile);
    model.profile == llm::offline::PROFILE || profile.is_some_and(own) || llm::price::list_price(&model.model).is_some()
}

/// Rules are read by others when a prompt is built; that they can be read is known from the start.
fn refuse_unreadable_rules(directory: &Path, log: &Log) {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => return log.fault_of("rules", format!("cannot be read: {error}")),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // The text itself is not kept: it may change before it is used.
        drop(read_text(path, &format!("rules/{name}"), log));
    }
}
