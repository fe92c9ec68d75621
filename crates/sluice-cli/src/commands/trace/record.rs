//! `sluice trace record`: a program's accesses, as QEMU executes it.

use crate::emulator::{self, record::Recording};
use crate::error::Error;
use crate::program;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
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
    /// Replace FILE if it is there
    #[arg(long)]
    pub force: bool,
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

/// Records, and prints how much.
pub fn run(args: &RecordArgs) -> Result<ExitCode, Error> {
    let command = program::words_of(&args.program);
    let recording = Recording {
        file: &args.output,
        force: args.force,
        filter: &args.filter,
        command: &command,
        json: args.json,
    };
    let plugin = recording.plugin()?;
    let emulated = emulator::run(&emulator::find()?, plugin, &args.program)?;
    recording.finish(emulated)
}
