//! Collection in steps and while idle: what a read waits for, to the picosecond.
//!
//! A read takes 40 us, a program 200 us and an erase 2 ms; so a moved page takes 240 us.

use super::*;
use crate::layout::Block;

/// One die. Blocks have 16 pages.
fn one_die(pairs: &[(&str, &str)]) -> Rig<Nand> {
    let base = [
        ("nand.channels", "1"),
        ("nand.dies", "1"),
        ("device.capacity", "1MiB"),
        ("cache.capacity", "64KiB"),
    ];
    Rig::new(&small(&[&base[..], pairs].concat()))
}

/// Overwrites at random, a write every 10 ms, and reads behind each: the longest wait.
fn longest_wait(rig: &mut Rig<Nand>) -> Ps {
    let mut rng = Rng::stream(3, "waits");
    let mut longest = Ps::ZERO;
    for _ in 0..4_000 {
        let now = rig.now + Ps::from_ms(10);
        rig.advance(now);
        rig.write(rng.below(256) as u32).unwrap();
        let served = rig.read(rng.below(256) as u32);
        longest = longest.max(served.done_at - now);
        assert_eq!(
            served.queue + served.gc + served.service,
            served.done_at - now
        );
    }
    rig.ftl.check();
    assert!(rig.stats.erases > 100, "{:?}", rig.stats);
    longest
}

/// The whole of a block at once: up to 15 moves and the erase go before the read. In steps of four
/// pages, which keep up with the writes, a read waits for four moves or an erase, and the program
/// of the write before it.
#[test]
fn a_read_waits_for_a_step_at_most() {
    let whole = longest_wait(&mut one_die(&[]));
    assert!(whole > Ps::from_us(10 * 240 + 2_000), "{whole}");
    let mut rig = one_die(&[("ftl.gc_step", "4")]);
    assert_eq!(longest_wait(&mut rig), Ps::from_us(2_000 + 200 + 40));
    let moves_only = [("ftl.gc_step", "4"), ("nand.erase", "0ns")];
    assert_eq!(
        longest_wait(&mut one_die(&moves_only)),
        Ps::from_us(4 * 240 + 200 + 40)
    );
}

/// Overwritten in order, a block to collect has no valid page left. So a collection of five blocks
/// is five erases, it comes once in five blocks of writes, and a read behind it waits for all five.
#[test]
fn a_collection_erases_as_many_blocks_as_it_should() {
    for blocks in [1, 2, 5] {
        let mut rig = one_die(&[("ftl.gc_blocks", &blocks.to_string())]);
        let mut writes = Vec::new();
        for write in 0..4 * 256 {
            let now = rig.now + Ps::from_ms(100);
            rig.advance(now);
            let before = rig.stats.erases;
            rig.write(write % 256).unwrap();
            if rig.stats.erases == before {
                continue;
            }
            assert_eq!(rig.stats.erases - before, blocks);
            let done = rig.read(write % 256).done_at;
            assert_eq!(done - now, Ps::from_us(blocks * 2_000 + 200 + 40));
            writes.push(u64::from(write));
        }
        assert_eq!(rig.stats.gc_moves, 0);
        assert!(writes.len() > 7, "{writes:?}");
        let between = writes.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(between.clone().all(|n| n == blocks * 16), "{writes:?}");
    }
}

/// A share is of the blocks of the capacity: 16 here, on all planes together.
#[test]
fn blocks_of_a_collection_may_be_a_share() {
    let of = |value| small(&[("device.capacity", "1MiB"), ("ftl.gc_blocks", value)]);
    let blocks = |value| of(value).ftl.gc_blocks_at_once;
    let planes = of("1").nand.plane_count();
    assert_eq!(blocks("50%"), 16_u32.div_ceil(planes).div_ceil(2));
    assert_eq!((blocks("1%"), blocks("7")), (1, 7));
}

/// The die is idle for most of the time between writes: none of them has to collect.
#[test]
fn idle_time_is_used() {
    let mut rig = one_die(&[("ftl.gc_background", "4")]);
    let mut rng = Rng::stream(3, "idle");
    for _ in 0..4_000 {
        let now = rig.now + Ps::from_ms(10);
        rig.advance(now);
        let moves = rig.stats.gc_moves;
        rig.write(rng.below(256) as u32).unwrap();
        assert_eq!(rig.stats.gc_moves, moves, "{}", rig.ftl.dump());
    }
    assert!(
        rig.stats.gc_moves > 1_000 && rig.stats.erases > 100,
        "{:?}",
        rig.stats
    );
}

/// Both sides of a step that began in idle time: it begins when the program before it has ended,
/// moves one page, and then the next one may begin a picosecond later.
#[test]
fn a_step_begins_when_the_die_is_idle() {
    let make = || {
        let mut rig = one_die(&[("ftl.gc_background", "4"), ("ftl.gc_step", "1")]);
        let mut rng = Rng::stream(3, "idle");
        // Without time to spare nothing is collected until the pool is short.
        while rig.ftl.data.store.lines.free_lines(0) > 4 {
            rig.write(rng.below(256) as u32).unwrap();
        }
        rig
    };
    let mut rig = make();
    let end = rig.flash.idle_at(Block(0));
    rig.advance(end);
    assert_eq!(rig.stats.gc_moves, 0, "the die was busy until now");
    let mut rig = make();
    rig.advance(end + Ps(1));
    assert_eq!(rig.stats.gc_moves, 1, "and was idle a picosecond ago");
    let served = rig.read(0);
    assert_eq!(served.done_at, end + Ps::from_us(240 + 40));
    assert_eq!(served.gc, Ps::from_us(240) - Ps(1));
    // A step of 240 us after the other, each a picosecond after the one before it.
    let mut rig = make();
    rig.advance(end + Ps::from_us(3 * 240));
    assert_eq!(rig.stats.gc_moves, 3);
    rig.advance(end + Ps::from_us(3 * 240) + Ps(4));
    assert_eq!(rig.stats.gc_moves, 4);
}
