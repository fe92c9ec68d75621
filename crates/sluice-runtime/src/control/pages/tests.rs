use super::*;
use crate::rig;
use sluice_abi::{RING_BYTES, Ring};
use sluice_region::Mapping;

fn lanes(engine: &'static Engine) -> Lanes {
    let memory = Box::leak(Box::new(Mapping::anonymous(RING_BYTES).expect("memory")));
    // SAFETY: long enough, never unmapped, and all of it atomics.
    let ring = unsafe { &*(memory.addr() as *const Ring) };
    Lanes::new(engine, ring, false)
}

/// A fault would wait for the whole of it.
#[test]
fn a_long_command_is_done_piece_by_piece() {
    let engine = rig::engine(&[("device.capacity", "4GiB")]);
    let (mut lanes, pages) = (lanes(engine), 1 << 20);
    let mut job = lanes.job(Operation::Evict, 0, pages);
    let mut before = 0;
    for _ in 0..3 {
        lanes.some_pages(0, &mut job);
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
