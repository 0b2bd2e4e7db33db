//! What a trial's world is furnished with: a folder, a configuration, a database with its tables, models with prices.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base::Clock;
use llm::{Limits, Models, Prices, Profile, Wire};
use openhive::config::{self, Config, Environment};
use store::Db;

use crate::language::{FileOf, Setup};
use crate::names::Names;

/// Where trials keep their files: in memory where the machine offers that, for the sake of its disk.
pub fn shelf() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// A database with its tables, made once: hundreds of trials begin with it.
pub fn lay_template(path: &Path) {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    if path.exists() {
        return;
    }
    let bytes = TEMPLATE.get_or_init(|| {
        let folder = tempfile::tempdir_in(shelf()).expect("a folder can be made");
        let (first, whole) = (folder.path().join("first.db"), folder.path().join("whole.db"));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        runtime.block_on(async {
            let db = Db::open(&first).await.expect("an empty database can be made");
            db.backup(&whole).await.expect("and copied");
        });
        std::fs::read(&whole).expect("the copy is there")
    });
    std::fs::write(path, bytes).expect("the folder is there");
}

/// Teams that are ready for work, each with every tool that its parent has where the set-up wrote nothing else.
pub async fn make_teams(db: &Db, run_dir: &Path, paths: &[String], now: base::Moment) -> anyhow::Result<()> {
    for path in paths {
        let (parent, name) = path.rsplit_once('/').unwrap_or((base::ids::MAIN, path));
        let parent = parent.rsplit('/').next().expect("a path has a last part");
        let (name, parent): (base::TeamName, base::TeamName) = (name.parse()?, parent.parse()?);
        let about = format!("Does what {name} does.");
        let folder = run_dir.join("teams").join(name.as_str());
        std::fs::create_dir_all(&folder)?;
        let config = folder.join("config.yaml");
        if !config.exists() {
            std::fs::write(config, "allowed_tools: ['*']\n")?;
        }
        let add = async |conn: &mut store::Conn| {
            store::teams::add(conn, &name, &parent, &about, store::teams::State::Ready, now).await
        };
        anyhow::ensure!(db.tx("make a team", add).await?, "there is no team {parent}, or {name} is there already");
    }
    Ok(())
}

/// The models that know prices: of the scripted one, in US dollars per million tokens in and out.
pub fn models(prices: Option<(u64, u64)>) -> Arc<Models> {
    static FREE: OnceLock<Arc<Models>> = OnceLock::new();
    let Some((input, output)) = prices else {
        return FREE
            .get_or_init(|| Arc::new(Models::new(Vec::new(), Clock::Wall, Limits::STANDARD).expect("none is wrong")))
            .clone();
    };
    let micro = |usd: u64| usd * 1_000_000;
    let profile = Profile {
        name: llm::script::PROFILE.to_owned(),
        wire: Wire::OpenAi,
        api_url: "http://127.0.0.1:9/v1".to_owned(),
        key: None,
        auth: llm::Auth::ApiKey,
        model: "main".to_owned(),
        context_window_tokens: llm::script::CONTEXT_WINDOW_TOKENS,
        output_tokens_max: 1_000,
        prices: Some(Prices {
            input: micro(input),
            output: micro(output),
            cache_read: micro(input),
            cache_write: micro(input),
        }),
        fallback: Vec::new(),
    };
    Arc::new(Models::new(vec![profile], Clock::Wall, Limits::STANDARD).expect("the profile is right"))
}

/// What the set-up configures.
///
/// # Errors
/// The faults of a configuration that is none.
pub fn configuration(folder: &tempfile::TempDir, setup: &Setup, names: &mut Names) -> Result<Config, String> {
    let (data, run) = (folder.path().join("data"), folder.path().join("run"));
    for (of, path, text) in &setup.files {
        let root = match of {
            FileOf::Data => data.clone(),
            FileOf::Workspace => run.join("teams"),
        };
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder can be made");
        std::fs::write(path, names.with_ids(text, None)?).expect("the file can be written");
    }
    let mut pairs = vec![
        ("HIVE_DATA_DIR".to_owned(), data.display().to_string()),
        ("HIVE_RUN_DIR".to_owned(), run.display().to_string()),
    ];
    let admins: BTreeSet<String> =
        setup.admins.iter().map(|path| names.person_at(path).map(|id| id.to_string())).collect::<Result<_, _>>()?;
    if !admins.is_empty() {
        pairs.push(("HIVE_ADMINS".to_owned(), admins.into_iter().collect::<Vec<_>>().join(",")));
    }
    config::load(&Environment::from_pairs(pairs)).map_err(|faults| faults.to_string())
}
