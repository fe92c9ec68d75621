//! Whether this host can run guests by KVM, and how.
//!
//! A `/dev/kvm` that opens is no proof: on some hosts KVM only interprets what a guest executes.
//! So a few instructions are run and timed.

use crate::error::KvmError;
use kvm_bindings::kvm_userspace_memory_region;
use kvm_ioctls::{VcpuExit, VcpuFd};
use std::time::Instant;

/// What KVM is good for here.
#[derive(Debug, Clone, PartialEq)]
pub enum Kvm {
    /// The processor itself runs guests.
    Runs {
        /// Time of a decrement and a jump, ns.
        loop_ns: f64,
    },
    /// The kernel interprets a guest's instructions, slower than QEMU's translator runs them.
    Interprets {
        /// Time of a decrement and a jump, ns.
        loop_ns: f64,
    },
    /// No guest runs.
    Missing(KvmError),
}

const PAGE: usize = 4096;
/// Turns of the timed loop: some 10 us on a processor.
const TURNS: u32 = 20_000;
/// A turn takes under 2 ns on a processor and at least 200 when interpreted.
const INTERPRETED_NS: f64 = 50.0;
/// The first entry into a guest costs more, and a busy host may interrupt any.
const TRIES: usize = 5;

/// `mov ecx, TURNS; again: dec ecx; jnz again; hlt`, in real mode.
fn code() -> [u8; 11] {
    let n = TURNS.to_le_bytes();
    [
        0x66, 0xb9, n[0], n[1], n[2], n[3], 0x66, 0x49, 0x75, 0xfc, 0xf4,
    ]
}

/// Runs a short loop in a guest of its own.
pub fn probe_kvm() -> Kvm {
    match time_a_loop() {
        Ok(loop_ns) if loop_ns < INTERPRETED_NS => Kvm::Runs { loop_ns },
        Ok(loop_ns) => Kvm::Interprets { loop_ns },
        Err(why) => Kvm::Missing(why),
    }
}

/// For `map_err`: the step that the kernel refused.
fn refused(step: &'static str) -> impl FnOnce(kvm_ioctls::Error) -> KvmError {
    move |source| KvmError::Refused { step, source }
}

/// The shortest time of a turn.
fn time_a_loop() -> Result<f64, KvmError> {
    // KVM runs guests of its processor's own kind alone.
    if !cfg!(target_arch = "x86_64") {
        return Err(KvmError::Machine(std::env::consts::ARCH));
    }
    let failed = refused;
    let kvm = kvm_ioctls::Kvm::new().map_err(failed("/dev/kvm"))?;
    let vm = kvm.create_vm().map_err(failed("KVM_CREATE_VM"))?;
    let mut memory = Box::new(Frame([0; PAGE]));
    memory.0[..code().len()].copy_from_slice(&code());
    let slot = kvm_userspace_memory_region {
        slot: 0,
        flags: 0,
        guest_phys_addr: 0,
        memory_size: PAGE as u64,
        userspace_addr: memory.0.as_mut_ptr() as u64,
    };
    // SAFETY: the page lives until after the guest, and nothing else uses it.
    unsafe { vm.set_user_memory_region(slot) }.map_err(failed("KVM_SET_USER_MEMORY_REGION"))?;
    let mut cpu = vm.create_vcpu(0).map_err(failed("KVM_CREATE_VCPU"))?;
    let mut best = f64::MAX;
    for _ in 0..TRIES {
        let ns = one_run(&mut cpu)?;
        best = best.min(ns / f64::from(TURNS));
    }
    Ok(best)
}

/// Memory of the guest. KVM wants whole pages.
#[repr(align(4096))]
struct Frame([u8; PAGE]);

/// Puts the guest at the start of its code.
#[cfg(target_arch = "x86_64")]
fn begin(cpu: &VcpuFd) -> Result<(), kvm_ioctls::Error> {
    let mut segments = cpu.get_sregs()?;
    segments.cs.base = 0;
    segments.cs.selector = 0;
    cpu.set_sregs(&segments)?;
    let mut registers = cpu.get_regs()?;
    registers.rip = 0;
    registers.rflags = 2;
    cpu.set_regs(&registers)
}

#[cfg(not(target_arch = "x86_64"))]
fn begin(_: &VcpuFd) -> Result<(), kvm_ioctls::Error> {
    unreachable!("no guest is made for this processor")
}

fn one_run(cpu: &mut VcpuFd) -> Result<f64, KvmError> {
    let failed = || refused("KVM_RUN");
    begin(cpu).map_err(failed())?;
    let from = Instant::now();
    match cpu.run().map_err(failed())? {
        VcpuExit::Hlt => Ok(from.elapsed().as_nanos() as f64),
        other => Err(KvmError::Exit(format!("{other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_agrees_with_itself() {
        let kind = |kvm: Kvm| match kvm {
            Kvm::Runs { .. } => "runs",
            Kvm::Interprets { .. } => "interprets",
            Kvm::Missing(_) => "missing",
        };
        assert_eq!(kind(probe_kvm()), kind(probe_kvm()));
    }
}
