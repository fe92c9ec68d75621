//! Bits, in tables of a fixed size: a hook must not allocate.

/// A bit for each of so many things, and how many are set.
#[derive(Debug)]
pub struct Bits {
    words: Box<[u64]>,
    len: usize,
    /// Bits that are set.
    count: usize,
}

impl Bits {
    /// None set.
    pub fn new(len: usize) -> Bits {
        Bits {
            words: vec![0; len.div_ceil(64)].into(),
            len,
            count: 0,
        }
    }

    /// The words of a range, as far as there are any, each with the bits that belong to it.
    fn parts(&self, first: usize, count: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let end = first.saturating_add(count).min(self.len);
        let mut at = first;
        std::iter::from_fn(move || {
            let bits = (64 - at % 64).min(end.checked_sub(at).filter(|&left| left > 0)?);
            let part = (at / 64, (u64::MAX >> (64 - bits)) << (at % 64));
            at += bits;
            Some(part)
        })
    }

    /// Sets or clears those of a range.
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
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether one is set.
    #[inline]
    pub fn has(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 != 0
    }

    /// 64 of them.
    pub fn word(&self, at: usize) -> u64 {
        self.words[at]
    }

    /// The first from `from` on that is set, or is not.
    pub fn next(&self, from: usize, is_set: bool) -> Option<usize> {
        let flip = if is_set { 0 } else { u64::MAX };
        let mut at = from;
        while at < self.len {
            let rest = (self.words[at / 64] ^ flip) >> (at % 64);
            if rest != 0 {
                let found = at + rest.trailing_zeros() as usize;
                return Some(found).filter(|&found| found < self.len);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}
