//! Work of the runtime in a thread of the program's: on a stack of the runtime's own, with the
//! program's signals held back.
//!
//! A hook takes locks that faults need. So nothing of the program's may run while one is held: a
//! handler of a signal that misses would wait for its own thread. And the stack must not be the
//! program's, which may lie on the device itself or be too small.

use crate::process::sent::{
    Place, Sent, hold_signals, is_forker, put_off_for_fork, restore_signals,
};
use core::cell::Cell;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use libc::siginfo_t;
use sluice_region::{Mapping, PAGE, call_on_stack, raw_madvise};

/// Stack for one call, with a page that nobody may touch at its lower end.
const STACK: usize = 16 * PAGE;
/// Calls that have a stack at once; others wait.
const CALLS: usize = 256;
/// The stack that is kept for the thread that forks: those that have the others may wait for it.
const KEPT: usize = CALLS;
const STACKS: usize = CALLS + 1;
const WORDS: usize = STACKS.div_ceil(64);
/// Stack of a thread of the runtime, with room for what policies from outside need.
const THREAD_STACK: usize = 1 << 20;
/// A page that ends a program that touches it, without a mapping of its own.
const MADV_GUARD_INSTALL: i32 = 102;
/// A thread that finds no stack looks again after this.
const PAUSE_NS: u64 = 20_000;

/// Where the stacks are: those of threads first, then those of calls.
static START: AtomicUsize = AtomicUsize::new(0);
static CALLS_FROM: AtomicUsize = AtomicUsize::new(0);
static TAKEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Which have their guard. Few programs make more than a handful of calls at once, and each guard
/// costs a start its system call and a fork its page table.
static GUARDED: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// On which something was sent to their thread, that waits until it has left them; and what.
static NOTED: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
static PUT_OFF: [Place; STACKS] = [const { Place::new() }; STACKS];

/// Makes the stacks of so many threads, and those of calls. Once, before there is a second thread.
pub fn make_stacks(threads: usize) -> Result<(), i32> {
    if START.load(Acquire) != 0 {
        return Ok(());
    }
    let bytes = threads * THREAD_STACK + STACKS * STACK;
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
    NOTED.iter().for_each(|word| word.store(0, Release));
}

/// Whether the calling thread is one of the runtime's.
pub fn is_runtime_thread() -> bool {
    let (start, end) = (START.load(Relaxed), CALLS_FROM.load(Relaxed));
    (start..end).contains(&stack_pointer())
}

/// Whether the caller is on a stack of the runtime's, and so is calm already.
pub fn is_calm() -> bool {
    let start = START.load(Relaxed);
    let end = CALLS_FROM.load(Relaxed) + STACKS * STACK;
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
    (slot < STACKS).then_some(slot)
}

/// Calls a function on a stack of the runtime's, with signals held back.
///
/// It must not touch what may lie on the device: what it needs is handed over by value.
pub fn calm<R>(function: impl FnOnce() -> R) -> R {
    if is_calm() {
        return function();
    }
    let before = hold_signals();
    if CALLS_FROM.load(Acquire) == 0 {
        let result = function();
        restore_signals(before, None);
        return result;
    }
    let stack = Stack::take();
    let result = on_stack(&stack, function);
    let put_off = stack.put_off();
    drop(stack);
    restore_signals(before, put_off);
    result
}

/// Calls a function on a stack of the runtime's. The caller has seen to signals, and none comes.
pub fn on_own_stack<F: FnOnce() -> R, R>(function: F) -> R {
    match CALLS_FROM.load(Acquire) {
        0 => function(),
        _ => on_stack(&Stack::take(), function),
    }
}

/// Puts off a signal that was sent, if the thread is calm or forks. By its handler, which knows
/// where the interrupted code had its stack.
pub fn put_off(info: &siginfo_t, stack_pointer: usize) -> bool {
    let Some(slot) = slot_of(stack_pointer) else {
        return put_off_for_fork(info);
    };
    let (word, bit) = (&NOTED[slot / 64], 1 << (slot % 64));
    // Of several the first one counts, as with the kernel.
    if word.load(Relaxed) & bit == 0 {
        // SAFETY: the thread on that stack is the one that the handler interrupts.
        unsafe { PUT_OFF[slot].put(info) };
        word.fetch_or(bit, Release);
    }
    true
}

fn on_stack<F: FnOnce() -> R, R>(stack: &Stack, function: F) -> R {
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
            if let Some(stack) = Stack::free().or_else(Stack::kept) {
                stack.guard();
                return stack;
            }
            crate::clock::sleep_until(crate::clock::now_ns() + PAUSE_NS);
        }
    }

    fn free() -> Option<Stack> {
        let free = |taken: u64| (taken != u64::MAX).then_some(taken | (taken + 1));
        let mut words = TAKEN[..CALLS / 64].iter().enumerate();
        words.find_map(|(at, word)| {
            let before = word.fetch_update(AcqRel, Relaxed, free).ok()?;
            Some(Stack(at * 64 + before.trailing_ones() as usize))
        })
    }

    /// In signal mode each thread that faults while another forks waits on its stack until that is
    /// over, and all may be taken when the one that forks has a fault of its own.
    #[cold]
    fn kept() -> Option<Stack> {
        let bit = 1 << (KEPT % 64);
        let is_free = || TAKEN[KEPT / 64].fetch_or(bit, AcqRel) & bit == 0;
        (is_forker() && is_free()).then_some(Stack(KEPT))
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

    /// Takes what was put off. By the thread that has just left the stack.
    #[inline]
    fn put_off(&self) -> Option<Sent> {
        let (word, bit) = (&NOTED[self.0 / 64], 1 << (self.0 % 64));
        if word.load(Relaxed) & bit == 0 {
            return None;
        }
        // SAFETY: it is this thread's, and something is there.
        let sent = unsafe { PUT_OFF[self.0].sent() };
        word.fetch_and(!bit, Release);
        Some(sent)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sent::set_mask;

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
        for signal in [libc::SIGALRM, libc::SIGSEGV, libc::SIGBUS, libc::SIGSYS] {
            assert_ne!(held & 1 << (signal - 1), 0, "signal {signal}");
        }
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
