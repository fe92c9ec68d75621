//! The long-delay hint by SkyByte's Algorithm 1, with both sides of the threshold pinned.

use sluice_model::{Device, Hint, Op, ServedBy};
use sluice_testkit::rig::{MISS, access, device, read};
use sluice_units::{Lpn, Ps, Rng};

const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);

/// Eight channels of eight dies: LPN i is on channel i mod 8, die i / 8 mod 8 of it.
fn hinting(threshold: Ps, pairs: &[(&str, &str)]) -> Device {
    let threshold = format!("{}ps", threshold.0);
    let hint = [
        ("device.hint", "queue"),
        ("device.hint_threshold", &threshold),
    ];
    device(&[&hint[..], pairs].concat())
}

/// The hint is given if the threshold is a picosecond below the estimate, not if it equals it.
fn estimates(estimate: Ps, pairs: &[(&str, &str)], ask: impl Fn(&mut Device) -> Hint) {
    assert_eq!(
        ask(&mut hinting(estimate, pairs)),
        Hint::None,
        "at {estimate}"
    );
    let mut below = hinting(estimate - Ps(1), pairs);
    assert_eq!(ask(&mut below), Hint::LongDelay, "below {estimate}");
}

#[test]
fn an_idle_channel_lets_expect_one_read() {
    estimates(READ, &[], |device| read(device, Ps::ZERO, 0).hint);
}

/// The algorithm adds up the channel's queue, as if its dies did not work side by side.
#[test]
fn reads_of_the_channel_count_until_they_end() {
    let after = |now: Ps, first: u64| {
        move |device: &mut Device| {
            read(device, Ps::ZERO, first);
            read(device, now, 0).hint
        }
    };
    for first in [64, 8] {
        estimates(READ * 2, &[], after(Ps::ZERO, first));
        estimates(READ * 2, &[], after(READ - Ps(1), first));
        estimates(READ, &[], after(READ, first));
    }
    // Another channel's do not.
    estimates(READ, &[], after(Ps::ZERO, 1));
}

#[test]
fn programs_and_reads_add_up() {
    for (programs, reads) in [(1, 0), (2, 1), (3, 4)] {
        // The first writes of a device go to channel 0, 1, 2.. in turn: one in eight is here.
        let queued = |device: &mut Device| {
            for lpn in 0..programs * 8 {
                device.write_back(Ps::ZERO, Lpn::of(1_000 + lpn));
            }
            for turn in 0..reads {
                read(device, Ps::ZERO, 8 + 64 * turn);
            }
            read(device, Ps::ZERO, 0).hint
        };
        estimates(PROGRAM * programs + READ * (reads + 1), &[], queued);
    }
}

/// A page on its way: its read is in the queue already, and no other is needed.
#[test]
fn a_merge_expects_what_is_queued() {
    estimates(READ, &[], |device| {
        read(device, Ps::ZERO, 0);
        let merge = read(device, Ps(1), 0);
        assert_eq!(merge.served_by, ServedBy::MshrMerge);
        merge.hint
    });
}

/// Whatever the threshold, a die that collects is announced; another die of the channel is not.
#[test]
fn collection_is_announced_at_once() {
    let one_channel = [
        ("nand.channels", "1"),
        ("nand.dies", "2"),
        ("nand.pages_per_block", "16"),
    ];
    let mut device = hinting(Ps::from_ms(10_000), &one_channel);
    let mut rng = Rng::stream(1, "overwrites");
    let mut now = Ps::ZERO;
    while device.stats().erases == 0 {
        device.write_back(now, Lpn::of(rng.below(device.pages())));
        now += PROGRAM;
    }
    let hints = [0, 1].map(|lpn| read(&mut device, now, lpn).hint);
    assert!(hints.contains(&Hint::LongDelay), "{hints:?}");
    // Long after, nothing collects.
    let later = now + Ps::from_ms(1_000);
    assert_eq!(read(&mut device, later, 2).hint, Hint::None);
}

#[test]
fn what_waits_for_no_flash_gives_no_hint() {
    let logged = [("write_log.capacity", "128B"), ("write_log.buffers", "1")];
    let mut device = hinting(Ps::ZERO, &logged);
    assert_eq!(read(&mut device, Ps::ZERO, 0).hint, Hint::LongDelay);
    assert_eq!(read(&mut device, MISS * 2, 0).hint, Hint::None, "a hit");
    let later = MISS * 4;
    for _ in 0..2 {
        assert_eq!(access(&mut device, later, 5, Op::Write).hint, Hint::None);
    }
    // The log is full: the store waits, and still gives none (SkyByte section III-A).
    let stalled = access(&mut device, later, 5, Op::Write);
    assert!(stalled.done_at > later + READ, "{stalled:?}");
    assert_eq!(
        (stalled.hint, stalled.served_by),
        (Hint::None, ServedBy::WriteLog)
    );
}

/// A page without a place in flash needs no read, whatever its channel does.
#[test]
fn a_page_that_was_never_written_gives_no_hint() {
    let mut device = hinting(Ps::ZERO, &[("ftl.precondition", "none")]);
    assert_eq!(read(&mut device, Ps::ZERO, 0).hint, Hint::None);
}
