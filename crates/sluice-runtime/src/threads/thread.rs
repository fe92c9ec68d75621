//! Threads of the runtime: unknown to the C library, all signals blocked, and nothing of theirs in
//! the program's heap.
//!
//! The first one is the *service thread* of event mode. It has a table of descriptors of its own,
//! in which everything that the runtime has opened is out of the program's reach, and it makes the
//! other threads, which share that table. Work that needs such a descriptor is handed to it.

use crate::clock::{now_ns, sleep_until};
use crate::lock::{Guard, Lock};
use crate::process::real_time;
use crate::process::sent::set_mask;
use crate::threads::calm::{calm, is_runtime_thread, make_stacks, thread_stack};
use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use sluice_region::{
    Descriptors, Main, Modules, OwnStat, Room, close_all, end_thread, futex_wait, futex_wake,
    name_thread, own_nothing, raise_priority, set_own_descriptors, yield_cpu,
};

/// The mask of a thread of the runtime.
const ALL_SIGNALS: u64 = u64::MAX;
/// Looks at a word before giving the CPU away ..
const LOOKS: u32 = 2_000;
/// .. and before sleeping on it, from which a thread wakes up late.
const YIELDS: u32 = 300;

/// Tries, of a millisecond each, to get the service thread before going on without it.
const FREE_TRIES: usize = 1_000;

/// A thread that finds no room looks again after this.
const ROOM_LOOK_NS: u64 = 500_000;

/// What all threads need, made once.
struct Crew {
    modules: Modules,
    rooms: Box<[Room]>,
}

static CREW: AtomicPtr<Crew> = AtomicPtr::new(core::ptr::null_mut());
/// Threads that run in this process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Whether they are to end.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Makes room for so many threads. By a thread of the program's, once.
pub fn prepare(threads: usize) -> Result<(), i32> {
    make_stacks(threads)?;
    let modules = Modules::find();
    let rooms: Result<Box<[Room]>, i32> = (0..threads)
        .map(|n| Room::new(&modules, thread_stack(n)))
        .collect();
    let crew = Box::new(Crew {
        rooms: rooms?,
        modules,
    });
    CREW.store(Box::into_raw(crew), Release);
    Ok(())
}

fn crew() -> Option<&'static Crew> {
    // SAFETY: leaked by `prepare`.
    unsafe { CREW.load(Acquire).as_ref() }
}

/// A thread of the program is about to get this real-time priority, or has it. All threads of the
/// runtime are above it afterwards, whatever the program has done to them.
pub fn stay_above(priority: i32) {
    real_time::note(priority);
    numbers().for_each(|thread| real_time::raise(thread, service_thread()));
}

/// Whether a number is that of a thread of the runtime.
pub fn is_own(thread: u32) -> bool {
    numbers().any(|own| own == thread)
}

/// The numbers of the runtime's threads.
fn numbers() -> impl Iterator<Item = u32> {
    let rooms = crew().into_iter().flat_map(|crew| &crew.rooms);
    rooms.filter_map(Room::thread)
}

/// Threads of the runtime in this process.
pub fn running() -> usize {
    RUNNING.load(Acquire)
}

/// In the child of a fork: none of them exists there.
pub fn after_fork_in_child() {
    RUNNING.store(0, Release);
    let rooms = crew().into_iter().flat_map(|crew| &crew.rooms);
    rooms.for_each(Room::after_fork_in_child);
    end_watch();
    SERVICE.after_fork_in_child();
}

/// Says whether all of them are to end.
pub fn set_leaving(leaving: bool) {
    LEAVING.store(leaving, Release);
}

/// Whether the calling thread of the runtime is to end.
pub fn is_leaving() -> bool {
    LEAVING.load(Acquire)
}

/// Ends the calling thread of the runtime, which has nothing left to free.
pub fn leave() -> ! {
    RUNNING.fetch_sub(1, AcqRel);
    SERVICE.ring();
    end_thread()
}

/// Makes the service thread look whether it is to end.
pub fn ring_service() {
    SERVICE.ring();
}

/// Takes a room that has no thread. One whose thread is about to be gone is waited for.
fn free_room() -> Option<&'static Room> {
    let crew = crew()?;
    for look in 0..LOOKS {
        let free = crew.rooms.iter().find(|room| room.take(&crew.modules));
        if free.is_some() || running() >= crew.rooms.len() {
            return free;
        }
        match look < YIELDS {
            true => yield_cpu(),
            false => sleep_until(now_ns() + ROOM_LOOK_NS),
        }
    }
    None
}

/// Starts a thread that nobody waits for.
///
/// Nothing is allocated: in the child of a fork the rooms of the parent's threads are free.
///
/// # Safety
/// `main` can run with `argument` in another thread.
pub unsafe fn spawn(
    main: Main,
    argument: *mut c_void,
    descriptors: Descriptors,
) -> Result<(), i32> {
    let room = free_room().ok_or(libc::EAGAIN)?;
    RUNNING.fetch_add(1, AcqRel);
    let mut before = 0u64;
    // It inherits the mask of its maker, so signals are blocked from its first instruction on.
    set_mask(libc::SIG_SETMASK, &ALL_SIGNALS, &raw mut before);
    // SAFETY: the room is never freed and was taken; the caller vouches for the rest.
    let started = unsafe { room.start(main, argument, descriptors) };
    set_mask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
    match started {
        Ok(thread) => real_time::raise(thread, service_thread()),
        Err(_) => {
            RUNNING.fetch_sub(1, AcqRel);
        }
    }
    started.map(drop)
}

/// One piece of work for the service thread.
struct Job {
    run: extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

/// The service thread, as others see it.
struct Service {
    /// One piece of work at a time.
    only: Lock<()>,
    job: AtomicPtr<Job>,
    /// Changes with every piece of work, and with its end.
    bell: AtomicU32,
    done: AtomicU32,
    /// Whether it runs; or the error that kept it from running, negative.
    state: AtomicU32,
}

/// What the service thread does now and then, if anything.
static WATCH: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// How often it does so.
const WATCH_NS: u64 = 5_000_000;

/// Has the service thread call a function now and then. It may touch what the service thread may.
pub fn set_watch(watch: fn()) {
    WATCH.store(watch as *mut (), Release);
}

/// Ends what [`set_watch`] began.
pub fn end_watch() {
    WATCH.store(core::ptr::null_mut(), Release);
}

/// The function, if there is one.
fn watch() -> Option<fn()> {
    let watch = WATCH.load(Acquire);
    // SAFETY: only functions of this type are stored.
    (!watch.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), fn()>(watch) })
}

/// Number of the service thread.
static THREAD: AtomicU32 = AtomicU32::new(0);

const ABSENT: u32 = 0;
const READY: u32 = 1;
/// A state above this is an error number more.
const FAILED: u32 = 1 << 16;

static SERVICE: Service = Service {
    only: Lock::new(()),
    job: AtomicPtr::new(core::ptr::null_mut()),
    bell: AtomicU32::new(0),
    done: AtomicU32::new(0),
    state: AtomicU32::new(ABSENT),
};

/// Starts the service thread with a piece of work, as [`in_service`] hands it over, and waits for
/// its result. The work may have some of the caller's descriptors, under their numbers, which are
/// above 2 and rise.
pub fn start_service_for<F: FnOnce() -> R, R>(kept: &[u32], function: F) -> Result<R, i32> {
    set_own_descriptors(has_own_descriptors);
    crate::threads::leader::note();
    calm(move || {
        let call = Call::of(function);
        let mut job = call.job();
        let done = SERVICE.done.load(Acquire);
        SERVICE.job.store(&raw mut job, Release);
        let kept = (&raw const kept).cast_mut().cast();
        // SAFETY: the list is not looked at after the work is done, for which this waits.
        let spawned = unsafe { spawn(serve, kept, Descriptors::Copied) };
        if let Err(errno) = spawned {
            SERVICE.job.store(core::ptr::null_mut(), Release);
            return Err(errno);
        }
        // One wait for all: each costs a fork's time again.
        await_other(&SERVICE.done, done);
        let state = SERVICE.state.load(Acquire);
        call.result
            .take()
            .ok_or_else(|| state.saturating_sub(FAILED) as i32)
    })
}

/// The service thread's number, by which its descriptors can be found.
pub fn service_thread() -> u32 {
    THREAD.load(Acquire)
}

/// Whether there is a service thread, so that the runtime's descriptors are not the program's.
pub fn has_service() -> bool {
    SERVICE.state.load(Acquire) == READY
}

fn has_own_descriptors() -> bool {
    has_service() && is_runtime_thread()
}

/// Calls a function in the service thread, where there is one, and waits for its result.
///
/// It must not touch what may lie on the device. With a lock held for which the service thread
/// might have to wait, this must not be called.
pub fn in_service<F: FnOnce() -> R, R>(function: F) -> R {
    if !has_service() || is_runtime_thread() {
        return calm(function);
    }
    calm(move || {
        let call = Call::of(function);
        only_in_service(&call, SERVICE.only.lock())
    })
}

/// Has the service thread, which the caller alone has, make a call.
fn only_in_service<F: FnOnce() -> R, R>(call: &Call<F, R>, _only: Guard<'_, ()>) -> R {
    let mut job = call.job();
    let done = SERVICE.done.load(Acquire);
    SERVICE.job.store(&raw mut job, Release);
    SERVICE.ring();
    await_other(&SERVICE.done, done);
    match call.result.take() {
        Some(result) => result,
        // The service thread says that it is done after the result is there.
        None => sluice_region::fatal(format_args!("the service thread gave no result")),
    }
}

/// Calls a function in the service thread, as [`in_service`] does, if there is one and others do
/// not have it for long. By threads of the program's that may have been interrupted anywhere.
pub fn in_service_if_free<F: FnOnce()>(function: F) {
    if has_service() && !is_runtime_thread() {
        calm(move || {
            let only = (0..FREE_TRIES).find_map(|_| SERVICE.only.try_lock_briefly());
            if let Some(only) = only {
                let call = Call::of(function);
                only_in_service(&call, only);
            }
        });
    }
}

/// Takes the service thread for the caller alone, who forks.
pub fn before_fork() {
    SERVICE.only.acquire();
}

/// Gives it back, in the parent.
pub fn after_fork_in_parent() {
    SERVICE.only.release();
}

impl Service {
    fn ring(&self) {
        self.bell.fetch_add(1, AcqRel);
        futex_wake(&self.bell);
    }

    /// Does what was posted, if anything was.
    fn work(&self) {
        let job = self.job.swap(core::ptr::null_mut(), AcqRel);
        // SAFETY: the thread that posted it waits until it is done.
        if let Some(job) = unsafe { job.as_ref() } {
            (job.run)(job.argument);
            self.tell_done();
        }
    }

    fn tell_done(&self) {
        self.done.fetch_add(1, AcqRel);
        futex_wake(&self.done);
    }

    fn after_fork_in_child(&self) {
        self.job.store(core::ptr::null_mut(), Release);
        self.state.store(ABSENT, Release);
        self.only.release();
    }
}

struct Call<F, R> {
    function: Cell<Option<F>>,
    result: Cell<Option<R>>,
}

impl<F: FnOnce() -> R, R> Call<F, R> {
    fn of(function: F) -> Call<F, R> {
        Call {
            function: Cell::new(Some(function)),
            result: Cell::new(None),
        }
    }

    /// To be posted as long as the call stays where it is.
    fn job(&self) -> Job {
        Job {
            run: perform::<F, R>,
            argument: (&raw const *self).cast_mut().cast(),
        }
    }
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
extern "C" fn perform<F: FnOnce() -> R, R>(call: *mut c_void) {
    // SAFETY: the caller of `in_service` waits until this is done.
    let call = unsafe { &*call.cast::<Call<F, R>>() };
    if let Some(function) = call.function.take() {
        call.result.set(Some(function()));
    }
}

extern "C" fn serve(kept: *mut c_void) -> ! {
    name_thread(c"sluice-service");
    crate::process::root::go_back();
    // SAFETY: `start_service_for` waits until the first piece of work is done.
    let kept = unsafe { *kept.cast::<&[u32]>() };
    THREAD.store(sluice_region::thread_id(), Release);
    let stat = own_nothing(kept).and_then(|()| OwnStat::open());
    let state = match &stat {
        Ok(_) => READY,
        Err(errno) => FAILED + *errno as u32,
    };
    raise_priority();
    SERVICE.state.store(state, Release);
    let Ok(stat) = stat else {
        SERVICE.job.store(core::ptr::null_mut(), Release);
        SERVICE.tell_done();
        leave();
    };
    let mut rung = SERVICE.bell.load(Acquire);
    loop {
        SERVICE.work();
        if is_leaving() && running() == 1 {
            // The other threads of this table have left it.
            close_all();
            SERVICE.state.store(ABSENT, Release);
            leave();
        }
        let watch = watch();
        let limit_ns = watch.map(|_| WATCH_NS);
        crate::threads::leader::wait(&SERVICE.bell, rung, running() as u64, limit_ns, &stat);
        if let Some(watch) = watch {
            watch();
        }
        rung = SERVICE.bell.load(Acquire);
    }
}

/// Waits until a word has another value than this.
fn await_other(word: &AtomicU32, value: u32) {
    for _ in 0..LOOKS {
        if word.load(Acquire) != value {
            return;
        }
        core::hint::spin_loop();
    }
    for _ in 0..YIELDS {
        if word.load(Acquire) != value {
            return;
        }
        yield_cpu();
    }
    while word.load(Acquire) == value {
        futex_wait(word, value, None);
    }
}
