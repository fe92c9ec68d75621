//! Threads of the runtime: all signals blocked, and nothing of theirs in the program's heap.

use sluice_region::Mapping;

/// Stack of a thread, with room for what the program's libraries keep for each.
const STACK_BYTES: usize = 1 << 20;

/// What a thread runs.
pub type Main = extern "C" fn(*mut libc::c_void) -> *mut libc::c_void;

/// Starts a thread that nobody waits for.
///
/// The stack is our own. In the child of a fork the C library would take one from its threads of
/// before, and clear what they kept in the program's heap: pages that nobody serves yet.
///
/// # Safety
/// `main` can run with `argument` in another thread.
pub unsafe fn spawn(main: Main, argument: *mut libc::c_void) -> Result<(), i32> {
    let stack = core::mem::ManuallyDrop::new(Mapping::anonymous(STACK_BYTES)?);
    // SAFETY: plain data, for which zeros are valid; sigfillset makes it whole.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (core::mem::zeroed(), core::mem::zeroed()) };
    let mut thread: libc::pthread_t = 0;
    // SAFETY: as above; `pthread_attr_init` makes it whole.
    let mut attributes: libc::pthread_attr_t = unsafe { core::mem::zeroed() };
    // SAFETY: the caller vouches for the thread. It inherits the mask of its maker, so signals are
    // blocked from its first instruction on.
    unsafe {
        libc::sigfillset(&mut all);
        raw_sigmask(&all, &mut before);
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstack(&mut attributes, stack.addr() as *mut _, stack.len());
        let rc = libc::pthread_create(&mut thread, &attributes, main, argument);
        raw_sigmask(&before, core::ptr::null_mut());
        if rc != 0 {
            return Err(rc);
        }
        libc::pthread_detach(thread);
    }
    Ok(())
}

/// Past the C library, whose `pthread_sigmask` the preload library hooks.
unsafe fn raw_sigmask(set: *const libc::sigset_t, old: *mut libc::sigset_t) {
    // SAFETY: the kernel's set is 8 bytes, the first of the library's.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, set, old, 8) };
}
