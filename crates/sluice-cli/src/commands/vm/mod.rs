//! `sluice vm`: an unmodified guest on unmodified QEMU, with the device as its memory.
//!
//! QEMU maps the device as the file behind a memory backend, and the preload library finds that
//! mapping as it finds any of `sluice run --place dax:PATH`.

mod another;
mod args;
mod demo;
mod disk;
mod given;
mod hmat;
mod machine;
mod several;
mod with_plugin;

pub use args::VmArgs;

use crate::child::tied_to_us;
use crate::emulator::kvm::{Kvm, probe_kvm};
use crate::emulator::qemu::{self, PACKAGE, Qemu};
use crate::error::Error;
use crate::live::args::{LiveArgs, TrapArg};
use crate::live::persist::Persistence;
use crate::live::{Live, Ready, fitness::check_live};
use crate::memory_file::MemoryFile;
use crate::program;
use crate::signals;
use args::{AccelArg, AttachArg};
use disk::Waiting;
use given::Given;
use machine::{Machine, Node};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use several::Other;
use sluice_model::DeviceConfig;
use sluice_results::{Disk, LiveKind, LiveRun};
use sluice_runtime::{LiveSettings, OnDevice, Store};
use sluice_units::Bytes;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::{Command, ExitCode};

/// Memory of a guest besides the device, by default.
const MEMORY: Bytes = Bytes(1 << 30);

/// Runs the guest and prints what the device did. Everything that can be wrong is found before QEMU
/// starts.
pub fn run(args: &VmArgs) -> Result<ExitCode, Error> {
    args.check()?;
    if args.another.is_empty() {
        return run_with(args, &[]);
    }
    let (args, others) = several::parted(args)?;
    run_with(&args, &others)
}

fn run_with(args: &VmArgs, others: &[Other]) -> Result<ExitCode, Error> {
    let given = Given::parse(&args.qemu_args)?;
    if args.demo {
        given.check_demo()?;
    }
    let qemu = qemu::find(&args.qemu, PACKAGE)?;
    program::check(qemu.path.as_os_str())?;
    disk::check(args)?;
    if args.in_line.simulate || args.record.is_some() {
        return with_plugin::run(args, &given, &qemu);
    }
    let accelerator = choose(args.accel)?;
    if args.demo {
        return demo::run(args, others, &given, &qemu, accelerator);
    }
    let device = |live: &LiveArgs| {
        let device = live.config()?;
        check_live(&live.device, &device.0)?;
        Ok(device)
    };
    let vm = Vm::new(args, others, device, &given, &qemu, accelerator)?;
    if args.dry_run {
        outln!("{}", shown(&program::words_of(&vm.live.command)))?;
        return Ok(ExitCode::SUCCESS);
    }
    // A guest may have been installed on a device that is kept.
    if !(args.disk && vm.live.persistence.is_some()) {
        given.check_boots()?;
    }
    let terminal = Terminal::keep();
    let about = vm.about();
    let (ready, memory) = prepare(vm.live, vm.others, vm.memory)?;
    let disk = Waiting::new(args, &ready)?;
    let adjust = |command: &mut Command| {
        tied_to_us(command);
        machine::add_ring(command, &ready);
        disk.add_to(command, &ready);
    };
    let running = ready.start(&vm.qemu.path, adjust, &signals::ENDING_OR_CTRL_C)?;
    let disk = disk.serve(&ready, &running, &memory[0])?;
    let ended = ready.finish(running, |_, results, _| {
        terminal.restore();
        describe(results, about, disk.finish());
    });
    drop(memory);
    ended
}

/// Says in the results what the machine is.
fn describe(results: &mut [LiveRun], machine: sluice_results::Machine, mut disk: Option<Disk>) {
    for result in results {
        result.kind = LiveKind::Vm;
        result.vm = Some(sluice_results::Machine {
            disk: disk.take(),
            ..machine.clone()
        });
    }
}

/// Makes what the devices need at their start. The memory of each is to be kept as long.
fn prepare<'a>(
    first: Live<'a>,
    others: Vec<OtherDevice<'a>>,
    memory: MemoryFile,
) -> Result<(Ready<'a>, Vec<MemoryFile>), Error> {
    let (mut ready, mut kept) = (first.prepare()?, vec![memory]);
    for other in others {
        ready.add(other.name, other.live.prepare()?)?;
        kept.push(other.memory);
    }
    Ok((ready, kept))
}

/// A machine to be started, and the memory that is its device.
struct Vm<'a> {
    live: Live<'a>,
    qemu: &'a Qemu,
    machine: Machine,
    memory: MemoryFile,
    others: Vec<OtherDevice<'a>>,
}

/// A device beside the first.
struct OtherDevice<'a> {
    name: String,
    live: Live<'a>,
    memory: MemoryFile,
}

impl<'a> Vm<'a> {
    fn new(
        args: &'a VmArgs,
        others: &'a [Other],
        device: impl Fn(&LiveArgs) -> Result<(DeviceConfig, LiveSettings), Error>,
        given: &Given,
        qemu: &'a Qemu,
        accelerator: &'static str,
    ) -> Result<Vm<'a>, Error> {
        let found = device(&args.live)?;
        let memory = MemoryFile::new("sluice-device", found.0.capacity().0)?;
        let mut machine = Machine {
            attach: args.attach,
            accelerator,
            memory: given.memory.unwrap_or(MEMORY),
            cpus: given.cpus,
            device: found.0.capacity(),
            device_path: memory.path(),
            has_cpu_model: given.has_cpu_model,
            has_disk: args.disk,
            speed: Some(hmat::Speed::of(&found.0)),
            others: Vec::new(),
            cpu_name: None,
            version: qemu.version,
        };
        let of_name = |of: &Other, error| Error::unfit(format!("--another {}", of.name), error);
        let mut more = Vec::new();
        for other in others {
            let found = device(&other.live).map_err(|error| of_name(other, error))?;
            let size = found.0.capacity();
            let memory = MemoryFile::new("sluice-device", size.0)?;
            machine.others.push(Node {
                name: other.name.clone(),
                size,
                path: memory.path(),
                speed: hmat::Speed::of(&found.0),
            });
            more.push((other, found, memory));
        }
        machine.check()?;
        let live = live_of(args, &args.live, found, &memory)?;
        let more = more.into_iter().map(|(other, found, memory)| {
            let live = live_of(args, &other.live, found, &memory);
            Ok(OtherDevice {
                name: other.name.clone(),
                live: live.map_err(|error| of_name(other, error))?,
                memory,
            })
        });
        let more = more.collect::<Result<_, Error>>()?;
        let mut vm = Vm {
            live,
            qemu,
            machine,
            memory,
            others: more,
        };
        vm.set_command(args, given);
        Ok(vm)
    }

    /// The command line, which all results have.
    fn set_command(&mut self, args: &VmArgs, given: &Given) {
        let mut command = vec![args.qemu.clone()];
        command.extend(self.machine.arguments());
        command.extend(machine::ON_PANIC.map(str::to_owned));
        command.extend(self.machine.rest(&given.rest));
        let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
        for other in &mut self.others {
            other.live.command = command.clone();
        }
        self.live.command = command;
    }

    /// What the result says of the machine.
    fn about(&self) -> sluice_results::Machine {
        let is_kvm = self.machine.accelerator == "kvm";
        sluice_results::Machine {
            attach: self.machine.attach_name().to_owned(),
            accelerator: self.machine.accelerator.to_owned(),
            hardware: is_kvm && matches!(probe_kvm(), Kvm::Runs { .. }),
            qemu: self.qemu.version.to_string(),
            memory_bytes: self.machine.memory.0,
            cpus: self.machine.cpus,
            direct: self.machine.is_direct(),
            emulated: self.live.is_emulated,
            disk: None,
        }
    }
}

/// One device of a guest as a live run, without its command line.
fn live_of<'a>(
    args: &VmArgs,
    of: &'a LiveArgs,
    (config, settings): (DeviceConfig, LiveSettings),
    memory: &MemoryFile,
) -> Result<Live<'a>, Error> {
    let persistence = persistence(args, &config, memory)?;
    Ok(Live {
        args: of,
        config,
        settings,
        trap: TrapArg::Event,
        place: OnDevice::Dax(memory.path().into()),
        kinds: Default::default(),
        place_name: format!("guest:{}", machine::name(args.attach)),
        store: Store::Memory,
        persistence,
        store_name: args.store.clone(),
        mmap_min: 0,
        command: Vec::new(),
        poll: Some(machine::RING_POLL),
        watch: 0,
        count_after: None,
        profile: 0,
        is_emulated: !args.baseline,
    })
}

/// What a persistent device is to be kept in; nothing for another one.
fn persistence(
    args: &VmArgs,
    config: &DeviceConfig,
    memory: &MemoryFile,
) -> Result<Option<Persistence>, Error> {
    match (config.persistent, args.attach) {
        (false, _) if args.store == "dram" => Ok(None),
        (false, _) => {
            let why = "it keeps a device with device.persistent=yes alone; expected dram";
            Err(Error::value("--store", &args.store, why))
        }
        (true, AttachArg::Numa) => {
            let why = "the next guest's kernel knows nothing of what this one has in its memory; \
                       expected no, or --attach dax or cxl";
            Err(Error::value("`device.persistent`", "yes", why))
        }
        (true, _) => {
            let device = &args.live.device.device;
            Persistence::new(&args.store, memory.path().into(), device, config).map(Some)
        }
    }
}

/// QEMU's command line, to be read.
fn shown(command: &[String]) -> String {
    let words = command.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,./:+%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Which accelerator to name to QEMU.
fn choose(wanted: AccelArg) -> Result<&'static str, Error> {
    match wanted {
        AccelArg::Tcg => Ok("tcg"),
        AccelArg::Auto if matches!(probe_kvm(), Kvm::Runs { .. }) => Ok("kvm"),
        AccelArg::Auto => Ok("tcg"),
        AccelArg::Kvm => match probe_kvm() {
            Kvm::Missing(why) => Err(Error::NoKvm(why)),
            _ => Ok("kvm"),
        },
    }
}

/// The terminal's settings. A QEMU that is killed leaves them as a guest needs them.
struct Terminal(Option<Termios>);

impl Terminal {
    fn keep() -> Terminal {
        let is_terminal = std::io::stdin().is_terminal();
        Terminal(
            is_terminal
                .then(|| tcgetattr(std::io::stdin()).ok())
                .flatten(),
        )
    }

    fn restore(&self) {
        if let Some(settings) = &self.0 {
            // Nothing can be done about a failure.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, settings);
        }
    }
}
