//! Where programs want the address space that they reserve.
//!
//! Any address will do as a rule, and then it is taken from the arena. Java's virtual machine asks
//! for low ones first, to have short pointers, and does without. But one of its collectors needs
//! certain high ones, gives back whatever else it is offered, and asks for as much elsewhere: from
//! the second time on wishes for high addresses are the kernel's business.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Below, nobody needs the address that he asks for.
const LOW: usize = 1 << 40;

/// The last reservation whose wish was passed over: where it is, and how long.
static ELSEWHERE: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// How long the last one was that was given back unused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
static ARE_BINDING: AtomicBool = AtomicBool::new(false);

/// Whether a reservation must be where it is wanted.
pub fn must_be(wanted: usize) -> bool {
    wanted >= LOW && ARE_BINDING.load(Relaxed)
}

/// A reservation that was wanted somewhere is at `addr`.
pub fn passed_over(wanted: usize, addr: usize, len: usize) {
    if wanted >= LOW {
        ELSEWHERE[0].store(addr, Relaxed);
        ELSEWHERE[1].store(len, Relaxed);
    }
}

/// A range of reservations is given back unused. Parts of one go for the sake of alignment.
pub fn gone(addr: usize, len: usize) {
    let [at, whole] = &ELSEWHERE;
    let is_whole = whole.load(Relaxed) == len && at.load(Relaxed) == addr;
    if is_whole && REFUSED.swap(len, Relaxed) == len {
        ARE_BINDING.store(true, Relaxed);
    }
}
