//! Prefetch policies: which pages to bring in before they are asked for.
//!
//! To add one: a file beside this one, and a line in the list at the end.

mod nextn;
mod none;

pub use crate::cache::PolicyInfo;

/// The most pages that one access can ask for.
pub const PICKS_MAX: usize = 64;

/// What the access that a prefetcher sees has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The page was not in the cache.
    Miss,
    /// The page was brought in by a prefetch and is accessed for the first time.
    FirstUse,
}

/// Pages to bring in, in order of urgency. A fixed buffer, filled anew at each access.
pub struct Picks {
    lpns: [u64; PICKS_MAX],
    len: usize,
}

impl Picks {
    /// Nothing.
    pub const fn new() -> Picks {
        Picks {
            lpns: [0; PICKS_MAX],
            len: 0,
        }
    }

    /// Adds a page. It may be cached already or lie beyond the device: the engine skips it then.
    ///
    /// Beyond [`PICKS_MAX`] pages nothing is added.
    pub fn push(&mut self, lpn: u64) {
        if let Some(place) = self.lpns.get_mut(self.len) {
            *place = lpn;
            self.len += 1;
        }
    }

    /// The pages, most urgent first.
    pub fn as_slice(&self) -> &[u64] {
        &self.lpns[..self.len]
    }
}

impl Default for Picks {
    fn default() -> Picks {
        Picks::new()
    }
}

/// Chooses pages to bring in. The engine does it, if it can make room, and counts.
///
/// The engine guarantees that `access` is called once for each access that missed, or that was
/// the first to a prefetched page, after the accessed page itself was dealt with. Other hits are
/// not shown, because a live device cannot see them.
///
/// An implementor must allocate only in `build` and decide by its own state alone.
pub trait Prefetch: Sized {
    /// Name, meaning and source.
    const INFO: PolicyInfo;

    /// A prefetcher of this degree. The one place that may allocate.
    fn build(degree: u32) -> Self;

    /// Adds to `picks` the pages to bring in after an access to `lpn`.
    fn access(&mut self, lpn: u64, outcome: Outcome, picks: &mut Picks);
}

/// A prefetcher as the registry shows it.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchEntry {
    /// Name, meaning and source.
    pub info: PolicyInfo,
    /// Makes a prefetcher of a degree.
    pub build: fn(u32) -> AnyPrefetch,
}

/// Makes the enum that dispatches statically and the registry from one list.
macro_rules! prefetches {
    ($($module:ident :: $policy:ident,)+) => {
        /// One of the registered prefetchers, dispatched without an indirect call.
        pub enum AnyPrefetch {
            $(#[doc = concat!("See `prefetch/", stringify!($module), ".rs`.")]
            $policy($module::$policy),)+
        }

        impl AnyPrefetch {
            /// See [`Prefetch::access`].
            #[inline]
            pub fn access(&mut self, lpn: u64, outcome: Outcome, picks: &mut Picks) {
                match self { $(AnyPrefetch::$policy(p) => p.access(lpn, outcome, picks),)+ }
            }
        }

        /// Every prefetcher, in a fixed order.
        pub static PREFETCHES: &[PrefetchEntry] = &[
            $(PrefetchEntry {
                info: <$module::$policy as Prefetch>::INFO,
                build: |degree| AnyPrefetch::$policy(Prefetch::build(degree)),
            },)+
        ];
    };
}

prefetches! {
    none::Off,
    nextn::NextN,
}
