//! The options of `sluice vm`.

use super::another::Another;
use crate::emulator::simulate::SimulateArgs;
use crate::error::Error;
use crate::live::args::LiveArgs;
use crate::live::count::CountAfter;
use clap::{Args, ValueEnum};
use sluice_units::Bytes;
use std::path::PathBuf;

/// Caches whose hits a recording leaves out by default.
const FILTER: &str = "L1=32KiB/8,L2=512KiB/8";
/// The size of node 1 by default, in a guest whose device is not emulated.
const NODE: Bytes = Bytes::from_mib(256);

/// Options that are of an emulated device alone.
const OF_LIVE: [&str; 6] = [
    "handlers",
    "control",
    "control_poll",
    "sample_hits",
    "record_traps",
    "metrics",
];

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "After `--` come QEMU's own arguments: -kernel, -drive, -smp, -netdev and so on. \
                  -m is the guest's memory besides the device. Machine, NUMA nodes, accelerator \
                  and the device itself are made here; --dry-run shows how.\n\n\
                  numa  node 1, without CPUs. Give a guest's kernel `nokaslr movable_node`, so \
                  that it\n      stays off the device itself\n\
                  dax   an NVDIMM: /dev/pmem0, or /dev/dax0.0 after `ndctl create-namespace`\n\
                  cxl   a CXL 2.0 memory device behind a root port, with a window of host \
                  addresses.\n      QEMU before 11.1 emulates every access to it, one by one\n\n\
                  sluice vm --demo\n\
                  sluice vm --set device.capacity=4GiB -- -m 4G -smp 2 -nographic -drive \
                  file=disk.qcow2,if=virtio"
)]
pub struct VmArgs {
    #[command(flatten)]
    pub live: LiveArgs,
    /// One device more, a NUMA node of its own: the first is node 1, and these are 2 and on. DEVICE
    /// is as of --device; change a setting by --set NAME:KEY=VALUE. With --attach numa
    #[arg(
        long,
        value_name = "NAME=DEVICE",
        conflicts_with_all = ["simulate", "record", "disk", "store", "metrics"]
    )]
    pub another: Vec<Another>,
    /// How the guest sees the device
    #[arg(long, value_enum, default_value_t = AttachArg::Numa)]
    pub attach: AttachArg,
    /// What executes the guest's instructions. `auto`: KVM if this host runs them on the processor
    #[arg(long, value_enum, default_value_t = AccelArg::Auto)]
    pub accel: AccelArg,
    /// The QEMU to run, by name or path
    #[arg(long, value_name = "PROGRAM", default_value = "qemu-system-x86_64")]
    pub qemu: String,
    /// Boot the same machine without Sluice, to compare: nothing is trapped. With --attach cxl the
    /// guest has QEMU's own device model
    #[arg(long, conflicts_with_all = ["simulate", "record"], conflicts_with_all = OF_LIVE)]
    pub baseline: bool,
    /// Give the guest the device as a disk as well: the same bytes, by virtio-blk with the serial
    /// `sluice`. With --attach dax or cxl
    #[arg(long, conflicts_with_all = ["simulate", "record", "baseline"])]
    pub disk: bool,
    /// With device.persistent=yes and --attach dax or cxl: the file that keeps what is on the
    /// device, made if it is not there
    #[arg(
        long,
        conflicts_with_all = ["simulate", "record", "baseline"],
        default_value = "dram",
        value_name = "dram|file:STORE"
    )]
    pub store: String,
    /// Print QEMU's command line and end. The numbers of open files in it differ from run to run
    #[arg(long)]
    pub dry_run: bool,
    /// Boot Debian's cloud kernel with a small system made for it, and run a command on the device.
    /// The device is small unless --set says otherwise
    #[arg(long)]
    pub demo: bool,
    /// What the demo's guest runs on the device instead of a pointer chase, by its shell: bound to
    /// node 1 with numa; with dax and cxl, $DEVICE is the DAX device to map
    #[arg(long, value_name = "COMMAND")]
    pub guest_command: Option<String>,
    /// A program of this host to have in the demo's guest, with its libraries
    #[arg(long = "with", value_name = "PROGRAM")]
    pub with: Vec<String>,
    #[command(flatten)]
    pub in_line: SimulateArgs,
    /// Simulated, count from the first mark of a name that the guest sets
    #[arg(long, value_name = "marker:NAME")]
    pub count_after: Option<CountAfter>,
    /// Record instead of emulating the device: a trace of each load and store of the guest, or of
    /// what passes the caches of --filter, by physical address. --force replaces a FILE that is
    /// there
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "demo", "out"],
          conflicts_with_all = OF_LIVE, conflicts_with_all = ["device", "set"])]
    pub record: Option<PathBuf>,
    /// Caches whose hits a recording leaves out, as in `sluice trace record`
    #[arg(long, value_name = "none|L1=SIZE/WAYS,..", default_value = FILTER)]
    pub filter: String,
    /// Size of node 1, with --simulate or --record, where it is not the whole device
    #[arg(long, value_name = "SIZE", default_value_t = NODE)]
    pub node: Bytes,
    /// QEMU's own arguments
    #[arg(last = true, value_name = "QEMU ARGUMENTS")]
    pub qemu_args: Vec<String>,
}

impl VmArgs {
    /// Refuses what would have no effect.
    pub fn check(&self) -> Result<(), Error> {
        if self.record.is_none() && self.filter != FILTER {
            let why = "it is of recordings; expected --record too, or no --filter";
            return Err(Error::value("--filter", &self.filter, why));
        }
        let is_emulated = !self.in_line.simulate && self.record.is_none();
        if is_emulated && self.node != NODE {
            let why = "node 1 is the whole device; change device.capacity by --set";
            return Err(Error::value("--node", self.node, why));
        }
        if self.node.0 == 0 || !self.node.0.is_multiple_of(2 << 20) {
            let why = "expected a positive multiple of 2MiB";
            return Err(Error::value("--node", self.node, why));
        }
        Ok(())
    }
}

/// How a guest sees the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AttachArg {
    /// Memory of NUMA node 1, which has no CPU
    Numa,
    /// An NVDIMM
    Dax,
    /// A CXL type 3 device
    Cxl,
}

/// What executes a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccelArg {
    /// KVM if this host runs a guest on the processor itself, else TCG
    Auto,
    /// QEMU's translator
    Tcg,
    /// The kernel's hypervisor
    Kvm,
}
