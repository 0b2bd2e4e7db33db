//! What a test of the process has: both platforms, a model, a folder of its own, and an admin on each platform.

use std::time::Duration;

use fakes::discord::Discord;
use fakes::model::{ModelServer, Reply};
use fakes::product::{Product, Setup};
use fakes::telegram::Telegram;
use tempfile::TempDir;

/// The key that the model is asked with. It looks like a real one, so that a search for leaks finds it.
pub const KEY: &str = "sk-ant-api03-Zq8Wm2Rt5Yv1Xc4Nb7Lk0Jh3Gf6Ds9Pa";

/// How long a state is waited for. Far more than it takes: a test that fails is late, not flaky.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The world around a hive.
pub struct World {
    pub discord: Discord,
    pub telegram: Telegram,
    pub model: ModelServer,
    /// Both platforms, the admins, and no model: the offline model answers.
    pub setup: Setup,
    /// The admin's id and direct conversation on Discord.
    pub discord_admin: u64,
    pub discord_dm: u64,
    /// The admin's id on Telegram, which is also that of their chat.
    pub telegram_admin: i64,
    _folder: TempDir,
}

impl World {
    pub async fn new() -> World {
        let (discord, telegram, model) = (Discord::start().await, Telegram::start().await, ModelServer::start().await);
        // Which topic a message belongs to: the latest. Only the classifier is asked without tools.
        model.rule_by(|asked| asked.tools.is_empty().then(|| Reply::text(r#"{"unsure": true}"#)));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let discord_admin = discord.user("Admin");
        let telegram_admin = telegram.user("Admin");
        let setup = Setup::new(env!("CARGO_BIN_EXE_hive"), folder.path())
            .on_discord(&discord)
            .on_telegram(&telegram)
            .set("HIVE_ADMINS", format!("discord:{discord_admin},telegram:{telegram_admin}"));
        let discord_dm = discord.dm(discord_admin);
        telegram.private(telegram_admin);
        World { discord, telegram, model, setup, discord_admin, discord_dm, telegram_admin, _folder: folder }
    }

    /// With a model behind Anthropic's protocol.
    pub async fn with_anthropic() -> World {
        let mut world = World::new().await;
        world.setup = world.setup.clone().with_anthropic(&world.model, KEY);
        world
    }

    /// Without a platform, for what is said at the terminal.
    pub fn without_platforms(&self) -> Setup {
        let names = ["DISCORD_TOKEN", "DISCORD_API_URL", "TELEGRAM_TOKEN", "TELEGRAM_API_URL", "HIVE_ADMINS"];
        names.into_iter().fold(self.setup.clone(), Setup::without)
    }

    /// Starts the hive and waits until it listens to both platforms.
    pub async fn start(&self) -> Product {
        let product = self.setup.start();
        product.listens_to(&["discord", "telegram"], PATIENCE).await;
        product
    }

    /// The admin says something to the bot, directly on Discord.
    pub fn say_on_discord(&self, text: &str) -> u64 {
        self.discord.say(self.discord_dm, self.discord_admin, text)
    }

    /// The same on Telegram.
    pub fn say_on_telegram(&self, text: &str) -> i64 {
        self.telegram.say(self.telegram_admin, self.telegram_admin, text)
    }

    /// Waits until the bot shows exactly these texts to the admin on Discord, and gives the last one's message.
    pub async fn discord_shows(&self, texts: &[&str]) -> u64 {
        let bot = self.discord.bot_id();
        let looks = |shown: &[fakes::discord::Shown]| {
            let of_bot: Vec<_> = shown.iter().filter(|it| it.author == bot).map(|it| it.text.as_str()).collect();
            of_bot == texts
        };
        let shown = self.discord.wait_for(self.discord_dm, looks, PATIENCE).await;
        shown.iter().rfind(|it| it.author == bot).map_or(0, |it| it.id)
    }

    /// The same on Telegram.
    pub async fn telegram_shows(&self, texts: &[&str]) {
        let looks =
            |shown: &[fakes::telegram::Shown]| shown.iter().map(|it| it.text.as_str()).collect::<Vec<_>>() == texts;
        self.telegram.wait_for(self.telegram_admin, PATIENCE, looks).await;
    }

    /// What the bot has shown the admin on Discord.
    pub fn on_discord(&self) -> Vec<String> {
        self.discord.answers(self.discord_dm).into_iter().map(|shown| shown.text).collect()
    }

    /// The same on Telegram.
    pub fn on_telegram(&self) -> Vec<String> {
        self.telegram.messages(self.telegram_admin).into_iter().map(|shown| shown.text).collect()
    }
}
