//! Ranges of the program's that may lie in the arena, outside of it, or across one of its ends.
//!
//! No other memory of the program's joins the arena: there are fences around it. So what
//! goes across an end goes past what the program has.

use core::ops::Range;
use sluice_region::PAGE;
use sluice_runtime::Engine;

/// Behind this nothing is a program's, and the kernel unmaps nothing of a range that goes there.
pub const USER_END: usize = 1 << 47;

/// Whole pages of the arena.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    pub addr: usize,
    pub len: usize,
    /// Whether they are all of the range.
    pub is_whole: bool,
}

/// The part of a range that lies in the arena. There is none of a range that no call takes: one
/// that begins within a page, is empty, or goes round the end of all addresses.
pub fn of_arena(engine: &Engine, addr: usize, len: usize) -> Option<Part> {
    let (start, all) = engine.arena();
    cut(addr, len, start..start + all)
}

fn cut(addr: usize, len: usize, arena: Range<usize>) -> Option<Part> {
    let whole = whole(addr, len)?;
    let (from, to) = (whole.start.max(arena.start), whole.end.min(arena.end));
    (from < to).then(|| Part {
        addr: from,
        len: to - from,
        is_whole: (from..to) == whole,
    })
}

/// The pages of a range, as addresses; none if no call takes it.
pub fn whole(addr: usize, len: usize) -> Option<Range<usize>> {
    let end = addr.checked_add(len)?.checked_next_multiple_of(PAGE)?;
    (addr.is_multiple_of(PAGE) && addr < end).then_some(addr..end)
}

/// Whether any of a range is in a mapping of the device file, or of shared memory on the device.
pub fn touches_window(engine: &Engine, addr: usize, len: usize) -> bool {
    let Some(Range { start: mut at, end }) = whole(addr, len) else {
        return false;
    };
    while at < end {
        let (to, is_window) = engine.window_from(at, end);
        if is_window {
            return true;
        }
        at = to;
    }
    false
}

/// How far a range of whole pages is alike from its start on: the end of that part, and whether it
/// is the device's. What has left the device is not.
pub fn on_device_from(engine: &Engine, at: usize, end: usize) -> (usize, bool) {
    let (start, len) = engine.arena();
    if engine.in_arena(at) {
        let (to, is_off) = engine.alike_from(at, end.min(start + len));
        return (to, !is_off);
    }
    engine.window_from(at, if at < start { end.min(start) } else { end })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARENA: Range<usize> = 4 * PAGE..8 * PAGE;

    fn part(first: usize, count: usize, is_whole: bool) -> Option<Part> {
        Some(Part {
            addr: first * PAGE,
            len: count * PAGE,
            is_whole,
        })
    }

    #[test]
    fn a_range_is_cut_at_the_ends_of_the_arena() {
        let cut = |first, count| cut(first * PAGE, count * PAGE, ARENA);
        assert_eq!(cut(4, 4), part(4, 4, true));
        assert_eq!(cut(5, 1), part(5, 1, true));
        assert_eq!(cut(2, 3), part(4, 1, false));
        assert_eq!(cut(7, 9), part(7, 1, false));
        assert_eq!(cut(1, 20), part(4, 4, false));
        assert_eq!(cut(2, 2), None);
        assert_eq!(cut(8, 1), None);
    }

    #[test]
    fn a_part_of_a_page_counts_as_the_page() {
        assert_eq!(cut(4 * PAGE, 1, ARENA), part(4, 1, true));
        assert_eq!(cut(7 * PAGE, PAGE + 1, ARENA), part(7, 1, false));
    }

    #[test]
    fn what_no_call_takes_has_no_part() {
        let refused = [
            (4 * PAGE, 0),
            (4 * PAGE + 1, PAGE),
            (4 * PAGE, usize::MAX),
            (4 * PAGE, usize::MAX - 4 * PAGE),
        ];
        for (addr, len) in refused {
            assert_eq!(cut(addr, len, ARENA), None, "{addr:#x} {len:#x}");
        }
        let most = usize::MAX - 5 * PAGE + 1;
        assert_eq!(cut(4 * PAGE, most, ARENA), part(4, 4, false));
    }
}
