use super::*;
use crate::stats::Live;
use sluice_region::{Mapping, UffdKind};

const PAGES: u64 = 4;

fn host() -> Host {
    let uffd = Uffd::open(UffdKind::Signal).unwrap();
    let mut backing = PrivateBacking::new(PAGES as usize).unwrap();
    backing.register(&uffd).unwrap();
    let view = Mapping::anonymous(sluice_abi::view_bytes(PAGES)).unwrap();
    let live = Box::leak(Box::new(Live::new(view, PAGES, 0, 0, false)));
    let backing = Backing::Private(backing);
    let threads = ThreadCount::open(sluice_region::LibraryCount::find(), 0).unwrap();
    Host::new(uffd, backing, PAGES, threads, live.residency()).unwrap()
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
    assert!(!host.unmap(Lpn(lpn)), "evicted meanwhile");
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
    assert!(host.unmap(Lpn(lpn)), "written");
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
    assert_eq!(host.state[1], STASHED);
}
