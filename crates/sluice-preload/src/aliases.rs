//! Other names by which the C library exports functions that are hooked. Some are for its own other
//! libraries, some for programs that wrap a function by one of their own.

#[cfg(target_arch = "x86_64")]
use crate::beside;
use crate::{
    advice, calls, change, descriptors, io, kin, limit_calls, locks, malloc, many, map, owned,
    spawn, status, streams, system, taken, waits,
};

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
    __vfork = beside::vfork;
}

also! {
    __madvise = advice::madvise;
    __connect = calls::connect;
    __fcntl = calls::fcntl;
    __libc_fcntl64 = calls::fcntl;
    mkstemps64 = calls::mkstemps;
    __open = calls::open;
    __open64 = calls::open;
    __pipe = calls::pipe;
    __statfs = calls::statfs;
    __mprotect = change::mprotect;
    __munmap = change::munmap;
    __dup2 = descriptors::dup2;
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
    __libc_system = spawn::system;
    __fstat64 = status::fstat;
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
    __nanosleep = waits::nanosleep;
    __poll = waits::poll;
    __select = waits::select;
    __sigsuspend = waits::sigsuspend;
    __sigtimedwait = waits::sigtimedwait;
    __wait = waits::wait;
    __waitpid = waits::waitpid;
}
