//! What the C library does in threads of its own: asynchronous input and output, timers, notices of
//! queues, and names that are looked up meanwhile.
//!
//! All signals are held back from these threads. So in signal mode none of them can wait for a
//! page: what the program hands to them leaves the device, and what is allocated for them is off
//! it. So are the attributes of threads: one that is made reads them before any signal can come.
//!
//! They make threads that call a function of the program's, and no hook sees that. A function of
//! ours in place of that one gives such a thread what all others have from their beginning.

use crate::allocator::system::in_signal_mode;
use crate::bytes::buffers::signal_engine;
use crate::device::{engine, refuse};
use crate::next;
use crate::signals::altstack::{begin_unasked, keep_off_device};
use crate::signals::mask::without_bus;
use crate::threads::affinity::{self, asking_of, have_own, making_unseen};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use libc::{addrinfo, aiocb, c_char, c_int, clockid_t, cpu_set_t, mqd_t, pthread_attr_t, sigevent};
use libc::{pthread_t, sigset_t, size_t, timer_t};
use sluice_runtime::Engine;

next!(next_setsigmask: c"pthread_attr_setsigmask_np"(
    attributes: *mut pthread_attr_t, mask: *const sigset_t) -> c_int);
next!(next_setaffinity: c"pthread_attr_setaffinity_np"(
    attributes: *mut pthread_attr_t, size: size_t, cpus: *const cpu_set_t) -> c_int);

next!(next_getattr: c"pthread_getattr_np"(
    thread: pthread_t, attributes: *mut pthread_attr_t) -> c_int);

/// # Safety
/// C contract of `pthread_attr_setsigmask_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_attr_setsigmask_np(
    attributes: *mut pthread_attr_t,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        let changed = without_bus(libc::SIG_SETMASK, mask);
        let mask = changed.as_ref().map_or(mask, core::ptr::from_ref);
        in_signal_mode(|| next_setsigmask(attributes, mask))
    }
}

/// # Safety
/// C contract of `pthread_attr_setaffinity_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_attr_setaffinity_np(
    attributes: *mut pthread_attr_t,
    size: size_t,
    cpus: *const cpu_set_t,
) -> c_int {
    affinity::choose_by_attributes();
    // SAFETY: passed on.
    in_signal_mode(|| unsafe { next_setaffinity(attributes, size, cpus) })
}

/// # Safety
/// C contract of `pthread_getattr_np`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_getattr_np(
    thread: pthread_t,
    attributes: *mut pthread_attr_t,
) -> c_int {
    // SAFETY: passed on.
    in_signal_mode(|| asking_of(thread, || unsafe { next_getattr(thread, attributes) }))
}

/// The beginning of `struct sigevent` of `signal.h`, whose value is a word.
#[repr(C)]
#[derive(Clone, Copy)]
struct Event {
    value: usize,
    signal: c_int,
    kind: c_int,
    function: usize,
    attributes: usize,
    rest: [usize; 4],
}

const _: () = assert!(size_of::<Event>() == size_of::<sigevent>());

type Called = extern "C-unwind" fn(usize);

/// Functions that the C library calls in a thread. A thread that calls one knows the value alone,
/// so each has a place, and each place code of its own.
static FUNCTIONS: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
/// More than programs have, but for those that make functions while they run.
const PLACES: usize = 4_096;
/// Bytes of the code of a place.
const BYTES: usize = 16;

/// Calls a function of the program's, which may need a page: some versions of the C library have
/// signals held back from it.
extern "C-unwind" fn call(value: usize, from: usize) {
    have_own();
    begin_unasked();
    let function = FUNCTIONS[(from - first_place()) / BYTES].load(Acquire);
    // SAFETY: the program's function, which takes a value of one word.
    unsafe { core::mem::transmute::<usize, Called>(function)(value) }
}

/// The code of all places, one behind the other: each calls with its own address.
#[unsafe(naked)]
extern "C-unwind" fn places() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        ".p2align 4",
        ".rept {places}",
        "lea rsi, [rip]",
        "jmp {call}",
        ".p2align 4",
        ".endr",
        places = const PLACES,
        call = sym call,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        ".p2align 4",
        ".rept {places}",
        "adr x1, .",
        "b {call}",
        ".p2align 4",
        ".endr",
        places = const PLACES,
        call = sym call,
    );
}

/// Where the code of the first place begins.
fn first_place() -> usize {
    (places as *const () as usize).next_multiple_of(BYTES)
}

/// What to call in place of a function; that one itself if it is such code.
fn in_place_of(function: usize) -> usize {
    let first = first_place();
    if (first..first + PLACES * BYTES).contains(&function) {
        return function;
    }
    let is_it = |place: &AtomicUsize| {
        let before = place.compare_exchange(0, function, AcqRel, Acquire);
        before.is_ok() || before == Err(function)
    };
    match FUNCTIONS.iter().position(is_it) {
        Some(at) => first + at * BYTES,
        None => refuse(&format!(
            "threads of SIGEV_THREAD call more than {PLACES} functions, and more cannot be seen"
        )),
    }
}

impl Event {
    /// Has a thread that is made for it begin as the program's others do.
    fn see_to(&mut self) {
        if self.kind == libc::SIGEV_THREAD && self.function != 0 && engine().is_some() {
            self.function = in_place_of(self.function);
        }
    }
}

/// Makes a call that is given an event, or what is in its place, of which a thread may be made.
///
/// # Safety
/// Null or the program's event.
unsafe fn with_event<R>(event: *const sigevent, call: impl FnOnce(*mut sigevent) -> R) -> R {
    // SAFETY: as above.
    let mut given = unsafe { event.cast::<Event>().as_ref() }.copied();
    let event = given.as_mut().map_or(event.cast_mut(), |given| {
        given.see_to();
        core::ptr::from_mut(given).cast()
    });
    in_signal_mode(|| making_unseen(|| call(event)))
}

next!(next_timer_create: c"timer_create"(
    clock: clockid_t, event: *mut sigevent, timer: *mut timer_t) -> c_int);
next!(next_mq_notify: c"mq_notify"(queue: mqd_t, event: *const sigevent) -> c_int);

/// # Safety
/// C contract of `timer_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn timer_create(
    clock: clockid_t,
    event: *mut sigevent,
    timer: *mut timer_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { with_event(event, |event| next_timer_create(clock, event, timer)) }
}

/// # Safety
/// C contract of `mq_notify`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mq_notify(queue: mqd_t, event: *const sigevent) -> c_int {
    // SAFETY: passed on.
    unsafe { with_event(event, |event| next_mq_notify(queue, event)) }
}

/// Hands a request over, and its bytes.
unsafe fn hand_over(request: *mut aiocb, has_bytes: bool) {
    // SAFETY: null or the program's request.
    let Some(given) = (unsafe { request.as_mut() }) else {
        return;
    };
    // SAFETY: the same record by its words. The C library reads it when the request is done.
    unsafe { (*(&raw mut given.aio_sigevent).cast::<Event>()).see_to() };
    if let Some(engine) = signal_engine() {
        keep_off_device(engine, request as usize, size_of::<aiocb>());
        if has_bytes {
            keep_off_device(engine, given.aio_buf as usize, given.aio_nbytes);
        }
    }
}

/// Makes a call that takes a request.
///
/// # Safety
/// Null or the program's request.
pub unsafe fn with_request<R>(request: *mut aiocb, has_bytes: bool, call: impl FnOnce() -> R) -> R {
    // SAFETY: passed on.
    unsafe { hand_over(request, has_bytes) };
    in_signal_mode(|| making_unseen(call))
}

/// Functions that move the bytes of one request.
macro_rules! of_one {
    ($($symbol:literal $name:ident = $next:ident;)+) => {$(
        next!($next: $symbol(request: *mut aiocb) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(request: *mut aiocb) -> c_int {
            // SAFETY: passed on.
            unsafe { with_request(request, true, || $next(request)) }
        }
    )+};
}

of_one! {
    c"aio_read" aio_read = next_aio_read;
    c"aio_read64" aio_read64 = next_aio_read64;
    c"aio_write" aio_write = next_aio_write;
    c"aio_write64" aio_write64 = next_aio_write64;
}

/// What a program has looked up (`struct gaicb` of `netdb.h`).
#[repr(C)]
pub struct Wanted {
    name: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    found: *mut addrinfo,
    state: c_int,
    reserved: [c_int; 5],
}

unsafe fn hand_text_over(engine: &Engine, text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the program's string.
        keep_off_device(engine, text as usize, unsafe { libc::strlen(text) } + 1);
    }
}

unsafe fn hand_name_over(wanted: *mut Wanted, _: bool) {
    let Some(engine) = signal_engine() else {
        return;
    };
    // SAFETY: null or the program's record, with what it names.
    unsafe {
        let Some(given) = wanted.as_ref() else { return };
        keep_off_device(engine, wanted as usize, size_of::<Wanted>());
        keep_off_device(engine, given.hints as usize, size_of::<addrinfo>());
        hand_text_over(engine, given.name);
        hand_text_over(engine, given.service);
    }
}

/// Functions of several records. A null one is left out.
macro_rules! of_many {
    ($($symbol:literal $name:ident = $next:ident($of:ty), $hand_over:ident;)+) => {$(
        next!($next: $symbol(
            how: c_int, list: *const *mut $of, count: c_int, event: *mut sigevent) -> c_int);

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            how: c_int,
            list: *const *mut $of,
            count: c_int,
            event: *mut sigevent,
        ) -> c_int {
            // SAFETY: the program's list; passed on.
            unsafe {
                for at in 0..count.max(0) as usize {
                    $hand_over(*list.add(at), true);
                }
                with_event(event, |event| $next(how, list, count, event))
            }
        }
    )+};
}

of_many! {
    c"lio_listio" lio_listio = next_lio_listio(aiocb), hand_over;
    c"lio_listio64" lio_listio64 = next_lio_listio64(aiocb), hand_over;
    c"getaddrinfo_a" getaddrinfo_a = next_getaddrinfo_a(Wanted), hand_name_over;
}
