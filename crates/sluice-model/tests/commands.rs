//! Commands and the block door have real effects, and say why when they have none.

use sluice_model::{
    BlockCompletion, BlockOp, BlockRequest, Command, Device, Done, EVICTIONS, Op, Placement,
    PlaneAddress, Refused, Request, ServedBy,
};
use sluice_testkit::rig::{MISS, Recorder, device, read, write};
use sluice_units::{Lpn, PAGE_BYTES, Ps};

const READ: Ps = Ps::from_us(40);
const HIT: Ps = Ps::from_ns(150);

fn now(ms: u64) -> Ps {
    Ps::from_ms(ms)
}

fn command(device: &mut Device, ms: u64, command: Command) -> Result<bool, Refused> {
    let done = device.command(now(ms), command, &mut ());
    assert_eq!(device.balance(), Ok(()));
    done.map(|done| done.changed)
}

/// Four pages, two of them pinned, and a thousand others: only the others leave.
#[test]
fn a_pinned_page_stays_under_every_policy() {
    for entry in EVICTIONS {
        let name = entry.info.name;
        let mut device = device(&[("cache.capacity", "16KiB"), ("cache.policy", name)]);
        let (first, second) = (Command::Pin(Lpn(5)), Command::Pin(Lpn(6)));
        read(&mut device, now(0), 5);
        assert_eq!(command(&mut device, 1, first), Ok(true), "{name}");
        assert_eq!(
            command(&mut device, 2, second),
            Ok(true),
            "{name}: brought in"
        );
        assert_eq!(command(&mut device, 3, first), Ok(false), "{name}: already");
        for i in 0..1_000 {
            read(&mut device, now(10 + i), 100 + i * 7 % 50);
            if i % 3 == 0 {
                assert_eq!(
                    read(&mut device, now(10 + i), 5).served_by,
                    ServedBy::CacheHit
                );
            }
        }
        assert!(
            device.is_cached(Lpn(5)) && device.is_cached(Lpn(6)),
            "{name}"
        );
        assert_eq!(
            (device.pinned_pages(), device.cached_pages()),
            (2, 4),
            "{name}"
        );
        let full = Refused::SetPinned {
            lpn: Lpn(7),
            limit: 2,
            ways: 4,
        };
        assert_eq!(
            command(&mut device, 2_000, Command::Pin(Lpn(7))),
            Err(full),
            "{name}"
        );
        assert!(
            full.to_string()
                .starts_with("page L7 cannot be pinned: 2 of the 4 pages")
        );
        assert_eq!(
            command(&mut device, 2_000, Command::Unpin(Lpn(5))),
            Ok(true),
            "{name}"
        );
        let again = Err(Refused::NotPinned(Lpn(5)));
        assert_eq!(
            command(&mut device, 2_000, Command::Unpin(Lpn(5))),
            again,
            "{name}"
        );
        for i in 0..60 {
            read(&mut device, now(3_000 + i), 200 + i);
        }
        assert!(device.is_cached(Lpn(6)), "{name}");
        assert_eq!(device.balance(), Ok(()), "{name}");
    }
}

#[test]
fn an_unpinned_page_leaves_like_a_newcomer() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    command(&mut device, 0, Command::Pin(Lpn(0))).unwrap();
    for lpn in 1..4 {
        read(&mut device, now(lpn), lpn);
    }
    command(&mut device, 5, Command::Unpin(Lpn(0))).unwrap();
    for (ms, leaves) in [(6, 1), (7, 2), (8, 3), (9, 0)] {
        assert!(device.is_cached(Lpn::of(leaves)));
        read(&mut device, now(ms), 100 + ms);
        assert!(!device.is_cached(Lpn::of(leaves)), "page {leaves}");
    }
}

#[test]
fn pinning_is_bounded_per_set() {
    let mut device = device(&[("cache.capacity", "16KiB"), ("cache.ways", "2")]);
    assert_eq!(command(&mut device, 0, Command::Pin(Lpn(0))), Ok(true));
    let refused = Refused::SetPinned {
        lpn: Lpn(2),
        limit: 1,
        ways: 2,
    };
    assert_eq!(command(&mut device, 1, Command::Pin(Lpn(2))), Err(refused));
    assert_eq!(
        command(&mut device, 1, Command::Pin(Lpn(1))),
        Ok(true),
        "the other set"
    );
    assert_eq!(device.stats().refused, 1);
}

#[test]
fn a_direct_mapped_cache_pins_nothing() {
    let mut device = device(&[("cache.capacity", "16KiB"), ("cache.ways", "1")]);
    let refused = Refused::SetPinned {
        lpn: Lpn(0),
        limit: 0,
        ways: 1,
    };
    assert_eq!(command(&mut device, 0, Command::Pin(Lpn(0))), Err(refused));
    assert!(
        !device.is_cached(Lpn(0)),
        "refused before anything was done"
    );
}

#[test]
fn a_prefetch_brings_a_page_in_or_says_why_not() {
    let mut device = device(&[("mshr.entries", "1")]);
    let done = device.command(Ps::ZERO, Command::Prefetch(Lpn(3)), &mut ());
    assert_eq!(
        done,
        Ok(Done {
            at: MISS,
            changed: true
        })
    );
    let again = device.command(Ps(1), Command::Prefetch(Lpn(3)), &mut ());
    assert_eq!(
        again,
        Ok(Done {
            at: MISS,
            changed: false
        })
    );
    let full = device.command(Ps(2), Command::Prefetch(Lpn(4)), &mut ());
    assert_eq!(full, Err(Refused::NoRoom(Lpn(4))));
    let completion = read(&mut device, MISS, 3);
    assert!(completion.was_prefetched && completion.served_by == ServedBy::CacheHit);
    let beyond = Refused::NotOnDevice(4_096, 4_096);
    assert_eq!(
        command(&mut device, 5, Command::Prefetch(Lpn(4_096))),
        Err(beyond)
    );
    assert_eq!(device.stats().refused, 2);
}

#[test]
fn an_evicted_page_is_programmed_if_it_was_written_and_unmapped() {
    let mut device = device(&[]);
    let mut host = Recorder {
        written: vec![2],
        ..Recorder::default()
    };
    for (lpn, op) in [(0, Op::Read), (1, Op::Write), (2, Op::Read)] {
        device.access(
            now(lpn),
            Request {
                addr: Lpn::of(lpn).addr(PAGE_BYTES),
                op,
            },
            &mut host,
        );
    }
    for (lpn, programs) in [(0, 0), (1, 1), (2, 2)] {
        let done = device.command(now(5), Command::Evict(Lpn::of(lpn)), &mut host);
        assert_eq!(
            done,
            Ok(Done {
                at: now(5),
                changed: true
            })
        );
        assert_eq!(device.stats().host_programs, programs);
        assert!(!device.is_cached(Lpn::of(lpn)));
    }
    assert_eq!(host.unmapped, [0, 1, 2]);
    assert_eq!(
        command(&mut device, 6, Command::Evict(Lpn(0))),
        Err(Refused::NotCached(Lpn(0)))
    );
    read(&mut device, now(7), 9);
    let in_flight = device.command(now(7), Command::Evict(Lpn(9)), &mut host);
    assert_eq!(in_flight, Err(Refused::InFlight(Lpn(9), now(7) + MISS)));
    command(&mut device, 8, Command::Pin(Lpn(9))).unwrap();
    assert_eq!(
        command(&mut device, 9, Command::Evict(Lpn(9))),
        Err(Refused::Pinned(Lpn(9)))
    );
    assert_eq!(device.stats().command_evictions, 3);
}

#[test]
fn a_flushed_page_is_programmed_once_and_stays() {
    let mut device = device(&[("cache.capacity", "4KiB")]);
    write(&mut device, now(0), 1);
    assert_eq!(command(&mut device, 1, Command::Flush(Lpn(1))), Ok(true));
    assert_eq!(command(&mut device, 2, Command::Flush(Lpn(1))), Ok(false));
    assert!(device.is_cached(Lpn(1)));
    read(&mut device, now(3), 2);
    let stats = device.stats();
    assert_eq!(
        (stats.flushes, stats.host_programs, stats.dirty_evictions),
        (1, 1, 0)
    );
    assert_eq!(
        command(&mut device, 4, Command::Flush(Lpn(1))),
        Err(Refused::NotCached(Lpn(1)))
    );
    write(&mut device, now(5), 2);
    let mut host = Recorder::default();
    device
        .command(now(6), Command::Flush(Lpn(2)), &mut host)
        .unwrap();
    assert_eq!(host.unmapped, [2], "the host must see the next store");
}

#[test]
fn a_discard_ends_a_pin() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    command(&mut device, 0, Command::Pin(Lpn(0))).unwrap();
    command(&mut device, 0, Command::Pin(Lpn(1))).unwrap();
    device.discard(now(1), Lpn(0));
    assert_eq!(device.pinned_pages(), 1);
    assert_eq!(command(&mut device, 2, Command::Pin(Lpn(2))), Ok(true));
}

/// A store to a page on its way: what it left can be programmed once the rest of the page is there.
#[test]
fn a_flush_of_a_page_on_its_way_waits_for_the_rest() {
    const PROGRAM: Ps = Ps::from_us(200);
    let mut device = device(&[("nand.channels", "1"), ("nand.dies", "1")]);
    let there = write(&mut device, now(1), 5).done_at;
    assert_eq!(there, now(1) + MISS);
    let soon = now(1) + Ps::from_us(1);
    let done = device.command(soon, Command::Flush(Lpn(5)), &mut ());
    assert!(done.is_ok_and(|done| done.changed));
    // Until then the one die works for others, and then for the program.
    let before = read(&mut device, soon, 9).done_at;
    assert_eq!(before, there + READ);
    let behind = read(&mut device, there, 10).done_at;
    assert_eq!(behind, there - HIT + READ + PROGRAM + READ + HIT);
    assert_eq!(device.stats().flushes, 1);
}

fn block(op: BlockOp, lpn: u64, count: u64) -> BlockRequest {
    BlockRequest::new(op, Lpn::of(lpn), count)
}

#[test]
fn a_block_read_takes_cached_pages_from_the_cache() {
    let mut device = device(&[]);
    write(&mut device, now(0), 0);
    write(&mut device, now(0), 1);
    let all_cached = device
        .block(now(1), block(BlockOp::Read, 0, 2), &mut ())
        .unwrap();
    assert_eq!((all_cached.done_at, all_cached.cached), (now(1) + HIT, 2));
    let reads = device.stats().flash_reads;
    let mixed = device
        .block(now(2), block(BlockOp::Read, 0, 10), &mut ())
        .unwrap();
    assert_eq!((mixed.done_at, mixed.cached), (now(2) + READ + HIT, 2));
    assert_eq!(device.stats().flash_reads - reads, 8);
    assert!(
        !device.is_cached(Lpn(5)),
        "the door does not fill the cache"
    );
    // 64 dies: the 65th page waits for the first.
    let wide = device
        .block(now(3), block(BlockOp::Read, 100, 65), &mut ())
        .unwrap();
    assert_eq!(wide.done_at, now(3) + READ * 2 + HIT);
    let in_flight = read(&mut device, now(4), 7).done_at;
    let waits = device
        .block(now(4) + Ps(1), block(BlockOp::Read, 7, 1), &mut ())
        .unwrap();
    assert_eq!(waits.done_at, in_flight);
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_block_write_ends_the_cached_copy_and_its_dirt() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    write(&mut device, now(0), 0);
    command(&mut device, 1, Command::Pin(Lpn(1))).unwrap();
    write(&mut device, now(1), 1);
    let mut host = Recorder {
        written: vec![0, 1],
        ..Recorder::default()
    };
    let done = device
        .block(now(2), block(BlockOp::Write, 0, 4), &mut host)
        .unwrap();
    assert_eq!((done.done_at, done.cached), (now(2) + HIT, 2));
    assert_eq!(host.unmapped, [0, 1]);
    assert!(
        !device.is_cached(Lpn(0)) && device.is_cached(Lpn(1)),
        "a pinned page stays"
    );
    assert_eq!(device.stats().host_programs, 4);
    command(&mut device, 3, Command::Unpin(Lpn(1))).unwrap();
    assert_eq!(command(&mut device, 4, Command::Evict(Lpn(1))), Ok(true));
    assert_eq!(device.stats().host_programs, 4, "the pinned copy is clean");
    // The programs run on: a read of the die behind them waits.
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_block_trim_ends_pages_wherever_they_are() {
    let mut device = device(&[]);
    write(&mut device, now(0), 0);
    let mut host = Recorder::default();
    device
        .block(now(1), block(BlockOp::Trim, 0, 3), &mut host)
        .unwrap();
    assert_eq!(host.unmapped, [0]);
    for lpn in 0..3 {
        let at = now(2 + lpn);
        assert_eq!(
            read(&mut device, at, lpn).done_at,
            at + HIT,
            "nothing to read in flash"
        );
    }
    let stats = device.stats();
    assert_eq!(
        (stats.block_trims, stats.host_programs, stats.flash_reads),
        (3, 0, 1)
    );
    assert_eq!(device.balance(), Ok(()));
}

/// The device sees one of the stores; the host has the other, and loses its mapping.
#[test]
fn a_block_flush_programs_what_was_written_and_waits() {
    let mut device = device(&[]);
    write(&mut device, now(0), 0);
    read(&mut device, now(0), 1);
    read(&mut device, now(0), 2);
    write(&mut device, now(0), 9);
    let mut host = Recorder {
        written: vec![1],
        ..Recorder::default()
    };
    let at = now(2);
    let done = device.block(at, block(BlockOp::Flush, 0, 8), &mut host);
    // Each on a die of its own.
    let (done_at, cached) = (at + Ps::from_us(200), 3);
    assert_eq!(done, Ok(BlockCompletion { done_at, cached }));
    assert_eq!(host.unmapped, [0, 1, 2]);
    let counts = |device: &Device| {
        let stats = device.stats();
        (stats.block_flushes, stats.flushes, stats.host_programs)
    };
    assert_eq!(counts(&device), (1, 2, 2));
    assert!(device.is_cached(Lpn(0)) && device.is_cached(Lpn(1)));
    // All of the device: only page 9 is left.
    let all = block(BlockOp::Flush, 0, device.pages());
    device.block(now(3), all, &mut ()).unwrap();
    assert_eq!(counts(&device), (2, 3, 3));
    let again = device.block(now(4), all, &mut ()).unwrap();
    assert_eq!((again.done_at, again.cached), (now(4) + HIT, 4));
    assert_eq!(counts(&device), (3, 3, 3));
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn a_block_request_past_the_end_does_nothing() {
    let mut device = device(&[]);
    for (lpn, count) in [(4_095, 2), (u64::from(u32::MAX), 1), (0, u64::MAX)] {
        let refused = device.block(now(0), block(BlockOp::Write, lpn, count), &mut ());
        assert!(
            matches!(refused, Err(Refused::NotOnDevice(_, 4_096))),
            "{refused:?}"
        );
    }
    assert_eq!(
        (device.stats().block_writes, device.stats().refused),
        (0, 3)
    );
}

/// Two channels of two dies: what is written to one die waits there, and nowhere else.
#[test]
fn a_write_goes_to_the_plane_that_the_host_names() {
    let geometry = [("nand.channels", "2"), ("nand.dies", "2")];
    let place = |channel, die| PlaneAddress {
        channel,
        chip: 0,
        die,
        plane: 0,
    };
    let write_to = |place| BlockRequest {
        placement: Placement {
            place: Some(place),
            stream: 0,
        },
        ..block(BlockOp::Write, 0, 8)
    };
    let mut own = device(&geometry);
    let refused = own.block(now(0), write_to(place(0, 0)), &mut ());
    assert_eq!(refused, Err(Refused::DevicePlaces));
    // Where pages are read from or end is no question of placement.
    for op in [BlockOp::Read, BlockOp::Trim] {
        let request = BlockRequest {
            op,
            ..write_to(place(9, 9))
        };
        assert!(own.block(now(0), request, &mut ()).is_ok(), "{op:?}");
    }

    let mut managed = device(&[&geometry[..], &[("ftl.placement", "host")]].concat());
    let there = place(1, 1);
    for none in [
        place(2, 0),
        place(0, 2),
        PlaneAddress { chip: 1, ..there },
        PlaneAddress { plane: 1, ..there },
    ] {
        let beyond = managed.block(now(0), write_to(none), &mut ());
        assert_eq!(beyond, Err(Refused::NoSuchPlace(none)));
    }
    assert_eq!(managed.stats().block_writes, 0);
    managed.block(now(1), write_to(there), &mut ()).unwrap();
    let waits: Vec<bool> = (100..104)
        .map(|lpn| read(&mut managed, now(1), lpn).done_at > now(1) + MISS)
        .collect();
    // The pages lie on the dies in turn: channel 0, channel 1, then the second dies of both.
    assert_eq!(waits, [false, false, false, true]);
    assert_eq!(managed.stats().placements_missed, 0);
    assert_eq!(managed.balance(), Ok(()));
}

#[test]
fn books_balance_with_the_map_in_flash() {
    let pairs = [
        ("ftl.mapping", "dftl"),
        ("ftl.mapping_cache", "4KiB"),
        ("cache.capacity", "64KiB"),
    ];
    let mut device = device(&pairs);
    for i in 0..4_000 {
        write(&mut device, now(i), i * 1_531 % 4_096);
        assert_eq!(device.balance(), Ok(()));
    }
    assert!(device.stats().translation_programs > 100);
}
