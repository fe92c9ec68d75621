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
use crate::device::engine;
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
/// so each has a place.
static FUNCTIONS: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

/// Calls a function of the program's, which may need a page: some versions of the C library have
/// signals held back from it.
extern "C-unwind" fn call<const AT: usize>(value: usize) {
    have_own();
    begin_unasked();
    // SAFETY: the program's function, which takes a value of one word.
    unsafe { core::mem::transmute::<usize, Called>(FUNCTIONS[AT].load(Acquire))(value) }
}

#[rustfmt::skip]
static CALLS: [Called; FUNCTIONS.len()] = [
    call::<0>, call::<1>, call::<2>, call::<3>, call::<4>, call::<5>, call::<6>,
    call::<7>, call::<8>, call::<9>, call::<10>, call::<11>, call::<12>, call::<13>,
    call::<14>, call::<15>, call::<16>, call::<17>, call::<18>, call::<19>, call::<20>,
    call::<21>, call::<22>, call::<23>, call::<24>, call::<25>, call::<26>, call::<27>,
    call::<28>, call::<29>, call::<30>, call::<31>, call::<32>, call::<33>, call::<34>,
    call::<35>, call::<36>, call::<37>, call::<38>, call::<39>, call::<40>, call::<41>,
    call::<42>, call::<43>, call::<44>, call::<45>, call::<46>, call::<47>, call::<48>,
    call::<49>, call::<50>, call::<51>, call::<52>, call::<53>, call::<54>, call::<55>,
    call::<56>, call::<57>, call::<58>, call::<59>, call::<60>, call::<61>, call::<62>,
    call::<63>,
];

/// What to call in place of a function; that one itself if the program has too many.
fn in_place_of(function: usize) -> usize {
    if CALLS.iter().any(|call| *call as usize == function) {
        return function;
    }
    let is_it = |place: &AtomicUsize| {
        let before = place.compare_exchange(0, function, AcqRel, Acquire);
        before.is_ok() || before == Err(function)
    };
    let at = FUNCTIONS.iter().position(is_it);
    at.map_or(function, |at| CALLS[at] as usize)
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
