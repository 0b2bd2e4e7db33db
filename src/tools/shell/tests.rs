//! The tool as a team has it: commands are run by a real launcher, and bounded by this machine's kernel.
//!
//! What a command tries is in a script, which the door does not look into: it is the kernel that must refuse.

mod bounds;
mod ending;

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::{Stop, TeamName};
use serde_json::json;

use super::*;
use crate::process::Program;
use crate::testing::{self, World};
use crate::tool::{Tool, ToolError};

const SECRET: &str = "a secret that no command may see";
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// The launcher as a program of its own, which cargo builds beside the tests.
fn launcher() -> Program {
    let program = testing::program(super::ARGUMENT);
    assert!(program.path.exists(), "{} is not built: `cargo test` without `--lib` does", program.path.display());
    program
}

fn rules() -> ShellRules {
    ShellRules { launcher: launcher(), ..ShellRules::default() }
}

/// The rules with namespaces and without: everything must hold in both.
fn both_ways() -> [ShellRules; 2] {
    [true, false].map(|namespaces| ShellRules { namespaces, ..rules() })
}

struct Shell {
    world: World,
    tool: RunShell,
}

impl Shell {
    async fn new(rules: ShellRules) -> Shell {
        let world = World::new().await;
        let tool = RunShell { workspaces: world.workspaces.clone(), rules: Arc::new(rules), clock: base::Clock::Wall };
        world.home();
        Shell { world, tool }
    }

    async fn try_with(&self, args: serde_json::Value, stop: &Stop) -> Result<RunShellResult, ToolError> {
        let call = crate::Call { stop: stop.clone(), ..self.world.call() };
        tokio::time::timeout(PATIENCE, self.tool.run(&call, serde_json::from_value(args).unwrap())).await.unwrap()
    }

    async fn ask(&self, args: serde_json::Value) -> RunShellResult {
        self.try_with(args, &Stop::new()).await.unwrap()
    }

    /// Runs a script that lies in the workspace.
    async fn script(&self, script: &str) -> RunShellResult {
        fs::write(self.world.home().join("script.sh"), script).unwrap();
        self.ask(json!({"command": "bash script.sh"})).await
    }

    fn beside(&self, path: &str) -> PathBuf {
        let path = self.world.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

/// A number of seconds for `sleep` that no other process sleeps.
fn mark(at: usize) -> String {
    format!("{}.{}{at}", 1_000, 100_000 + std::process::id())
}

#[tokio::test]
async fn a_command_gives_its_output_its_code_and_its_time() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let result = shell.ask(json!({"command": "echo out; echo err >&2; exit 3", "description": "says it"})).await;
        assert!((0..20_000).contains(&result.duration_ms), "{}", result.duration_ms);
        let expected = RunShellResult {
            exit_code: Some(3),
            signal: None,
            timed_out: false,
            exceeded: None,
            stdout: "out\n".into(),
            stderr: "err\n".into(),
            truncated: false,
            stdout_bytes: 4,
            stderr_bytes: 4,
            duration_ms: result.duration_ms,
        };
        assert_eq!(result, expected);
    }
}

#[tokio::test]
async fn it_works_in_the_workspace_and_in_its_folders() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let home = shell.world.home();
        fs::create_dir(home.join("sub")).unwrap();
        let script = "echo one > a && mkdir b && mv a b/a && cat b/a && ln -s b/a c && rm b/a c && rmdir b && \
                      chmod 600 script.sh && mktemp > /dev/null && cat <(echo two) && pwd";
        let result = shell.script(script).await;
        assert_eq!((result.exit_code, &*result.stderr), (Some(0), ""));
        assert_eq!(result.stdout, format!("one\ntwo\n{}\n", home.canonicalize().unwrap().display()));
        let result = shell.ask(json!({"command": "echo three > file", "cwd": "sub"})).await;
        assert_eq!(result.exit_code, Some(0));
        assert_eq!(fs::read_to_string(home.join("sub/file")).unwrap(), "three\n");
    }
}

#[tokio::test]
async fn bad_arguments_are_refused_and_nothing_runs() {
    let shell = Shell::new(rules()).await;
    std::os::unix::fs::symlink("/etc", shell.world.home().join("link")).unwrap();
    for args in [
        json!({"command": "touch it", "cwd": ".."}),
        json!({"command": "touch it", "cwd": "/etc"}),
        json!({"command": "touch it", "cwd": "link"}),
        json!({"command": "touch it", "cwd": "nowhere"}),
        json!({"command": "touch it", "timeout": 0}),
        json!({"command": "touch it", "timeout": 600_001}),
        json!({"command": "  "}),
        json!({"command": "touch it \0"}),
        json!({"command": format!("touch it{}", " ".repeat(64 * 1024))}),
    ] {
        let refused = shell.try_with(args.clone(), &Stop::new()).await;
        assert!(matches!(refused, Err(ToolError::Refused(_))), "{args}: {refused:?}");
    }
    assert!(!shell.world.home().join("it").exists());
}

#[tokio::test]
async fn nothing_outside_of_the_workspace_can_be_read() {
    for rules in both_ways() {
        // Also where the owner grants the very folder that the hive lies in.
        for grants_all in [false, true] {
            let mut shell = Shell::new(rules.clone()).await;
            let world = shell.world.folder.path().to_owned();
            let files = ["openhive.db", "vault.key", ".env", "teams/other/notes.md", "config/channels.yaml"];
            let mut files: Vec<PathBuf> = files.iter().map(|file| shell.beside(file)).collect();
            for file in &files[1..] {
                fs::write(file, SECRET).unwrap();
            }
            if grants_all {
                let hidden = [&files[..3], &[world.join("config")]].concat();
                let read = vec![world.clone(), "/etc/os-release".into()];
                shell.tool.rules = Arc::new(ShellRules { read, hidden, ..rules.clone() });
            }
            files.extend(["/etc/shadow", "/etc/passwd"].map(PathBuf::from));
            files.push(format!("/proc/{}/environ", std::process::id()).into());
            files.push(format!("/proc/{}/maps", std::process::id()).into());
            fs::create_dir_all(world.join("teams/main")).unwrap();
            for (at, file) in files.iter().enumerate() {
                std::os::unix::fs::symlink(file, shell.world.home().join(format!("link{at}"))).unwrap();
                let file = file.display();
                let result = shell
                    .script(&format!(
                        "cat '{file}'; cat link{at}; head -c 9 < '{file}'; cp '{file}' x; ln '{file}' y; cat x y"
                    ))
                    .await;
                assert_ne!(result.exit_code, Some(0), "{file}");
                assert_eq!(result.stdout, "", "{file}");
            }
            let result = shell.script(&format!("ls '{}'", world.join("teams/other").display())).await;
            assert_ne!(result.exit_code, Some(0));
            if grants_all {
                fs::write(world.join("free"), "free").unwrap();
                assert_eq!(shell.script(&format!("cat '{}'", world.join("free").display())).await.stdout, "free");
            }
        }
    }
}

#[tokio::test]
async fn nothing_outside_of_the_workspace_can_be_written() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let there = shell.beside("teams/other/notes.md");
        fs::write(&there, SECRET).unwrap();
        let outside = shell.beside("new");
        let temporary = std::env::temp_dir().join(format!("{}.new", mark(0)));
        for script in [
            format!("echo x > '{}'", outside.display()),
            format!("mkdir '{}'", outside.display()),
            format!("echo x > '{}'", temporary.display()),
            format!("mv script.sh '{}'", outside.display()),
            format!("ln script.sh '{}'", outside.display()),
            format!("echo x >> '{}'", there.display()),
            format!(": > '{}'", there.display()),
            format!("truncate -s 0 '{}'", there.display()),
            format!("rm '{}'", there.display()),
            format!("mv '{}' .", there.display()),
            "echo x > /usr/new".to_owned(),
            "echo x > /dev/shm/new".to_owned(),
        ] {
            assert_ne!(shell.script(&script).await.exit_code, Some(0), "{script}");
        }
        assert_eq!(fs::read_to_string(&there).unwrap(), SECRET);
        assert!([outside, temporary, "/usr/new".into(), "/dev/shm/new".into()].iter().all(|path| !path.exists()));
    }
}

#[tokio::test]
async fn modes_elsewhere_cannot_be_changed_where_that_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new(rules()).await;
    let support = Support::probe(&shell.tool.rules, &shell.world.home()).await.unwrap();
    if !support.to_string().contains("modes and owners elsewhere too") {
        eprintln!("skipped: this machine has no namespaces: {support}");
        return;
    }
    let there = shell.beside("openhive.db");
    let before = fs::metadata(&there).unwrap().permissions().mode();
    let result = shell.script(&format!("chmod 777 '{0}'; touch -d 2001-01-01 '{0}'", there.display())).await;
    assert_ne!(result.exit_code, Some(0));
    assert_eq!(fs::metadata(&there).unwrap().permissions().mode(), before);
}

#[tokio::test]
async fn what_the_owner_wrote_in_the_workspace_cannot_be_changed_where_there_are_namespaces() {
    let shell = Shell::new(rules()).await;
    let support = Support::probe(&shell.tool.rules, &shell.world.home()).await.unwrap();
    if !support.to_string().contains("modes and owners elsewhere too") {
        eprintln!("skipped: this machine has no namespaces: {support}");
        return;
    }
    let config = shell.world.home().join("config.yaml");
    fs::write(&config, "tools: []\n").unwrap();
    for script in ["echo x > config.yaml", "rm -f config.yaml", "mv config.yaml x", "mv script.sh config.yaml"] {
        assert_ne!(shell.script(script).await.exit_code, Some(0), "{script}");
    }
    assert_eq!(shell.script("cat config.yaml").await.stdout, "tools: []\n");
}

#[tokio::test]
async fn the_network_is_closed_unless_it_is_granted() {
    for rules in both_ways() {
        for granted in [false, true] {
            let network = Networked::default();
            network.set(&TeamName::main(), granted);
            let shell = Shell::new(ShellRules { network, ..rules.clone() }).await;
            let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
            tcp.set_nonblocking(true).unwrap();
            udp.set_nonblocking(true).unwrap();
            let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
            for (kind, port) in [("tcp", tcp_port), ("udp", udp_port)] {
                let result = shell.script(&format!("echo hello > /dev/{kind}/127.0.0.1/{port}")).await;
                assert_eq!(result.exit_code == Some(0), granted, "{kind}: {}", result.stderr);
            }
            let (accepted, received) = (tcp.accept().map(drop), udp.recv(&mut [0; 9]));
            if granted {
                accepted.unwrap();
                assert_eq!(received.unwrap(), 6);
            } else {
                assert_eq!(accepted.unwrap_err().kind(), ErrorKind::WouldBlock);
                assert_eq!(received.unwrap_err().kind(), ErrorKind::WouldBlock);
            }
        }
    }
}

#[tokio::test]
async fn no_socket_of_another_program_can_be_asked_whatever_is_granted() {
    if !Path::new("/usr/bin/perl").exists() {
        eprintln!("skipped: there is no perl to make sockets with");
        return;
    }
    for granted in [false, true] {
        let network = Networked::default();
        network.set(&TeamName::main(), granted);
        let shell = Shell::new(ShellRules { network, ..rules() }).await;
        let make = |family: &str| format!("perl -MSocket -e 'socket(S, {family}, SOCK_STREAM, 0) or die \"$!\"'");
        assert_ne!(shell.script(&make("AF_UNIX")).await.exit_code, Some(0));
        assert_ne!(shell.script(&make("38")).await.exit_code, Some(0), "the kernel's own ciphers");
        assert_eq!(shell.script(&make("AF_INET")).await.exit_code == Some(0), granted);
        let pair = "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die'";
        assert_eq!(shell.script(pair).await.exit_code, Some(0));
    }
}

#[tokio::test]
async fn the_variables_are_the_fixed_ones_and_no_others() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let home = shell.world.home().canonicalize().unwrap().display().to_string();
        let result = shell.ask(json!({"command": "/usr/bin/env"})).await;
        let mut lines: Vec<&str> = result.stdout.lines().collect();
        // These a shell sets by itself.
        lines.retain(|line| !["PWD=", "SHLVL=", "_=", "OLDPWD="].iter().any(|own| line.starts_with(own)));
        lines.sort();
        let expected = [
            format!("HOME={home}"),
            "LANG=C.UTF-8".into(),
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into(),
            "SHELL=/bin/sh".into(),
            "TERM=dumb".into(),
            format!("TMPDIR={home}/.tmp"),
            "USER=main".into(),
        ];
        assert_eq!(lines, expected);
    }
}

#[tokio::test]
async fn nothing_that_the_hive_has_open_is_inherited() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let path = shell.beside("open");
        fs::write(&path, SECRET).unwrap();
        let file = fs::File::open(&path).unwrap();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let result = shell.script(&format!("cat <&{number}")).await;
        assert_ne!(result.exit_code, Some(0));
        assert_eq!(result.stdout, "");
    }
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let mut other = std::process::Command::new("sleep").arg(mark(40)).spawn().unwrap();
        let (hive, other_id) = (std::process::id(), other.id());
        let result = shell.script(&format!("kill -9 {other_id}; kill -0 {hive} || kill -TERM -- -1 || exit 7")).await;
        let alive = other.try_wait().unwrap().is_none();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(alive, "{result:?}");
        assert_ne!(result.exit_code, Some(0));
    }
}

#[tokio::test]
async fn a_namespace_of_its_own_is_not_to_be_had_inside() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        for script in ["unshare -U true", "unshare -n true", "mount -t tmpfs none .", "chroot . true", "su -c true"] {
            assert_ne!(shell.script(script).await.exit_code, Some(0), "{script}");
        }
        let result = shell.script("grep -E '^(NoNewPrivs|CapEff|CapBnd|Seccomp):' /proc/self/status").await;
        if result.exit_code == Some(0) {
            let values: Vec<&str> = result.stdout.split_whitespace().collect();
            let none = "0000000000000000";
            assert_eq!(values, ["CapEff:", none, "CapBnd:", none, "NoNewPrivs:", "1", "Seccomp:", "2"]);
        }
    }
}

#[tokio::test]
async fn a_launcher_that_is_not_there_is_a_fault_of_ours() {
    for program in ["/nowhere/at/all", "/bin/true", "/bin/cat"] {
        let launcher = Program { path: program.into(), arguments: vec![] };
        let shell = Shell::new(ShellRules { launcher, ..rules() }).await;
        let broken = shell.try_with(json!({"command": "true", "timeout": 500}), &Stop::new()).await;
        let timed_out = broken.as_ref().is_ok_and(|result| result.timed_out && result.exit_code.is_none());
        assert!(matches!(broken, Err(ToolError::Broken(_))) || timed_out, "{program}: {broken:?}");
    }
}

#[tokio::test]
async fn what_this_machine_can_do_is_found_out_and_said() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let support = Support::probe(&shell.tool.rules, &shell.world.home()).await.unwrap();
        println!("{support}");
        // These tests are for machines that can; what the words are for others is tested beside them.
        assert_eq!(support.lacks(), None);
        assert!(support.to_string().ends_with("commands can be run"), "{support}");
    }
}

#[tokio::test]
async fn what_is_governed_is_after_a_command_what_it_was_before() {
    use std::os::unix::fs::PermissionsExt;
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        let home = shell.world.home();
        let config = home.join("config.yaml");
        // Where there is none, none is made.
        for script in
            ["echo x > config.yaml", "ln -s /etc/passwd config.yaml", "mkfifo config.yaml", "mkdir config.yaml"]
        {
            shell.script(&format!("{script}; echo done")).await;
            assert!(!config.is_file() && !config.is_symlink(), "{script}");
            fs::remove_dir(&config).or_else(|_| fs::remove_file(&config)).ok();
        }
        for script in [
            "echo x > config.yaml",
            "rm -f config.yaml",
            "chmod 777 config.yaml",
            "ln config.yaml alias && echo x > alias",
            "rm -f config.yaml && mkdir -p config.yaml/deep",
            "rm -f config.yaml && mkfifo config.yaml",
            "rm -f config.yaml && ln -s alias config.yaml",
            "mv script.sh config.yaml",
        ] {
            fs::write(&config, "tools: []\n").unwrap();
            fs::set_permissions(&config, fs::Permissions::from_mode(0o640)).unwrap();
            let result = shell.script(&format!("{script}\nsleep 0.05; echo done >&2")).await;
            assert_eq!(fs::read_to_string(&config).unwrap(), "tools: []\n", "{script}: {result:?}");
            assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o640, "{script}");
            assert!(!home.join(".hive-undo").exists());
        }
        // Who only looks is told nothing.
        let result = shell.script("cat config.yaml").await;
        assert_eq!((&*result.stdout, &*result.stderr), ("tools: []\n", ""));
    }
}

#[tokio::test]
async fn a_secret_goes_to_a_program_and_into_no_file() {
    let mut shell = Shell::new(rules()).await;
    let secret = "Zq8Wm2Rt5Yv1Xc4Nb7Lk";
    shell.world.scrub.learn(&base::Secret::new(secret));
    shell.tool.workspaces = shell.world.workspaces.clone().keeping_out(&shell.world.scrub);
    let refused = shell.try_with(json!({"command": format!("echo {secret} > key")}), &Stop::new()).await;
    assert!(matches!(&refused, Err(ToolError::Refused(why)) if why.contains("`secret`") && !why.contains(secret)));
    assert!(!shell.world.home().join("key").exists());
    assert_eq!(shell.ask(json!({"command": format!("echo {secret} | wc -c")})).await.stdout.trim(), "21");
}
