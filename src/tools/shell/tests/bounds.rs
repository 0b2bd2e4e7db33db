//! How much a command may have of the machine.

use super::*;

#[tokio::test]
async fn of_a_flood_the_ends_are_kept_and_all_of_it_is_read() {
    let shell = Shell::new(rules()).await;
    let script = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo last; echo done >&2";
    let result = shell.script(script).await;
    assert_eq!((result.exit_code, result.stdout_bytes, &*result.stderr), (Some(0), 100_000_011, "done\n"));
    assert!(result.truncated);
    assert!(result.stdout.len() < 30_100, "{}", result.stdout.len());
    assert!(result.stdout.starts_with("first\nxx") && result.stdout.ends_with("xxlast\n"));
}

#[tokio::test]
async fn a_command_has_no_more_than_it_may() {
    for rules in both_ways() {
        let limits = ShellLimits { file_bytes_max: 1_000_000, memory_bytes_max: 64 << 20, ..ShellLimits::default() };
        let limits = ShellLimits { processes_max: 24, open_files_max: 32, cpu_s_max: 1, ..limits };
        let shell = Shell::new(ShellRules { limits, ..rules }).await;
        let home = shell.world.home();

        shell.script("head -c 2000000 /dev/zero > long").await;
        assert_eq!(fs::metadata(home.join("long")).unwrap().len(), 1_000_000);

        let result = shell.script("head -c 300000000 /dev/zero | tail -c 250000000 > /dev/null").await;
        assert!(result.exceeded.is_some() || result.exit_code != Some(0), "{result:?}");

        let result = shell.script("for i in $(seq 200); do sleep 9 & done; wait").await;
        assert!(result.exceeded.is_some() || result.stderr.contains("fork"), "{result:?}");

        let result = shell.script("while :; do :; done").await;
        assert!(result.signal.is_some() || result.exit_code != Some(0), "{result:?}");

        assert_eq!(shell.script("ulimit -c; ulimit -n").await.stdout, "0\n32\n");
    }
}

#[tokio::test]
async fn the_kernel_itself_bounds_the_processes_where_it_can() {
    let shell = Shell::new(rules()).await;
    let support = Support::probe(&shell.tool.rules, &shell.world.home()).await.unwrap().to_string();
    let most = shell.script("uname -r; cat /proc/sys/kernel/pid_max").await.stdout;
    let Some((release, most)) = most.trim().split_once('\n').filter(|_| support.contains("out of sight")) else {
        eprintln!("skipped: commands have no processes of their own here: {support}");
        return;
    };
    let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    if (numbers.next(), numbers.next()) < (Some(6), Some(14)) {
        eprintln!("skipped: Linux {release} bounds no process namespace");
        return;
    }
    assert_eq!(most, (300 + ShellLimits::default().processes_max).to_string());
}

/// The number that a machine bounds its processes with is another one inside than outside: never is it set there.
#[tokio::test]
async fn the_machine_s_own_bound_is_never_touched() {
    let most = || fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let before = most();
    for rules in both_ways() {
        Shell::new(rules).await.script("true").await;
        assert_eq!(most(), before);
    }
}

#[tokio::test]
async fn a_workspace_does_not_outgrow_its_bound() {
    for rules in both_ways() {
        let limits = ShellLimits { workspace_bytes_max: 30_000_000, ..ShellLimits::default() };
        let shell = Shell::new(ShellRules { limits, ..rules }).await;
        let home = shell.world.home();
        let many = "mkdir -p deep/er; for i in $(seq 100); do head -c 9000000 /dev/zero > deep/er/$i; sleep 0.02; done";
        let result = shell.script(many).await;
        assert_eq!(result.exceeded.as_deref(), Some("more than 28 MiB in the workspace"), "{result:?}");
        assert!(!home.join("deep/er/100").exists(), "it was ended before it was through");

        // Full is not stuck: what is there can be looked at and taken away, and does not become more.
        let full = shell.script("ls deep/er").await;
        assert_eq!((full.exit_code, full.exceeded), (Some(0), None));
        let more = shell.script("for i in $(seq 100); do head -c 9000000 /dev/zero > more$i; sleep 0.02; done").await;
        assert!(more.exceeded.is_some(), "{more:?}");
        assert_eq!(shell.script("rm -r deep more* && head -c 9000000 /dev/zero > one").await.exit_code, Some(0));
    }
}

#[tokio::test]
async fn names_are_counted_though_they_are_empty() {
    let limits = ShellLimits { workspace_bytes_max: 2_000_000, ..ShellLimits::default() };
    let shell = Shell::new(ShellRules { limits, ..rules() }).await;
    let result = shell.script("i=0; while :; do i=$((i+1)); : > name$i; done").await;
    assert_eq!(result.exceeded.as_deref(), Some("more than 1 MiB in the workspace"), "{result:?}");
}

#[tokio::test]
async fn what_lies_behind_a_link_is_not_the_workspace_s() {
    let limits = ShellLimits { workspace_bytes_max: 2_000_000, ..ShellLimits::default() };
    let shell = Shell::new(ShellRules { limits, ..rules() }).await;
    std::os::unix::fs::symlink("/usr", shell.world.home().join("usr")).unwrap();
    std::os::unix::fs::symlink(".", shell.world.home().join("round")).unwrap();
    let result = shell.script("sleep 0.5").await;
    assert_eq!((result.exit_code, result.exceeded), (Some(0), None));
}

#[tokio::test]
async fn a_command_leaves_room_on_the_disk() {
    for rules in both_ways() {
        let limits = ShellLimits { disk_free_bytes_min: u64::MAX, ..ShellLimits::default() };
        let shell = Shell::new(ShellRules { limits, ..rules }).await;
        let result = shell.script("sleep 9").await;
        assert!(result.exceeded.is_some_and(|what| what.ends_with("MiB are free on the disk")));
        assert!(result.duration_ms < 5_000, "{}", result.duration_ms);
    }
}
