//! SkyByte's long-delay messages on a link.

use crate::rig::{direct, run};
use sluice_host::{Host, HostConfig, HostStats, Instr, Program, Step};
use sluice_model::Device;
use sluice_net::{EndpointId, Fabric, FabricConfig, Hosts, Length, RequesterId};
use sluice_testkit::core_rig::{Loop, config, host, load, store};
use sluice_units::{Bytes, Ps};

/// A CXL-SSD whose every new page is a miss of 30 us.
fn flash() -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "256MiB"),
        ("cache.policy", "lru"),
        ("device.hint_threshold", "2us"),
        ("device.protocol_latency", "0ns"),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    Device::new(&config(&settings), 1).unwrap()
}

fn switching(threads: u32) -> HostConfig {
    let mut host = host();
    (host.threads, host.coordinated) = (threads, true);
    host
}

/// A new page each round.
fn pages(threads: u32, rounds: u64) -> Loop {
    Loop::new(threads, vec![load(0, 10, 1)], 4096, rounds)
}

#[test]
fn threads_take_turns_while_pages_come() {
    let rounds = 200;
    let bandwidth = [("link.bandwidth", "16000")];
    let alone = run(&host(), flash(), &bandwidth, &mut pages(1, rounds));
    assert_eq!((alone.switches, alone.memory.long_delays), (0, 0));
    let many = run(&switching(8), flash(), &bandwidth, &mut pages(8, rounds));
    assert_eq!(many.instructions, 8 * alone.instructions);
    assert!(
        many.time.0 < 2 * alone.time.0,
        "{} {}",
        many.time,
        alone.time
    );
    let at_ends = 7;
    assert_eq!(many.switches, many.memory.long_delays + at_ends);
    let whole = many.cores;
    let sum = whole.compute + whole.memory + whole.switching + whole.idle;
    assert_eq!(sum, many.time);
}

/// A request and a message of 9 bytes, at a microsecond a byte: the switch comes that much later.
#[test]
fn the_message_takes_the_links_time() {
    let first_switch = |bandwidth| {
        let settings = [("link.bandwidth", bandwidth)];
        let stats = run(&switching(1), flash(), &settings, &mut pages(1, 1));
        assert!(stats.memory.long_delays > 0);
        stats
    };
    let (fast, slow) = (first_switch("none"), first_switch("1"));
    // While the page comes the thread asks again and again; each round takes the link's time too.
    let round = Ps::from_us(17 + 9);
    let (delays, waited) = (slow.memory.long_delays, slow.cores.memory);
    let data = Ps::from_us(17 + 74);
    assert!(
        waited >= round * delays + data,
        "{waited} for {delays} delays"
    );
    assert!(delays < fast.memory.long_delays);
}

/// New pages, two lines of each; then two other lines of the same pages; and so on.
#[derive(Default)]
struct InPhases {
    at: u64,
    is_given: bool,
}

const PAGES: u64 = 300;

impl Program for InPhases {
    fn footprint(&self) -> Bytes {
        Bytes(64 << 20)
    }

    fn threads(&self) -> u32 {
        1
    }

    fn phases(&self) -> &'static [&'static str] {
        &["new", "again"]
    }

    fn phase(&self) -> usize {
        (self.at % 2) as usize
    }

    fn fill(&mut self, _: u32, out: &mut Vec<Instr>) -> Step {
        if self.at == 6 {
            return Step::End;
        }
        self.is_given = !self.is_given;
        if !self.is_given {
            self.at += 1;
            return Step::Barrier;
        }
        for page in self.at / 2 * PAGES..(self.at / 2 + 1) * PAGES {
            let first = page * 4096 + self.at % 2 * 128;
            out.extend([load(first, 0, 1), load(first + 64, 0, 1)]);
        }
        Step::More
    }
}

/// A host behind a link learns from the answers what the device's cache had.
#[test]
fn phases_have_the_hits_of_their_answers() {
    let stats = run(
        &host(),
        flash(),
        &[("link.bandwidth", "16000")],
        &mut InPhases::default(),
    );
    let of = |phase: usize| {
        let it = &stats.phases[phase];
        [it.times, it.cache_hits, it.cache_misses, it.instructions]
    };
    assert_eq!(of(0), [3, 3 * PAGES, 3 * PAGES, 6 * PAGES]);
    assert_eq!(of(1), [3, 6 * PAGES, 0, 6 * PAGES]);
    let [new, again] = [0, 1].map(|phase| stats.phases[phase].time);
    assert!(new > Ps::from_us(30) * (3 * PAGES), "{new}");
    assert_eq!(new + again, stats.time);
    assert!(stats.phases[0].shortest >= Ps::from_us(30) * PAGES);
    assert!(stats.phases[0].shortest * 3 <= new);
}

/// A run of hosts ends when so many requests have come back, and is asked once in 65,536 events
/// whether it goes on.
#[test]
fn a_run_of_hosts_is_as_long_as_was_asked_for() {
    let run = |requests| {
        let config = FabricConfig::new(&direct(&[]), 1).unwrap();
        let mut fabric = Fabric::new(&config).unwrap();
        fabric.put_device(EndpointId(0), flash(), Ps::ZERO);
        let mut program = pages(1, 60_000);
        let host = host();
        let mut hosts = Hosts::new(fabric);
        hosts.seat(RequesterId(0), 0, Host::with_port(&host, &mut program));
        let mut looks = 0;
        let mut watch = |_| {
            looks += 1;
            looks < 2
        };
        let warmup = requests / 2;
        let length = Length { warmup, requests };
        hosts.run_with(length, &mut watch, &mut |_| ()).unwrap();
        (hosts.fabric().stats().completed(), looks)
    };
    assert_eq!(run(1_000), (1_000, 0));
    let (completed, looks) = run(50_000);
    assert_eq!(looks, 2, "it ends at the second look");
    assert!(completed < 50_000);
}

/// On coherent memory too a host learns where the device found each line, and what that took.
#[test]
fn coherent_lines_have_the_hits_and_the_flash_of_their_device() {
    let spec = direct(&[
        ("coherence.filter", "endpoint"),
        ("coherence.entries", "4096"),
        ("packet.flits", "256b"),
        ("link.bandwidth", "16000"),
    ]);
    let mut fabric = Fabric::new(&FabricConfig::new(&spec, 1).unwrap()).unwrap();
    fabric.put_device(EndpointId(0), flash(), Ps::ZERO);
    let (host, mut program) = (host(), InPhases::default());
    let mut hosts = Hosts::new(fabric);
    hosts.seat(RequesterId(0), 0, Host::with_port(&host, &mut program));
    while hosts.step(&mut |_| ()).unwrap() {}
    let (device, memory) = (hosts.device(EndpointId(0)).unwrap(), hosts.hosts().next());
    let (device, memory) = (device.stats(), memory.unwrap().1.results().memory);
    let (requests, time) = (memory.requests, memory.access_time);
    let (misses, lines) = (3 * PAGES, 12 * PAGES);
    assert_eq!(requests.device_read_misses, misses);
    assert_eq!(requests.device_read_hits, lines - misses);
    let parts = device.parts;
    assert_eq!(time.device_dram, parts.dram);
    assert_eq!(time.indexing, parts.indexing);
    let behind = parts.total() - (parts.protocol + parts.indexing + parts.dram);
    assert_eq!(time.flash, behind);
    assert!(behind >= Ps::from_us(30) * misses, "{behind}");
}

/// Stores to more lines of coherent memory than a host has room for: what it counted, which is what
/// the device did if there is one.
fn give_up(rounds: u64, endpoint: &[(&str, &str)], device: Option<Device>) -> HostStats {
    let coherent = [
        ("coherence.filter", "endpoint"),
        ("coherence.entries", "4096"),
        ("packet.flits", "256b"),
        ("link.bandwidth", "16000"),
    ];
    let spec = direct(&[&coherent[..], endpoint].concat());
    let mut fabric = Fabric::new(&FabricConfig::new(&spec, 1).unwrap()).unwrap();
    if let Some(device) = device {
        fabric.put_device(EndpointId(0), device, Ps::ZERO);
    }
    let mut host = host();
    host.cpu.l3.lines = 1024;
    (host.cpu.l1.lines, host.cpu.l2.lines) = (512, 512);
    let mut program = Loop::new(1, vec![store(0, 0)], 64, rounds);
    let mut hosts = Hosts::new(fabric);
    hosts.seat(RequesterId(0), 0, Host::with_port(&host, &mut program));
    while hosts.step(&mut |_| ()).unwrap() {}
    let stats = hosts.hosts().next().unwrap().1.results();
    let time = &stats.memory.access_time;
    let writes = stats.memory.requests.device_writes;
    assert!(writes > rounds - 2_200, "{writes} of {rounds}");
    assert_eq!(u128::from(time.total().0), stats.memory.latency.sum());
    if let Some(device) = hosts.device(EndpointId(0)) {
        let parts = device.stats().parts;
        let behind = parts.total() - (parts.protocol + parts.indexing + parts.dram);
        assert_eq!((time.device_dram, time.flash), (parts.dram, behind));
    }
    stats
}

/// What memory takes for a line that goes back to it is the memory's time, as for one that is read.
/// All of that had been called the link's.
#[test]
fn lines_that_are_given_up_have_the_time_of_their_memory() {
    let stats = give_up(10_000, &[], Some(flash()));
    assert!(stats.memory.access_time.flash >= Ps::from_us(30) * (10_000 / 64));
    let fixed = [
        ("endpoint.type", "fixed"),
        ("endpoint.read", "50ns"),
        ("endpoint.write", "70ns"),
    ];
    let stats = give_up(10_000, &fixed, None);
    let (requests, time) = (stats.memory.requests, stats.memory.access_time);
    let reads = requests.device_read_hits + requests.device_read_misses;
    let due = Ps::from_ns(50) * reads + Ps::from_ns(70) * requests.device_writes;
    assert_eq!(time.device_dram, due);
}
