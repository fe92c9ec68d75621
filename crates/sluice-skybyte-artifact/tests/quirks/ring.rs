//! Cores that are not as near to the L3.

use crate::{artifact, run};
use sluice_testkit::core_rig::{CYCLE, L3, Loop, MEMORY, expander, host, load};
use sluice_units::Ps;

const N: u64 = 10_000;

#[test]
fn a_core_is_further_from_the_l3_by_each_core_behind_it() {
    let stop = Ps::from_ns(8);
    // One thread runs on the first core; then each core has one, and the last to end is the first.
    for (cores, threads) in [(1, 1), (4, 1), (4, 4)] {
        let mut host = host();
        (host.cpu.cores, host.threads) = (cores, threads);
        let ring = artifact(&[("l3.stop", "8ns"), ("cpu.cores", &cores.to_string())]);
        let chains = Loop::new(threads, vec![load(0, 0, 1)], 4096, N);
        let time = run(&host, ring, expander(), chains).time;
        let due = (L3 + stop * (u64::from(cores) - 1) + MEMORY).0 * N;
        assert!(
            time.0.abs_diff(due) <= CYCLE.0,
            "{time} instead of {}",
            Ps(due)
        );
    }
}
