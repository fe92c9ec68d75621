//! Parity: the pages a program traps on live are those of the simulator, one by one.

use crate::sluice::{Outcome, Sluice, TRAPS};
use sluice_abi::{RECORD_MAGIC, RecordHeader};
use sluice_driver::Access;
use sluice_model::{DeviceConfig, EVICTIONS};
use sluice_testkit::parity::{Record, Simulated};
use sluice_units::{Bytes, PAGE_BYTES};
use std::path::Path;

const CACHE: &str = "3MiB";
const SIZE: &str = "5MiB";
const PAGES: u64 = 1_280;

/// The pages in a record of traps, which must not have overflowed.
pub fn read_traps(folder: &Path) -> Vec<u64> {
    let bytes = std::fs::read(folder.join("traps.bin")).expect("a record was asked for");
    let words = bytes.chunks_exact(8);
    let words: Vec<u64> = words
        .map(|c| u64::from_ne_bytes(c.try_into().expect("8 bytes")))
        .collect();
    let (head, pages) = words.split_at(size_of::<RecordHeader>() / 8);
    let (capacity, count) = (head[1], head[2]);
    assert_eq!((head[0], head[3]), (RECORD_MAGIC, 0));
    assert!(count <= capacity && pages.len() as u64 == count);
    pages.to_vec()
}

/// One chase, live and simulated.
#[derive(Clone, Copy)]
struct Case<'a> {
    trap: &'a str,
    policy: &'a str,
    stride: u64,
    /// Flags of the program, and the same as keys of its access stream.
    flags: &'a str,
    keys: &'a str,
    sets: &'a [(&'a str, &'a str)],
}

impl Case<'_> {
    fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = [
            ("device.capacity", "64MiB"),
            ("cache.capacity", CACHE),
            ("cache.policy", self.policy),
            ("nand.read", "5us"),
            ("nand.program", "1us"),
            ("nand.erase", "5us"),
        ];
        own.into_iter().chain(self.sets.iter().copied())
    }

    fn config(&self) -> DeviceConfig {
        let mut raw = sluice_config::load(sluice_config::DEFAULT).expect("a preset");
        for (key, value) in self.settings() {
            raw.set(key, value).expect("a setting");
        }
        DeviceConfig::new(&raw).expect("possible settings")
    }

    fn run(&self, folder: &Path, more: &[&str], flags: &str) -> Outcome {
        let mut sluice = Sluice::run(self.trap).record(folder).args(more);
        for (key, value) in self.settings() {
            sluice = sluice.set(key, value);
        }
        let (stride, own) = (self.stride, self.flags);
        let flags = format!("chase --size {SIZE} --stride {stride} --passes 3 {own} {flags}");
        sluice.workload(&flags).well()
    }

    fn check(&self, folder: &Path) -> Simulated {
        let traps = read_traps(folder);
        let name = format!(
            "{} {} {} {}",
            self.trap, self.policy, self.stride, self.flags
        );
        let spec = format!(
            "chase:size={SIZE},stride={},passes=3{}",
            self.stride, self.keys
        );
        let stream = sluice_streams::parse_spec(&spec, 1)
            .expect("a workload")
            .streams()
            .remove(0);
        let stream = stream.map(|a| Access {
            addr: a.addr,
            write: a.write,
        });
        let record = Record::cut(&traps, PAGES).unwrap_or_else(|| panic!("{name}: no build pass"));
        assert!(record.before.len() < 200, "{name}: {:?}", record.before);
        let device = sluice_plugin::device(&self.config(), 1).expect("a device");
        let simulated = record.compare_on(device, stream);
        let simulated = simulated.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            simulated.traps.len() as u64 > PAGES,
            "{name}: one pass is no test of a policy"
        );
        simulated
    }

    fn hold(&self) {
        let folder = tempfile::tempdir().expect("a folder");
        let out = self.run(folder.path(), &[], "");
        let traps = read_traps(folder.path());
        assert_eq!(out.number("/traps"), traps.len() as u64);
        self.check(folder.path());
    }
}

const STRIDES: [u64; 3] = [512, 1024, 4096];
const PROGRAMS: [(&str, &str); 4] = [
    ("", ""),
    ("--write", ",write=1"),
    ("--random --seed 7", ",random=1,seed=7"),
    ("--uniform --write --seed 3", ",uniform=1,write=1,seed=3"),
];

#[test]
fn sizes_are_what_the_cases_say() {
    assert_eq!(SIZE.parse::<Bytes>().unwrap().0, PAGES * PAGE_BYTES);
}

/// Every policy of the registry, so that a new one is tested as soon as it is there.
#[test]
fn every_policy_traps_as_simulated() {
    for eviction in EVICTIONS {
        for stride in STRIDES {
            for (flags, keys) in PROGRAMS {
                let policy = eviction.info.name;
                Case {
                    trap: "signal",
                    policy,
                    stride,
                    flags,
                    keys,
                    sets: &[],
                }
                .hold();
            }
        }
    }
}

#[test]
fn events_trap_as_signals_do() {
    for eviction in EVICTIONS {
        for (stride, (flags, keys)) in [(1024, PROGRAMS[1]), (4096, PROGRAMS[2])] {
            let policy = eviction.info.name;
            Case {
                trap: "event",
                policy,
                stride,
                flags,
                keys,
                sets: &[],
            }
            .hold();
        }
    }
}

/// Without LIFO: it evicts what came last, and which of the prefetched pages have come is a
/// question of time, which is another in a simulation.
#[test]
fn prefetched_pages_trap_as_simulated() {
    for trap in TRAPS {
        for policy in ["fifo", "clock", "s3fifo"] {
            for (stride, (flags, keys)) in [(1024, PROGRAMS[0]), (4096, PROGRAMS[2])] {
                // Which pages have arrived before their access is a question of time as well.
                let sets = &[
                    ("prefetch.policy", "nextn"),
                    ("prefetch.degree", "4"),
                    ("prefetch.map", "touch"),
                ];
                Case {
                    trap,
                    policy,
                    stride,
                    flags,
                    keys,
                    sets,
                }
                .hold();
            }
        }
    }
}

#[test]
fn sets_of_a_few_ways_trap_as_simulated() {
    for policy in ["fifo", "lifo", "random"] {
        let (flags, keys) = PROGRAMS[3];
        let case = Case {
            trap: "signal",
            policy,
            stride: 1024,
            flags,
            keys,
            sets: &[("cache.ways", "4")],
        };
        case.hold();
    }
}

/// Objects from C, built as their first lines say.
fn object(folder: &Path, source: &str) -> String {
    let source = sluice_testkit::objects::root().join(source);
    sluice_testkit::objects::object(folder, &source, &[])
}

#[test]
fn a_policy_in_c_traps_as_simulated() {
    let objects = tempfile::tempdir().expect("a folder");
    let object = object(objects.path(), "examples/policy-c/lru.c");
    for trap in TRAPS {
        for (stride, (flags, keys)) in [(1024, PROGRAMS[1]), (4096, PROGRAMS[2])] {
            let case = |policy| Case {
                trap,
                policy,
                stride,
                flags,
                keys,
                sets: &[],
            };
            let folder = tempfile::tempdir().expect("a folder");
            let out = case(&object).run(folder.path(), &[], "");
            assert_eq!(out.number("/cache/policy_refused"), 0);
            case("lru").check(folder.path());
        }
    }
}

/// A policy that decides by arguments that only version 2 has, and with it a prefetcher.
#[test]
fn a_prefetcher_in_c_and_a_policy_that_asks_trap_as_simulated() {
    let objects = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let policy = object(objects[0].path(), "examples/policies/clean_first.c");
    let prefetcher = object(objects[1].path(), "examples/prefetchers/stride.c");
    for trap in TRAPS {
        for (stride, (flags, keys)) in [(4096, PROGRAMS[1]), (1024, PROGRAMS[0])] {
            // Which pages have arrived before their access is a question of time.
            let case = Case {
                trap,
                policy: &policy,
                stride,
                flags,
                keys,
                sets: &[
                    ("prefetch.policy", &prefetcher),
                    ("prefetch.degree", "4"),
                    ("prefetch.map", "touch"),
                ],
            };
            let folder = tempfile::tempdir().expect("a folder");
            let out = case.run(folder.path(), &[], "");
            assert_eq!(out.number("/cache/policy_refused"), 0);
            assert_eq!(out.number("/cache/prefetch_refused"), 0);
            assert!(out.number("/cache/prefetch_used") > 100);
            case.check(folder.path());
        }
    }
}

/// A file has no heap before it: also the evictions, and which of them were written, must agree.
#[test]
fn a_device_file_evicts_and_writes_back_as_simulated() {
    for trap in TRAPS {
        for policy in ["fifo", "lifo", "s3fifo"] {
            for (flags, keys) in PROGRAMS {
                let file = tempfile::Builder::new()
                    .tempfile_in("/dev/shm")
                    .expect("a file in memory");
                file.as_file().set_len(PAGES * PAGE_BYTES).expect("room");
                let path = file.path().to_str().expect("plain letters");
                let case = Case {
                    trap,
                    policy,
                    stride: 1024,
                    flags,
                    keys,
                    sets: &[],
                };
                let folder = tempfile::tempdir().expect("a folder");
                let place = format!("dax:{path}");
                let more = ["--place", &place];
                let out = case.run(folder.path(), &more, &format!("--file {path}"));
                let simulated = case.check(folder.path());
                let live = ["evictions", "dirty_evictions"]
                    .map(|name| out.number(&format!("/cache/{name}")));
                let expected = [simulated.evictions, simulated.dirty_evictions];
                assert_eq!(live, expected, "{trap} {policy} {flags}");
                assert_eq!(out.number("/flash/programs"), simulated.dirty_evictions);
            }
        }
    }
}
