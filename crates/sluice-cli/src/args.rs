//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run real programs on an emulated CXL-SSD, and simulate the ones that do not exist yet.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Run a plain program that knows nothing of Sluice
#[derive(Debug, Parser)]
#[command(
    name = "sluice workload",
    bin_name = "sluice workload",
    max_term_width = 100
)]
pub struct Workload {
    #[command(subcommand)]
    pub command: sluice_workload::WorkloadCommand,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an unmodified program with its memory on the device
    Run(RunArgs),
    /// Command the device of a running program: pin, prefetch, evict, change its policy
    Ctl(CtlArgs),
    /// Show what the devices of this host's programs are doing, second by second
    Top(TopArgs),
    /// Run an unmodified guest on unmodified QEMU, with the device as memory of the guest
    Vm(crate::vm::VmArgs),
    /// Simulate a workload on the device, in virtual time
    Sim(SimArgs),
    /// Remove the session of a command that is killed
    #[command(hide = true)]
    KeepSession {
        /// Its directory
        dir: std::path::PathBuf,
    },
    /// Run a plain program that knows nothing of Sluice
    Workload {
        #[command(subcommand)]
        command: sluice_workload::WorkloadCommand,
    },
    /// Say what this host can do, and what would mend what it cannot
    Doctor(DoctorArgs),
    /// List, show and check devices
    Device {
        #[command(subcommand)]
        command: DeviceCommand,
    },
    /// List, show and check systems: simulated hosts with their devices
    System {
        #[command(subcommand)]
        command: SystemCommand,
    },
    /// Run, list, show and check fabrics: requesters and memories on CXL switches
    Fabric {
        #[command(subcommand)]
        command: FabricCommand,
    },
    /// Record, convert and look into traces of memory accesses
    Trace {
        #[command(subcommand)]
        command: crate::trace::TraceCommand,
    },
    /// List eviction and prefetch policies
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Write an HTML report of one or more output folders
    #[command(disable_help_flag = true)]
    Report(ExternalArgs),
    /// Run one command with every combination of some values, as a table and pictures
    #[command(disable_help_flag = true)]
    Sweep(ExternalArgs),
    /// Run published experiments and compute whether they come out
    #[command(disable_help_flag = true)]
    Reproduce(ExternalArgs),
}

/// Which device.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// Preset, or path to a device file ending in .toml
    #[arg(long, value_name = "DEVICE", default_value = "cylon")]
    pub device: String,
    /// Change one setting, such as cache.capacity=16MiB (see `sluice device show`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A time that is not none at all.
fn some_time(text: &str) -> Result<sluice_units::Ps, String> {
    match text.parse::<sluice_units::Ps>() {
        Ok(time) if time.as_ns() == 0 => Err("expected 1ns at least".into()),
        Ok(time) => Ok(time),
        Err(e) => Err(e.to_string()),
    }
}

/// What every live run may be told.
#[derive(Debug, Args)]
pub struct LiveArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Handler threads in event mode
    #[arg(long, conflicts_with = "simulate", value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=64))]
    pub handlers: u64,
    /// Whether the program has a control ring, for `sluice ctl` and the C library. Its thread makes
    /// signal mode look twice at each page that leaves, so `auto` is event mode only
    #[arg(long, value_enum, default_value_t = ControlArg::Auto)]
    pub control: ControlArg,
    /// Let the ring's server look so often by itself, such as 5ms: for the guest of a QEMU, which
    /// cannot wake it
    #[arg(long, value_name = "PERIOD", value_parser = some_time)]
    pub control_poll: Option<sluice_units::Ps>,
    /// Sample hits: take cached pages away at random and see which are touched within this window,
    /// such as 100ms. Gives a hit ratio at the price of a few soft traps
    #[arg(long, conflicts_with = "simulate", value_name = "WINDOW", value_parser = some_time)]
    pub sample_hits: Option<sluice_units::Ps>,
    /// Keep the first N trapped pages, in order, in DIR/traps.bin
    #[arg(
        long,
        conflicts_with = "simulate",
        value_name = "N",
        default_value_t = 0,
        requires = "out"
    )]
    pub record_traps: u64,
    /// Print the result as one JSON object on the last line of standard output
    #[arg(long)]
    pub json: bool,
    /// Keep settings, statistics, histograms and a timeline in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The program's own output is untouched. With --json one object follows on the \
                  last line of standard output. Sluice ends with the program's status."
)]
pub struct RunArgs {
    #[command(flatten)]
    pub live: LiveArgs,
    /// How a miss reaches the device. `event` is always right; `signal` is faster, for programs
    /// that keep system calls off device memory
    #[arg(long, conflicts_with = "simulate", value_enum, default_value_t = TrapArg::Event)]
    pub trap: TrapArg,
    /// What lives on the device: `heap` (malloc and large anonymous mappings), or `dax:PATH`
    /// (every shared mapping of a file in /dev/shm)
    #[arg(
        long,
        conflicts_with = "simulate",
        default_value = "heap",
        value_name = "heap|dax:PATH"
    )]
    pub place: String,
    /// Place anonymous mappings from this size up
    #[arg(
        long,
        conflicts_with = "simulate",
        value_name = "SIZE",
        default_value = "128KiB"
    )]
    pub mmap_min: sluice_units::Bytes,
    #[command(flatten)]
    pub in_line: crate::in_line::InLineArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG")]
    pub program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlArg {
    /// On in event mode, off in signal mode
    Auto,
    /// On
    On,
    /// Off
    Off,
}

impl ControlArg {
    /// Whether there is a ring in a trap mode.
    pub fn is_on(self, trap: TrapArg) -> bool {
        match self {
            ControlArg::Auto => trap == TrapArg::Event,
            ControlArg::On => true,
            ControlArg::Off => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrapArg {
    /// A thread of the runtime reads faults from userfaultfd
    Event,
    /// The faulting thread serves itself inside SIGBUS
    Signal,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The exit status is 0 if the command was carried out, also if nothing was to be \
                  done; 1 if the device refused it or a part of it; 2 if it could not be sent. See \
                  docs/control-ring.md."
)]
pub struct CtlArgs {
    /// Process on the device: a program under `sluice run`, or the `sluice` that runs it
    #[arg(value_name = "PID")]
    pub pid: u32,
    #[command(subcommand)]
    pub command: sluice_ctl::CtlCommand,
}

#[derive(Debug, Args)]
#[command(after_help = "q, Escape or Ctrl-C ends it. In a pipe it prints once.")]
pub struct TopArgs {
    /// One process, or the `sluice` that runs it, instead of all
    #[arg(value_name = "PID")]
    pub pid: Option<u32>,
    /// Print the rates of one interval and end
    #[arg(long)]
    pub once: bool,
    /// The same as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Time from one look to the next
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: sluice_units::Ps,
}

#[derive(Debug, Args)]
#[command(after_help = sim_help())]
pub struct SimArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A host with its device: a name of `sluice system list`, or the path of a .toml file
    #[arg(long, value_name = "SYSTEM", conflicts_with = "device")]
    pub system: Option<String>,
    /// Access pattern, such as "chase:size=64MiB,stride=4096,passes=4"; with --system a kernel
    #[arg(long, value_name = "SPEC", required_unless_present = "trace")]
    pub workload: Option<String>,
    /// A trace of `sluice trace` instead: on the device, a requester for each of its CPUs; with
    /// --system, a thread for each, with the instructions between its accesses
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub trace: Option<PathBuf>,
    /// Where the pages of the trace lie on the device, one after another
    #[arg(long, value_enum, default_value_t = PlaceArg::Touch, requires = "trace")]
    pub place: PlaceArg,
    #[command(flatten)]
    pub host: HostArgs,
    /// What the device sees: every access, or only those that would trap in a live run
    #[arg(long, value_enum, default_value_t = HitsArg::All, conflicts_with = "system")]
    pub hits: HitsArg,
    /// Also tell the fewest misses that any policy could have (Belady's optimum); keeps 4 bytes
    /// for each access, and as much again while it counts
    #[arg(long, conflicts_with = "system")]
    pub bound: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Keep settings and statistics in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Every kernel with its keys.
fn sim_help() -> String {
    let mut text = "With --system, a kernel runs on a simulated host, such as srad:seed=3 or \
                    stream:bytes=64MB. Without, one requester for each thread of a pattern drives \
                    the device alone.\n\nKernels; each has the keys seed and rounds (0: without \
                    end):"
        .to_owned();
    let kernels = sluice_kernels::KERNELS;
    let width = kernels.iter().map(|kernel| kernel.name.len()).max();
    for kernel in kernels {
        let name = format!("{:<1$}", kernel.name, width.unwrap_or(0));
        text += &format!("\n  {name}  {}", kernel.meaning);
        for param in kernel.params {
            text += &format!("\n    {}={}: {}", param.key, param.default, param.meaning);
        }
    }
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlaceArg {
    /// As they are touched first in the file
    Touch,
    /// By their addresses
    Address,
}

/// How a kernel runs on a simulated host.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Divide the memory of the program, and the capacities that must keep their ratio to it; of a
    /// trace, only these [default: 8; of a trace, 1]. An L2 keeps room for what no scale divides:
    /// dlrm's networks
    #[arg(long, value_name = "N", requires = "system",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub scale: Option<u32>,
    /// Threads of the program, as cpu.threads
    #[arg(long, value_name = "T", requires = "system", conflicts_with = "trace")]
    pub threads: Option<u32>,
    /// Instructions of all threads before counting begins, such as 100M [default: 800M / scale; of
    /// a trace, 0]
    #[arg(long, value_name = "I", requires = "system", value_parser = sluice_units::parse_count)]
    pub warmup: Option<u64>,
    /// Instructions counted [default: 800M / scale, or to the end of a kernel with rounds, or of a
    /// trace]
    #[arg(long, value_name = "I", requires = "system", value_parser = sluice_units::parse_count)]
    pub instructions: Option<u64>,
    /// Also tell what went on in each stretch of this much simulated time, such as 100us
    #[arg(long, value_name = "PERIOD", requires = "system")]
    pub timeline: Option<sluice_units::Ps>,
    /// Compare what the kernel's last finished round computed with a plain computation
    #[arg(long, requires = "system", conflicts_with = "trace")]
    pub check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HitsArg {
    /// Every access
    All,
    /// Only accesses to unmapped pages
    Misses,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print the findings as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// List the devices that come with Sluice
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every setting of a device, with its meaning and source
    Show {
        /// Preset, or path to a device file
        #[arg(default_value = "cylon")]
        device: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a device file
    Check {
        /// Preset, or path to a device file
        device: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum SystemCommand {
    /// List the systems that come with Sluice
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every setting of a system, of its host and its device, with meaning and source
    Show {
        /// Name, or path to a system file ending in .toml
        #[arg(default_value = "base-cssd")]
        system: String,
        /// Divide by N what `sluice sim --scale N` divides
        #[arg(long, value_name = "N", default_value_t = 1,
              value_parser = clap::value_parser!(u32).range(1..=65_536))]
        scale: u32,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a system file
    Check {
        /// Name, or path to a system file
        system: String,
        /// Divide by N what `sluice sim --scale N` divides
        #[arg(long, value_name = "N", default_value_t = 1,
              value_parser = clap::value_parser!(u32).range(1..=65_536))]
        scale: u32,
    },
}

#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    /// Simulate a fabric, in virtual time
    Run(FabricArgs),
    /// List the fabrics that come with Sluice
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// List topologies, routing policies, patterns and types of endpoints
    Choices {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every setting of a fabric, with its meaning and source
    Show {
        /// Name, or path to a fabric file ending in .toml
        #[arg(default_value = "esf")]
        fabric: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a fabric file
    Check {
        /// Name, or path to a fabric file
        fabric: String,
        /// Change one setting
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct FabricArgs {
    /// A name of `sluice fabric list`, or the path of a .toml file
    #[arg(value_name = "FABRIC")]
    pub fabric: String,
    /// Change one setting, such as link.bandwidth=16000, or of a group, such as host.depth=8
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Requests that come back before counting begins, such as 100k
    #[arg(long, value_name = "N", default_value = "100k", value_parser = sluice_units::parse_count)]
    pub warmup: u64,
    /// Requests counted
    #[arg(long, value_name = "N", default_value = "256k", value_parser = sluice_units::parse_count)]
    pub requests: u64,
    #[command(flatten)]
    pub replay: crate::fabric_replay::ReplayArgs,
    /// Tell mix degree and bandwidth of every N requests that come back
    #[arg(long, value_name = "N", default_value = "0", value_parser = sluice_units::parse_count)]
    pub window: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Keep the statistics in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// List the policies, with what they do and where they come from
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct ExternalArgs {
    /// Arguments of the command of the Python package; it has a `--help` of its own
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}
