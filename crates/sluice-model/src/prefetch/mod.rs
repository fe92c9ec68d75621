//! Prefetch policies: which pages to bring in before they are asked for.
//!
//! To add one: a file beside this one, and a line in the list at the end.

mod best_offset;
mod markov;
mod nextn;
mod none;
mod stream;
mod stride;
mod throttle;
mod unit;

pub use crate::cache::PolicyInfo;
pub use throttle::ThrottleParams;
pub(crate) use unit::Prefetcher;

use sluice_params::{ConfigError, Param, RawConfig, Registered, count, in_order};
use sluice_units::{Lpn, Ps};

/// The most pages that one access can ask for.
pub const PICKS_MAX: usize = 64;

/// What the access that a prefetcher sees has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The page was not in the cache.
    Miss,
    /// The page was brought in by a prefetch and is accessed for the first time.
    FirstUse,
    /// The page was brought in by a prefetch, is accessed for the first time, and is still on its
    /// way.
    LateUse,
}

impl Outcome {
    /// The first access to a prefetched page, which may be still on its way.
    #[inline]
    pub(crate) fn of_use(is_late: bool) -> Outcome {
        match is_late {
            true => Outcome::LateUse,
            false => Outcome::FirstUse,
        }
    }
}

/// An access that a prefetcher sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it reached the cache. May go back a little: accesses wait for their turn.
    pub at: Ps,
    /// Which page was accessed.
    pub lpn: Lpn,
    /// What it found.
    pub outcome: Outcome,
    /// Whether it is a store. Of a page whose use was not seen, but follows from another's: no.
    pub is_store: bool,
    /// The thread or core whose access it is, by its number; see
    /// [`Device::by`](crate::Device::by). `None` if nobody said, and unless the prefetcher or the
    /// policy is one of the caller's.
    pub thread: Option<u32>,
}

/// A page that is on its way into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it will be there.
    pub at: Ps,
    /// Which page arrived.
    pub lpn: Lpn,
    /// The page whose access asked for it: for a missed page, itself.
    pub cause: Lpn,
}

impl Arrival {
    /// Whether a prefetch asked for it.
    pub fn is_prefetch(&self) -> bool {
        self.lpn != self.cause
    }
}

/// How eager a prefetcher may be at an access. The throttle lowers both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The most pages to ask for.
    pub degree: u32,
    /// How far ahead of the access a prefetcher that follows a stream may run, in its steps.
    pub distance: u32,
}

/// Pages to bring in, in order of urgency. A fixed buffer, filled anew at each access.
pub struct Picks {
    /// Page numbers, which need not be of pages that the device has.
    numbers: [u64; PICKS_MAX],
    len: usize,
}

impl Picks {
    /// No pages yet.
    pub const fn new() -> Picks {
        Picks {
            numbers: [0; PICKS_MAX],
            len: 0,
        }
    }

    /// Adds a page by its number. It may be cached already or lie beyond the device: the device
    /// skips it then.
    ///
    /// Beyond [`PICKS_MAX`] pages nothing is added.
    pub fn push(&mut self, number: u64) {
        if let Some(last) = self.numbers.get_mut(self.len) {
            *last = number;
            self.len += 1;
        }
    }

    /// The numbers of the pages, most urgent first.
    pub fn as_slice(&self) -> &[u64] {
        &self.numbers[..self.len]
    }

    /// The picks that a device with so many pages has, most urgent first.
    pub(crate) fn on_device(&self, pages: u64) -> impl Iterator<Item = Lpn> + '_ {
        let known = self
            .as_slice()
            .iter()
            .filter(move |number| **number < pages);
        known.map(|number| Lpn(*number as u32))
    }
}

impl Default for Picks {
    fn default() -> Picks {
        Picks::new()
    }
}

/// Chooses pages to bring in. The device does it, if it can make room, and counts.
///
/// The device guarantees that `access` is called once for each access that missed, or that was
/// the first to a prefetched page, after the accessed page itself was dealt with. Other hits are
/// not shown, because a live device cannot see them. `arrives` is called for every page that missed
/// or was picked, at once, with the time at which it will be there: for a missed page before its
/// `access`, for a pick after it.
///
/// An implementor must allocate only in `build`, decide by its own state alone, and add no more
/// than `reach.degree` pages.
pub trait Prefetch: Sized {
    /// Name, meaning and source.
    const INFO: PolicyInfo;

    /// The parameters of its own.
    const PARAMS: &[Param] = &[];

    /// Checks the values of its parameters against each other, and against a device of so many
    /// bytes if the prefetcher `is_chosen` for it.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    fn check(_raw: &RawConfig, _is_chosen: bool, _device: u64) -> Result<(), ConfigError> {
        Ok(())
    }

    /// A prefetcher of a device with these parameters. The one place that may allocate.
    fn build(given: &RawConfig) -> Self;

    /// Adds to `picks` the pages to bring in after an access.
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks);

    /// Notes a page that is on its way. Those that learn from times need it.
    fn arrives(&mut self, _arrival: Arrival) {}
}

/// A prefetcher that the caller brings along: a shared object's, or a class of another language.
/// The rules are those of [`Prefetch`].
pub trait External: Send {
    /// Adds to `picks` the pages to bring in after an access.
    fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks);

    /// Notes a page that is on its way.
    fn arrives(&mut self, arrival: Arrival);

    /// Picks so far that broke the contract: of pages that the device does not have, and more than
    /// it was allowed. They were not added.
    fn refused(&self) -> u64 {
        0
    }
}

/// A prefetcher as the registry shows it.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchEntry {
    /// Name, meaning and source.
    pub info: PolicyInfo,
    /// The parameters of its own.
    pub params: &'static [Param],
    /// See [`Prefetch::check`].
    pub check: fn(&RawConfig, bool, u64) -> Result<(), ConfigError>,
    /// See [`Prefetch::build`].
    pub build: fn(&RawConfig) -> AnyPrefetch,
}

impl Registered for PrefetchEntry {
    fn all() -> &'static [PrefetchEntry] {
        PREFETCHES
    }

    fn name(&self) -> &'static str {
        self.info.name
    }
}

/// The parameters of all prefetchers.
pub(crate) const PREFETCH_PARAMS: &[Param] = {
    const ALL: [Param; count(PARAMS)] = in_order(PARAMS);
    &ALL
};

/// Makes the enum that dispatches statically and the registry from one list.
macro_rules! prefetches {
    ($($module:ident :: $policy:ident,)+) => {
        /// One of the registered prefetchers, dispatched without an indirect call.
        pub enum AnyPrefetch {
            $(#[doc = concat!("See `prefetch/", stringify!($module), ".rs`.")]
            $policy($module::$policy),)+
            /// One that the caller brought along.
            External(Box<dyn External>),
        }

        impl AnyPrefetch {
            /// See [`Prefetch::access`].
            #[inline]
            pub fn access(&mut self, seen: Seen, reach: Reach, picks: &mut Picks) {
                match self {
                    $(AnyPrefetch::$policy(p) => p.access(seen, reach, picks),)+
                    AnyPrefetch::External(p) => p.access(seen, reach, picks),
                }
            }

            /// See [`Prefetch::arrives`].
            #[inline]
            pub fn arrives(&mut self, arrival: Arrival) {
                match self {
                    $(AnyPrefetch::$policy(p) => p.arrives(arrival),)+
                    AnyPrefetch::External(p) => p.arrives(arrival),
                }
            }
        }

        /// The parameters of each, in that order.
        const PARAMS: &[&[Param]] = &[$(<$module::$policy as Prefetch>::PARAMS,)+];

        /// Every prefetcher, in a fixed order.
        pub static PREFETCHES: &[PrefetchEntry] = &[
            $(PrefetchEntry {
                info: <$module::$policy as Prefetch>::INFO,
                params: <$module::$policy as Prefetch>::PARAMS,
                check: <$module::$policy as Prefetch>::check,
                build: |given| AnyPrefetch::$policy(Prefetch::build(given)),
            },)+
        ];
    };
}

prefetches! {
    none::Off,
    nextn::NextN,
    stride::Stride,
    stream::Stream,
    best_offset::BestOffset,
    markov::Markov,
}
