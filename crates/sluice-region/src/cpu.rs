//! Where threads run, and how many there are.

use crate::errno;

/// A set of CPUs.
#[derive(Clone, Copy)]
pub struct CpuSet(libc::cpu_set_t);

impl core::fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "CpuSet({})", self.count())
    }
}

impl CpuSet {
    /// Just one CPU.
    pub fn one(cpu: usize) -> CpuSet {
        // SAFETY: cpu_set_t is plain bits, for which zeros are valid.
        let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        // SAFETY: the set is live; an index past its end is ignored by the macro's bound check.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        CpuSet(set)
    }

    /// The CPUs a thread may use; 0 is the caller.
    pub fn of(thread: u32) -> Option<CpuSet> {
        // SAFETY: as above.
        let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: the set is live and `size` bytes long.
        let rc = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size, &raw mut set) };
        (rc > 0).then_some(CpuSet(set))
    }

    /// Binds a thread to the set; 0 is the caller. False when the kernel refuses.
    pub fn bind(&self, thread: u32) -> bool {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: the set is live and `size` bytes long.
        let rc =
            unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, size, &raw const self.0) };
        rc == 0
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        // SAFETY: the set is live; the macro checks the index.
        unsafe { libc::CPU_ISSET(cpu, &self.0) }
    }

    /// Whether it is just this CPU.
    pub fn is_one(&self, cpu: usize) -> bool {
        self.count() == 1 && self.contains(cpu)
    }

    /// The lowest CPU above `cpu` in the set, or its lowest.
    pub fn after(&self, cpu: usize) -> usize {
        let most = 8 * size_of::<libc::cpu_set_t>();
        let mut turn = (cpu + 1..most).chain(0..most);
        turn.find(|&c| self.contains(c)).unwrap_or(cpu)
    }

    /// How many CPUs are in the set.
    pub fn count(&self) -> usize {
        // SAFETY: the set is live.
        unsafe { libc::CPU_COUNT(&self.0) as usize }
    }
}

/// The CPU the caller runs on at this moment.
pub fn cpu_now() -> usize {
    // SAFETY: no arguments.
    unsafe { libc::sched_getcpu() }.max(0) as usize
}

/// The kernel's id of the calling thread.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Asks for a higher share of CPU time for the caller; without permission nothing changes.
pub fn raise_priority() {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, -19) };
}

/// Counts the threads of this process.
#[derive(Debug)]
pub struct ThreadCount {
    fd: i32,
    single_threaded: *const u8,
    threads: *const i32,
}

// SAFETY: the pointers are to words that any thread may read.
unsafe impl Send for ThreadCount {}

impl ThreadCount {
    /// Opens the list of threads.
    pub fn open() -> Result<ThreadCount, i32> {
        let fd = open_tasks()?;
        // SAFETY: terminated names. glibc 2.32 and newer have the first; the second is private, for
        // its debugger library, and may be missing.
        let [flag, count] = [c"__libc_single_threaded", c"__nptl_nthreads"]
            .map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
        let mut threads = ThreadCount {
            fd,
            single_threaded: flag.cast(),
            threads: count.cast(),
        };
        // A word that does not count threads as the kernel does is not what it is taken for.
        if threads.by_library() != Some(threads.get()) {
            threads.threads = core::ptr::null();
        }
        Ok(threads)
    }

    /// In the child of a fork: counts its own threads from now on.
    ///
    /// Nothing is looked up again: the loader may call `free`, and the heap is locked then.
    pub fn reopen(&mut self) -> Result<(), i32> {
        let fd = open_tasks()?;
        // SAFETY: the descriptor is ours alone.
        unsafe { libc::syscall(libc::SYS_close, self.fd) };
        self.fd = fd;
        Ok(())
    }

    /// Threads that the C library has made, the first one included; `None` when it cannot tell.
    ///
    /// A read of one word. It knows nothing of threads that a program makes by a system call of its
    /// own.
    fn by_library(&self) -> Option<u64> {
        // SAFETY: null, or the C library's own words, which live as long as the process.
        unsafe {
            if !self.threads.is_null() {
                return u64::try_from(self.threads.read_volatile()).ok();
            }
            let is_one =
                !self.single_threaded.is_null() && self.single_threaded.read_volatile() != 0;
            is_one.then_some(1)
        }
    }

    /// Whether there are so many threads or fewer, those included that no library call made.
    ///
    /// It costs a system call only if the library knows of no more. Of processes that share this
    /// one's memory without being its threads it knows if `most` is 1.
    pub fn are_at_most(&self, most: u64) -> bool {
        if self.by_library().is_some_and(|known| known > most) {
            return false;
        }
        match most {
            1 => memory_is_callers_alone().unwrap_or_else(|| self.get() <= 1),
            _ => self.get() <= most,
        }
    }

    /// The same as far as the C library knows, without a system call.
    pub fn are_known_at_most(&self, most: u64) -> bool {
        self.by_library().is_some_and(|known| known <= most)
    }

    /// Threads of the process, those included that no library call made.
    fn get(&self) -> u64 {
        // SAFETY: stat is plain data, for which zeros are valid.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: the buffer is a live stat.
        let rc = unsafe { libc::syscall(libc::SYS_fstat, self.fd, &raw mut stat) };
        // The directory has a link for itself, one for its parent, and one a thread.
        if rc == 0 {
            stat.st_nlink.saturating_sub(2)
        } else {
            u64::MAX
        }
    }
}

/// Whether nobody but the calling thread uses its memory; `None` when the kernel will not say.
///
/// To part memory from others that share it is all that the call is for: where there are none it
/// does nothing, and else it refuses. It takes half as long as counting the threads.
fn memory_is_callers_alone() -> Option<bool> {
    // SAFETY: no pointers, and nothing that the call could change.
    let rc = unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_VM) };
    match rc {
        0 => Some(true),
        _ => (errno() == libc::EINVAL).then_some(false),
    }
}

fn open_tasks() -> Result<i32, i32> {
    let path = c"/proc/self/task";
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: a static, terminated path.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    if fd < 0 { Err(errno()) } else { Ok(fd as i32) }
}

impl Drop for ThreadCount {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone.
        unsafe { libc::syscall(libc::SYS_close, self.fd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_bound_to_one_cpu_runs_there_and_gets_its_set_back() {
        let before = CpuSet::of(0).unwrap();
        let cpu = cpu_now();
        assert!(before.contains(cpu));
        assert!(CpuSet::one(cpu).bind(thread_id()));
        assert_eq!(CpuSet::of(0).unwrap().count(), 1);
        assert_eq!(cpu_now(), cpu);
        assert!(before.bind(0));
        assert_eq!(CpuSet::of(0).unwrap().count(), before.count());
    }

    /// Other tests start and end threads meanwhile, so only those made here count for sure.
    #[test]
    fn every_thread_is_counted() {
        const MADE: u64 = 16;
        let count = ThreadCount::open().unwrap();
        let gate = std::sync::Barrier::new(MADE as usize + 1);
        std::thread::scope(|scope| {
            (0..MADE).for_each(|_| {
                scope.spawn(|| gate.wait());
            });
            assert!(count.get() > MADE, "{}", count.get());
            let by_library = count.by_library();
            assert!(by_library.is_none_or(|n| n > MADE), "{by_library:?}");
            gate.wait();
        });
    }

    #[test]
    fn a_library_that_does_not_count_tells_of_one_thread_only() {
        let mut count = ThreadCount::open().unwrap();
        count.threads = core::ptr::null();
        for (flag, known) in [(&0u8, None), (&1, Some(1))] {
            count.single_threaded = flag;
            assert_eq!(count.by_library(), known);
        }
        count.single_threaded = core::ptr::null();
        assert_eq!(count.by_library(), None);
    }
}
