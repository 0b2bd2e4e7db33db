//! Everything that a process may have more than another, given up.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use crate::shell::rules::ShellLimits;

/// Gives up every capability for good, also where the user is root: no program that is run from here on has more
/// rights than this process, whatever its file says.
///
/// # Errors
/// If the kernel does not do it.
pub(super) fn drop_all() -> io::Result<()> {
    // So that what the command starts cannot write to this process, which reports.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_no_new_privs(true)?;
    // Both need a capability themselves. Who does not have it has no others either: the rest does for them.
    let bits = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
    set_capabilities_secure_bits(bits).ok();
    for capability in 0..u64::BITS {
        remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << capability)).ok();
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// Sets the kernel's bounds for each process, for good.
///
/// # Errors
/// If a bound is above one that already holds.
pub(super) fn limit(limits: &ShellLimits) -> io::Result<()> {
    let bounds = [
        (Resource::Core, 0),
        (Resource::Cpu, limits.cpu_s_max),
        // Memory that is written, not addresses: many a program reserves far more than it uses.
        (Resource::Data, limits.memory_bytes_max),
        (Resource::Fsize, limits.file_bytes_max),
        (Resource::Nofile, limits.open_files_max),
        (Resource::Nproc, limits.processes_max),
    ];
    for (resource, wanted) in bounds {
        // A bound that is lower already stays.
        let bound = rustix::process::getrlimit(resource).maximum.map_or(wanted, |held| held.min(wanted));
        setrlimit(resource, Rlimit { current: Some(bound), maximum: Some(bound) })?;
    }
    Ok(())
}
