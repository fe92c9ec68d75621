//! Page traces for the oracles: small, and a function of their seed.

use sluice_units::Rng;

/// A named sequence of page numbers.
pub struct Trace {
    /// The name in golden files.
    pub name: &'static str,
    /// The pages, in order of access.
    pub pages: Vec<u64>,
}

/// Pages that the traces touch are below this.
pub const PAGES: u64 = 2_000;

const LENGTH: usize = 20_000;

/// The traces that golden counts exist for.
pub fn all() -> Vec<Trace> {
    let trace = |name, pages| Trace { name, pages };
    vec![
        trace("skewed", skewed()),
        trace("loops", loops()),
        trace("scans", scans()),
    ]
}

/// Popularity falls off as 1/rank, roughly; ranks are scattered over the pages.
fn skewed() -> Vec<u64> {
    let mut rng = Rng::stream(1, "trace skewed");
    let mut page_of_rank: Vec<u64> = (0..PAGES).collect();
    rng.shuffle(&mut page_of_rank);
    let mut draw = || {
        // Uniform in a range whose end is drawn as a power of two: equal weight per octave.
        let octave = rng.below(11);
        let low = (1u64 << octave) - 1;
        let width = (1u64 << octave).min(PAGES - low);
        page_of_rank[(low + rng.below(width)) as usize]
    };
    (0..LENGTH).map(|_| draw()).collect()
}

/// Loops of several lengths, one after the other, with some noise.
fn loops() -> Vec<u64> {
    let mut rng = Rng::stream(2, "trace loops");
    let mut pages = Vec::with_capacity(LENGTH);
    while pages.len() < LENGTH {
        let (start, length) = (rng.below(PAGES - 800), 20 + rng.below(780));
        for _ in 0..2 + rng.below(4) {
            for page in start..start + length {
                let noise = rng.below(10) == 0;
                pages.push(if noise { rng.below(PAGES) } else { page });
            }
        }
    }
    pages.truncate(LENGTH);
    pages
}

/// A hot set, interrupted by scans of pages that are used once.
fn scans() -> Vec<u64> {
    let mut rng = Rng::stream(3, "trace scans");
    let mut pages = Vec::with_capacity(LENGTH);
    while pages.len() < LENGTH {
        let hot = 200 + rng.below(600);
        (0..hot).for_each(|_| pages.push(rng.below(150)));
        let (start, length) = (rng.below(PAGES - 400), 50 + rng.below(350));
        pages.extend(start..start + length);
    }
    pages.truncate(LENGTH);
    pages
}
