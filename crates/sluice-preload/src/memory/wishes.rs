//! Where programs want the address space that they reserve.
//!
//! Any address will do as a rule, and then it is taken from the arena. Java's virtual machine asks
//! for low ones first, to have short pointers, and does without. But one of its collectors needs
//! certain high ones, gives back whatever else it is offered, and asks for as much elsewhere: from
//! the second time on wishes for high addresses are the kernel's business.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Below, nobody needs the address that he asks for.
const LOW: usize = 1 << 40;

/// What is known of the program's wishes.
struct Wishes {
    /// The last reservation whose wish was passed over: where it is, and how long.
    elsewhere: [AtomicUsize; 2],
    /// How long the last one was that was given back unused.
    refused: AtomicUsize,
    are_binding: AtomicBool,
}

static WISHES: Wishes = Wishes::new();

/// Whether a reservation must be where it is wanted.
pub fn must_be(wanted: usize) -> bool {
    WISHES.must_be(wanted)
}

/// A reservation that was wanted somewhere is at `addr`.
pub fn passed_over(wanted: usize, addr: usize, len: usize) {
    WISHES.passed_over(wanted, addr, len);
}

/// A range of reservations is given back unused. Parts of one go for the sake of alignment.
pub fn gone(addr: usize, len: usize) {
    WISHES.gone(addr, len);
}

impl Wishes {
    const fn new() -> Wishes {
        Wishes {
            elsewhere: [AtomicUsize::new(0), AtomicUsize::new(0)],
            refused: AtomicUsize::new(0),
            are_binding: AtomicBool::new(false),
        }
    }

    fn must_be(&self, wanted: usize) -> bool {
        wanted >= LOW && self.are_binding.load(Relaxed)
    }

    fn passed_over(&self, wanted: usize, addr: usize, len: usize) {
        if wanted >= LOW {
            self.elsewhere[0].store(addr, Relaxed);
            self.elsewhere[1].store(len, Relaxed);
        }
    }

    fn gone(&self, addr: usize, len: usize) {
        let [at, whole] = &self.elsewhere;
        let is_whole = whole.load(Relaxed) == len && at.load(Relaxed) == addr;
        if is_whole && self.refused.swap(len, Relaxed) == len {
            self.are_binding.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;

    const HIGH: usize = 1 << 42;
    const LEN: usize = 1 << 30;
    const AT: usize = 0x7000_0000_0000;

    /// What the program asks for and gives back: where wanted, where it was put, what goes of it.
    type Turn = (usize, usize, usize, Range<usize>);

    /// Whether a wish for high addresses binds after some turns.
    fn binds_after(turns: &[Turn]) -> bool {
        let wishes = Wishes::new();
        for (wanted, at, len, gone) in turns.iter().cloned() {
            assert!(!wishes.must_be(wanted), "{turns:?}");
            wishes.passed_over(wanted, at, len);
            wishes.gone(gone.start, gone.len());
        }
        assert!(!wishes.must_be(0) && !wishes.must_be(LOW - 1), "{turns:?}");
        wishes.must_be(HIGH)
    }

    /// Java's ZGC: what it is offered elsewhere goes back whole, and it asks for as much again.
    #[test]
    fn a_wish_binds_from_the_second_refusal_on() {
        let whole = |at: usize| (HIGH, at, LEN, at..at + LEN);
        assert!(!binds_after(&[]));
        assert!(!binds_after(&[whole(AT)]));
        assert!(binds_after(&[whole(AT), whole(AT)]));
        assert!(
            binds_after(&[whole(AT), whole(AT + LEN)]),
            "wherever it was offered"
        );
    }

    #[test]
    fn other_ways_to_give_back_bind_nothing() {
        let whole = |wanted: usize, len: usize| (wanted, AT, len, AT..AT + len);
        let low = whole(LOW - 1, LEN);
        assert!(
            !binds_after(&[low.clone(), low.clone(), low]),
            "short pointers"
        );
        let head = (HIGH, AT, LEN, AT..AT + LEN / 2);
        assert!(
            !binds_after(&[head.clone(), head]),
            "for the sake of alignment"
        );
        let tail = (HIGH, AT, LEN, AT + LEN / 2..AT + LEN / 2 + LEN);
        assert!(!binds_after(&[tail.clone(), tail]), "not what was reserved");
        let (one, other) = (whole(HIGH, LEN), whole(HIGH, 2 * LEN));
        assert!(
            !binds_after(&[one.clone(), other, one]),
            "not as much again"
        );
    }
}
