//! Device, system and fabric files, and workloads. What is taken runs for a moment.

use sluice_config::{CheckedSystem, fabrics, parse, parse_fabric, parse_system, presets, systems};
use sluice_host::{Instr, MemOp, Program, RunLength, Step};
use sluice_model::{Command, Device, DeviceConfig, Op, Request};
use sluice_net::{Fabric, FabricConfig, Length, MemorySettings};
use sluice_skybyte_artifact::{SkyByte, simulate};
use sluice_testkit::mutate::{each, reaches, seed, text};
use sluice_units::{Bytes, Lpn, PAGE_BYTES, Ps, Rng};

/// Larger ones are taken and not made: they would need the memory of a larger machine.
const PAGES_MAX: u64 = 1 << 24;
const CACHE_MAX: u32 = 1 << 20;
const BLOCKS_MAX: u64 = 1 << 22;

fn in_one_line(error: impl std::fmt::Display) -> bool {
    let message = error.to_string();
    assert!(!message.contains('\n'), "more than a line: {message}");
    false
}

fn is_small(config: &DeviceConfig) -> bool {
    let nand = &config.nand;
    let planes = u64::from(nand.plane_count());
    config.capacity().0 / 4096 <= PAGES_MAX
        && config.cache.pages <= CACHE_MAX
        && planes * u64::from(nand.blocks_per_plane) <= BLOCKS_MAX
}

/// Accesses, commands and what the books say then.
fn use_device(config: &DeviceConfig, rng: &mut Rng) -> bool {
    if !is_small(config) {
        return true;
    }
    let mut device = match Device::new(config, 1) {
        Ok(device) => device,
        Err(error) => return in_one_line(error),
    };
    let pages = device.pages();
    let near = pages.min(3 * u64::from(config.cache.pages) / 2 + 8);
    let mut now = Ps::ZERO;
    for _ in 0..400 {
        now += Ps(rng.below(1 << 26));
        let reach = if rng.below(3) == 0 { pages } else { near };
        let lpn = Lpn::of(rng.below(reach));
        match rng.below(12) {
            0 => drop(device.command(now, Command::Flush(lpn), &mut ())),
            1 => drop(device.command(now, Command::Pin(lpn), &mut ())),
            2 => drop(device.command(now, Command::Evict(lpn), &mut ())),
            3 => drop(device.command(now, Command::Prefetch(lpn), &mut ())),
            kind => {
                let op = if kind % 2 == 0 { Op::Write } else { Op::Read };
                let addr = lpn.addr(PAGE_BYTES) + rng.below(64) * 64;
                let completion = device.access(now, Request { addr, op }, &mut ());
                assert!(completion.done_at >= now, "an answer before the question");
            }
        }
    }
    device.balance().unwrap_or_else(|error| panic!("{error}"));
    true
}

#[test]
fn device_files() {
    let mut rng = Rng::stream(seed(), "device files");
    let valid: Vec<&str> = presets().iter().map(|preset| preset.toml).collect();
    let count = sluice_testkit::cases(400);
    let mut uses = Rng::stream(seed(), "device uses");
    let taken = each(
        count,
        || text(&mut rng, &valid),
        |text| match parse(text, "dev.toml") {
            Err(error) => in_one_line(error),
            Ok(raw) => match DeviceConfig::new(&raw) {
                Err(error) => in_one_line(error),
                Ok(config) => use_device(&config, &mut uses),
            },
        },
    );
    reaches("device files", taken, count, 20);
}

/// Threads that load and store near each other and far away.
struct Wanders {
    rng: Rng,
    threads: u32,
    bytes: u64,
}

impl Program for Wanders {
    fn footprint(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn fill(&mut self, _: u32, out: &mut Vec<Instr>) -> Step {
        for _ in 0..16 {
            let far = self.rng.below(4) == 0;
            let reach = if far {
                self.bytes
            } else {
                self.bytes.min(1 << 16)
            };
            let op = [MemOp::Load, MemOp::Store][usize::from(self.rng.below(3) == 0)];
            out.push(Instr {
                addr: self.rng.below(reach / 64) * 64,
                work: self.rng.below(20) as u16,
                after: 0,
                op,
            });
        }
        Step::More
    }
}

#[test]
fn system_files() {
    let mut rng = Rng::stream(seed(), "system files");
    let valid: Vec<&str> = systems().iter().map(|preset| preset.toml).collect();
    let count = sluice_testkit::cases(150);
    let mut run = |text: &String| {
        let system = match parse_system(text, "sys.toml") {
            Err(error) => return in_one_line(error),
            Ok(system) => system,
        };
        let CheckedSystem {
            device,
            host,
            artifact,
        } = match system.scaled(1024).and_then(|system| system.check(1)) {
            Err(error) => return in_one_line(error),
            Ok(checked) => checked,
        };
        if !is_small(&device) || host.threads > 256 || host.cpu.l3.lines > 1 << 20 {
            return true;
        }
        let device = match Device::new(&device, 1) {
            Ok(device) => device,
            Err(error) => return in_one_line(error),
        };
        let room = host.pages_of_others(
            device.config().cache.pages,
            &SkyByte::before(artifact.as_ref()),
        );
        let bytes = device.pages().saturating_sub(room) * 4096;
        if bytes < 1 << 16 {
            return true;
        }
        let mut program = Wanders {
            rng: Rng::stream(seed(), "wanders"),
            threads: host.threads,
            bytes: bytes.min(64 << 20),
        };
        let length = RunLength {
            warmup: 500,
            measured: 20_000,
            sample_every: Ps::from_us(10),
        };
        // Far more than it takes, so that one that never gets on fails.
        let mut looks = 0;
        let mut watch = |_| {
            looks += 1;
            looks < 2_000
        };
        let (stats, device) = simulate(&host, artifact, device, &mut program, length, &mut watch);
        // Instructions that retire together are counted together.
        let done = stats.instructions;
        assert!(done >= 19_000, "it does not get on: {done} instructions");
        device.balance().unwrap_or_else(|error| panic!("{error}"));
        true
    };
    let taken = each(count, || text(&mut rng, &valid), &mut run);
    reaches("system files", taken, count, 20);
}

#[test]
fn fabric_files() {
    let mut rng = Rng::stream(seed(), "fabric files");
    let valid: Vec<&str> = fabrics().iter().map(|preset| preset.toml).collect();
    let count = sluice_testkit::cases(150);
    let run = |text: &String| {
        let spec = match parse_fabric(text, "fabric.toml") {
            Err(error) => return in_one_line(error),
            Ok(spec) => spec,
        };
        let config = match FabricConfig::new(&spec, 1) {
            Err(error) => return in_one_line(error),
            Ok(config) => config,
        };
        let pages = config
            .endpoints
            .iter()
            .map(|endpoint| match &endpoint.memory {
                MemorySettings::Device(device) => u64::from(device.pages),
                _ => 0,
            });
        let is_small = pages.sum::<u64>() <= 16 * PAGES_MAX;
        if !is_small || config.graph.edges() > 512 || config.graph.names.len() > 1_024 {
            return true;
        }
        let mut fabric = match Fabric::new(&config) {
            Err(error) => return in_one_line(error),
            Ok(fabric) => fabric,
        };
        let length = Length {
            warmup: 50,
            requests: 1_000,
        };
        match fabric.run(length, &mut |_| true) {
            Err(error) => drop(in_one_line(error)),
            Ok(()) => fabric.balance().unwrap_or_else(|error| panic!("{error}")),
        }
        true
    };
    let taken = each(count, || text(&mut rng, &valid), run);
    reaches("fabric files", taken, count, 20);
}

#[test]
fn workloads() {
    let mut rng = Rng::stream(seed(), "workloads");
    let valid = [
        "chase:size=2MiB,stride=64,passes=3,random=1,seed=7,threads=2",
        "chase:size=1MiB,stride=4096,passes=2,uniform=1,write=1",
        "stream:size=4MiB,stride=128,passes=2,write=1,threads=3",
        "uniform:size=1MiB,stride=64,ops=5000,write=20%,seed=3,threads=2",
        "zipf:size=8MiB,stride=4096,ops=5000,theta=0.99,write=50%",
    ];
    let count = sluice_testkit::cases(600);
    let run = |text: &String| {
        let spec = match sluice_streams::parse_spec(text.trim(), 1) {
            Err(error) => return in_one_line(error),
            Ok(spec) => spec,
        };
        if spec.footprint_bytes() > 256 << 20 || spec.threads() > 64 {
            return true;
        }
        for stream in spec.streams() {
            for access in stream.take(2_000) {
                assert!(
                    access.addr < spec.footprint_bytes(),
                    "{access:?} is outside"
                );
            }
        }
        true
    };
    let taken = each(count, || text(&mut rng, &valid), run);
    reaches("workloads", taken, count, 20);
}
