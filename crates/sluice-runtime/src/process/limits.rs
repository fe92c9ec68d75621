//! Limits of the program that the runtime meets when it opens files of its own, and when it
//! reserves room for the device.

use sluice_region::sys;
use std::io::{Error, ErrorKind};

/// What is limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Numbers of descriptors.
    Descriptors,
    /// Bytes of a file that is written or lengthened. Beyond it there is a signal.
    FileSize,
    /// Bytes of address space.
    AddressSpace,
    /// Bytes that can be written, whether something is there or not.
    Data,
}

/// Calls with both limits raised as far as they may be: what the runtime opens and makes for itself
/// is not what the program is to be kept from. By a process's only thread.
pub fn with_own_files<R>(call: impl FnOnce() -> R) -> R {
    with_raised(Limit::Descriptors, || with_raised(Limit::FileSize, call))
}

/// Calls with the limits of memory raised as far as they may be. The device's address space may be
/// more than a program allows itself after its start, and then nothing more can be mapped.
pub fn with_own_memory<R>(call: impl FnOnce() -> R) -> R {
    with_raised(Limit::AddressSpace, || with_raised(Limit::Data, call))
}

/// Calls with a limit raised as far as it may be.
pub fn with_raised<R>(which: Limit, call: impl FnOnce() -> R) -> R {
    let Some(limit) = get(which).filter(|limit| limit.rlim_cur < highest(which, limit)) else {
        return call();
    };
    let none = core::ptr::null_mut();
    let raised = |most: u64| libc::rlimit {
        rlim_cur: most,
        rlim_max: most.max(limit.rlim_max),
    };
    // Only the privileged may go beyond the hard limit.
    let is_raised = change(which, &raised(highest(which, &limit)), none)
        || change(which, &raised(limit.rlim_max), none);
    let result = call();
    if is_raised {
        change(which, &limit, none);
    }
    result
}

/// As far as it is worth trying.
fn highest(which: Limit, limit: &libc::rlimit) -> u64 {
    match which {
        Limit::Descriptors => limit.rlim_max,
        Limit::FileSize | Limit::AddressSpace | Limit::Data => libc::RLIM_INFINITY,
    }
}

/// A limit as it is.
pub fn get(which: Limit) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    change(which, core::ptr::null(), &raw mut limit).then_some(limit)
}

/// That a file of the runtime's can have so many bytes. An attempt beyond the limit would end the
/// program by a signal that explains nothing.
pub fn allow_file(bytes: u64) -> Result<(), Error> {
    match get(Limit::FileSize) {
        Some(limit) if limit.rlim_cur < bytes => {
            let why = format!(
                "the limit of file sizes (`ulimit -f`) is {} bytes, and {bytes} are needed",
                limit.rlim_cur
            );
            Err(Error::new(ErrorKind::FileTooLarge, why))
        }
        _ => Ok(()),
    }
}

/// Sets a limit and says what it was; either may be null. Says whether that was possible.
fn change(which: Limit, new: *const libc::rlimit, old: *mut libc::rlimit) -> bool {
    let resource = match which {
        Limit::Descriptors => libc::RLIMIT_NOFILE,
        Limit::FileSize => libc::RLIMIT_FSIZE,
        Limit::AddressSpace => libc::RLIMIT_AS,
        Limit::Data => libc::RLIMIT_DATA,
    };
    // SAFETY: null or live limits; of this process.
    unsafe { sys!(libc::SYS_prlimit64, 0, resource, new, old) }.is_ok()
}
