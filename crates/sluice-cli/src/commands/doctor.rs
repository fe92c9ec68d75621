//! `sluice doctor`: what this host can do.

use crate::emulator::kvm::{Kvm, probe_kvm};
use crate::emulator::{self, qemu};
use crate::error::{Error, KvmError};
use crate::program;
use clap::Args;
use sluice_region::{UffdKind, lock_limit, probe};
use sluice_results::{Doctor, DoctorCheck, DoctorModes, DoctorSchema, to_json};
use sluice_units::Bytes;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print the findings as one JSON object
    #[arg(long)]
    pub json: bool,
}

struct Finding {
    name: String,
    found: String,
    mend: Option<String>,
    needed_for: &'static str,
}

/// Looks, prints, and fails when a live run in event mode, the default, cannot work.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Error> {
    let probe = probe();
    let mut findings: Vec<Finding> = probe
        .checks
        .iter()
        .map(|c| Finding {
            name: c.name.to_string(),
            found: c.found.clone(),
            mend: c.mend.clone(),
            needed_for: match c.need {
                sluice_region::Need::Live => "sluice run",
                sluice_region::Need::Event => "sluice run --trap event",
                sluice_region::Need::Signal => "sluice run --trap signal",
            },
        })
        .collect();
    let preload = preload();
    let has_library = preload.mend.is_none();
    findings.extend([preload, swap(), kvm(), qemu(), emulator()]);
    let modes = [("event", UffdKind::Events), ("signal", UffdKind::Signal)]
        .map(|(name, kind)| (name, has_library && probe.blocker(kind).is_none()));
    if args.json {
        print_json(&findings, modes.map(|(_, ok)| ok))?;
    } else {
        print_text(&findings, &modes)?;
    }
    Ok(if modes[0].1 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn print_json(findings: &[Finding], [event, signal]: [bool; 2]) -> Result<(), Error> {
    let check = |of: &Finding| DoctorCheck {
        name: of.name.clone(),
        ok: of.mend.is_none(),
        found: of.found.clone(),
        mend: of.mend.clone(),
        needed_for: of.needed_for.to_owned(),
    };
    let doctor = Doctor {
        schema: DoctorSchema::default(),
        modes: DoctorModes { event, signal },
        checks: findings.iter().map(check).collect(),
    };
    outln!("{}", to_json(&doctor))
}

fn print_text(findings: &[Finding], modes: &[(&str, bool)]) -> Result<(), Error> {
    for f in findings {
        let mark = if f.mend.is_none() { "ok  " } else { "MISS" };
        outln!("{mark} {:<28} {}", f.name, f.found)?;
        if let Some(mend) = &f.mend {
            outln!("     {:<28} for {}: {mend}", "", f.needed_for)?;
        }
    }
    outln!("")?;
    for (name, ok) in modes {
        outln!(
            "sluice run --trap {name:<7} {}",
            if *ok { "ready" } else { "cannot run here" }
        )?;
    }
    Ok(())
}

fn preload() -> Finding {
    let found = program::preload_library();
    let mend = match std::env::var_os(program::PRELOAD_VAR) {
        Some(_) => format!(
            "name the library in {0}, or unset {0}",
            program::PRELOAD_VAR
        ),
        None => "cargo build --release --workspace".to_owned(),
    };
    let mend = found.is_err().then_some(mend);
    Finding {
        name: "preload library".into(),
        found: found.map_or_else(|e| e.to_string(), |p| p.display().to_string()),
        mend,
        needed_for: "sluice run",
    }
}

/// Neither the arena nor the stash can be locked: the kernel counts all of their addresses against
/// the limit, gives no locked page back (`MADV_DONTNEED`), and moves none to memory that is not
/// locked as well.
fn swap() -> Finding {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("SwapTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let swap = Bytes(kib.unwrap_or(0) << 10);
    let limit = match lock_limit() {
        Some(bytes) => Bytes(bytes).to_string(),
        None => "no limit".to_owned(),
    };
    let risk = match swap.0 {
        0 => "the device's memory stays in memory",
        _ => "the device's memory may be swapped out, which `host.major_faults` counts",
    };
    Finding {
        name: "swap".into(),
        found: format!("{swap}: {risk} (RLIMIT_MEMLOCK {limit}, not used)"),
        mend: (swap.0 > 0).then(|| "`swapoff -a` while you measure".to_owned()),
        needed_for: "hits that take what memory takes",
    }
}

fn kvm() -> Finding {
    let mend = "guests run without it, in QEMU's translator";
    let (found, mend) = match probe_kvm() {
        Kvm::Runs { loop_ns } => (
            format!("runs guests on the processor ({loop_ns:.2} ns a loop)"),
            None,
        ),
        Kvm::Interprets { loop_ns } => (
            format!(
                "opens, but interprets what a guest executes ({loop_ns:.0} ns a loop): slower \
                 than QEMU's translator"
            ),
            Some(format!("a host with hardware virtualisation; {mend}")),
        ),
        Kvm::Missing(why @ KvmError::Machine(_)) => (why.to_string(), Some(mend.to_owned())),
        Kvm::Missing(why) => (
            why.to_string(),
            Some(format!(
                "`modprobe kvm_intel` (or kvm_amd), and join group kvm; {mend}"
            )),
        ),
    };
    Finding {
        name: "KVM".into(),
        found,
        mend,
        needed_for: "sluice vm at full speed",
    }
}

fn qemu() -> Finding {
    let qemu = qemu::find(qemu::SYSTEM, qemu::PACKAGE);
    Finding {
        name: "QEMU".into(),
        mend: qemu
            .is_err()
            .then(|| format!("apt-get install {}", qemu::PACKAGE)),
        found: match qemu {
            Ok(qemu) => format!("{}, {}", qemu.path.display(), qemu.version),
            Err(error) => error.to_string(),
        },
        needed_for: "sluice vm",
    }
}

fn emulator() -> Finding {
    let qemu = emulator::find();
    Finding {
        name: "QEMU for single programs".into(),
        mend: qemu.is_err().then(|| {
            format!(
                "apt-get install {} of Debian 12, or another {} with plugins, first in PATH",
                emulator::PACKAGE,
                emulator::USER
            )
        }),
        found: match qemu {
            Ok(qemu) => format!("{}, {}, with plugins", qemu.path.display(), qemu.version),
            Err(error) => error.to_string(),
        },
        needed_for: "sluice trace record, sluice run --simulate",
    }
}
