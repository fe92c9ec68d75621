//! Eviction policies: which page leaves when a set is full.
//!
//! To add one: a file beside this one, and a line in the list at the end.

mod arc;
mod clock;
mod external;
mod fifo;
mod lfru;
mod lfu;
mod lifo;
mod lirs;
mod lru;
mod mru;
mod random;
mod remembered;
mod replay;
mod ring;
mod s3fifo;
mod sieve;
mod sketch;
mod slru;
mod twoq;
mod wtinylfu;

pub(crate) use external::Told;
pub use external::{Brought, Candidates, Event, External, Watched};

use super::set_index::SetIndex;
use super::{Set, Slot};
use sluice_params::{Param, RawConfig, Registered, choices, count, in_order};
use sluice_units::{IndexType, Lpn, Rng};

/// The facts about a policy that users see.
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// The name in configurations.
    pub name: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether it decides by hits. If not, it does the same whether hits are visible or not.
    pub uses_hits: bool,
}

/// The slots that a policy manages, and its parameters.
#[derive(Clone, Debug)]
pub struct Space {
    /// Number of sets, at least 1.
    pub sets: u32,
    /// Slots in a set, at least 1. See [`Space::slots_of`].
    pub ways: u32,
    /// Logical pages on the device: every LPN is below this.
    pub pages: u32,
    /// Which set a page belongs to.
    pub index: SetIndex,
    /// The device's parameters, those of single policies among them.
    pub given: RawConfig,
    /// The policy's own random stream.
    pub rng: Rng,
}

impl Space {
    /// Slots of all sets together.
    pub fn slots(&self) -> u32 {
        self.sets * self.ways
    }

    /// The slots of a set: set `s` has the slots `s * ways .. (s + 1) * ways`.
    pub fn slots_of(&self, set: Set) -> impl DoubleEndedIterator<Item = Slot> + Clone + use<> {
        Slot::range(set.0 * self.ways..(set.0 + 1) * self.ways)
    }
}

choices! {
    /// Whose form of a policy, where libCacheSim differs from the paper.
    enum Variant {
        Paper = "paper": "that of the paper",
        Libcachesim = "libcachesim": "that of libCacheSim",
    }
}

/// Decides which page leaves a full set. It never moves data and keeps no time.
///
/// The engine guarantees, for each set on its own:
/// - `insert` names a slot of the set that the policy does not hold; `hit` and `remove` name one
///   that it does;
/// - `miss` comes once before each `insert`, and before the `victim` calls that make room for it;
/// - `victim` is called only when every slot of the set is held, but for those of pinned and of
///   inactive pages, or after a `hit` that asked for it. Pinning a page is a `remove`, and
///   unpinning it a `miss` and an `insert`. A page becomes inactive by `victim`, and if it is used
///   after all it comes back by a `miss`, an `insert` and a `hit`. `victim` may be called again
///   with a later time if it found nothing, and a page that missed may still not be inserted.
///
/// An implementor must:
/// - allocate only in `build`;
/// - return from `victim` only a held slot of that set for which `evictable` holds, and forget it;
///   return `None` only if there is no such slot, or if a hit made a part too long that has none;
/// - decide by its own state alone, so that a run can be repeated.
pub trait Eviction: Sized {
    /// Name, meaning and source.
    const INFO: PolicyInfo;

    /// The parameters of its own: `cache.`, its name, and what each is.
    const PARAMS: &[Param] = &[];

    /// An empty policy for these slots. The one place that may allocate.
    fn build(space: &Space) -> Self;

    /// The page `lpn`, which is in no slot, is about to be brought in.
    fn miss(&mut self, _set: Set, _lpn: Lpn) {}

    /// The page `lpn` is now in `slot`.
    fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn);

    /// The page in `slot` was accessed. Returns how many pages must leave because of that: `victim`
    /// is asked so many times at once, and may name any page but this one.
    ///
    /// It is 0 in the policies of papers. Some implementations bound parts of a set, and let pages
    /// go when a hit moves one too many into such a part.
    fn hit(&mut self, set: Set, slot: Slot) -> u32;

    /// Reads what a look-up of `lpn` will read first, long before it does, and changes nothing. The
    /// value means nothing; asking for many at once hides the time that memory takes.
    fn warm(&self, _lpn: Lpn) -> u32 {
        0
    }

    /// Chooses a slot to empty and forgets it.
    fn victim(&mut self, set: Set, evictable: impl FnMut(Slot) -> bool) -> Option<Slot>;

    /// The page in `slot` was discarded, taken out, or pinned by the host.
    fn remove(&mut self, set: Set, slot: Slot);

    /// The held slots of a set in the policy's own order, the next victim last. For tests.
    fn dump(&self, set: Set) -> Vec<Slot>;
}

/// A policy as the registry shows it.
#[derive(Clone, Copy, Debug)]
pub struct EvictionEntry {
    /// Name, meaning and source.
    pub info: PolicyInfo,
    /// The parameters of its own.
    pub params: &'static [Param],
    /// Makes an empty policy.
    pub build: fn(&Space) -> AnyEviction,
    /// Misses on a trace of pages in parts, of the policy alone: no device, no time, every hit
    /// visible. Panics if a page is not below [`Space::pages`].
    pub misses: fn(&Space, &mut dyn Iterator<Item = &[Lpn]>) -> u64,
}

impl Registered for EvictionEntry {
    fn all() -> &'static [EvictionEntry] {
        EVICTIONS
    }

    fn name(&self) -> &'static str {
        self.info.name
    }
}

/// The parameters of all policies.
pub(crate) const EVICTION_PARAMS: &[Param] = {
    const ALL: [Param; count(PARAMS)] = in_order(PARAMS);
    &ALL
};

/// Makes the enum that dispatches statically and the registry from one list.
macro_rules! evictions {
    ($($module:ident :: $policy:ident,)+) => {
        /// One of the registered policies, dispatched without an indirect call.
        pub enum AnyEviction {
            $(#[doc = concat!("See `policy/", stringify!($module), ".rs`.")]
            $policy($module::$policy),)+
            /// One that the caller brought along.
            External(Watched),
        }

        impl AnyEviction {
            /// See [`Eviction::miss`].
            #[inline]
            pub fn miss(&mut self, set: Set, lpn: Lpn) {
                match self {
                    $(AnyEviction::$policy(p) => p.miss(set, lpn),)+
                    AnyEviction::External(p) => p.miss(set, lpn),
                }
            }

            /// See [`Eviction::insert`].
            #[inline]
            pub fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn) {
                self.insert_told(set, slot, lpn, false);
            }

            /// See [`Eviction::hit`].
            #[inline]
            pub fn hit(&mut self, set: Set, slot: Slot) -> u32 {
                self.hit_told(set, slot, Told::default)
            }

            /// See [`Eviction::victim`].
            #[inline]
            pub fn victim(&mut self, set: Set, ok: impl FnMut(Slot) -> bool) -> Option<Slot> {
                self.victim_told(set, ok, |_| false)
            }

            /// See [`Eviction::remove`].
            #[inline]
            pub fn remove(&mut self, set: Set, slot: Slot) {
                self.remove_told(set, slot, false);
            }

            /// The insertion of a page, with whether it is dirty for policies from outside.
            #[inline]
            pub(crate) fn insert_told(&mut self, set: Set, slot: Slot, lpn: Lpn, is_dirty: bool) {
                match self {
                    $(AnyEviction::$policy(p) => p.insert(set, slot, lpn),)+
                    AnyEviction::External(p) => p.insert(set, slot, lpn, is_dirty),
                }
            }

            /// A hit, with what it reports to policies from outside.
            #[inline]
            pub(crate) fn hit_told(
                &mut self,
                set: Set,
                slot: Slot,
                told: impl FnOnce() -> Told,
            ) -> u32 {
                match self {
                    $(AnyEviction::$policy(p) => p.hit(set, slot),)+
                    AnyEviction::External(p) => p.hit(set, slot, told()),
                }
            }

            /// The choice of a victim, before which policies from outside may ask what is dirty.
            #[inline]
            pub(crate) fn victim_told(
                &mut self,
                set: Set,
                ok: impl FnMut(Slot) -> bool,
                is_dirty: impl Fn(Slot) -> bool,
            ) -> Option<Slot> {
                match self {
                    $(AnyEviction::$policy(p) => p.victim(set, ok),)+
                    AnyEviction::External(p) => p.victim(set, ok, is_dirty),
                }
            }

            /// The removal of a page, with whether it is dirty for policies from outside.
            #[inline]
            pub(crate) fn remove_told(&mut self, set: Set, slot: Slot, is_dirty: bool) {
                match self {
                    $(AnyEviction::$policy(p) => p.remove(set, slot),)+
                    AnyEviction::External(p) => p.remove(set, slot, is_dirty),
                }
            }

            /// Answers of an external policy that broke the contract.
            pub fn refused(&self) -> u64 {
                match self {
                    AnyEviction::External(p) => p.refused(),
                    _ => 0,
                }
            }

            /// See [`Eviction::dump`].
            pub fn dump(&self, set: Set) -> Vec<Slot> {
                match self {
                    $(AnyEviction::$policy(p) => p.dump(set),)+
                    AnyEviction::External(p) => p.dump(set),
                }
            }
        }

        /// The parameters of each, in that order.
        const PARAMS: &[&[Param]] = &[$(<$module::$policy as Eviction>::PARAMS,)+];

        /// Every eviction policy, in a fixed order.
        pub static EVICTIONS: &[EvictionEntry] = &[
            $(EvictionEntry {
                info: <$module::$policy as Eviction>::INFO,
                params: <$module::$policy as Eviction>::PARAMS,
                build: |space| AnyEviction::$policy(Eviction::build(space)),
                misses: replay::misses::<$module::$policy>,
            },)+
        ];
    };
}

evictions! {
    fifo::Fifo,
    lifo::Lifo,
    lru::Lru,
    clock::Clock,
    s3fifo::S3Fifo,
    sieve::Sieve,
    mru::Mru,
    twoq::TwoQ,
    slru::Slru,
    lfu::Lfu,
    lfru::Lfru,
    random::Random,
    arc::Arc,
    lirs::Lirs,
    wtinylfu::WTinyLfu,
}
