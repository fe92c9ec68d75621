//! userfaultfd, memfd, pagemap and process memory: the only place that calls them.
//!
//! Every call is a raw system call. The preload library interposes `mmap`, `munmap` and
//! `madvise`; going through the C library here would call its own hooks.

mod call;
mod cpu;
mod dispatch;
mod fatal;
mod futex;
mod guard;
mod map;
mod own_stat;
mod pagemap;
mod paging;
mod probe;
mod process;
mod run_delay;
mod sys;
mod task;
mod thread_name;
mod tls;
mod uffd;
mod uring;
mod valgrind;
mod vdso;
mod view;

pub use call::call;
pub use cpu::{
    CpuSet, LibraryCount, ThreadCount, be_nice, cpu_now, nice_of, niceness, raise_priority,
    real_time_priority, set_real_time, stat, thread_id, threads_of_process, yield_cpu,
};
pub use dispatch::{forget_all_dispatched, forget_dispatched, is_dispatched, note_dispatched};
pub(crate) use fatal::Lost;
pub use fatal::{Told, fatal, say, set_own_descriptors, text_of};
pub use futex::{futex_wait, futex_wait_either, futex_wake, sleep_exactly, with_exact_sleep};
pub use guard::{
    FileRoom, Hold, check_trusted, create_private, holder, is_byte_locked, lock_byte,
    lock_for_process, open_folder, open_regular, own_user, punch, reserve, room, told_of,
    unlock_byte, write_numbered,
};
pub use map::{
    Mapping, NODE_MAX, bind_to_node, dont_need, fallocate, file_identity, fill_from, has_filled,
    is_memory_file, memfd, no_huge_pages, populate_write,
};
pub use map::{raw_madvise, raw_mmap, raw_mprotect, raw_munmap};
pub use own_stat::{Ended, OwnStat};
pub use pagemap::Pagemap;
pub use paging::{lock_limit, major_faults};
pub use probe::{Check, Need, Probe, probe};
pub use process::{described_process, is_own_process, is_running, is_stopped, started_at, user_of};
pub use run_delay::{RunDelay, RunDelays};
pub use task::{
    Descriptors, Main, Room, call_on_stack, close_all, end_thread, name_thread, own_nothing,
};
pub use thread_name::thread_name;
pub use tls::{Modules, Storage};
pub use uffd::{Event, EventSource, Features, Fill, OpenError, Uffd, UffdKind};
pub use uring::{Transfer, Uring};
pub use valgrind::is_valgrind;
pub use vdso::monotonic_ns;
pub use view::{
    Lease, hand_over_view, is_plain_file, map_view, read_ahead, read_page, unmap_view, write_page,
};

/// Bytes in a page; the only page size the runtime maps.
pub const PAGE: usize = 4096;

/// What stands for a descriptor where a process has none.
const NO_DESCRIPTOR: i32 = -1;

/// The `errno` of the calling thread.
pub fn errno() -> i32 {
    // SAFETY: __errno_location always returns the calling thread's valid errno.
    unsafe { *libc::__errno_location() }
}
