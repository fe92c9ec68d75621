//! `sluice trace record`: a program's accesses, as QEMU executes it.

use crate::emulator::{self, Emulated, Plugin};
use crate::error::Error;
use crate::program;
use crate::run::leave;
use clap::Args;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(
    after_help = "The program runs under qemu-x86_64 (Debian: qemu-user; 7.2 or newer), some ten \
                  times slower than under QEMU alone. Recorded are the loads and stores of all its \
                  threads at the addresses that it sees; not what the kernel does for it, nor \
                  programs that it starts. With a filter, what passes the caches of a host is \
                  recorded: the fill of a line as a load, the write-back of a dirty line as a \
                  store, each of 64 bytes; what is in the caches at the end is not written back. \
                  Sluice ends with the program's status."
)]
pub struct RecordArgs {
    /// The trace
    #[arg(short, long, value_name = "FILE", default_value = "sluice.trace")]
    pub output: PathBuf,
    /// Caches of each CPU whose hits are left out: `none`, or levels of SIZE/WAYS
    #[arg(
        long,
        value_name = "none|L1=SIZE/WAYS,..",
        default_value = "L1=32KiB/8,L2=512KiB/8"
    )]
    pub filter: String,
    /// Print what was recorded as one JSON object, `sluice.trace-record/1`, on the last line of
    /// standard output
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    pub program: Vec<OsString>,
}

/// Records, and tells how much.
pub fn run(args: &RecordArgs) -> Result<ExitCode, Error> {
    let command = program::told(&args.program);
    let recording = Recording {
        file: &args.output,
        filter: &args.filter,
        command: &command,
        json: args.json,
    };
    let plugin = recording.plugin()?;
    let emulated = emulator::run(&emulator::find()?, plugin, &args.program)?;
    Ok(recording.finish(emulated))
}

/// A recording of a program or guest.
pub struct Recording<'a> {
    /// The trace.
    pub file: &'a Path,
    /// The caches whose hits are left out.
    pub filter: &'a str,
    /// What is executed.
    pub command: &'a [String],
    /// Whether the counts go to standard output as one object.
    pub json: bool,
}

impl Recording<'_> {
    /// The plugin for it.
    pub fn plugin(&self) -> Result<Plugin, Error> {
        sluice_trace::filter::Levels::parse(self.filter).map_err(Error::new)?;
        let mut plugin = Plugin::find("record")?;
        let out = std::path::absolute(self.file).map_err(|e| Error::at(self.file.display(), e))?;
        plugin.set("out", &out.to_string_lossy());
        plugin.set("filter", self.filter);
        plugin.set("command", &self.command.join(" "));
        Ok(plugin)
    }

    /// Tells how much was recorded, and ends as what was executed.
    pub fn finish(&self, emulated: Emulated) -> ExitCode {
        let Emulated { exit, wall_s, said } = emulated;
        match said {
            Some(said) => self.tell(&said, wall_s),
            None => eprintln!(
                "sluice: QEMU ended before the program did; {} has what was written until then",
                self.file.display()
            ),
        }
        leave(exit)
    }

    fn tell(&self, said: &Value, wall_s: f64) {
        let count = |key: &str| said[key].as_u64().unwrap_or(0);
        let (seen, accesses, bytes) = (count("accesses_seen"), count("accesses"), count("bytes"));
        let per_access = sluice_stats::share(bytes, accesses);
        if self.json {
            let object = json!({
                "schema": "sluice.trace-record/1",
                "file": self.file,
                "command": self.command,
                "filter": self.filter,
                "accesses_seen": seen,
                "accesses": accesses,
                "instructions": said["instructions"],
                "bytes": bytes,
                "bytes_per_access": per_access,
                "wall_s": wall_s,
                "accesses_seen_per_s": seen as f64 / wall_s,
                "version": env!("CARGO_PKG_VERSION"),
            });
            println!("{object}");
        } else {
            eprintln!(
                "sluice: {accesses} of {seen} accesses in {}, {:.2} bytes each; {wall_s:.1} s, \
                 {:.1} million accesses a second",
                self.file.display(),
                per_access.unwrap_or(0.0),
                seen as f64 / wall_s / 1e6,
            );
        }
    }
}
