//! Is the bound the bound it says? Against a plain implementation, set by set.

use sluice_model::SetIndex;
use sluice_testkit::{belady, traces};

fn optimum(pages: &[u32], sets: u32, ways: u32, index: SetIndex) -> u64 {
    sluice_driver::optimum(pages, sets, ways, index, &|| false).expect("nobody stops it")
}

/// Far beyond the number of accesses of any trace.
const FAR: u32 = 1 << 31;

/// The example of Belady's paper as textbooks give it: 3 frames, 9 faults in 20 references.
#[test]
fn the_textbook_reference_string_has_nine_faults() {
    let pages = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
    assert_eq!(optimum(&pages, 1, 3, SetIndex::Modulo), 9);
    assert_eq!(optimum(&[], 1, 3, SetIndex::Modulo), 0);
}

#[test]
fn misses_are_those_of_the_plain_one() {
    for trace in traces::all() {
        let pages: Vec<u32> = trace.pages.iter().map(|page| *page as u32).collect();
        for (sets, ways) in [(1, 1), (1, 99), (1, 777), (7, 30), (64, 2)] {
            let of_set = |set| {
                let own = pages.iter().filter(|page| **page % sets == set);
                let own: Vec<u64> = own.map(|page| u64::from(*page)).collect();
                own.len() as u64 - belady::hits(&own, ways as usize)
            };
            let expected: u64 = (0..sets).map(of_set).sum();
            let misses = optimum(&pages, sets, ways, SetIndex::Modulo);
            assert_eq!(misses, expected, "{} {sets}", trace.name);
            // Now with numbers far apart, of which no list has room for each.
            let far: Vec<u32> = pages.iter().map(|page| page + FAR / sets * sets).collect();
            let misses = optimum(&far, sets, ways, SetIndex::Modulo);
            assert_eq!(misses, expected, "{} {sets}, far", trace.name);
        }
    }
}

#[test]
fn it_ends_when_it_is_asked_to_however_far_it_is() {
    let pages: Vec<u32> = (0..1 << 18).map(|number| number % 1000).collect();
    for pages in [pages.clone(), pages.iter().map(|page| page + FAR).collect()] {
        let mut ended = 0;
        for asked in 1.. {
            let left = std::cell::Cell::new(asked);
            let stop = || {
                left.set(left.get() - 1);
                left.get() == 0
            };
            match sluice_driver::optimum(&pages, 1, 10, SetIndex::Modulo, &stop) {
                None => ended += 1,
                Some(_) => break,
            }
        }
        // Each of its passes over the pages asks several times.
        assert!(ended >= 12, "{ended}");
    }
}

#[test]
fn more_pages_than_are_sorted_at_once_have_their_places_all_the_same() {
    // Each page is used twice, the second time in the other order: a cache of half of them keeps
    // the half that comes back first.
    let count = (1 << 20) + 12_345;
    let spread = |number: u32| number * 1000;
    let there = (0..count).map(spread);
    let pages: Vec<u32> = there.clone().chain(there.rev()).collect();
    let misses = optimum(&pages, 1, count / 2, SetIndex::Modulo);
    assert_eq!(misses, u64::from(count + count - count / 2));
}
