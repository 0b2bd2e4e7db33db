//! The hive as a process of its own: set up, started, listened to, stopped and killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::discord::Discord;
use crate::model::ModelServer;
use crate::telegram::Telegram;

/// The longest that a command may take, and that a process may take to end once it has been told to.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// What a hive is started with. It sees these variables and no others of ours, and its folder is its working
/// directory, so that no `.env` but its own is read.
#[derive(Clone, Debug)]
pub struct Setup {
    program: PathBuf,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Setup {
    /// `program` in `folder`, with its data directory and its run directory there and nothing else.
    pub fn new(program: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Setup {
        let (program, folder) = (program.into(), folder.into());
        let path = |name: &str| folder.join(name).display().to_string();
        let variables =
            BTreeMap::from([("HIVE_DATA_DIR".to_owned(), path("data")), ("HIVE_RUN_DIR".to_owned(), path("run"))]);
        Setup { program, folder, variables }
    }

    /// With a variable.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<String>) -> Setup {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Without a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Setup {
        self.variables.remove(name);
        self
    }

    /// On this Discord.
    #[must_use]
    pub fn on_discord(self, discord: &Discord) -> Setup {
        self.set("DISCORD_TOKEN", discord.token()).set("DISCORD_API_URL", discord.url())
    }

    /// On this Telegram.
    #[must_use]
    pub fn on_telegram(self, telegram: &Telegram) -> Setup {
        self.set("TELEGRAM_TOKEN", telegram.token()).set("TELEGRAM_API_URL", telegram.url())
    }

    /// With a model behind Anthropic's protocol.
    #[must_use]
    pub fn with_anthropic(self, model: &ModelServer, key: &str) -> Setup {
        self.set("ANTHROPIC_API_URL", model.url()).set("ANTHROPIC_API_KEY", key)
    }

    /// With a model behind OpenAI's protocol.
    #[must_use]
    pub fn with_openai(self, model: &ModelServer, key: &str) -> Setup {
        self.set("OPENAI_API_URL", format!("{}/v1", model.url())).set("OPENAI_API_KEY", key)
    }

    /// With a file in the data directory.
    ///
    /// # Panics
    /// Where it cannot be written.
    #[must_use]
    pub fn file(self, name: &str, text: &str) -> Setup {
        let path = self.folder.join("data").join(name);
        let folder = path.parent().expect("a file has a folder");
        std::fs::create_dir_all(folder).expect("the data directory can be made");
        std::fs::write(&path, text).expect("the file can be written");
        self
    }

    /// The run directory.
    pub fn run_dir(&self) -> PathBuf {
        self.variables.get("HIVE_RUN_DIR").map_or_else(|| self.folder.join(".run"), PathBuf::from)
    }

    /// Where it all is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts `hive run`.
    pub fn start(&self) -> Product {
        self.start_as(&["run"])
    }

    /// Starts the program with these arguments. Its input stays open until [`Product::end_input`].
    ///
    /// # Panics
    /// Where the program cannot be started.
    pub fn start_as(&self, arguments: &[&str]) -> Product {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        self.spawn(command)
    }

    /// As [`Setup::start`], but no file may grow past `blocks` of 512 bytes: what a full disk is to whoever writes.
    pub fn start_with_little_room(&self, blocks: u32) -> Product {
        let mut command = Command::new("sh");
        // Without the trap the system would end the process instead of refusing the write.
        command.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" run")).arg(&self.program);
        self.spawn(command)
    }

    fn spawn(&self, mut command: Command) -> Product {
        std::fs::create_dir_all(&self.folder).expect("the folder can be made");
        command.current_dir(&self.folder).env_clear().envs(&self.variables).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let input = child.stdin.take();
        let output = Heard::listen(child.stdout.take().expect("piped"));
        let log = Heard::listen(child.stderr.take().expect("piped"));
        Product { child, input, output, log }
    }

    /// Runs a command to its end, with `input` at its standard input.
    ///
    /// # Panics
    /// Where it does not end in time.
    pub async fn run(&self, arguments: &[&str], input: &str) -> Ended {
        let mut product = self.start_as(arguments);
        product.say(input).await;
        product.end_input();
        product.ended(COMMAND_LIMIT).await
    }
}

/// A process that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Product {
    child: Child,
    input: Option<ChildStdin>,
    output: Heard,
    log: Heard,
}

/// A process that has ended, and what it wrote.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub log: String,
}

impl Ended {
    /// The exit code; `None` for a process that was killed.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

impl Product {
    /// The id of the process.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has written to standard error so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// What it has written to standard output so far.
    pub fn output(&self) -> String {
        self.output.text()
    }

    /// Waits until standard error satisfies `wanted`, and gives it.
    ///
    /// # Panics
    /// Where it does not within `deadline`, or the process ends before; with what is there.
    pub async fn wait_log(&self, deadline: Duration, wanted: impl Fn(&str) -> bool) -> String {
        self.log.wait_for(deadline, wanted).await
    }

    /// As [`Product::wait_log`], for standard output.
    pub async fn wait_output(&self, deadline: Duration, wanted: impl Fn(&str) -> bool) -> String {
        self.output.wait_for(deadline, wanted).await
    }

    /// Waits until these platforms, named as in the log (`discord`, `telegram`), are listened to.
    pub async fn listens_to(&self, platforms: &[&str], deadline: Duration) {
        let connected = |log: &str| platforms.iter().all(|name| log.contains(&format!("{name}: connected as")));
        self.wait_log(deadline, connected).await;
    }

    /// Types at its standard input. Nothing happens where it has ended or reads no more.
    pub async fn say(&mut self, text: &str) {
        if let Some(input) = &mut self.input {
            // A process may end before it has read everything: what it wrote tells why.
            let _gone = input.write_all(text.as_bytes()).await;
            let _gone = input.flush().await;
        }
    }

    /// Ends its standard input, as Ctrl-D does.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Kills it at once, with no chance to tidy up, and waits until it is gone.
    ///
    /// # Panics
    /// Where it cannot be waited for.
    pub async fn kill(mut self) -> Ended {
        self.child.start_kill().expect("a process of ours can be killed");
        self.ended(COMMAND_LIMIT).await
    }

    /// Asks it to stop (SIGTERM).
    ///
    /// # Panics
    /// Where no shell can be started.
    pub async fn ask_to_stop(&self) {
        let Some(pid) = self.pid() else { return };
        let asked = Command::new("sh").arg("-c").arg(format!("kill -TERM {pid}")).status().await;
        assert!(asked.expect("there is a shell").success(), "process {pid} could not be asked to stop");
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(self) -> Ended {
        self.ask_to_stop().await;
        self.ended(COMMAND_LIMIT).await
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// Where it does not within `deadline`; with what it wrote.
    pub async fn ended(mut self, deadline: Duration) -> Ended {
        let status = tokio::time::timeout(deadline, self.child.wait()).await;
        let status = status
            .unwrap_or_else(|_| panic!("it still runs after {deadline:?}; its log:\n{}", self.log()))
            .expect("a process of ours can be waited for");
        Ended { status, output: self.output.whole().await, log: self.log.whole().await }
    }
}

/// What a process writes to one of its streams.
#[derive(Debug)]
struct Heard {
    text: Arc<Mutex<String>>,
    /// How often there was more; closed at the stream's end.
    more: watch::Receiver<u64>,
    reading: JoinHandle<()>,
}

impl Heard {
    fn listen(mut stream: impl AsyncRead + Send + Unpin + 'static) -> Heard {
        let text = Arc::new(Mutex::new(String::new()));
        let (tell, more) = watch::channel(0);
        let kept = text.clone();
        let reading = tokio::spawn(async move {
            let (mut bytes, mut rest) = (vec![0; 16 * 1024], Vec::new());
            while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                rest.extend_from_slice(&bytes[..count]);
                // A character may come in two parts; the second is kept for the next round.
                let end = match std::str::from_utf8(&rest) {
                    Err(fault) if fault.error_len().is_none() => fault.valid_up_to(),
                    _ => rest.len(),
                };
                let said: Vec<u8> = rest.drain(..end).collect();
                lock(&kept).push_str(&String::from_utf8_lossy(&said));
                tell.send_modify(|count| *count += 1);
            }
        });
        Heard { text, more, reading }
    }

    fn text(&self) -> String {
        lock(&self.text).clone()
    }

    async fn wait_for(&self, deadline: Duration, wanted: impl Fn(&str) -> bool) -> String {
        let mut more = self.more.clone();
        let found = tokio::time::timeout(deadline, async {
            loop {
                more.mark_unchanged();
                let text = self.text();
                if wanted(&text) {
                    return Ok(text);
                }
                if more.changed().await.is_err() {
                    let text = self.text();
                    return if wanted(&text) { Ok(text) } else { Err(text) };
                }
            }
        });
        match found.await {
            Ok(Ok(text)) => text,
            Ok(Err(text)) => panic!("the process ended before it wrote what was waited for; it wrote:\n{text}"),
            Err(_) => panic!("not within {deadline:?}; the process wrote:\n{}", self.text()),
        }
    }

    /// Everything, once the stream has ended.
    async fn whole(&mut self) -> String {
        // A process that left a child behind keeps the stream open: what is there will do.
        let _all = tokio::time::timeout(Duration::from_secs(5), &mut self.reading).await;
        self.text()
    }
}

fn lock(text: &Mutex<String>) -> MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}
