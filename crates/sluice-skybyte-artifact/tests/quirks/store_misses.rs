//! Stores whose line no cache has: fetched, or written to memory at once.

use crate::{artifact, run};
use proptest::prelude::*;
use sluice_host::{HostConfig, HostStats, Instr, Level, MemOp};
use sluice_model::Device;
use sluice_skybyte_artifact::SkyByte;
use sluice_testkit::core_rig::{L3, Loop, MEMORY, config, expander, host, load, store, work};
use sluice_units::Ps;
use std::collections::BTreeSet;

const N: u64 = 10_000;

/// Stores that miss write their lines.
fn writing() -> Option<SkyByte> {
    artifact(&[("l3.store_miss", "write")])
}

/// As `writing`, and written lines that leave an L2 are lost.
fn losing() -> Option<SkyByte> {
    artifact(&[("l3.store_miss", "write"), ("l3.write_back", "own")])
}

/// Lines read from memory and written to it.
fn requests(stats: &HostStats) -> (u64, u64) {
    let requests = &stats.memory.requests;
    let reads = requests.device_read_hits + requests.device_read_misses;
    (reads, requests.device_writes)
}

#[test]
fn lines_that_are_only_stored_are_written_once_and_never_read() {
    let caches = u64::from(host().cpu.l3.lines + host().cpu.l2.lines);
    for rounds in [100, 4 * caches] {
        let lines = Loop::new(1, vec![store(0, 0)], 64, rounds);
        assert_eq!(
            requests(&run(&host(), writing(), expander(), lines)),
            (0, rounds)
        );
    }
    // Eight stores in a row are one, for the line is still on its way.
    let words = (0..8).map(|word| store(word * 8, 0)).collect();
    let lines = Loop::new(1, words, 64, N);
    assert_eq!(
        requests(&run(&host(), writing(), expander(), lines)),
        (0, N)
    );
}

/// What is stored while the L1 has the line is part of its write; what is stored later goes when
/// the line leaves, as what is stored after a load does.
#[test]
fn a_line_is_written_back_if_it_is_stored_later() {
    let lines = 4 * u64::from(host().cpu.l3.lines + host().cpu.l2.lines);
    let soon = vec![store(0, 0), work(u16::MAX), store(8, 0)];
    let stats = run(
        &host(),
        writing(),
        expander(),
        Loop::new(1, soon, 64, lines),
    );
    assert_eq!(requests(&stats), (0, lines));
    // Others of its set in the L1, which the L2 keeps.
    let l1 = &host().cpu.l1;
    let way = u64::from(l1.lines / l1.ways) * 64;
    let others = (1..=u64::from(l1.ways)).map(|other| load(other * way, 0, 0));
    let mut later = vec![store(0, 0), work(u16::MAX)];
    later.extend(others);
    later.extend([work(u16::MAX), store(0, 0)]);
    let lines = lines / 64;
    let stats = run(
        &host(),
        writing(),
        expander(),
        Loop::new(1, later, 1 << 16, lines),
    );
    let (reads, writes) = requests(&stats);
    assert_eq!(reads, lines * u64::from(l1.ways));
    let kept = writes_kept(lines);
    assert!(
        2 * lines - writes <= kept,
        "{writes} of {lines} lines, {kept} kept"
    );
    let read_first = vec![load(0, 0, 0), work(u16::MAX), store(0, 0)];
    let stats = run(
        &host(),
        writing(),
        expander(),
        Loop::new(1, read_first, 64, N),
    );
    assert_eq!(requests(&stats), (N, 0), "in the caches to the end");
}

/// Where what leaves an L2 is lost, what misses is written, and no more.
#[test]
fn a_line_that_an_l2_loses_is_not_written_if_it_was_read_first() {
    let lines = 4 * u64::from(host().cpu.l3.lines + host().cpu.l2.lines);
    let read_first = vec![load(0, 0, 0), work(u16::MAX), store(0, 0)];
    for (departs, least, most) in [(writing(), lines / 2, lines), (losing(), 0, 0)] {
        let host = host();
        let program = Loop::new(1, read_first.clone(), 64, lines);
        let (reads, writes) = requests(&run(&host, departs.clone(), expander(), program));
        assert_eq!(reads, lines);
        assert!((least..=most).contains(&writes), "{writes} of {lines}");
        let missing = Loop::new(1, vec![store(0, 0)], 64, lines);
        assert_eq!(
            requests(&run(&host, departs, expander(), missing)),
            (0, lines)
        );
    }
}

/// What a store finds in the L3 is written when it leaves that, even where L2 lose their lines.
#[test]
fn a_line_that_a_store_finds_in_the_l3_is_written_back_by_it() {
    let host = host();
    // Others of its set in the L2, which the L3 keeps.
    let l2 = &host.cpu.l2;
    let way = u64::from(l2.lines / l2.ways) * 64;
    let others = u64::from(l2.ways);
    let mut found = vec![load(0, 0, 0), work(u16::MAX)];
    found.extend((1..=others).map(|other| load(other * way, 0, 0)));
    found.extend([work(u16::MAX), store(0, 0)]);
    let lines = 1_000;
    let stats = run(
        &host,
        losing(),
        expander(),
        Loop::new(1, found, 1 << 20, lines),
    );
    let (reads, writes) = requests(&stats);
    assert_eq!(reads, lines * (others + 1));
    let kept = u64::from(host.cpu.l3.ways);
    assert!((lines - kept..=lines).contains(&writes), "{writes}");
}

/// The most that the caches can keep of lines 64 KiB apart.
fn writes_kept(lines: u64) -> u64 {
    let cpu = host().cpu;
    let kept = |level: Level| {
        let sets = u64::from(level.lines / level.ways);
        sets.div_ceil(1024).max(1) * u64::from(level.ways)
    };
    (kept(cpu.l2) + kept(cpu.l3)).min(lines)
}

/// As many as fit into window and store buffer are on their way, as with lines that are fetched.
#[test]
fn a_store_that_misses_waits_for_its_write() {
    for buffer in [1, 16, 64] {
        let mut host = host();
        host.cpu.store_buffer = buffer;
        let stats = run(
            &host,
            writing(),
            expander(),
            Loop::new(1, vec![store(0, 0)], 4096, N),
        );
        let latency = L3.0 + MEMORY.0;
        let expected = latency * N / u64::from(host.cpu.window + buffer);
        assert!(
            stats.time.0.abs_diff(expected) <= 2 * latency,
            "{} instead of {}",
            stats.time,
            Ps(expected)
        );
    }
}

fn flash(log: &str) -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "256MiB"),
        ("device.hint_threshold", "2us"),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
        ("write_log.capacity", log),
    ];
    Device::new(&config(&settings), 1).expect("a device")
}

/// A write log takes such a store without flash; a device without one reads the page first, and
/// the store comes again after a switch.
#[test]
fn a_write_log_takes_stores_without_flash() {
    for log in ["none", "16MiB"] {
        let mut host = host();
        (host.threads, host.coordinated) = (4, true);
        let pages = 50;
        let stats = run(
            &host,
            writing(),
            flash(log),
            Loop::new(4, vec![store(0, 10)], 4096, pages),
        );
        assert_eq!(stats.instructions, 4 * pages * 11);
        let memory = &stats.memory;
        let (reads, writes) = requests(&stats);
        assert_eq!(reads, 0);
        match log {
            "none" => {
                assert!(memory.long_delays > 0 && memory.long_delays + 4 * pages == writes);
            }
            _ => assert_eq!((memory.long_delays, writes), (0, 4 * pages)),
        }
    }
}

/// A level of caches as a list of lines for each set, most recent first, with whether each was
/// written.
struct Naive {
    sets: Vec<Vec<(u64, bool)>>,
    ways: usize,
}

impl Naive {
    fn new(level: &Level) -> Naive {
        Naive {
            sets: vec![Vec::new(); (level.lines / level.ways) as usize],
            ways: level.ways as usize,
        }
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, bool)> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(line % sets) as usize]
    }

    fn take(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let at = set.iter().position(|entry| entry.0 == line)?;
        Some(set.remove(at).1)
    }

    /// Puts a line first. Returns the one that had to go.
    fn put(&mut self, line: u64, dirty: bool) -> Option<(u64, bool)> {
        let ways = self.ways;
        let set = self.set(line);
        set.insert(0, (line, dirty));
        if set.len() > ways { set.pop() } else { None }
    }

    fn mark(&mut self, line: u64) {
        let entry = self.set(line).iter_mut().find(|entry| entry.0 == line);
        entry.expect("an upper level's line is here too").1 = true;
    }
}

/// Lines read and written, if every access is over before the next one begins.
fn naive(host: &HostConfig, stores_write: bool, body: &[Instr]) -> (u64, u64) {
    let (mut l1, mut l2) = (Naive::new(&host.cpu.l1), Naive::new(&host.cpu.l2));
    let mut l3 = Naive::new(&host.cpu.l3);
    let (mut reads, mut writes) = (0, 0);
    // Lines of the L1 that were written as a whole.
    let mut whole = BTreeSet::new();
    for entry in body.iter().filter(|entry| entry.op != MemOp::None) {
        let (line, stores) = (entry.addr / 64, entry.op == MemOp::Store);
        if let Some(dirty) = l1.take(line) {
            l1.put(line, dirty | (stores && !whole.contains(&line)));
            continue;
        }
        let mut dirty = stores;
        let mut displaced = None;
        if let Some(below) = l2.take(line) {
            l2.put(line, below);
        } else {
            displaced = l2.put(line, false);
            if let Some((gone, written)) = &mut displaced {
                *written |= l1.take(*gone).unwrap_or(false);
                whole.remove(gone);
            }
            if let Some(below) = l3.take(line) {
                l3.put(line, below);
            } else {
                match stores && stores_write {
                    true => {
                        (writes, dirty) = (writes + 1, false);
                        whole.insert(line);
                    }
                    false => reads += 1,
                }
                writes += u64::from(l3.put(line, false).is_some_and(|(_, dirty)| dirty));
            }
        }
        if let Some((gone, dirty)) = l1.put(line, dirty) {
            whole.remove(&gone);
            if dirty {
                l2.mark(gone);
            }
        }
        if let Some((gone, true)) = displaced {
            l3.take(gone);
            writes += u64::from(l3.put(gone, true).is_some_and(|(_, dirty)| dirty));
        }
    }
    (reads, writes)
}

fn small(lines: u32, ways: u32, like: Level) -> Level {
    Level {
        lines,
        ways,
        ..like
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(100)))]
    #[test]
    fn caches_are_lists_of_lines(
        accesses in prop::collection::vec((0u64..60, any::<bool>()), 1..400),
        stores_write in any::<bool>(),
    ) {
        let mut host = host();
        let cpu = &mut host.cpu;
        cpu.l1 = small(4, 2, cpu.l1);
        cpu.l2 = small(8, 4, cpu.l2);
        cpu.l3 = small(32, 4, cpu.l3);
        // Computation after each, so that a core does not run ahead into the next.
        let access = |(line, stores): &(u64, bool)| match stores {
            true => [store(line * 64, 0), work(u16::MAX)],
            false => [load(line * 64, 0, 0), work(u16::MAX)],
        };
        let body: Vec<Instr> = accesses.iter().flat_map(access).collect();
        let expected = naive(&host, stores_write, &body);
        let departs = if stores_write { writing() } else { None };
        let stats = run(&host, departs, expander(), Loop::new(1, body, 0, 1));
        prop_assert_eq!(requests(&stats), expected);
    }
}
