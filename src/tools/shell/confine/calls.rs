//! A filter of system calls: what no command of a team needs, and what would lead around the other bounds.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Sockets of the machine's own programs. A connection to one of these asks a program that is not confined to act, and
/// Landlock does not see it; a pair of connected ones (`socketpair`) leads nowhere and stays allowed.
const NETWORK_FAMILIES: &[i32] = &[libc::AF_INET, libc::AF_INET6];

/// System calls that are refused.
const REFUSED: &[libc::c_long] = &[
    // Work that the kernel does on its own behalf, past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other worlds, where a process has rights that it has not here.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // Secrets that the kernel keeps for the user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Other processes, and the kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_syslog,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// System calls of x86-64's other convention (`x32`) have this bit; a kernel may have both.
const X32_BIT: libc::c_long = 0x4000_0000;

/// Installs the filter in this process, for good.
///
/// # Errors
/// If there is no such filter for this kind of processor, or the kernel does not take it.
pub(super) fn filter(network: bool) -> Result<()> {
    // A library that does not get this one falls back to its predecessor, whose flags a filter can see.
    let unknown = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    for program in [compile(unknown, libc::ENOSYS)?, compile(refused(network)?, libc::EPERM)?] {
        seccompiler::apply_filter(&program).context("filter system calls")?;
    }
    Ok(())
}

fn refused(network: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, vec![])).collect();
    rules.insert(libc::SYS_socket, if network { other_families()? } else { vec![] });
    let new_user = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    let makes_user = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(new_user), new_user)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![makes_user])?]);
    Ok(rules)
}

/// Matches every socket but those of the internet, and of the kernel's account of its own interfaces, by which
/// libraries choose between the two.
fn other_families() -> Result<Vec<SeccompRule>> {
    let is_not = |argument: u8, value: i32| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
    };
    let is_netlink = |operator| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, u64::from(libc::AF_NETLINK.cast_unsigned()))
    };
    let mut none_of = NETWORK_FAMILIES.iter().map(|family| is_not(0, *family)).collect::<Result<Vec<_>, _>>()?;
    none_of.push(is_netlink(SeccompCmpOp::Ne)?);
    let other_netlink = vec![is_netlink(SeccompCmpOp::Eq)?, is_not(2, libc::NETLINK_ROUTE)?];
    Ok(vec![SeccompRule::new(none_of)?, SeccompRule::new(other_netlink)?])
}

fn compile(mut rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram> {
    if cfg!(target_arch = "x86_64") {
        let twins: Vec<_> = rules.iter().map(|(call, rule)| (call | X32_BIT, rule.clone())).collect();
        rules.extend(twins);
    }
    let arch = std::env::consts::ARCH.try_into().context("this kind of processor has no filter")?;
    let action = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?;
    Ok(filter.try_into()?)
}
