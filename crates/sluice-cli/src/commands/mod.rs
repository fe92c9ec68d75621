//! The commands. Each has its arguments, what it does and what it prints in a module of its own;
//! what several commands need is beside this folder.

mod again;
mod ctl;
mod curve;
mod device;
mod doctor;
mod external;
mod fabric;
mod files;
mod guest_mark;
mod keep_session;
mod policy;
mod run;
mod shell;
mod sim;
mod size;
mod store;
mod system;
mod top;
mod trace;
mod vm;
mod workload;

pub use shell::declared;
pub use workload::WorkloadArgs;

use crate::error::Error;
use clap::{Parser, Subcommand};
use external::ExternalArgs;
use std::process::ExitCode;

/// Run real programs on an emulated CXL-SSD, and simulate the ones that do not exist yet.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an unmodified program with its memory on the device
    Run(run::RunArgs),
    /// Repeat a run that kept its result with --out, and print what differs
    Again(again::AgainArgs),
    /// Command the device of a running program: pin, prefetch, evict, change its policy
    Ctl(ctl::CtlArgs),
    /// Show what the devices of this host's programs are doing, second by second
    Top(top::TopArgs),
    /// Run an unmodified guest on unmodified QEMU, with the device as memory of the guest
    Vm(vm::VmArgs),
    /// Simulate a workload on the device, in virtual time
    Sim(sim::SimArgs),
    /// Find how large a cache a program needs, from one run or a trace
    Size(size::SizeArgs),
    /// Measure bandwidth against latency: of a device, simulated or live, or of this host's memory
    Curve(curve::CurveArgs),
    /// Simulate data that is reached as a file: by mmap, past or through a cache, or as memory
    Files(files::FilesArgs),
    /// Remove the session of a command that is killed
    #[command(hide = true)]
    KeepSession(keep_session::KeepSessionArgs),
    /// Mark this moment of the simulated guest that this command runs in
    #[command(hide = true)]
    GuestMark(guest_mark::GuestMarkArgs),
    /// Run a plain program that knows nothing of Sluice
    Workload(WorkloadArgs),
    /// Check what this host can do, and print what mends the rest
    Doctor(doctor::DoctorArgs),
    /// List, show and check devices
    #[command(subcommand)]
    Device(device::DeviceCommand),
    /// List, show and check systems: simulated hosts with their devices
    #[command(subcommand)]
    System(system::SystemCommand),
    /// Run, list, show and check fabrics: requesters and memories on CXL switches
    #[command(subcommand)]
    Fabric(fabric::FabricCommand),
    /// Record, convert and look into traces of memory accesses
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Check the stores of persistent devices
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// List eviction and prefetch policies
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Write an HTML report of one or more output folders
    #[command(disable_help_flag = true)]
    Report(ExternalArgs),
    /// Run one command with every combination of some values, as a table and pictures
    #[command(disable_help_flag = true)]
    Sweep(ExternalArgs),
    /// Run a workload of today on caches of several sizes, check its answers, and report
    #[command(disable_help_flag = true)]
    Recipe(ExternalArgs),
    /// Run published experiments and compute whether they come out
    #[command(disable_help_flag = true)]
    Reproduce(ExternalArgs),
    /// Print a script that completes commands and options in a shell
    Completions(shell::CompletionsArgs),
    /// Write pages of manual, one for each command
    Man(shell::ManArgs),
}

impl Command {
    /// Carries the command out. Returns the exit status.
    pub fn run(&self) -> Result<ExitCode, Error> {
        match self {
            Command::Run(args) => run::run(args),
            Command::Again(args) => again::run(args),
            Command::Ctl(args) => ctl::run(args),
            Command::Top(args) => top::run(args),
            Command::Vm(args) => vm::run(args),
            Command::Sim(args) => sim::run(args),
            Command::Size(args) => size::run(args),
            Command::Curve(args) => curve::run(args),
            Command::Files(args) => files::run(args),
            Command::KeepSession(args) => keep_session::run(args),
            Command::GuestMark(args) => guest_mark::run(args),
            Command::Workload(args) => workload::run(args),
            Command::Doctor(args) => doctor::run(args),
            Command::Device(command) => device::run(command),
            Command::System(command) => system::run(command),
            Command::Fabric(command) => fabric::run(command),
            Command::Trace(command) => trace::run(command),
            Command::Store(command) => store::run(command),
            Command::Policy(command) => policy::run(command),
            Command::Report(args) => external::run("sluice-report", args),
            Command::Sweep(args) => external::run("sluice-sweep", args),
            Command::Recipe(args) => external::run("sluice-recipe", args),
            Command::Completions(args) => shell::complete(args),
            Command::Man(args) => shell::man(args),
            Command::Reproduce(args) => external::run("sluice-reproduce", args),
        }
    }

    /// Whether the command runs a program and has a session to end in order, even when nobody
    /// reads any more what it prints.
    pub fn has_session(&self) -> bool {
        matches!(
            self,
            Command::Run(_)
                | Command::Again(_)
                | Command::Size(_)
                | Command::Vm(_)
                | Command::Trace(trace::TraceCommand::Record(_))
        )
    }
}
