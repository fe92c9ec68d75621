//! A host that shares its memory, against a home agent that takes lines away at random.

use proptest::prelude::*;
use sluice_cxl::coherence::State;
use sluice_host::{Ask, AskFor, Host, MemOp, Performed, Reply};
use sluice_testkit::core_rig;
use sluice_testkit::sharing::{Mix, Random, SMALL, host};
use sluice_units::{LINE_BYTES, Ps, Rng};
use std::collections::{BTreeMap, BTreeSet};

/// From a request to its answer.
const AWAY: Ps = Ps::from_ns(150);

/// What the host may do with each line, as its home has it, and what others do.
struct Home {
    rights: BTreeMap<u64, State>,
    /// Lines to which the host has stored since their home has had them.
    stored: BTreeSet<u64>,
    /// Requests under way: when each is answered.
    asked: Vec<(Ps, Ask)>,
    rng: Rng,
    snoops: [u64; 2],
    loads: u64,
    stores: u64,
    given_up: u64,
}

impl Home {
    fn new(seed: u64) -> Home {
        Home {
            rights: BTreeMap::new(),
            stored: BTreeSet::new(),
            asked: Vec::new(),
            rng: Rng::stream(seed, "home"),
            snoops: [0; 2],
            loads: 0,
            stores: 0,
            given_up: 0,
        }
    }

    fn right(&self, addr: u64) -> State {
        self.rights.get(&addr).copied().unwrap_or(State::Invalid)
    }

    /// What the host has done and asked for since.
    fn hear(&mut self, host: &mut Host<'_>, now: Ps) -> Result<(), TestCaseError> {
        for Performed { addr, at, is_store } in host.take_performed() {
            prop_assert!(at <= now, "done before its time");
            let right = self.right(addr);
            if is_store {
                prop_assert_eq!(right, State::Modified, "a store to {:x}", addr);
                self.stored.insert(addr);
                self.stores += 1;
            } else {
                prop_assert_ne!(right, State::Invalid, "a load of {:x}", addr);
                self.loads += 1;
            }
        }
        for ask in host.take_asks() {
            match ask.what {
                AskFor::Line | AskFor::Owned => self.asked.push((ask.at + AWAY, ask)),
                AskFor::Write => {
                    // Somebody may have taken it while it was on its way.
                    self.rights.remove(&ask.addr);
                    self.stored.remove(&ask.addr);
                    self.asked.push((ask.at + AWAY, ask));
                }
                AskFor::Drop => {
                    prop_assert!(!self.stored.contains(&ask.addr), "dirty data are dropped");
                    self.rights.remove(&ask.addr);
                    self.given_up += 1;
                }
            }
        }
        Ok(())
    }

    /// Another host wants a line, to write it or to read it.
    fn snoop(&mut self, host: &mut Host<'_>, lines: u64) -> Result<(), TestCaseError> {
        let addr = self.rng.below(lines) * LINE_BYTES;
        let keeps = [State::Invalid, State::Shared][self.rng.below(2) as usize];
        if self.right(addr) == State::Invalid {
            return Ok(());
        }
        let was_stored = self.stored.remove(&addr);
        let dirty = host.snoop(addr, keeps);
        prop_assert!(was_stored || !dirty, "{:x} is clean", addr);
        self.rights.insert(addr, keeps);
        self.snoops[usize::from(dirty)] += 1;
        Ok(())
    }

    /// Runs the host to the end of its program, with a snoop about each 20 ns.
    fn run(&mut self, host: &mut Host<'_>, lines: u64) -> Result<(), TestCaseError> {
        let (mut now, mut snoop_at) = (Ps::ZERO, Ps::ZERO);
        loop {
            self.hear(host, now)?;
            self.asked.sort_by_key(|(at, _)| *at);
            let answer_at = self.asked.first().map(|(at, _)| *at);
            let due = host
                .next_at()
                .unwrap_or(Ps::MAX)
                .min(answer_at.unwrap_or(Ps::MAX));
            if due == Ps::MAX {
                return Ok(());
            }
            now = now.max(due.min(snoop_at));
            if snoop_at <= due {
                self.snoop(host, lines)?;
                snoop_at += Ps(self.rng.below(40_000));
            } else if answer_at == Some(due) {
                let (at, ask) = self.asked.remove(0);
                let owned = ask.what == AskFor::Owned;
                match ask.what {
                    AskFor::Owned => _ = self.rights.insert(ask.addr, State::Modified),
                    AskFor::Line => _ = self.rights.insert(ask.addr, State::Shared),
                    AskFor::Write | AskFor::Drop => {}
                }
                let reply = Reply {
                    owned,
                    ..Reply::default()
                };
                host.answer(at, ask.tag, &reply);
            } else {
                host.step();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(60)))]
    /// Every load finds a line that the host has, and every store one that is its own, when that
    /// happens and whatever was taken before.
    #[test]
    fn nothing_is_done_to_lines_that_a_snoop_took(
        cores in prop::sample::select(vec![1u32, 2, 8]),
        lines in prop::sample::select(vec![4u64, 40, 400]),
        stores in prop::sample::select(vec![10u64, 50]),
        flushes in prop::sample::select(vec![0u64, 5]),
        l2_rules in any::<bool>(),
        store_buffer in prop::sample::select(vec![0u32, 8]),
        seed in any::<u64>(),
    ) {
        let mut config = host(cores, SMALL);
        (config.cpu.l2_rules, config.cpu.store_buffer) = (l2_rules, store_buffer);
        let accesses = 2_000;
        let mix = Mix { threads: cores, lines, stores, flushes, accesses, seed };
        let mut program = Random::new(mix);
        let mut host = Host::with_port(&config, &mut program);
        host.share(true);
        let mut home = Home::new(seed);
        home.run(&mut host, lines)?;
        let stats = host.results();
        let done = stats.loads + stats.stores;
        // A flush stands for no load or store.
        prop_assert!(done >= u64::from(cores) * accesses * 9 / 10, "{} were done", done);
        prop_assert!(home.loads > 0 && home.stores > 0);
        prop_assert!(home.snoops[1] > 0 && home.snoops[0] > 0, "{:?}", home.snoops);
        prop_assert!(lines < 400 || home.given_up > 0);
    }
}

/// What a host asks for, and what its snoops find, in a program without chance.
#[test]
fn a_store_to_a_line_that_was_read_asks_to_own_it_once() {
    let line = |op| sluice_host::Instr {
        addr: 0,
        work: 0,
        after: 1,
        op,
    };
    let body = vec![
        line(MemOp::Load),
        line(MemOp::Store),
        line(MemOp::Store),
        line(MemOp::Load),
    ];
    let config = core_rig::host();
    let mut program = core_rig::Loop::new(1, body, 0, 3);
    let mut host = Host::with_port(&config, &mut program);
    host.share(true);
    let mut asked = Vec::new();
    let mut pending: Vec<Ask> = Vec::new();
    loop {
        pending.extend(host.take_asks());
        if host.next_at().is_some() {
            host.step();
        } else if let Some(ask) = pending.pop() {
            asked.push(ask.what);
            let owned = ask.what == AskFor::Owned;
            let reply = Reply {
                owned,
                ..Reply::default()
            };
            host.answer(ask.at + AWAY, ask.tag, &reply);
        } else {
            break;
        }
    }
    assert_eq!(asked, [AskFor::Line, AskFor::Owned]);
    // It was written, once; then nothing is left to find.
    assert!(host.snoop(0, State::Shared));
    assert!(!host.snoop(0, State::Invalid));
    // The first two stores waited for the right together, and were done as one.
    let stores = host.take_performed().filter(|done| done.is_store);
    assert_eq!(stores.count(), 5);
}
