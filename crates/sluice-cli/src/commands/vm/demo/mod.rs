//! `sluice vm --demo`: a guest made here runs one command on the device.

mod archive;
mod control;
mod image;
mod modules;
mod packages;

use super::Vm;
use super::args::{AttachArg, VmArgs};
use super::disk::Waiting;
use super::given::Given;
use super::several::Other;
use crate::child::tied_to_us;
use crate::emulator::qemu::Qemu;
use crate::error::Error;
use crate::live::args::LiveArgs;
use crate::live::fitness::check_live;
use crate::memory_file::MemoryFile;
use crate::program;
use crate::settings::{self, DeviceArgs};
use crate::signals;
use archive::Archive;
use control::{Control, Told};
use image::Image;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value};
use sluice_model::DeviceConfig;
use sluice_results::{Exit, Folder, Process, Run, WorkloadFigures, read_last};
use sluice_runtime::LiveSettings;
use sluice_units::Bytes;
use std::collections::BTreeSet;
use std::io::{BufWriter, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// A device with which a guest is up at once, and which a small program fills.
const DEVICE: [&str; 2] = ["device.capacity=256MiB", "cache.capacity=16MiB"];
/// Memory of the guest besides the device, unless the command line says how much.
const MEMORY: Bytes = Bytes(512 << 20);
/// The kernel keeps its own data off node 1, does not move pages between nodes by itself, and takes
/// the processor's random numbers instead of waiting for some. It trusts its timer: on a busy host
/// QEMU's translator is too slow for the test of it, and the kernel would panic.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 nokaslr movable_node \
                                numa_balancing=disable random.trust_cpu=on no_timer_check";
/// Lines of the guest's console that are shown when it fails.
const TAIL: usize = 12;
/// Marks that a simulated guest sets where its command begins and where it has ended.
pub const MARKS: [&str; 2] = ["command", "command-end"];
/// How the demo's guest begins.
const INIT: &str = include_str!("guest-init.sh");

/// A guest that can be booted, and our end of its line.
pub struct Guest {
    /// QEMU's arguments, the user's among them.
    pub given: Given,
    command: String,
    initrd: MemoryFile,
    control: Control,
    far_end: OwnedFd,
    progress: Progress,
}

/// A guest that boots.
pub struct Booting {
    command: String,
    console: JoinHandle<String>,
    told: JoinHandle<Told>,
}

/// How it went.
pub struct Ended {
    told: Told,
    console: String,
    command: String,
}

/// Boots the guest, runs the command, and prints what the device did meanwhile.
pub fn run(
    args: &VmArgs,
    others: &[Other],
    given: &Given,
    qemu: &Qemu,
    accelerator: &'static str,
) -> Result<ExitCode, Error> {
    let (config, _) = device(&args.live)?;
    let guest = Guest::prepare(args, given, || chase(args, &config))?;
    let vm = Vm::new(args, others, device, &guest.given, qemu, accelerator)?;
    if args.dry_run {
        outln!("{}", super::shown(&program::words_of(&vm.live.command)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let about = vm.about();
    let (ready, memory) = super::prepare(vm.live, vm.others, vm.memory)?;
    let disk = Waiting::new(args, &ready)?;
    let adjust = |command: &mut Command| {
        tied_to_us(command);
        super::machine::add_ring(command, &ready);
        disk.add_to(command, &ready);
        piped(command);
    };
    let mut running = ready.start(&vm.qemu.path, adjust, &signals::ENDING_OR_CTRL_C)?;
    let disk = disk.serve(&ready, &running, &memory[0])?;
    let pid = u64::from(running.child().id());
    let sessions = ready.sessions();
    let figures = move || sessions.iter().map(|dir| read_last(dir, pid)).collect();
    let booting = guest.started(running.child(), figures, args.live.result.json);
    let folder = ready.folder().cloned();
    let ended = ready.finish(running, |runs, results, exit| {
        let ended = booting.end(folder.as_ref());
        *exit = ended.exit(*exit);
        super::describe(results, about, disk.finish());
        for (at, result) in results.iter_mut().enumerate() {
            result.guest = Some(ended.guest());
            result.workload = ended.workload(at, &runs[at]);
        }
    });
    drop(memory);
    ended
}

/// The guest cannot be made without this part.
fn lacks(whole: &'static str, part: impl Into<String>) -> Error {
    let part = part.into();
    Error::Lacks { whole, part }
}

/// The guest's console comes to us.
pub fn piped(command: &mut Command) {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
}

impl Guest {
    /// Makes what it boots from. It runs the user's command, or else this one.
    pub fn prepare(
        args: &VmArgs,
        given: &Given,
        usual: impl FnOnce() -> String,
    ) -> Result<Guest, Error> {
        let progress = Progress::new();
        let image = image::get(|what| progress.say(what))?;
        let command = args.guest_command.clone().unwrap_or_else(usual);
        let mut initrd = MemoryFile::new("sluice-initrd", 0)?;
        fill(&mut initrd, &image, args, &command)?;
        let (control, far_end) = Control::pair(!args.in_line.simulate)?;
        Ok(Guest {
            given: boot(args, given, &image, &initrd, far_end.as_raw_fd()),
            command,
            initrd,
            control,
            far_end,
            progress,
        })
    }

    /// QEMU was started: what the guest says is heard from now on. `figures` are read while it
    /// waits, before and after its command.
    pub fn started(
        self,
        qemu: &mut Child,
        figures: impl Fn() -> Option<Vec<Process>> + Send + 'static,
        quiet: bool,
    ) -> Booting {
        // QEMU has its own.
        drop((self.far_end, self.initrd));
        let (control, progress) = (self.control, self.progress);
        progress.say("booting the guest");
        Booting {
            command: self.command,
            console: reader(qemu.stdout.take()),
            told: std::thread::spawn(move || control.converse(figures, quiet, &progress)),
        }
    }
}

impl Booting {
    /// Waits for the guest's last word, and keeps all of them in a folder.
    pub fn end(self, folder: Option<&Folder>) -> Ended {
        let told = self.told.join().unwrap_or_default();
        let console = self.console.join().unwrap_or_default();
        if let Some(folder) = folder {
            // What the guest said is a help, not the result.
            let _ = folder.write("console.log", &console);
            let _ = folder.write("guest.out", told.output.join("\n") + "\n");
        }
        Ended {
            told,
            console,
            command: self.command,
        }
    }
}

/// The device that was asked for; small if nothing was.
fn device(live: &LiveArgs) -> Result<(DeviceConfig, LiveSettings), Error> {
    let small = DEVICE.map(str::to_owned);
    let asked = &live.device;
    // The small device's settings are nobody's mistake: what the device itself is comes first.
    if let Ok(own) = settings::resolve(asked) {
        check_live(asked, &own)?;
    }
    let wanted = DeviceArgs {
        device: asked.device.clone(),
        set: small.into_iter().chain(asked.set.iter().cloned()).collect(),
        seed: asked.seed,
    };
    let device = settings::resolve_live(&wanted, &[])?;
    check_live(asked, &device.0)?;
    Ok(device)
}

/// What the guest runs: a chase over twice the cache, with four accesses of each page.
fn chase(args: &VmArgs, config: &DeviceConfig) -> String {
    let size = (config.cache.capacity().0 * 2).min(config.capacity().0 / 4 * 3);
    let file = if args.attach == AttachArg::Numa {
        ""
    } else {
        " --file $DEVICE"
    };
    let json = if args.live.result.json { " --json" } else { "" };
    // A device is mapped in whole large pages.
    let size = size & !((2 << 20) - 1);
    format!("sluice workload chase --size {size} --stride 1024{file}{json}")
}

/// The guest's initial file system: what the cache has, and what is this run's own.
fn fill(initrd: &mut MemoryFile, image: &Image, args: &VmArgs, command: &str) -> Result<(), Error> {
    let own = std::env::current_exe().map_err(Error::system("finding this command"))?;
    let guest = own.with_file_name("sluice-guest");
    let mut programs = vec![("sluice".to_owned(), own)];
    if guest.is_file() {
        programs.push(("sluice-guest".to_owned(), guest));
    }
    for name in &args.with {
        let path = program::find_or_say(name.as_ref());
        let path = path.map_err(|why| Error::unfit("--with", why))?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        programs.push((name, path));
    }
    let mut libraries = BTreeSet::new();
    for (_, path) in &programs {
        libraries.extend(image::libraries_of(path, None)?);
    }
    let mut write = || {
        let mut to = BufWriter::new(initrd.file());
        to.write_all(&std::fs::read(&image.base)?)?;
        let mut archive = Archive::new(to);
        archive.program("init", INIT.as_bytes())?;
        archive.program("command", format!("{command}\n").as_bytes())?;
        for (name, path) in &programs {
            archive.copy(&format!("bin/{name}"), path)?;
        }
        image::copy_libraries(&mut archive, &libraries)?;
        archive.finish()?.flush()
    };
    write().map_err(Error::system("making the guest's file system"))
}

/// QEMU's arguments that boot the guest, beside the user's.
fn boot(args: &VmArgs, given: &Given, image: &Image, initrd: &MemoryFile, control: i32) -> Given {
    let kernel = image.kernel.display().to_string();
    let attach = super::machine::name(args.attach);
    let mut given = given.clone();
    given.memory = given.memory.or(Some(MEMORY));
    let disk = if args.disk { " sluice.disk" } else { "" };
    let mut append = format!("{KERNEL_ARGUMENTS} sluice.attach={attach}{disk}");
    if args.in_line.simulate {
        append += &format!(" sluice.marks={}", MARKS.join(","));
    }
    let options = [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-chardev",
        "stdio,id=sluice-console,signal=off",
        "-serial",
        "chardev:sluice-console",
        "-chardev",
        &format!("socket,id=sluice-control,fd={control}"),
        "-serial",
        "chardev:sluice-control",
        "-kernel",
        &kernel,
        "-initrd",
        &initrd.path(),
        "-append",
        &append,
    ];
    given.rest.extend(options.map(str::to_owned));
    given
}

impl Ended {
    /// As its command ended, or badly if that never did.
    pub fn exit(&self, qemu: Exit) -> Exit {
        let told = &self.told;
        if let Some(error) = &told.unprinted {
            errln!("sluice: {error}");
            return Exit::Code(2);
        }
        let why = match (&told.failed, told.status) {
            (None, Some(status)) => return Exit::Code(status),
            (Some(why), _) => why.clone(),
            (None, None) => "it ended before its command did".to_owned(),
        };
        if matches!(qemu, Exit::Code(0)) || told.failed.is_some() {
            let lines: Vec<&str> = self.console.lines().collect();
            let tail = &lines[lines.len().saturating_sub(TAIL)..];
            errln!("sluice: the guest failed: {why}");
            tail.iter().for_each(|line| errln!("{line}"));
        }
        match qemu {
            Exit::Code(0) => Exit::Code(1),
            other => other,
        }
    }

    /// What the guest said, as the result has it.
    pub fn guest(&self) -> sluice_results::Guest {
        let told = &self.told;
        let object = |line: &String| serde_json::from_str::<Map<String, Value>>(line).ok();
        sluice_results::Guest {
            kernel: told.kernel.clone(),
            command: self.command.clone(),
            status: told.status,
            topology: told.topology.clone(),
            output: told.output.last().and_then(object),
            outputs: told.output.iter().filter_map(object).collect(),
        }
    }

    /// One device's figures for the time of the command, if there was a device.
    fn workload(&self, at: usize, run: &Run<'_>) -> Option<WorkloadFigures> {
        let (before, after) = (self.told.before.as_ref()?, self.told.after.as_ref()?);
        let during = [after.get(at)?.since(before.get(at)?)];
        let run = Run {
            processes: &during,
            ..*run
        };
        Some(WorkloadFigures {
            figures: run.figures(),
            wall_s: self.told.wall.map(|wall| wall.as_secs_f64()),
        })
    }
}

/// Collects the guest's console until QEMU ends.
fn reader(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // A pipe that breaks ends the text.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What is going on, on a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    fn new() -> Progress {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress(bar)
    }

    /// Says what comes next.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Prints a line above.
    pub fn print(&self, line: &str) -> Result<(), Error> {
        self.0.suspend(|| outln!("{line}"))
    }

    /// Clears the line.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
