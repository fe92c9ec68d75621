//! QEMU for single programs, with our plugin in it.

pub mod kvm;
pub mod part;
pub mod qemu;
pub mod record;
pub mod simulate;

use crate::child::{exit_of, tied_to_us};
use crate::error::Error;
use crate::program::{self, entry};
use crate::session::{PLUGIN_FILE, SessionDir};
use crate::signals;
use object::elf::EM_X86_64;
use qemu::{Qemu, Version};
use serde::de::DeserializeOwned;
use sluice_abi::SIMULATED_CPU;
use sluice_results::Exit;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Instant;

/// The emulator of programs for x86-64.
pub const USER: &str = "qemu-x86_64";
/// Debian's package of it.
pub const PACKAGE: &str = "qemu-user";

/// This version has interface 6 for plugins, whose functions are those of 7 in the next version.
const INTERFACE_6: Version = Version {
    major: 11,
    minor: 0,
};

/// Looks for the emulator, at its version, and for plugins.
pub fn find() -> Result<Qemu, Error> {
    let qemu = qemu::find(USER, PACKAGE)?;
    qemu.check_plugins()?;
    Ok(qemu)
}

/// Bytes of what is executed, as the plugin gets it. Linux gives an argument 128 KiB, in which each
/// comma takes two.
const COMMAND_MAX: usize = 32 << 10;

/// How a program ended under an emulator.
pub struct Emulated {
    /// Its own end.
    pub exit: Exit,
    /// How long it ran.
    pub wall_s: f64,
    /// What the plugin wrote at the end; nothing if it had no time to.
    pub written: Option<String>,
}

impl Emulated {
    /// The plugin's result; nothing if it wrote none.
    pub fn result<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.written.as_deref()?).ok()
    }
}

/// Runs a program to its end with the plugin.
pub fn run(qemu: &Qemu, plugin: Plugin, program: &[OsString]) -> Result<Emulated, Error> {
    let path = check(&program[0])?;
    let mut arguments: Vec<OsString> = vec!["-0".into(), program[0].clone()];
    if plugin.hears_marks {
        let cpu = format!("max,model-id={SIMULATED_CPU}");
        arguments.extend(["-cpu".into(), cpu.into()]);
    }
    arguments.push(path.into());
    arguments.extend_from_slice(&program[1..]);
    execute(qemu, plugin, &arguments, &signals::ENDING)
}

/// Runs QEMU to its end with the plugin. The signals of `passed_on` end it.
pub fn execute(
    qemu: &Qemu,
    plugin: Plugin,
    arguments: &[OsString],
    passed_on: &'static [i32],
) -> Result<Emulated, Error> {
    start(qemu, plugin, arguments, |_| (), passed_on)?.wait()
}

/// A QEMU that runs with the plugin.
pub struct Started {
    child: Child,
    at: Instant,
    result: PathBuf,
    // Removed when QEMU has ended.
    _session: SessionDir,
}

/// Starts QEMU with the plugin. The signals that this command is ended by go on to it.
pub fn start(
    qemu: &Qemu,
    mut plugin: Plugin,
    arguments: &[OsString],
    adjust: impl FnOnce(&mut Command),
    passed_on: &'static [i32],
) -> Result<Started, Error> {
    if let Some(file) = &plugin.writes {
        // QEMU would say in three lines that it cannot be made.
        let made = File::options().append(true).create(true).open(file);
        made.map_err(Error::system(file.display()))?;
    }
    let session = SessionDir::create(0)?;
    let result = session.path().join(PLUGIN_FILE);
    // The plugin writes into it. What it makes itself could be read by others.
    sluice_region::create_private(&result).map_err(Error::system(result.display()))?;
    plugin.set("result", &result);
    let mut command = Command::new(&qemu.path);
    if qemu.version == INTERFACE_6 {
        command.env("SLUICE_QEMU_INTERFACE", "6");
    }
    command
        .arg("-plugin")
        .arg(plugin.argument())
        .args(arguments);
    tied_to_us(&mut command);
    adjust(&mut command);
    let at = Instant::now();
    let child = command.spawn();
    let child = child.map_err(Error::system(qemu.path.display()))?;
    signals::forward_to(child.id(), passed_on);
    Ok(Started {
        child,
        at,
        result,
        _session: session,
    })
}

impl Started {
    /// QEMU's process, to wait for or to end.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Result<Emulated, Error> {
        let status = self.child.wait();
        let status = status.map_err(Error::system("waiting for the program"))?;
        signals::end_forwarding(false);
        let wall_s = self.at.elapsed().as_secs_f64();
        let written = std::fs::read_to_string(&self.result).ok();
        Ok(Emulated {
            exit: exit_of(status),
            wall_s,
            written,
        })
    }
}

/// A program that the emulator can run, or why not.
fn check(name: &OsStr) -> Result<PathBuf, Error> {
    let path = program::find_or_say(name)?;
    let at = |why: &str| Err(Error::unfit(path.display(), why));
    match entry::machine(&path) {
        Some(machine) if machine == EM_X86_64 => Ok(path),
        Some(_) => at("not a program for x86-64, which is what qemu-x86_64 runs"),
        None if entry::is_script(&path) => {
            at("a script, which QEMU cannot run; give its interpreter, as in `.. -- python3 FILE`")
        }
        None => at("not an ELF program for x86-64, which is what qemu-x86_64 runs"),
    }
}

/// Our plugin, with its options.
#[derive(Clone)]
pub struct Plugin {
    options: OsString,
    library: PathBuf,
    /// A file that it is to make.
    writes: Option<PathBuf>,
    /// Whether the program is to know, by its CPU's name, that somebody listens.
    hears_marks: bool,
}

impl Plugin {
    /// Looks for the plugin's file.
    pub fn find(mode: &str) -> Result<Plugin, Error> {
        let library = program::library("libsluice_qemu.so", "SLUICE_QEMU_PLUGIN")?;
        let mut plugin = Plugin {
            options: OsString::new(),
            library,
            writes: None,
            hears_marks: mode == "simulate",
        };
        plugin.set("mode", mode);
        Ok(plugin)
    }

    /// Adds an option.
    pub fn set(&mut self, key: &str, value: impl AsRef<OsStr>) {
        self.options.push(format!(",{key}="));
        self.options.push(escape(value.as_ref()));
    }

    /// Says what is executed, for the record. A program takes more arguments than one of them has
    /// room for.
    pub fn set_command(&mut self, command: &[String]) {
        let all = command.join(" ");
        match all.char_indices().find(|(at, _)| *at >= COMMAND_MAX) {
            None => self.set("command", &all),
            Some((end, _)) => self.set("command", format!("{} ..", &all[..end])),
        }
    }

    /// Adds a file that it is to make.
    pub fn set_written(&mut self, key: &str, file: &Path) -> Result<(), Error> {
        self.set(
            key,
            std::path::absolute(file).map_err(Error::system(file.display()))?,
        );
        self.writes = Some(file.to_owned());
        Ok(())
    }

    /// What follows QEMU's `-plugin`.
    pub fn argument(&self) -> OsString {
        let mut argument = escape(self.library.as_os_str());
        argument.push(&self.options);
        argument
    }
}

/// QEMU takes a comma that is doubled for one that separates nothing.
fn escape(text: &OsStr) -> OsString {
    let pieces: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b',').collect();
    OsString::from_vec(pieces.join(&b",,"[..]))
}
