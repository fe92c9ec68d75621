//! Hooks that go on by a jump: nobody knows how many arguments there are, or the function that is
//! next saves the registers of its caller.

/// Defines a function that calls `$before` with its arguments and jumps to the address that this
/// returns. All registers and the stack are as they were.
macro_rules! jump {
    ($name:ident($($arg:ident: $type:ty),*), $before:ident) => {
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> ::libc::c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "call {before}",
                "mov r11, rax",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                before = sym $before,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "bl {before}",
                "mov x16, x0",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "br x16",
                before = sym $before,
            );
        }
    };
}

pub(crate) use jump;
