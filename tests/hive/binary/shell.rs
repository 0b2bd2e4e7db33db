//! Commands that a model gives to the real program: what they reach, what they leave, and what the model is told.
//!
//! What a command tries is in a script, which no rule looks into: it is the kernel that must refuse.

use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fakes::model::Reply;
use fakes::product::Product;
use serde_json::{Value, json};

use super::world::{KEY, PATIENCE, World};
use super::{Named, real};

pub(super) const ALL: &[Named] = &[
    ("nothing_of_the_hive_is_reached_from_inside_a_command", || real(nothing_is_reached())),
    ("what_words_alone_show_is_refused_in_words", || real(told_in_words())),
    ("a_command_that_takes_more_than_it_may_is_ended_and_the_hive_goes_on", || real(too_much())),
    ("a_command_does_not_outlive_its_time_whatever_it_hides_behind", || real(outlived())),
    ("a_stop_ends_a_command_with_everything_that_it_started", || real(stopped())),
    ("a_command_is_gone_when_the_hive_is_killed", || real(killed())),
];

/// How the log begins that says that commands are run here, and that none is.
const CAN: &str = "commands of the shell: ";
const CANNOT: &str = "no command of a shell runs here";

/// What a file holds that no command may read.
const CANARY: &str = "canary-7f3a9c-of-another-team";

/// A hive whose model gives the commands that it is asked for.
struct Shell {
    world: World,
    product: Product,
    /// What the model asks for when it is told `step N`: calls of one answer.
    steps: Arc<Mutex<Vec<Vec<Value>>>>,
    /// What the model was told of each call, in order.
    told: Arc<Mutex<Vec<String>>>,
    /// Why no command is run on this machine, if none is.
    refuses: Option<String>,
}

impl Shell {
    async fn start() -> Shell {
        let world = World::with_anthropic().await;
        let (steps, told) = (Arc::<Mutex<Vec<Vec<Value>>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (wanted, heard, given) = (steps.clone(), told.clone(), Mutex::new(0));
        world.model.rule_by(move |asked| {
            lock(&heard).extend(asked.results.clone());
            let number: usize = asked.text.strip_prefix("step ")?.parse().ok()?;
            let mut given = lock(&given);
            if number < *given {
                return Some(Reply::text("done"));
            }
            *given = number + 1;
            let wanted = lock(&wanted);
            Some(wanted.get(number)?.iter().fold(Reply::empty(), |reply, call| reply.and_call("run_shell", call)))
        });
        let product = world.start().await;
        let log = product.wait_log(PATIENCE, |log| log.contains(CAN) || log.contains(CANNOT)).await;
        let refuses = log.lines().find(|line| line.contains(CANNOT)).map(str::to_owned);
        Shell { world, product, steps, told, refuses }
    }

    /// The machine's word that nothing can be confined here is also the model's.
    async fn is_refused_here(&self) -> bool {
        let Some(why) = &self.refuses else { return false };
        eprintln!("this machine confines no command, so every one is to be refused: {why}");
        let told = self.ask(json!({"command": "echo ran > ran"})).await;
        assert!(told.contains("commands cannot be run here"), "{told}");
        assert!(!self.home().join("ran").exists());
        true
    }

    /// The folder that commands are run in.
    fn home(&self) -> std::path::PathBuf {
        self.world.setup.run_dir().join("teams/main")
    }

    fn script(&self, text: &str) {
        std::fs::write(self.home().join("script.sh"), text).expect("the workspace is there");
    }

    /// Has the model ask for these calls, and does not wait for them.
    fn begin(&self, calls: Vec<Value>) {
        let mut steps = lock(&self.steps);
        steps.push(calls);
        self.world.say_on_discord(&format!("step {}", steps.len() - 1));
    }

    /// Has the model ask for these calls, and says what it was told of each.
    async fn ask_all(&self, calls: Vec<Value>) -> Vec<String> {
        let (before, count) = (lock(&self.told).len(), calls.len());
        self.begin(calls);
        let answered = || lock(&self.told).get(before..before + count).map(<[String]>::to_vec);
        let answers = self.world.discord.until(answered, PATIENCE).await;
        answers.unwrap_or_else(|| panic!("the model heard nothing of its commands:\n{}", self.product.log()))
    }

    /// The same for one call.
    async fn ask(&self, call: Value) -> String {
        self.ask_all(vec![call]).await.remove(0)
    }

    /// The same for the script, whose result must be one.
    async fn run(&self, script: &str) -> Value {
        self.script(script);
        let told = self.ask(json!({"command": "bash script.sh"})).await;
        serde_json::from_str(&told).unwrap_or_else(|_| panic!("that is no result: {told}"))
    }

    /// An honest command works, and the hive still answers.
    async fn works(&self) {
        let told = self.ask(json!({"command": "echo hello > made && cat made && echo oh >&2 && exit 7"})).await;
        let result: Value = serde_json::from_str(&told).expect("a result");
        assert_eq!(
            (&result["exit_code"], &result["stdout"], &result["stderr"], &result["timed_out"]),
            (&json!(7), &json!("hello\n"), &json!("oh\n"), &json!(false)),
            "{result}"
        );
        assert_eq!(std::fs::read_to_string(self.home().join("made")).expect("it was made"), "hello\n");
    }
}

/// Everything that a command might try, by name: each must fail. `$HIVE` is the hive's process.
fn attempts(shell: &Shell, tcp: u16, udp: u16, beside: &Path) -> Vec<(String, String)> {
    let (folder, run) = (shell.world.setup.folder().display().to_string(), shell.world.setup.run_dir());
    let run = run.display();
    let mut attempts: Vec<(String, String)> = Vec::new();
    let secret_files = [
        format!("{run}/openhive.db"),
        format!("{run}/openhive.db-wal"),
        format!("{run}/vault.key"),
        format!("{folder}/.env"),
        format!("{folder}/data/notes.md"),
        format!("{run}/teams/other/notes.md"),
        "/etc/shadow".to_owned(),
        "/etc/passwd".to_owned(),
    ];
    for file in secret_files {
        attempts.push((format!("read {file}"), format!("cat '{file}'")));
        attempts.push((format!("link to {file}"), format!("rm -f link; ln -s '{file}' link && cat link")));
        attempts.push((format!("second name of {file}"), format!("rm -f twin; ln '{file}' twin && cat twin")));
        attempts.push((format!("write {file}"), format!("echo x >> '{file}'")));
        attempts.push((format!("empty {file}"), format!("truncate -s 0 '{file}'")));
        attempts.push((format!("move {file}"), format!("mv '{file}' .")));
    }
    // `ptrace` has another number on each sort of processor.
    let ptrace = if cfg!(target_arch = "aarch64") { 117 } else { 101 };
    let more = [
        ("list the run directory", format!("ls '{run}'")),
        ("list another team", format!("ls '{run}/teams/other'")),
        ("variables of the hive", "grep -qa ANTHROPIC_API_KEY /proc/$HIVE/environ".to_owned()),
        ("files of the hive", "ls -l /proc/$HIVE/fd | grep -q openhive".to_owned()),
        ("folder of the hive", "cat /proc/$HIVE/cwd/.env".to_owned()),
        ("memory map of the hive", "grep -q hive /proc/$HIVE/maps".to_owned()),
        ("memory of the hive", "grep -qx hive /proc/$HIVE/comm && exec 3< /proc/$HIVE/mem".to_owned()),
        ("trace the hive", format!("perl -e 'syscall({ptrace}, 16, $ENV{{HIVE}} + 0, 0, 0) == 0 or die'")),
        ("seize the hive", format!("perl -e 'syscall({ptrace}, 0x4206, $ENV{{HIVE}} + 0, 0, 0) == 0 or die'")),
        ("end the hive", "kill -TERM $HIVE && ! kill -0 $HIVE".to_owned()),
        ("kill the hive", "kill -KILL $HIVE && grep -qx hive /proc/$HIVE/comm".to_owned()),
        ("tcp", format!("echo canary > /dev/tcp/127.0.0.1/{tcp}")),
        ("udp", format!("echo canary > /dev/udp/127.0.0.1/{udp}")),
        ("tcp by perl", perl_connects("AF_INET", &format!("sockaddr_in({tcp}, inet_aton(\"127.0.0.1\"))"))),
        ("the hive's own socket", perl_connects("AF_UNIX", &format!("sockaddr_un(\"{run}/hive.sock\")"))),
        ("write beside the teams", format!("echo x > '{run}/new'")),
        ("write to another team", format!("echo x > '{run}/teams/other/new'")),
        ("make a team", format!("mkdir '{run}/teams/new'")),
        ("write where everybody may", format!("echo x > '{}'", beside.display())),
        ("write through a link", format!("rm -f out; ln -s '{run}' out && echo x > out/new")),
        ("its own configuration", "echo 'allowed_tools: [\"*\"]' > config.yaml && sleep 0.3 && false".to_owned()),
        ("another world", "unshare -U true".to_owned()),
        ("the hive's world", "nsenter -t $HIVE -m true".to_owned()),
        ("a mount", "mount -t tmpfs none .".to_owned()),
        ("another root", "chroot / true".to_owned()),
        ("another user", "su -c true".to_owned()),
    ];
    attempts.extend(more.map(|(name, attempt)| (name.to_owned(), attempt)));
    attempts
}

fn perl_connects(family: &str, address: &str) -> String {
    format!(
        "perl -MSocket -e 'socket(S, {family}, SOCK_STREAM, 0) or die; connect(S, {address}) or die; print S \"x\\n\"'"
    )
}

async fn nothing_is_reached() {
    let shell = Shell::start().await;
    if shell.is_refused_here().await {
        return;
    }
    let (folder, run) = (shell.world.setup.folder().to_owned(), shell.world.setup.run_dir());
    let (tcp, udp) =
        (TcpListener::bind("127.0.0.1:0").expect("a port"), UdpSocket::bind("127.0.0.1:0").expect("a port"));
    tcp.set_nonblocking(true).expect("a socket of ours");
    udp.set_nonblocking(true).expect("a socket of ours");
    let ports = (tcp.local_addr().expect("bound").port(), udp.local_addr().expect("bound").port());
    std::fs::create_dir_all(run.join("teams/other")).expect("the run directory is there");
    std::fs::create_dir_all(folder.join("data")).expect("the folder is there");
    for file in [folder.join(".env"), folder.join("data/notes.md"), run.join("teams/other/notes.md")] {
        std::fs::write(file, format!("# {CANARY}\n")).expect("it can be written");
    }
    let vault_key = std::fs::read_to_string(run.join("vault.key")).expect("the hive has made it");
    let beside = std::env::temp_dir().join(format!("{CANARY}-{}", std::process::id()));
    let attempts = attempts(&shell, ports.0, ports.1, &beside);

    let pid = shell.product.pid().expect("it runs");
    let mut script = format!("export HIVE={pid}\n");
    for (at, (_, attempt)) in attempts.iter().enumerate() {
        script.push_str(&format!("( {attempt}\n) 2> /dev/null && echo \"WORKED {at}.\"\n"));
    }
    script.push_str("echo through\n");
    let result = shell.run(&script).await;
    let stdout = result["stdout"].as_str().unwrap_or_default();
    let worked = |at: usize| stdout.contains(&format!("WORKED {at}."));
    let worked: Vec<_> =
        attempts.iter().enumerate().filter(|(at, _)| worked(*at)).map(|(_, attempt)| attempt).collect();
    assert!(worked.is_empty(), "these should have failed: {worked:#?}\n{result}");
    assert!(stdout.ends_with("through\n") && attempts.len() > 60, "it tried everything: {result}");
    for secret in [CANARY, KEY, vault_key.trim(), "SQLite format 3", "root:"] {
        assert!(!result.to_string().contains(secret), "{result}");
    }
    // And the world is what it was.
    assert!(tcp.accept().is_err() && udp.recv(&mut [0; 9]).is_err(), "something was sent");
    assert!(
        ![run.join("new"), run.join("teams/other/new"), run.join("teams/new"), beside].iter().any(|it| it.exists())
    );
    assert_eq!(std::fs::read_to_string(folder.join(".env")).expect("it is there"), format!("# {CANARY}\n"));
    assert_eq!(std::fs::read_to_string(run.join("teams/other/notes.md")).expect("there"), format!("# {CANARY}\n"));
    assert_eq!(std::fs::read_to_string(run.join("vault.key")).expect("it is there"), vault_key);
    assert!(!shell.home().join("config.yaml").exists(), "what governs a team is not made by it");
    assert_eq!(shell.product.pid(), Some(pid));
    shell.works().await;
}

async fn told_in_words() {
    let shell = Shell::start().await;
    if shell.is_refused_here().await {
        return;
    }
    let database = format!("cat {}/openhive.db", shell.world.setup.run_dir().display());
    let cases = [
        (&*database, "outside"),
        ("cat ../../vault.key", "outside"),
        ("cat /proc/1/environ", "outside"),
        ("echo x > config.yaml", "governed"),
        ("echo x > plugins/mine.ts", "governed"),
        ("curl http://127.0.0.1/", "network"),
        ("sudo id", "privilege"),
        ("rm -rf ~", "whole-workspace"),
        (":(){ :|:& };:", "fork-bomb"),
    ];
    let told = shell.ask_all(cases.iter().map(|(command, _)| json!({ "command": command })).collect()).await;
    for ((command, rule), told) in cases.iter().zip(told) {
        assert!(told.contains(&format!("by the rule `{rule}`")), "{command}: {told}");
    }
    shell.works().await;
}

async fn too_much() {
    let shell = Shell::start().await;
    if shell.is_refused_here().await {
        return;
    }
    let result = shell.run("echo first; yes | head -c 50000000; echo last").await;
    let stdout = result["stdout"].as_str().unwrap_or_default();
    assert_eq!(
        (&result["exit_code"], &result["stdout_bytes"]),
        (&json!(0), &json!(50_000_011)),
        "of a flood all is read"
    );
    assert!(
        stdout.starts_with("first\ny\n") && stdout.ends_with("y\nlast\n") && stdout.len() < 40_000,
        "{}",
        stdout.len()
    );

    // In a script: the words of a fork bomb are refused already. Its processes all have the script's name.
    let bomb = format!("bomb{}", mark(0));
    std::fs::write(shell.home().join(&bomb), "f() { f | f & f; }\nf\n").expect("the workspace is there");
    let told = shell.ask(json!({"command": format!("bash {bomb}; echo on"), "timeout": 10_000})).await;
    let result: Value = serde_json::from_str(&told).expect("a result");
    let refused = result["stderr"].as_str().is_some_and(|said| said.contains("fork"));
    assert!(result["exceeded"].is_string() || refused, "{result}");
    assert_eq!(running(&bomb), [] as [String; 0], "no process of it is left");
    shell.works().await;
}

/// A number of seconds for `sleep` that nobody else sleeps.
fn mark(at: u32) -> String {
    format!("{}.{}{at}", 2_000, 100_000 + std::process::id())
}

/// Everything that a command can do to be left alone when it is ended.
fn hiding(mark: &str) -> String {
    format!(
        "trap '' TERM HUP INT\nsleep {mark} &\nset -m; sleep {mark} &\n\
         (setsid bash -c \"trap '' TERM; (sleep {mark} &) ; sleep {mark}\" > /dev/null 2>&1 < /dev/null &)\n\
         ( ( nohup setsid sleep {mark} > /dev/null 2>&1 & ) & )\n\
         echo begun\n"
    )
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command lines on this machine that a word is in.
fn running(word: &str) -> Vec<String> {
    let lines =
        std::fs::read_dir("/proc").expect("this is Linux").flatten().map(|it| std::fs::read(it.path().join("cmdline")));
    let lines = lines.flatten().map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

/// Waits until something holds that no platform tells of.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let step = Duration::from_millis(20);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        if holds() {
            return;
        }
        base::Clock::Wall.sleep(step).await;
    }
    panic!("it never came to pass: {what}");
}

/// Waits until no process of the command is left.
async fn gone(mark: &str) {
    until("the command is gone", || running(mark).is_empty()).await;
}

/// Waits until the command runs.
async fn runs(mark: &str) {
    until("the command runs", || running(mark).iter().filter(|line| line.starts_with("sleep")).count() >= 4).await;
}

async fn outlived() {
    let shell = Shell::start().await;
    if shell.is_refused_here().await {
        return;
    }
    let mark = mark(1);
    shell.script(&format!("{}wait; sleep {mark}", hiding(&mark)));
    let told = shell.ask(json!({"command": "bash script.sh", "timeout": 2_000})).await;
    let result: Value = serde_json::from_str(&told).expect("a result");
    assert_eq!(
        (&result["timed_out"], &result["exit_code"], &result["stdout"]),
        (&json!(true), &Value::Null, &json!("begun\n"))
    );
    assert_eq!(running(&mark), [] as [String; 0], "when the model is told, it is over");
    // One that ends by itself leaves as little behind.
    let result = shell.run(&hiding(&mark)).await;
    assert_eq!((&result["timed_out"], &result["exit_code"]), (&json!(false), &json!(0)));
    assert_eq!(running(&mark), [] as [String; 0]);
    shell.works().await;
}

async fn stopped() {
    let shell = Shell::start().await;
    if shell.is_refused_here().await {
        return;
    }
    let mark = mark(2);
    shell.script(&format!("{}wait; sleep {mark}", hiding(&mark)));
    shell.begin(vec![json!({"command": "bash script.sh"})]);
    runs(&mark).await;
    let asked = shell.world.model.count();
    shell.world.say_on_discord("/stop");
    gone(&mark).await;
    let told = |text: &String| text.starts_with("Stopping ");
    let said = shell.world.discord.until(|| shell.world.on_discord().iter().any(told).then_some(()), PATIENCE).await;
    assert!(said.is_some(), "{:?}", shell.world.on_discord());
    assert_eq!(shell.world.model.count(), asked, "a stopped turn asks nothing more");
    // The next turn begins with what became of the call, and goes on.
    let next = ["echo next", "echo more"].map(|command| json!({ "command": command }));
    let told = shell.ask_all(next.to_vec()).await;
    assert!(told[0].contains("stopped while this ran"), "{told:?}");
    assert!(told[1].contains("\"stdout\":\"next\\n\""), "{told:?}");
    shell.works().await;
}

async fn killed() {
    let shell = Shell::start().await;
    if shell.is_refused_here().await {
        return;
    }
    let mark = mark(3);
    shell.script(&format!("{}wait; sleep {mark}", hiding(&mark)));
    shell.begin(vec![json!({"command": "bash script.sh"})]);
    runs(&mark).await;
    shell.product.kill().await;
    gone(&mark).await;
}
