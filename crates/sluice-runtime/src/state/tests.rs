use super::*;
use crate::host::ORPHAN;
use crate::rig;
use core::sync::atomic::Ordering::Acquire;
use sluice_abi::StatsBlock;

/// Its thread had it by then. Were it left, it would be there for ever at no cost, and what was
/// stored to it would never reach the flash.
#[test]
fn an_eviction_that_was_put_off_is_carried_out_at_the_next_trap() {
    let engine = rig::engine(&[("cache.policy", "lru")]);
    let slow = rig::begin(engine, 1, 0, true).expect("a miss");
    for lpn in 1..=4 {
        rig::touch(engine, 1 + lpn, lpn, false);
    }
    assert_eq!(engine.core().host.state[0] & ORPHAN, ORPHAN, "evicted");
    assert!(engine.fill(&slow, slow.act_ns, || 1));
    rig::store(engine, 0, 7);
    assert_eq!(engine.core().device.stats().late_write_backs, 0);
    rig::touch(engine, 6, 5, false);
    assert!(!rig::is_there(engine, 0));
    assert_eq!(engine.core().host.mapped(), 4, "as many as are cached");
    assert_eq!(engine.core().host.state[0], STASHED);
    assert_eq!(engine.core().device.stats().late_write_backs, 1);
    rig::touch(engine, 7, 0, false);
    assert_eq!(rig::load(engine, 0), 7);
}

/// Freeing takes longer than a short wait lasts.
#[test]
fn what_evictions_leave_is_freed_in_long_waits_alone() {
    for (read, is_freed) in [("40us", true), ("3us", false)] {
        let engine = rig::engine(&[("nand.read", read)]);
        for lpn in 0..40 {
            rig::touch(engine, 1 + lpn, lpn, false);
        }
        let core = engine.core();
        let Backing::Private(backing) = &core.host.backing else {
            unreachable!("a heap");
        };
        let (kept, evicted) = (backing.in_limbo(), 40 - 4);
        assert_eq!(kept < evicted, is_freed, "{read}: {kept} of {evicted}");
    }
}

#[test]
fn the_last_figures_are_written_and_the_end_is_marked() {
    let engine = rig::engine(&[]);
    rig::touch(engine, 1, 0, false);
    engine.set_count(Counter::HostPages, 3);
    engine.count(Counter::HostPages, 2);
    engine.core().device.discard(Ps::from_us(100_000), Lpn(0));
    let block = engine.block();
    let cached = |block: &StatsBlock| block.get(Counter::CachedPages);
    assert_eq!((cached(block), block.ended.load(Acquire)), (1, 0));
    engine.finish();
    assert_eq!((cached(block), block.ended.load(Acquire)), (0, 1));
    assert_eq!(block.get(Counter::HostPages), 5);
}
