//! How commands end: by themselves, by a signal, by their time, by a stop; and that nothing of them is left.

use super::*;

/// Waits until something holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let clock = base::Clock::Wall;
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        clock.sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to pass: {what}");
}

/// Whether a process of this machine has `mark` among its arguments.
fn runs(mark: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines.flatten().any(|line| String::from_utf8_lossy(&line).contains(mark))
}

#[tokio::test]
async fn a_command_that_reads_its_input_comes_to_its_end() {
    let shell = Shell::new(rules()).await;
    let result = shell.ask(json!({"command": "cat; read line || echo nothing"})).await;
    assert_eq!((result.exit_code, &*result.stdout), (Some(0), "nothing\n"));
}

#[tokio::test]
async fn the_signal_that_ended_a_command_is_told() {
    for rules in both_ways() {
        let shell = Shell::new(rules).await;
        for (number, name) in [("TERM", "SIGTERM"), ("KILL", "SIGKILL"), ("SEGV", "SIGSEGV"), ("35", "signal 35")] {
            let result = shell.ask(json!({"command": format!("kill -{number} $$; sleep 9")})).await;
            assert_eq!((result.exit_code, result.signal.as_deref()), (None, Some(name)));
        }
    }
}

/// Three processes: a child, one in another group, and one that has left its session and its parent.
fn sleepers(at: usize) -> (String, String) {
    let mark = mark(at);
    let script = format!("sleep {mark} & set -m; sleep {mark} & (setsid sleep {mark} > /dev/null 2>&1 &); echo begun");
    (mark, script)
}

#[tokio::test]
async fn when_the_time_is_up_every_process_of_the_command_is_gone() {
    for (at, rules) in both_ways().into_iter().enumerate() {
        let shell = Shell::new(rules).await;
        let (mark, script) = sleepers(10 + at);
        fs::write(shell.world.home().join("script.sh"), format!("{script}; wait")).unwrap();
        let result = shell.ask(json!({"command": "bash script.sh", "timeout": 1_500})).await;
        assert_eq!((result.exit_code, result.timed_out, &*result.stdout), (None, true, "begun\n"));
        assert!((1_500..15_000).contains(&result.duration_ms), "{}", result.duration_ms);
        assert!(!runs(&mark));
    }
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    for (at, rules) in both_ways().into_iter().enumerate() {
        let shell = Shell::new(rules).await;
        let (mark, script) = sleepers(20 + at);
        let result = shell.script(&format!("{script}; trap '' TERM HUP; nohup sleep {mark} > /dev/null 2>&1 &")).await;
        assert_eq!((result.exit_code, &*result.stdout), (Some(0), "begun\n"));
        assert!(!runs(&mark));
    }
}

#[tokio::test]
async fn a_stopped_call_leaves_no_process() {
    for (at, rules) in both_ways().into_iter().enumerate() {
        for dropped in [false, true] {
            let shell = Shell::new(rules.clone()).await;
            let (mark, script) = sleepers(30 + 2 * at + usize::from(dropped));
            fs::write(shell.world.home().join("script.sh"), format!("{script}; wait")).unwrap();
            let stop = Stop::new();
            let call = shell.try_with(json!({"command": "bash script.sh"}), &stop);
            let mut call = Box::pin(call);
            tokio::select! {
                ended = &mut call => panic!("it ended by itself: {ended:?}"),
                () = until("the command runs", || runs(&mark)) => {}
            }
            if dropped {
                drop(call);
            } else {
                stop.cancel();
                let result = call.await.unwrap();
                assert_eq!((result.exit_code, result.timed_out), (None, false));
                assert!(!runs(&mark));
            }
            until("the command's processes are gone", || !runs(&mark)).await;
        }
    }
}
