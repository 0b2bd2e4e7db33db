//! No path leads out of a workspace, whatever stands at its end.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use proptest::prelude::*;

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
    std::fs::hard_link(house.root.join("secret.txt"), home.join("a/twin")).unwrap();

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
        (
            "a/twin",
            "`a/twin` has several names (hard links), and one of them may lie outside of the workspace: use a copy",
        ),
        ("a", "`a` is a folder: use `list_directory`"),
        ("", "`` is a folder: use `list_directory`"),
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
        ("a/file.txt", "`a/file.txt` is not a folder: use `read_file`"),
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

/// Writes a text, whatever is there.
fn put(workspace: &Workspace, path: &str, make_folders: bool, text: &str) -> Result<PathBuf, ToolError> {
    let written = workspace.change(path, make_folders, |_, _| Ok((Some(text.as_bytes().to_vec()), ())));
    written.map(|(path, ())| path)
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let house = house();
    let (workspace, home) = main_team(&house);
    let path = put(&workspace, "a/./b/../c/new.sh", true, "one").unwrap();
    assert_eq!(path, Path::new("a/c/new.sh"));
    let file = home.join("a/c/new.sh");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let mut reader = std::fs::File::open(&file).unwrap();
    put(&workspace, "a/c/new.sh", false, "two").unwrap();
    let mut before = String::new();
    io::Read::read_to_string(&mut reader, &mut before).unwrap();
    assert_eq!((before.as_str(), std::fs::read_to_string(&file).unwrap().as_str()), ("one", "two"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o755, "not as somebody else");
    assert_eq!(std::fs::read_dir(home.join("a/c")).unwrap().count(), 1, "nothing else is left");

    // What a crash left in the middle of a write is no harm.
    std::fs::write(home.join("a/c/.hive-writing"), "half").unwrap();
    put(&workspace, "a/c/new.sh", false, "three").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "three");
    assert_eq!(std::fs::read_dir(home.join("a/c")).unwrap().count(), 1);
}

#[test]
fn nothing_is_written_through_a_link_or_into_what_is_no_file() {
    let house = house();
    let (workspace, home) = main_team(&house);
    std::fs::write(house.root.join("secret.txt"), "secret").unwrap();
    std::fs::write(home.join("config.yaml"), "mine").unwrap();
    std::fs::create_dir(home.join("a")).unwrap();
    std::fs::write(home.join("a/closed"), "closed").unwrap();
    let mut closed = std::fs::metadata(home.join("a/closed")).unwrap().permissions();
    closed.set_readonly(true);
    std::fs::set_permissions(home.join("a/closed"), closed).unwrap();
    symlink("../../secret.txt", home.join("a/out")).unwrap();
    symlink("..", home.join("a/up")).unwrap();
    symlink("../..", home.join("a/away")).unwrap();
    symlink("../config.yaml", home.join("a/mine")).unwrap();
    symlink("nowhere", home.join("a/dangling")).unwrap();
    std::fs::hard_link(house.root.join("secret.txt"), home.join("a/twin")).unwrap();
    std::fs::hard_link(home.join("config.yaml"), home.join("a/alias")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(home.join("a/socket")).unwrap();

    for (bad, expected) in [
        ("a/out", "is a link to `../../secret.txt`"),
        ("a/mine", "is a link to `../config.yaml`"),
        ("a/dangling", "is a link to `nowhere`"),
        ("a/up/config.yaml", "`up` is a link to `..`"),
        ("a/up/x", "`up` is a link to `..`"),
        ("a/away/other/x", "`away` is a link to `../..`"),
        ("a/twin", "has several names"),
        ("a/alias", "has several names"),
        ("a/socket", "is neither a file nor a folder"),
        ("a", "is a folder"),
        ("a/closed", "is marked as read-only"),
        ("a/closed/x", "a part of `a/closed/x` is a file"),
        ("config.yaml", "is governed by the hive"),
        ("A/../Config.yaml", "is governed by the hive"),
        ("a/.hive-writing", "is a name that the hive uses"),
        ("../x", "is outside of the workspace"),
    ] {
        let why = refusal(put(&workspace, bad, true, "overwritten"));
        assert!(why.contains(expected), "{bad}: {why}");
    }
    assert!(refusal(put(&workspace, "none/x", false, "x")).contains("the folder of `none/x` is not there"));
    assert_eq!(std::fs::read_to_string(house.root.join("secret.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_to_string(home.join("config.yaml")).unwrap(), "mine");
    assert!(!home.join("none").exists());
    let most = usize::try_from(FILE_BYTES_MAX).unwrap();
    assert!(refusal(put(&workspace, "big", true, &"x".repeat(most + 1))).contains("would be longer"));
}

/// A command may write to a file between the look at it and its replacement.
#[test]
fn what_somebody_else_writes_meanwhile_is_not_replaced() {
    let house = house();
    let (workspace, home) = main_team(&house);
    let file = home.join("file");
    type Act = fn(&Path);
    let acts: [(&str, Act); 4] = [
        ("written", |file| std::fs::write(file, "theirs").unwrap()),
        ("gone", |file| std::fs::remove_file(file).unwrap()),
        ("another file", |file| {
            std::fs::write(file.with_extension("new"), "ours").unwrap();
            std::fs::rename(file.with_extension("new"), file).unwrap();
        }),
        ("a link", |file| {
            std::fs::remove_file(file).unwrap();
            symlink("elsewhere", file).unwrap();
        }),
    ];
    for (name, act) in acts {
        std::fs::remove_file(&file).ok();
        std::fs::write(&file, "ours").unwrap();
        let changed = workspace.change("file", false, |_, existing| {
            assert!(existing.is_some());
            act(&file);
            Ok((Some(b"new".to_vec()), ()))
        });
        assert_eq!(refusal(changed), "`file` was changed by somebody meanwhile: read it first", "{name}");
        assert_ne!(std::fs::read_to_string(&file).unwrap_or_default(), "new", "{name}");
        assert!(!home.join(".hive-writing").exists());
    }
    std::fs::remove_file(&file).unwrap();
    let made = workspace.change("file", false, |_, existing| {
        assert!(existing.is_none());
        std::fs::write(&file, "theirs").unwrap();
        Ok((Some(b"new".to_vec()), ()))
    });
    assert_eq!(refusal(made), "`file` was made by somebody meanwhile: read it first");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs");
}

/// Somebody exchanges a folder and a file for links that lead out, again and again while files are written there:
/// never does one arrive outside.
#[test]
fn a_folder_that_is_exchanged_for_a_link_meanwhile_takes_nothing_out() {
    let house = house();
    let (workspace, home) = main_team(&house);
    let (outside, folder) = (house.root.join("outside"), home.join("folder"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "theirs").unwrap();
    std::fs::create_dir(&folder).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                std::fs::rename(&folder, home.join("away")).unwrap();
                symlink("../outside", &folder).unwrap();
                std::fs::remove_file(&folder).unwrap();
                std::fs::rename(home.join("away"), &folder).unwrap();
                symlink("../../outside/file", folder.join("link")).unwrap();
                std::fs::rename(folder.join("link"), folder.join("file")).unwrap();
                std::fs::remove_file(folder.join("file")).unwrap();
            }
        });
        let mut written = 0;
        for _ in 0..1_500 {
            written += usize::from(put(&workspace, "folder/file", false, "ours").is_ok());
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        assert!(written > 0, "nothing was ever written: this check would pass while checking nothing");
    });
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "theirs");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn what_is_sent_is_kept_where_no_team_reaches_it() {
    let house = house();
    let (workspace, home) = main_team(&house);
    std::fs::write(home.join("report.txt"), "report").unwrap();
    let open = || workspace.open_file("report.txt").unwrap().0;
    let copy = house.workspaces.keep_to_send(&mut open(), 6).unwrap().unwrap();
    assert_eq!(house.workspaces.keep_to_send(&mut open(), 5).unwrap(), None, "too long");
    std::fs::write(home.join("report.txt"), "changed").unwrap();
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "report");
    assert!(copy.is_absolute() && !copy.starts_with(home.canonicalize().unwrap()));
    assert!(refusal(workspace.open_file(copy.to_str().unwrap())).ends_with("is outside of the workspace"));
    assert!(".outgoing".parse::<TeamName>().is_err());
    assert_eq!(house.workspaces.sweep_results(i64::MAX / 1_000_000).unwrap(), 1);
    assert!(!copy.exists());
}

#[test]
fn what_was_read_is_known_to_who_read_it_and_the_oldest_is_forgotten() {
    let house = house();
    let reader = |topic| Reader { team: TeamName::main(), topic: Some(base::TopicId(topic)) };
    let mark = || Mark::of(b"x");
    house.workspaces.note(&reader(1), Path::new("a"), mark());
    assert_eq!(house.workspaces.known(&reader(1), Path::new("a")), Some(mark()));
    assert_eq!(house.workspaces.known(&reader(2), Path::new("a")), None);
    for file in 0..20_000 {
        house.workspaces.note(&reader(1), Path::new(&file.to_string()), mark());
    }
    assert_eq!(house.workspaces.known(&reader(1), Path::new("a")), None);
    assert_eq!(house.workspaces.known(&reader(1), Path::new("19999")), Some(mark()));
}

/// Everything below a folder but one folder of it: paths, and what is in the files.
fn contents(folder: &Path, without: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path == without {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            found.extend(contents(&path, without));
        }
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        found.push((path, bytes));
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_path_reads_or_writes_outside_whatever_links_there_are(
        paths in proptest::collection::vec(
            proptest::collection::vec(
                prop_oneof![
                    Just(".."), Just("."), Just("a"), Just("up"), Just("away"), Just("out"), Just("root"), Just("secret"),
                    Just("config.yaml"), Just("%2e%2e"), Just("main"), Just(""), Just("..\\.."),
                ],
                1..6,
            ),
            1..20,
        )
    ) {
        let house = house();
        let (workspace, home) = main_team(&house);
        std::fs::write(house.root.join("secret"), "theirs").unwrap();
        std::fs::create_dir_all(house.root.join("other/a")).unwrap();
        std::fs::write(home.join("config.yaml"), "governed").unwrap();
        std::fs::create_dir(home.join("a")).unwrap();
        for (link, target) in [("up", ".."), ("a/away", "../../other"), ("a/out", "../../secret"), ("root", "/"), ("a/up", "..")] {
            symlink(target, home.join(link)).unwrap();
        }
        let top = house.root.ancestors().nth(2).unwrap();
        let before = contents(top, &home);
        for parts in paths {
            let path = parts.join("/");
            if let Ok((mut file, _)) = workspace.open_file(&path) {
                let mut text = String::new();
                io::Read::read_to_string(&mut file, &mut text).unwrap();
                prop_assert!(text != "theirs", "{} was read", path);
            }
            // Refused or written: what counts is what is there afterwards.
            put(&workspace, &path, true, "ours").ok();
        }
        prop_assert_eq!(contents(top, &home), before);
        prop_assert_eq!(std::fs::read_to_string(home.join("config.yaml")).unwrap(), "governed");
    }
}
