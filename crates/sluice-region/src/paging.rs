//! What the system does to this process's memory unasked.

/// Major faults of this process so far: pages that were read from disk.
pub fn major_faults() -> u64 {
    // SAFETY: plain data, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a live buffer; this process always exists.
    unsafe { libc::syscall(libc::SYS_getrusage, libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_majflt as u64
}

/// How many bytes this process may keep from being swapped out; `None` without a limit.
pub fn lock_limit() -> Option<u64> {
    // SAFETY: plain data, for which zeros are valid.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: a live buffer and a resource that there is.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
