//! The system calls that the runtime depends on, and that the kernel carries them out.

use sluice_region::{
    Fill, Mapping, PAGE, Uffd, UffdKind, futex_wait, raw_mmap, raw_munmap, thread_id,
};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

#[test]
fn a_wait_ends_when_its_time_is_over_and_no_sooner() {
    let word = AtomicU32::new(7);
    let limit = Duration::from_millis(30);
    let began = Instant::now();
    // The kernel may wake a thread for no reason.
    while futex_wait(&word, 7, Some(limit.as_nanos() as u64)) {
        assert!(began.elapsed() < limit, "more time is over than it had");
    }
    assert!(began.elapsed() >= limit, "{:?}", began.elapsed());
}

#[test]
fn nobody_waits_for_a_word_that_has_another_value() {
    let word = AtomicU32::new(7);
    let long = Duration::from_secs(3_600).as_nanos() as u64;
    assert!(futex_wait(&word, 8, Some(long)));
    assert!(futex_wait(&word, 8, None));
    assert_eq!(word.load(Relaxed), 7);
}

/// Otherwise its faults would still come to a runtime that does not know the page any more.
#[test]
fn what_is_registered_no_more_is_the_kernels() {
    let uffd = Uffd::open(UffdKind::Signal).unwrap();
    let (page, source) = (
        Mapping::anonymous(PAGE).unwrap(),
        Mapping::anonymous(PAGE).unwrap(),
    );
    uffd.register_private(page.addr(), PAGE).unwrap();
    uffd.unregister(page.addr(), PAGE).unwrap();
    let copied = uffd.copy_page(page.addr(), source.addr(), Fill::NOTICED);
    assert_eq!(copied, Err(libc::ENOENT));
    // SAFETY: our own page, which nobody has written.
    let word = unsafe { (page.addr() as *const u64).read_volatile() };
    assert_eq!(word, 0, "the kernel's own zeros");
}

/// Whether a page is free. Nothing is there then.
fn is_free(page: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the kernel replaces nothing.
    let mapped = unsafe { raw_mmap(page, PAGE, libc::PROT_NONE, flags, -1, 0) };
    // SAFETY: just mapped, and nobody else's.
    mapped.is_ok_and(|at| unsafe { raw_munmap(at, PAGE) }.is_ok())
}

/// A neighbour would be merged into the arena, and be taken for a part of it.
#[test]
fn a_fence_takes_what_is_free_at_both_ends() {
    let mut fenced = 0;
    for pages in 1..20 {
        let mapping = Mapping::anonymous(pages * PAGE).unwrap();
        let ends = [mapping.addr() - PAGE, mapping.addr() + mapping.len()];
        let free = ends.map(is_free);
        mapping.fence();
        for (end, was_free) in ends.into_iter().zip(free) {
            assert!(!is_free(end), "{end:#x}");
            fenced += u32::from(was_free);
        }
    }
    assert!(fenced > 0, "there never was room for one");
}

/// The kernel names the threads whose faults it reports by these numbers.
#[test]
fn every_thread_has_a_number_of_its_own() {
    let own = thread_id();
    let other = std::thread::spawn(|| {
        let other = thread_id();
        assert!(std::path::Path::new(&format!("/proc/self/task/{other}")).exists());
        other
    });
    assert_ne!(other.join().unwrap(), own);
    assert_eq!(thread_id(), own);
    assert!(std::path::Path::new(&format!("/proc/self/task/{own}")).exists());
}
