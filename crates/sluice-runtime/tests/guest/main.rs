//! Whatever a guest writes into all that it can write, the host commands the device, and the guest
//! itself can again when it has stopped.

mod rig;

use rig::{Numbers, Rig};
use sluice_abi::{Operation, RING_MAGIC, Range, Reason, Request, Status, Submission, Text, WORDS};
use sluice_control::Connection;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

const PAGE: u64 = 4096;
const PAGES: u64 = 4096;
/// Far longer than anything in here takes.
const LIMIT: Duration = Duration::from_secs(60);

fn pages(operation: Operation, first: u64, count: u64) -> Request {
    let range = Range {
        start: first * PAGE,
        len: count * PAGE,
        is_address: false,
    };
    Request::Pages(operation, range)
}

fn set(pairs: &str) -> Request {
    Request::Set(Text::new(pairs).expect("a short text"))
}

/// What a guest may send, and what it may not.
fn some_request(numbers: &mut Numbers) -> Request {
    let sets = [
        "nand.read=10s",
        "nand.read=1us",
        "cache.policy=lru",
        "cache.policy=lirs cache.lirs_stack=1000%",
        "cache.policy=s3fifo cache.s3fifo_ghost=1000%",
        "cache.pin_max=90%",
        "prefetch.policy=nextn prefetch.degree=64",
        "prefetch.policy=none",
        "prefetch.policy=markov prefetch.degree=9 prefetch.markov_pages=65536",
        "prefetch.markov_pages=268435456 prefetch.markov_followers=64 prefetch.policy=markov",
        "cache.policy=/tmp/x.so",
        "= =",
        "",
    ];
    let operations = &Operation::ALL[..5];
    let operation = operations[numbers.below(5) as usize];
    let edges = [
        0,
        1,
        PAGE - 1,
        PAGES * PAGE - 1,
        PAGES * PAGE,
        1 << 47,
        u64::MAX - PAGE,
        u64::MAX,
    ];
    let edge = |numbers: &mut Numbers| edges[numbers.below(8) as usize];
    match numbers.below(8) {
        0 => set(sets[numbers.below(sets.len() as u64) as usize]),
        1 => Request::Stats,
        2 => Request::Pages(
            operation,
            Range {
                start: edge(numbers),
                len: edge(numbers),
                is_address: numbers.below(2) == 0,
            },
        ),
        _ => pages(operation, numbers.below(PAGES), 1 + numbers.below(64)),
    }
}

/// One thing that a guest does to its ring.
fn spoil(rig: &Rig, numbers: &mut Numbers) {
    let (words, channel) = (rig.words(), numbers.below(8) as usize);
    let tag = numbers.next();
    let request = some_request(numbers);
    let mut entry = Submission { tag, request }.to_words();
    match numbers.below(10) {
        // A word anywhere, and the first ones, which say what the ring is.
        0 => words[numbers.below(words.len() as u64) as usize].store(numbers.next(), Relaxed),
        1 => words[numbers.below(8) as usize].store(numbers.next(), Relaxed),
        // All of a channel.
        2 => {
            let word = if numbers.below(2) == 0 {
                0
            } else {
                numbers.next()
            };
            let first = 8 + channel * 1040;
            words[first..first + 1040]
                .iter()
                .for_each(|at| at.store(word, Relaxed));
        }
        // Its counts.
        3 => words[8 + channel * 1040].store(numbers.next(), Relaxed),
        4 => {
            let submitted = &rig.ring().channels[channel].submitted;
            submitted.fetch_add(numbers.below(40) as u32, Relaxed);
        }
        // An entry, a little other than it was, or as it should be.
        5 | 6 => {
            let at = numbers.below(WORDS as u64) as usize;
            entry[at] ^= 1 << numbers.below(64);
            rig.submit(channel, &entry);
        }
        _ => rig.submit(channel, &entry),
    }
}

/// Commands of the host, each with the answer that it must have.
fn command(host: &mut Connection, numbers: &mut Numbers) {
    let began = Instant::now();
    let (first, count) = (numbers.below(PAGES - 8), 1 + numbers.below(8));
    let operation = Operation::ALL[numbers.below(5) as usize];
    let answer = host
        .call(pages(operation, first, count))
        .expect("an answer");
    let dealt_with = answer.changed + answer.already + answer.refused;
    assert_eq!((answer.pages, dealt_with), (count, count), "{answer:?}");
    let stats = host.call(Request::Stats).expect("an answer");
    assert_eq!((stats.status, stats.pages), (Status::Done, 0));
    assert!(
        began.elapsed() < LIMIT,
        "{:?} for one command",
        began.elapsed()
    );
}

/// The guest's own client, after all that.
fn works_again(rig: &Rig) {
    let mut guest = rig.guest().expect("a channel");
    assert_eq!(rig.ring().magic.load(Relaxed), RING_MAGIC);
    guest
        .call(set("nand.read=3us prefetch.policy=none cache.pin_max=50%"))
        .expect("an answer");
    let all = guest
        .call(pages(Operation::Unpin, 0, PAGES))
        .expect("an answer");
    assert_eq!(all.refused, 0, "{all:?}");
    guest
        .call(pages(Operation::Evict, 0, PAGES))
        .expect("an answer");
    for (expected, status) in [((40, 0), Status::Done), ((0, 40), Status::Nothing)] {
        let answer = guest
            .call(pages(Operation::Prefetch, 7, 40))
            .expect("an answer");
        assert_eq!((answer.changed, answer.already), expected, "{answer:?}");
        assert_eq!((answer.status, answer.reason), (status, Reason::None));
    }
}

fn resident_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("a file of Linux");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    (pages.expect("a number") * PAGE) >> 20
}

#[test]
fn the_host_commands_and_the_guest_recovers_whatever_it_wrote() {
    let rig = Rig::start(&[]);
    let mut host = rig.host();
    let seed: u64 = std::env::var("SLUICE_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    for round in 1..=u64::from(sluice_testkit::cases(8)) {
        let mut numbers = Numbers(((seed << 32) | round).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut others = Numbers(numbers.next() | 1);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // A second CPU of the guest, which changes entries while the server reads them.
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    spoil(&rig, &mut others);
                    std::thread::sleep(Duration::from_micros(others.below(40)));
                }
            });
            for n in 0..300 {
                spoil(&rig, &mut numbers);
                if n % 10 == 0 {
                    command(&mut host, &mut numbers);
                }
            }
            is_over.store(true, Relaxed);
        });
        // Whatever was well-formed may still be under way.
        host.call(set("nand.read=3us")).expect("an answer");
        works_again(&rig);
        let mib = resident_mib();
        assert!(mib < 512, "{mib} MiB are in use");
    }
}

/// A guest's command that takes seconds is no reason for the host to wait, nor for the guest's
/// other programs.
#[test]
fn nobody_waits_for_a_long_command_of_a_guest() {
    let rig = Rig::start(&[]);
    let (mut host, mut guest) = (rig.host(), rig.guest().expect("a channel"));
    let mut other = rig.guest().expect("another channel");
    let slow = guest.call(set("nand.read=100ms")).expect("an answer");
    assert_eq!(slow.status, Status::Done, "{slow:?}");
    let long = guest
        .send(pages(Operation::Prefetch, 0, 256))
        .expect("room");
    for _ in 0..20 {
        let answer = host.call(Request::Stats).expect("an answer");
        assert_eq!(answer.status, Status::Done);
        let answer = host
            .call(pages(Operation::Evict, 3_000, 500))
            .expect("an answer");
        assert_eq!(answer.already, 500);
        assert_eq!(
            other.call(Request::Stats).expect("an answer").status,
            Status::Done
        );
    }
    assert_eq!(
        guest.poll(long).expect("a ring"),
        None,
        "it ended before the host's commands"
    );
    assert_eq!(guest.wait(long).expect("an answer").changed, 256);
}

/// Whether an address of the emulator is on the device would reveal to a guest where QEMU's memory
/// is.
#[test]
fn a_guest_names_no_addresses() {
    let rig = Rig::start(&[]);
    let (mut host, mut guest) = (rig.host(), rig.guest().expect("a channel"));
    let heap_at = host.view().stats().heap_at.load(Relaxed);
    assert_ne!(heap_at, 0, "a heap on the device");
    for (start, hosts) in [(heap_at, Status::Done), (4096, Status::BadRange)] {
        let range = Range {
            start,
            len: PAGE,
            is_address: true,
        };
        let request = Request::Pages(Operation::Prefetch, range);
        let of_guest = guest.call(request).expect("an answer");
        assert_eq!(of_guest.status, Status::BadReserved, "{start:#x}");
        assert_eq!(host.call(request).expect("an answer").status, hosts);
    }
}

#[test]
fn a_guest_sets_no_time_that_would_stop_the_emulator() {
    let rig = Rig::start(&[]);
    let (mut host, mut guest) = (rig.host(), rig.guest().expect("a channel"));
    for (pairs, says) in [
        ("nand.read=10s", "at most 100ms"),
        ("nand.program=101ms", "at most 100ms"),
        (
            "prefetch.markov_pages=268435456 prefetch.markov_followers=64 prefetch.policy=markov \
             prefetch.degree=4",
            "at most 16 is accepted",
        ),
    ] {
        let answer = guest.call(set(pairs)).expect("an answer");
        assert_eq!(answer.status, Status::Refused, "{pairs}");
        assert!(answer.text.as_str().contains(says), "{pairs}: {answer:?}");
    }
    let answer = host.call(set("nand.read=1s")).expect("an answer");
    assert_eq!(answer.status, Status::Done, "the host may: {answer:?}");
}

/// The first words that a guest has destroyed are its server's again. Without a server they stay
/// so, and are called what they are.
#[test]
fn a_damaged_ring_is_mended_or_called_damaged() {
    let rig = Rig::start(&[]);
    for word in &rig.words()[..8] {
        word.store(0x4141_4141, Relaxed);
    }
    assert!(rig.guest().is_ok());
    let place = rig.host().place().clone();
    let copy = place.ring.with_extension("copy");
    let mut bytes = std::fs::read(&place.ring).expect("our own");
    for (at, says, never) in [
        (8, "version 2 (found 65)", "damaged"),
        (0, "damaged", "version"),
    ] {
        bytes[at..at + 8].copy_from_slice(&0x41u64.to_le_bytes());
        std::fs::write(&copy, &bytes).expect("room");
        let ring = copy.clone();
        let why = Connection::open(sluice_control::DeviceFiles {
            ring,
            ..place.clone()
        });
        let why = why.expect_err("no ring").to_string();
        assert!(why.contains(says) && !why.contains(never), "{why}");
    }
}
