//! Closed forms. Times are equal to the picosecond, so both sides of each are pinned.

use super::{BASE, settings};
use crate::layout::Block;
use crate::nand::{Flash, Nand, Origin, Served};
use sluice_units::{Ppn, Ps};

pub(super) const READ: u64 = 20;
pub(super) const PROGRAM: u64 = 50;
const ERASE: u64 = 90;
pub(super) const BUS: u64 = 7;

/// One channel of one die of one plane.
pub(super) const ONE_DIE: &[(&str, &str)] = &[("nand.channels", "1"), ("nand.dies", "1")];
pub(super) const READ_FIRST: (&str, &str) = ("nand.priority", "read_first");

pub(super) struct Rig {
    pub nand: Nand,
    now: Ps,
}

pub(super) fn rig(groups: &[&[(&str, &str)]]) -> Rig {
    Rig {
        nand: Nand::new(&settings(&groups.concat()), 1),
        now: Ps::ZERO,
    }
}

impl Rig {
    pub fn at(&mut self, now: u64) -> &mut Rig {
        self.now = Ps(now);
        self.nand.pass(self.now);
        self
    }

    pub fn read(&mut self, ppn: u32) -> Served {
        let served = self.nand.read(self.now, Ppn(ppn), Origin::Host);
        served.unwrap_or(Served::at_once(self.now))
    }

    fn done(&mut self, ppn: u32) -> u64 {
        self.read(ppn).done_at.0
    }

    pub fn program(&mut self, ppn: u32) {
        self.nand.program(self.now, Ppn(ppn), Origin::Host).unwrap();
    }

    fn erase(&mut self, block: u32) {
        self.nand.erase(self.now, Block(block), Origin::Gc).unwrap();
    }

    /// A page of a plane, counted among all planes.
    fn page(&self, plane: u32, page: u32) -> u32 {
        plane * self.nand.layout.pages_per_plane() + page
    }
}

fn parts(queue: u64, gc: u64, service: u64) -> (Ps, Ps, Ps) {
    (Ps(queue), Ps(gc), Ps(service))
}

#[test]
fn an_idle_read_is_all_service() {
    let served = rig(&[ONE_DIE]).at(100).read(0);
    assert_eq!(served.done_at, Ps(100 + READ + BUS));
    assert_eq!(
        (served.queue, served.gc, served.service),
        parts(0, 0, READ + BUS)
    );
}

/// With two registers the slower of cells and bus sets the pace; with one they take turns.
#[test]
fn k_reads_of_a_die() {
    for (bus, cached) in [("7ps", READ), ("20ps", 20), ("33ps", 33)] {
        let mut on = rig(&[ONE_DIE, &[("nand.transfer", bus)]]);
        let mut off = rig(&[
            ONE_DIE,
            &[("nand.transfer", bus), ("nand.cache_read", "off")],
        ]);
        let bus = bus.trim_end_matches("ps").parse::<u64>().unwrap();
        for k in 1..=9u64 {
            assert_eq!(
                on.done(k as u32),
                READ + bus + (k - 1) * cached,
                "{k} with {bus}"
            );
            assert_eq!(off.done(k as u32), k * (READ + bus), "{k} with {bus}");
        }
    }
}

/// `dies / read` pages a second until the bus is the limit, and one per transfer from there on.
#[test]
fn a_channel_saturates_where_its_dies_fill_the_bus() {
    const ROUNDS: u64 = 12;
    for (dies, bound) in [
        ("1", false),
        ("2", false),
        ("4", false),
        ("5", true),
        ("16", true),
    ] {
        let pairs = [
            ("nand.channels", "1"),
            ("nand.dies", dies),
            ("nand.transfer", "5ps"),
        ];
        let mut rig = rig(&[&pairs]);
        let dies = dies.parse::<u32>().unwrap();
        let mut last = 0;
        for round in 0..ROUNDS as u32 {
            for die in 0..dies {
                let ppn = rig.page(die, round);
                last = rig.done(ppn);
            }
        }
        let expected = match bound {
            true => READ + ROUNDS * u64::from(dies) * 5,
            false => ROUNDS * READ + u64::from(dies) * 5,
        };
        assert_eq!(last, expected, "{dies} dies");
    }
}

#[test]
fn a_command_takes_the_channel_before_the_cells_work() {
    let mut rig = rig(&[ONE_DIE, &[("nand.command", "3ps")]]);
    assert_eq!(rig.done(0), 3 + READ + BUS);
    rig.at(1_000).program(1);
    assert_eq!(rig.done(0), 1_000 + (3 + BUS + PROGRAM) + 3 + READ + BUS);
    rig.at(2_000).erase(1);
    assert_eq!(rig.done(0), 2_000 + (3 + ERASE) + 3 + READ + BUS);
}

#[test]
fn a_bus_has_a_width_and_a_rate() {
    let pairs = |width, rate| {
        [
            ("nand.transfer", "bus"),
            ("nand.bus_width", width),
            ("nand.bus_rate", rate),
        ]
    };
    // 4,096 bytes over eight lines are 4,096 transfers; a started picosecond counts.
    for (width, rate, expected) in [
        ("8", "1000", 4_096_000),
        ("16", "1000", 2_048_000),
        ("8", "1200", 3_413_334),
    ] {
        assert_eq!(settings(&pairs(width, rate)).nand.transfer, Ps(expected));
    }
}

#[test]
fn a_read_waits_for_all_programs_in_fifo_order_and_for_the_running_one_with_reads_first() {
    let end = BUS + PROGRAM;
    let mut fifo = rig(&[ONE_DIE]);
    let mut first = rig(&[ONE_DIE, &[READ_FIRST]]);
    for rig in [&mut fifo, &mut first] {
        (1..4).for_each(|page| rig.program(page));
    }
    let served = fifo.at(10).read(0);
    assert_eq!(served.done_at.0, 3 * end + READ + BUS);
    assert_eq!((served.queue, served.gc), (Ps(3 * end - 10), Ps::ZERO));
    let served = first.at(10).read(0);
    assert_eq!(served.done_at.0, end + READ + BUS);
    // The second program begins when the read has left its cells; its data waits for the bus.
    let begins = end + READ;
    assert_eq!(first.at(begins).done(0), begins + READ + BUS);
    let second = begins + READ + BUS + BUS + PROGRAM;
    assert_eq!(first.at(begins + READ + 1).done(0), second + READ + BUS);
}

/// A program or an erase of `cells`, begun at zero, that reads suspend from 25 on.
fn suspended(kind: &str) -> (Rig, u64) {
    let pairs = [
        READ_FIRST,
        ("nand.suspend", kind),
        ("nand.suspend_latency", "4ps"),
        ("nand.resume_latency", "6ps"),
        ("nand.suspend_reads", "3"),
    ];
    let mut rig = rig(&[ONE_DIE, &pairs]);
    match kind {
        "program" => rig.program(1),
        _ => rig.erase(1),
    }
    let end = if kind == "program" {
        BUS + PROGRAM
    } else {
        ERASE
    };
    (rig, end)
}

#[test]
fn a_read_suspends_a_program_or_an_erase() {
    for kind in ["program", "erase"] {
        let (mut rig, end) = suspended(kind);
        let served = rig.at(25).read(0);
        assert_eq!(served.done_at.0, 25 + 4 + READ + BUS, "{kind}");
        let gc = if kind == "erase" { 4 } else { 0 };
        assert_eq!((served.queue, served.gc), (Ps(4 - gc), Ps(gc)), "{kind}");
        // A second read joins the suspension, up to the moment at which the first ends.
        assert_eq!(rig.at(25 + 4 + READ).done(0), 25 + 4 + 2 * READ + BUS);
        // What is left then goes on after the resumption, unless a third suspends it again.
        let resumed = 25 + 4 + 2 * READ;
        let end = end - 25 + resumed + 6;
        assert_eq!(
            rig.at(end - 1).done(0),
            end + READ + BUS,
            "{kind}: not worth suspending"
        );
        assert_eq!(rig.nand.posted.as_ref().unwrap().suspensions, 1);
    }
}

/// A suspension pays if the read begins before the operation would have ended.
#[test]
fn a_suspension_that_gains_nothing_is_not_made() {
    for kind in ["program", "erase"] {
        let (mut rig, end) = suspended(kind);
        assert_eq!(rig.at(end - 4).done(0), end + READ + BUS);
        let (mut rig, end) = suspended(kind);
        assert_eq!(rig.at(end - 5).done(0), end - 1 + READ + BUS);
        let (mut rig, end) = suspended(kind);
        assert_eq!(rig.at(end).done(0), end + READ + BUS);
    }
}

#[test]
fn an_operation_lets_so_many_reads_pass_and_no_more() {
    let (mut rig, end) = suspended("erase");
    for turn in 1..=3 {
        assert_eq!(rig.at(25).done(0), 25 + 4 + turn * READ + BUS);
    }
    let end = end + 4 + 3 * READ + 6;
    let served = rig.at(25).read(0);
    assert_eq!(served.done_at.0, end + READ + BUS);
    // It waits for the three reads, and for collection's erase before and after them.
    assert_eq!(
        (served.queue, served.gc),
        (Ps(3 * READ), Ps(end - 25 - 3 * READ))
    );
}

/// Data on its way to the die is not interrupted; the cells are.
#[test]
fn a_program_is_suspended_once_its_data_is_loaded() {
    let (mut rig, _) = suspended("program");
    assert_eq!(rig.at(1).done(0), BUS + 4 + READ + BUS);
}

#[test]
fn a_read_behind_collection_waits_for_its_step() {
    let one = READ + BUS + BUS + PROGRAM;
    for (order, wait) in [
        (("nand.priority", "fifo"), 3 * one + ERASE),
        (READ_FIRST, READ),
    ] {
        let mut rig = rig(&[ONE_DIE, &[order]]);
        for page in 0..3 {
            rig.nand
                .copy(Ps::ZERO, Ppn(page), Ppn(16 + page), Origin::Gc)
                .unwrap();
        }
        rig.erase(0);
        let served = rig.at(5).read(40);
        assert_eq!(served.done_at.0, wait + READ + BUS, "{order:?}");
        assert_eq!((served.queue.0, served.gc.0), (0, wait - 5), "{order:?}");
    }
}

/// More stretches of collection than are kept apart: one that stood for two, and for the erase
/// between them, counted that erase twice, and its wait was longer than the read's.
#[test]
fn a_wait_for_posted_collection_counts_once() {
    for erase in [ERASE, READ / 2] {
        let time = format!("{erase}ps");
        let pairs = [READ_FIRST, ("nand.transfer", "0ps"), ("nand.erase", &time)];
        let mut rig = rig(&[ONE_DIE, &pairs]);
        for page in 0..6 {
            rig.read(page);
            rig.nand.read(Ps::ZERO, Ppn(page), Origin::Gc);
        }
        rig.erase(3);
        // Ahead of the clock, as behind a full MSHR: nothing has passed yet.
        let now = Ps(12 * READ + 1);
        rig.nand.read(now, Ppn(0), Origin::Gc);
        let served = rig.nand.read(now, Ppn(1), Origin::Host).unwrap();
        assert_eq!(
            (served.queue, served.gc, served.service),
            parts(0, erase - 1 + READ, READ)
        );
        assert_eq!(served.done_at, now + Ps(erase - 1 + 2 * READ));
    }
}

#[test]
fn a_full_queue_goes_before_later_reads() {
    let mut rig = rig(&[ONE_DIE, &[READ_FIRST, ("nand.write_queue", "2")]]);
    let one = BUS + PROGRAM;
    (1..6).for_each(|page| rig.program(page));
    assert_eq!(rig.done(0), 3 * one + READ + BUS);
    assert_eq!(rig.nand.posted.as_ref().unwrap().forced, 3);
}

/// The controller has the data until the cells have it.
#[test]
fn a_page_being_written_is_read_from_the_controller() {
    let mut early = rig(&[ONE_DIE, &[READ_FIRST]]);
    (1..3).for_each(|page| early.program(page));
    assert_eq!(early.at(3).done(2), 3, "waits");
    let end = BUS + PROGRAM;
    assert_eq!(early.at(end - 1).done(1), end - 1, "is being programmed");
    let mut late = rig(&[ONE_DIE, &[READ_FIRST]]);
    late.program(1);
    assert_eq!(late.at(end).done(1), end + READ + BUS);
}

const TWO_PLANES: &[(&str, &str)] = &[
    ("nand.channels", "1"),
    ("nand.dies", "1"),
    ("nand.planes", "2"),
];

#[test]
fn planes_read_together_what_is_asked_for_before_the_first_begins() {
    for (rule, page, later, shared) in [
        ("same_page", 0, 0, true),
        ("same_page", 1, 0, false),
        ("same_page", 0, 1, false),
        ("any", 1, 0, true),
        ("off", 0, 0, false),
    ] {
        let mut rig = rig(&[TWO_PLANES, &[("nand.multi_plane", rule)]]);
        assert_eq!(rig.done(0), READ + BUS);
        let other = rig.page(1, page);
        let expected = if shared {
            READ + 2 * BUS
        } else {
            2 * READ + BUS
        };
        assert_eq!(rig.at(later).done(other), expected, "{rule} {page} {later}");
        // A plane is busy with its own read, and never shares that.
        let after = if shared {
            2 * READ + BUS
        } else {
            3 * READ + BUS
        };
        assert_eq!(
            rig.at(later).done(other),
            after.max(expected + BUS),
            "{rule}"
        );
    }
}

#[test]
fn planes_program_and_erase_together() {
    for order in [("nand.priority", "fifo"), READ_FIRST] {
        let mut programs = rig(&[TWO_PLANES, &[order]]);
        let other = programs.page(1, 3);
        programs.program(3);
        programs.program(other);
        let end = 2 * BUS + PROGRAM;
        assert_eq!(programs.at(1).done(0), end + READ + BUS, "{order:?}");

        let mut erases = rig(&[TWO_PLANES, &[order]]);
        let second = erases.nand.layout.blocks_per_plane + 1;
        erases.erase(0);
        erases.erase(second);
        assert_eq!(erases.at(1).done(20), ERASE + READ + BUS, "{order:?}");
    }
}

#[test]
fn pages_of_a_cell_take_their_own_times() {
    let pairs = [
        ("nand.cell", "tlc"),
        ("nand.read_csb", "30ps"),
        ("nand.read_msb", "45ps"),
        ("nand.program_msb", "80ps"),
    ];
    let mut rig = rig(&[ONE_DIE, &pairs]);
    for (page, read, program) in [
        (0, 20, 50),
        (1, 30, 50),
        (2, 45, 80),
        (3, 20, 50),
        (17, 30, 50),
    ] {
        let now = rig.now.0 + 1_000;
        assert_eq!(rig.at(now).done(page), now + read + BUS, "page {page}");
        rig.at(now + 500).program(page);
        assert_eq!(
            rig.done(0),
            now + 500 + BUS + program + READ + BUS,
            "page {page}"
        );
    }
}

#[test]
fn the_base_is_what_the_constants_say() {
    let value = |key| BASE.iter().find(|(name, _)| *name == key).unwrap().1;
    let text = |ps: u64| format!("{ps}ps");
    assert_eq!(value("nand.read"), text(READ));
    assert_eq!(value("nand.program"), text(PROGRAM));
    assert_eq!(value("nand.erase"), text(ERASE));
    assert_eq!(value("nand.transfer"), text(BUS));
}

/// The counts of Algorithm 1: what was asked for and has not ended, on the whole channel.
#[test]
fn an_outlook_counts_the_channel_until_each_operation_ends() {
    for order in [("nand.priority", "fifo"), READ_FIRST] {
        let mut rig = rig(&[&[("nand.channels", "1"), order]]);
        rig.nand.watch();
        let other = rig.page(1, 0);
        rig.program(1);
        rig.program(other);
        rig.erase(3);
        let mut seen = |now: u64| {
            let outlook = rig.at(now).nand.outlook(Ps(now), Ppn(0)).unwrap();
            [outlook.reads, outlook.programs, outlook.erases]
        };
        // The dies load one after the other; the erase follows the first program.
        let [first, second] = [BUS + PROGRAM, 2 * BUS + PROGRAM];
        let erased = first + ERASE;
        let times = [1, first - 1, first, second - 1, second, erased - 1, erased];
        let counts = [
            [0, 2, 1],
            [0, 2, 1],
            [0, 1, 1],
            [0, 1, 1],
            [0, 0, 1],
            [0, 0, 1],
            [0, 0, 0],
        ];
        assert_eq!(times.map(&mut seen), counts, "{order:?}");
        let done = rig.at(1_000).done(0);
        let reads = [done - 1, done].map(|now| rig.nand.outlook(Ps(now), Ppn(0)).unwrap().reads);
        assert_eq!(reads, [1, 0]);
    }
}

#[test]
fn an_outlook_counts_a_suspended_program_until_it_ends() {
    let (mut rig, end) = suspended("program");
    rig.nand.watch();
    let (mut rig, end) = {
        // Asked for again, now that it is counted.
        let now = end + 100;
        rig.at(now).program(2);
        assert_eq!(rig.at(now + 25).done(0), now + 25 + 4 + READ + BUS);
        (rig, now + end + 4 + READ + 6)
    };
    let counts = [end - 1, end].map(|now| rig.nand.outlook(Ps(now), Ppn(0)).unwrap().programs);
    assert_eq!(counts, [1, 0]);
}

#[test]
fn an_outlook_tells_whether_collection_is_in_the_way() {
    for (pairs, blocked) in [
        (&[("nand.priority", "fifo")][..], true),
        (&[READ_FIRST], true),
        (&[READ_FIRST, ("nand.suspend", "erase")], false),
    ] {
        let mut rig = rig(&[ONE_DIE, pairs, &[("nand.suspend_latency", "4ps")]]);
        rig.erase(3);
        let seen =
            [1, ERASE - 1, ERASE].map(|now| rig.at(now).nand.outlook(Ps(now), Ppn(0)).unwrap().gc);
        // Where it can be suspended, it is not worth that just before its end.
        assert_eq!(seen, [blocked, true, false], "{pairs:?}");
    }
}
