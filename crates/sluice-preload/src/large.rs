//! Large pieces of the library's own range that were given back, to be handed out again.
//!
//! A fixed list: it must not allocate, for the allocator uses it. What no longer fits in is lost as
//! address space alone, since its memory has gone back to the kernel.

/// Pieces that can be remembered. Neighbours are one piece.
const MOST: usize = 1_024;

/// Free pieces, by their addresses.
pub struct Pieces {
    list: [(usize, usize); MOST],
    count: usize,
}

impl Pieces {
    /// None yet.
    pub const fn new() -> Pieces {
        Pieces {
            list: [(0, 0); MOST],
            count: 0,
        }
    }

    /// Takes `size` bytes of the smallest piece that has as many.
    pub fn take(&mut self, size: usize) -> Option<usize> {
        let pieces = self.list[..self.count].iter().enumerate();
        let fit = pieces.filter(|(_, (_, bytes))| *bytes >= size);
        let (at, (start, bytes)) = fit.min_by_key(|(_, (_, bytes))| *bytes)?;
        let (start, bytes) = (*start, *bytes);
        match bytes == size {
            true => self.remove(at),
            false => self.list[at] = (start + size, bytes - size),
        }
        Some(start)
    }

    /// Gives bytes back.
    pub fn give(&mut self, start: usize, size: usize) {
        let at = self.list[..self.count].partition_point(|(other, _)| *other < start);
        let (mut start, mut end) = (start, start + size);
        let mut to = at;
        if to < self.count && self.list[to].0 == end {
            end += self.list[to].1;
            self.remove(to);
        }
        if to > 0 && self.list[to - 1].0 + self.list[to - 1].1 == start {
            start = self.list[to - 1].0;
            to -= 1;
            self.remove(to);
        }
        if self.count < MOST {
            self.list.copy_within(to..self.count, to + 1);
            self.list[to] = (start, end - start);
            self.count += 1;
        }
    }

    fn remove(&mut self, at: usize) {
        self.list.copy_within(at + 1..self.count, at);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against one flag for each unit.
    #[test]
    fn what_is_given_is_taken_again_and_neighbours_are_one() {
        const UNITS: usize = 600;
        let mut pieces = Pieces::new();
        let mut free = [false; UNITS];
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let size = 1 + random(20);
            if random(2) == 0 {
                let start = random(UNITS - size);
                if free[start..start + size].iter().all(|free| !free) {
                    pieces.give(start + 1, size);
                    free[start..start + size].fill(true);
                }
            } else {
                let fits = free.windows(size).any(|run| run.iter().all(|free| *free));
                let taken = pieces.take(size);
                assert_eq!(taken.is_some(), fits);
                if let Some(start) = taken {
                    assert!(free[start - 1..start - 1 + size].iter().all(|free| *free));
                    free[start - 1..start - 1 + size].fill(false);
                }
            }
        }
    }

    #[test]
    fn a_full_list_loses_pieces_and_no_more() {
        let mut pieces = Pieces::new();
        (1..=MOST + 10).for_each(|n| pieces.give(n * 10, 5));
        assert_eq!(pieces.count, MOST);
        for _ in 0..MOST {
            assert!(pieces.take(5).is_some());
        }
        assert_eq!(pieces.take(1), None);
    }
}
