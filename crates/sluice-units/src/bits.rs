//! A bit for each of many things, in a table that is allocated once.

use std::ops::Range;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// A bit for each of so many things, and how many are set.
///
/// Fresh memory has none set, and the operating system hands it out untouched.
#[derive(Clone, Debug)]
pub struct Bits {
    words: Box<[u64]>,
    len: usize,
    /// How many are set.
    count: usize,
}

impl Bits {
    /// None set.
    pub fn new(len: usize) -> Bits {
        Bits {
            words: vec![0; len.div_ceil(WORD)].into(),
            len,
            count: 0,
        }
    }

    /// The word that has a bit, and the bit in it.
    #[inline]
    fn place(at: usize) -> (usize, u64) {
        (at / WORD, 1 << (at % WORD))
    }

    /// Whether one is set.
    #[inline]
    pub fn has(&self, at: usize) -> bool {
        let (word, bit) = Bits::place(at);
        self.words[word] & bit != 0
    }

    /// Sets one. Says whether it was set.
    #[inline]
    pub fn set(&mut self, at: usize) -> bool {
        let (word, bit) = Bits::place(at);
        let was_set = self.words[word] & bit != 0;
        self.words[word] |= bit;
        self.count += usize::from(!was_set);
        was_set
    }

    /// Clears one. Says whether it was set.
    #[inline]
    pub fn clear(&mut self, at: usize) -> bool {
        let (word, bit) = Bits::place(at);
        let was_set = self.words[word] & bit != 0;
        self.words[word] &= !bit;
        self.count -= usize::from(was_set);
        was_set
    }

    /// Clears all.
    pub fn clear_all(&mut self) {
        self.clear_below(self.len);
    }

    /// Whether there are no bits, set or not.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Clears all, when those from `end` on are known to be clear.
    pub fn clear_below(&mut self, end: usize) {
        self.words[..end.div_ceil(WORD)].fill(0);
        self.count = 0;
    }

    /// The words of a range, as far as there are any, each with the bits that belong to it.
    fn parts(&self, first: usize, count: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let end = first.saturating_add(count).min(self.len);
        let mut at = first;
        std::iter::from_fn(move || {
            let bits = (WORD - at % WORD).min(end.checked_sub(at).filter(|&left| left > 0)?);
            let part = (at / WORD, (u64::MAX >> (WORD - bits)) << (at % WORD));
            at += bits;
            Some(part)
        })
    }

    /// Sets or clears those of a range, as far as there are any.
    pub fn mark(&mut self, first: usize, count: usize, is_set: bool) {
        for (at, mask) in self.parts(first, count) {
            let word = &mut self.words[at];
            let before = word.count_ones() as usize;
            *word = if is_set { *word | mask } else { *word & !mask };
            self.count = self.count + word.count_ones() as usize - before;
        }
    }

    /// How many of a range are set.
    pub fn count_in(&self, first: usize, count: usize) -> usize {
        let parts = self.parts(first, count);
        let ones = parts.map(|(at, mask)| (self.words[at] & mask).count_ones() as usize);
        ones.sum()
    }

    /// How many are set.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first from `from` on that is set, or is not.
    pub fn next(&self, from: usize, is_set: bool) -> Option<usize> {
        self.next_in(from..self.len, is_set)
    }

    /// The first of a range that is set, or is not.
    pub fn next_in(&self, range: Range<usize>, is_set: bool) -> Option<usize> {
        let there = if is_set {
            self.count
        } else {
            self.len - self.count
        };
        if there == 0 {
            // A table of a large device is not read, and takes no memory.
            return None;
        }
        let flip = if is_set { 0 } else { u64::MAX };
        let (mut at, end) = (range.start, range.end.min(self.len));
        while at < end {
            let rest = (self.words[at / WORD] ^ flip) >> (at % WORD);
            if rest != 0 {
                let found = at + rest.trailing_zeros() as usize;
                return Some(found).filter(|&found| found < end);
            }
            at = (at / WORD + 1) * WORD;
        }
        None
    }

    /// The bits that are set, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.next(0, true), |at| self.next(at + 1, true)).take(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_a_vector_of_flags(
            len in 1usize..400,
            steps in prop::collection::vec((0..4u8, 0usize..500, 0usize..500), 1..60),
        ) {
            let (mut bits, mut naive) = (Bits::new(len), vec![false; len]);
            for (what, at, count) in steps {
                let one = at % len;
                match what {
                    0 => prop_assert_eq!(bits.set(one), std::mem::replace(&mut naive[one], true)),
                    1 => {
                        let was_set = std::mem::replace(&mut naive[one], false);
                        prop_assert_eq!(bits.clear(one), was_set);
                    }
                    _ => {
                        bits.mark(at, count, what == 2);
                        let end = (at + count).min(len);
                        naive[at.min(end)..end].fill(what == 2);
                    }
                }
                let set: Vec<usize> = (0..len).filter(|at| naive[*at]).collect();
                prop_assert_eq!(bits.iter().collect::<Vec<_>>(), set.clone());
                prop_assert_eq!(bits.count(), set.len());
                let end = (at + count).min(len);
                let in_range = (at..end).filter(|at| naive[*at]);
                prop_assert_eq!(bits.count_in(at, count), in_range.count());
                let clear = (at..end).find(|at| !naive[*at]);
                prop_assert_eq!(bits.next_in(at..at + count, false), clear);
                prop_assert!((0..len).all(|at| bits.has(at) == naive[at]));
            }
            bits.clear_all();
            prop_assert_eq!((bits.count(), bits.next(0, true)), (0, None));
        }
    }
}
