//! What hints of the program did, in the result of a live run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::Counter;

/// A struct for each hint, and one of them all, with the counter of each field.
macro_rules! hints {
    ($($(#[$meta:meta])* $hint:ident: $type:ident {
        $($(#[$doc:meta])* $key:ident = $counter:ident,)+
    })+) => {
        $($(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
        )]
        pub struct $type { $($(#[$doc])* pub $key: u64,)+ })+

        /// What [hints](../hints.md) of the program did (`madvise`, `mlock` and their like), and
        /// what came of them and of those by the control ring. Pages, each time one was concerned.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
        )]
        pub struct Hints { $($(#[$meta])* pub $hint: $type,)+ }

        impl Hints {
            /// Of a process; zeros of none.
            pub(crate) fn of(get: impl Fn(Counter) -> u64) -> Hints {
                Hints { $($hint: $type { $($key: get(Counter::$counter),)+ },)+ }
            }
        }
    };
}

hints! {
    /// `MADV_WILLNEED`.
    willneed: WillneedHints {
        /// Pages that were sent for.
        pages = HintsWillneed,
    }
    /// `MADV_COLD`.
    cold: ColdHints {
        /// Cached pages that became the next to leave because the program said so.
        pages = HintsCold,
        /// All that went cold: by a hint of the program, by the ring, or passed in order.
        cooled = Cooled,
        /// Evictions that took such a page, before any that the policy would have chosen.
        evicted = ColdEvictions,
    }
    /// `MADV_PAGEOUT`.
    pageout: PageoutHints {
        /// Pages that left the cache. They are also `commands.evicted`.
        pages = HintsPageout,
    }
    /// `MADV_FREE`.
    free: FreeHints {
        /// Pages whose contents went. They are also `memory.trims`.
        pages = HintsFree,
    }
    /// `MADV_DONTNEED` and `MADV_DONTNEED_LOCKED`.
    dontneed: DontneedHints {
        /// Pages whose contents went. They are also `memory.trims`.
        pages = HintsDontneed,
    }
    /// `MADV_SEQUENTIAL`.
    sequential: SequentialHints {
        /// Pages of which it was said.
        pages = HintsSequential,
        /// Pages sent for ahead of accesses in order. They are also `cache.prefetch_issued`.
        prefetched = SequentialPrefetches,
        /// Pages that accesses in order had passed, and that became the next to leave.
        passed = SequentialPassed,
    }
    /// `MADV_RANDOM`.
    random: RandomHints {
        /// Pages of which it was said.
        pages = HintsRandom,
        /// Accesses that the prefetcher was not shown.
        quiet = RandomQuiet,
    }
    /// `MADV_NORMAL`.
    normal: NormalHints {
        /// Pages of which it was said.
        pages = HintsNormal,
    }
    /// `mlock`, `mlock2` and `mlockall`.
    mlock: MlockHints {
        /// Pages that were pinned. They are also `commands.pinned`.
        pages = HintsLocked,
        /// Locked pages that came without being pinned, since as many of their set were as
        /// `cache.pin_max` allows.
        refused = HintsLockRefused,
    }
    /// `munlock`, `munlockall`, and locked memory that was unmapped.
    munlock: MunlockHints {
        /// Pages that were locked no longer.
        pages = HintsUnlocked,
    }
    /// Advice that means nothing here (`MADV_HUGEPAGE`, `MADV_NOHUGEPAGE`).
    ignored: IgnoredHints {
        /// Calls.
        calls = HintsIgnored,
    }
}
