//! The array against a naive one that moves picosecond by picosecond.

mod forms;
mod log_programs;
mod naive;
mod wear;

use super::*;
use crate::config::DeviceConfig;
use naive::{Ask, Naive};
use proptest::prelude::*;

const BASE: &[(&str, &str)] = &[
    ("device.capacity", "1MiB"),
    ("cache.capacity", "64KiB"),
    ("nand.channels", "2"),
    ("nand.dies", "2"),
    ("nand.pages_per_block", "16"),
    ("ftl.gc_threshold", "2"),
    ("nand.read", "20ps"),
    ("nand.program", "50ps"),
    ("nand.erase", "90ps"),
    ("nand.transfer", "7ps"),
];

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let mut raw = DeviceConfig::builder();
    for (key, value) in BASE.iter().chain(pairs) {
        raw.set(key, value).unwrap();
    }
    Settings::clone(&DeviceConfig::new(&raw).unwrap())
}

fn ask(nand: &mut Nand, request: &Ask) -> Option<Served> {
    nand.pass(Ps(request.now));
    issue(nand, request)
}

fn issue(nand: &mut Nand, request: &Ask) -> Option<Served> {
    let now = Ps(request.now);
    let pages_per_die = nand.layout.pages_per_plane();
    let (ppn, block) = (
        Ppn(request.die * pages_per_die),
        Block(request.die * nand.layout.blocks_per_plane),
    );
    match request.verb {
        Verb::Read => {
            let served = nand.read(now, ppn, request.origin);
            Some(served.unwrap_or(Served::at_once(now)))
        }
        Verb::Program => {
            nand.program(now, Ppn(ppn.0 + 1), request.origin).unwrap();
            None
        }
        Verb::Erase => {
            nand.erase(now, block, request.origin).unwrap();
            None
        }
    }
}

fn requests() -> impl Strategy<Value = Vec<Ask>> {
    let step = prop_oneof![Just(0u64), 0..12u64, 0..150u64];
    let verb = prop_oneof![
        4 => Just(Verb::Read),
        3 => Just(Verb::Program),
        1 => Just(Verb::Erase),
    ];
    let origin = prop_oneof![3 => Just(Origin::Host), 2 => Just(Origin::Gc)];
    let one = (step, verb, 0..4u32, origin);
    prop::collection::vec(one, 1..60).prop_map(|steps| {
        let mut now = 0;
        let mut asks = Vec::new();
        for (step, verb, die, origin) in steps {
            now += step;
            // The host does not erase, and collection's own reads are posted.
            let origin = match verb {
                Verb::Read => Origin::Host,
                Verb::Erase => Origin::Gc,
                Verb::Program => origin,
            };
            asks.push(Ask {
                now,
                verb,
                die,
                origin,
            });
        }
        asks
    })
}

fn choices() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let picoseconds = |max: u64| (0..max).prop_map(|ps| format!("{ps}ps"));
    let word = |words: &'static [&'static str]| prop::sample::select(words).prop_map(str::to_owned);
    (
        word(&["fifo", "read_first"]),
        word(&["none", "program", "erase", "both"]),
        picoseconds(20),
        picoseconds(20),
        1..4u32,
        2..6u32,
        word(&["on", "off"]),
        picoseconds(4),
        picoseconds(12),
    )
        .prop_map(
            |(order, suspend, latency, resume, reads, queue, cache, command, transfer)| {
                let suspend = if order == "fifo" {
                    "none".to_owned()
                } else {
                    suspend
                };
                vec![
                    ("nand.priority", order),
                    ("nand.suspend", suspend),
                    ("nand.suspend_latency", latency),
                    ("nand.resume_latency", resume),
                    ("nand.suspend_reads", reads.to_string()),
                    ("nand.write_queue", queue.to_string()),
                    ("nand.cache_read", cache),
                    ("nand.command", command),
                    ("nand.transfer", transfer),
                ]
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(500)))]

    /// Every read ends when the naive array says, and waits for collection as long as that says.
    #[test]
    fn reads_end_as_in_a_naive_array(choices in choices(), asks in requests()) {
        let pairs: Vec<(&str, &str)> = choices.iter().map(|(k, text)| (*k, &text[..])).collect();
        let settings = settings(&pairs);
        let mut nand = Nand::new(&settings, 1);
        let served: Vec<Option<Served>> = asks.iter().map(|one| ask(&mut nand, one)).collect();
        let expected = Naive::new(&settings.nand, &asks).run(&asks);
        for ((ask, served), naive) in asks.iter().zip(served).zip(expected) {
            let Some(served) = served else { continue };
            prop_assert_eq!((served.done_at.0, served.gc.0), naive, "{:?}", ask);
            let parts = served.queue + served.gc + served.service;
            prop_assert_eq!(served.done_at, Ps(ask.now) + parts);
        }
    }

    /// Programs and erases that are asked for ahead of their time: the naive array hears of them
    /// when it has come.
    #[test]
    fn what_is_asked_for_ahead_of_its_time_comes_when_it_has_come(
        choices in choices(),
        asks in requests(),
        ahead in prop::collection::vec(prop_oneof![Just(0u64), 0..40u64, 0..400u64], 60),
    ) {
        let pairs: Vec<(&str, &str)> = choices.iter().map(|(k, text)| (*k, &text[..])).collect();
        let settings = settings(&pairs);
        let mut nand = Nand::new(&settings, 1);
        let mut comes = Vec::new();
        let mut served = Vec::new();
        for (one, ahead) in asks.iter().zip(ahead) {
            nand.pass(Ps(one.now));
            let ahead = if one.verb == Verb::Read { 0 } else { ahead };
            let dated = Ask { now: one.now + ahead, ..*one };
            served.push(issue(&mut nand, &dated));
            comes.push((comes.len(), dated));
        }
        // Of requests that come at one moment, the one asked for first comes first.
        comes.sort_by_key(|(_, one)| one.now);
        let in_time: Vec<Ask> = comes.iter().map(|(_, one)| *one).collect();
        let expected = Naive::new(&settings.nand, &in_time).run(&in_time);
        for ((asked, one), naive) in comes.iter().zip(expected) {
            let Some(served) = served[*asked] else { continue };
            prop_assert_eq!((served.done_at.0, served.gc.0), naive, "{:?}", one);
        }
    }

    /// Requests come from a moment that is still ahead, and go back from there.
    #[test]
    fn the_parts_of_a_read_add_up_whenever_it_is_asked_for(
        choices in choices(),
        rule in prop::sample::select(&["off", "same_page", "any"][..]),
        planes in prop::sample::select(&["1", "2"][..]),
        asks in requests(),
        ahead in prop::collection::vec((0..2_000u64, any::<bool>()), 60),
    ) {
        let mut pairs: Vec<_> = choices.iter().map(|(k, text)| (*k, &text[..])).collect();
        pairs.extend([("nand.planes", planes), ("nand.multi_plane", rule)]);
        let mut nand = Nand::new(&settings(&pairs), 1);
        for (one, (ahead, collects)) in asks.iter().zip(ahead) {
            nand.pass(Ps(one.now));
            let origin = if collects { Origin::Gc } else { one.origin };
            let now = one.now + ahead;
            // Most on one die, so that its queue is long.
            let die = one.die / 3;
            let Some(served) = issue(&mut nand, &Ask { now, die, origin, ..*one }) else {
                continue;
            };
            let parts = served.queue + served.gc + served.service;
            prop_assert_eq!(served.done_at, Ps(now) + parts);
        }
    }
}
