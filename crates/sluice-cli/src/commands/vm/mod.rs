//! `sluice vm`: an unmodified guest on unmodified QEMU, with the device as its memory.
//!
//! QEMU maps the device as the file behind a memory backend, and the preload library finds that
//! mapping as it finds any of `sluice run --place dax:PATH`.

mod args;
mod demo;
mod disk;
mod given;
mod hmat;
mod machine;
mod memory_file;
mod with_plugin;

pub use args::VmArgs;

use crate::child::tied_to_us;
use crate::emulator::kvm::{Kvm, probe_kvm};
use crate::emulator::qemu::{self, PACKAGE, Qemu};
use crate::error::Error;
use crate::live::args::TrapArg;
use crate::live::persist::Persistence;
use crate::live::{Live, fitness::check_live};
use crate::program;
use crate::signals;
use args::{AccelArg, AttachArg};
use disk::Waiting;
use given::Given;
use machine::Machine;
use memory_file::MemoryFile;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use sluice_model::DeviceConfig;
use sluice_results::LiveKind;
use sluice_runtime::{LiveSettings, OnDevice, Store};
use sluice_units::Bytes;
use std::io::IsTerminal;
use std::process::{Command, ExitCode};

/// Memory of a guest that is not told how much, besides the device.
const MEMORY: Bytes = Bytes(1 << 30);

/// Runs the guest and tells what the device did. Everything that can be wrong is found before QEMU
/// starts.
pub fn run(args: &VmArgs) -> Result<ExitCode, Error> {
    args.check()?;
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
        return demo::run(args, &given, &qemu, accelerator);
    }
    let device = args.live.config()?;
    check_live(&args.live.device, &device.0)?;
    let vm = Vm::new(args, device, &given, &qemu, accelerator)?;
    if args.dry_run {
        outln!("{}", shown(&program::words_of(&vm.live.command)))?;
        return Ok(ExitCode::SUCCESS);
    }
    given.check_boots()?;
    let terminal = Terminal::keep();
    let about = vm.about();
    let ready = vm.live.prepare()?;
    let disk = Waiting::new(args, &ready)?;
    let adjust = |command: &mut Command| {
        tied_to_us(command);
        machine::add_ring(command, &ready);
        disk.add_to(command, &ready);
    };
    let running = ready.start(&vm.qemu.path, adjust, &signals::ENDING_OR_CTRL_C)?;
    let disk = disk.serve(&ready, &running, &vm.memory)?;
    let ended = ready.finish(running, |_, result, _| {
        terminal.restore();
        result.kind = LiveKind::Vm;
        result.vm = Some(sluice_results::Machine {
            disk: disk.finish(),
            ..about
        });
    });
    drop(vm.memory);
    ended
}

/// A machine to be started, and the memory that is its device.
struct Vm<'a> {
    live: Live<'a>,
    qemu: &'a Qemu,
    machine: Machine,
    memory: MemoryFile,
}

impl<'a> Vm<'a> {
    fn new(
        args: &'a VmArgs,
        (config, settings): (DeviceConfig, LiveSettings),
        given: &Given,
        qemu: &'a Qemu,
        accelerator: &'static str,
    ) -> Result<Vm<'a>, Error> {
        let memory = MemoryFile::new("sluice-device", config.capacity().0)?;
        let machine = Machine {
            attach: args.attach,
            accelerator,
            memory: given.memory.unwrap_or(MEMORY),
            cpus: given.cpus,
            device: config.capacity(),
            device_path: memory.path(),
            has_cpu_model: given.has_cpu_model,
            has_disk: args.disk,
            speed: Some(hmat::Speed::of(&config)),
            cpu_name: None,
            version: qemu.version,
        };
        machine.check()?;
        let persistence = persistence(args, &config, &memory)?;
        let mut command = vec![args.qemu.clone()];
        command.extend(machine.arguments());
        command.extend(machine::ON_PANIC.map(str::to_owned));
        command.extend(machine.rest(&given.rest));
        let live = Live {
            args: &args.live,
            config,
            settings,
            trap: TrapArg::Event,
            place: OnDevice::Dax(memory.path().into()),
            kinds: Default::default(),
            place_name: format!("guest:{}", machine.attach_name()),
            store: Store::Memory,
            persistence,
            store_name: args.store.clone(),
            mmap_min: 0,
            command: command.into_iter().map(Into::into).collect(),
            poll: Some(machine::RING_POLL),
            watch: 0,
            count_after: None,
            profile: 0,
            is_emulated: !args.baseline,
        };
        Ok(Vm {
            live,
            qemu,
            machine,
            memory,
        })
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
