//! Is the DRAM timing that of the standards? Closed forms, both sides pinned.

use sluice_model::Op;
use sluice_model::dram::{
    Command, CommandKind, Dram, DramAddress, DramLayout, FIELDS, Row, STANDARDS, Standard,
};
use sluice_units::Ps;

/// Ro Ra Ba Co Bg Ch: neighbouring lines in different bank groups.
const SPREAD: [u8; 6] = [0, 1, 3, 4, 2, 5];
/// Ro Ra Bg Ba Co Ch: neighbouring lines in one row.
const PACKED: [u8; 6] = [0, 1, 2, 3, 4, 5];

fn standard(name: &str) -> &'static Standard {
    STANDARDS.iter().find(|s| s.name == name).unwrap()
}

/// The standards that refresh; the other is in `dram_macsim`.
fn standards() -> impl Iterator<Item = &'static Standard> {
    STANDARDS.iter().filter(|s| s.rfc > Ps::ZERO)
}

fn dram(name: &str, mapping: [u8; 6]) -> Dram {
    Dram::new(&layout(standard(name), mapping))
}

fn layout(standard: &'static Standard, mapping: [u8; 6]) -> DramLayout {
    DramLayout {
        standard,
        channels: 1,
        ranks: 1,
        mapping,
        hashes_banks: false,
        closes_rows: false,
    }
}

fn read(dram: &mut Dram, now: Ps, addr: u64) -> (Ps, Row) {
    let access = dram.access(now, addr, Op::Read);
    (access.done_at, access.row)
}

/// Bytes from a row of a bank to the next row of the same bank, with `PACKED`.
fn next_row(s: &Standard) -> u64 {
    s.row_bytes * s.bank_groups * s.banks
}

#[test]
fn an_idle_read_opens_the_row_and_the_next_finds_it_open() {
    for s in standards() {
        let cycles = |n: u64| Ps(n * s.clock.0);
        let more = (64 / s.burst_bytes - 1) * s.ccd_l;
        let mut dram = dram(s.name, PACKED);
        let opened = cycles(s.rcd + s.read_latency + s.burst + more);
        assert_eq!(
            read(&mut dram, Ps::ZERO, 0),
            (opened, Row::Closed),
            "{}",
            s.name
        );
        assert_eq!(dram.layout().idle_read(), opened);
        let later = Ps::from_ns(500);
        let hit = cycles(s.read_latency + s.burst + more);
        assert_eq!(read(&mut dram, later, 64), (later + hit, Row::Hit));
        let later = Ps::from_ns(1_000);
        let conflict = (later + cycles(s.rp) + opened, Row::Conflict);
        assert_eq!(read(&mut dram, later, next_row(s)), conflict);
    }
}

/// DDR4-2400 in figures: 17 + 17 + 4 cycles of 833 ps, 17 more to close a row.
#[test]
fn ddr4_in_nanoseconds() {
    let mut dram = dram("ddr4-2400", PACKED);
    assert_eq!(read(&mut dram, Ps::ZERO, 0).0, Ps(38 * 833));
    assert_eq!(
        read(&mut dram, Ps::from_ns(100), 0).0,
        Ps(100_000 + 21 * 833)
    );
    let conflict = read(&mut dram, Ps::from_ns(200), 8_192 * 16).0;
    assert_eq!(conflict, Ps(200_000 + 55 * 833));
}

/// A row cannot be closed before tRAS: a conflict that comes a moment earlier ends no earlier.
#[test]
fn a_conflict_waits_for_tras() {
    let s = standard("ddr4-2400");
    let ras = Ps(s.ras * s.clock.0);
    let rest = Ps((s.rp + s.rcd + s.read_latency + s.burst) * s.clock.0);
    for (at, pre) in [(ras - Ps(1), ras), (ras, ras), (ras + Ps(1), ras + Ps(1))] {
        let mut dram = dram(s.name, PACKED);
        read(&mut dram, Ps::ZERO, 0);
        assert_eq!(read(&mut dram, at, next_row(s)).0, pre + rest);
    }
}

/// Hits of one bank group are tCCD_L apart, those of two take turns at tCCD_S.
#[test]
fn bank_groups_take_turns_on_the_bus() {
    for s in standards().filter(|s| s.bank_groups > 1) {
        let cycles = |n: u64| Ps(n * s.clock.0);
        let mut one = dram(s.name, PACKED);
        let mut two = dram(s.name, SPREAD);
        let start = Ps::from_ns(500);
        for bank in [&mut one, &mut two] {
            read(bank, Ps::ZERO, 0);
            read(bank, Ps::ZERO, 64);
        }
        let hit = cycles(s.read_latency + s.burst);
        for (turn, line) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
            let far = read(&mut two, start, line * 64);
            assert_eq!(far, (start + hit + cycles(s.ccd_s * turn), Row::Hit));
            let near = read(&mut one, start, line * 64);
            assert_eq!(near, (start + hit + cycles(s.ccd_l * turn), Row::Hit));
        }
        // At the very moment and one picosecond before it.
        let next = start + cycles(s.ccd_s * 3);
        assert_eq!(
            read(&mut two, next + cycles(s.ccd_s), 0).0,
            next + cycles(s.ccd_s) + hit
        );
        let again = next + cycles(s.ccd_s * 2);
        assert_eq!(read(&mut two, again - Ps(1), 64).0, again + hit);
    }
}

/// Five rows at once: the fifth ACT waits for tFAW, not only for four times tRRD.
#[test]
fn five_rows_at_once_wait_for_the_window_of_four() {
    let s = standard("ddr4-2400");
    let rows = |count: u64, at: Ps| {
        let mut dram = dram(s.name, [0, 1, 4, 3, 2, 5]);
        let mut activates = Vec::new();
        for line in 0..count {
            let now = if line == 4 { at } else { Ps::ZERO };
            let note = |c: Command| {
                if c.kind == CommandKind::Activate {
                    activates.push(c.at);
                }
            };
            dram.access_telling(now, line * 64, Op::Read, note);
        }
        activates
    };
    let faw = Ps(s.faw * s.clock.0);
    let rrd = Ps(s.rrd_s * s.clock.0);
    assert_eq!(rows(5, Ps::ZERO), [Ps::ZERO, rrd, rrd * 2, rrd * 3, faw]);
    assert_eq!(rows(5, faw - Ps(1))[4], faw);
    assert_eq!(rows(5, faw)[4], faw);
    assert_eq!(rows(5, faw + Ps(1))[4], faw + Ps(1));
}

/// A refresh starts every tREFI; a read that cannot be over by then waits for its end.
#[test]
fn a_read_fits_in_before_the_refresh_or_waits_for_its_end() {
    for s in standards().filter(|s| s.burst_bytes == 64) {
        let cycles = |n: u64| Ps(n * s.clock.0);
        let idle = dram(s.name, PACKED).layout().idle_read();
        let whole = cycles(s.ras.max(s.rcd + s.rtp) + s.rp_all);
        let last = s.refi - whole;
        assert_eq!(read(&mut dram(s.name, PACKED), last, 0).0, last + idle);
        let after = s.refi + s.rfc;
        for late in [last + Ps(1), s.refi, after] {
            assert_eq!(read(&mut dram(s.name, PACKED), late, 0).0, after + idle);
        }
        let late = after + Ps(1);
        assert_eq!(read(&mut dram(s.name, PACKED), late, 0).0, late + idle);
        // A refresh closes every row.
        let mut twice = dram(s.name, PACKED);
        read(&mut twice, Ps::ZERO, 0);
        assert_eq!(read(&mut twice, after, 0).1, Row::Closed);
    }
}

/// A stream of reads fills the bus: between two refreshes, a burst every tCCD_S from the first
/// tRCD to the last moment at which rows can still be closed. That is nearly 1 - tRFC / tREFI.
#[test]
fn a_stream_fills_the_bus_but_for_refresh() {
    for s in standards() {
        let cycles = |n: u64| Ps(n * s.clock.0);
        let mut dram = dram(s.name, SPREAD);
        let (mut columns, turns) = (Vec::new(), 8);
        let mut line = 0;
        while columns.last().is_none_or(|at| *at < s.refi * turns) {
            dram.access_telling(Ps::ZERO, line * 64, Op::Read, |c| {
                if c.kind == CommandKind::Read {
                    columns.push(c.at);
                }
            });
            line += 1;
        }
        for turn in 1..turns {
            let (from, until) = (s.refi * turn, s.refi * (turn + 1));
            let held = columns
                .iter()
                .filter(|at| (from..until).contains(*at))
                .count() as u64;
            let room = until - from - s.rfc - cycles(s.rcd + s.rtp + s.rp_all);
            assert_eq!(
                held,
                room.0 / cycles(s.ccd_s).0 + 1,
                "{} turn {turn}",
                s.name
            );
            let ideal = (s.refi - s.rfc).0 / cycles(s.burst).0;
            assert!(
                held * 1_000 >= ideal * 978 && held <= ideal,
                "{held} of {ideal}"
            );
        }
    }
}

#[test]
fn closing_rows_makes_every_read_an_idle_one() {
    let s = standard("ddr4-2400");
    let closes_rows = true;
    let mut dram = Dram::new(&DramLayout {
        closes_rows,
        ..layout(s, PACKED)
    });
    let idle = dram.layout().idle_read();
    for turn in 0..5 {
        let now = Ps::from_ns(100) * turn;
        let row = if turn % 2 == 0 { 0 } else { next_row(s) };
        assert_eq!(read(&mut dram, now, row), (now + idle, Row::Closed));
    }
    // The bank is shut for tRAS + tRP after an ACT.
    let (now, shut) = (Ps::from_us(1), Ps((s.ras + s.rp) * s.clock.0));
    read(&mut dram, now, 0);
    assert_eq!(read(&mut dram, now, 0).0, now + shut + idle);
}

/// A busy bank does not hold up another: accesses to different banks pass each other.
#[test]
fn banks_pass_each_other() {
    let s = standard("ddr4-2400");
    let mut dram = dram(s.name, PACKED);
    read(&mut dram, Ps::ZERO, 0);
    read(&mut dram, Ps::ZERO, s.row_bytes);
    let now = Ps::from_ns(100);
    let conflict = read(&mut dram, now, next_row(s)).0;
    let hit = read(&mut dram, now, s.row_bytes).0;
    assert_eq!(hit, now + Ps((s.read_latency + s.burst) * s.clock.0));
    assert!(hit < conflict);
}

#[test]
fn fields_come_in_the_order_of_the_mapping() {
    let s = standard("ddr5-4800");
    let mut place = None;
    let mut at = |mapping, addr| {
        let layout = DramLayout {
            channels: 4,
            ranks: 2,
            ..layout(s, mapping)
        };
        Dram::new(&layout).access_telling(Ps::ZERO, addr, Op::Read, |c| place = Some(c.place));
        place.unwrap()
    };
    let zero = DramAddress {
        channel: 0,
        rank: 0,
        group: 0,
        bank: 0,
        row: 0,
    };
    assert_eq!(FIELDS, ["Ro", "Ra", "Bg", "Ba", "Co", "Ch"]);
    assert_eq!(at(PACKED, 63), zero);
    assert_eq!(at(PACKED, 64 * 3), DramAddress { channel: 3, ..zero });
    assert_eq!(at(PACKED, 64 * 4 * 64), DramAddress { bank: 1, ..zero });
    assert_eq!(
        at(PACKED, 64 * 4 * 64 * 4 * 8 * 2 * 5),
        DramAddress { row: 5, ..zero }
    );
    assert_eq!(at(SPREAD, 64 * 4 * 7), DramAddress { group: 7, ..zero });
}

/// A rank of one channel: eight chips of 8 Gbit, four of 16 Gbit, a half of one of 8 Gbit.
#[test]
fn memory_is_as_large_as_its_chips() {
    for (name, mib) in [
        ("ddr4-2400", 8192),
        ("ddr5-4800", 8192),
        ("lpddr4-3200", 512),
    ] {
        for (channels, ranks) in [(1, 1), (4, 1), (2, 3)] {
            let mut layout = layout(standard(name), SPREAD);
            (layout.channels, layout.ranks) = (channels, ranks);
            assert_eq!(layout.capacity(), (channels * ranks * mib) << 20, "{name}");
        }
    }
}
