//! Prefetched pages: hits of the program when they have arrived, and which accesses wait for them.

use crate::sluice::{Outcome, Sluice, TRAPS};

const SCAN: &str = "chase --size 16MiB --stride 4096 --passes 3 --write";
/// Of the three passes and the one that builds the chain.
const ACCESSES: u64 = 4 * 4096;

fn scan(trap: &str, map: &str) -> Outcome {
    let run = Sluice::run(trap)
        .cache("5MiB")
        .set("nand.read", "40us")
        .set("prefetch.policy", "nextn")
        .set("prefetch.degree", "8")
        .set("prefetch.map", map);
    run.workload(SCAN).evicted()
}

/// Eight of nine pages are prefetched, and of 32 of these one is left for a trap. Some are still
/// on their way when they are accessed. Before, each of them was a trap.
#[test]
fn a_page_that_has_arrived_does_not_trap() {
    for trap in TRAPS {
        let out = scan(trap, "arrival");
        let (traps, mapped) = (out.number("/traps"), out.number("/cache/prefetch_mapped"));
        assert!(
            traps < ACCESSES / 2,
            "{trap}: {traps} of {ACCESSES} trapped"
        );
        assert!(
            mapped > ACCESSES / 4,
            "{trap}: {mapped} of {ACCESSES} mapped"
        );
        let issued = out.number("/cache/prefetch_issued");
        let used = out.number("/cache/prefetch_used");
        assert!(
            used <= issued && used > issued / 2,
            "{trap}: {used} of {issued} used"
        );
        let touched = scan(trap, "touch");
        assert!(touched.number("/traps") >= ACCESSES, "{trap}");
        assert_eq!(touched.number("/cache/prefetch_mapped"), 0, "{trap}");
    }
}

/// Threads that write and check a pattern, while pages come and go for each other's sake.
#[test]
fn nothing_is_lost_where_pages_come_and_go_together() {
    for trap in TRAPS {
        for policy in ["fifo", "lru", "random"] {
            let run = Sluice::run(trap)
                .cache("1MiB")
                .set("cache.policy", policy)
                .set("prefetch.policy", "stream")
                .set("prefetch.degree", "8")
                .set("prefetch.sample", "4");
            let pattern = "chase --size 1MiB --stride 1024 --passes 4 --write --threads 4";
            run.workload(pattern).evicted();
        }
    }
}
