//! Turns of the engine's lock that no fault has asked for: short, and with gaps in which faults get
//! it.

use crate::clock::{now_ns, sleep_until};
use crate::engine::Engine;
use crate::engine::state::Core;
use crate::lock::Guard;
use core::ops::{Deref, DerefMut};

/// The engine's lock is held this long at a time, and for one page more.
pub const HOLD_NS: u64 = 15_000;
/// A fault that sleeps meanwhile gets this long to take the lock.
const GIVE_WAY_NS: u64 = 50_000;
/// How long a thread that spins waits for it, a microsecond or two.
const GAP_SPINS: u32 = 64;

/// The core while no fault is being served.
pub struct Unasked<'a>(Guard<'a, Core>);

impl<'a> Unasked<'a> {
    /// Takes the core's lock.
    pub fn new(engine: &'a Engine) -> Unasked<'a> {
        let mut core = engine.core();
        core.host.alone = false;
        Unasked(core)
    }

    /// Ends the turn.
    pub fn give_way(self) {
        give_way(self.0);
    }
}

impl Deref for Unasked<'_> {
    type Target = Core;
    fn deref(&self) -> &Core {
        &self.0
    }
}

impl DerefMut for Unasked<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.0
    }
}

/// Lets go of the core. Faults that wait for it get it: one that sleeps needs a moment to wake up,
/// one that spins needs none.
pub fn give_way(core: Guard<'_, Core>) {
    let is_waited_for = core.is_waited_for();
    drop(core);
    match is_waited_for {
        true => sleep_until(now_ns() + GIVE_WAY_NS),
        false => (0..GAP_SPINS).for_each(|_| core::hint::spin_loop()),
    }
}
