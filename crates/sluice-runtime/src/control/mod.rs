//! The control ring's server: commands of the program itself, of others on this host, and of a
//! guest, carried out beside the program's faults.
//!
//! A thread of its own sleeps on the host ring's bell and costs nothing until somebody rings it. It
//! takes the engine's lock for moments only, so that faults never wait long for a command. A guest
//! has a ring of its own and cannot ring; for it the thread looks by itself, more often while the
//! guest is busy.
//!
//! The writer of a ring may be hostile. Each turn of the server does a bounded piece of work for
//! each channel ([`lanes`]), so that no command keeps another channel waiting for its end.

mod lanes;
mod pages;
mod serve;

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::session::rings::ring;
use crate::threads::hired;
use crate::threads::thread;
use core::sync::atomic::Ordering::*;
use lanes::Lanes;
use sluice_region::{Mapping, futex_wait, futex_wake, name_thread};

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
/// With a command under way the server shows at least this often that it is there.
const BEAT_NS: u64 = 500_000_000;

/// Starts the server, if the session has a ring.
pub fn start(engine: &'static Engine) -> Result<(), i32> {
    if engine.core().ring.is_none() {
        return Ok(());
    }
    // SAFETY: the engine is never freed.
    unsafe {
        let argument = core::ptr::from_ref(engine).cast_mut().cast();
        hired::begin(main, argument)
    }
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
extern "C" fn main(engine: *mut libc::c_void) -> ! {
    name_thread(c"sluice-control");
    // SAFETY: given by `start`.
    let engine = unsafe { &*engine.cast::<Engine>() };
    // SAFETY: the mappings last as long as this process: only the child of a fork replaces them,
    // and there this thread does not exist.
    let lasting = |map: &Mapping| unsafe { &*core::ptr::from_ref(ring(map)) };
    let rings = engine.core().ring.as_ref().map(|rings| {
        let guest = rings.guest.as_ref().map(lasting);
        (lasting(&rings.host), guest)
    });
    let Some((host, guest)) = rings else {
        sluice_region::fatal(format_args!("the control ring is gone"));
    };
    sluice_region::sleep_exactly();
    let mut control = Control {
        host: Lanes::new(engine, host, false),
        guest: guest.map(|guest| Lanes::new(engine, guest, true)),
        poll_ns: engine.session.ring_poll_ns,
        served_ns: now_ns().saturating_sub(BUSY_FOR_NS),
        empty_bells: 0,
    };
    while !control.turn() {}
    drop(control);
    thread::leave()
}

/// Makes the server look whether it is to end.
pub fn rouse(engine: &Engine) {
    let core = engine.core();
    if let Some(rings) = &core.ring {
        let bell = &ring(&rings.host).bell;
        bell.fetch_add(1, AcqRel);
        futex_wake(bell);
    }
}

struct Control {
    host: Lanes,
    guest: Option<Lanes>,
    poll_ns: u64,
    /// When the guest was last served.
    served_ns: u64,
    empty_bells: u32,
}

impl Control {
    /// Does a piece of what is to be done, or waits until there may be something. Says whether the
    /// thread is to end, with no command half done.
    fn turn(&mut self) -> bool {
        let rung = self.host.bell().load(Acquire);
        let mut next = self.host.turn();
        if let Some(guest) = &mut self.guest {
            let guests_next = guest.turn();
            if guests_next.is_some() {
                self.served_ns = now_ns();
            }
            next = earlier(next, guests_next);
        }
        next = earlier(next, self.host.engine.serve_wishes());
        match next {
            None if thread::is_leaving() => return true,
            None => self.wait(rung),
            Some(at_ns) => {
                self.empty_bells = 0;
                let wait_ns = at_ns.saturating_sub(now_ns()).min(BEAT_NS);
                if wait_ns > 0 {
                    let look_ns = self.guest.as_ref().map_or(wait_ns, |_| BUSY_POLL_NS);
                    futex_wait(self.host.bell(), rung, Some(wait_ns.min(look_ns)));
                }
            }
        }
        false
    }

    fn wait(&mut self, rung: u32) {
        let idle_ns = now_ns() - self.served_ns;
        if futex_wait(self.host.bell(), rung, look_again_ns(self.poll_ns, idle_ns)) {
            // Either somebody has submitted something by now, or rings for nothing.
            self.empty_bells = (self.empty_bells + 1).min(16);
            if self.empty_bells > 4 {
                let pause_ns = (1_000 << self.empty_bells).min(PAUSE_MAX_NS);
                crate::clock::sleep_until(now_ns() + pause_ns);
            }
        }
    }
}

/// The earlier of two times, where there are any.
fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
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
