//! The control ring's server: commands of the program itself, of others on this host, and of a
//! guest, carried out beside the program's faults.
//!
//! A thread of its own sleeps on the ring's bell and costs nothing until somebody rings it. It
//! takes the engine's lock for moments only, so that faults never wait long for a command. Guests
//! cannot ring; for them it looks by itself, more often while they are busy.

mod pages;
mod serve;

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::thread;
use core::sync::atomic::Ordering::*;
use pages::Arrivals;
use sluice_abi::{CHANNELS, RING_MAGIC, RING_VERSION, Ring, Server};
use sluice_region::{Descriptors, Mapping, futex_wait, futex_wake, name_thread};

/// After a command the server looks this often for a while, if it has to look by itself.
const BUSY_POLL_NS: u64 = 100_000;
/// How long that while is.
const BUSY_FOR_NS: u64 = 50_000_000;
/// Without commands it looks less often, so that a guest that sends none loses nothing to it: it
/// lets pass this part of the time since the last one ..
const IDLE_SHARE: u64 = 16;
/// .. and at most this many periods.
const IDLE_PERIODS: u64 = 8;
/// A bell that rings for nothing is answered more and more slowly, at most this much.
const PAUSE_MAX_NS: u64 = 5_000_000;

/// The mapped ring of a process.
#[derive(Debug)]
pub struct ControlRing {
    map: Mapping,
}

impl ControlRing {
    /// An empty ring over a mapping of [`sluice_abi::RING_BYTES`], marked as ready.
    pub fn new(map: Mapping, poll_ns: u64) -> ControlRing {
        let made = ControlRing { map };
        let ring = made.ring();
        ring.version.store(u64::from(RING_VERSION), Relaxed);
        ring.pid.store(u64::from(std::process::id()), Relaxed);
        ring.poll_ns.store(poll_ns, Relaxed);
        ring.magic.store(RING_MAGIC, Release);
        made
    }

    fn ring(&self) -> &Ring {
        // SAFETY: the mapping is page-aligned, long enough, and all fields are atomics.
        unsafe { &*(self.map.addr() as *const Ring) }
    }
}

/// Starts the server, if the session has a ring.
pub fn start(engine: &'static Engine) -> Result<(), i32> {
    if engine.core().ring.is_none() {
        return Ok(());
    }
    // SAFETY: the engine is never freed.
    unsafe {
        let argument = core::ptr::from_ref(engine).cast_mut().cast();
        thread::spawn(main, argument, Descriptors::Shared)
    }
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
extern "C" fn main(engine: *mut libc::c_void) -> ! {
    name_thread(c"sluice-control");
    // SAFETY: given by `start`.
    let engine = unsafe { &*engine.cast::<Engine>() };
    let ring = engine.core().ring.as_ref().map(|ring| {
        // SAFETY: the mapping lasts as long as this process: only the child of a fork replaces it,
        // and there this thread does not exist.
        unsafe { &*core::ptr::from_ref(ring.ring()) }
    });
    let Some(ring) = ring else {
        sluice_region::fatal(format_args!("the control ring is gone"));
    };
    sluice_region::sleep_exactly();
    let mut control = Control {
        engine,
        ring,
        channels: [Server::default(); CHANNELS],
        arrivals: Arrivals::new(),
        poll_ns: engine.session.ring_poll_ns,
        served_ns: now_ns().saturating_sub(BUSY_FOR_NS),
        empty_bells: 0,
    };
    loop {
        control.turn();
    }
}

struct Control {
    engine: &'static Engine,
    ring: &'static Ring,
    channels: [Server; CHANNELS],
    arrivals: Arrivals,
    poll_ns: u64,
    served_ns: u64,
    empty_bells: u32,
}

impl Control {
    /// Serves what is there, one entry a channel, or waits until there may be something.
    fn turn(&mut self) {
        let rung = self.ring.bell.load(Acquire);
        let mut served = false;
        for at in 0..CHANNELS {
            let channel = &self.ring.channels[at];
            let Some(words) = self.channels[at].next(channel) else {
                continue;
            };
            let answer = self.serve(&words);
            self.channels[at].answer(channel, &answer);
            self.ring.answered.fetch_add(1, AcqRel);
            futex_wake(&self.ring.answered);
            served = true;
        }
        if served {
            self.empty_bells = 0;
            self.served_ns = now_ns();
        } else {
            self.wait(rung);
        }
    }

    fn wait(&mut self, rung: u32) {
        let idle_ns = now_ns() - self.served_ns;
        if futex_wait(&self.ring.bell, rung, look_again_ns(self.poll_ns, idle_ns)) {
            // Either somebody has submitted something by now, or rings for nothing.
            self.empty_bells = (self.empty_bells + 1).min(16);
            if self.empty_bells > 4 {
                let pause_ns = (1_000 << self.empty_bells).min(PAUSE_MAX_NS);
                crate::clock::sleep_until(now_ns() + pause_ns);
            }
        }
    }
}

/// When to look without a bell, after so long without a command; never if there is no period.
fn look_again_ns(poll_ns: u64, idle_ns: u64) -> Option<u64> {
    match poll_ns {
        0 => None,
        _ if idle_ns < BUSY_FOR_NS => Some(poll_ns.min(BUSY_POLL_NS)),
        _ => Some((idle_ns / IDLE_SHARE).clamp(poll_ns, poll_ns.saturating_mul(IDLE_PERIODS))),
    }
}

#[cfg(test)]
mod tests {
    use super::look_again_ns;

    #[test]
    fn a_server_that_must_look_does_so_less_and_less() {
        const MS: u64 = 1_000_000;
        assert_eq!(look_again_ns(0, 1_000 * MS), None);
        for (idle_ms, expected_ns) in [
            (0, 100_000),
            (49, 100_000),
            (50, 5 * MS),
            (80, 5 * MS),
            (160, 10 * MS),
            (640, 40 * MS),
            (1_000_000, 40 * MS),
        ] {
            let found = look_again_ns(5 * MS, idle_ms * MS);
            assert_eq!(found, Some(expected_ns), "{idle_ms} ms");
        }
        assert_eq!(look_again_ns(50_000, 0), Some(50_000));
    }
}
