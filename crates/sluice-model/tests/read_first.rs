//! With reads first, what waits for its die makes that die busy, however long it had rested.

use sluice_model::{BlockOp, BlockRequest, Device, Hint};
use sluice_testkit::rig::{device, read, write};
use sluice_units::{Lpn, Ps};

const ORDERS: [&str; 2] = ["fifo", "read_first"];
const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);
/// The array has been idle for long.
const LATER: Ps = Ps::from_ms(1_000);

fn block(device: &mut Device, now: Ps, op: BlockOp, lpn: u64) -> Ps {
    let request = BlockRequest::new(op, Lpn::of(lpn), 1);
    device.block(now, request, &mut ()).unwrap().done_at
}

#[test]
fn a_block_flush_after_a_rest_waits_for_its_program() {
    for order in ORDERS {
        for at in [Ps::from_us(300), LATER] {
            let mut device = device(&[("nand.priority", order)]);
            write(&mut device, Ps::ZERO, 1);
            let done_at = block(&mut device, at, BlockOp::Flush, 1);
            assert_eq!(done_at, at + PROGRAM, "{order}");
        }
    }
}

#[test]
fn a_device_settles_after_what_it_was_asked_for() {
    for order in ORDERS {
        let mut device = device(&[("nand.priority", order)]);
        device.demote_to_flash(LATER, Lpn(3));
        assert_eq!(device.settle(LATER), LATER + PROGRAM, "{order}");
    }
}

/// Loading a page and its program are both part of the work.
#[test]
fn a_device_settles_after_the_transfers_too() {
    for order in ORDERS {
        let times = [("nand.transfer", "3us"), ("nand.command", "1us")];
        let one = [("nand.channels", "1"), ("nand.dies", "1")];
        let mut device = device(&[&times[..], &one, &[("nand.priority", order)]].concat());
        device.demote_to_flash(LATER, Lpn(3));
        device.demote_to_flash(LATER, Lpn(4));
        let both = (Ps::from_us(4) + PROGRAM) * 2;
        assert_eq!(device.settle(LATER), LATER + both, "{order}");
    }
}

/// Die 0 programs for 200 us, and die 1 reads for 120 us: die 1 is the next that is idle.
#[test]
fn a_write_goes_to_the_die_that_is_idle_next() {
    for order in ORDERS {
        let mut device = device(&[
            ("nand.priority", order),
            ("ftl.allocation", "idle"),
            ("nand.channels", "2"),
            ("nand.dies", "1"),
        ]);
        write(&mut device, Ps::ZERO, 0);
        write(&mut device, Ps::ZERO, 1);
        block(&mut device, LATER, BlockOp::Flush, 0);
        let reads = [11, 13, 15].map(|lpn| block(&mut device, LATER, BlockOp::Read, lpn));
        assert_eq!(reads[2], LATER + READ * 3 + Ps::from_ns(150), "{order}");
        let done_at = block(&mut device, LATER, BlockOp::Flush, 1);
        assert_eq!(done_at, LATER + READ * 3 + PROGRAM, "{order}");
    }
}

/// A write a second to one die, which is idle between them: it collects then, and not while it
/// programs.
#[test]
fn a_die_that_programs_for_the_host_does_not_collect_in_the_background() {
    for order in ORDERS {
        let mut device = device(&[
            ("device.capacity", "1MiB"),
            ("cache.capacity", "64KiB"),
            ("nand.priority", order),
            ("nand.channels", "1"),
            ("nand.dies", "1"),
            ("nand.pages_per_block", "64"),
            ("ftl.gc_background", "12"),
            ("ftl.gc_step", "4"),
            ("ftl.gc_threshold", "1"),
            ("ftl.overprovision", "400%"),
            ("ftl.precondition", "random"),
            ("ftl.precondition_writes", "800%"),
        ]);
        let mut rng = sluice_units::Rng::stream(3, "read_first");
        for second in 1..=300 {
            let now = Ps::from_ms(second * 1_000);
            device.demote_to_flash(now, Lpn::of(rng.below(256)));
            let before = device.stats().gc_moves;
            device.advance(now + PROGRAM - Ps::from_us(1));
            assert_eq!(device.stats().gc_moves, before, "{order}, second {second}");
        }
        assert!(device.stats().gc_moves > 0, "{order}");
    }
}

/// The page of a program that has not ended is still in the controller: no flash is read, and
/// nothing of its block wears. Both sides of the program's end.
#[test]
fn a_page_whose_program_has_not_ended_is_read_from_the_controller() {
    let settings = [
        ("nand.priority", "read_first"),
        ("device.hint", "queue"),
        ("device.hint_threshold", "2us"),
        ("nand.retry_reads", "1"),
    ];
    for (at, reads) in [(PROGRAM - Ps(1), 0), (PROGRAM, 1)] {
        let mut device = device(&settings);
        device.demote_to_flash(Ps::ZERO, Lpn(3));
        let before = *device.stats();
        let access = read(&mut device, at, 3);
        let stats = device.stats();
        let counted = [
            stats.flash_reads - before.flash_reads,
            stats.held_reads - before.held_reads,
        ];
        assert_eq!(counted, [reads, 1 - reads], "{at}");
        assert_eq!(access.hint == Hint::LongDelay, reads == 1, "{at}");
        assert_eq!(stats.misses - before.misses, 1);
    }
}

/// What goes before later reads because the queue is full makes nothing forget a page: neither
/// that of the program under way, nor its own. Both sides of each program's end.
#[test]
fn a_page_is_read_from_the_controller_until_its_own_program_ends() {
    const QUEUE: u64 = 2;
    // One that has begun, those that a die of one plane keeps with it, and those that wait.
    let pages = 1 + QUEUE + QUEUE;
    for page in 0..pages {
        let end = PROGRAM * (page + 1);
        for (at, reads) in [(Ps(1), 0), (end - Ps(1), 0), (end, 1)] {
            let mut device = device(&[
                ("nand.priority", "read_first"),
                ("nand.channels", "1"),
                ("nand.dies", "1"),
                ("nand.write_queue", &QUEUE.to_string()),
            ]);
            device.demote_to_flash(Ps::ZERO, Lpn(0));
            (1..pages).for_each(|page| device.demote_to_flash(Ps(1), Lpn::of(page)));
            assert_eq!(device.stats().forced_writes, pages - 1 - QUEUE);
            let before = *device.stats();
            read(&mut device, at, page);
            let stats = device.stats();
            let counted = [
                stats.flash_reads - before.flash_reads,
                stats.held_reads - before.held_reads,
            ];
            assert_eq!(counted, [reads, 1 - reads], "page {page} at {at}");
        }
    }
}
