//! Marks of a program or guest that is simulated while QEMU executes it.
//!
//! A simulator sees addresses and no data, and answers nothing. So each byte of a mark is the place
//! in a table of a load by one known instruction, and the CPU's name says whether a simulator
//! watches. Neither takes a right or a device.

use crate::error::Error;
use core::ffi::{CStr, c_char};
use sluice_abi::{MARK_DONE, MARK_INVALID, MARK_NOT_HERE, is_mark_name};

/// Marks this moment for the simulator of this program or its machine.
///
/// # Errors
/// [`Error::MarkName`], or [`Error::NotSimulated`] where nobody does.
pub fn mark_simulated(name: &str) -> Result<(), Error> {
    if !is_mark_name(name) {
        return Err(Error::MarkName(name.to_owned()));
    }
    if !is_simulated() {
        return Err(Error::NotSimulated);
    }
    x86::say(name);
    Ok(())
}

/// Whether this program, or the machine that it runs in, is simulated.
#[must_use]
pub fn is_simulated() -> bool {
    x86::is_simulated()
}

/// `sluice_mark` of a program that is not under a live `sluice run`.
///
/// # Safety
/// `name` is null or a text that ends in a zero.
pub(crate) unsafe fn mark_here(name: *const c_char) -> i32 {
    if name.is_null() {
        return MARK_INVALID;
    }
    // SAFETY: not null; the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    match name.to_str().map(mark_simulated) {
        Ok(Ok(())) => MARK_DONE,
        Ok(Err(Error::NotSimulated)) => MARK_NOT_HERE,
        Ok(Err(_)) | Err(_) => MARK_INVALID,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::__cpuid;
    use sluice_abi::{MARK_BEGINS, MARK_ENDS, MARK_LOAD, MARK_LOAD_AT, SIMULATED_CPU};

    /// Functions of `cpuid` that have the processor's name.
    const NAME: [u32; 3] = [0x8000_0002, 0x8000_0003, 0x8000_0004];

    pub fn is_simulated() -> bool {
        if __cpuid(0x8000_0000).eax < NAME[2] {
            return false;
        }
        let words = NAME.iter().flat_map(|function| {
            let found = __cpuid(*function);
            [found.eax, found.ebx, found.ecx, found.edx]
        });
        let name: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        name.starts_with(SIMULATED_CPU.as_bytes())
    }

    /// On the stack of one thread: by its place a simulator keeps the marks of two threads apart.
    #[repr(C, align(256))]
    struct Table([u8; 256]);

    pub fn say(name: &str) {
        let table = Table([0; 256]);
        let table = core::hint::black_box(&table);
        let bytes = [MARK_BEGINS].into_iter().chain(name.bytes());
        for byte in bytes.chain([MARK_ENDS]) {
            load(table, byte);
        }
    }

    fn load(table: &Table, byte: u8) {
        let base = core::ptr::from_ref(table) as u64;
        // SAFETY: loads one byte within the table, and says so.
        unsafe {
            core::arch::asm!(
                ".byte {}, {}, {}, {}, {}, {}, {}, {}, {}, {}",
                const MARK_LOAD[0], const MARK_LOAD[1], const MARK_LOAD[2], const MARK_LOAD[3],
                const MARK_LOAD[4], const MARK_LOAD[5], const MARK_LOAD[6], const MARK_LOAD[7],
                const MARK_LOAD[8], const MARK_LOAD[9],
                in("rdi") base.wrapping_sub(u64::from(MARK_LOAD_AT)),
                inout("rax") u64::from(byte) => _,
                options(nostack, readonly, preserves_flags)
            );
        }
    }
}

/// Only x86-64 is simulated.
#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    pub fn is_simulated() -> bool {
        false
    }

    pub fn say(_: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_simulates_a_mark_is_refused_and_its_loads_harm_nobody() {
        assert!(matches!(mark_simulated("a b"), Err(Error::MarkName(_))));
        assert!(matches!(mark_simulated("begun"), Err(Error::NotSimulated)));
        x86::say("begun");
        for (name, code) in [
            (c"begun".as_ptr(), MARK_NOT_HERE),
            (c"a b".as_ptr(), MARK_INVALID),
            (c"\xff".as_ptr(), MARK_INVALID),
            (core::ptr::null(), MARK_INVALID),
        ] {
            // SAFETY: null, or a text that ends in a zero.
            assert_eq!(unsafe { mark_here(name) }, code);
        }
    }
}
