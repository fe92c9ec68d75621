//! Programs that the program becomes with a list of arguments: `execl` and its kin.
//!
//! The C library would make the call past the hooks, and in signal mode fail at an argument on a
//! missing page. So the list is made an array, as there, and given to the hook that takes one.

use crate::bytes::buffers::set_errno;
use crate::processes::exec::{execv, execve, execvp};
use libc::{c_char, c_int};
use sluice_region::{Mapping, PAGE, errno};

type Text = *const c_char;

/// Arguments that come in registers.
#[cfg(target_arch = "x86_64")]
const IN_REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const IN_REGISTERS: usize = 8;
/// The longest array that is made on the stack. A child of `vfork` leaves nothing behind that way.
const SHORT: usize = 512;

/// The arguments of a call, whose number its caller knows alone.
#[derive(Clone, Copy)]
struct Arguments {
    registers: *const Text,
    stack: *const Text,
}

impl Arguments {
    /// # Safety
    /// The call has so many.
    unsafe fn get(self, at: usize) -> Text {
        // SAFETY: as the caller says.
        unsafe {
            match at.checked_sub(IN_REGISTERS) {
                None => *self.registers.add(at),
                Some(above) => *self.stack.add(above),
            }
        }
    }

    /// The strings behind the path, with the null at their end.
    ///
    /// # Safety
    /// There is a null.
    unsafe fn count(self) -> usize {
        let mut count = 1;
        // SAFETY: the list goes on to there.
        while !unsafe { self.get(count) }.is_null() {
            count += 1;
        }
        count
    }
}

/// Calls with the array of the strings behind the path, and how many they are.
///
/// # Safety
/// A list that ends with a null.
unsafe fn with_array(list: Arguments, call: impl FnOnce(*const Text, usize) -> c_int) -> c_int {
    // SAFETY: as the caller says.
    let count = unsafe { list.count() };
    let fill = |array: *mut Text| {
        for at in 0..count {
            // SAFETY: room for as many, and a list of as many behind the path.
            unsafe { array.add(at).write(list.get(at + 1)) };
        }
    };
    if count <= SHORT {
        let mut array = [core::ptr::null(); SHORT];
        fill(array.as_mut_ptr());
        return call(array.as_ptr(), count);
    }
    let bytes = (count * size_of::<Text>()).next_multiple_of(PAGE);
    let Ok(memory) = Mapping::anonymous(bytes) else {
        set_errno(libc::ENOMEM);
        return -1;
    };
    fill(memory.addr() as *mut Text);
    let result = call(memory.addr() as *const Text, count);
    let failed = errno();
    drop(memory);
    set_errno(failed);
    result
}

extern "C" fn for_execl(registers: *const Text, stack: *const Text) -> c_int {
    let list = Arguments { registers, stack };
    // SAFETY: C contract of `execl`.
    unsafe { with_array(list, |args, _| execv(list.get(0), args)) }
}

extern "C" fn for_execlp(registers: *const Text, stack: *const Text) -> c_int {
    let list = Arguments { registers, stack };
    // SAFETY: C contract of `execlp`.
    unsafe { with_array(list, |args, _| execvp(list.get(0), args)) }
}

extern "C" fn for_execle(registers: *const Text, stack: *const Text) -> c_int {
    let list = Arguments { registers, stack };
    // SAFETY: C contract of `execle`: the environment is behind the null.
    unsafe {
        with_array(list, |args, count| {
            execve(list.get(0), args, list.get(count + 1).cast())
        })
    }
}

/// Defines a function that calls another one with where its arguments are.
macro_rules! listed {
    ($($name:ident => $to:ident;)+) => {$(
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "mov rdi, rsp",
                // Behind the registers and the address to return to.
                "lea rsi, [rsp + 56]",
                "sub rsp, 8",
                "call {to}",
                "add rsp, 56",
                "ret",
                to = sym $to,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "add x0, sp, #16",
                "add x1, sp, #80",
                "bl {to}",
                "ldp x29, x30, [sp], #80",
                "ret",
                to = sym $to,
            );
        }
    )+};
}

listed! {
    execl => for_execl;
    execlp => for_execlp;
    execle => for_execle;
}
