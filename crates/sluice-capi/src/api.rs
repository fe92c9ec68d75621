//! The functions of `sluice.h`.
//!
//! None of them unwinds: a panic, which is a mistake of Sluice's, ends the simulation and is
//! reported as `SLUICE_FAILED`.

mod hosts;

pub use hosts::*;

use crate::fabric::{AdvanceError, NewError, SendError, SteppedFabric, TIME_MAX};
use crate::seats::Learnt;
use core::ffi::{CStr, c_char, c_void};
use sluice_net::Completed;
use sluice_units::Ps;
use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use thiserror::Error;

/// Version of this interface: that of the header and `sluice_abi()` of the library must be equal.
pub const SLUICE_ABI: u32 = 2;

/// Done.
pub const SLUICE_OK: i32 = 0;
/// The requester has as many requests under way as its `depth` says: send again when one is done.
pub const SLUICE_FULL: i32 = 1;
/// There is no such requester, address or time, or the requester sends requests of its own.
pub const SLUICE_INVALID: i32 = 2;
/// The function may not be called from a callback.
pub const SLUICE_BUSY: i32 = 3;
/// The simulation has come to an end: nothing can happen any more, or Sluice has failed.
pub const SLUICE_FAILED: i32 = 4;

/// No time: nothing is going to happen.
pub const SLUICE_NO_EVENT: u64 = 0xffff_ffff_ffff_ffff;
/// The last time that there is, in picoseconds: some 106 days.
pub const SLUICE_TIME_MAX: u64 = 0x7fff_ffff_ffff_ffff;
const _: () = assert!(SLUICE_TIME_MAX == TIME_MAX.0);

/// A request that is done.
#[repr(C)]
#[derive(Debug)]
pub struct Completion {
    /// The tag that `sluice_send` was given; for a requester that sends requests of its own, how
    /// many it sent before.
    pub tag: u64,
    /// When it was done, in picoseconds.
    pub at_ps: u64,
    /// From when it was sent until then.
    pub latency_ps: u64,
    /// The requester that sent it.
    pub requester: u32,
    /// Whether it was a write.
    pub is_write: bool,
}

/// A simulated fabric with its clock.
pub struct Simulation {
    fabric: SteppedFabric,
    on_done: Cell<Option<(OnDone, *mut c_void)>>,
    on_news: Cell<Option<(OnNews, *mut c_void)>>,
    /// Whether a panic has left it in no known state: nothing is done any more.
    is_broken: Cell<bool>,
    /// What went wrong last; the text stays until something else does.
    error: RefCell<CString>,
}

/// What is called for each request that is done: see `sluice_call_when_done`.
type OnDone = unsafe extern "C" fn(*mut c_void, *const Completion);

/// What went wrong, with its status.
struct Failed {
    status: i32,
    message: String,
}

impl From<SendError> for Failed {
    fn from(error: SendError) -> Failed {
        Failed {
            status: match error {
                SendError::Full => SLUICE_FULL,
                _ => SLUICE_INVALID,
            },
            message: error.to_string(),
        }
    }
}

impl From<AdvanceError> for Failed {
    fn from(error: AdvanceError) -> Failed {
        Failed {
            status: match error {
                AdvanceError::Busy => SLUICE_BUSY,
                AdvanceError::Standstill(_) => SLUICE_FAILED,
                AdvanceError::Never { .. } => SLUICE_INVALID,
            },
            message: error.to_string(),
        }
    }
}

impl Simulation {
    fn new(fabric: SteppedFabric) -> Simulation {
        Simulation {
            fabric,
            on_done: Cell::new(None),
            on_news: Cell::new(None),
            is_broken: Cell::new(false),
            error: RefCell::default(),
        }
    }

    /// The status of what was done or not, which it remembers why.
    fn status(&self, done: Result<(), impl Into<Failed>>) -> i32 {
        let Err(error) = done else { return SLUICE_OK };
        let Failed { status, message } = error.into();
        self.error.replace(c_text(&message));
        status
    }

    fn report(&self, completed: &Completed) {
        let Some((on_done, context)) = self.on_done.get() else {
            return;
        };
        let completion = Completion {
            tag: completed.tag,
            at_ps: completed.at.0,
            latency_ps: completed.latency.0,
            requester: completed.requester.0,
            is_write: completed.is_write,
        };
        // SAFETY: the program gave the function with its context, and the completion lives until
        // it returns. No borrow of the fabric is held.
        unsafe { on_done(context, &completion) }
    }
}

/// A C text of any text.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Why there is no simulation.
#[derive(Debug, Error)]
enum MakeError {
    #[error("{what}: a null pointer")]
    Null { what: &'static str },
    #[error("{what}: not UTF-8")]
    NotUtf8 {
        what: &'static str,
        source: std::str::Utf8Error,
    },
    #[error(transparent)]
    New(#[from] NewError),
    #[error("{PANICKED}")]
    Panicked,
}

const PANICKED: &str = "a mistake of Sluice's: it panicked";

/// A text of the program's, or what is wrong with it.
///
/// # Safety
/// Null, or a C text that lives during the call.
unsafe fn text<'a>(text: *const c_char, what: &'static str) -> Result<&'a str, MakeError> {
    if text.is_null() {
        return Err(MakeError::Null { what });
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str();
    text.map_err(|source| MakeError::NotUtf8 { what, source })
}

/// Makes a simulation, or writes into `error` why not.
///
/// # Safety
/// `error` is null or may be written to.
unsafe fn made(
    error: *mut *mut c_char,
    make: impl FnOnce() -> Result<SteppedFabric, MakeError>,
) -> *mut Simulation {
    let made = catch_unwind(AssertUnwindSafe(make));
    let made = made.unwrap_or(Err(MakeError::Panicked));
    let (simulation, message) = match made {
        Ok(fabric) => (Box::into_raw(Box::new(Simulation::new(fabric))), null_mut()),
        Err(error) => (null_mut(), c_text(&error.to_string()).into_raw()),
    };
    if error.is_null() {
        // SAFETY: null, or from `into_raw` just now.
        unsafe { sluice_free_text(message) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { error.write(message) }
    }
    simulation
}

/// Asks a simulation, unless a panic has ended it.
///
/// # Safety
/// From `sluice_new` or `sluice_open`, and not deleted.
unsafe fn ask<T>(
    simulation: *const Simulation,
    failed: T,
    question: impl FnOnce(&Simulation) -> T,
) -> T {
    // SAFETY: the caller's promise; a simulation is only ever reached by shared references.
    let simulation = unsafe { &*simulation };
    if simulation.is_broken.get() {
        return failed;
    }
    match catch_unwind(AssertUnwindSafe(|| question(simulation))) {
        Ok(answer) => answer,
        Err(_) => {
            simulation.error.replace(c_text(PANICKED));
            simulation.is_broken.set(true);
            failed
        }
    }
}

/// The version of the library's interface.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_abi() -> u32 {
    SLUICE_ABI
}

/// Makes a simulation from the text of a fabric's TOML file. `file` is what messages call it, and
/// where paths in it begin; null for a text without a place. The same text and seed give the same
/// simulation.
///
/// Returns null if it cannot be, with the reason in `*error` (unless `error` is null), to be freed
/// by `sluice_free_text`.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_new(
    toml: *const c_char,
    file: *const c_char,
    seed: u64,
    error: *mut *mut c_char,
) -> *mut Simulation {
    let make = || {
        // SAFETY: the caller's promise.
        let toml = unsafe { text(toml, "toml") }?;
        let file = match file.is_null() {
            true => "fabric.toml",
            // SAFETY: the caller's promise.
            false => unsafe { text(file, "file") }?,
        };
        Ok(SteppedFabric::of_text(toml, file, seed)?)
    };
    // SAFETY: the caller's promise.
    unsafe { made(error, make) }
}

/// Makes a simulation of a fabric that comes with Sluice, by its name, or from a file, by a path
/// that ends in `.toml`. Otherwise as `sluice_new`.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_open(
    fabric: *const c_char,
    seed: u64,
    error: *mut *mut c_char,
) -> *mut Simulation {
    let make = || {
        // SAFETY: the caller's promise.
        let fabric = unsafe { text(fabric, "fabric") }?;
        Ok(SteppedFabric::of_file(fabric, seed)?)
    };
    // SAFETY: the caller's promise.
    unsafe { made(error, make) }
}

/// Ends a simulation. Does nothing for null, and nothing from a callback.
///
/// # Safety
/// Null, or a simulation, which is gone afterwards. No two calls for one simulation overlap; this
/// holds for all functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_delete(simulation: *mut Simulation) {
    // SAFETY: the caller's promise.
    let is_live = !simulation.is_null() && unsafe { !(*simulation).fabric.is_advancing() };
    if is_live {
        // SAFETY: made by `made`, and not used again.
        let ended = || drop(unsafe { Box::from_raw(simulation) });
        // A panic while it ends can no longer be reported.
        let _ = catch_unwind(AssertUnwindSafe(ended));
    }
}

/// Frees a text that the library returned, or null.
///
/// # Safety
/// Null, or a text from this library that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: every text that is returned comes from `into_raw`.
        drop(unsafe { std::ffi::CString::from_raw(text) });
    }
}

/// Why the last call that failed did so, on one line. The text is the simulation's, and stays until
/// another call fails.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_error(simulation: *const Simulation) -> *const c_char {
    // SAFETY: the caller's promise. Also of a simulation that a panic has ended.
    unsafe { (*simulation).error.borrow().as_ptr() }
}

/// Whom to call for each request that is done, in the order of time, while `sluice_advance` runs; a
/// null function for nobody. `context` is handed on.
///
/// The function may call every function but `sluice_advance` and `sluice_delete`: a request that it
/// sends leaves at the time of the one that is done. It must not throw.
///
/// # Safety
/// A simulation, and a function that takes the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_when_done(
    simulation: *mut Simulation,
    on_done: Option<unsafe extern "C" fn(context: *mut c_void, completion: *const Completion)>,
    context: *mut c_void,
) {
    let on_done = on_done.map(|on_done| (on_done, context));
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, (), |simulation| simulation.on_done.set(on_done)) }
}

/// How many requesters there are; they are numbered from 0, in the order of the file.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_requesters(simulation: *const Simulation) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, 0, |simulation| simulation.fabric.requesters()) }
}

/// The bytes of memory that a requester reaches, from address 0 on without a gap.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_memory_bytes(simulation: *const Simulation, requester: u32) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        ask(simulation, 0, |simulation| {
            simulation.fabric.reach(requester)
        })
    }
}

/// Whether a requester can send now: its `pattern` is `external`, no host is there, and it has
/// fewer requests under way than it can.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_can_send(simulation: *const Simulation, requester: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        ask(simulation, false, |simulation| {
            simulation.fabric.can_send(requester)
        })
    }
}

/// Sends a request for the line of 64 bytes that holds `addr`, at the time that it is now. `tag` is
/// given back when it is done.
///
/// Returns `SLUICE_OK`, or `SLUICE_FULL`, `SLUICE_INVALID`, `SLUICE_FAILED`: nothing was sent then.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_send(
    simulation: *mut Simulation,
    requester: u32,
    addr: u64,
    is_write: bool,
    tag: u64,
) -> i32 {
    let send = |simulation: &Simulation| {
        simulation.status(simulation.fabric.send(requester, addr, is_write, tag))
    };
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, SLUICE_FAILED, send) }
}

/// The time that it is now, in picoseconds: all that happens up to then has happened.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_now(simulation: *const Simulation) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, 0, |simulation| simulation.fabric.now().0) }
}

/// When something happens next, in picoseconds, or `SLUICE_NO_EVENT`. Up to then a program with a
/// clock of its own need not advance the simulation.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_next_event(simulation: *const Simulation) -> u64 {
    let next = |simulation: &Simulation| {
        let next = simulation.fabric.next_event();
        next.map_or(SLUICE_NO_EVENT, |at| at.0)
    };
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, SLUICE_NO_EVENT, next) }
}

/// Moves time on to `until`, in picoseconds, and calls back for each request that is done by then,
/// and for what hosts learn.
/// A time in the past moves nothing. One after `SLUICE_TIME_MAX`, as `SLUICE_NO_EVENT` is, is
/// refused.
///
/// Returns `SLUICE_OK`, or `SLUICE_INVALID`, `SLUICE_BUSY`, `SLUICE_FAILED`.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_advance(simulation: *mut Simulation, until: u64) -> i32 {
    let advance = |simulation: &Simulation| {
        let tell = |completed: &Completed| simulation.report(completed);
        let learn = |learnt: &Learnt| simulation.report_news(learnt);
        simulation.status(simulation.fabric.advance(Ps(until), tell, learn))
    };
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, SLUICE_FAILED, advance) }
}

/// Requests that were sent and are not done, and what hosts have asked for and not learnt.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_in_flight(simulation: *const Simulation) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, 0, |simulation| simulation.fabric.in_flight()) }
}

/// Begins to count anew, as after a warm-up. Requests under way go on.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_restart_statistics(simulation: *mut Simulation) {
    // SAFETY: the caller's promise.
    unsafe {
        ask(simulation, (), |simulation| {
            simulation.fabric.restart_statistics()
        })
    }
}

/// What was counted, as a JSON object with the fields that docs/reference/output.md lists for a
/// fabric. To be freed by `sluice_free_text`; null if the simulation has failed, or if requests
/// wait for each other for ever while others go on (`sluice_error`).
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_statistics(simulation: *const Simulation) -> *mut c_char {
    let told = |simulation: &Simulation| match simulation.fabric.statistics() {
        Ok(text) => c_text(&text).into_raw(),
        Err(error) => {
            simulation.status(Err(error));
            null_mut()
        }
    };
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, null_mut(), told) }
}

#[cfg(test)]
mod tests;
