//! Work of the runtime in a thread of the program's: on a stack of the runtime's own, with the
//! program's signals held back.
//!
//! A hook takes locks that faults need. So nothing of the program's may run while one is held: a
//! handler of a signal that misses would wait for its own thread. And the stack must not be the
//! program's, which may lie on the device itself or be too small.

use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use sluice_region::{Mapping, PAGE, call_on_stack, raw_madvise, sys};

/// Stack for one call, with a page that nobody may touch at its lower end.
const STACK: usize = 16 * PAGE;
/// Calls that have a stack at once; others wait.
const CALLS: usize = 256;
/// Stack of a thread of the runtime, with room for what policies from outside need.
const THREAD_STACK: usize = 1 << 20;
/// A page that ends a program that touches it, without a mapping of its own.
const MADV_GUARD_INSTALL: i32 = 102;
/// A thread that finds no stack looks again after this.
const PAUSE_NS: u64 = 20_000;

/// Where the stacks are: those of threads first, then those of calls.
static START: AtomicUsize = AtomicUsize::new(0);
static CALLS_FROM: AtomicUsize = AtomicUsize::new(0);
static TAKEN: [AtomicU64; CALLS / 64] = [const { AtomicU64::new(0) }; CALLS / 64];
/// Which have their guard. Few programs make more than a handful of calls at once, and each guard
/// costs a start its system call and a fork its page table.
static GUARDED: [AtomicU64; CALLS / 64] = [const { AtomicU64::new(0) }; CALLS / 64];

/// Signals that the thread's own instructions send: they cannot wait. The program's code may meet
/// them where only signals are held back.
const OWN_FAULT: [i32; 6] = [
    libc::SIGBUS,
    libc::SIGSEGV,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Those that work of the runtime may meet: a file that became shorter, or a miss in signal mode,
/// and a system call that a sandbox answers by a signal. By the others it would end as a program
/// without handlers does, so that they wait when they are sent.
const CALMS_OWN: [i32; 2] = [libc::SIGBUS, libc::SIGSYS];

/// Makes the stacks of so many threads, and those of calls. Once, before there is a second thread.
pub fn make_stacks(threads: usize) -> Result<(), i32> {
    if START.load(Acquire) != 0 {
        return Ok(());
    }
    let bytes = threads * THREAD_STACK + CALLS * STACK;
    let memory = core::mem::ManuallyDrop::new(Mapping::anonymous(bytes)?);
    memory.keep_from_core_files();
    let calls_from = memory.addr() + threads * THREAD_STACK;
    CALLS_FROM.store(calls_from, Release);
    START.store(memory.addr(), Release);
    Ok(())
}

/// The stack of a thread of the runtime.
pub fn thread_stack(n: usize) -> Range<usize> {
    let start = START.load(Acquire) + n * THREAD_STACK;
    start..start + THREAD_STACK
}

/// In the child of a fork: no other thread is in the midst of a call.
pub fn after_fork_in_child() {
    let own = slot_of(stack_pointer());
    for (at, word) in TAKEN.iter().enumerate() {
        let bit = own
            .filter(|slot| slot / 64 == at)
            .map_or(0, |slot| 1 << (slot % 64));
        word.store(bit, Release);
    }
}

/// Whether the calling thread is one of the runtime's.
pub fn is_runtime_thread() -> bool {
    let (start, end) = (START.load(Relaxed), CALLS_FROM.load(Relaxed));
    (start..end).contains(&stack_pointer())
}

/// Whether the caller is on a stack of the runtime's, and so is calm already.
pub fn is_calm() -> bool {
    let start = START.load(Relaxed);
    let end = CALLS_FROM.load(Relaxed) + CALLS * STACK;
    (start..end).contains(&stack_pointer())
}

#[inline(always)]
fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack));
    }
    pointer
}

fn slot_of(address: usize) -> Option<usize> {
    let slot = address.checked_sub(CALLS_FROM.load(Relaxed))? / STACK;
    (slot < CALLS).then_some(slot)
}

/// Calls a function on a stack of the runtime's, with signals held back.
///
/// It must not touch what may lie on the device: what it needs is handed over by value.
pub fn calm<R>(function: impl FnOnce() -> R) -> R {
    if is_calm() {
        return function();
    }
    let before = hold_all_but(&CALMS_OWN);
    let result = on_own_stack(function);
    restore_signals(before);
    result
}

/// Calls a function on a stack of the runtime's. The caller has seen to signals.
pub fn on_own_stack<F: FnOnce() -> R, R>(function: F) -> R {
    if CALLS_FROM.load(Acquire) == 0 {
        return function();
    }
    let stack = Stack::take();
    // What is handed over lies at the upper end of the new stack, away from the device.
    let call = Call {
        function: Cell::new(Some(function)),
        result: Cell::new(MaybeUninit::uninit()),
    };
    let at = (stack.top() - size_of_val(&call).next_multiple_of(64)) & !63;
    let at = at as *mut Call<F, R>;
    // SAFETY: the place is ours, aligned, and as large as the call. `perform` runs once and leaves
    // the result there.
    unsafe {
        at.write(call);
        call_on_stack(at as usize, perform::<F, R>, at.cast());
        at.read().result.into_inner().assume_init()
    }
}

struct Call<F, R> {
    function: Cell<Option<F>>,
    result: Cell<MaybeUninit<R>>,
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
extern "C" fn perform<F: FnOnce() -> R, R>(call: *mut c_void) {
    // SAFETY: `on_own_stack` wrote it there for this call.
    let call = unsafe { &*call.cast::<Call<F, R>>() };
    if let Some(function) = call.function.take() {
        call.result.set(MaybeUninit::new(function()));
    }
}

/// One stack that is taken.
struct Stack(usize);

impl Stack {
    fn take() -> Stack {
        loop {
            for (at, word) in TAKEN.iter().enumerate() {
                let free = |taken: u64| (taken != u64::MAX).then_some(taken | (taken + 1));
                if let Ok(before) = word.fetch_update(AcqRel, Relaxed, free) {
                    let stack = Stack(at * 64 + before.trailing_ones() as usize);
                    stack.guard();
                    return stack;
                }
            }
            crate::clock::sleep_until(crate::clock::now_ns() + PAUSE_NS);
        }
    }

    /// Sees to the page at its lower end, at its first use.
    fn guard(&self) {
        let (word, bit) = (&GUARDED[self.0 / 64], 1 << (self.0 % 64));
        if word.load(Relaxed) & bit != 0 {
            return;
        }
        // Not by `mprotect`: hundreds of mappings double what a fork costs. A kernel before 6.13
        // has no such guards.
        // SAFETY: our own memory, of which the lowest page is never used.
        let _ = unsafe { raw_madvise(self.top() - STACK, PAGE, MADV_GUARD_INSTALL) };
        word.fetch_or(bit, Relaxed);
    }

    fn top(&self) -> usize {
        CALLS_FROM.load(Relaxed) + (self.0 + 1) * STACK
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        TAKEN[self.0 / 64].fetch_and(!(1 << (self.0 % 64)), Release);
    }
}

/// Holds back the signals that can wait. Returns the mask as it was.
pub fn hold_signals() -> u64 {
    hold_all_but(&OWN_FAULT)
}

fn hold_all_but(own: &[i32]) -> u64 {
    let all = own
        .iter()
        .fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)));
    let mut before = 0u64;
    set_mask(libc::SIG_BLOCK, &all, &raw mut before);
    before
}

/// Lets signals come as they did.
pub fn restore_signals(before: u64) {
    set_mask(libc::SIG_SETMASK, &before, core::ptr::null_mut());
}

/// Changes the calling thread's mask; `before` is null or takes what it was.
pub fn set_mask(how: i32, mask: &u64, before: *mut u64) {
    // SAFETY: the kernel's sets are 8 bytes; the second is null or live.
    let _ = unsafe { sys!(libc::SYS_rt_sigprocmask, how, &raw const *mask, before, 8) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calm_call_has_its_own_stack_no_signals_and_gives_its_result() {
        make_stacks(1).unwrap();
        let outside = stack_pointer();
        let mask = || {
            let mut now = 0u64;
            set_mask(libc::SIG_BLOCK, &0, &raw mut now);
            now
        };
        let before = mask();
        let text = String::from("handed over");
        let (inside, held, nested, text) = calm(|| {
            assert!(is_calm() && !is_runtime_thread());
            let nested = calm(stack_pointer);
            (stack_pointer(), mask(), nested, text)
        });
        assert_eq!(text, "handed over");
        assert_eq!(slot_of(inside), slot_of(nested));
        assert!(slot_of(outside).is_none() && !is_calm());
        assert_ne!(held & 1 << (libc::SIGALRM - 1), 0);
        assert_ne!(held & 1 << (libc::SIGSEGV - 1), 0);
        assert_eq!(held & 1 << (libc::SIGBUS - 1), 0);
        assert_eq!(mask(), before);
        assert!(TAKEN.iter().all(|word| word.load(Relaxed) == 0));
    }

    #[test]
    fn more_calls_than_stacks_wait_for_each_other() {
        make_stacks(1).unwrap();
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    (0..200).for_each(|_| {
                        calm(|| sum.fetch_add(1, Relaxed));
                    });
                });
            }
        });
        assert_eq!(sum.load(Relaxed), 1_600);
    }
}
