//! What is written well, and what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use channels::{Answering, ConversationId, Hearing, Kind, SenderId};
use org::trust::{Access, KindPolicy, Policy};

use llm::{Auth, ModelRef, Prices, Wire, offline};

use super::super::{Ambiguous, Attachments, Budgets, CatchUp, Config, DuringTurn, Environment, LogFormat, load};
use super::{Written, file};

fn conversation(text: &str) -> ConversationId {
    text.parse().unwrap()
}

fn model(text: &str) -> ModelRef {
    text.parse().unwrap()
}

#[test]
fn nothing_at_all_is_every_default() {
    let nothing = Written::nothing().config();
    let missing = Written::nothing().variable("HIVE_DATA_DIR", "/nowhere/at/all").config();
    let empty =
        Written::nothing().file("config.yaml", "").file("channels.yaml", "# nothing\n").file("providers.yaml", "---");
    let hollow = file("config.yaml", "topics:\nsession: ~\n").file("channels.yaml", "discord: {}\ntrust: null\n");
    let shown =
        |config: &Config| format!("{:?}", (&config.settings, &config.discord, &config.telegram, &config.models));
    for config in [&missing, &empty.config(), &hollow.config()] {
        assert_eq!(shown(config), shown(&nothing));
        assert_eq!(config.trust, Policy::default());
    }
    assert_eq!(nothing.run_dir.to_str(), Some(".run"));
    assert_eq!(nothing.settings.topics.active_max, 5);
    assert_eq!(nothing.settings.topics.idle_after, Duration::from_secs(2 * 3600));
    assert_eq!(nothing.settings.logs.filter, "info");
    assert_eq!(nothing.settings.budgets, Budgets::default());
    assert_eq!(nothing.settings.session.max_steps, 50);
    assert_eq!(nothing.settings.delegation, crate::config::Delegation::default());
    assert_eq!(nothing.settings.stop_grace, Duration::from_secs(20));
    assert!(nothing.discord.token.is_none() && nothing.telegram.token.is_none());
    assert!(nothing.models.profiles.is_empty() && nothing.models.main == offline::reference());
    assert_eq!(nothing.secrets().count(), 0);
    let defaults = load(&Environment::from_pairs::<&str, &str>([])).unwrap();
    assert_eq!(defaults.data_dir.to_str(), Some("data"));
}

#[test]
fn config_yaml_says_how_the_hive_behaves() {
    let text = "log_level: debug\nlog_format: json\nstop_grace: 500ms\n\
                topics: {active_max: 3, idle_after: 90m, closed_after: 30d, during_turn: interrupt, several_topics: true}\n\
                budgets: {per_topic_daily_usd: 0.5, hive_daily_usd: 10, hive_daily_tokens: 1000000}\n\
                outbox: {ambiguous: report}\nattachments: {size_max: 2MiB, types: [Image/PNG]}\n";
    let settings = file("config.yaml", text).config().settings;
    assert_eq!((settings.logs.filter.as_str(), settings.logs.format), ("debug", LogFormat::Json));
    assert_eq!(settings.stop_grace, Duration::from_millis(500));
    assert_eq!(settings.topics.idle_after, Duration::from_secs(90 * 60));
    assert_eq!(settings.topics.during_turn, DuringTurn::Interrupt);
    assert!(settings.topics.several_topics);
    assert_eq!(
        settings.budgets,
        Budgets {
            topic_daily_usd: Some(500_000),
            hive_daily_usd: Some(10_000_000),
            topic_daily_tokens: None,
            hive_daily_tokens: Some(1_000_000),
        }
    );
    assert_eq!(settings.outbox.ambiguous, Ambiguous::Report);
    let types = vec!["image/png".to_owned()];
    assert_eq!(settings.attachments, Attachments { size_max_bytes: 2 << 20, count_max: 10, types });
}

#[test]
fn quotes_and_aliases_change_no_meaning() {
    let text = "\u{feff}topics:\r\n  'active_max': \"7\"\r\n  idle_after: &t 3h\r\nsession:\r\n  turn_timeout: *t\r\n";
    let settings = file("config.yaml", text).config().settings;
    assert_eq!(settings.topics.active_max, 7);
    assert_eq!(settings.session.turn_timeout, Duration::from_secs(3 * 3600));
}

#[test]
fn the_variables_of_the_log_win() {
    let written = file("config.yaml", "log_level: error\nlog_format: human\n");
    let logs =
        written.variable("HIVE_LOG", "warn,openhive=debug").variable("HIVE_LOG_FORMAT", "json").config().settings.logs;
    assert_eq!((logs.filter.as_str(), logs.format), ("warn,openhive=debug", LogFormat::Json));
}

#[test]
fn ids_are_texts_however_they_are_written() {
    let text = "discord:\n  rooms: {9223372036854775807: never, '1': always, discord:2: mentioned}\n\
                \x20 catch_up: {per_channel_max: 0}\n\
                telegram:\n  answer: always\n  rooms: {-1001234567890: never, -1001234567890/7: always, telegram:5: never}\n";
    let config = file("channels.yaml", text).config();
    let rooms = |rooms: &[(&str, Answering)]| -> BTreeMap<_, _> {
        rooms.iter().map(|(room, answering)| (conversation(room), *answering)).collect()
    };
    assert_eq!(
        config.discord.hearing,
        Hearing {
            default: Answering::WhenAddressed,
            rooms: rooms(&[
                ("discord:9223372036854775807", Answering::Never),
                ("discord:1", Answering::Always),
                ("discord:2", Answering::WhenAddressed),
            ]),
        }
    );
    assert_eq!(
        config.telegram.hearing,
        Hearing {
            default: Answering::Always,
            rooms: rooms(&[
                ("telegram:-1001234567890", Answering::Never),
                ("telegram:-1001234567890/7", Answering::Always),
                ("telegram:5", Answering::Never),
            ]),
        }
    );
    assert_eq!(config.discord.catch_up, CatchUp { per_channel_max: 0, age_max: Duration::from_secs(24 * 3600) });
}

#[test]
fn to_watch_some_channels_is_to_be_silent_in_the_others() {
    let text = "discord:\n  answer: always\n  rooms: {1: mentioned, 2: never}\n\
                \x20 watched_channels: [1234567890123456789, '1', discord:3]\n";
    let hearing = file("channels.yaml", text).config().discord.hearing;
    let rooms = [
        ("discord:1", Answering::WhenAddressed),
        ("discord:2", Answering::Never),
        ("discord:3", Answering::Always),
        ("discord:1234567890123456789", Answering::Always),
    ];
    let rooms = rooms.map(|(room, answering)| (conversation(room), answering));
    assert_eq!(hearing, Hearing { default: Answering::Never, rooms: rooms.into() });
}

#[test]
fn trust_is_what_is_written_and_nothing_more() {
    let text = "trust:\n  default_policy: deny\n  channels:\n    discord:\n      policy: allow\n\
                \x20     sender_allowlist: [1234567890123456789, discord:2, '3']\n      sender_denylist: [4]\n\
                \x20     channel_overrides:\n        123: {policy: deny}\n        discord:124: {policy: allow}\n\
                \x20   telegram:\n      sender_allowlist: []\n    web: {sender_allowlist: [someone@example.com]}\n";
    let written = file("channels.yaml", text).variable("HIVE_ADMINS", " discord:9 ,telegram:8");
    let texts = |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    let discord = KindPolicy {
        policy: Some(Access::Allow),
        allow: texts(&["1234567890123456789", "2", "3"]),
        deny: texts(&["4"]),
        conversations: [(conversation("discord:123"), Access::Deny), (conversation("discord:124"), Access::Allow)]
            .into(),
    };
    let web = KindPolicy { allow: texts(&["someone@example.com"]), ..KindPolicy::default() };
    assert_eq!(
        written.config().trust,
        Policy {
            default: Some(Access::Deny),
            kinds: [(Kind::Discord, discord), (Kind::Telegram, KindPolicy::default()), (Kind::Web, web)].into(),
            admins: [SenderId::new(Kind::Discord, 9), SenderId::new(Kind::Telegram, 8)].into(),
        }
    );
}

#[test]
fn tokens_come_from_the_file_and_variables_win() {
    let text = "discord: {token: from-file}\ntelegram: {token: 1:from-file}\n";
    let exposed = |written: &Written| {
        let config = written.config();
        [config.discord.token, config.telegram.token].map(|token| token.unwrap().expose().to_owned())
    };
    assert_eq!(exposed(&file("channels.yaml", text)), ["from-file", "1:from-file"]);
    let written = file("channels.yaml", text).variable("DISCORD_TOKEN", "x").variable("TELEGRAM_TOKEN", "2:y");
    assert_eq!(exposed(&written), ["x", "2:y"]);
    assert_eq!(written.config().secrets().count(), 2);
    let shown = format!("{:?} {:?}", written.config(), Environment::from_pairs([("DISCORD_TOKEN", "hunter2")]));
    assert!(shown.contains("DISCORD_TOKEN") && !shown.contains("2:y") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn keys_alone_make_profiles() {
    let written =
        Written::nothing().variable("OPENAI_API_KEY", "o").variable("OPENAI_API_URL", "http://127.0.0.1:1/v1");
    let models = written.config().models;
    let [openai] = models.profiles.as_slice() else { panic!("{models:?}") };
    assert_eq!(
        (openai.name.as_str(), openai.wire, openai.auth, openai.key.as_ref().unwrap().expose()),
        ("openai", Wire::OpenAi, Auth::ApiKey, "o")
    );
    assert_eq!(openai.api_url, "http://127.0.0.1:1/v1");
    assert_eq!(openai.prices, None);
    assert_eq!(models.main, model("openai:gpt-5.5"));

    let both = written.variable("ANTHROPIC_API_KEY", "a");
    let models = both.config().models;
    assert_eq!(
        models.profiles.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>(),
        ["anthropic", "openai"]
    );
    assert_eq!(
        (models.main, models.classifier),
        (model("anthropic:claude-sonnet-5-5"), model("anthropic:claude-sonnet-5-5"))
    );

    let models = both.variable("HIVE_MODEL", "openai:some:model").config().models;
    assert_eq!(models.main, model("openai:some:model"));
    let openai = models.profile("openai").unwrap();
    assert_eq!((openai.model.as_str(), openai.prices), ("some:model", None));
}

#[test]
fn providers_yaml_makes_profiles() {
    let text = "classifier: small:tiny\nprofiles:\n  big: {api_key: k, api_url: 'https://example.com/a', fallback: [small, big:other]}\n\
                \x20 small:\n    type: oauth\n    provider: openai\n    oauth_token_env: SMALL\n    model: m\n\
                \x20   context_window: 50000\n    max_output_tokens: 1000\n    prices: {input: 0.25, output: 2, cache_read: 0.025}\n";
    let written =
        file("providers.yaml", text).variable("SMALL", "t").variable("OPENAI_API_URL", "https://example.com/b");
    let models = written.config().models;
    let [big, small] = models.profiles.as_slice() else { panic!("{models:?}") };
    assert_eq!(
        (big.wire, big.auth, big.key.as_ref().unwrap().expose(), big.model.as_str()),
        (Wire::Anthropic, Auth::ApiKey, "k", "claude-sonnet-5-5")
    );
    assert_eq!(big.api_url, "https://example.com/a");
    assert_eq!((big.context_window_tokens, big.output_tokens_max), (200_000, 16_384));
    assert_eq!(big.fallback, [model("small:m"), model("big:other")]);
    assert_eq!((small.wire, small.auth, small.key.as_ref().unwrap().expose()), (Wire::OpenAi, Auth::OAuthBearer, "t"));
    assert_eq!(small.api_url, "https://example.com/b");
    assert_eq!((small.context_window_tokens, small.output_tokens_max), (50_000, 1_000));
    assert_eq!(
        small.prices,
        Some(Prices { input: 250_000, output: 2_000_000, cache_read: 25_000, cache_write: 250_000 })
    );
    assert_eq!((models.main, models.classifier), (model("big:claude-sonnet-5-5"), model("small:tiny")));
    assert_eq!(written.config().secrets().count(), 2);
}

#[test]
fn a_small_model_needs_no_settings_of_its_own() {
    let text =
        "profiles: {a: {api_key: x, context_window: 8000, api_url: 'http://127.0.0.1:1/openai?api-version=2'}}\n";
    let config = file("providers.yaml", text).config();
    let profile = &config.models.profiles[0];
    assert_eq!(
        (profile.output_tokens_max, profile.api_url.as_str()),
        (4_000, "http://127.0.0.1:1/openai?api-version=2")
    );
    let session = &config.settings.session;
    assert_eq!([8_000, 80_000, 800_000].map(|window| session.reserve_tokens(window)), [2_000, 20_000, 20_000]);
}

#[test]
fn the_built_in_model_can_be_named() {
    let written = Written::nothing().variable("ANTHROPIC_API_KEY", "a").variable("HIVE_MODEL", "offline");
    assert_eq!(written.config().models.main, offline::reference());
}

#[test]
fn the_model_that_answers_is_found_in_order() {
    let profiles =
        "profiles: {a: {api_key: x, model: ma}, default: {api_key: x, model: md}, b: {api_key: x, model: mb}}\n";
    let written = file("providers.yaml", profiles);
    assert_eq!(written.config().models.main, model("default:md"));
    let written = file("providers.yaml", &format!("default: b\n{profiles}"));
    assert_eq!(written.config().models.main, model("b:mb"));
    assert_eq!(written.variable("HIVE_MODEL", "a:other").config().models.main, model("a:other"));
    let written = file("providers.yaml", "profiles: {z: {api_key: x, model: mz}, a: {api_key: x, model: ma}}\n");
    assert_eq!(written.config().models.main, model("z:mz"));
}

#[test]
fn rules_that_can_be_read_are_left_to_others() {
    let written = file("rules/tone.md", "Be kind.\n").file("rules/picture.png", b"\xff\xfe");
    assert_eq!(written.faults(), Vec::<String>::new());
}

#[test]
fn the_file_of_variables_gives_what_the_process_does_not() {
    let written = file(".env", "PATH=/nowhere\nTELEGRAM_TOKEN=1:from-file\nHIVE_DATA_DIR='/a b'\n");
    let process = || [("PATH".into(), "/bin".into())];
    let environment = Environment::from_both(process(), &written.data().join(".env"));
    let config = load(&environment).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.telegram.token.unwrap().expose(), "1:from-file");
    assert_eq!(config.data_dir.to_str(), Some("/a b"));
    assert!(environment.has("PATH"));
    let missing = Environment::from_both(process(), &written.data().join("nothing"));
    assert!(missing.has("PATH") && !missing.has("TELEGRAM_TOKEN"));
}

#[test]
fn faults_in_the_file_of_variables_are_told_with_the_rest() {
    let text =
        "# tokens\nHIVE_LGO=info\nTELEGRAM_TOKEN hunter2\nHIVE_RUN_DIR=a\nHIVE_RUN_DIR=b\nDISCORD_TOKEN=\"hunter2\n";
    let written = file(".env", text);
    let path = written.data().join(".env");
    let shown = load(&Environment::from_both([], &path)).unwrap_err().to_string();
    let line = "expected `NAME=value`; put a value with blanks, quotes or backslashes in single quotes";
    let file = path.display();
    let expected = format!(
        "4 faults in the configuration (data directory `data`):\n  {file}: {line} (line 3)\n  \
         {file}: sets `HIVE_RUN_DIR` a second time (line 5)\n  {file}: {line} (line 6)\n  \
         HIVE_LGO: is no variable of the hive; did you mean `HIVE_LOG`?"
    );
    assert_eq!(shown, expected);
}
