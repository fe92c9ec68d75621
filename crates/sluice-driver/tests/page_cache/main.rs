//! The page cache against Linux: the pages that came in there by many patterns, and what its
//! sources say of mappings, misses and reads.

use sluice_driver::{Advice, Limits, PageCache, Pages};
use sluice_testkit::touches::{limits_of, record};
use sluice_units::Ps;
use std::ops::Range;

/// What a kernel brought in on file systems with and without large folios, with windows of 128 KiB,
/// of 1 MiB and none, by limits and patterns. `SLUICE_PAGE_CACHE_RECORD=$PWD/FILE
/// scripts/page_cache` writes it.
const LINUX: &str = include_str!("linux-6.18.txt");

/// Windows of 32 pages, each page a folio.
const SMALL: Limits = Limits {
    window: 32,
    request: 256,
    large_folios: false,
};

const HERE: Ps = Ps::ZERO;
const LATER: Ps = Ps(10);

fn mapping(pages: u64, advice: Advice) -> PageCache {
    PageCache::new(pages, false, advice, SMALL)
}

fn pages(range: Range<u64>) -> Pages {
    Pages {
        start: range.start,
        end: range.end,
    }
}

fn mapped(cache: &PageCache, of: u64) -> Vec<u64> {
    (0..of).filter(|page| cache.is_mapped(*page)).collect()
}

fn cached(cache: &PageCache, of: u64) -> Vec<u64> {
    (0..of).filter(|page| cache.is_cached(*page)).collect()
}

#[test]
fn the_same_pages_come_in_as_in_linux() {
    let limits: Vec<Limits> = LINUX.lines().filter_map(limits_of).collect();
    let windows = |large| {
        let such = limits.iter().filter(|it| it.large_folios == large);
        such.map(|it| it.window).collect::<Vec<_>>()
    };
    assert_eq!(windows(true), [32, 256, 0]);
    assert_eq!(
        windows(false),
        [32, 256],
        "without readahead no folio is large"
    );
    let now: String = limits.into_iter().map(record).collect();
    let differ = LINUX.lines().zip(now.lines()).filter(|(a, b)| a != b);
    let differ: Vec<_> = differ.map(|(_, now)| now).collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert_eq!(LINUX.lines().count(), now.lines().count());
}

/// What is read around a fault: half of the window before it, and a mark a quarter before its end.
/// Every fault maps what is there of its 16 pages, but for the marked one.
#[test]
fn a_fault_maps_what_is_there_around_it() {
    let mut cache = mapping(200, Advice::Normal);
    assert_eq!(cache.fault(50, HERE), [pages(34..66)]);
    assert_eq!(cached(&cache, 200), Vec::from_iter(34..66));
    assert_eq!(
        (cache.ready_at(33), cache.ready_at(34)),
        (Ps::ZERO, Ps::MAX)
    );
    cache.arrives(pages(34..66), LATER);
    assert_eq!((cache.ready_at(65), cache.ready_at(66)), (LATER, Ps::ZERO));
    // Nothing is there yet but the page that the fault waits for.
    cache.map(50, LATER - Ps(1));
    assert_eq!(mapped(&cache, 200), [50]);
    cache.map(50, LATER);
    let but_the_mark = (48..64).filter(|page| *page != 58);
    assert_eq!(mapped(&cache, 200), Vec::from_iter(but_the_mark));
    // Sixteen others, of which two are there: nothing is read.
    assert_eq!(cache.fault(65, LATER), []);
    assert_eq!(mapped(&cache, 200)[15..], [64, 65]);
    // The mark has the next window read, which ends at a multiple of four pages.
    assert_eq!(cache.fault(58, LATER), [pages(66..96)]);
    cache.map(58, LATER);
    assert_eq!(mapped(&cache, 200), Vec::from_iter(48..66));
    // Once: then it is a page like others.
    assert_eq!(cache.fault(58, LATER), []);
    // The whole next window is ahead of its mark, the first page.
    cache.arrives(pages(66..96), LATER);
    assert_eq!(cache.fault(66, LATER), [pages(96..128)]);
}

/// The last pages of a file are in an incomplete group of 16.
#[test]
fn a_file_ends_where_it_ends() {
    let mut cache = mapping(100, Advice::Normal);
    assert_eq!(cache.fault(98, HERE), [pages(82..100)]);
    cache.arrives(pages(82..100), HERE);
    cache.map(98, HERE);
    assert_eq!(mapped(&cache, 100), [96, 97, 98, 99]);
    // The mark is a quarter of a window before the end of what was read.
    cache.map(91, HERE);
    let but_the_mark = (82..100).filter(|page| *page != 92);
    assert_eq!(mapped(&cache, 100), Vec::from_iter(but_the_mark));
    // Behind it there is nothing to read.
    assert_eq!(cache.fault(92, HERE), []);
}

#[test]
fn advice_and_no_readahead_bring_in_what_they_say() {
    let first = |advice, window, at| {
        let limits = Limits { window, ..SMALL };
        PageCache::new(200, false, advice, limits).fault(at, HERE)
    };
    assert_eq!(first(Advice::Random, 32, 50), [pages(50..51)]);
    assert_eq!(first(Advice::Sequential, 32, 50), [pages(50..82)]);
    for advice in [Advice::Normal, Advice::Sequential, Advice::Random] {
        assert_eq!(first(advice, 0, 50), [pages(50..51)], "{advice:?}");
    }
    // A page that is there and is not mapped is no miss: it is mapped, and nothing is read.
    let mut cache = mapping(200, Advice::Random);
    cache.fault(50, HERE);
    cache.arrives(pages(50..51), HERE);
    assert_eq!(cache.fault(50, HERE), []);
    assert_eq!(mapped(&cache, 200), [50]);
}

/// A mapping with more than 100 misses above its hits is no longer read around (`MMAP_LOTSAMISS`);
/// no more than ten times as many are remembered.
#[test]
fn misses_are_counted_against_hits() {
    let mut next = 100;
    let mut cache = mapping(200_000, Advice::Normal);
    assert_eq!(cache.fault(50, HERE), [pages(34..66)]);
    let mut miss = |cache: &mut PageCache| {
        next += 64;
        match cache.fault(next, HERE)[..] {
            [read] if read == pages(next..next + 1) => false,
            [read] => read == pages(next - 16..next + 16),
            _ => panic!("one request"),
        }
    };
    let around = (0..2_500).take_while(|_| miss(&mut cache)).count();
    assert_eq!(around, 99, "a hundred with the first");
    assert!((0..2_400).all(|_| !miss(&mut cache)));
    // A thousand are remembered. The mark of the first window is there alone of its group: it is a
    // hit of the fault, and no hit of those around it.
    cache.arrives(pages(58..59), HERE);
    assert_eq!(cache.fault(58, HERE), [pages(66..96)]);
    // The mark of the next window is not there: a fault that has to wait is no hit.
    assert_eq!(cache.fault(66, HERE), [pages(96..128)]);
    // From now on it is there alone, and each fault of its group a hit.
    for _ in 1..900 {
        cache.map(58, HERE);
    }
    assert!(!miss(&mut cache), "100 were left: it is the 101st");
    cache.map(58, HERE);
    assert!(!miss(&mut cache), "100 were left again");
    cache.map(58, HERE);
    cache.map(58, HERE);
    assert!(miss(&mut cache), "99 were left");
    assert!(!miss(&mut cache));
    // Hits do not count below nothing.
    for _ in 0..5_000 {
        cache.map(58, HERE);
    }
    assert_eq!((0..2_500).take_while(|_| miss(&mut cache)).count(), 100);
}

/// A read goes as far as pages are there, and waits for one that is not.
#[test]
fn a_read_copies_what_is_there() {
    let mut cache = PageCache::new(200, true, Advice::Normal, SMALL);
    // The first window is twice the four pages, and the rest of it is ahead.
    assert_eq!(cache.read(0, 4, HERE), (vec![pages(0..8)], 1));
    cache.arrives(pages(0..8), LATER);
    assert_eq!(cache.read(1, 4, LATER), (vec![], 4));
    // The marked page has the next window read, and the read goes no further at once.
    assert_eq!(cache.read(4, 8, LATER), (vec![pages(8..24)], 5));
    assert_eq!(cache.read(5, 8, LATER - Ps(1)), (vec![], 6));
    assert_eq!(cache.read(5, 8, LATER), (vec![], 8));
    assert_eq!(mapped(&cache, 200), []);
}

/// A read behind pages that came otherwise: as much again comes in, and twice as much if they are
/// the file's first (`page_cache_sync_ra`).
#[test]
fn a_read_goes_on_behind_what_is_cached() {
    for (first, size) in [(0, 2 * 8 + 1), (40, 4 + 1)] {
        let mut cache = PageCache::new(200, true, Advice::Normal, SMALL);
        cache.read(first, first + 4, HERE);
        let there = cached(&cache, 200);
        let next = there[there.len() - 1] + 1;
        let due = pages(next..next + size);
        assert_eq!(cache.read(next, next + 1, HERE), (vec![due], next + 1));
    }
}

/// A read looks 31 folios up at once, each of which may have many pages.
#[test]
fn a_read_looks_so_many_folios_up_at_once() {
    let arrives = |cache: &mut PageCache, (reads, to): (Vec<Pages>, u64)| {
        for read in &reads {
            cache.arrives(*read, HERE);
        }
        (reads, to)
    };
    let mut single = PageCache::new(1_000, true, Advice::Random, SMALL);
    let first = single.read(0, 100, HERE);
    assert_eq!(arrives(&mut single, first), (vec![pages(0..100)], 1));
    for (from, to) in [(0, 31), (31, 62), (62, 93), (93, 100)] {
        assert_eq!(single.read(from, 100, HERE), (vec![], to));
    }
    let limits = Limits {
        window: 128,
        large_folios: true,
        ..SMALL
    };
    let mut large = PageCache::new(1_000, true, Advice::Normal, limits);
    let mut read = |from, end| {
        let read = large.read(from, end, HERE);
        arrives(&mut large, read)
    };
    // A window of the most pages, of which 28 are ahead. Its folios have a page.
    assert_eq!(read(0, 100), (vec![pages(0..128)], 1));
    for (from, to) in [(1, 32), (32, 63), (63, 94), (94, 100)] {
        assert_eq!(read(from, 100), (vec![], to));
    }
    // Those of the next one have four, and all of it is ahead. Each one grows them.
    assert_eq!(read(100, 200), (vec![pages(128..256)], 101));
    assert_eq!(read(101, 200), (vec![pages(256..384)], 132));
    assert_eq!(read(132, 400), (vec![], 256));
    // A request of more than the most pages has a window of as many as the device takes at once.
    assert_eq!(read(256, 600), (vec![pages(384..640)], 272));
    // The last folio goes on behind the request. Windows end at multiples of their folios.
    assert_eq!(read(272, 400), (vec![pages(640..896)], 400));
}
