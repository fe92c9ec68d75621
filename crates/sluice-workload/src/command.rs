//! The subcommands, as a `clap` tree that any program can mount.

mod chase;
mod graph;
mod hints;
mod kv;
mod mixed;
mod ops;
mod pages;
mod pattern;
mod redis;
mod traffic;

use std::process::ExitCode;

use sluice_streams::BadValue;
use sluice_units::Bytes;

use crate::error::Error;
use crate::memory::Buffer;
use crate::numa;

/// Plain programs that know nothing of the emulator.
#[derive(Debug, clap::Subcommand)]
pub enum WorkloadCommand {
    /// Follow pointers through a buffer and time every access
    Chase(chase::Args),
    /// Search a Kronecker graph breadth-first, rank its vertices, and check both
    Graph(graph::Args),
    /// Read memory as programs do that know what they need next, with hints and without
    Hints(hints::Args),
    /// Run YCSB on a hash table in memory and check every value read
    Kv(kv::Args),
    /// Compute in some threads while others miss, and print how much of a CPU each had
    Mixed(mixed::Args),
    /// Run YCSB on a Redis server and check every value read
    Redis(redis::Args),
    /// Write a pattern over memory from many threads and check it again
    Pattern(pattern::Args),
    /// Load and store from many threads, and time dependent loads beside them
    Traffic(traffic::Args),
}

/// Runs a subcommand. A message goes to standard error when it fails.
///
/// The status is 0 when all is right, 1 when memory or a server gave back something else than
/// was stored, and 2 when the run could not be started.
#[must_use]
pub fn run(command: &WorkloadCommand) -> ExitCode {
    let (name, result) = match command {
        WorkloadCommand::Chase(args) => ("chase", chase::run(args)),
        WorkloadCommand::Graph(args) => ("graph", graph::run(args)),
        WorkloadCommand::Hints(args) => ("hints", hints::run(args)),
        WorkloadCommand::Kv(args) => ("kv", kv::run(args)),
        WorkloadCommand::Mixed(args) => ("mixed", mixed::run(args)),
        WorkloadCommand::Redis(args) => ("redis", redis::run(args)),
        WorkloadCommand::Pattern(args) => ("pattern", pattern::run(args)),
        WorkloadCommand::Traffic(args) => ("traffic", traffic::run(args)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

/// Binds a buffer to a NUMA node, if one was named.
fn bind(buffer: &Buffer, node: Option<u32>) -> Result<(), Error> {
    let Some(node) = node else {
        return Ok(());
    };
    numa::check(node).map_err(|e| BadValue::new("numa-node", node, e.to_string()))?;
    let what = format!("binding memory to NUMA node {node}");
    buffer.bind(node).map_err(Error::system(what))
}

/// A mapping that could not be had, by name.
fn mapping(len: u64, file: Option<&std::path::Path>) -> impl FnOnce(std::io::Error) -> Error {
    let what = match file {
        Some(path) => format!("mapping {} of {}", Bytes(len), path.display()),
        None => format!("mapping {} of memory", Bytes(len)),
    };
    Error::system(what)
}
