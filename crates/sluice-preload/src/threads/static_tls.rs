//! A thread's variables of this library are there from its start on.
//!
//! Where an auditor is loaded first (`LD_AUDIT`, `sotruss`), the loader would make those of other
//! libraries when they are first used, by a call of `malloc`: of the hook, which uses them. One
//! reference to a variable at a fixed distance from the thread's pointer has it make room for all
//! of this library's before the program begins.

/// Defines a variable, and a function of these instructions that refers to it.
macro_rules! refer {
    ($($instruction:literal),+) => {
        core::arch::global_asm!(
            ".pushsection .tbss.sluice_at_fixed_distance,\"awT\",@nobits",
            ".globl sluice_at_fixed_distance",
            ".hidden sluice_at_fixed_distance",
            ".type sluice_at_fixed_distance, @object",
            "sluice_at_fixed_distance:",
            ".zero 8",
            ".size sluice_at_fixed_distance, 8",
            ".popsection",
            ".pushsection .text.sluice_fixed_distance,\"ax\",@progbits",
            ".globl sluice_fixed_distance",
            ".hidden sluice_fixed_distance",
            ".type sluice_fixed_distance, @function",
            "sluice_fixed_distance:",
            $($instruction,)+
            "ret",
            ".size sluice_fixed_distance, . - sluice_fixed_distance",
            ".popsection",
        );
    };
}

#[cfg(target_arch = "x86_64")]
refer!("mov rax, qword ptr [rip + sluice_at_fixed_distance@gottpoff]");
#[cfg(target_arch = "aarch64")]
refer!(
    "adrp x0, :gottprel:sluice_at_fixed_distance",
    "ldr x0, [x0, :gottprel_lo12:sluice_at_fixed_distance]"
);

unsafe extern "C" {
    fn sluice_fixed_distance() -> usize;
}

/// Keeps the reference, which nobody follows.
#[used]
static REFERENCE: unsafe extern "C" fn() -> usize = sluice_fixed_distance;
