//! A core against a recurrence over its instructions, one after the other.

use proptest::prelude::*;
use sluice_host::{Instr, MemOp};
use sluice_testkit::core_rig::*;
use sluice_units::Ps;

/// Time in picoseconds when the last instruction retires, if every access misses everything and
/// nothing but the window and dependencies holds one up.
fn naive(body: &[Instr], window: u64, latency: u64) -> u64 {
    let cycle = CYCLE.0;
    let (mut issued, mut retired, mut number) = (0u64, 0u64, 0u64);
    // For each entry: the number of its last instruction, when it is done, when it retires. Times
    // are in picoseconds times the width.
    let mut past: Vec<(u64, u64, u64)> = Vec::new();
    for (place, entry) in body.iter().enumerate() {
        let count = entry.count();
        number += count;
        issued += count * cycle;
        for (before, _, gone) in &past {
            if before + window <= number {
                issued = issued.max(gone + (number - before - window) * cycle);
            }
        }
        let needed = place.checked_sub(usize::from(entry.after));
        let needed = needed
            .filter(|_| entry.after > 0)
            .map_or(0, |at| past[at].1);
        let begun = issued.max(needed);
        let done = match entry.op {
            MemOp::Load => begun + latency * WIDTH,
            _ => begun,
        };
        retired = (retired + count * cycle).max(done);
        past.push((number, done, retired));
    }
    retired / WIDTH
}

fn entry() -> impl Strategy<Value = Instr> {
    let op = prop_oneof![Just(MemOp::Load), Just(MemOp::None)];
    (op, 0u16..300, 0u16..20).prop_map(|(op, work, after)| Instr {
        addr: 0,
        work: work.max(u16::from(op == MemOp::None)),
        after: if op == MemOp::Load { after } else { 0 },
        op,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(200)))]
    #[test]
    fn a_core_is_a_recurrence(
        mut body in prop::collection::vec(entry(), 1..400),
        window in prop_oneof![Just(16u32), Just(64), Just(256), Just(512)],
    ) {
        for place in 0..body.len() {
            // A page of its own for each, and an address from a load that there is.
            body[place].addr = place as u64 * 4096;
            let back = usize::from(body[place].after);
            if back > place || body[place - back].op != MemOp::Load {
                body[place].after = 0;
            }
        }
        let mut host = host();
        host.cpu.window = window;
        host.cpu.l1.mshrs = 512;
        let expected = naive(&body, u64::from(window), (L3 + MEMORY).0);
        let entries = body.len() as u64;
        let stats = run(&host, expander(), Loop::new(1, body, 0, 1));
        // The core's own time is exact; what leaves it is rounded to a picosecond.
        let (time, expected) = (stats.time, Ps(expected));
        prop_assert!(time.0.abs_diff(expected.0) <= 2 * entries, "{time} instead of {expected}");
    }
}
