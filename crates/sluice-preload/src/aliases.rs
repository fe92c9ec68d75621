//! Other names by which the C library exports functions that are hooked. Some are for its own other
//! libraries, some for programs that wrap a function by one of their own.

use crate::allocator::{limit_calls, malloc, system};
use crate::bytes::held;
use crate::memory::{advice, change, map};
use crate::processes::{beside, children, descriptors, kin, spawn, status};
use crate::signal_mode::{calls, io, many, names, resolver, streams, taken, waits};
use crate::threads::{asked, real_time};
use crate::words::{locks, owned};

/// Functions that are another one: all registers and the stack are as they were.
macro_rules! also {
    ($($name:ident = $to:path;)+) => {$(
        /// # Safety
        /// C contract of the function that it is.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {to}", to = sym $to);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {to}", to = sym $to);
        }
    )+};
}

#[cfg(target_arch = "x86_64")]
also! {
    __arch_prctl = asked::arch_prctl;
}

also! {
    __madvise = advice::madvise;
    __clock_gettime = asked::clock_gettime;
    fstatfs64 = asked::fstatfs;
    getdirentries64 = asked::getdirentries;
    __sched_getparam = asked::sched_getparam;
    __sched_setscheduler = real_time::sched_setscheduler;
    __vfork = beside::vfork;
    __connect = calls::connect;
    __fcntl = calls::fcntl;
    __libc_fcntl64 = calls::fcntl;
    mkostemps64 = calls::mkostemps;
    mkstemps64 = calls::mkstemps;
    __mktemp = calls::mktemp;
    __open = calls::open;
    __open64 = calls::open;
    __pipe = calls::pipe;
    scandir64 = calls::scandir;
    scandirat64 = calls::scandirat;
    __statfs = calls::statfs;
    __setmntent = names::setmntent;
    __mprotect = change::mprotect;
    __munmap = change::munmap;
    __dup2 = descriptors::dup2;
    __adjtimex = held::adjtimex;
    ntp_adjtime = held::adjtimex;
    __nanosleep = held::nanosleep;
    __sigtimedwait = held::sigtimedwait;
    __wait = children::wait;
    __waitpid = children::waitpid;
    __pread64 = io::pread;
    __libc_pread = io::pread;
    __pwrite64 = io::pwrite;
    __libc_pwrite = io::pwrite;
    __read = io::read;
    __recv = io::recv;
    __send = io::send;
    __write = io::write;
    __clone = kin::clone;
    __getrlimit = limit_calls::getrlimit;
    __pthread_mutex_lock = locks::pthread_mutex_lock;
    __pthread_rwlock_rdlock = locks::pthread_rwlock_rdlock;
    __pthread_rwlock_wrlock = locks::pthread_rwlock_wrlock;
    cfree = malloc::free;
    __libc_reallocarray = malloc::reallocarray;
    __sendmmsg = many::sendmmsg;
    __mmap = map::mmap;
    __pthread_mutex_trylock = owned::pthread_mutex_trylock;
    __pthread_mutex_unlock = owned::pthread_mutex_unlock;
    __res_nquery = resolver::res_nquery;
    __res_nquerydomain = resolver::res_nquerydomain;
    __res_nsearch = resolver::res_nsearch;
    __res_nsend = resolver::res_nsend;
    __res_query = resolver::res_query;
    __res_querydomain = resolver::res_querydomain;
    __res_search = resolver::res_search;
    __res_send = resolver::res_send;
    __libc_system = spawn::system;
    __fstat64 = status::fstat;
    __fxstat64 = status::__fxstat;
    __fxstatat64 = status::__fxstatat;
    __lxstat64 = status::__lxstat;
    __xstat64 = status::__xstat;
    fts64_children = system::fts_children;
    fts64_open = system::fts_open;
    fts64_read = system::fts_read;
    _IO_fdopen = streams::fdopen;
    _IO_fopen = streams::fopen;
    _IO_fputs = streams::fputs;
    _IO_fread = streams::fread;
    _IO_fwrite = streams::fwrite;
    _IO_popen = streams::popen;
    _IO_puts = streams::puts;
    _IO_setbuffer = streams::setbuffer;
    _IO_setvbuf = streams::setvbuf;
    monstartup = system::__monstartup;
    __libc_msgrcv = taken::msgrcv;
    __libc_msgsnd = taken::msgsnd;
    __poll = waits::poll;
    __select = waits::select;
    __sigsuspend = waits::sigsuspend;
}
