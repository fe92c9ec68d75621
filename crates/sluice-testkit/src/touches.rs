//! Ways to read a file, and the pages that the page cache brings in for them: what is compared with
//! a kernel's, and with what a kernel did.

use sluice_driver::{Advice, Limits, PageCache, Pages};
use sluice_units::{Fnv, Ps, Rng};

/// Pages of the file. Not a power of two, so that windows end at the file's end.
pub const PAGES: u64 = 6_000;

/// How a file is read: from a page on so many.
pub struct Pattern {
    /// By which door, with which advice, and in which order.
    pub name: String,
    /// Whether it is read by system calls, not through a mapping.
    pub is_by_call: bool,
    /// What the program says of its order.
    pub advice: Advice,
    /// The first page of each touch, and how many pages it is of.
    pub touches: Vec<(u64, u64)>,
}

impl Pattern {
    /// The pages that come with each touch, where nothing takes time.
    pub fn brought_in(&self, limits: Limits) -> Vec<Vec<Pages>> {
        let mut cache = PageCache::new(PAGES, self.is_by_call, self.advice, limits);
        let touch = |touch: &(u64, u64)| self.touch(&mut cache, *touch);
        self.touches.iter().map(touch).collect()
    }

    fn touch(&self, cache: &mut PageCache, (page, count): (u64, u64)) -> Vec<Pages> {
        let (mut at, end) = (page, page + count);
        let mut all = Vec::new();
        while at < end {
            let before = at;
            let reads = match self.is_by_call {
                true => {
                    let (reads, to) = cache.read(at, end, Ps::ZERO);
                    at = to;
                    reads
                }
                false if cache.is_mapped(at) => Vec::new(),
                false => cache.fault(at, Ps::ZERO),
            };
            for read in reads {
                cache.arrives(read, Ps::ZERO);
                all.push(read);
            }
            if !self.is_by_call {
                cache.map(at, Ps::ZERO);
                at += 1;
            }
            assert!(at > before, "{}: a read that copies nothing", self.name);
        }
        all
    }
}

/// Touches by name: in order, at random, with strides, backwards, two readers in turn.
fn touches(window: u64) -> Vec<(String, Vec<(u64, u64)>)> {
    let mut rng = Rng::stream(33, "touches");
    let each = |pages: Vec<u64>| pages.into_iter().map(|page| (page, 1)).collect();
    let all = vec![
        ("in order", each((0..700).collect())),
        ("in order from 1001", each((1001..1701).collect())),
        ("to the end", each((PAGES - 300..PAGES).collect())),
        ("backwards", each((0..700).rev().collect())),
        (
            "backwards from the end",
            each((PAGES - 700..PAGES).rev().collect()),
        ),
        (
            "at random",
            each((0..400).map(|_| rng.below(PAGES)).collect()),
        ),
        (
            "at random in 2 MiB",
            each((0..400).map(|_| 4096 + rng.below(512)).collect()),
        ),
        (
            "two readers in turn",
            each((0..600).map(|at| at / 2 + 2503 * (at % 2)).collect()),
        ),
        (
            "in order with jumps",
            each((0..600).map(|at| at + at / 50 * 257).collect()),
        ),
    ];
    let mut all: Vec<_> = all
        .into_iter()
        .map(|(name, touches)| (name.to_owned(), touches))
        .collect();
    for stride in [2, 3, 16, 17, window + 1, 3 * window / 2 + 5] {
        let pages = (0..400).map(|at| at * stride).filter(|page| *page < PAGES);
        all.push((format!("stride {stride}"), each(pages.collect())));
    }
    all
}

/// Reads of several pages at once.
fn large_reads(window: u64) -> Vec<(String, Vec<(u64, u64)>)> {
    let mut rng = Rng::stream(34, "reads");
    let mut all = Vec::new();
    for count in [2, 3, 8, 32, window / 2 + 1, window + 7] {
        let rest = (PAGES / count).min(200);
        let in_order = (0..rest).map(|at| (at * count, count)).collect();
        all.push((format!("{count} pages in order"), in_order));
        let at_random = (0..rest)
            .map(|_| (rng.below(PAGES - count), count))
            .collect();
        all.push((format!("{count} pages at random"), at_random));
    }
    all
}

/// All patterns, for a file with windows of so many pages.
pub fn patterns(window: u64) -> Vec<Pattern> {
    let mut all = Vec::new();
    for is_by_call in [false, true] {
        for advice in [Advice::Normal, Advice::Sequential, Advice::Random] {
            let mut named = touches(window);
            if is_by_call {
                named.extend(large_reads(window));
            }
            let by = if is_by_call { "read" } else { "mmap" };
            all.extend(named.into_iter().map(|(name, touches)| Pattern {
                name: format!("{by}, {advice:?}, {name}"),
                is_by_call,
                advice,
                touches,
            }));
        }
    }
    all
}

/// How a heading of [`record`] begins.
const HEADING: &str = "limits";

/// What each pattern brings in: a heading with the limits, and a row with a hash for each pattern.
pub fn record(limits: Limits) -> String {
    let Limits {
        window,
        request,
        large_folios,
    } = limits;
    let mut text = format!("{HEADING} {window} {request} {large_folios}\n");
    for pattern in patterns(window) {
        let mut hash = Fnv::default();
        for (touch, reads) in (0..).zip(pattern.brought_in(limits)) {
            let pages = reads.iter().flat_map(|read| read.start..read.end);
            pages.for_each(|page| [touch, page].into_iter().for_each(|word| hash.word(word)));
        }
        text += &format!("{:016x} {}\n", hash.value(), pattern.name);
    }
    text
}

/// The limits of a heading of [`record`]; none if a row is no heading.
pub fn limits_of(row: &str) -> Option<Limits> {
    let mut words = row.strip_prefix(HEADING)?.split_whitespace();
    let mut number = || words.next()?.parse().ok();
    Some(Limits {
        window: number()?,
        request: number()?,
        large_folios: words.next()?.parse().ok()?,
    })
}
