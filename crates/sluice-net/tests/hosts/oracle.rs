//! A host whose requests leave it, against the same host that learns at once when each will be
//! done. On a link that takes no time both see the same. docs/hosts.md names one difference, which
//! is left out here: lines that must leave a cache.

use crate::rig::run;
use proptest::prelude::*;
use sluice_host::{HostStats, Instr, MemOp, Program, RunLength, Step, simulate};
use sluice_testkit::core_rig::{MEMORY, expander, host, load, store};
use sluice_units::{Bytes, Ps};

/// Instructions of each thread.
#[derive(Clone, Debug)]
struct Listed(Vec<Vec<Instr>>);

impl Program for Listed {
    fn footprint(&self) -> Bytes {
        Bytes(1 << 20)
    }

    fn threads(&self) -> u32 {
        self.0.len() as u32
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let list = &mut self.0[thread as usize];
        if list.is_empty() {
            return Step::End;
        }
        out.append(list);
        Step::More
    }
}

/// Lines that any instruction may use. A core's L1 holds all of them.
const LINES: u64 = 190;

fn entry() -> impl Strategy<Value = Instr> {
    let op = prop_oneof![
        4 => Just(MemOp::Load),
        2 => Just(MemOp::Store),
        1 => Just(MemOp::Flush),
        1 => Just(MemOp::Fence),
        1 => Just(MemOp::None),
    ];
    let work = prop_oneof![0u16..4, 0u16..300];
    (op, 0..LINES, work, 0u16..20).prop_map(|(op, line, work, after)| Instr {
        addr: line * 64,
        work: work.max(u16::from(op == MemOp::None)),
        after: if op == MemOp::Load { after } else { 0 },
        op,
    })
}

/// The host that asks, and the one that learns at once when a request will be done.
fn both(program: &Listed, mshrs: u32, window: u32, buffer: u32) -> (HostStats, HostStats) {
    let mut host = host();
    host.cpu.cores = program.threads();
    (host.threads, host.link.line) = (program.threads(), Ps::ZERO);
    (host.cpu.l1.mshrs, host.cpu.window, host.cpu.store_buffer) = (mshrs, window, buffer);
    let length = RunLength {
        warmup: 0,
        measured: u64::MAX,
        sample_every: Ps::ZERO,
    };
    let (told, _) = simulate(&host, expander(), &mut program.clone(), length, &mut |_| {
        true
    });
    let asked = run(
        &host,
        expander(),
        &[("link.bandwidth", "none")],
        &mut program.clone(),
    );
    (asked, told)
}

/// A line that another core has asked for comes before the address of a load that waits for it is
/// known. The load was done with the line once, before its address was known.
#[test]
fn nothing_is_done_before_its_address_is_known() {
    let line = |line: u64, work, after| load(line * 64, work, after);
    let first = vec![
        line(3, 180, 0),
        line(2, 98, 0),
        line(1, 0, 1),
        store(64, 0),
        line(4, 0, 2),
        line(5, 0, 0),
    ];
    let program = Listed(vec![first, vec![line(1, 0, 0)]]);
    let (asked, told) = both(&program, 2, 16, 0);
    assert_eq!(asked.time, told.time);
    // Three lines, each of which gives the address of the next or lets it into the window.
    assert!(told.time > MEMORY * 3, "{}", told.time);
}

/// Two lines on their way to the L3 whose numbers are 8192 apart: when the first one comes was
/// forgotten once.
#[test]
fn lines_under_way_do_not_displace_each_other() {
    let first = vec![load(0, 100, 0)];
    let second = vec![load(0, 0, 0), load(8192 * 64, 0, 0)];
    let (asked, told) = both(&Listed(vec![first, second]), 64, 256, 64);
    assert_eq!(asked.time, told.time);
    assert_eq!(told.levels[2].merges, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(200)))]
    #[test]
    fn an_answer_that_comes_later_is_the_same_answer(
        mut lists in prop::collection::vec(prop::collection::vec(entry(), 1..190), 1..5),
        mshrs in prop_oneof![Just(1u32), Just(3), Just(64)],
        window in prop_oneof![Just(16u32), Just(256)],
        buffer in prop_oneof![Just(0u32), Just(1), Just(64)],
    ) {
        for list in &mut lists {
            for place in 0..list.len() {
                let back = usize::from(list[place].after);
                if back > place || list[place - back].op != MemOp::Load {
                    list[place].after = 0;
                } else if back > 0 {
                    // Neighbours need the same new line: the first of them asks for it.
                    list[place].addr = (LINES + place as u64 / 8) * 64;
                }
            }
            // Nothing waits for stores at the end of a program: it ends with a load behind them.
            list.push(load(5_000 * 64, 0, 0));
        }
        let program = Listed(lists);
        let (asked, told) = both(&program, mshrs, window, buffer);
        prop_assert_eq!(asked.instructions, told.instructions);
        prop_assert_eq!(asked.time, told.time);
        prop_assert_eq!(asked.memory.requests, told.memory.requests);
        // The host that learns earlier counts the same waits at other moments.
        let levels = |stats: &HostStats| stats.levels;
        let counts = |stats| levels(stats).map(|it| (it.hits, it.misses, it.write_backs));
        prop_assert_eq!(counts(&asked), counts(&told));
    }
}
