//! Threads by the kernel's own call, which the C library does not know.
//!
//! The C library would count a thread of its own making as the program's. The process would not end
//! with the last of the program's own threads, and a change of the user would stop at ours. In the
//! child of a fork the library would allocate while the program's allocator is locked.

use crate::sys;
use crate::tls::{Modules, Storage};
use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// What a thread runs. It never returns.
pub type Main = extern "C" fn(*mut c_void) -> !;

/// Which descriptors a thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Descriptors {
    /// The descriptors of the thread that makes it.
    Shared,
    /// Copies of them, which [`own_nothing`] closes.
    Copied,
}

/// Memory for one thread: its stack and its thread-local variables. Once a thread runs on it, it
/// must stay.
#[derive(Debug)]
pub struct Room {
    stack: Range<usize>,
    storage: Storage,
    /// The number of its thread: 0 if there is none. The kernel writes it, and clears it when the
    /// thread has left its stack for good.
    thread: AtomicU32,
}

/// In place of a thread's number: the room is taken for one that is not there yet.
const TAKEN: u32 = u32::MAX;

impl Room {
    /// Room with a stack at these addresses, which are mapped, writable, and nobody else's.
    ///
    /// # Errors
    /// The kernel's, if there is no memory.
    pub fn new(modules: &Modules, stack: Range<usize>) -> Result<Room, i32> {
        let storage = modules.storage()?;
        Ok(Room {
            stack,
            storage,
            thread: AtomicU32::new(0),
        })
    }

    /// Takes the room for another thread, if it has none. [`Room::start`] is due.
    pub fn take(&self, modules: &Modules) -> bool {
        let is_free = self.thread.compare_exchange(0, TAKEN, AcqRel, Relaxed);
        if is_free.is_ok() {
            modules.fill(&self.storage);
        }
        is_free.is_ok()
    }

    /// The number of the thread that is here, if there is one.
    pub fn thread(&self) -> Option<u32> {
        let thread = self.thread.load(SeqCst);
        (thread != 0 && thread != TAKEN).then_some(thread)
    }

    /// In the child of a fork: the thread does not exist.
    pub fn after_fork_in_child(&self) {
        self.thread.store(0, Release);
    }

    /// Starts a thread here. It inherits the mask of signals of its maker. Returns its number.
    ///
    /// # Errors
    /// The kernel's. The room is nobody's again.
    ///
    /// # Safety
    /// The room stays as long as the thread runs, was taken for it, and `main` can run with
    /// `argument` in another thread.
    pub unsafe fn start(
        &self,
        main: Main,
        argument: *mut c_void,
        descriptors: Descriptors,
    ) -> Result<u32, i32> {
        let mut flags = libc::CLONE_VM
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SETTLS
            | libc::CLONE_PARENT_SETTID
            | libc::CLONE_CHILD_CLEARTID;
        if descriptors == Descriptors::Shared {
            flags |= libc::CLONE_FILES | libc::CLONE_FS;
        }
        let top = self.stack.end as *mut usize;
        // SAFETY: the stack is ours alone; the new thread takes the two words from it.
        let answer = unsafe {
            let top = top.sub(2);
            top.write(argument as usize);
            top.add(1).write(main as usize);
            let thread = self.thread.as_ptr() as usize;
            clone(flags as usize, top as usize, self.storage.pointer(), thread)
        };
        if answer < 0 {
            self.thread.store(0, Release);
            return Err(-answer as i32);
        }
        Ok(answer as u32)
    }
}

/// `clone` for a thread: the child pops its argument and its function from its stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn clone(flags: usize, stack: usize, pointer: usize, thread: usize) -> isize {
    core::arch::naked_asm!(
        "mov r8, rdx",
        "mov rdx, rcx",
        "mov r10, rcx",
        "mov eax, {number}",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "xor ebp, ebp",
        "pop rdi",
        "pop rax",
        "call rax",
        "ud2",
        number = const libc::SYS_clone,
    );
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn clone(flags: usize, stack: usize, pointer: usize, thread: usize) -> isize {
    core::arch::naked_asm!(
        "mov x4, x3",
        "mov x3, x2",
        "mov x2, x4",
        "mov x8, {number}",
        "svc 0",
        "cbz x0, 2f",
        "ret",
        "2:",
        "mov x29, #0",
        "ldp x0, x1, [sp], #16",
        "blr x1",
        "brk 1",
        number = const libc::SYS_clone,
    );
}

/// Leaves the calling thread without any descriptor of the program's, in a table of its own. One
/// number above 2 may be `kept`.
///
/// The first three numbers are then taken by something that no write can harm.
///
/// # Errors
/// The kernel's.
pub fn own_nothing(kept: &[u32]) -> Result<(), i32> {
    const CLOSE_RANGE_UNSHARE: usize = 2;
    let close = |from: u32, to: u32| {
        // SAFETY: no pointers. The descriptors are this thread's copies.
        unsafe { sys!(libc::SYS_close_range, from, to, CLOSE_RANGE_UNSHARE) }
    };
    // SAFETY: no pointers but a static path.
    unsafe {
        // From above: what is closed first makes the table small before it is copied.
        let mut end = u32::MAX;
        for number in kept.iter().rev() {
            if *number < end {
                close(number + 1, end)?;
            }
            end = number - 1;
        }
        close(0, end)?;
        for _ in 0..3 {
            sys!(
                libc::SYS_eventfd2,
                0,
                libc::EFD_CLOEXEC | libc::EFD_NONBLOCK
            )?;
        }
        // Where the program was started may be unmounted later.
        let _ = sys!(libc::SYS_chdir, c"/".as_ptr());
    }
    Ok(())
}

/// Closes all descriptors of the calling thread's table.
pub fn close_all() {
    // SAFETY: no pointers. The table is the runtime's own.
    let _ = unsafe { sys!(libc::SYS_close_range, 0, u32::MAX, 0) };
}

/// Ends the calling thread, and no other.
pub fn end_thread() -> ! {
    loop {
        // SAFETY: no pointers.
        let _ = unsafe { sys!(libc::SYS_exit, 0) };
    }
}

/// Calls a function on another stack, whose upper end is `top`.
///
/// # Safety
/// The stack is nobody else's until the call is over; `function` can be called with `argument`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call_on_stack(
    top: usize,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    );
}

/// Calls `function(argument)` on the stack that ends at `top`, and comes back to this one.
///
/// # Safety
/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call_on_stack(
    top: usize,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    );
}

/// Names the calling thread, for those who look at the process.
pub fn name_thread(name: &core::ffi::CStr) {
    // SAFETY: a terminated name.
    let _ = unsafe { sys!(libc::SYS_prctl, libc::PR_SET_NAME, name.as_ptr()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    static DONE: AtomicU32 = AtomicU32::new(0);
    std::thread_local! {
        static OWN: core::cell::Cell<u32> = const { core::cell::Cell::new(7) };
    }

    extern "C" fn main(argument: *mut c_void) -> ! {
        // A failed call sets this thread's own errno.
        // SAFETY: no pointers.
        let failed = unsafe { libc::close(-1) };
        let errno = std::io::Error::last_os_error().raw_os_error();
        let own = OWN.replace(8);
        let right = failed == -1 && errno == Some(libc::EBADF) && own == 7;
        let told = argument as u32 + u32::from(right);
        DONE.store(told, SeqCst);
        crate::futex_wake(&DONE);
        loop {
            // SAFETY: ends this thread.
            let _ = unsafe { sys!(libc::SYS_exit, 0) };
        }
    }

    extern "C" fn look(at: *mut c_void) {
        let here = 0u8;
        // SAFETY: the test's own word.
        unsafe { at.cast::<usize>().write(&raw const here as usize) };
    }

    #[test]
    fn a_call_on_another_stack_comes_back() {
        let stack = crate::Mapping::anonymous(1 << 16).unwrap();
        let mut seen = 0usize;
        // SAFETY: the stack is this call's alone.
        unsafe {
            call_on_stack(stack.addr() + stack.len(), look, (&raw mut seen).cast());
        }
        assert!(stack.contains(seen));
    }

    #[test]
    fn a_thread_has_an_errno_and_variables_of_its_own() {
        let modules = Modules::find();
        let stack = core::mem::ManuallyDrop::new(crate::Mapping::anonymous(1 << 18).unwrap());
        let range = stack.addr()..stack.addr() + stack.len();
        let room = core::mem::ManuallyDrop::new(Room::new(&modules, range).unwrap());
        OWN.set(9);
        for turn in 1..=3 {
            DONE.store(0, SeqCst);
            // SAFETY: this thread's own.
            unsafe { *libc::__errno_location() = 5 };
            while !room.take(&modules) {
                crate::yield_cpu();
            }
            assert!(!room.take(&modules), "it has a thread, or is to have one");
            // SAFETY: the room stays, and was taken.
            unsafe { room.start(main, (turn * 10) as *mut c_void, Descriptors::Shared) }.unwrap();
            crate::futex_wait(&DONE, 0, Some(10_000_000_000));
            assert_eq!(DONE.load(SeqCst), turn * 10 + 1);
            assert_eq!(OWN.get(), 9);
            assert_eq!(crate::errno(), 5);
        }
    }
}
