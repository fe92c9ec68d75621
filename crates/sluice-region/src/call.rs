//! System calls by the processor's own instruction.
//!
//! They go past the C library for three reasons. The preload library hooks its functions, `syscall`
//! among them. A thread that the C library does not know must not depend on it. And errors come
//! back as values: the caller's `errno` stays as the program left it.

use crate::dispatch::{is_any, let_through};
use core::ffi::c_long;

/// The kernel answers an error as a number from here up to -1.
const ERRORS_FROM: isize = -4095;

/// Makes a system call with six arguments, of which the kernel reads as many as it needs.
///
/// # Errors
/// The kernel's error number.
///
/// # Safety
/// As for the system call.
#[inline]
pub unsafe fn call(number: c_long, args: [usize; 6]) -> Result<usize, i32> {
    // SAFETY: passed on.
    let enter = || unsafe { enter(number as usize, args) };
    let answer = match is_any() {
        false => enter(),
        true => let_through(enter),
    };
    match answer as isize {
        error if (ERRORS_FROM..0).contains(&error) => Err(-error as i32),
        _ => Ok(answer),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn enter(number: usize, args: [usize; 6]) -> usize {
    let answer;
    // SAFETY: the kernel's calling convention; it changes the answer's register and these two.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn enter(number: usize, args: [usize; 6]) -> usize {
    let answer;
    // SAFETY: the kernel's calling convention; it changes the answer's register alone.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] => answer,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") args[5],
            options(nostack),
        );
    }
    answer
}

/// Makes a system call with up to six arguments, which may be numbers and pointers.
#[macro_export]
macro_rules! sys {
    ($number:expr $(, $arg:expr)* $(,)?) => {{
        let given: &[usize] = &[$($arg as usize),*];
        let mut args = [0usize; 6];
        args[..given.len()].copy_from_slice(given);
        $crate::call($number, args)
    }};
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_answer_is_a_value_and_errno_stays() {
        // SAFETY: no pointers.
        unsafe {
            *libc::__errno_location() = 77;
            assert_eq!(sys!(libc::SYS_getpid), Ok(libc::getpid() as usize));
            assert_eq!(sys!(libc::SYS_close, -1i32), Err(libc::EBADF));
            assert_eq!(*libc::__errno_location(), 77);
        }
    }

    #[test]
    fn six_arguments_arrive_in_order() {
        // SAFETY: a fresh mapping, and its end. The descriptor is not looked at.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at = sys!(libc::SYS_mmap, 0, 4096, libc::PROT_READ, flags, -1i32, 0).unwrap();
            assert_eq!((at as *const u8).read(), 0);
            assert_eq!(sys!(libc::SYS_munmap, at, 4096), Ok(0));
        }
    }
}
