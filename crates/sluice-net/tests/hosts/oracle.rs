//! A host whose requests leave it, against the same host that is told at once when each will be
//! done: on a link that takes no time both see the same. Flushes are left out: that of a line under
//! way retires with the line where nobody knows when it comes.

use crate::rig::run;
use proptest::prelude::*;
use sluice_host::{HostStats, Instr, MemOp, Program, RunLength, Step, simulate};
use sluice_testkit::core_rig::{expander, host, load};
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

fn entry() -> impl Strategy<Value = Instr> {
    let op = prop_oneof![
        4 => Just(MemOp::Load),
        2 => Just(MemOp::Store),
        1 => Just(MemOp::None),
    ];
    (op, 0u64..400, 0u16..300, 0u16..20).prop_map(|(op, line, work, after)| Instr {
        addr: line * 64,
        work: work.max(u16::from(op == MemOp::None)),
        after: if op == MemOp::Load { after } else { 0 },
        op,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(200)))]
    #[test]
    fn an_answer_that_comes_later_is_the_same_answer(
        mut lists in prop::collection::vec(prop::collection::vec(entry(), 1..300), 1..2),
        mshrs in prop_oneof![Just(1u32), Just(3), Just(64)],
        window in prop_oneof![Just(16u32), Just(256)],
        buffer in prop_oneof![Just(0u32), Just(1), Just(64)],
    ) {
        for list in &mut lists {
            for place in 0..list.len() {
                let back = usize::from(list[place].after);
                if back > place || list[place - back].op != MemOp::Load {
                    list[place].after = 0;
                }
            }
            // Nobody waits for stores at the end of a program: it ends with a load behind them.
            list.push(load(1 << 19, 0, 0));
        }
        let program = Listed(lists);
        let mut host = host();
        host.cpu.cores = program.threads();
        (host.threads, host.link.line) = (program.threads(), Ps::ZERO);
        (host.cpu.l1.mshrs, host.cpu.window, host.cpu.store_buffer) = (mshrs, window, buffer);
        let length = RunLength { warmup: 0, measured: u64::MAX, sample_every: Ps::ZERO };
        let (told, _) = simulate(&host, expander(), &mut program.clone(), length, &mut |_| true);
        let asked = run(&host, expander(), &[("link.bandwidth", "none")], &mut program.clone());
        prop_assert_eq!(asked.instructions, told.instructions);
        prop_assert_eq!(asked.time, told.time);
        prop_assert_eq!(asked.memory.requests, told.memory.requests);
        // Who is told earlier counts the same waits at other moments.
        let levels = |stats: &HostStats| stats.levels;
        let counts = |stats| levels(stats).map(|it| (it.hits, it.misses, it.write_backs));
        prop_assert_eq!(counts(&asked), counts(&told));
    }
}
