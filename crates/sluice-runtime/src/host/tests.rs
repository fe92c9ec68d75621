use super::*;
use crate::measures::stats::{Identity, Live};
use crate::store::Stash;
use sluice_model::Effects;
use sluice_region::{Mapping, UffdKind};
use sluice_units::Lpn;

const PAGES: u64 = 200;

fn host() -> Host {
    let uffd = Uffd::open(UffdKind::Signal).unwrap();
    let stash = Stash::in_memory(PAGES as usize).unwrap();
    let mut backing = PrivateBacking::new(PAGES as usize, stash).unwrap();
    backing.register(&uffd).unwrap();
    host_of(uffd, Backing::Private(backing))
}

fn host_of(uffd: Uffd, backing: Backing) -> Host {
    let view = Mapping::anonymous(sluice_abi::view_bytes(PAGES)).unwrap();
    let identity = Identity {
        pages: PAGES,
        heap_at: 0,
        started_ns: 0,
        forked: false,
    };
    let live = Box::leak(Box::new(Live::new(view, identity, false)));
    let threads = ThreadCount::open(sluice_region::LibraryCount::find(), 0).unwrap();
    Host::new(uffd, backing, PAGES, threads, live.residency()).unwrap()
}

/// The program has locked its other mapping, past all hooks. What the first had written went with
/// its entry.
#[test]
fn a_page_that_another_mapping_keeps_is_written_when_it_leaves() {
    let uffd = Uffd::open(UffdKind::Signal).unwrap();
    let fd = sluice_region::memfd(2 * PAGE).unwrap();
    let mut shared = SharedBacking::new((0, 0)).unwrap();
    let maps = [0, 1].map(|_| Mapping::shared(fd, 2 * PAGE).unwrap());
    for map in &maps {
        shared.add(&uffd, map.addr(), map.len(), 0).unwrap();
    }
    let mut host = host_of(uffd, Backing::Shared(shared));
    let page = maps[0].addr() + PAGE;
    host.map(1, page).unwrap();
    host.arrived(1);
    // SAFETY: just mapped, writable; then a mapping of the test's, of which no memory changes.
    unsafe {
        (page as *mut u64).write_volatile(7);
        let second = maps[1].addr() as *const libc::c_void;
        assert_eq!(libc::mlock2(second, 2 * PAGE, libc::MLOCK_ONFAULT), 0);
        host.take_away(1);
        assert_eq!((host.state[1] & MAPPED, host.pinned), (MAPPED, 1));
        assert_eq!(libc::munlock(second, 2 * PAGE), 0);
        libc::close(fd);
    }
    assert!(host.take_away(1));
    assert_eq!(host.state[1] & (MAPPED | WRITTEN), 0);
}

/// Its thread would find it gone at the moment at which it was promised.
#[test]
fn a_page_mapped_ahead_stays_until_its_thread_had_it() {
    let mut host = host();
    let (lpn, (addr, _)) = (1, host.address_of(1, 0).unwrap());
    host.state[lpn as usize] = PENDING;
    assert!(host.map_ahead(lpn, addr));
    assert!(host.pagemap.is_present(addr));
    assert!(!host.map_ahead(lpn, addr), "a second thread waits for it");
    assert!(!host.unmap(Lpn::of(lpn)), "evicted meanwhile");
    assert!(host.next_orphan().is_none() && host.pagemap.is_present(addr));
    host.arrived(lpn);
    assert_eq!(host.mapped(), 1);
    assert_eq!(host.next_orphan(), Some((lpn, false)));
    assert!(!host.pagemap.is_present(addr));
    assert_eq!(host.mapped(), 0);
}

/// The second of two threads that wait for a page must not take it for being there.
#[test]
fn a_page_that_left_before_the_second_threads_turn_is_not_there() {
    let mut host = host();
    let (lpn, (addr, _)) = (1, host.address_of(1, 0).unwrap());
    host.state[lpn as usize] = PENDING;
    assert!(host.map_ahead(lpn, addr), "for one thread");
    assert!(host.settle(lpn, addr, false), "the other is first");
    host.arrived(lpn);
    // SAFETY: the page was just mapped, writable.
    unsafe { (addr as *mut u64).write_volatile(7) };
    assert!(host.unmap(Lpn::of(lpn)), "written");
    host.carry_out(|_| ());
    assert!(
        !host.settle(lpn, addr, true),
        "it would be missing, and read as zeros"
    );
    assert_eq!(host.state[lpn as usize], STASHED);
    assert_eq!(host.mapped(), 0);
}

/// What it stores ahead of its page's moment, in a handler of a signal, is not lost.
#[test]
fn a_store_to_a_page_mapped_ahead_is_noticed() {
    let mut host = host();
    let (addr, _) = host.address_of(1, 0).unwrap();
    host.state[1] = PENDING;
    assert!(host.map_ahead(1, addr));
    // SAFETY: the page was just mapped, writable.
    unsafe { (addr as *mut u64).write_volatile(7) };
    host.arrived(1);
    host.alone = true;
    assert!(host.unmap(Lpn(1)), "written");
    host.carry_out(|_| ());
    assert_eq!(host.state[1], STASHED);
}

/// Maps page 1 and gives it back its thread.
fn bring(host: &mut Host) -> usize {
    let (addr, _) = host.address_of(1, 0).unwrap();
    host.state[1] |= PENDING;
    assert!(host.settle(1, addr, false));
    host.arrived(1);
    addr
}

fn store(addr: usize, value: u64) {
    // SAFETY: a page that the caller has just mapped, writable.
    unsafe { (addr as *mut u64).write_volatile(value) };
}

/// A page's contents, compared with those that it came with, show whether it was written.
#[test]
fn a_page_that_comes_and_goes_as_it_was_is_clean() {
    let mut host = host();
    store(bring(&mut host), 7);
    assert!(host.take_away(1), "written");
    for _ in 0..2 {
        bring(&mut host);
        assert!(!host.take_away(1), "as it came, from the stash");
        assert_eq!(host.state[1], STASHED);
    }
}

/// What the program dropped itself reads as zeros: what the stash had is no longer the page's.
#[test]
fn a_page_that_the_program_dropped_is_zeros_when_it_comes_back() {
    let mut host = host();
    store(bring(&mut host), 7);
    assert!(host.take_away(1), "written");
    let addr = bring(&mut host);
    // SAFETY: our own page, whose contents may go.
    unsafe { sluice_region::dont_need(addr, PAGE).unwrap() };
    assert!(!host.take_away(1));
    assert_eq!(host.state[1], 0);
    let addr = bring(&mut host);
    // SAFETY: just mapped.
    assert_eq!(unsafe { (addr as *const u64).read_volatile() }, 0);
    assert!(!host.take_away(1), "zeros, as it came");
    assert_eq!((host.state[1], host.mapped()), (0, 0));
}

/// Others have a use for the page, or it is not the device's.
#[test]
fn only_a_page_that_is_mapped_and_no_more_is_set_aside() {
    for (flags, is_aside) in [
        (0, true),
        (STASHED, true),
        (WRITTEN, true),
        (PENDING, false),
        (ORPHAN, false),
        (OFF_DEVICE, false),
    ] {
        let mut host = host();
        let addr = bring(&mut host);
        host.state[1] |= flags;
        assert_eq!(host.set_aside(1), is_aside, "{flags:#b}");
        assert_eq!(host.pagemap.is_present(addr), !is_aside, "{flags:#b}");
        assert_eq!(host.state[1] & MAPPED != 0, !is_aside, "{flags:#b}");
        assert!(!host.set_aside(2), "it is not mapped");
    }
}

fn word(host: &Host, lpn: u64) -> *mut u64 {
    host.address_of(lpn, 0).unwrap().0 as *mut u64
}

/// Maps a page for a thread that goes on at once.
fn give(host: &mut Host, lpn: u64) {
    let (addr, _) = host.address_of(lpn, 0).unwrap();
    host.state[lpn as usize] |= PENDING;
    assert!(host.settle(lpn, addr, false));
    host.arrived(lpn);
}

/// Pages in one run, in several, alone and over the border of a question; a third was written.
#[test]
fn pages_that_leave_together_are_those_that_came_one_by_one() {
    let pages: Vec<u64> = [3..9, 20..21, 60..71, 100..101]
        .into_iter()
        .flatten()
        .collect();
    for alone in [true, false] {
        let mut host = host();
        host.alone = alone;
        for &lpn in &pages {
            give(&mut host, lpn);
            if lpn % 3 == 0 {
                // SAFETY: just mapped, writable.
                unsafe { word(&host, lpn).write_volatile(lpn) };
            }
        }
        for &lpn in pages.iter().rev() {
            assert_eq!(host.unmap(Lpn::of(lpn)), lpn % 3 == 0, "page {lpn}");
        }
        host.carry_out(|lpn| panic!("page {lpn} was known to be written or not"));
        assert_eq!(host.mapped(), 0);
        for &lpn in &pages {
            let (addr, _) = host.address_of(lpn, 0).unwrap();
            assert!(!host.pagemap.is_present(addr), "page {lpn}");
            let stashed = if lpn % 3 == 0 { STASHED } else { 0 };
            assert_eq!(host.state[lpn as usize], stashed, "page {lpn}");
        }
        // Those with contents come back together, the others are left to their traps.
        for &lpn in &pages {
            assert_eq!(host.will_map(lpn), lpn % 3 == 0, "page {lpn}");
        }
        let mut coming = host.take_coming();
        host.map_together(&mut coming);
        assert_eq!(
            host.mapped(),
            pages.iter().filter(|lpn| *lpn % 3 == 0).count() as u64
        );
        for &lpn in pages.iter().filter(|lpn| *lpn % 3 == 0) {
            // SAFETY: mapped.
            assert_eq!(unsafe { word(&host, lpn).read_volatile() }, lpn);
        }
    }
}

/// A page in the middle of a run is gone, one is held by the kernel, one is there already.
#[test]
fn one_page_of_a_run_that_is_in_the_way_stops_no_other() {
    let mut host = host();
    for lpn in 10..20 {
        give(&mut host, lpn);
        // SAFETY: just mapped, writable.
        unsafe { word(&host, lpn).write_volatile(lpn) };
    }
    // SAFETY: a page of the arena, as the program might drop it by a call of its own.
    unsafe { sluice_region::dont_need(word(&host, 14) as usize, sluice_region::PAGE).unwrap() };
    for lpn in 10..20 {
        host.unmap(Lpn::of(lpn));
    }
    host.carry_out(|_| ());
    assert_eq!(host.mapped(), 0);
    assert_eq!(host.state[14], 0, "it is nowhere");
    // It is mapped behind the runtime's back.
    let zeros = host.address_of(17, 0).unwrap().0;
    let mut ahead = [17];
    host.map_together(&mut ahead);
    assert!(host.pagemap.is_present(zeros));
    (host.state[17], host.mapped) = (STASHED, 0);
    let mut all: Vec<u64> = (10..20).filter(|lpn| *lpn != 14).collect();
    assert!(all.iter().all(|lpn| host.will_map(*lpn)));
    host.coming.clear();
    host.map_together(&mut all);
    for lpn in (10..20).filter(|lpn| *lpn != 14) {
        assert_eq!(host.state[lpn as usize], STASHED | MAPPED, "page {lpn}");
        // SAFETY: mapped.
        assert_eq!(unsafe { word(&host, lpn).read_volatile() }, lpn);
    }
}

/// Another thread writes between the question and the move.
#[test]
fn a_late_store_to_a_page_that_leaves_with_others_is_told() {
    let mut host = host();
    host.alone = false;
    for lpn in 10..14 {
        give(&mut host, lpn);
    }
    for lpn in 10..14 {
        assert!(!host.unmap(Lpn::of(lpn)));
    }
    // SAFETY: still mapped, writable.
    unsafe { word(&host, 12).write_volatile(7) };
    let mut late = Vec::new();
    host.carry_out(|lpn| late.push(lpn));
    assert_eq!(late, [12]);
    give(&mut host, 12);
    // SAFETY: mapped.
    assert_eq!(unsafe { word(&host, 12).read_volatile() }, 7);
}

/// A signal takes the only thread out of its wait, and its handler writes.
#[test]
fn a_store_of_a_handler_to_a_page_that_leaves_is_not_lost() {
    for is_one_by_one in [true, false] {
        let mut host = host();
        (host.alone, host.can_be_interrupted) = (true, true);
        give(&mut host, 10);
        // SAFETY: mapped, writable. Protecting again hides the store from the kernel's notes, as
        // if it came after the question.
        unsafe { word(&host, 10).write_volatile(7) };
        let page = word(&host, 10) as usize;
        host.uffd.write_protect(page, sluice_region::PAGE).unwrap();
        let mut late = Vec::new();
        if is_one_by_one {
            assert!(host.take_away(10));
        } else {
            assert!(!host.unmap(Lpn::of(10)));
            host.carry_out(|lpn| late.push(lpn));
            assert_eq!(late, [10]);
        }
        give(&mut host, 10);
        // SAFETY: mapped.
        assert_eq!(unsafe { word(&host, 10).read_volatile() }, 7);
    }
}
