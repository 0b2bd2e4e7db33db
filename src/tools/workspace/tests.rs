//! No path leads out of a workspace, whatever stands at its end.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

struct House {
    _folder: tempfile::TempDir,
    root: PathBuf,
    workspaces: Workspaces,
}

fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run/teams");
    let workspaces = Workspaces::open(&root).unwrap();
    House { root, workspaces, _folder: folder }
}

fn main_team(house: &House) -> (Workspace, PathBuf) {
    (house.workspaces.of(&TeamName::main()).unwrap(), house.root.join("main"))
}

fn refusal<T>(result: Result<T, ToolError>) -> String {
    match result {
        Err(ToolError::Refused(text)) => text,
        Err(ToolError::Broken(error)) => panic!("{error:#}"),
        Ok(_) => panic!("it was let through"),
    }
}

#[test]
fn what_lies_outside_is_refused_and_what_is_inside_is_opened() {
    let house = house();
    let (workspace, home) = main_team(&house);
    std::fs::write(house.root.join("secret.txt"), "secret").unwrap();
    std::fs::create_dir_all(home.join("a/b")).unwrap();
    std::fs::write(home.join("a/file.txt"), "hello").unwrap();
    symlink("../../secret.txt", home.join("a/out")).unwrap();
    symlink("../..", home.join("a/up")).unwrap();
    symlink("/etc/passwd", home.join("a/absolute")).unwrap();
    symlink("file.txt", home.join("a/in")).unwrap();
    symlink("a", home.join("inside")).unwrap();

    let absolute = home.join("a/file.txt");
    let real = home.canonicalize().unwrap().join("a/file.txt");
    for good in ["a/file.txt", "./a//file.txt", "a/b/../file.txt", "inside/file.txt"]
        .into_iter()
        .chain([absolute.to_str().unwrap(), real.to_str().unwrap()])
    {
        assert!(workspace.open_file(good).is_ok(), "{good}");
    }
    for (bad, expected) in [
        ("../secret.txt", "`../secret.txt` is outside of the workspace"),
        ("a/../../secret.txt", "`a/../../secret.txt` is outside of the workspace"),
        ("/etc/passwd", "`/etc/passwd` is outside of the workspace"),
        ("a/up/secret.txt", "`a/up/secret.txt` is outside of the workspace"),
        ("a/out", "`a/out` is a link to `../../secret.txt`, and links are not followed: name the file itself"),
        ("a/absolute", "`a/absolute` is a link elsewhere, and links are not followed: name the file itself"),
        ("a/in", "`a/in` is a link to `file.txt`, and links are not followed: name the file itself"),
        ("a/in/", "`a/in/` is a link to `file.txt`, and links are not followed: name the file itself"),
        ("a", "`a` is a folder: use `list`"),
        ("", "`` is a folder: use `list`"),
        ("nothing\n", "there is no `nothing\\n` in the workspace"),
        ("a/file.txt/x", "a part of `a/file.txt/x` is a file, not a folder"),
        ("a\0b", "`a\\u{0}b` is not a path"),
    ] {
        assert_eq!(refusal(workspace.open_file(bad)), expected);
    }
    let other = house.root.join("other-team/file.txt");
    assert!(refusal(workspace.open_file(other.to_str().unwrap())).ends_with("is outside of the workspace"));
    assert!(refusal(workspace.open_file(&"x".repeat(5_000))).ends_with("is not a path"));
    assert!(refusal(workspace.open_file(&"x".repeat(300))).ends_with("is not a path"));

    assert!(workspace.open_dir(".").is_ok() && workspace.open_dir("a/b").is_ok());
    for (bad, expected) in [
        ("..", "`..` is outside of the workspace"),
        ("a/up", "`a/up` is a link to `../..`, and links are not followed: name the file itself"),
        ("a/up/", "`a/up/` is a link to `../..`, and links are not followed: name the file itself"),
        ("a/up/..", "`a/up/..` is outside of the workspace"),
        ("a/file.txt", "`a/file.txt` is not a folder: use `read`"),
    ] {
        assert_eq!(refusal(workspace.open_dir(bad)), expected);
    }
}

#[test]
fn what_is_no_file_is_not_opened() {
    let house = house();
    let (workspace, home) = main_team(&house);
    let _socket = std::os::unix::net::UnixListener::bind(home.join("socket")).unwrap();
    assert_eq!(refusal(workspace.open_file("socket")), "`socket` is neither a file nor a folder");
    let made = std::process::Command::new("mkfifo").arg(home.join("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(refusal(workspace.open_file("pipe")), "`pipe` is neither a file nor a folder");
    }
}

#[test]
fn a_link_in_the_place_of_a_team_s_folder_is_refused() {
    let house = house();
    let elsewhere = house.root.join("../elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, house.root.join("main")).unwrap();
    assert!(house.workspaces.of(&TeamName::main()).is_err());
}

/// Somebody exchanges a file for a link to a secret again and again while it is opened: never does the secret come
/// out.
#[test]
fn a_file_that_is_exchanged_for_a_link_meanwhile_gives_nothing_away() {
    let house = house();
    let (workspace, home) = main_team(&house);
    std::fs::write(house.root.join("secret.txt"), "secret").unwrap();
    let (file, folder) = (home.join("file"), home.join("folder"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("secret.txt"), "plain").unwrap();
    std::fs::write(&file, "plain").unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (link, up) = (home.join("link"), home.join("up"));
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                symlink("../secret.txt", &link).unwrap();
                std::fs::rename(&link, &file).unwrap();
                std::fs::write(&link, "plain").unwrap();
                std::fs::rename(&link, &file).unwrap();
                std::fs::rename(&folder, home.join("away")).unwrap();
                symlink("..", &up).unwrap();
                std::fs::rename(&up, &folder).unwrap();
                std::fs::remove_file(&folder).unwrap();
                std::fs::rename(home.join("away"), &folder).unwrap();
            }
        });
        let mut opened = 0;
        for turn in 0..4_000 {
            let path = if turn % 2 == 0 { "file" } else { "folder/secret.txt" };
            if let Ok((mut file, _)) = workspace.open_file(path) {
                let mut text = String::new();
                io::Read::read_to_string(&mut file, &mut text).unwrap();
                assert_ne!(text, "secret", "{path}");
                opened += 1;
            }
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        assert!(opened > 0, "nothing was ever opened: this check would pass while checking nothing");
    });
}

#[test]
fn long_results_are_kept_for_a_while() {
    let house = house();
    let (workspace, home) = main_team(&house);
    let path = workspace.write_result("1-1-0.txt", "long").unwrap();
    assert_eq!(path, ".results/1-1-0.txt");
    assert_eq!(workspace.write_result("1-1-0.txt", "again").unwrap(), path);
    assert_eq!(std::fs::read_to_string(home.join(&path)).unwrap(), "again");
    assert_eq!(house.workspaces.sweep_results(0).unwrap(), 0);
    assert_eq!(house.workspaces.sweep_results(i64::MAX / 1_000_000).unwrap(), 1);
    assert!(!home.join(&path).exists());

    std::fs::write(house.root.join("secret.txt"), "secret").unwrap();
    symlink("../../secret.txt", home.join(".results/link")).unwrap();
    assert!(workspace.write_result("link", "overwritten").is_err());
    assert_eq!(std::fs::read_to_string(house.root.join("secret.txt")).unwrap(), "secret");
}
