//! Whether valgrind executes this process, in place of the CPU.

/// Valgrind's request `RUNNING_ON_VALGRIND`.
const RUNNING: usize = 0x1001;

/// Asks valgrind, as programs do: by instructions that change nothing, which it knows by their
/// order and answers in place of the CPU.
#[cfg(target_arch = "x86_64")]
pub fn is_valgrind() -> bool {
    let request: [usize; 6] = [RUNNING, 0, 0, 0, 0, 0];
    let mut answer = 0usize;
    // SAFETY: the rotations of a register add up to two whole turns, and an exchange with itself
    // does nothing. Valgrind reads the request and writes the answer's register.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const request,
            inout("rdx") answer,
            out("rdi") _,
        );
    }
    answer != 0
}

/// Asks Valgrind in the same way: other rotations add up to whole turns on this processor.
#[cfg(target_arch = "aarch64")]
pub fn is_valgrind() -> bool {
    let request: [usize; 6] = [RUNNING, 0, 0, 0, 0, 0];
    let mut answer = 0usize;
    // SAFETY: as above.
    unsafe {
        core::arch::asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            inout("x3") answer,
            in("x4") &raw const request,
            out("x12") _,
        );
    }
    answer != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_on_a_cpu() {
        assert!(!is_valgrind());
    }
}
