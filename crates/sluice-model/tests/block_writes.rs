//! When block writes are done: as soon as the device has places for their pages, at the rate at
//! which its dies program in the end; or when they are programmed.

use sluice_model::{BlockOp, BlockRequest, Command, Device, Op, Refused};
use sluice_testkit::rig::{Recorder, access, device};
use sluice_units::{Lpn, PAGE_BYTES, Ps, Rng};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

const READ: Ps = Ps::from_us(75);
const PROGRAM: Ps = Ps::from_us(750);
const DRAM: Ps = Ps::from_ns(150);
const READ_FIRST: (&str, &str) = ("nand.priority", "read_first");
const PROGRAMMED: [(&str, &str); 2] = [
    ("cache.write", "through"),
    ("cache.store_done", "programmed"),
];

/// Nothing is collected, and no program or read waits for a channel.
fn base(pairs: &[(&str, &str)]) -> Device {
    let base = [
        ("device.capacity", "64MiB"),
        ("nand.read", "75us"),
        ("nand.program", "750us"),
        ("prefetch.policy", "none"),
        ("ftl.overprovision", "50%"),
    ];
    device(&[&base, pairs].concat())
}

fn block(device: &mut Device, now: Ps, op: BlockOp, lpn: u64, count: u64) -> Ps {
    let request = BlockRequest::new(op, Lpn::of(lpn), count);
    let done = device.block(now, request, &mut ()).expect("a block device");
    assert_eq!(device.balance(), Ok(()));
    done.done_at
}

/// When each of some writes is done, of a page each, by so many threads in turn.
fn written(device: &mut Device, pages: u64, threads: usize) -> Vec<Ps> {
    let mut ready: BinaryHeap<_> = (0..threads).map(|one| Reverse((Ps::ZERO, one))).collect();
    let mut order = threads;
    (0..pages)
        .map(|page| {
            let Reverse((now, _)) = ready.pop().expect("a thread");
            let done_at = block(device, now, BlockOp::Write, page, 1);
            ready.push(Reverse((done_at, order)));
            order += 1;
            done_at
        })
        .collect()
}

/// One die begins a program whenever the one before ends, and a write is done when the program
/// begins that is as many writes before it as there are places. It had been done at once.
#[test]
fn a_write_is_done_when_the_die_has_a_place_for_it() {
    for order in ["fifo", "read_first"] {
        for places in [2, 3, 64] {
            let mut device = base(&[
                ("nand.channels", "1"),
                ("nand.dies", "1"),
                ("nand.priority", order),
                ("nand.write_queue", &places.to_string()),
            ]);
            let mut now = Ps::ZERO;
            for page in 0..200 {
                let begun = PROGRAM * page.max(places) - PROGRAM * places;
                let due = now.max(begun) + DRAM;
                now = block(&mut device, now, BlockOp::Write, page, 1);
                assert_eq!(now, due, "{order}, {places} places, page {page}");
            }
        }
    }
}

#[test]
fn a_write_that_waits_for_its_program_takes_that() {
    let mut device = base(&PROGRAMMED);
    let mut now = Ps::ZERO;
    for page in 0..100 {
        let done_at = block(&mut device, now, BlockOp::Write, page, 1);
        assert_eq!(done_at, now + PROGRAM);
        now = done_at;
    }
    // One page for each die, and two for each.
    for (dies, programs) in [(1, 1), (2, 2)] {
        let done_at = block(&mut device, now, BlockOp::Write, 0, 64 * dies);
        assert_eq!(done_at, now + PROGRAM * programs);
        now = done_at;
    }
}

/// However writes are done, and by how many threads: in the end dies program one page after
/// another, or their channels bring them one after another.
#[test]
fn writes_come_at_the_rate_of_dies_or_channels() {
    let buffer = [("ftl.write_buffer", "2"), ("ftl.superblock", "all")];
    let ways: [(&[(&str, &str)], usize); 5] = [
        (&[], 1),
        (&[READ_FIRST], 3),
        (&buffer, 2),
        (&[READ_FIRST, buffer[0], buffer[1]], 2),
        (&PROGRAMMED, 256),
    ];
    const CHANNELS: u64 = 2;
    for (way, threads) in ways {
        for (dies, transfer) in [
            (4, Ps::from_us(10)),
            (2, Ps::from_us(50)),
            (8, Ps::from_us(400)),
        ] {
            let given = [
                ("nand.channels", CHANNELS.to_string()),
                ("nand.dies", dies.to_string()),
                ("nand.transfer", format!("{}us", transfer.as_us())),
                ("nand.write_queue", "4".to_owned()),
            ];
            let given: Vec<_> = given
                .iter()
                .map(|(key, value)| (*key, &value[..]))
                .collect();
            let ends = written(&mut base(&[&given[..], way].concat()), 4096, threads);
            // A channel brings a page to each of its dies in the time that one is at work.
            let turn = (transfer + PROGRAM).max(transfer * dies);
            let (from, to) = (ends[1024], ends[4095]);
            let due = turn * (3072 / (CHANNELS * dies));
            let off = (to - from).max(due) - (to - from).min(due);
            assert!(
                off <= turn * 4,
                "{way:?}, {dies} dies, {transfer}: {} for {due}",
                to - from
            );
        }
    }
}

/// Flash wears out in the midst of a request: that is refused, as are all after it. It had been
/// called done.
#[test]
fn a_write_that_flash_does_not_take_is_refused() {
    let mut device = device(&[
        ("device.capacity", "256KiB"),
        ("cache.capacity", "64KiB"),
        ("nand.channels", "1"),
        ("nand.dies", "1"),
        ("nand.endurance", "2"),
        ("nand.pages_per_block", "4"),
    ]);
    let mut now = Ps::ZERO;
    for round in 0..1_000 {
        let request = BlockRequest::new(BlockOp::Write, Lpn(0), 64);
        let done = device.block(now, request, &mut ());
        assert_eq!(device.balance(), Ok(()));
        let refused = device.stats().writes_refused;
        assert_eq!(done.is_err(), refused > 0, "round {round}");
        let Ok(done) = done else {
            assert!(refused < 64, "some pages were taken");
            let again = device.block(now, request, &mut ());
            assert_eq!(again, Err(Refused::ReadOnly));
            assert_eq!(device.stats().writes_refused, refused);
            return;
        };
        now = done.done_at;
    }
    panic!("it wears out");
}

/// A device after so many programs, with its first pages cached: the host has written them, and the
/// device has seen half of that. `None` if flash is worn out.
fn worn(programs: u64, pins: u64) -> Option<Device> {
    let mut device = device(&[
        ("device.capacity", "256KiB"),
        ("cache.capacity", "64KiB"),
        ("nand.channels", "1"),
        ("nand.dies", "1"),
        ("nand.endurance", "2"),
        ("nand.pages_per_block", "4"),
    ]);
    for i in 0..programs {
        device.demote_to_flash(Ps::from_ms(i), Lpn::of(16 + i % 48));
    }
    for lpn in 0..16 {
        let op = [Op::Read, Op::Write][lpn as usize % 2];
        access(&mut device, Ps::from_ms(programs), lpn, op);
    }
    for lpn in 0..pins {
        let pin = Command::Pin(Lpn::of(lpn));
        device.command(Ps::from_ms(programs), pin, &mut ()).unwrap();
    }
    (!device.is_read_only()).then_some(device)
}

/// Flash wears out under a request for pages of which newer contents are cached. Those that flash
/// refuses are as they were: no other place has contents as new. They had left, or been called
/// clean.
#[test]
fn what_flash_refuses_stays_cached_and_dirty() {
    let lasts = (0..).find(|programs| worn(64 * programs, 0).is_none());
    let lasts = 64 * lasts.expect("it wears out");
    let asked = [
        (BlockOp::Write, 0),
        (BlockOp::Write, 8),
        (BlockOp::Flush, 0),
    ];
    for (op, pins) in asked {
        let mut partly = 0;
        for programs in lasts - 80..lasts {
            let Some(mut device) = worn(programs, pins) else {
                break;
            };
            let now = Ps::from_ms(programs + 1);
            let mut host = Recorder {
                written: (0..16).step_by(2).collect(),
                ..Recorder::default()
            };
            let done = device.block(now, BlockRequest::new(op, Lpn(0), 16), &mut host);
            assert_eq!(device.balance(), Ok(()));
            let refused = device.stats().writes_refused;
            assert_eq!(done.is_err(), refused > 0);
            let dirty = (0..16).filter(|lpn| device.promote(now, Lpn::of(*lpn)).dirty);
            assert_eq!(dirty.count() as u64, refused, "{op:?}, {pins} pinned");
            partly += u64::from((1..16).contains(&refused));
        }
        assert!(partly > 3, "{op:?}: {partly}");
    }
}

/// A request for some pages.
struct Asked {
    op: BlockOp,
    first: u64,
    count: u64,
}

/// Requests of a random mix. No page comes twice.
fn asked(seed: u64, pages: u64) -> Vec<Asked> {
    let mut rng = Rng::stream(seed, "requests");
    let mut seen = BTreeSet::new();
    let mut asked = Vec::new();
    while asked.len() < 2000 {
        let (first, count) = (rng.below(pages - 8), 1 + rng.below(8));
        let range = first..first + count;
        let op = [BlockOp::Read, BlockOp::Write][rng.below(2) as usize];
        if range.clone().all(|page| !seen.contains(&page)) {
            seen.extend(range);
            asked.push(Asked { op, first, count });
        }
    }
    asked
}

/// Dies with lists of what they do, in the order in which it comes.
struct Dies {
    places: usize,
    free_at: Vec<Ps>,
    /// When the programs of each die begin.
    begins: Vec<Vec<Ps>>,
    writes: usize,
}

impl Dies {
    fn ask(&mut self, now: Ps, asked: &Asked) -> Ps {
        let pages = asked.first..asked.first + asked.count;
        let done = pages.map(|page| match asked.op {
            BlockOp::Read => self.work(page as usize % self.free_at.len(), now, READ) + DRAM,
            _ => self.write(now),
        });
        done.max().expect("a page").max(now + DRAM)
    }

    fn work(&mut self, die: usize, now: Ps, time: Ps) -> Ps {
        self.free_at[die] = self.free_at[die].max(now) + time;
        self.free_at[die]
    }

    /// Written pages go round the dies.
    fn write(&mut self, now: Ps) -> Ps {
        let die = self.writes % self.free_at.len();
        self.writes += 1;
        let begins = self.work(die, now, PROGRAM) - PROGRAM;
        self.begins[die].push(begins);
        let before = self.begins[die].iter().rev().nth(self.places);
        before.copied().unwrap_or_default().max(now) + DRAM
    }
}

/// Reads and writes of many threads, beside lists of what dies do.
#[test]
fn writes_and_reads_end_as_in_lists_of_what_dies_do() {
    for (seed, places, depth) in [(1, 2, 1), (2, 2, 16), (3, 5, 64), (4, 64, 500)] {
        let mut device = base(&[("nand.write_queue", &places.to_string())]);
        let dies = 64;
        let mut twin = Dies {
            places,
            free_at: vec![Ps::ZERO; dies],
            begins: vec![Vec::new(); dies],
            writes: 0,
        };
        let mut ready: BinaryHeap<_> = (0..depth).map(|one| Reverse((Ps::ZERO, one))).collect();
        for (order, asked) in asked(seed, (64 << 20) / PAGE_BYTES).iter().enumerate() {
            let Reverse((now, _)) = ready.pop().expect("a thread");
            let done_at = block(&mut device, now, asked.op, asked.first, asked.count);
            assert_eq!(done_at, twin.ask(now, asked), "{places} places, {order}");
            ready.push(Reverse((done_at, depth + order)));
        }
    }
}

/// A flush ends when the dies have programmed all that was written before it, and no sooner, for
/// whatever pages it is. It had ended at once. Reads behind the writes do not count.
#[test]
fn a_flush_ends_when_what_was_written_before_it_is_programmed() {
    for order in ["fifo", "read_first"] {
        let mut device = base(&[("nand.priority", order)]);
        let flush =
            |device: &mut Device, now, count| block(device, now, BlockOp::Flush, 0, count) - now;
        assert_eq!(
            flush(&mut device, Ps::ZERO, 16_384),
            DRAM,
            "nothing was written"
        );
        let now = Ps::from_ms(1);
        // Three pages for each of 64 dies, and one more.
        block(&mut device, now, BlockOp::Write, 0, 193);
        assert_eq!(flush(&mut device, now, 1), PROGRAM * 4);
        assert_eq!(flush(&mut device, now + PROGRAM, 16_384), PROGRAM * 3);
        if order == "fifo" {
            block(&mut device, now + PROGRAM, BlockOp::Read, 1000, 64);
            assert_eq!(flush(&mut device, now + PROGRAM, 1), PROGRAM * 3);
        }
        let later = now + PROGRAM * 4;
        assert_eq!(flush(&mut device, later, 1), DRAM);
        block(&mut device, later, BlockOp::Trim, 0, 193);
        assert_eq!(flush(&mut device, later, 1), DRAM);
    }
}
