//! `sluice vm --simulate` and `--record`: a guest under QEMU's translator, with our plugin in it.
//!
//! The device is not emulated: its memory is plain memory of the guest, node 1, and the plugin
//! hears of each access to it.

use super::MEMORY;
use super::args::{AccelArg, AttachArg, VmArgs};
use super::demo;
use super::given::Given;
use super::machine::Machine;
use crate::emulator::qemu::{Qemu, Version};
use crate::emulator::record::Recording;
use crate::emulator::simulate::{Ready, Simulation};
use crate::emulator::{Emulated, Plugin, execute, start};
use crate::error::Error;
use crate::memory_file::MemoryFile;
use crate::signals;
use sluice_abi::SIMULATED_CPU;
use sluice_results::SimulatedMachine;
use sluice_simulation::Part;
use sluice_units::Bytes;
use std::ffi::OsString;
use std::process::ExitCode;

/// Memory of the machine that is neither the guest's nor the device's: firmware, video, tables.
const REST: u64 = 128 << 20;
/// RAM that lies below 4 GiB; see `machine`.
const LOW_MAX: u64 = 2 << 30;
/// QEMU places memory blocks at multiples of this.
const BLOCK: u64 = 256 << 10;
/// What the demo's guest runs by default: twice its cache, with four accesses of each page.
const DEMO_CHASE: &str = "sluice workload chase --size 32MiB --stride 1024 --passes 2";
/// What ends QEMU.
const SIGNALS: &[i32] = &signals::ENDING_OR_CTRL_C;
const DEMO_CACHE: &str = "cache.capacity=16MiB";
/// From here on QEMU gives plugins the guest's own physical addresses.
const GUESTS_ADDRESSES: Version = Version { major: 8, minor: 2 };

/// Runs the guest, and prints what was recorded or simulated.
pub fn run(args: &VmArgs, given: &Given, qemu: &Qemu) -> Result<ExitCode, Error> {
    check(args)?;
    let part = part(args)?;
    qemu.check_plugins()?;
    let guest = demo_guest(args, given)?;
    let given = guest.as_ref().map_or(given, |guest| &guest.given);
    let node = MemoryFile::new("sluice-node", args.node.0)?;
    let machine = Machine {
        attach: AttachArg::Numa,
        accelerator: "tcg",
        memory: given.memory.unwrap_or(MEMORY),
        cpus: given.cpus,
        device: args.node,
        device_path: node.path(),
        has_cpu_model: given.has_cpu_model,
        has_disk: false,
        speed: None,
        others: Vec::new(),
        cpu_name: args.in_line.simulate.then_some(SIMULATED_CPU),
        version: qemu.version,
    };
    machine.check()?;
    let mut command = vec![args.qemu.clone()];
    command.extend(machine.arguments());
    command.extend(repeatable(given, args.live.device.seed));
    command.extend(machine.rest(&given.rest));
    if args.dry_run {
        outln!("{}", super::shown(&command))?;
        return Ok(ExitCode::SUCCESS);
    }
    given.check_boots()?;
    let arguments: Vec<OsString> = command[1..].iter().map(OsString::from).collect();
    if let Some(file) = &args.record {
        let recording = Recording {
            file,
            force: args.live.result.force,
            filter: &args.filter,
            command: &command,
            json: args.live.result.json,
        };
        let emulated = execute(qemu, recording.plugin()?, &arguments, SIGNALS)?;
        return recording.finish(emulated);
    }
    let cpus = given.cpus;
    let mut ready = Simulation {
        device: &args.live.device,
        args: &args.in_line,
        settings: settings(cpus, args.demo),
        part,
        result: &args.live.result,
        command: &command,
    }
    .prepare()?;
    place(&mut ready.plugin, &machine);
    let (emulated, ended) = match guest {
        None => {
            let plugin = ready.plugin.clone();
            (execute(qemu, plugin, &arguments, SIGNALS)?, None)
        }
        Some(guest) => {
            let (emulated, ended) = boot(guest, qemu, &ready, &arguments, args.live.result.json)?;
            (emulated, Some(ended))
        }
    };
    ready.finish(emulated, |result| {
        result.guest = ended.map(|ended| ended.guest());
        result.vm = Some(described(&machine));
    })
}

/// What the result says of the machine.
fn described(machine: &Machine) -> SimulatedMachine {
    SimulatedMachine {
        accelerator: machine.accelerator.to_owned(),
        qemu: machine.version.to_string(),
        memory_bytes: machine.memory.0,
        node_bytes: machine.device.0,
        cpus: machine.cpus,
    }
}

/// Boots the demo's guest with the plugin and hears what it says, to its end.
fn boot(
    guest: demo::Guest,
    qemu: &Qemu,
    ready: &Ready<'_>,
    arguments: &[OsString],
    quiet: bool,
) -> Result<(Emulated, demo::Ended), Error> {
    let plugin = ready.plugin.clone();
    let mut qemu = start(qemu, plugin, arguments, demo::piped, SIGNALS)?;
    let booting = guest.started(qemu.child(), || None, quiet);
    let mut emulated = qemu.wait()?;
    let ended = booting.end(ready.folder());
    emulated.exit = ended.exit(emulated.exit);
    Ok((emulated, ended))
}

fn demo_guest(args: &VmArgs, given: &Given) -> Result<Option<demo::Guest>, Error> {
    let json = if args.live.result.json { " --json" } else { "" };
    let guest = || demo::Guest::prepare(args, given, || DEMO_CHASE.to_owned() + json);
    args.demo.then(guest).transpose()
}

/// Settings that the user's come after: the guest's CPUs, and for the demo a small cache.
fn settings(cpus: u64, is_demo: bool) -> Vec<String> {
    let host = [format!("cpu.threads={cpus}"), format!("cpu.cores={cpus}")];
    let small = is_demo.then(|| DEMO_CACHE.to_owned());
    host.into_iter().chain(small).collect()
}

/// What counts: of the demo by default the command alone.
fn part(args: &VmArgs) -> Result<Part, Error> {
    let given = args.in_line.part.part(&args.count_after)?;
    let [from, to] = demo::MARKS.map(|mark| Some(mark.to_owned()));
    Ok(match args.demo && given == Part::default() {
        true => Part { from, to },
        false => given,
    })
}

fn check(args: &VmArgs) -> Result<(), Error> {
    if args.attach != AttachArg::Numa {
        let given = super::machine::name(args.attach);
        let why = "with --simulate and --record the device is node 1: expected numa";
        return Err(Error::value("--attach", given, why));
    }
    if args.accel == AccelArg::Kvm {
        let why = "it executes the guest without QEMU, which then sees nothing: expected \
                   auto or tcg";
        return Err(Error::value("--accel", "kvm", why));
    }
    Ok(())
}

/// Sets which memory is on the device, in the addresses that QEMU gives its plugins.
fn place(plugin: &mut Plugin, machine: &Machine) {
    let memory = machine.memory.0;
    let start = match machine.version < GUESTS_ADDRESSES {
        // Where the block is among QEMU's, and where it is in the machine's memory.
        true => memory.next_multiple_of(BLOCK) + memory,
        false => (4 << 30) + memory.saturating_sub(LOW_MAX),
    };
    plugin.set("range", format!("{start:#x}+{}B", machine.device.0));
    plugin.set("local", Bytes(memory + REST).to_string());
}

/// With one CPU the guest's clock counts instructions and its random numbers come from the seed, so
/// that each run is the same, unless the user wants it otherwise.
fn repeatable(given: &Given, seed: u64) -> Vec<String> {
    let ours = [
        ("icount", "shift=0,sleep=off".to_owned()),
        ("rtc", "base=2026-01-01,clock=vm".to_owned()),
        ("seed", seed.to_string()),
    ];
    let is_given = |name: &str| {
        let names = given.rest.iter().map(|word| word.trim_start_matches('-'));
        names.into_iter().any(|word| word == name)
    };
    ours.into_iter()
        .filter(|(name, _)| given.cpus == 1 && !is_given(name))
        .flat_map(|(name, value)| [format!("-{name}"), value])
        .collect()
}
