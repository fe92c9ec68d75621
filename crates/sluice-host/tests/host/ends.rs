//! What is under way when counting begins or ends counts as far as it lies within.

use sluice_host::{HostConfig, HostStats, Instr, Level, Program, RunLength, Step, simulate};
use sluice_model::Device;
use sluice_testkit::core_rig::*;
use sluice_units::{Bytes, Ps};

fn part(
    (warmup, measured): (u64, u64),
    host: &HostConfig,
    device: Device,
    program: &mut dyn Program,
) -> HostStats {
    let length = RunLength {
        warmup,
        measured,
        sample_every: Ps::ZERO,
    };
    simulate(host, device, program, length, &mut |_| true).0
}

/// A thread that computes without end, and one that loads from another page each time.
struct Beside(u64);

impl Program for Beside {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 30)
    }

    fn threads(&self) -> u32 {
        2
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if thread == 0 {
            out.push(work(1000));
        } else {
            self.0 += 1;
            out.push(load(self.0 * 4096, 0, 0));
        }
        Step::More
    }
}

/// A wait for an MSHR that had begun before the counting counted whole before, and one that had not
/// ended counted whole after.
#[test]
fn a_wait_for_an_mshr_counts_while_counting_goes_on() {
    let mut host = host();
    (host.cpu.cores, host.threads) = (2, 2);
    (host.cpu.l1.mshrs, host.cpu.l3.mshrs) = (8, 1);
    for length in [
        (0, 100_000),
        (100_000, 400_000),
        (500_000, 1),
        (64_000, 1_000),
    ] {
        let stats = part(length, &host, expander(), &mut Beside(0));
        // One of the loads is under way, and the others with an MSHR of the core wait for that of
        // the L3. The rest of the window waits for one of the core's.
        let waits = stats.levels.map(|level| level.mshr_wait);
        let begun = if length.0 == 0 { L3 } else { Ps::ZERO };
        for (level, due) in [(0, stats.time), (1, Ps::ZERO), (2, stats.time * 7)] {
            let slack = if due > Ps::ZERO { begun * 7 } else { Ps::ZERO };
            let is = waits[level];
            assert!(is <= due && is + slack >= due, "{length:?}: {is}, {due}");
        }
    }
}

/// A switch that had begun just before the end took all of the time.
#[test]
fn a_switch_counts_as_far_as_it_has_come() {
    let settings = [
        ("device.capacity", "1GiB"),
        ("device.hint_threshold", "2us"),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    let mut host = host();
    (host.threads, host.coordinated) = (2, true);
    let count = |length| {
        let device = Device::new(&config(&settings), 1).expect("a device");
        let mut pages = Loop::new(2, vec![load(0, 10, 1)], 4096, 50);
        part(length, &host, device, &mut pages)
    };
    // The computation before the first load retires with the switch.
    let (first, rest) = (count((0, 10)), count((10, u64::MAX)));
    assert_eq!((first.switches, first.cores.switching), (1, Ps::ZERO));
    assert_eq!(first.cores.compute + first.cores.memory, first.time);
    let all = count((0, u64::MAX));
    assert_eq!(all.cores.switching, host.switching.cost * all.switches);
    assert_eq!(
        (rest.switches + 1, rest.cores.switching),
        (all.switches, all.cores.switching)
    );
}

/// A line that leaves the L1 on its way is found in the L2, which is where it is waited for. It
/// counted as one of the L1's hits.
#[test]
fn a_merge_is_a_hit_of_its_level() {
    let mut host = host();
    host.cpu.l1 = Level {
        lines: 1,
        ways: 1,
        ..host.cpu.l1
    };
    for (loads, due) in [
        (vec![0, 0], [(1, 1), (0, 0)]),
        (vec![0, 64, 0], [(0, 0), (1, 1)]),
        (vec![0, 64, 64, 0, 0], [(2, 2), (1, 1)]),
    ] {
        let body = loads.iter().map(|addr| load(*addr, 0, 0)).collect();
        let stats = run(&host, expander(), Loop::new(1, body, 0, 1));
        let [l1, l2, _] = stats.levels.map(|level| (level.hits, level.merges));
        assert_eq!([l1, l2], due, "{loads:?}");
    }
}

/// A run ended when the last of its stores had an MSHR, and not when its thread did.
#[test]
fn what_stores_wait_for_makes_no_run_longer() {
    for mshrs in [1, 2, 512] {
        let mut host = host();
        host.cpu.l1.mshrs = mshrs;
        let stores = Loop::new(1, vec![store(0, 3)], 4096, 10);
        let stats = run(&host, expander(), stores);
        assert_eq!(
            (stats.time, stats.until),
            (CYCLE * 10, CYCLE * 10),
            "{mshrs}"
        );
        assert_eq!(stats.cores.compute, stats.time);
        assert_eq!(stats.memory.requests.total(), 10);
        // One at most is the first to wait for one of the core's MSHRs.
        assert!(stats.levels[0].mshr_wait <= stats.time, "{mshrs}");
    }
}
