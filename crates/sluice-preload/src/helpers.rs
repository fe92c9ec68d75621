//! What the C library does in threads of its own, in signal mode: asynchronous input and output,
//! timers, notices of queues, and names that are looked up meanwhile.
//!
//! All signals are held back from these threads, so that none of them can wait for a page. What the
//! program hands to them leaves the device, and what is allocated for them is off it. So are the
//! attributes of threads: one that is made reads them before any signal can come.

use crate::affinity::making;
use crate::altstack::keep_off_device;
use crate::buffers::signal_engine;
use crate::mask::{let_bus_through, without_bus};
use crate::next;
use crate::system::in_signal_mode;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use libc::{addrinfo, aiocb, c_char, c_int, clockid_t, cpu_set_t, mqd_t, pthread_attr_t, sigevent};
use libc::{sigset_t, size_t, timer_t};
use sluice_runtime::Engine;

next!(next_setsigmask: c"pthread_attr_setsigmask_np"(
    attributes: *mut pthread_attr_t, mask: *const sigset_t) -> c_int);
next!(next_setaffinity: c"pthread_attr_setaffinity_np"(
    attributes: *mut pthread_attr_t, size: size_t, cpus: *const cpu_set_t) -> c_int);

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
    // SAFETY: passed on.
    in_signal_mode(|| unsafe { next_setaffinity(attributes, size, cpus) })
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

/// Functions that timers call. A thread that calls one knows the value alone, so each has a place.
static FUNCTIONS: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

/// Calls a function of the program's, which may need a page: some versions of the C library have
/// signals held back from it.
extern "C-unwind" fn call<const AT: usize>(value: usize) {
    let_bus_through();
    // SAFETY: the program's function, which takes a value of one word.
    unsafe { core::mem::transmute::<usize, Called>(FUNCTIONS[AT].load(Acquire))(value) }
}

static CALLS: [Called; FUNCTIONS.len()] = [
    call::<0>, call::<1>, call::<2>, call::<3>, call::<4>, call::<5>, call::<6>, call::<7>,
    call::<8>, call::<9>, call::<10>, call::<11>, call::<12>, call::<13>, call::<14>, call::<15>,
];

/// What to call in place of a function; that one itself if the program has too many.
fn in_place_of(function: usize) -> usize {
    let is_it = |place: &AtomicUsize| {
        let before = place.compare_exchange(0, function, AcqRel, Acquire);
        before.is_ok() || before == Err(function)
    };
    let at = FUNCTIONS.iter().position(is_it);
    at.map_or(function, |at| CALLS[at] as usize)
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
    // SAFETY: null or the program's record; passed on, or a changed one.
    unsafe {
        let given = event.cast::<Event>().as_ref().copied();
        let calls = |given: &Event| given.kind == libc::SIGEV_THREAD && given.function != 0;
        let Some(mut changed) = given.filter(calls).filter(|_| signal_engine().is_some()) else {
            return in_signal_mode(|| making(|| next_timer_create(clock, event, timer)));
        };
        changed.function = in_place_of(changed.function);
        let event = (&raw mut changed).cast();
        in_signal_mode(|| making(|| next_timer_create(clock, event, timer)))
    }
}

/// # Safety
/// C contract of `mq_notify`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mq_notify(queue: mqd_t, event: *const sigevent) -> c_int {
    // SAFETY: passed on.
    in_signal_mode(|| unsafe { next_mq_notify(queue, event) })
}

/// Hands a request over, and its bytes.
unsafe fn hand_over(engine: &Engine, request: *const aiocb, has_bytes: bool) {
    // SAFETY: null or the program's request.
    if let Some(given) = unsafe { request.as_ref() } {
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
pub unsafe fn with_request<R>(
    request: *const aiocb,
    has_bytes: bool,
    call: impl FnOnce() -> R,
) -> R {
    if let Some(engine) = signal_engine() {
        // SAFETY: passed on.
        unsafe { hand_over(engine, request, has_bytes) };
    }
    in_signal_mode(call)
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

unsafe fn hand_name_over(engine: &Engine, wanted: *const Wanted, _: bool) {
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
                if let Some(engine) = signal_engine() {
                    for at in 0..count.max(0) as usize {
                        $hand_over(engine, *list.add(at), true);
                    }
                }
                in_signal_mode(|| $next(how, list, count, event))
            }
        }
    )+};
}

of_many! {
    c"lio_listio" lio_listio = next_lio_listio(aiocb), hand_over;
    c"lio_listio64" lio_listio64 = next_lio_listio64(aiocb), hand_over;
    c"getaddrinfo_a" getaddrinfo_a = next_getaddrinfo_a(Wanted), hand_name_over;
}
