//! Where threads run, and how many there are.

use crate::{Lost, NO_DESCRIPTOR, sys};

/// A set of CPUs.
#[derive(Clone, Copy)]
pub struct CpuSet(libc::cpu_set_t);

impl PartialEq for CpuSet {
    fn eq(&self, other: &CpuSet) -> bool {
        // SAFETY: both sets are live.
        unsafe { libc::CPU_EQUAL(&self.0, &other.0) }
    }
}

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
        let asked = unsafe { sys!(libc::SYS_sched_getaffinity, thread, size, &raw mut set) };
        asked.is_ok().then_some(CpuSet(set))
    }

    /// Binds a thread to the set; 0 is the caller. False when the kernel refuses.
    pub fn bind(&self, thread: u32) -> bool {
        let size = size_of::<libc::cpu_set_t>();
        let set = &raw const self.0;
        // SAFETY: the set is live and `size` bytes long.
        unsafe { sys!(libc::SYS_sched_setaffinity, thread, size, set) }.is_ok()
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
    let mut cpu = 0u32;
    // SAFETY: a live output. The C library's `sched_getcpu` would look into memory of a thread of
    // its own.
    let _ = unsafe { sys!(libc::SYS_getcpu, &raw mut cpu, 0, 0) };
    cpu as usize
}

/// The kernel's id of the calling thread.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { sys!(libc::SYS_gettid) }.unwrap_or(0) as u32
}

/// Asks for a higher share of CPU time for the caller; without permission nothing changes.
pub fn raise_priority() {
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, -19i32) };
}

/// The real-time priority of the calling thread; 0 if it has none.
pub fn real_time_priority() -> i32 {
    let mut priority = 0i32;
    // SAFETY: a live output of the kernel's one word.
    let _ = unsafe { sys!(libc::SYS_sched_getparam, 0, &raw mut priority) };
    priority
}

/// Gives a thread of this process a real-time priority, without turns. False when the kernel
/// refuses.
pub fn set_real_time(thread: u32, priority: i32) -> bool {
    let at = &raw const priority;
    // SAFETY: a live word, which is all that the kernel reads.
    unsafe { sys!(libc::SYS_sched_setscheduler, thread, libc::SCHED_FIFO, at) }.is_ok()
}

/// How nice a thread is that the kernel gives as much time as so many of the priority `base`: each
/// step is a quarter more.
pub fn nice_of(threads: usize, base: i32) -> i32 {
    const STEPS: [usize; 19] = [
        2, 2, 2, 3, 3, 4, 5, 6, 7, 9, 11, 14, 17, 21, 26, 32, 40, 50, 62,
    ];
    base - STEPS.iter().filter(|least| **least <= threads).count() as i32
}

/// How nice the first thread of the process is.
pub fn niceness() -> i32 {
    let process = std::process::id();
    // SAFETY: no pointers.
    let raw = unsafe { sys!(libc::SYS_getpriority, libc::PRIO_PROCESS, process) };
    raw.map_or(0, |raw| 20 - raw as i32)
}

/// Makes the calling thread so nice, where the system lets it.
pub fn be_nice(nice: i32) {
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, nice) };
}

/// The C library's words from which one can see how many threads it has made.
#[derive(Clone, Copy, Debug)]
pub struct LibraryCount {
    single_threaded: *const u8,
    threads: *const i32,
}

// SAFETY: the pointers are to words that any thread may read.
unsafe impl Send for LibraryCount {}
// SAFETY: as above.
unsafe impl Sync for LibraryCount {}

impl LibraryCount {
    /// Looks for the words. For a thread of the program's, since the dynamic loader is asked.
    pub fn find() -> LibraryCount {
        // SAFETY: terminated names. glibc 2.32 and newer have the first; the second is private, for
        // its debugger library, and may be missing.
        let [flag, count] = [c"__libc_single_threaded", c"__nptl_nthreads"]
            .map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
        LibraryCount {
            single_threaded: flag.cast(),
            threads: count.cast(),
        }
    }

    /// Threads that the C library has made, the first one included; `None` when that is not known.
    ///
    /// A read of one word. It knows nothing of threads that a program makes by a system call of its
    /// own.
    fn get(&self) -> Option<u64> {
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
}

/// Whether the program has one thread or more, whoever made them.
///
/// Threads of the runtime itself, which the C library does not know, do not count.
#[derive(Debug)]
pub struct ThreadCount {
    fd: i32,
    inode: u64,
    library: LibraryCount,
    own: u64,
}

impl ThreadCount {
    /// Opens the list of threads. `own` are the threads of the runtime that exist now.
    pub fn open(mut library: LibraryCount, own: u64) -> Result<ThreadCount, i32> {
        let fd = open_tasks()?;
        let inode = stat(fd).map_or(0, |told| told.st_ino);
        let mut count = ThreadCount {
            fd,
            inode,
            library,
            own,
        };
        // A word that does not count threads as the kernel does is not what it is taken for.
        if library.get() != Some(count.get()) {
            library.threads = core::ptr::null();
            count.library = library;
        }
        Ok(count)
    }

    /// Says how many threads the runtime has from now on.
    pub fn set_own(&mut self, own: u64) {
        self.own = own;
    }

    /// In the child of a fork: counts its own threads from now on. `own` are the runtime's.
    ///
    /// `closes` says that the child has the parent's descriptor, which it then closes.
    pub fn reopen(&mut self, own: u64, closes: bool) -> Result<(), i32> {
        let fd = open_tasks()?;
        if closes {
            // SAFETY: the descriptor is ours alone.
            let _ = unsafe { sys!(libc::SYS_close, self.fd) };
        }
        self.inode = stat(fd).map_or(0, |told| told.st_ino);
        (self.fd, self.own) = (fd, own);
        Ok(())
    }

    /// In the child of a fork that has no device: from now on the number of threads is unknown.
    /// `closes` says that the child has the parent's descriptor.
    pub fn give_up(&mut self, closes: bool) {
        if closes {
            // SAFETY: the descriptor is ours alone.
            let _ = unsafe { sys!(libc::SYS_close, self.fd) };
        }
        self.fd = NO_DESCRIPTOR;
    }

    /// The descriptor, for its owner to move it.
    pub fn descriptor(&mut self) -> &mut i32 {
        &mut self.fd
    }

    /// Whether the program has one thread only, those included that no library call made.
    ///
    /// It costs a system call only if the library knows of no other. Of processes that share this
    /// one's memory without being its threads it knows if the runtime has no thread.
    pub fn is_one(&self) -> bool {
        if self.library.get().is_some_and(|known| known > 1) {
            return false;
        }
        match self.own {
            0 => memory_is_callers_alone().unwrap_or_else(|| self.get() <= 1),
            _ => self.get() <= 1,
        }
    }

    /// Whether the C library knows of one thread alone: the answer without a system call.
    pub fn is_known_as_one(&self) -> bool {
        self.library.get() == Some(1)
    }

    /// Threads of the program, those included that no library call made.
    fn get(&self) -> u64 {
        match stat(self.fd) {
            Ok(told) if told.st_ino == self.inode => {
                entries(told.st_nlink).saturating_sub(self.own)
            }
            Ok(_) => {
                Lost::check("the list of threads", libc::EBADF);
                u64::MAX
            }
            Err(_) if self.fd == NO_DESCRIPTOR => u64::MAX,
            Err(errno) => {
                Lost::check("the list of threads", errno);
                u64::MAX
            }
        }
    }
}

/// What the kernel says of an open file.
///
/// # Errors
/// The kernel's.
pub fn stat(fd: i32) -> Result<libc::stat, i32> {
    // SAFETY: stat is plain data, for which zeros are valid.
    let mut told: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: the buffer is a live stat.
    unsafe { sys!(libc::SYS_fstat, fd, &raw mut told)? };
    Ok(told)
}

/// Whether nobody but the calling thread uses its memory; `None` when the kernel will not say.
///
/// To part memory from others that share it is all that the call is for: where there are none it
/// does nothing, and else it refuses. It takes half as long as counting the threads.
fn memory_is_callers_alone() -> Option<bool> {
    // SAFETY: no pointers, and nothing that the call could change.
    match unsafe { sys!(libc::SYS_unshare, libc::CLONE_VM) } {
        Ok(_) => Some(true),
        Err(errno) => (errno == libc::EINVAL).then_some(false),
    }
}

/// Threads that a list of them has, by its links: one is its own, one its parent's. How wide the
/// kernel counts links depends on the architecture.
fn entries(links: impl Into<u64>) -> u64 {
    links.into().saturating_sub(2)
}

/// Lets other threads that wait for this CPU run first.
pub fn yield_cpu() {
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_sched_yield) };
}

/// Threads of this process, the runtime's among them.
///
/// # Errors
/// The kernel's, where `/proc` is out of reach.
pub fn threads_of_process() -> Result<u64, i32> {
    let fd = open_tasks()?;
    let told = stat(fd);
    // SAFETY: opened above, and nobody else's.
    let _ = unsafe { sys!(libc::SYS_close, fd) };
    told.map(|told| entries(told.st_nlink))
}

fn open_tasks() -> Result<i32, i32> {
    let path = c"/proc/self/task";
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: a static, terminated path.
    let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    fd.map(|fd| fd as i32)
}

impl Drop for ThreadCount {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone.
        let _ = unsafe { sys!(libc::SYS_close, self.fd) };
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
        let count = ThreadCount::open(LibraryCount::find(), 0).unwrap();
        let gate = std::sync::Barrier::new(MADE as usize + 1);
        std::thread::scope(|scope| {
            (0..MADE).for_each(|_| {
                scope.spawn(|| gate.wait());
            });
            assert!(count.get() > MADE, "{}", count.get());
            assert!(!count.is_one());
            let by_library = count.library.get();
            assert!(by_library.is_none_or(|n| n > MADE), "{by_library:?}");
            gate.wait();
        });
    }

    #[test]
    fn a_library_that_does_not_count_tells_of_one_thread_only() {
        for (flag, known) in [(&0u8, None), (&1, Some(1))] {
            let library = LibraryCount {
                single_threaded: flag,
                threads: core::ptr::null(),
            };
            assert_eq!(library.get(), known);
        }
        let nothing = LibraryCount {
            single_threaded: core::ptr::null(),
            threads: core::ptr::null(),
        };
        assert_eq!(nothing.get(), None);
    }
}
