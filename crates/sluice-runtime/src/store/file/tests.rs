use super::super::frames::FRAMES;
use super::*;
use sluice_region::Mapping;
use sluice_units::Rng;
use std::collections::HashMap;

/// More than there are frames.
const PAGES: u64 = 3 * FRAMES as u64;

fn store(io: Io) -> FileStore {
    let folder = std::env::temp_dir();
    FileStore::new(&folder, PAGES as usize, PAGES as usize, io).expect("a folder")
}

/// A page that has the value in every word, so that a mix of two is seen.
fn fill(page: &Mapping, value: u64) {
    for word in 0..PAGE / 8 {
        // SAFETY: the test's own page.
        unsafe { ((page.addr() + 8 * word) as *mut u64).write(value ^ word as u64) };
    }
}

fn check(addr: usize, value: u64) {
    for word in 0..PAGE / 8 {
        // SAFETY: a whole page of the store's.
        let found = unsafe { ((addr + 8 * word) as *const u64).read() };
        assert_eq!(found, value ^ word as u64, "word {word}");
    }
}

fn mix(io: Io, seed: u64) {
    let (mut store, mut truth) = (store(io), HashMap::new());
    let page = Mapping::anonymous(PAGE).expect("memory");
    let mut random = Rng::from_splitmix(seed);
    for step in 0..20_000u64 {
        let lpn = random.below(PAGES);
        match random.below(8) {
            0..=3 => {
                fill(&page, step);
                store.save(lpn, page.addr());
                truth.insert(lpn, step);
            }
            4 => {
                let count = random.below(20).min(PAGES - lpn);
                store.drop_range(lpn, count as usize);
                for lpn in lpn..lpn + count {
                    truth.remove(&lpn);
                }
            }
            5 => (lpn..PAGES.min(lpn + 8)).for_each(|lpn| store.send_for(lpn)),
            6 => store.submit(),
            _ => {
                if let Some(value) = truth.get(&lpn) {
                    check(store.source(lpn), *value);
                    store.mapped(lpn);
                    fill(&page, *value);
                    assert!(store.is_same(lpn, page.addr()), "as it came");
                    assert!(!store.is_same(lpn, page.addr()), "known once");
                }
            }
        }
    }
    for (lpn, value) in &truth {
        check(store.source(*lpn), *value);
    }
    let counts = store.counts;
    assert!(counts.reads > 0 && counts.writes > 0, "{counts:?}");
}

#[test]
fn what_is_kept_comes_back_by_a_queue() {
    let io = Io::queue();
    assert!(io.is_queue(), "this kernel has no io_uring");
    mix(io, 1);
}

#[test]
fn what_is_kept_comes_back_by_calls() {
    mix(Io::calls(), 2);
}

#[test]
fn a_page_that_was_written_is_told_from_one_that_was_not() {
    let mut store = store(Io::queue());
    let page = Mapping::anonymous(PAGE).expect("memory");
    fill(&page, 7);
    store.save(3, page.addr());
    store.source(3);
    store.mapped(3);
    // SAFETY: the test's own page.
    unsafe { ((page.addr() + PAGE - 1) as *mut u8).write(1) };
    assert!(!store.is_same(3, page.addr()));
    // What nobody knows counts as written.
    fill(&page, 7);
    assert!(!store.is_same(3, page.addr()));
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let made = FileStore::new(Path::new("/nowhere/at/all"), 8, 8, Io::calls());
    assert!(matches!(made, Err(Error::System(libc::ENOENT))), "{made:?}");
    let made = FileStore::new(Path::new("/"), MAX_SLOTS, 8, Io::calls());
    assert!(matches!(made, Err(Error::TooLarge)), "{made:?}");
}
