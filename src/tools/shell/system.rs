//! What of the machine's files a program needs to run, and how a folder is granted without what is hidden in it.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders with programs and their parts.
pub(super) const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// What programs read of the machine's settings: how to load libraries, the zone, types of files, certificates. No
/// list of accounts, no names of other machines.
pub(super) const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/pki",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// What programs read to find other machines; only where the network is granted.
pub(super) const NAMES: &[&str] = &[
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/run/systemd/resolve/stub-resolv.conf",
];

/// Devices that may be read.
pub(super) const SOURCES: &[&str] = &["/dev/random", "/dev/urandom"];

/// Devices that may be read and written.
pub(super) const SINKS: &[&str] = &["/dev/full", "/dev/null", "/dev/zero"];

/// What the kernel says of itself to everybody; where a command has process numbers of its own it sees all of `/proc`.
pub(super) const KERNEL: &[&str] =
    &["/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/version"];

/// The variable `PATH` of every command.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What to grant so that all of `granted` is, less `hidden`: a grant cannot be taken back for a part, so the folders
/// on the way to what is hidden are taken apart. Paths that do not exist grant nothing and hide nothing.
pub(super) fn without(granted: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let Ok(granted) = granted.canonicalize() else { return Vec::new() };
    let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut parts = Vec::new();
    take_apart(granted, &hidden, &mut parts);
    parts
}

fn take_apart(folder: PathBuf, hidden: &[PathBuf], parts: &mut Vec<PathBuf>) {
    if hidden.iter().any(|hidden| folder.starts_with(hidden)) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(&folder)) {
        parts.push(folder);
        return;
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    // A link is granted where it leads, if it leads to something that is granted.
    let mut inside: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|entry| entry.path())
        .collect();
    inside.sort();
    inside.into_iter().for_each(|path| take_apart(path, hidden, parts));
}

/// The path without `.` and `..`, as its words say: `/a/../b` is `/b`.
pub(super) fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidied.components().next_back(), Some(Component::Normal(_))) => {
                tidied.pop();
            }
            Component::ParentDir if tidied.has_root() => {}
            part => tidied.push(part),
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_granted_less_what_is_hidden_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
        for path in ["a/b/c", "a/d", "e"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("a/.env"), "").unwrap();
        std::os::unix::fs::symlink(at("a/b/c"), at("a/link")).unwrap();
        let without = |hidden: &[&str]| without(folder.path(), &hidden.iter().map(|path| at(path)).collect::<Vec<_>>());
        assert_eq!(without(&[]), [at("")]);
        assert_eq!(without(&["elsewhere/entirely"]), [at("")]);
        assert_eq!(without(&["a/b/c"]), [at("a/.env"), at("a/d"), at("e")]);
        assert_eq!(without(&["a/b/c", "a/.env"]), [at("a/d"), at("e")]);
        assert_eq!(without(&["a/link"]), [at("a/.env"), at("a/d"), at("e")]);
        assert_eq!(without(&[""]), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_path_is_tidied_by_its_words() {
        for (path, tidied) in [
            ("/a/./b/../c", "/a/c"),
            ("/../../a", "/a"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("a/..", ""),
            ("/..", "/"),
        ] {
            assert_eq!(tidy(Path::new(path)), Path::new(tidied), "{path}");
        }
    }
}
