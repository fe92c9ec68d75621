//! Row hits first, against a list that is searched from its front, and against closed forms.

use proptest::prelude::*;
use sluice_model::Op;
use sluice_model::dram::{Dram, DramLayout, STANDARDS, Scheduled, Standard};
use sluice_units::Ps;

fn ddr4() -> &'static Standard {
    STANDARDS.iter().find(|it| it.name == "ddr4-2400").unwrap()
}

/// One channel, neighbouring lines in one row.
fn layout() -> DramLayout {
    DramLayout {
        standard: ddr4(),
        channels: 1,
        ranks: 1,
        mapping: [0, 1, 2, 3, 4, 5],
        hashes_banks: false,
        closes_rows: false,
    }
}

/// A line of a row of the first bank.
fn line(row: u64, column: u64) -> u64 {
    let s = ddr4();
    row * s.row_bytes * s.bank_groups * s.banks + column * 64
}

/// Ids with the times at which they are done, in that order.
fn drain(dram: &mut Scheduled) -> Vec<(Ps, u64)> {
    let mut all = Vec::new();
    while let Some(at) = dram.next_at() {
        dram.advance(at, |id| all.push((at, id)));
    }
    all
}

/// Which of the rows goes next, again and again: of the first `entries` that wait the first to the
/// row before, or the first.
fn by_searching(rows: &[u64], entries: usize) -> Vec<u64> {
    let mut waiting: Vec<(u64, u64)> = (0..).zip(rows.iter().copied()).collect();
    let (mut order, mut open) = (Vec::new(), None);
    while !waiting.is_empty() {
        let queue = &waiting[..entries.min(waiting.len())];
        let hit = queue.iter().position(|(_, row)| Some(*row) == open);
        let (id, row) = waiting.remove(hit.unwrap_or(0));
        open = Some(row);
        order.push(id);
    }
    order
}

proptest! {
    /// Few enough to be done before a refresh closes the row.
    #[test]
    fn a_bank_takes_what_a_search_finds(
        rows in prop::collection::vec(0u64..4, 1..60),
        entries in 1usize..20,
    ) {
        let mut dram = Scheduled::new(&layout(), entries);
        for (id, row) in (0..).zip(&rows) {
            dram.request(Ps::ZERO, id, line(*row, id), Op::Read);
        }
        let order: Vec<u64> = drain(&mut dram).into_iter().map(|(_, id)| id).collect();
        prop_assert_eq!(order, by_searching(&rows, entries));
    }

    /// With room for one nothing is reordered: the same times as in the order of arrival, if the
    /// next comes when the one before is taken.
    #[test]
    fn a_queue_of_one_is_the_order_of_arrival(
        lines in prop::collection::vec((0u64..4, 0u64..8, any::<bool>()), 1..200),
    ) {
        let (mut one, mut plain) = (Scheduled::new(&layout(), 1), Dram::new(&layout()));
        let (mut expected, mut now) = (Vec::new(), Ps::ZERO);
        for (id, (row, column, write)) in (0..).zip(lines) {
            let op = if write { Op::Write } else { Op::Read };
            one.request(Ps::ZERO, id, line(row, column), op);
            let access = plain.access(now, line(row, column), op);
            now = access.given_at;
            expected.push((access.done_at, id));
        }
        expected.sort_unstable();
        let mut found = drain(&mut one);
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}

/// Two rows in turn: in order of arrival each access closes the row of the one before, in a queue
/// that holds all the second row is opened once.
#[test]
fn two_rows_in_turn_are_opened_once_each() {
    let s = ddr4();
    let cycles = |count: u64| Ps(count * s.clock.0);
    let last = |entries| {
        let mut dram = Scheduled::new(&layout(), entries);
        for id in 0..32 {
            dram.request(Ps::ZERO, id, line(id % 2, id / 2), Op::Read);
        }
        drain(&mut dram).last().unwrap().0
    };
    // 16 hits of a bank are tCCD_L apart; a row is closed tRTP after its last read.
    let row = cycles(s.rcd + 15 * s.ccd_l);
    let read = cycles(s.read_latency + s.burst);
    assert_eq!(last(32), row + cycles(s.rtp + s.rp) + row + read);
    // A row stays open for tRAS, and is closed before the next is opened.
    let conflict = cycles(s.ras + s.rp);
    assert_eq!(last(1), conflict * 31 + cycles(s.rcd) + read);
}

/// Banks do not wait for each other: what is alone in its bank is served as if it were alone.
#[test]
fn a_busy_bank_keeps_no_other_waiting() {
    let mut dram = Scheduled::new(&layout(), 32);
    for id in 0..16 {
        dram.request(Ps::ZERO, id, line(id, 0), Op::Read);
    }
    let other_bank = ddr4().row_bytes * ddr4().banks;
    dram.request(Ps::ZERO, 99, other_bank, Op::Read);
    let done = drain(&mut dram);
    let place = done.iter().position(|(_, id)| *id == 99).unwrap();
    assert!(place <= 1, "{done:?}");
}

/// Rank, bank group, and what an access does.
type Place = (u64, u64, Op);

/// Cycles from one column command to another: JEDEC's rules between accesses to open rows.
fn apart(first: Place, second: Place) -> u64 {
    let s = ddr4();
    let (same_rank, same_group) = (first.0 == second.0, first.1 == second.1);
    let latency = |op| match op {
        Op::Write => s.write_latency,
        _ => s.read_latency,
    };
    // The data of the first, and a gap, before the data of the second.
    let bus = |gap: u64| latency(first.2) + s.burst + gap - latency(second.2);
    match (first.2, second.2) {
        _ if !same_rank => bus(s.rtrs).max(1),
        (Op::Write, Op::Read) => {
            s.write_latency + s.burst + if same_group { s.wtr_l } else { s.wtr_s }
        }
        (Op::Read, Op::Write) => bus(s.rtw),
        (Op::Write, _) if same_group => s.ccd_l_wr,
        _ if same_group => s.ccd_l,
        _ => s.ccd_s,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(96)))]

    /// Rows that are open: a channel gives what can be given first, and of several the oldest. The
    /// twin goes through the cycles one by one.
    #[test]
    fn a_channel_gives_what_can_be_given_first(
        accesses in prop::collection::vec((0u64..2, 0u64..4, 0u64..4, any::<bool>()), 1..60),
    ) {
        let s = ddr4();
        let two_ranks = DramLayout { ranks: 2, ..layout() };
        let mut dram = Scheduled::new(&two_ranks, 64);
        // Ro Ra Bg Ba Co Ch: all in the first row.
        let addr = |rank: u64, group: u64, bank: u64| {
            ((rank * s.bank_groups + group) * s.banks + bank) * s.row_bytes
        };
        for place in 0..2 * s.bank_groups * s.banks {
            dram.request(Ps::ZERO, place, place * s.row_bytes, Op::Read);
        }
        drain(&mut dram);
        let start = Ps(1_000 * s.clock.0);
        let mut waiting = Vec::new();
        for (id, (rank, group, bank, write)) in (0..).zip(accesses) {
            let op = if write { Op::Write } else { Op::Read };
            dram.request(start, id, addr(rank, group, bank), op);
            waiting.push((id, (rank, group, op), bank));
        }
        let mut found = drain(&mut dram);

        let (mut given, mut expected) = (Vec::<(u64, Place)>::new(), Vec::new());
        let mut cycle = 1_000;
        while !waiting.is_empty() {
            let may = |at: usize| {
                let (_, place, bank): (u64, Place, u64) = waiting[at];
                let oldest = waiting[..at].iter().all(|(_, older, of)| {
                    (older.0, older.1, *of) != (place.0, place.1, bank)
                });
                oldest && given.iter().all(|(before, first)| before + apart(*first, place) <= cycle)
            };
            match (0..waiting.len()).find(|at| may(*at)) {
                Some(at) => {
                    let (id, place, _) = waiting.remove(at);
                    given.push((cycle, place));
                    let latency = match place.2 {
                        Op::Write => s.write_latency,
                        _ => s.read_latency,
                    };
                    expected.push((Ps((cycle + latency + s.burst) * s.clock.0), id));
                }
                None => cycle += 1,
            }
        }
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}
