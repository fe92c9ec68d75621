//! One thread's part of a chase: building its nodes, visiting them, checking them.

use std::sync::atomic::Ordering::Relaxed;

use super::REVISIT;
use crate::error::Error;
use crate::hist::Histogram;
use crate::memory::{Buffer, Scratch};
use crate::timer::Timer;
use sluice_streams::order::{self, ChaseOrder, UniformWalk, uniform_tag};
use sluice_streams::plan::Plan;
use sluice_units::Fnv;

const COUNTER: u64 = 8;
/// Loads in a row: few enough that a compiler unrolls them.
const UNROLLED: u64 = 16;

/// The word at an address of a chain that was checked.
#[inline(always)]
fn load(at: u64) -> u64 {
    // SAFETY: the chain's pointers lead to its own aligned words, as a pass before has checked.
    // Memory that loses one between is what this program is there to find: then the load faults,
    // or the chain does not close. Needed because a check would be as long as the load.
    unsafe { std::ptr::with_exposed_provenance::<u64>(at as usize).read_volatile() }
}

/// Memory that does not hold what was stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damage {
    thread: usize,
    offset: u64,
    what: Wrong,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Wrong {
    Pointer { leads: u64 },
    Tag { found: u64, expected: u64 },
    NotClosed,
    Counter { found: u64, expected: u64 },
    Pass { pass: usize },
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Error {
        let Damage {
            thread,
            offset,
            what,
        } = damage;
        let what = match what {
            Wrong::Pointer { leads } => format!("the pointer followed leads outside: {leads:#x}"),
            Wrong::Tag { found, expected } => format!("holds {found:#x}, expected {expected:#x}"),
            Wrong::NotClosed => "the pass ended here, not at offset 0".to_owned(),
            Wrong::Counter { found, expected } => {
                format!("the counter holds {found}, expected {expected}")
            }
            Wrong::Pass { pass } => format!("pass {pass} visited other nodes than pass 1"),
        };
        Error::Mismatch {
            wrong: format!("chase: thread {thread}, offset {offset:#x}: {what}"),
            examples: Vec::new(),
        }
    }
}

/// What stands around one access.
pub(super) trait Probe {
    fn around(&self, access: impl FnOnce() -> u64) -> u64;
}

pub(super) struct Timed<'a> {
    pub timer: Timer,
    pub hist: &'a Histogram,
}

impl Probe for Timed<'_> {
    #[inline(always)]
    fn around(&self, access: impl FnOnce() -> u64) -> u64 {
        let started = self.timer.start();
        let value = access();
        let ns = self.timer.stop(started);
        self.hist.record(ns);
        value
    }
}

pub(super) struct Untimed;

impl Probe for Untimed {
    #[inline(always)]
    fn around(&self, access: impl FnOnce() -> u64) -> u64 {
        access()
    }
}

/// One thread's buffer and where its walk stands.
pub(super) struct Part<'a> {
    plan: &'a Plan,
    buffer: &'a Buffer,
    thread: usize,
    base: u64,
    walk: UniformWalk,
    loaded: u64,
    /// Hash of the hashes of the passes so far.
    pub hash: Fnv,
}

impl<'a> Part<'a> {
    pub fn new(plan: &'a Plan, buffer: &'a Buffer, thread: usize) -> Self {
        let parameters = plan.parameters();
        Self {
            plan,
            buffer,
            thread,
            base: buffer.base() as u64 + thread as u64 * parameters.size,
            walk: UniformWalk::new(parameters.seed, thread as u64, plan.nodes()),
            loaded: 0,
            hash: Fnv::default(),
        }
    }

    pub fn damage(&self, address: u64, what: Wrong) -> Damage {
        Damage {
            thread: self.thread,
            offset: address.wrapping_sub(self.base),
            what,
        }
    }

    fn address(&self, node: u64) -> u64 {
        self.base + node * self.plan.parameters().stride
    }

    /// Writes all nodes in address order.
    pub fn build(&self) -> Result<(), Error> {
        let nodes = self.plan.nodes();
        match self.plan.parameters().order {
            ChaseOrder::Sequential => {
                (0..nodes).for_each(|node| self.put(node, self.address((node + 1) % nodes)));
            }
            ChaseOrder::Uniform => (0..nodes).for_each(|node| self.put(node, uniform_tag(node))),
            ChaseOrder::Cycle => {
                let mut scratch = Scratch::new(nodes as usize)
                    .map_err(Error::system("scratch memory for the order"))?;
                let next = scratch.cells();
                let seed = self.plan.parameters().seed;
                order::cycle(next, &mut order::rng(seed, self.thread as u64));
                for (node, next) in next.iter().enumerate() {
                    self.put(node as u64, self.address(u64::from(*next)));
                }
            }
        }
        Ok(())
    }

    fn put(&self, node: u64, value: u64) {
        let offset = self.address(node) as usize - self.buffer.base();
        self.buffer.word(offset).store(value, Relaxed);
        if self.plan.parameters().write {
            self.buffer
                .word(offset + COUNTER as usize)
                .store(0, Relaxed);
        }
    }

    /// One pass: each of its accesses, in the order of the plan.
    pub fn visit_all(&mut self, probe: &impl Probe, seen: &mut Fnv) -> Result<(), Damage> {
        let parameters = self.plan.parameters();
        match (parameters.order == ChaseOrder::Uniform, parameters.write) {
            (false, false) => self.follow::<false>(probe, seen),
            (false, true) => self.follow::<true>(probe, seen),
            (true, false) => self.roam::<false>(probe, seen),
            (true, true) => self.roam::<true>(probe, seen),
        }
    }

    /// Follows the pointers once around.
    fn follow<const WRITE: bool>(&self, probe: &impl Probe, seen: &mut Fnv) -> Result<(), Damage> {
        let mut at = self.base;
        for _ in 0..self.plan.nodes() {
            let leads = |at| self.damage(at, Wrong::Pointer { leads: at });
            let node = self.buffer.word_at(at).ok_or_else(|| leads(at))?;
            let counter = if WRITE {
                self.buffer.word_at(at + COUNTER)
            } else {
                None
            };
            seen.word(at - self.base);
            at = probe.around(|| {
                let next = node.load(Relaxed);
                counter.inspect(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed));
                next
            });
        }
        if at == self.base {
            Ok(())
        } else {
            Err(self.damage(at, Wrong::NotClosed))
        }
    }

    /// Follows the pointers once around, and after each comes back to an earlier node, timed.
    pub fn revisit(&self, timed: &Timed, seen: &mut Fnv) -> Result<(), Damage> {
        let mut earlier = [self.base; REVISIT];
        let mut at = self.base;
        for visit in 0..self.plan.nodes() as usize {
            let leads = |at| self.damage(at, Wrong::Pointer { leads: at });
            let node = self.buffer.word_at(at).ok_or_else(|| leads(at))?;
            seen.word(at - self.base);
            let next = node.load(Relaxed);
            let again = std::mem::replace(&mut earlier[visit % REVISIT], at);
            if visit >= REVISIT {
                let word = self.buffer.word_at(again).ok_or_else(|| leads(again))?;
                timed.around(|| word.load(Relaxed));
            }
            at = next;
        }
        if at == self.base {
            Ok(())
        } else {
            Err(self.damage(at, Wrong::NotClosed))
        }
    }

    /// Follows the pointers `laps` times around by nothing but loads, several in a row for each
    /// turn of the loop, as latency checkers do: what the program itself takes is not in the time
    /// of an access. Only for a chain that was checked and is not written to.
    pub fn follow_alone(&self, laps: u64) -> Result<(), Damage> {
        let loads = self.plan.nodes() * laps;
        let mut at = self.base;
        for _ in 0..loads / UNROLLED {
            for _ in 0..UNROLLED {
                at = load(at);
            }
        }
        for _ in 0..loads % UNROLLED {
            at = load(at);
        }
        if at == self.base {
            Ok(())
        } else {
            Err(self.damage(at, Wrong::NotClosed))
        }
    }

    /// Visits as many independent random nodes as there are nodes.
    fn roam<const WRITE: bool>(
        &mut self,
        probe: &impl Probe,
        seen: &mut Fnv,
    ) -> Result<(), Damage> {
        for _ in 0..self.plan.nodes() {
            let node = self.walk.next_node(self.loaded);
            let at = self.address(node);
            let offset = at as usize - self.buffer.base();
            let word = self.buffer.word(offset);
            let counter = WRITE.then(|| self.buffer.word(offset + COUNTER as usize));
            seen.word(at - self.base);
            let found = probe.around(|| {
                let found = word.load(Relaxed);
                counter.inspect(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed));
                found
            });
            let expected = uniform_tag(node);
            if found != expected {
                return Err(self.damage(at, Wrong::Tag { found, expected }));
            }
            // Zero, in a way the compiler cannot see: the next choice waits for this load.
            self.loaded = std::hint::black_box(found) ^ expected;
        }
        Ok(())
    }

    /// Reads every counter back in address order.
    pub fn verify(&self) -> Result<(), Error> {
        let parameters = self.plan.parameters();
        if !parameters.write {
            return Ok(());
        }
        let nodes = self.plan.nodes();
        let mut scratch = None;
        if parameters.order == ChaseOrder::Uniform {
            let fresh = Scratch::new(nodes as usize)
                .map_err(Error::system("scratch memory for the check"))?;
            let counts = scratch.insert(fresh).cells();
            let mut walk = UniformWalk::new(parameters.seed, self.thread as u64, nodes);
            (0..parameters.passes * nodes).for_each(|_| counts[walk.next_node(0) as usize] += 1);
        }
        let counts = scratch.as_mut().map(|scratch| &*scratch.cells());
        for node in 0..nodes {
            let expected = counts.map_or(parameters.passes, |c| u64::from(c[node as usize]));
            let at = self.address(node) + COUNTER;
            let found = self
                .buffer
                .word(at as usize - self.buffer.base())
                .load(Relaxed);
            if found != expected {
                return Err(self.damage(at, Wrong::Counter { found, expected }).into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_streams::plan::Parameters;

    fn plan(order: ChaseOrder) -> Plan {
        let parameters = Parameters {
            size: 64 << 10,
            order,
            write: true,
            passes: 3,
            ..Parameters::default()
        };
        Plan::new(parameters).unwrap()
    }

    #[test]
    fn damage_is_found_and_placed() {
        for order in [
            ChaseOrder::Sequential,
            ChaseOrder::Cycle,
            ChaseOrder::Uniform,
        ] {
            let plan = plan(order);
            let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
            let mut part = Part::new(&plan, &buffer, 0);
            part.build().unwrap();
            buffer.word(0).store(0, Relaxed);
            let lost = (0..20).try_for_each(|_| part.visit_all(&Untimed, &mut Fnv::default()));
            let message = Error::from(lost.unwrap_err()).to_string();
            assert!(message.contains("thread 0"), "{message}");
        }
    }

    #[test]
    fn a_short_cut_is_found() {
        let plan = plan(ChaseOrder::Sequential);
        let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
        let mut part = Part::new(&plan, &buffer, 0);
        part.build().unwrap();
        buffer
            .word(64 * 5)
            .store(buffer.base() as u64 + 64 * 7, Relaxed);
        let closed = part.visit_all(&Untimed, &mut Fnv::default());
        let message = Error::from(closed.unwrap_err()).to_string();
        assert!(
            message.contains("offset 0x40: the pass ended here"),
            "{message}"
        );
        let alone = Error::from(part.follow_alone(1).unwrap_err()).to_string();
        assert_eq!(alone, message);
    }

    #[test]
    fn a_lost_store_is_found() {
        for order in [
            ChaseOrder::Sequential,
            ChaseOrder::Cycle,
            ChaseOrder::Uniform,
        ] {
            let plan = plan(order);
            let buffer = Buffer::anonymous(plan.total_bytes() as usize).unwrap();
            let mut part = Part::new(&plan, &buffer, 0);
            part.build().unwrap();
            (0..3).for_each(|_| part.visit_all(&Untimed, &mut Fnv::default()).unwrap());
            part.verify().unwrap();
            let counter = buffer.word(64 * 100 + 8);
            counter.store(counter.load(Relaxed) + 1, Relaxed);
            let message = part.verify().unwrap_err().to_string();
            assert!(
                message.contains("0x1908") && message.contains("expected"),
                "{message}"
            );
        }
    }
}
