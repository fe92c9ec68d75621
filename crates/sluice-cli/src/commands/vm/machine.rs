//! The machine: from a device and its place in the guest to QEMU's arguments.

use super::args::AttachArg;
use super::hmat::{self, Speed};
use crate::emulator::qemu::Version;
use crate::error::Error;
use crate::live::Ready;
use sluice_abi::{GUEST_RING_LINK, RING_BYTES, VIEW_LINK, view_bytes};
use sluice_control::home::FIRST;
use sluice_units::{Bytes, Ps};
use std::process::Command;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// RAM below 4 GiB that q35 has room for beside its devices.
const LOW_MAX: u64 = 2 * GIB;
/// Addresses that QEMU's own CPU model has: 40 bits.
const ADDRESSES: u64 = 1 << 40;
/// Addresses kept for devices: the holes around 4 GiB and 1 TiB, and BARs above the memory.
const HOLES: u64 = 16 * GIB;
/// From here on `persistent-memdev` is the name of the memory of a `cxl-type3`.
const CXL_NAMES_PERSISTENT: Version = Version { major: 8, minor: 1 };
/// From here on a window over one device is mapped into the guest. Before (7.2 and 10.0 were looked
/// at) every access goes through QEMU's device model.
const CXL_IS_DIRECT: Version = Version {
    major: 11,
    minor: 1,
};
/// QEMU's name of KVM.
const KVM: &str = "kvm";
/// KVM's asynchronous page faults, and its notice that a page has come.
const ASYNC_FAULTS: [&str; 2] = ["kvm-asyncpf", "kvm-asyncpf-int"];
/// CPU models of which QEMU only lists the names, and ends.
const ASKS_FOR_NAMES: [&str; 2] = ["help", "?"];
/// Room for the labels of a CXL memory device.
const LABELS: u64 = MIB;

/// Devices that a guest has at most. QEMU would have room for more: so many were tried.
pub const DEVICES_MAX: usize = 8;
/// Of several devices each begins at such an address: a block of memory of Linux is in one node.
const BLOCK: u64 = 128 * MIB;

/// A device beside the first, as memory of a NUMA node.
#[derive(Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: Bytes,
    /// Path of its memory.
    pub path: String,
    /// What the firmware says of its times.
    pub speed: Speed,
}

/// A machine of QEMU with the device in it.
#[derive(Debug)]
pub struct Machine {
    /// How the guest sees the device.
    pub attach: AttachArg,
    /// QEMU's name of the accelerator.
    pub accelerator: &'static str,
    /// Memory besides the device.
    pub memory: Bytes,
    /// The most CPUs there can be.
    pub cpus: u64,
    /// Size of the device.
    pub device: Bytes,
    /// Path of its memory.
    pub device_path: String,
    /// Whether the user names a CPU model.
    pub has_cpu_model: bool,
    /// Whether the device is a disk as well.
    pub has_disk: bool,
    /// What the firmware says of its times, if anything.
    pub speed: Option<Speed>,
    /// The devices of nodes 2 and on.
    pub others: Vec<Node>,
    /// What the guest's CPU calls itself, if that is said.
    pub cpu_name: Option<&'static str>,
    pub version: Version,
}

impl Machine {
    /// Whether such a machine can be.
    pub fn check(&self) -> Result<(), Error> {
        let step = match self.attach {
            AttachArg::Numa => 2 * MIB,
            // A block of memory that a kernel can take in at once.
            AttachArg::Dax => 128 * MIB,
            // A CXL decoder's granule.
            AttachArg::Cxl => 256 * MIB,
        };
        let capacity = self.device;
        if !capacity.0.is_multiple_of(step) {
            let (attach, step) = (self.attach_name(), Bytes(step));
            let why = format!("with --attach {attach} expected a multiple of {step}");
            return Err(Error::value("`device.capacity`", capacity, why));
        }
        let most = ADDRESSES - HOLES;
        let room = most.saturating_sub(self.memory.0);
        if room == 0 {
            let why = format!(
                "a guest has addresses for {}, its device's too",
                Bytes(most)
            );
            return Err(Error::value("-m", self.memory, why));
        }
        let all = Bytes(self.devices());
        if all.0 > room {
            let (memory, room) = (self.memory, Bytes(room));
            let why = format!("a guest with {memory} of memory has addresses for {room} more");
            return Err(Error::value("`device.capacity`", all, why));
        }
        self.check_others()
    }

    /// Whether several devices can lie behind one another.
    fn check_others(&self) -> Result<(), Error> {
        if self.others.is_empty() {
            return Ok(());
        }
        let others = self.others.iter().map(|of| (of.name.as_str(), of.size));
        for (name, size) in std::iter::once((FIRST, self.device)).chain(others) {
            if size.0 == 0 || !size.0.is_multiple_of(BLOCK) {
                let why = format!("of several devices each has a multiple of {}", Bytes(BLOCK));
                return Err(Error::value(
                    format!("`device.capacity` of {name}"),
                    size,
                    why,
                ));
            }
        }
        Ok(())
    }

    /// Bytes of all devices.
    fn devices(&self) -> u64 {
        let others = self.others.iter().map(|of| of.size.0);
        others.fold(self.device.0, u64::saturating_add)
    }

    /// The name of the place.
    pub fn attach_name(&self) -> &'static str {
        name(self.attach)
    }

    /// Whether the guest's accesses reach the device's memory without QEMU.
    pub fn is_direct(&self) -> bool {
        self.attach != AttachArg::Cxl || self.version >= CXL_IS_DIRECT
    }

    /// QEMU's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut args = Arguments::default();
        args.add("-accel", self.accelerator);
        if !self.has_cpu_model {
            args.add("-cpu", self.with_flags(self.cpu_model()));
        }
        match self.attach {
            AttachArg::Numa => self.numa(&mut args),
            AttachArg::Dax => self.dax(&mut args),
            AttachArg::Cxl => self.cxl(&mut args),
        }
        args.0
    }

    /// The rest of the user's arguments, whose CPU model waits for its pages as well.
    pub fn rest(&self, given: &[String]) -> Vec<String> {
        let is_model = |at: usize| {
            let before = at.checked_sub(1).map(|before| given[before].as_str());
            matches!(before, Some("-cpu" | "--cpu"))
        };
        let word = |(at, word): (usize, &String)| match is_model(at) {
            true => self.with_flags(word),
            false => word.clone(),
        };
        given.iter().enumerate().map(word).collect()
    }

    /// A CPU model with what belongs to every one here.
    fn with_flags(&self, model: &str) -> String {
        let model = self.with_blocking_faults(model);
        let is_named = model.contains("model-id=") || ASKS_FOR_NAMES.contains(&model.as_str());
        match self.cpu_name.filter(|_| !is_named) {
            Some(name) => format!("{model},model-id={name}"),
            None => model,
        }
    }

    /// A CPU model whose accesses wait for a page that the host lacks. KVM would otherwise bring
    /// the page by a thread of the kernel's and notify the guest, which runs something else
    /// meanwhile: no load of the device does that. QEMU's translator knows nothing of it.
    fn with_blocking_faults(&self, model: &str) -> String {
        let mut model = model.to_owned();
        if self.accelerator == KVM && !ASKS_FOR_NAMES.contains(&model.as_str()) {
            for flag in ASYNC_FAULTS {
                // A user who names it has chosen.
                let is_named = model.split([',', '=']).any(|word| word == flag);
                if !is_named {
                    model += &format!(",{flag}=off");
                }
            }
        }
        model
    }

    /// Newer Linux (6.12, not 6.1) begins a region of CXL memory only where it can write back all
    /// caches, which it takes for impossible in a guest. So with CXL the CPU model hides from the
    /// guest that it is one.
    fn cpu_model(&self) -> &'static str {
        match self.attach {
            AttachArg::Cxl => "max,hypervisor=off",
            AttachArg::Numa | AttachArg::Dax => "max",
        }
    }

    /// The machine without its device, which begins at 4 GiB or behind the memory above that: never
    /// among the low addresses, where boot loaders put kernels and disks in memory.
    fn base(&self) -> String {
        format!("q35,max-ram-below-4g={}", self.memory.0.min(LOW_MAX))
    }

    /// The device's memory.
    fn backend(&self) -> String {
        backend(0, &self.device_path, self.device)
    }

    fn numa(&self, args: &mut Arguments) {
        let (memory, last) = (self.memory.0, self.cpus - 1);
        let hmat = if self.speed.is_some() { ",hmat=on" } else { "" };
        args.add("-machine", self.base() + hmat);
        args.add("-m", format!("{}B", memory + self.devices()));
        args.add(
            "-object",
            format!("memory-backend-ram,id=sluice-ram,size={memory}"),
        );
        args.add(
            "-numa",
            format!("node,nodeid=0,cpus=0-{last},memdev=sluice-ram"),
        );
        args.add("-object", self.backend());
        let Some(speed) = self.speed else {
            return args.add("-numa", "node,nodeid=1,memdev=sluice0");
        };
        args.add("-numa", "node,nodeid=1,memdev=sluice0,initiator=0");
        for (at, other) in self.others.iter().enumerate() {
            let (at, node) = (at + 1, at + 2);
            args.add("-object", backend(at, &other.path, other.size));
            let memory = format!("node,nodeid={node},memdev=sluice{at},initiator=0");
            args.add("-numa", memory);
        }
        let others = self.others.iter().map(|of| of.speed);
        for value in hmat::values(std::iter::once(speed).chain(others)) {
            args.add("-numa", value);
        }
    }

    /// The guest's memory besides the device, with a disk: the disk's server reads and writes
    /// there.
    fn shared_memory(&self, args: &mut Arguments) -> &'static str {
        if !self.has_disk {
            return "";
        }
        let size = self.memory.0;
        args.add(
            "-object",
            format!("memory-backend-memfd,id=sluice-ram,size={size},share=on"),
        );
        ",memory-backend=sluice-ram"
    }

    fn dax(&self, args: &mut Arguments) {
        // QEMU aligns what is plugged in to 1 GiB.
        let most = (self.memory.0 + self.device.0).next_multiple_of(GIB) + GIB;
        let shared = self.shared_memory(args);
        args.add("-machine", self.base() + ",nvdimm=on" + shared);
        args.add("-m", format!("{}B,slots=1,maxmem={most}B", self.memory.0));
        args.add("-object", self.backend());
        args.add("-device", "nvdimm,id=sluice-nvdimm,memdev=sluice0");
    }

    fn cxl(&self, args: &mut Arguments) {
        let window = "cxl-fmw.0.targets.0=sluice-cxl,cxl-fmw.0.size";
        let size = self.device.0;
        let shared = self.shared_memory(args);
        args.add(
            "-machine",
            format!("{},cxl=on,{window}={size}{shared}", self.base()),
        );
        args.add("-m", format!("{}B", self.memory.0));
        args.add("-object", self.backend());
        args.add(
            "-object",
            format!("memory-backend-ram,id=sluice-lsa,size={LABELS}"),
        );
        args.add("-device", "pxb-cxl,id=sluice-cxl,bus=pcie.0,bus_nr=12");
        // Guests as of Linux 6.1 do not program the decoders of a host bridge with one port, and
        // QEMU 7.2 needs them. Hence a second port, with nothing in it.
        for port in 0..2 {
            let id = format!("id=sluice-rp{port},bus=sluice-cxl");
            let place = format!("port={port},chassis=0,slot={}", port + 2);
            args.add("-device", format!("cxl-rp,{id},{place}"));
        }
        let memdev = if self.version < CXL_NAMES_PERSISTENT {
            "memdev"
        } else {
            "persistent-memdev"
        };
        // Newer Linux gives persistent memory without a serial number no region.
        let memory = format!("{memdev}=sluice0,lsa=sluice-lsa,sn=1");
        args.add(
            "-device",
            format!("cxl-type3,id=sluice-mem,bus=sluice-rp0,{memory}"),
        );
    }
}

/// The memory of a device.
fn backend(at: usize, path: &str, size: Bytes) -> String {
    let size = size.0;
    format!("memory-backend-file,id=sluice{at},mem-path={path},size={size},share=on")
}

/// Arguments by which a guest whose kernel panics, and says so, ends QEMU with a failure. The
/// device is on the ISA bus: another on the PCI bus would change the names of the user's own.
pub const ON_PANIC: [&str; 4] = ["-device", "pvpanic", "-action", "panic=exit-failure"];

/// A command line being written.
#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.extend([name.to_owned(), value.into()]);
    }
}

/// A place of the device by name.
pub fn name(attach: AttachArg) -> &'static str {
    match attach {
        AttachArg::Numa => "numa",
        AttachArg::Dax => "dax",
        AttachArg::Cxl => "cxl",
    }
}

/// How often the ring's server looks by itself: a guest cannot wake it.
pub const RING_POLL: Ps = Ps::from_ms(5);

/// Adds the guest's ring and, read-only, statistics and residency map of QEMU's own process. The
/// preload library makes both files before QEMU's `main`.
pub fn add_ring(command: &mut Command, live: &Ready<'_>) {
    if !live.has_ring() {
        return;
    }
    // The bus is named: left to itself QEMU may choose CXL's, which takes only bridges.
    let view = format!(
        "size={},readonly=on",
        view_bytes(live.config().pages.into())
    );
    let ring = format!("size={RING_BYTES}");
    for (name, rest) in [(GUEST_RING_LINK, ring), (VIEW_LINK, view)] {
        let path = live.session().join(name).display().to_string();
        let id = format!("sluice-{name}");
        let memory = format!("memory-backend-file,id={id},mem-path={path},share=on,{rest}");
        command.args([
            "-object",
            &memory,
            "-device",
            &format!("ivshmem-plain,memdev={id},bus=pcie.0"),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(accelerator: &'static str, attach: AttachArg, has_cpu_model: bool) -> Machine {
        Machine {
            attach,
            accelerator,
            memory: Bytes(GIB),
            cpus: 1,
            device: Bytes(GIB),
            device_path: "/device".to_owned(),
            has_cpu_model,
            has_disk: false,
            speed: None,
            others: Vec::new(),
            cpu_name: None,
            version: CXL_IS_DIRECT,
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    const OFF: &str = ",kvm-asyncpf=off,kvm-asyncpf-int=off";

    #[test]
    fn under_kvm_every_cpu_waits_for_its_pages() {
        for (accelerator, off) in [("kvm", OFF), ("tcg", "")] {
            for (attach, model) in [
                (AttachArg::Numa, "max"),
                (AttachArg::Cxl, "max,hypervisor=off"),
            ] {
                let line = machine(accelerator, attach, false).arguments().join(" ");
                assert!(line.contains(&format!("-cpu {model}{off} ")), "{line}");
            }
            let own = machine(accelerator, AttachArg::Numa, true);
            assert!(!own.arguments().contains(&"-cpu".to_owned()));
            for name in ["-cpu", "--cpu"] {
                let given = words(&format!("-kernel cpu {name} host,-avx -append max"));
                let line = own.rest(&given).join(" ");
                let expected = format!("-kernel cpu {name} host,-avx{off} -append max");
                assert_eq!(line, expected);
            }
        }
    }

    #[test]
    fn a_cpu_has_its_name_unless_the_user_gives_another() {
        let machine = Machine {
            cpu_name: Some("Known"),
            ..machine("tcg", AttachArg::Numa, false)
        };
        let line = machine.arguments().join(" ");
        assert!(line.contains("-cpu max,model-id=Known "), "{line}");
        for (given, made) in [
            ("-cpu qemu64,-avx", ",model-id=Known"),
            ("-cpu max,model-id=Mine", ""),
            ("-cpu help", ""),
        ] {
            let line = machine.rest(&words(given)).join(" ");
            assert_eq!(line, format!("{given}{made}"));
        }
    }

    #[test]
    fn what_the_user_says_of_it_stays() {
        let own = machine("kvm", AttachArg::Numa, true);
        for (given, made) in [
            ("-cpu host,kvm-asyncpf=on", ",kvm-asyncpf-int=off"),
            ("-cpu help", ""),
            ("-smp 2 -cpu", ""),
        ] {
            let line = own.rest(&words(given)).join(" ");
            assert_eq!(line, format!("{given}{made}"));
        }
    }
}
