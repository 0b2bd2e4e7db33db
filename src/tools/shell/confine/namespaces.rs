//! Namespaces: a world with no processes but the command's, no network, and nothing writable but the workspace.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

/// Moves this process into namespaces of its own; its next child is the first process in them.
///
/// Nobody needs a privilege for it, but many machines and containers forbid it.
///
/// # Errors
/// If that is forbidden here. This process is of no use then.
pub(super) fn enter(network: bool) -> io::Result<()> {
    // The same user inside as outside: what it makes in the workspace is the hive's.
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

#[expect(unsafe_code, reason = "the crate offers no other way")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: what is asked of the caller concerns `FILES` alone, which is never among the flags.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Shows the processes of this namespace alone in `/proc`. To be called by the first process of it.
///
/// # Errors
/// If that is forbidden here, as it is in containers that hide parts of `/proc`.
pub(super) fn show_own_processes() -> io::Result<()> {
    keep_to_ourselves()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("proc", "/proc", "proc", flags, None)?)
}

/// Bounds how many processes and threads there may be in this namespace. The kernel's bound for each user is none for
/// root; this one is for everybody, where the kernel has it: from Linux 6.14 on. To be called where `/proc` shows this
/// namespace alone.
///
/// # Errors
/// If the kernel has it and does not set it.
pub(super) fn bound_processes(processes_max: u64) -> io::Result<()> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    // In an older kernel this very file is about the whole machine.
    if !is_at_least(&release, 6, 14) {
        return Ok(());
    }
    fs::write("/proc/sys/kernel/pid_max", (RESERVED_PIDS + processes_max.min(PROCESSES_MAX)).to_string())
}

/// Numbers that the kernel gives out once and then keeps for itself (`RESERVED_PIDS` of Linux).
const RESERVED_PIDS: u64 = 300;

/// More than any machine runs, and less than the kernel has numbers for (`PID_MAX_LIMIT` of Linux: 4,194,304).
const PROCESSES_MAX: u64 = 4_000_000;

/// Whether `6.18.4-generic` is at least `major.minor`.
fn is_at_least(release: &str, major: u64, minor: u64) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u64>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// Makes everything but the workspace read-only, so that no mode, owner or time of a file elsewhere can be changed,
/// which Landlock does not forbid; and with it what is `unwritable` of the workspace. That is the current folder, and
/// stays it.
///
/// # Errors
/// If that is forbidden here, or the workspace is another folder by now.
pub(super) fn write_only_in(workspace: &Path, unwritable: &[PathBuf]) -> io::Result<()> {
    keep_to_ourselves()?;
    let before = fs::metadata(".")?;
    mount_bind(workspace, workspace)?;
    set_read_only(Path::new("/"), true)?;
    set_read_only(workspace, false)?;
    for path in unwritable.iter().map(|path| workspace.join(path)).filter(|path| path.exists()) {
        mount_bind(&path, &path)?;
        set_read_only(&path, true)?;
    }
    // The current folder is still the one below the new mount.
    std::env::set_current_dir(workspace)?;
    let after = fs::metadata(".")?;
    if (before.dev(), before.ino()) == (after.dev(), after.ino()) {
        Ok(())
    } else {
        Err(io::Error::other("the workspace was moved"))
    }
}

/// Nothing that is mounted from here on is seen elsewhere.
fn keep_to_ourselves() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// With everything that is mounted below, if it is to be read-only.
#[expect(unsafe_code, reason = "no crate of ours has this call")]
fn set_read_only(path: &Path, read_only: bool) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    let read_only_bit = libc::MOUNT_ATTR_RDONLY;
    let attributes = libc::mount_attr {
        attr_set: if read_only { read_only_bit } else { 0 },
        attr_clr: if read_only { 0 } else { read_only_bit },
        propagation: 0,
        userns_fd: 0,
    };
    let flags = if read_only { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: both pointers are to values that live until the call returns, and the length is that of the second one.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_its_release() {
        for (release, expected) in [
            ("6.14.0", true),
            ("6.18.44-fc-v657\n", true),
            ("7.0-rc1", true),
            ("6.13.12-generic", false),
            ("6.9", false),
            ("5.15.0-1.el9", false),
            ("4.4.0", false),
            ("6", false),
            ("", false),
        ] {
            assert_eq!(is_at_least(release, 6, 14), expected, "{release:?}");
        }
    }
}
