//! Stacks for signals, in signal mode.
//!
//! A miss is a signal there, and the kernel writes its record to the stack of the thread that it
//! interrupts. That stack may be too small, or lie on the device itself. So each thread has an
//! alternate stack: ours, unless it sets one of its own that no other thread has. To the program
//! ours does not exist.

use crate::bytes::answers::status;
use crate::bytes::buffers::{set_errno, signal_engine};
use crate::internal::Internal;
use crate::next;
use crate::signals::{mask, same_stacks};
use crate::threads::affinity::making;
use crate::threads::cancelled::make_ready;
use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use libc::{c_int, c_void, pthread_attr_t, pthread_t, size_t, stack_t};
use sluice_region::{PAGE, sys};
use sluice_runtime::Engine;

/// Room for the largest record, and for handlers of the program's that ask for an alternate stack
/// and have none.
const BYTES: usize = 64 << 10;

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
/// That of a thread of ISO C.
type IsoStart = extern "C" fn(*mut c_void) -> c_int;

next!(next_create: c"pthread_create"(
    thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start,
    argument: *mut c_void) -> c_int);
next!(next_create_by_iso: c"thrd_create"(
    thread: *mut pthread_t, start: IsoStart, argument: *mut c_void) -> c_int);
next!(next_setstack: c"pthread_attr_setstack"(
    attributes: *mut pthread_attr_t, stack: *mut c_void, size: size_t) -> c_int);

/// The key whose value is a thread's stack, above its number. 0 before there is one.
static KEY: AtomicUsize = AtomicUsize::new(0);

fn layout() -> Layout {
    // SAFETY: a power of two, and not too large.
    unsafe { Layout::from_size_align_unchecked(BYTES, PAGE) }
}

fn kernel(new: *const stack_t, old: *mut stack_t) -> Result<(), i32> {
    // SAFETY: null or live records; a stack that is set stays as long as its thread.
    unsafe { sys!(libc::SYS_sigaltstack, new, old) }.map(drop)
}

fn none() -> stack_t {
    stack_t {
        ss_sp: core::ptr::null_mut(),
        ss_flags: libc::SS_DISABLE,
        ss_size: 0,
    }
}

/// How a stack of ours is set.
fn ours_as_set(stack: *mut u8) -> stack_t {
    stack_t {
        ss_sp: stack.cast(),
        ss_flags: 0,
        ss_size: BYTES,
    }
}

/// Gives the calling thread a stack of ours.
fn give(stack: *mut u8) -> Result<(), i32> {
    kernel(&ours_as_set(stack), core::ptr::null_mut())
}

/// Our stack of the calling thread.
pub fn own() -> *mut u8 {
    match KEY.load(Acquire) {
        0 => core::ptr::null_mut(),
        // SAFETY: a key that was made.
        key => unsafe { libc::pthread_getspecific((key - 1) as libc::pthread_key_t) }.cast(),
    }
}

/// Gives the first thread its stack, and those to come a way to lose theirs.
pub fn start() -> Result<(), i32> {
    let mut key = 0;
    // SAFETY: a live output, and a function of this library, which is never unloaded.
    match unsafe { libc::pthread_key_create(&mut key, Some(take_back)) } {
        0 => KEY.store(key as usize + 1, Release),
        errno => return Err(errno),
    }
    // SAFETY: any layout that is not empty may be asked for.
    let stack = unsafe { Internal.alloc(layout()) };
    if stack.is_null() {
        return Err(libc::ENOMEM);
    }
    enter(stack)
}

/// In the child of a fork.
pub fn after_fork_in_child() {
    same_stacks::forget_others(own() as usize);
}

/// Notes the calling thread's stack. Returns an error number, or 0.
fn remember(stack: *mut u8) -> c_int {
    let key = KEY.load(Acquire) - 1;
    // SAFETY: a key that was made.
    unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, stack.cast()) }
}

/// The calling thread has this stack from now on.
fn enter(stack: *mut u8) -> Result<(), i32> {
    // SAFETY: it is this thread's alone.
    unsafe { stack.cast::<usize>().write(0) };
    match remember(stack) {
        0 => give(stack),
        errno => Err(errno),
    }
}

/// Destructors of the program's come after this one and may miss, so it is the last round that
/// takes the stack.
const ROUNDS: usize = 4;

/// At the end of a thread, in each round of its destructors.
unsafe extern "C" fn take_back(stack: *mut c_void) {
    // SAFETY: the lowest word of this thread's stack, which is not in use just now. It is zero
    // before, and no signal's record is so long.
    let rounds = unsafe { &mut *stack.cast::<usize>() };
    *rounds += 1;
    if *rounds < ROUNDS && remember(stack.cast()) == 0 {
        return;
    }
    same_stacks::forget(stack as usize);
    // It may have set one of its own, which then stays.
    let mut set = none();
    let is_ours = kernel(core::ptr::null(), &mut set).is_ok() && set.ss_sp == stack;
    if !is_ours || kernel(&none(), core::ptr::null_mut()).is_ok() {
        // SAFETY: made by `start` or `pthread_create` for this thread, which no longer uses it.
        unsafe { Internal.dealloc(stack.cast(), layout()) };
    }
}

/// What a thread of the program begins with.
struct Begun<F> {
    start: F,
    argument: *mut c_void,
    stack: *mut u8,
}

/// Begins a thread of the program's. Returns its first function, and what that is given.
///
/// # Safety
/// Made by [`create`] for this thread alone.
unsafe fn begun<F>(begun: *mut c_void) -> (F, *mut c_void) {
    // SAFETY: as above.
    let begun = unsafe { Box::from_raw(begun.cast::<Begun<F>>()) };
    let Begun {
        start,
        argument,
        stack,
    } = *begun;
    // Without it the thread has what it would have without the device.
    let _ = enter(stack);
    // It inherits its mask from the thread that made it, and that may be one of the C library's.
    mask::let_bus_through();
    (start, argument)
}

extern "C" fn begin(argument: *mut c_void) -> *mut c_void {
    // SAFETY: as there.
    let (start, argument) = unsafe { begun::<Start>(argument) };
    start(argument)
}

extern "C" fn begin_by_iso(argument: *mut c_void) -> c_int {
    // SAFETY: as there.
    let (start, argument) = unsafe { begun::<IsoStart>(argument) };
    start(argument)
}

/// Begins a thread that the C library has made by itself, with signals held back.
pub fn begin_unasked() {
    if signal_engine().is_none() {
        return;
    }
    if KEY.load(Acquire) != 0 && own().is_null() {
        // SAFETY: as in `start`.
        let stack = unsafe { Internal.alloc(layout()) };
        if !stack.is_null() {
            let _ = enter(stack);
        }
    }
    mask::let_bus_through();
}

/// Makes a thread that begins so: by a function that is given the first function of the thread, or
/// what is in its place. Without room for its stack, it is refused.
fn create<F>(
    (start, argument): (F, *mut c_void),
    in_place: F,
    refusal: c_int,
    next: impl FnOnce(F, *mut c_void) -> c_int,
) -> c_int {
    make_ready();
    if signal_engine().is_none() || KEY.load(Acquire) == 0 {
        return making(|| next(start, argument));
    }
    // SAFETY: as in `start`.
    let stack = unsafe { Internal.alloc(layout()) };
    if stack.is_null() {
        return refusal;
    }
    let begun = Box::into_raw(Box::new(Begun {
        start,
        argument,
        stack,
    }));
    // The new thread frees what it begins with.
    let result = next(in_place, begun.cast());
    if result != 0 {
        // SAFETY: no thread has it.
        unsafe {
            drop(Box::from_raw(begun));
            Internal.dealloc(stack, layout());
        }
    }
    result
}

/// # Safety
/// C contract of `pthread_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    create((start, argument), begin, libc::EAGAIN, |start, argument| {
        // SAFETY: passed on.
        unsafe { next_create(thread, attributes, start, argument) }
    })
}

/// # Safety
/// C contract of `thrd_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut pthread_t,
    start: IsoStart,
    argument: *mut c_void,
) -> c_int {
    /// `thrd_nomem` of `threads.h`.
    const NO_MEMORY: c_int = 3;
    create(
        (start, argument),
        begin_by_iso,
        NO_MEMORY,
        |start, argument| {
            // SAFETY: passed on.
            unsafe { next_create_by_iso(thread, start, argument) }
        },
    )
}

/// Takes memory off the device that is needed where nobody can wait for a page: a stack, for one.
pub fn keep_off_device(engine: &Engine, start: usize, size: usize) {
    let first = start & !(PAGE - 1);
    let end = start.checked_add(size);
    let end = end.and_then(|end| end.checked_next_multiple_of(PAGE));
    if let Some(end) = end.filter(|end| engine.in_arena(first) && engine.in_arena(end - 1)) {
        engine.leave_device(first, end - first);
    }
}

/// # Safety
/// C contract of `sigaltstack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    let ours = own();
    let Some(engine) = signal_engine().filter(|_| !ours.is_null()) else {
        return status(kernel(new, old));
    };
    let thread = ours as usize;
    let mut before = none();
    let noted = same_stacks::of(thread);
    // SAFETY: null or the program's record, which traps as any access of its own.
    let wanted = unsafe { new.as_ref() }.copied();
    let set = match wanted {
        None => kernel(core::ptr::null(), &mut before),
        Some(wanted) if wanted.ss_flags & libc::SS_DISABLE != 0 => {
            let set = kernel(&ours_as_set(ours), &mut before);
            set.inspect(|()| same_stacks::forget(thread))
        }
        Some(wanted) => {
            keep_off_device(engine, wanted.ss_sp as usize, wanted.ss_size);
            let is_shared = same_stacks::note(thread, &wanted);
            // The kernel says whether it would take the program's, in any case.
            let set = kernel(&wanted, &mut before);
            match set {
                Ok(()) if is_shared => give(ours),
                Ok(()) => Ok(()),
                Err(_) => {
                    same_stacks::put_back(thread, noted);
                    set
                }
            }
        }
    };
    if let Err(errno) = set {
        set_errno(errno);
        return -1;
    }
    if before.ss_sp == ours.cast() {
        let on_it = before.ss_flags & libc::SS_ONSTACK;
        before = match noted {
            Some((theirs, true)) => stack_t {
                ss_flags: theirs.ss_flags | on_it,
                ..theirs
            },
            _ => none(),
        };
    }
    // SAFETY: null or the program's record.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = before;
    }
    0
}

/// # Safety
/// C contract of `pthread_attr_setstack`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setstack(
    attributes: *mut pthread_attr_t,
    stack: *mut c_void,
    size: size_t,
) -> c_int {
    if let Some(engine) = signal_engine() {
        keep_off_device(engine, stack as usize, size);
    }
    // SAFETY: passed on.
    unsafe { next_setstack(attributes, stack, size) }
}
