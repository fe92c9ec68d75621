//! What a hit costs on this host: a load of a mapped page that no cache of the processor has.

use crate::clock::now_ns;
use crate::measures::timed::median;
use sluice_region::{Mapping, PAGE};
use sluice_units::Rng;

/// Loads that follow one another, each to where the last one says. One in two lines, since
/// processors fetch lines in pairs.
const LOADS: usize = 256;
const STRIDE: usize = 128;
/// Rounds, of which the median is kept: each takes some 25 µs.
const ROUNDS: usize = 9;

/// The time of a load from memory, ns. `None` without memory, or where a program cannot empty
/// caches.
pub fn hit_ns() -> Option<u64> {
    let memory = Mapping::anonymous((LOADS * STRIDE).next_multiple_of(PAGE)).ok()?;
    let at = |slot: usize| memory.addr() + slot * STRIDE;
    let mut order: [usize; LOADS] = std::array::from_fn(|slot| slot);
    // In no order that a prefetcher could learn.
    let mut rng = Rng::stream(0, "runtime.hit");
    for end in (1..LOADS).rev() {
        order.swap(end, rng.below(end as u64 + 1) as usize);
    }
    for (from, to) in order.iter().zip(order.iter().cycle().skip(1)) {
        // SAFETY: both lie in the mapping, which is ours and aligned.
        unsafe { core::ptr::write(at(*from) as *mut usize, at(*to)) };
    }
    let mut rounds = [0; ROUNDS];
    for round in &mut rounds {
        for slot in 0..LOADS {
            flush(at(slot))?;
        }
        await_flushes();
        let before = now_ns();
        let mut next = at(order[0]);
        for _ in 0..LOADS {
            // SAFETY: an address of the mapping, as written above.
            next = unsafe { core::ptr::read_volatile(next as *const usize) };
        }
        core::hint::black_box(next);
        *round = now_ns() - before;
    }
    Some(median(rounds) / LOADS as u64)
}

/// Sends a line out of every cache.
#[cfg(target_arch = "x86_64")]
fn flush(addr: usize) -> Option<()> {
    // SAFETY: an address of memory of ours; every processor of this kind knows the instruction.
    unsafe { core::arch::x86_64::_mm_clflush(addr as *const u8) };
    Some(())
}

#[cfg(target_arch = "x86_64")]
fn await_flushes() {
    // SAFETY: every processor of this kind knows the instruction.
    unsafe { core::arch::x86_64::_mm_mfence() };
}

/// Flushes a line; Linux lets programs do so.
#[cfg(target_arch = "aarch64")]
fn flush(addr: usize) -> Option<()> {
    // SAFETY: an address of memory of ours.
    unsafe { core::arch::asm!("dc civac, {}", in(reg) addr) };
    Some(())
}

#[cfg(target_arch = "aarch64")]
fn await_flushes() {
    // SAFETY: a barrier.
    unsafe { core::arch::asm!("dsb sy") };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn flush(_addr: usize) -> Option<()> {
    None
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn await_flushes() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the flushes it is a few cycles, which are below this on every processor.
    #[test]
    fn it_is_memory_that_is_timed() {
        if let Some(ns) = hit_ns() {
            assert!((10..10_000).contains(&ns), "{ns}");
        }
    }
}
