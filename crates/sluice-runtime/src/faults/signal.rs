//! Signal mode: the faulting thread serves its own fault inside SIGBUS.

use crate::clock::{now_ns, sleep_until};
use crate::engine::state::Plan;
use crate::engine::{Engine, FORK_LOOK_NS};
use crate::faults::pace::{wait_among, wait_until};
use crate::process::sent::leave_open;
use crate::threads::calm::{on_own_stack, put_off};
use core::sync::atomic::{AtomicPtr, Ordering::*};
use libc::{c_int, c_void, siginfo_t};
use sluice_region::sys;

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(core::ptr::null_mut());
/// What the program wants done about a SIGBUS that is not ours; one of [`ACTIONS`].
static PROGRAM: AtomicPtr<Action> = AtomicPtr::new(core::ptr::null_mut());
/// Every action that it ever wanted, each once: they stay, for a handler may read one at any time.
static ACTIONS: AtomicPtr<Action> = AtomicPtr::new(core::ptr::null_mut());

/// An action, and the one that was noted before it.
struct Action {
    action: libc::sigaction,
    next: *mut Action,
}

/// Installs the handler; returns false when the kernel refuses.
pub fn install(engine: &'static Engine) -> bool {
    ENGINE.store(core::ptr::from_ref(engine).cast_mut(), Release);
    // SAFETY: plain data, for which zeros are valid.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = on_bus as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the action is live; a set is plain bits. Every signal waits while a fault is served:
    // a handler of the program that faults in turn would find the engine's lock held by its own
    // thread. `sigfillset` leaves out the signal by which the C library cancels a thread.
    unsafe {
        core::ptr::write_bytes(&mut action.sa_mask, 0xff, 1);
        if real_sigaction(libc::SIGBUS, &action, core::ptr::null_mut()) != 0 {
            return false;
        }
    }
    leave_open(libc::SIGBUS);
    true
}

/// The C library's own `sigaction`, found behind the hook.
///
/// # Safety
/// As for `sigaction(2)`.
unsafe fn real_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    type Function =
        unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    // SAFETY: the symbol exists in every C library and has this type.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_NEXT, c"sigaction".as_ptr());
        let symbol = if symbol.is_null() {
            libc::sigaction as *const () as *mut c_void
        } else {
            symbol
        };
        core::mem::transmute::<*mut c_void, Function>(symbol)(signal, new, old)
    }
}

/// Whether SIGBUS belongs to the runtime, so that the program's handler is only noted.
pub fn is_ours() -> bool {
    !ENGINE.load(Acquire).is_null()
}

/// Notes the program's handler for SIGBUS and returns the one it had before.
pub fn chain(new: Option<libc::sigaction>) -> libc::sigaction {
    let old = match new {
        Some(action) => PROGRAM.swap(noted(action), AcqRel),
        None => PROGRAM.load(Acquire),
    };
    // SAFETY: noted actions stay; zeros are SIG_DFL.
    unsafe {
        match old.as_ref() {
            None => core::mem::zeroed(),
            Some(old) => old.action,
        }
    }
}

/// What the kernel knows of an action.
fn known(action: &libc::sigaction) -> (usize, i32, u64) {
    // SAFETY: the kernel's signals are the first 8 bytes of a set.
    let mask = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
    (action.sa_sigaction, action.sa_flags, mask)
}

/// A note of an action.
fn noted(action: libc::sigaction) -> *mut Action {
    let first = ACTIONS.load(Acquire);
    let mut at = first;
    // SAFETY: null, or a note, which stays and does not change.
    while let Some(note) = unsafe { at.as_ref() } {
        if known(&note.action) == known(&action) {
            return at;
        }
        at = note.next;
    }
    let new = Box::into_raw(Box::new(Action {
        action,
        next: first,
    }));
    // If somebody else was faster, this one is only not found again.
    let _ = ACTIONS.compare_exchange(first, new, AcqRel, Relaxed);
    new
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
///
/// The stack may be small, or the program's own for signals: next to nothing of it is used.
extern "C" fn on_bus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let seen_ns = now_ns();
    // SAFETY: this thread's own errno.
    let errno = unsafe { *libc::__errno_location() };
    let is_done = match is_sent(info) {
        // SAFETY: the kernel's pointers are valid for the call.
        true => unsafe { put_off(&*info, stack_pointer(context)) },
        false => on_own_stack(|| serve(info, context, seen_ns)),
    };
    if !is_done {
        pass_on(signal, info, context);
    }
    // SAFETY: as the interrupted code left it.
    unsafe { *libc::__errno_location() = errno };
}

/// Serves a fault. False if it is not the device's.
fn serve(info: *mut siginfo_t, context: *mut c_void, seen_ns: u64) -> bool {
    // SAFETY: the engine is leaked; the kernel's pointers are valid for the call.
    let (engine, addr, write) = unsafe {
        let engine = &*ENGINE.load(Acquire);
        (engine, (*info).si_addr() as usize, is_write(context))
    };
    let page = addr & !(sluice_region::PAGE - 1);
    let thread = sluice_region::thread_id;
    let plan = loop {
        if let Some(plan) = engine.trap(page, write, seen_ns, thread) {
            break plan;
        }
        sleep_until(now_ns() + FORK_LOOK_NS);
    };
    match plan {
        Plan::Outside => return false,
        Plan::Done => {}
        Plan::Wait(mut wait) => {
            // Among many, nobody has a CPU to itself to be ahead of its moment.
            let may_yield = wait.is_among && !wait.may_sleep && !engine.session.settings.spins();
            let has_waited = may_yield && wait_among(wait.act_ns);
            if !has_waited && !wait.is_there {
                wait_until(wait.bring_ns, wait.may_sleep);
                engine.bring(&mut wait);
            }
            let now = wait_until(wait.act_ns, wait.may_sleep);
            while !engine.fill(&wait, now) {
                sleep_until(now_ns() + FORK_LOOK_NS);
            }
        }
    }
    true
}

/// Where the interrupted code had its stack.
unsafe fn stack_pointer(context: *const c_void) -> usize {
    // SAFETY: the kernel passes a ucontext.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return machine.gregs[libc::REG_RSP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return machine.sp as usize;
}

#[cfg(target_arch = "x86_64")]
unsafe fn is_write(context: *mut c_void) -> bool {
    const WRITE_FAULT: i64 = 1 << 1;
    // SAFETY: the kernel passes a ucontext; the page-fault error code is in REG_ERR.
    unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        context.uc_mcontext.gregs[libc::REG_ERR as usize] & WRITE_FAULT != 0
    }
}

#[cfg(target_arch = "aarch64")]
unsafe fn is_write(context: *mut c_void) -> bool {
    use libc::mcontext_t;
    /// The records are behind the registers, aligned for vectors, and have so many words.
    const AT: usize = (core::mem::offset_of!(mcontext_t, pstate) + 8).next_multiple_of(16);
    const WORDS: usize = 512;
    // SAFETY: the kernel passes a ucontext, of which they are the end.
    unsafe {
        let machine = &raw const (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        let records = machine.cast::<u8>().add(AT).cast::<u64>();
        crate::faults::syndrome::is_write(core::slice::from_raw_parts(records, WORDS))
    }
}

/// Whether a process sent it, and no access failed.
fn is_sent(info: *mut siginfo_t) -> bool {
    // SAFETY: the kernel's pointer, valid while the signal is handled.
    unsafe { (*info).si_code <= 0 }
}

/// A SIGBUS of the program's own making goes where the program wanted it.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let action = chain(None);
    match action.sa_sigaction {
        libc::SIG_IGN if is_sent(info) => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: restores the default, so that the access, tried again, ends the program as
            // it would have without us. What was sent comes again when the handler is left.
            unsafe {
                let default: libc::sigaction = core::mem::zeroed();
                real_sigaction(signal, &default, core::ptr::null_mut());
                if is_sent(info) {
                    let (process, thread) = (libc::getpid(), sluice_region::thread_id());
                    let _ = sys!(libc::SYS_tgkill, process, thread, signal);
                }
            }
        }
        handler => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                PROGRAM.store(core::ptr::null_mut(), Release);
            }
            call(handler, &action, signal, info, context);
        }
    }
}

fn call(
    handler: usize,
    action: &libc::sigaction,
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the program gave this handler with these flags, and the mask it asked for holds
    // while it runs. A handler that leaves by siglongjmp restores its own mask.
    unsafe {
        let (mut before, ours): (u64, u64) = (0, *(&raw const action.sa_mask).cast::<u64>());
        let interrupted = (*context.cast::<libc::ucontext_t>()).uc_sigmask;
        let mut mask = *(&raw const interrupted).cast::<u64>() | ours;
        if action.sa_flags & libc::SA_NODEFER == 0 {
            mask |= 1 << (signal - 1);
        }
        // The handler may need a page of the device.
        mask &= !(1 << (libc::SIGBUS - 1));
        let set = libc::SIG_SETMASK;
        let _ = sys!(
            libc::SYS_rt_sigprocmask,
            set,
            &raw const mask,
            &raw mut before,
            8
        );
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            let f: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                core::mem::transmute(handler);
            f(signal, info, context);
        } else {
            let f: extern "C" fn(c_int) = core::mem::transmute(handler);
            f(signal);
        }
        let _ = sys!(libc::SYS_rt_sigprocmask, set, &raw const before, 0, 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each call kept a note for ever, of whatever was asked for.
    #[test]
    fn an_action_that_comes_again_takes_no_memory() {
        // SAFETY: plain data, for which zeros are valid.
        let [mut one, mut two]: [libc::sigaction; 2] = unsafe { core::mem::zeroed() };
        (one.sa_sigaction, two.sa_sigaction) = (0x1000, 0x1000);
        // SAFETY: a live set.
        unsafe { libc::sigaddset(&mut two.sa_mask, libc::SIGUSR1) };
        let notes = [one, two].map(noted);
        assert_ne!(notes[0], notes[1]);
        for _ in 0..3 {
            for (action, note) in [one, two].into_iter().zip(notes) {
                chain(Some(action));
                assert_eq!(PROGRAM.load(Acquire), note);
                assert_eq!(known(&chain(None)), known(&action));
            }
        }
    }
}
