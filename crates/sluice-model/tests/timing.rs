//! Is the timing the timing it says? Closed forms, with both sides of each moment pinned.

use sluice_model::{Device, Hint, Op, ServedBy};
use sluice_testkit::rig::{MISS, access, device, read, write};
use sluice_units::{Lpn, Ps, Rng};

const HIT: Ps = Ps::from_ns(150);
const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);
const ERASE: Ps = Ps::from_us(2_000);

/// One channel of one die, so that every operation queues behind the one before.
const ONE_DIE: [(&str, &str); 3] = [
    ("nand.channels", "1"),
    ("nand.dies", "1"),
    ("nand.pages_per_block", "16"),
];

#[test]
fn an_idle_miss_takes_the_read_and_the_hit() {
    let mut device = device(&[]);
    let completion = read(&mut device, Ps::ZERO, 5);
    assert_eq!(
        (completion.done_at, completion.served_by),
        (READ + HIT, ServedBy::Flash)
    );
    assert_eq!(MISS, READ + HIT);
}

#[test]
fn a_fill_is_not_ready_a_picosecond_early() {
    let before = MISS - Ps(1);
    let mut early = device(&[]);
    read(&mut early, Ps::ZERO, 5);
    let completion = read(&mut early, before, 5);
    assert_eq!(
        (completion.done_at, completion.served_by),
        (before + HIT, ServedBy::MshrMerge)
    );

    let mut in_time = device(&[]);
    read(&mut in_time, Ps::ZERO, 5);
    let completion = read(&mut in_time, MISS, 5);
    assert_eq!(
        (completion.done_at, completion.served_by),
        (MISS + HIT, ServedBy::CacheHit)
    );
}

#[test]
fn a_merge_is_done_with_the_fill_or_after_a_hit_time() {
    let mut device = device(&[]);
    read(&mut device, Ps::ZERO, 5);
    let merge_at = |device: &mut Device, now| read(device, now, 5).done_at;
    assert_eq!(merge_at(&mut device, Ps(1)), MISS);
    assert_eq!(merge_at(&mut device, MISS - HIT), MISS);
    assert_eq!(merge_at(&mut device, MISS - HIT + Ps(1)), MISS + Ps(1));
    assert_eq!(device.stats().mshr_merges, 3);
}

/// LPN i is on die i mod 64: 64 misses at once share nothing, and the 65th queues behind the 1st.
#[test]
fn dies_work_side_by_side_and_each_in_turn() {
    let mut device = device(&[]);
    for lpn in 0..64 {
        assert_eq!(read(&mut device, Ps::ZERO, lpn).done_at, MISS, "page {lpn}");
    }
    for depth in 2..6 {
        let done_at = read(&mut device, Ps::ZERO, 64 * (depth - 1)).done_at;
        assert_eq!(done_at, READ * depth + HIT);
    }
    assert_eq!(
        read(&mut device, READ * 5, 64 * 5).done_at,
        READ * 6 + HIT,
        "free at its end"
    );
}

/// Eight dies sense at once, then take turns on their channel.
#[test]
fn a_full_channel_passes_one_page_at_a_time() {
    let transfer = Ps::from_us(10);
    let mut device = device(&[("nand.channels", "1"), ("nand.transfer", "10us")]);
    for turn in 1..=8 {
        let done_at = read(&mut device, Ps::ZERO, turn - 1).done_at;
        assert_eq!(done_at, READ + transfer * turn + HIT);
    }
    // The first die sensed its second page meanwhile; the channel is free after eight turns.
    assert_eq!(
        read(&mut device, Ps::ZERO, 8).done_at,
        READ + transfer * 9 + HIT
    );
}

/// A read that waits for its die must not hold up the channel for the others.
#[test]
fn a_busy_die_leaves_its_channel_to_the_others() {
    let mut device = device(&[("nand.channels", "1"), ("nand.transfer", "10us")]);
    let transfer = Ps::from_us(10);
    read(&mut device, Ps::ZERO, 0);
    let waits = read(&mut device, Ps::ZERO, 8);
    assert_eq!(waits.done_at, READ * 2 + transfer + HIT);
    let gap = read(&mut device, Ps::ZERO, 1);
    assert_eq!(gap.done_at, READ + transfer * 2 + HIT);
}

/// The victim's program is reserved first; the first write of a device goes to die 0.
#[test]
fn a_dirty_eviction_delays_reads_of_the_die_it_goes_to() {
    let one_page = [("cache.capacity", "4KiB")];
    for (lpn, wait) in [(64, PROGRAM), (65, Ps::ZERO)] {
        let mut device = device(&one_page);
        write(&mut device, Ps::ZERO, 1);
        let now = Ps::from_ms(1);
        assert_eq!(read(&mut device, now, lpn).done_at, now + wait + READ + HIT);
        assert_eq!(device.stats().dirty_evictions, 1);
    }
    let mut clean = device(&one_page);
    read(&mut clean, Ps::ZERO, 1);
    let now = Ps::from_ms(1);
    assert_eq!(read(&mut clean, now, 64).done_at, now + READ + HIT);
    assert_eq!(clean.stats().host_programs, 0);
}

/// All work is asked for at time zero of a single die, so its end is the sum of its parts.
#[test]
fn garbage_collection_costs_its_reads_programs_and_erases() {
    for (writes, collects) in [(100, false), (8_000, true)] {
        let mut device = device(&ONE_DIE);
        let mut rng = Rng::stream(1, "overwrites");
        for _ in 0..writes {
            let lpn = rng.below(device.pages());
            device.write_back(Ps::ZERO, Lpn::of(lpn));
        }
        let done_at = read(&mut device, Ps::ZERO, 100).done_at;
        let stats = device.stats();
        assert_eq!(stats.erases > 0, collects, "{stats:?}");
        assert_eq!(stats.gc_moves > 0, collects, "{stats:?}");
        assert_eq!(stats.flash_reads, 1 + stats.gc_moves);
        assert_eq!(stats.flash_programs, stats.host_programs + stats.gc_moves);
        let reads = READ * stats.flash_reads;
        let busy = reads + PROGRAM * stats.flash_programs + ERASE * stats.erases;
        assert_eq!(done_at, busy + HIT);
    }
}

/// With transfers the parts of a program follow each other too: bus, then cells.
#[test]
fn a_program_loads_its_page_before_it_runs() {
    let pairs = [&ONE_DIE[..], &[("nand.transfer", "10us")]].concat();
    let mut device = device(&pairs);
    device.write_back(Ps::ZERO, Lpn(0));
    let transfer = Ps::from_us(10);
    let done_at = read(&mut device, Ps::ZERO, 1).done_at;
    assert_eq!(done_at, transfer + PROGRAM + READ + transfer + HIT);
}

#[test]
fn a_miss_waits_for_an_mshr_entry() {
    let mut device = device(&[("mshr.entries", "2")]);
    assert_eq!(read(&mut device, Ps::ZERO, 0).done_at, MISS);
    assert_eq!(read(&mut device, Ps(5), 1).done_at, MISS + Ps(5));
    assert_eq!(read(&mut device, Ps(7), 2).done_at, MISS * 2);
    assert_eq!(device.stats().mshr_stalls, 1);
    // The second entry is free now: a picosecond before it was not.
    assert_eq!(read(&mut device, MISS + Ps(4), 3).done_at, MISS * 2 + Ps(5));
    assert_eq!(device.stats().mshr_stalls, 2);
    assert_eq!(read(&mut device, MISS * 2, 4).done_at, MISS * 3);
    assert_eq!(device.stats().mshr_stalls, 2);
}

/// A direct-mapped cache of 4 pages: pages 0 and 4 share a set, and 0 cannot leave in flight.
#[test]
fn a_miss_waits_until_a_page_of_its_set_can_leave() {
    let mut device = device(&[("cache.capacity", "16KiB"), ("cache.ways", "1")]);
    assert_eq!(read(&mut device, Ps::ZERO, 0).done_at, MISS);
    assert_eq!(read(&mut device, Ps(9), 4).done_at, MISS * 2);
    assert_eq!(device.stats().mshr_stalls, 1);
    assert!(!device.is_cached(Lpn(0)) && device.is_cached(Lpn(4)));
    assert_eq!(
        read(&mut device, Ps(9), 5).done_at,
        MISS + Ps(9),
        "another set is free"
    );
}

#[test]
fn a_long_delay_is_announced_above_the_threshold_only() {
    for (threshold, hint) in [("40150ns", Hint::None), ("40149999ps", Hint::LongDelay)] {
        let mut device = device(&[("device.hint_threshold", threshold)]);
        assert_eq!(
            read(&mut device, Ps::from_us(3), 0).hint,
            hint,
            "{threshold}"
        );
    }
    let mut device = device(&[]);
    read(&mut device, Ps::ZERO, 0);
    assert_eq!(read(&mut device, MISS, 0).hint, Hint::None);
}

#[test]
fn a_page_without_a_place_in_flash_costs_no_read() {
    let mut device = device(&[("ftl.precondition", "none")]);
    assert_eq!(read(&mut device, Ps::ZERO, 9).done_at, HIT);
    assert_eq!(device.stats().flash_reads, 0);
    device.write_back(Ps::from_ms(1), Lpn(1_000));
    let later = Ps::from_ms(2);
    assert_eq!(read(&mut device, later, 1_000).done_at, later + MISS);
}

#[test]
fn time_given_late_does_not_turn_back() {
    let mut device = device(&[]);
    let noon = Ps::from_ms(5);
    read(&mut device, noon, 0);
    assert_eq!(read(&mut device, Ps::ZERO, 1).done_at, noon + MISS);
    device.advance(noon * 2);
    let completion = access(&mut device, noon, 2, Op::Read);
    assert_eq!(completion.done_at, noon * 2 + MISS);
}
