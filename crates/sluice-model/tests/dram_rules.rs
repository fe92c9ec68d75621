//! A plain checker of every rule of the standards, over random accesses: in the order in which they
//! come, and reordered by a controller.

use proptest::prelude::*;
use sluice_model::Op;
use sluice_model::dram::{Command, CommandKind, Dram, DramLayout, STANDARDS, Scheduled, Standard};
use sluice_units::Ps;

/// Every rule of the standard between every two commands, as plainly as it can be said.
struct Rules<'a> {
    s: &'a Standard,
    ranks: u64,
    commands: Vec<Command>,
}

impl Rules<'_> {
    fn cycles(&self, n: u64) -> Ps {
        Ps(n * self.s.clock.0)
    }

    fn check(&self) {
        for (index, second) in self.commands.iter().enumerate() {
            self.check_refresh(second);
            for first in &self.commands[..index] {
                if first.place.channel == second.place.channel {
                    self.check_pair(first, second);
                }
            }
        }
        self.check_banks();
        self.check_four_activates();
    }

    fn check_pair(&self, first: &Command, second: &Command) {
        use CommandKind::{Activate, Read, Write};
        let s = self.s;
        let (a, b) = (&first.place, &second.place);
        let same_rank = a.rank == b.rank;
        let same_group = same_rank && a.group == b.group;
        let same_bank = same_group && a.bank == b.bank;
        let apart = |n: u64, rule: &str| {
            assert!(
                first.at + self.cycles(n) <= second.at,
                "{rule}: {first:?} {second:?}"
            );
        };
        let by_group = |near, far| if same_group { near } else { far };
        match (first.kind, second.kind) {
            (Activate, Activate) if same_rank => apart(by_group(s.rrd_l, s.rrd_s), "tRRD"),
            (Read, Read) if same_rank => apart(by_group(s.ccd_l, s.ccd_s), "tCCD"),
            (Write, Write) if same_rank => apart(by_group(s.ccd_l_wr, s.ccd_s), "tCCD_WR"),
            (Write, Read) if same_rank => {
                let wtr = by_group(s.wtr_l, s.wtr_s);
                apart(s.write_latency + s.burst + wtr, "tWTR");
            }
            (Activate, Read | Write) if same_bank => apart(s.rcd, "tRCD"),
            (Activate, CommandKind::Precharge) if same_bank => apart(s.ras, "tRAS"),
            (Read, CommandKind::Precharge) if same_bank => apart(s.rtp, "tRTP"),
            (Write, CommandKind::Precharge) if same_bank => {
                apart(s.write_latency + s.burst + s.wr, "tWR");
            }
            (CommandKind::Precharge, Activate) if same_bank => apart(s.rp, "tRP"),
            _ => (),
        }
        self.check_bus(first, second);
    }

    /// Data must not overlap, with a gap where the direction or the rank changes.
    fn check_bus(&self, first: &Command, second: &Command) {
        use CommandKind::{Read, Write};
        let s = self.s;
        let latency = |c: &Command| match c.kind {
            Read => Some(s.read_latency),
            Write => Some(s.write_latency),
            _ => None,
        };
        let (Some(one), Some(two)) = (latency(first), latency(second)) else {
            return;
        };
        let turn = (first.kind, second.kind) == (Read, Write);
        let gap = match first.place.rank == second.place.rank {
            true if turn => s.rtw,
            true => 0,
            false => s.rtrs,
        };
        let one = first.at + self.cycles(one);
        let two = second.at + self.cycles(two);
        let need = self.cycles(s.burst + gap);
        assert!(
            one + need <= two || two + need <= one,
            "bus: {first:?} {second:?}"
        );
    }

    fn check_refresh(&self, c: &Command) {
        let s = self.s;
        let offset = Ps(c.place.rank * (s.refi.0 / self.ranks));
        let since = c.at.saturating_sub(offset).0 % s.refi.0;
        let first = c.at < offset + s.refi;
        assert!(first || since >= s.rfc.0, "in a refresh: {c:?}");
        let needs = match c.kind {
            CommandKind::Precharge => 0,
            CommandKind::Activate => s.ras + s.rp_all,
            CommandKind::Read => s.rtp + s.rp_all,
            CommandKind::Write => s.write_latency + s.burst + s.wr + s.rp_all,
        };
        let next = offset + s.refi * (c.at.saturating_sub(offset).0 / s.refi.0 + 1);
        assert!(
            c.at + self.cycles(needs) <= next,
            "open at a refresh: {c:?}"
        );
    }

    /// A column command needs its row open, an ACT a closed bank.
    fn check_banks(&self) {
        let mut open = std::collections::BTreeMap::new();
        for c in &self.commands {
            let p = c.place;
            let offset = Ps(p.rank * (self.s.refi.0 / self.ranks));
            let turn = c.at.saturating_sub(offset).0 / self.s.refi.0;
            let bank = open
                .entry((p.channel, p.rank, p.group, p.bank))
                .or_insert(None);
            let held = bank.filter(|(_, since)| *since == turn);
            match c.kind {
                CommandKind::Activate => {
                    assert_eq!(held, None, "ACT of an open bank: {c:?}");
                    *bank = Some((p.row, turn));
                }
                CommandKind::Precharge => *bank = None,
                _ => assert_eq!(held, Some((p.row, turn)), "no such row open: {c:?}"),
            }
        }
    }

    fn check_four_activates(&self) {
        let mut ranks = std::collections::BTreeMap::new();
        for c in self
            .commands
            .iter()
            .filter(|c| c.kind == CommandKind::Activate)
        {
            let rank = (c.place.channel, c.place.rank);
            ranks.entry(rank).or_insert_with(Vec::new).push(c.at);
        }
        for times in ranks.values() {
            for five in times.windows(5) {
                assert!(
                    five[0] + self.cycles(self.s.faw) <= five[4],
                    "tFAW: {five:?}"
                );
            }
        }
    }
}

/// When each access comes, its address, and whether it writes. Half of them go on from the last, so
/// that there are row hits.
fn accesses(steps: &[(u64, bool, bool)], pace: u64, capacity: u64) -> Vec<(Ps, u64, Op)> {
    let (mut now, mut addr) = (Ps::ZERO, 0);
    let step = |(draw, write, jump): &(u64, bool, bool)| {
        now += Ps(draw % (pace * 2_000 + 1));
        addr = if *jump { draw % capacity } else { addr + 64 };
        (now, addr, if *write { Op::Write } else { Op::Read })
    };
    steps.iter().map(step).collect()
}

fn check(layout: &DramLayout, mut commands: Vec<Command>) {
    commands.sort_by_key(|c| (c.at, c.kind == CommandKind::Precharge));
    let (s, ranks) = (layout.standard, layout.ranks);
    Rules { s, ranks, commands }.check();
}

prop_compose! {
    fn any_layout()(
        which in 0..STANDARDS.len(),
        (channels, ranks) in (0u32..3, 0u32..3),
        mapping in Just([0u8, 1, 2, 3, 4, 5]).prop_shuffle(),
        hashes_banks: bool,
        closes_rows: bool,
    ) -> DramLayout {
        DramLayout {
            standard: &STANDARDS[which],
            channels: 1 << channels,
            ranks: 1 << ranks,
            mapping,
            hashes_banks,
            closes_rows,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(96)))]

    #[test]
    fn no_two_commands_break_a_rule(
        layout in any_layout(),
        steps in prop::collection::vec(any::<(u64, bool, bool)>(), 1..300),
        pace in prop::sample::select(vec![0u64, 2, 30, 400]),
    ) {
        let (mut dram, mut commands) = (Dram::new(&layout), Vec::new());
        for (now, addr, op) in accesses(&steps, pace, layout.capacity()) {
            let mut last = Ps::ZERO;
            let access = dram.access_telling(now, addr, op, |c| {
                commands.push(c);
                if c.kind == CommandKind::Read || c.kind == CommandKind::Write {
                    last = c.at;
                }
            });
            prop_assert!(access.done_at > last && last >= now);
        }
        check(&layout, commands);
    }

    /// A controller that reorders keeps them too, and answers each access once.
    #[test]
    fn no_two_commands_of_a_controller_break_a_rule(
        layout in any_layout(),
        entries in 1usize..40,
        steps in prop::collection::vec(any::<(u64, bool, bool)>(), 1..200),
        pace in prop::sample::select(vec![0u64, 2, 30, 400]),
    ) {
        let (mut dram, mut commands) = (Scheduled::new(&layout, entries), Vec::new());
        let mut done = Vec::new();
        let mut until = |dram: &mut Scheduled, end: Ps| {
            while let Some(at) = dram.next_at().filter(|at| *at <= end) {
                dram.advance_telling(at, |id| done.push(id), |c| commands.push(c));
            }
        };
        for (id, (now, addr, op)) in (0..).zip(accesses(&steps, pace, layout.capacity())) {
            until(&mut dram, now);
            dram.request(now, id, addr, op);
        }
        until(&mut dram, Ps(u64::MAX));
        done.sort_unstable();
        prop_assert!(done.into_iter().eq(0..steps.len() as u64));
        check(&layout, commands);
    }
}
