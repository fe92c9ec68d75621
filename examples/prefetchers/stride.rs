//! What `stride.c` is, in Rust: a crate of type `cdylib` that depends on `sluice-abi`.

use sluice_abi::export::{OwnPrefetcher, Picks};
use sluice_abi::{PrefetcherAccess, PrefetcherSpace};

struct Stride {
    pages: i64,
    last: i64,
    stride: i64,
}

impl OwnPrefetcher for Stride {
    fn build(space: &PrefetcherSpace) -> Option<Stride> {
        let pages = space.pages.into();
        let (last, stride) = (0, 0);
        Some(Stride {
            pages,
            last,
            stride,
        })
    }

    fn access(&mut self, seen: &PrefetcherAccess, picks: Picks<'_>) {
        let page = i64::from(seen.lpn);
        let stride = page - self.last;
        if stride != 0 && stride == self.stride {
            let ahead = (1..=i64::from(seen.degree)).map(|n| page + n * stride);
            for page in ahead.take_while(|page| (0..self.pages).contains(page)) {
                picks.pick(page as u64);
            }
        }
        (self.last, self.stride) = (page, stride);
    }
}

sluice_abi::export_prefetcher!(
    Stride,
    c"stride",
    c"brings in what lies ahead at one distance"
);
