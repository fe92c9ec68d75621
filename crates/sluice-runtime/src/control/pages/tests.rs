use super::*;
use crate::rig;

/// A fault would wait for the whole of it.
#[test]
fn a_long_command_is_done_piece_by_piece() {
    let engine = rig::engine(&[("device.capacity", "4GiB")]);
    let (mut arrivals, pages) = (Arrivals::new(), 1 << 20);
    let mut job = Job::new(engine, Operation::Evict, 0, pages);
    let mut before = 0;
    for _ in 0..3 {
        job.some_pages(engine, &mut arrivals, 0);
        assert!(job.next > before, "no page got anywhere");
        assert!(job.next < pages, "a million pages in {HOLD_NS} ns");
        before = job.next;
    }
    assert_eq!(job.answer.already, before);
}

/// What the program has it keeps, and it gets nothing for which it did not ask: its next access
/// would not be seen.
#[test]
fn a_flush_leaves_mapped_what_was_mapped() {
    let engine = rig::engine(&[]);
    for lpn in 0..2 {
        rig::touch(engine, 1 + lpn, lpn, true);
        rig::store(engine, lpn, 7 + lpn);
    }
    assert!(engine.core().host.set_aside(1));
    for lpn in 0..2 {
        let now = engine.device_time(engine.started_ns + 1_000_000_000);
        let done = engine.core().flush(now, lpn);
        let is_flushed = matches!(done, Outcome::Done(Done { changed: true, .. }));
        assert!(is_flushed, "page {lpn}");
        assert_eq!(rig::is_there(engine, lpn), lpn == 0, "page {lpn}");
        assert_eq!(engine.core().host.mapped(), 1);
    }
    assert_eq!(rig::load(engine, 0), 7);
}
