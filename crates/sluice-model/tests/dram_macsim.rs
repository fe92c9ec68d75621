//! Is `macsim-skybyte` the controller of SkyByte's artifact? Its cycles counted by hand, and its
//! banks by its own formula.

use proptest::prelude::*;
use sluice_model::Op;
use sluice_model::dram::{Dram, DramLayout, Row, STANDARDS};
use sluice_units::Ps;

const CYCLE: Ps = Ps(1_250);

fn layout() -> DramLayout {
    DramLayout {
        standard: STANDARDS
            .iter()
            .find(|s| s.name == "macsim-skybyte")
            .unwrap(),
        channels: 8,
        ranks: 1,
        // Ro Ra Ch Bg Ba Co: a row's 2 KiB, then the number of one of 16 banks.
        mapping: [0, 1, 5, 2, 3, 4],
        hashes_banks: true,
        closes_rows: false,
    }
}

/// Cycles of two reads, each with nothing else under way.
fn two_reads(first: u64, second: u64) -> (u64, Row) {
    let mut dram = Dram::new(&layout());
    dram.access(Ps::ZERO, first, Op::Read);
    let now = CYCLE * 1000;
    let access = dram.access(now, second, Op::Read);
    ((access.done_at - now).0 / CYCLE.0, access.row)
}

/// A command takes effect in the cycle after its time: 11 + 8 for a column, 25 + 1 before that for
/// a row, 10 + 1 before that to close another. Taking a request in and sending it off adds 3.
#[test]
fn a_hit_a_closed_row_and_a_conflict_in_cycles() {
    assert_eq!(two_reads(0, 64), (19, Row::Hit));
    assert_eq!(two_reads(0, 2048), (19 + 26, Row::Closed));
    // Row 1 of bank 0 is where row 0 has bank 1.
    assert_eq!(
        two_reads(0, (1 << 15) + 2048),
        (19 + 26 + 11, Row::Conflict)
    );
}

/// A bank takes the next request in the cycle after it has sent the one before.
#[test]
fn a_bank_serves_one_at_a_time() {
    let mut dram = Dram::new(&layout());
    dram.access(Ps::ZERO, 0, Op::Read);
    let now = CYCLE * 1000;
    let ends = (0..4).map(|line| dram.access(now, line * 64, Op::Read).done_at);
    let due: Vec<Ps> = (0..4).map(|turn| now + CYCLE * (19 + 20 * turn)).collect();
    assert_eq!(ends.collect::<Vec<_>>(), due);
}

proptest! {
    /// The bank is four bits above a row's 2 KiB, exclusively ored with the four above them.
    #[test]
    fn banks_are_those_of_the_formula(a in 0u64..1 << 36, b in 0u64..1 << 36) {
        let bank = |addr: u64| (addr >> 11 ^ addr >> 15) & 15;
        let row = |addr: u64| addr >> 15;
        let due = match () {
            () if bank(a) != bank(b) => Row::Closed,
            () if row(a) != row(b) => Row::Conflict,
            () => Row::Hit,
        };
        prop_assert_eq!(two_reads(a & !63, b & !63).1, due);
        let near = a ^ (b & 0x7fff);
        let same = bank(near) == bank(a);
        prop_assert_eq!(two_reads(a & !63, near & !63).1 == Row::Hit, same);
    }
}
