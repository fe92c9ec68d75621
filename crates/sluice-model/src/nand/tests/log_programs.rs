//! When programs of the write log end, where reads go first.

use super::forms::{BUS, ONE_DIE, PROGRAM, READ, READ_FIRST, rig};
use crate::nand::{Flash, Origin, ProgramEnd};
use sluice_units::{Ppn, Ps};

/// Of two that the full queue lets go first, each ends when its own program does.
#[test]
fn a_program_of_the_log_ends_when_it_does_although_others_went_first() {
    let queue = ("nand.write_queue", "2");
    let mut rig = rig(&[ONE_DIE, &[READ_FIRST, queue]]);
    (1..5).for_each(|page| {
        rig.nand.program(Ps::ZERO, Ppn(page), Origin::Log).unwrap();
        // The log asks at once, and once more when it may know.
        let asked = rig.nand.program_end(Ps::ZERO, Ppn(page));
        assert!(matches!(asked, ProgramEnd::NotBefore(_)), "page {page}");
    });
    let one = BUS + PROGRAM;
    for page in [2, 1] {
        let end = Ps(u64::from(page) * one);
        let known = rig.nand.program_end(Ps::ZERO, Ppn(page));
        assert_eq!(known, ProgramEnd::At(end), "page {page}");
    }
}

/// A program of the log is under way, and put off by a read, when a full queue lets another go
/// first. It had been called done when the log asked again, before it was.
#[test]
fn a_program_of_the_log_under_way_ends_when_it_does_although_others_went_first() {
    let mut rig = rig(&[
        ONE_DIE,
        &[
            READ_FIRST,
            ("nand.write_queue", "2"),
            ("nand.suspend", "program"),
            ("nand.suspend_latency", "4ps"),
            ("nand.resume_latency", "6ps"),
        ],
    ]);
    let one = BUS + PROGRAM;
    rig.nand.program(Ps::ZERO, Ppn(1), Origin::Log).unwrap();
    let asked = rig.nand.program_end(Ps::ZERO, Ppn(1));
    assert_eq!(asked, ProgramEnd::NotBefore(Ps(PROGRAM)));
    rig.at(25).read(0);
    let end = 25 + 4 + READ + 6 + (one - 25);
    (2..5).for_each(|page| rig.program(page));
    assert_eq!(rig.nand.posted.as_ref().unwrap().forced, 1);
    // The log asks again when the answer says.
    let again = Ps(PROGRAM);
    let known = rig.at(PROGRAM).nand.program_end(again, Ppn(1));
    assert_eq!(known, ProgramEnd::At(Ps(end)));
}
