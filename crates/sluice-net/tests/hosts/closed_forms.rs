//! What messages take, against sums and ratios.

use crate::rig::run;
use sluice_host::{HostStats, Instr, MemOp};
use sluice_testkit::core_rig::*;
use sluice_units::Ps;

const N: u64 = 10_000;
/// Bytes of messages in full flits of 68 bytes (docs/cxl-mem.md).
const REQ: u64 = 17;
const RWD: u64 = 85;
const NDR: u64 = 9;
const DRS: u64 = 74;
/// MB/s at which a byte takes a nanosecond.
const BYTE_A_NS: (&str, &str) = ("link.bandwidth", "1000");
const NONE: (&str, &str) = ("link.bandwidth", "none");

fn per_round(stats: &HostStats, expected: Ps, slack: Ps) {
    let (time, expected) = (stats.time.0, expected.0 * N);
    let off = time.abs_diff(expected);
    assert!(off <= slack.0, "{} instead of {}", time / N, expected / N);
}

#[test]
fn a_chain_of_misses_takes_request_memory_and_data_each() {
    let chain = || Loop::new(1, vec![load(0, 0, 1)], 4096, N);
    let wires = Ps::from_ns(REQ + DRS);
    let stats = run(&host(), expander(), &[BYTE_A_NS], &mut chain());
    per_round(&stats, L3 + wires + MEMORY, Ps(CYCLE.0));
    assert_eq!(stats.memory.access_time.protocol, wires * N);
    assert_eq!(stats.memory.latency.min(), wires + MEMORY);
    // Two ends of a link and its wires, there and back, beside a controller.
    let parts = [
        NONE,
        ("link.latency", "3ns"),
        ("link.port_latency", "5ns"),
        ("endpoint.controller", "7ns"),
    ];
    let stats = run(&host(), expander(), &parts, &mut chain());
    per_round(
        &stats,
        L3 + Ps::from_ns(2 * (3 + 2 * 5) + 7) + MEMORY,
        Ps(CYCLE.0),
    );
}

#[test]
fn reads_fill_the_link_to_the_efficiency_of_flits() {
    let mut host = host();
    host.cpu.l1.mshrs = 128;
    host.cpu.scheduler = 1024;
    host.cpu.window = 1024;
    let mut program = Loop::new(1, vec![load(0, 0, 0)], 4096, N);
    let stats = run(
        &host,
        expander(),
        &[("link.bandwidth", "16000")],
        &mut program,
    );
    let line = Ps((DRS * 1_000_000).div_ceil(16_000));
    per_round(&stats, line, Ps::from_us(1));
}

#[test]
fn writes_take_the_other_direction() {
    let mut host = host();
    (host.cpu.l1.mshrs, host.cpu.window) = (128, 1024);
    host.cpu.l3.lines = 0;
    host.cpu.l2.lines = 512;
    host.cpu.l1.lines = 512;
    let mut program = Loop::new(1, vec![store(0, 0)], 64, N);
    let stats = run(
        &host,
        expander(),
        &[("link.bandwidth", "16000")],
        &mut program,
    );
    // To the device go a request and a line for each store, from it a line and an acknowledgement.
    assert!(stats.memory.requests.device_writes > N - 1_100);
    let most = (REQ + RWD).max(NDR + DRS);
    let line = Ps((REQ * 1_000_000).div_ceil(16_000) + (RWD * 1_000_000).div_ceil(16_000));
    assert_eq!(most, REQ + RWD);
    per_round(&stats, line, line * 1_200);
}

#[test]
fn misses_overlap_as_far_as_mshrs_go() {
    for mshrs in [1, 3, 8, 16] {
        let mut host = host();
        host.cpu.l1.mshrs = mshrs;
        let mut program = Loop::new(1, vec![load(0, 0, 0)], 4096, N);
        let stats = run(&host, expander(), &[NONE], &mut program);
        let held = L3 + MEMORY - host.cpu.l2.latency;
        per_round(&stats, Ps(held.0 / u64::from(mshrs)), held + L3);
    }
}

#[test]
fn misses_of_all_cores_overlap_as_far_as_the_mshrs_of_the_l3_go() {
    let (cores, own) = (4, 8);
    let held = L3 + MEMORY - host().cpu.l2.latency;
    for shared in [3, 8, 16, 32, 64] {
        let mut host = host();
        (host.cpu.cores, host.threads) = (cores, cores);
        (host.cpu.l1.mshrs, host.cpu.l3.mshrs) = (own, shared);
        let mut program = Loop::new(cores, vec![load(0, 0, 0)], 4096, N);
        let stats = run(&host, expander(), &[NONE], &mut program);
        // With too few for all, an MSHR is the L3's only from its look-up on.
        let at_once = u64::from(shared.min(cores * own));
        let each = |held: Ps| held.0 * u64::from(cores) * N / at_once;
        let (least, most) = (each(MEMORY), each(held) + (held + L3).0 * 8);
        assert!(
            (least..=most).contains(&stats.time.0),
            "{shared}: {}",
            stats.time
        );
        // What the cores' own MSHRs were taken for longer than a miss takes, misses have waited.
        let taken = stats.time.0 * u64::from(cores * own);
        let waited = taken.saturating_sub(held.0 * u64::from(cores) * N);
        let found = stats.levels[2].mshr_wait.0;
        assert!(
            found.abs_diff(waited) < taken / 50,
            "{shared}: {found}, {waited}"
        );
        assert_eq!(shared < cores * own, found > 0);
    }
}

/// All cores read the same lines at the same time: each line is asked for once.
#[test]
fn a_line_under_way_is_asked_for_once() {
    struct Same([u64; 4]);
    impl sluice_host::Program for Same {
        fn footprint(&self) -> sluice_units::Bytes {
            sluice_units::Bytes(1 << 30)
        }
        fn threads(&self) -> u32 {
            4
        }
        fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> sluice_host::Step {
            let done = &mut self.0[thread as usize];
            if *done == 1_000 {
                return sluice_host::Step::End;
            }
            out.push(load(*done * 4096, 0, 1));
            *done += 1;
            sluice_host::Step::More
        }
    }
    let mut host = host();
    (host.cpu.cores, host.threads) = (4, 4);
    let stats = run(&host, expander(), &[BYTE_A_NS], &mut Same([0; 4]));
    assert_eq!(stats.memory.requests.total(), 1_000);
    assert_eq!(
        (stats.levels[2].misses, stats.levels[2].merges),
        (1_000, 3_000)
    );
    let round = L3 + Ps::from_ns(REQ + DRS) + MEMORY;
    assert!(
        stats.time.0.abs_diff(round.0 * 1_000) <= CYCLE.0,
        "{}",
        stats.time
    );
}

#[test]
fn a_fence_waits_for_the_acknowledgement() {
    let of = |op, addr| Instr {
        addr,
        work: 0,
        after: 0,
        op,
    };
    let time = |rounds| {
        let body = vec![store(0, 0), of(MemOp::Flush, 0), of(MemOp::Fence, 0)];
        let mut program = Loop::new(1, body, 4096, rounds);
        run(&host(), expander(), &[BYTE_A_NS], &mut program).time
    };
    // A line is fetched long before: each round waits for its write and the answer to it, and for
    // the request of a later round, which goes first.
    let round = (time(164) - time(100)).0.div_ceil(64);
    let expected = L3 + Ps::from_ns(REQ + RWD + NDR) + MEMORY;
    assert!(round >= expected.0, "{round} instead of {expected}");
    assert!(
        round <= expected.0 + 2 * CYCLE.0,
        "{round} instead of {expected}"
    );
}
