//! Victim policies: which line garbage collection empties next.
//!
//! To add one: a file beside this one, and a line in the list at the end.

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod windowed;

use crate::contents::{NoContents, Tables};
use sluice_params::Registered;
use sluice_units::Rng;

/// The facts about a victim policy that users see.
#[derive(Clone, Copy, Debug)]
pub struct GcInfo {
    /// The name in configurations.
    pub name: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// The lines that a policy chooses from, and its parameters.
///
/// A line is a superblock, or a single block. Pool `p` has the lines
/// `p * lines_per_pool .. (p + 1) * lines_per_pool`.
#[derive(Clone, Debug)]
pub struct GcSpace {
    /// Pools, at least 1. Each is collected on its own.
    pub pools: u32,
    /// Lines in a pool.
    pub lines_per_pool: u32,
    /// Pages in a line.
    pub line_pages: u32,
    /// The oldest lines that windowed-greedy looks at.
    pub window: u32,
    /// The lines that d-choices draws.
    pub choices: u32,
    /// Write streams, each with a line open for the host and one for collection.
    pub streams: u32,
    /// Valid pages at which a pool takes no further host writes.
    pub valid_max: u32,
    /// The policy's own random stream.
    pub rng: Rng,
}

/// Decides which closed line is collected. It never moves data and keeps no wall-clock time.
///
/// The engine guarantees:
/// - `close` names a line that the policy does not hold; `invalidate` and `remove` one that it
///   does, with the number of its pages that hold no valid data;
/// - `now` counts the pages written in the line's pool and does not go back.
///
/// An implementor must:
/// - allocate only in `build`;
/// - return from `victim` only a held line of that pool with a page to gain (a stale one), and
///   forget it; return `None` only if there is no such line;
/// - decide by its own state alone, so that a run can be repeated.
pub trait GcVictim: Sized {
    /// Name, meaning and source.
    const INFO: GcInfo;

    /// A policy that holds no line. The one place that may allocate.
    fn build(space: &GcSpace) -> Self;

    /// The first `count` lines of a pool are full of valid pages, in order, before any other call
    /// for them. A policy that has work with each of them does it when it comes to one: there may
    /// be millions, of which a short run uses none.
    fn begin(&mut self, pool: u32, count: u32);

    /// `line` is full; `stale` of its pages are worthless already.
    fn close(&mut self, line: u32, stale: u32, now: u64);

    /// A page of `line` became worthless, which makes `stale` of them.
    fn invalidate(&mut self, line: u32, stale: u32, now: u64);

    /// Chooses a line of the pool and forgets it. `stale` is per line of the device.
    fn victim(&mut self, pool: u32, stale: &[u32], now: u64) -> Option<u32>;

    /// `line`, with `stale` worthless pages, is collected for another reason.
    fn remove(&mut self, line: u32, stale: u32);

    /// Shows all that it knows, to be kept or to be taken up by one that was just built.
    ///
    /// # Errors
    /// As `tables` says.
    fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents>;

    /// The held lines of a pool in the policy's own order. For tests.
    fn dump(&self, pool: u32) -> Vec<u32>;
}

/// A victim policy as the registry shows it.
#[derive(Clone, Copy, Debug)]
pub struct GcVictimEntry {
    /// Name, meaning and source.
    pub info: GcInfo,
    /// Makes a policy that holds no line.
    pub build: fn(&GcSpace) -> AnyGcVictim,
}

impl Registered for GcVictimEntry {
    fn all() -> &'static [GcVictimEntry] {
        GC_VICTIMS
    }

    fn name(&self) -> &'static str {
        self.info.name
    }
}

/// Makes the enum that dispatches statically and the registry from one list.
macro_rules! victims {
    ($($module:ident :: $policy:ident,)+) => {
        /// One of the registered victim policies, dispatched without an indirect call.
        pub enum AnyGcVictim {
            $(#[doc = concat!("See `victim/", stringify!($module), ".rs`.")]
            $policy($module::$policy),)+
        }

        impl AnyGcVictim {
            /// See [`GcVictim::begin`].
            pub fn begin(&mut self, pool: u32, count: u32) {
                match self { $(AnyGcVictim::$policy(p) => p.begin(pool, count),)+ }
            }

            /// See [`GcVictim::close`].
            pub fn close(&mut self, line: u32, stale: u32, now: u64) {
                match self { $(AnyGcVictim::$policy(p) => p.close(line, stale, now),)+ }
            }

            /// See [`GcVictim::invalidate`].
            #[inline]
            pub fn invalidate(&mut self, line: u32, stale: u32, now: u64) {
                match self { $(AnyGcVictim::$policy(p) => p.invalidate(line, stale, now),)+ }
            }

            /// See [`GcVictim::victim`].
            pub fn victim(&mut self, pool: u32, stale: &[u32], now: u64) -> Option<u32> {
                match self { $(AnyGcVictim::$policy(p) => p.victim(pool, stale, now),)+ }
            }

            /// See [`GcVictim::remove`].
            pub fn remove(&mut self, line: u32, stale: u32) {
                match self { $(AnyGcVictim::$policy(p) => p.remove(line, stale),)+ }
            }

            /// See [`GcVictim::tables`].
            pub fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
                match self { $(AnyGcVictim::$policy(p) => p.tables(tables),)+ }
            }

            /// See [`GcVictim::dump`].
            pub fn dump(&self, pool: u32) -> Vec<u32> {
                match self { $(AnyGcVictim::$policy(p) => p.dump(pool),)+ }
            }
        }

        /// Every victim policy, in a fixed order.
        pub static GC_VICTIMS: &[GcVictimEntry] = &[
            $(GcVictimEntry {
                info: <$module::$policy as GcVictim>::INFO,
                build: |space| AnyGcVictim::$policy(GcVictim::build(space)),
            },)+
        ];
    };
}

victims! {
    greedy::Greedy,
    cost_benefit::CostBenefit,
    fifo::Fifo,
    windowed::Windowed,
    d_choices::DChoices,
}
