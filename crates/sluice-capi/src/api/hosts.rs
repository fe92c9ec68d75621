//! The functions of `sluice.h` for hosts whose caches are the program's.

use super::{Failed, SLUICE_FAILED, Simulation, ask};
use crate::fabric::SendError;
use crate::seats::{Event, Learnt};
use core::ffi::c_void;
use sluice_host::{AskFor, Peer};
use sluice_units::Ps;

/// A host asks for a line, to read it.
pub const SLUICE_READ: u32 = 0;
/// A host asks for a line, to write it: no other host has it then.
pub const SLUICE_OWN: u32 = 1;
/// A host gives up a line that it has written: memory gets it.
pub const SLUICE_WRITE: u32 = 2;
/// A host gives up a line that it has not written. No event follows.
pub const SLUICE_DROP: u32 = 3;

/// The line has come: it may be read.
pub const SLUICE_LINE: u32 = 0;
/// The line has come: it may be read and written.
pub const SLUICE_OWNED: u32 = 1;
/// The device has sent a long-delay message (SkyByte section III-A), and no line: ask again later.
pub const SLUICE_DELAYED: u32 = 2;
/// Memory has the line that was given up.
pub const SLUICE_WRITTEN: u32 = 3;
/// A snoop has taken the right to write the line. It may still be read; memory has what was
/// written.
pub const SLUICE_SHARED: u32 = 4;
/// A snoop has taken the line; memory has what was written. A line also leaves in this way where
/// the host has more than `lines` and `misses` of `sluice_take_host` together.
pub const SLUICE_GONE: u32 = 5;

/// Something that a host learns.
#[repr(C)]
#[derive(Debug)]
pub struct News {
    /// When, in picoseconds.
    pub at_ps: u64,
    /// The line's first byte.
    pub addr: u64,
    /// The requester that the host is at.
    pub requester: u32,
    /// The tag that `sluice_ask` was given; 0 for `SLUICE_SHARED` and `SLUICE_GONE`.
    pub tag: u32,
    /// `SLUICE_LINE` to `SLUICE_GONE`.
    pub what: u32,
}

/// What is called for news: see `sluice_call_with_news`.
pub(super) type OnNews = unsafe extern "C" fn(*mut c_void, *const News);

impl Simulation {
    pub(super) fn report_news(&self, learnt: &Learnt) {
        let Some((on_news, context)) = self.on_news.get() else {
            return;
        };
        let news = News {
            at_ps: learnt.at.0,
            addr: learnt.addr,
            requester: learnt.requester,
            tag: learnt.tag,
            what: match learnt.what {
                Event::Line => SLUICE_LINE,
                Event::Owned => SLUICE_OWNED,
                Event::Delayed => SLUICE_DELAYED,
                Event::Written => SLUICE_WRITTEN,
                Event::Shared => SLUICE_SHARED,
                Event::Gone => SLUICE_GONE,
            },
        };
        // SAFETY: the program gave the function with its context, and the news live until it
        // returns. No borrow of the fabric is held.
        unsafe { on_news(context, &news) }
    }
}

/// Puts a host at a requester whose `pattern` is `external`, before it sends anything. The host has
/// caches of its own, which the program keeps: `lines` of 64 bytes at most, empty now. It asks for
/// `misses` lines at once at most, and has room for those besides. A snoop looks up a line in
/// `look_up_ps` picoseconds, a second at most.
///
/// From now on `sluice_ask` asks for the host, `sluice_call_with_news` says whom to call with what
/// it learns, and `sluice_send` is refused there. In a coherent fabric the host is a peer: devices
/// snoop its lines.
///
/// Returns `SLUICE_OK`, or `SLUICE_INVALID`, `SLUICE_FAILED`.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_take_host(
    simulation: *mut Simulation,
    requester: u32,
    lines: u32,
    misses: u32,
    look_up_ps: u64,
) -> i32 {
    let peer = Peer {
        lines,
        misses,
        look_up: Ps(look_up_ps),
    };
    let take =
        |simulation: &Simulation| simulation.status(simulation.fabric.take_host(requester, &peer));
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, SLUICE_FAILED, take) }
}

/// Whom to call with what hosts learn, in the order of time, while `sluice_advance` runs; a null
/// function for nobody. It may do what the function of `sluice_call_when_done` may, and ask.
///
/// # Safety
/// A simulation; the function can be called until the simulation is deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_call_with_news(
    simulation: *mut Simulation,
    on_news: Option<unsafe extern "C" fn(context: *mut c_void, news: *const News)>,
    context: *mut c_void,
) {
    let call = |simulation: &Simulation| {
        let called = on_news.map(|on_news| (on_news as OnNews, context));
        simulation.on_news.set(called);
    };
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, (), call) }
}

/// A host asks for the line of 64 bytes that holds `addr`, or gives it up, at the time that it is
/// now: `what` is `SLUICE_READ` to `SLUICE_DROP`. With `may_delay` a device may answer with a
/// long-delay message. `tag` is in the news that answer; no two that are under way have the same.
///
/// Returns `SLUICE_OK`. With `SLUICE_FULL` for more lines than `misses`, `SLUICE_INVALID` or
/// `SLUICE_FAILED` it has asked for nothing.
///
/// # Safety
/// A simulation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_ask(
    simulation: *mut Simulation,
    requester: u32,
    addr: u64,
    what: u32,
    may_delay: bool,
    tag: u32,
) -> i32 {
    let asked = |simulation: &Simulation| {
        let what = match what {
            SLUICE_READ => AskFor::Line,
            SLUICE_OWN => AskFor::Owned,
            SLUICE_WRITE => AskFor::Write,
            SLUICE_DROP => AskFor::Drop,
            _ => return simulation.status(Err(SendError::NoAsk { what })),
        };
        let done = simulation.fabric.ask(requester, addr, what, may_delay, tag);
        simulation.status(done.map_err(Failed::from))
    };
    // SAFETY: the caller's promise.
    unsafe { ask(simulation, SLUICE_FAILED, asked) }
}
