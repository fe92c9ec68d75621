//! Which parts of a large device have been used: one bit for 512 pages, so that a fork costs what
//! is used and not what there is.

use core::ops::Range;
use sluice_units::Bits;

/// Pages of a group: as many as the kernel has in one page table.
const GROUP: usize = 512;

/// Groups of pages, each used or not.
#[derive(Debug)]
pub struct Groups {
    used: Bits,
    pages: usize,
}

impl Groups {
    /// None used of so many pages.
    pub fn new(pages: usize) -> Groups {
        Groups {
            used: Bits::new(pages.div_ceil(GROUP)),
            pages,
        }
    }

    /// A page is used.
    #[inline]
    pub fn mark(&mut self, page: usize) {
        self.used.set(page / GROUP);
    }

    /// The pages of used groups; groups side by side are one range.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + use<'_> {
        let mut from = 0;
        core::iter::from_fn(move || {
            let first = self.used.next(from, true)?;
            let end = self.used.next(first, false);
            let end = end.unwrap_or(self.pages.div_ceil(GROUP));
            from = end;
            Some(first * GROUP..(end * GROUP).min(self.pages))
        })
    }

    /// The first page from `page` on whose group is used; the end of all if there is none.
    pub fn next_used(&self, page: usize) -> usize {
        let group = self.used.next(page.min(self.pages) / GROUP, true);
        group.map_or(self.pages, |group| page.max(group * GROUP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_those_of_a_vector_of_flags(
            pages in 1usize..200_000,
            marks in prop::collection::vec(0usize..200_000, 0..60),
        ) {
            let mut groups = Groups::new(pages);
            let mut naive = vec![false; pages.div_ceil(GROUP)];
            for page in marks.iter().map(|mark| mark % pages) {
                groups.mark(page);
                naive[page / GROUP] = true;
            }
            let runs: Vec<_> = groups.runs().collect();
            for pair in runs.windows(2) {
                prop_assert!(pair[0].end < pair[1].start);
            }
            let all: Vec<usize> = runs.into_iter().flatten().collect();
            let expected: Vec<usize> = (0..pages).filter(|page| naive[page / GROUP]).collect();
            prop_assert_eq!(&all, &expected);
            for page in (0..pages).step_by(97) {
                let next = all.iter().copied().find(|used| *used >= page).unwrap_or(pages);
                prop_assert_eq!(groups.next_used(page), next);
            }
        }
    }
}
