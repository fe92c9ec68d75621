//! Published hit ratios, closed forms of time, and repeatability.

use sluice_driver::{Access, Options, SimResult, Visibility, run};
use sluice_model::{Device, DeviceConfig};
use sluice_units::{ClockEnd, Lpn, PAGE_BYTES, Ps, Rng};

const CACHE_PAGES: u64 = 384;
/// 1.667 times the cache, the ratio of Cylon's 8 GB working set to its 4.8 GB cache.
const PAGES: u64 = 640;
const PASSES: u64 = 5;

fn device(pairs: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    raw.set("device.capacity", "4MiB").unwrap();
    raw.set("cache.capacity", "1536KiB").unwrap();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

fn sweep(stride: u64, passes: u64) -> impl Iterator<Item = Access> {
    let per_pass = PAGES * 4096 / stride;
    (0..passes * per_pass).map(move |i| Access {
        addr: i % per_pass * stride,
        write: false,
    })
}

/// Hits in hundredths of a percent of all accesses after the first pass.
fn steady_hits(policy: &str, stride: u64, visibility: Visibility) -> u64 {
    let mut device = device(&[("cache.policy", policy)]);
    let interval = PAGES * 4096 / stride;
    let options = Options {
        visibility,
        interval,
        ..Options::default()
    };
    let result = run(&mut device, vec![sweep(stride, PASSES)], options).unwrap();
    let steady = &result.intervals[1..];
    assert_eq!(steady.len() as u64, PASSES - 1);
    let hits: u64 = steady.iter().map(|interval| interval.hits).sum();
    let accesses: u64 = steady.iter().map(|interval| interval.accesses).sum();
    hits * 10_000 / accesses
}

/// Cylon Table 3. Closed forms: a sweep over more pages than FIFO holds finds none of them again,
/// so a page misses once per pass; LIFO keeps all of the first pages but one.
#[test]
fn table_3_of_cylon_comes_out_with_hits_visible_and_hidden() {
    for visibility in [Visibility::All, Visibility::Misses] {
        for (stride, published) in [(4096, 0), (1024, 7_500), (512, 8_750)] {
            for policy in ["fifo", "clock"] {
                let hits = steady_hits(policy, stride, visibility);
                assert_eq!(hits, published, "{policy}, {stride}, {visibility:?}");
            }
        }
        for (stride, published) in [(4096u64, 6_000u64), (1024, 9_000), (512, 9_500)] {
            let hits = steady_hits("lifo", stride, visibility);
            assert!(
                hits.abs_diff(published) <= 50,
                "lifo, {stride}, {visibility:?}: {hits}"
            );
            let per_page = 4096 / stride;
            let missed = (PAGES - CACHE_PAGES + 1) * 10_000 / (PAGES * per_page);
            assert!(
                hits.abs_diff(10_000 - missed) <= 1,
                "closed form at {stride}: {hits}"
            );
        }
    }
}

/// With hits hidden, LRU and CLOCK see nothing but insertions: they are FIFO.
#[test]
fn policies_that_use_hits_are_fifo_without_them() {
    let run_with = |policy, visibility| {
        let mut device = device(&[("cache.policy", policy)]);
        let mut rng = Rng::stream(3, "zipf-like");
        let stream = (0..50_000).map(move |_| {
            let bound = 1 + rng.below(PAGES);
            Access {
                addr: rng.below(bound) * 4096,
                write: rng.below(3) == 0,
            }
        });
        let options = Options {
            visibility,
            keep_traps: true,
            ..Options::default()
        };
        run(&mut device, vec![stream], options).unwrap().traps
    };
    let fifo = run_with("fifo", Visibility::Misses);
    assert_eq!(run_with("lru", Visibility::Misses), fifo);
    assert_eq!(run_with("clock", Visibility::Misses), fifo);
    assert_eq!(
        run_with("fifo", Visibility::All),
        fifo,
        "FIFO does not look at hits"
    );
    assert!(
        run_with("lru", Visibility::All).len() < fifo.len(),
        "hits are worth something"
    );
}

/// Counts of the rest of a run are those of all less those of its beginning.
#[test]
fn what_warms_the_device_is_not_counted() {
    let of = |passes, warmup| {
        let mut device = device(&[("cache.capacity", "2MiB")]);
        let options = Options {
            warmup,
            ..Options::default()
        };
        let result = run(&mut device, vec![sweep(4096, passes)], options).unwrap();
        let counted = device.stats().since(&result.before);
        assert_eq!(
            (counted.misses, counted.accesses()),
            (result.misses, result.accesses)
        );
        (result, counted.first_misses)
    };
    let ((all, all_first), (start, start_first)) = (of(3, 0), of(1, 0));
    let (rest, rest_first) = of(3, PAGES);
    assert_eq!((all_first, start_first, rest_first), (PAGES, PAGES, 0));
    assert_eq!(rest.misses, all.misses - start.misses);
    assert_eq!(rest.accesses, 2 * PAGES);
    assert_eq!(rest.latency.count(), 2 * PAGES);
    assert_eq!(rest.sim_time, all.sim_time);
    assert_eq!(rest.began, start.sim_time);
    // The same accesses, and other figures.
    assert_ne!(rest.hash, all.hash);
    let (none, _) = of(1, PAGES);
    assert_eq!(
        (none.accesses, none.misses, none.latency.count()),
        (0, 0, 0)
    );
}

#[test]
fn one_requester_takes_exactly_what_its_accesses_take() {
    let mut device = device(&[("cache.policy", "lifo")]);
    let options = Options {
        visibility: Visibility::Misses,
        ..Options::default()
    };
    let result = run(&mut device, vec![sweep(1024, 3)], options).unwrap();
    let miss = Ps::from_us(40) + Ps::from_ns(150);
    let expected = miss * result.misses + Ps::from_ns(150) * result.hits();
    assert_eq!(result.sim_time, expected);
    assert_eq!(result.trapped, result.misses);
    assert!(result.traps.is_empty(), "nobody asked for them");
    // All are equal, and a percentile lies between the least and the greatest.
    assert_eq!(result.trap_latency.percentile(500_000), miss);
    assert_eq!(result.trap_latency.mean(), miss);
    assert_eq!(result.latency.count(), result.accesses);
    assert_eq!(result.latency.min(), Ps::from_ns(150));
}

/// Stores go to the log: what waits for no page is no trap.
#[test]
fn an_access_that_the_write_log_serves_is_no_trap() {
    let mut device = device(&[("write_log.capacity", "1MiB")]);
    let stores = (0..100).map(|i| Access {
        addr: i * PAGE_BYTES,
        write: true,
    });
    let loads = (99..101).map(|i| Access {
        addr: i * PAGE_BYTES,
        write: false,
    });
    let stream = stores.chain(loads);
    let result = run(&mut device, vec![stream], Options::default()).unwrap();
    assert_eq!(device.stats().write_log.served(), 101);
    assert_eq!((result.misses, result.trapped), (1, 1));
    assert_eq!(result.trap_latency.count(), 1);
}

/// A page that is on its way traps again for another requester, and maps for both at once.
#[test]
fn a_page_in_flight_is_not_mapped_yet() {
    let mut device = device(&[]);
    let two = || {
        vec![
            Access {
                addr: 0,
                write: false,
            },
            Access {
                addr: 64,
                write: false,
            },
        ]
    };
    let options = Options {
        visibility: Visibility::Misses,
        keep_traps: true,
        ..Options::default()
    };
    let result = run(
        &mut device,
        vec![two().into_iter(), two().into_iter()],
        options,
    )
    .unwrap();
    assert_eq!(result.traps, [0, 0]);
    assert_eq!((result.misses, result.mapped_hits), (1, 2));
    assert_eq!(device.stats().mshr_merges, 1);
    assert_eq!(result.sim_time, Ps::from_us(40) + Ps::from_ns(300));
}

/// The simulated MMU reports writes that the device did not see, so both views write back alike.
#[test]
fn hidden_writes_are_found_at_eviction() {
    let dirty = |visibility| {
        let mut device = device(&[]);
        let touch = |page: u64| [false, page.is_multiple_of(2)].map(move |write| (page, write));
        let stream = (0..PAGES).flat_map(touch);
        let stream = stream.map(|(page, write)| Access {
            addr: Lpn::of(page).addr(PAGE_BYTES),
            write,
        });
        run(
            &mut device,
            vec![stream],
            Options {
                visibility,
                ..Options::default()
            },
        )
        .unwrap();
        *device.stats()
    };
    let (all, misses) = (dirty(Visibility::All), dirty(Visibility::Misses));
    assert_eq!(all.dirty_evictions, (PAGES - CACHE_PAGES) / 2);
    assert_eq!(misses.dirty_evictions, all.dirty_evictions);
    assert_eq!(misses.host_programs, all.host_programs);
}

/// What was written before a page left must not count when it comes back and is only read.
#[test]
fn a_written_page_is_clean_when_it_comes_back() {
    let mut device = device(&[("cache.capacity", "4KiB")]);
    let pages = [
        (0, false),
        (0, true),
        (1, false),
        (0, false),
        (1, false),
        (0, false),
    ];
    let stream = pages.map(|(page, write)| Access {
        addr: Lpn::of(page).addr(PAGE_BYTES),
        write,
    });
    let options = Options {
        visibility: Visibility::Misses,
        ..Options::default()
    };
    run(&mut device, vec![stream.into_iter()], options).unwrap();
    assert_eq!(
        (device.stats().evictions, device.stats().dirty_evictions),
        (4, 1)
    );
}

/// One page of cache: page 1 pushes page 0 out at the moment it arrives, before it is mapped.
#[test]
fn a_page_that_left_before_its_trap_ended_is_not_mapped() {
    let mut device = device(&[("cache.capacity", "4KiB")]);
    let access = |page: u64| Access {
        addr: Lpn::of(page).addr(PAGE_BYTES),
        write: false,
    };
    let streams = vec![
        vec![access(0), access(0)].into_iter(),
        vec![access(1)].into_iter(),
    ];
    let options = Options {
        visibility: Visibility::Misses,
        keep_traps: true,
        ..Options::default()
    };
    let result = run(&mut device, streams, options).unwrap();
    assert_eq!(result.traps, [0, 1, 0]);
    assert_eq!(result.mapped_hits, 0);
}

fn mixed(seed: u64) -> SimResult {
    let pairs = [
        ("cache.policy", "s3fifo"),
        ("prefetch.policy", "nextn"),
        ("prefetch.degree", "3"),
        ("nand.transfer", "3us"),
        ("nand.channels", "2"),
        ("nand.dies", "2"),
        ("nand.pages_per_block", "16"),
    ];
    let mut device = device(&pairs);
    let stream = |requester: u64| {
        let mut rng = Rng::stream(seed, &format!("requester {requester}"));
        (0..5_000).map(move |_| {
            let bound = 1 + rng.below(PAGES);
            Access {
                addr: rng.below(bound) * 4096,
                write: rng.below(2) == 0,
            }
        })
    };
    let options = Options {
        visibility: Visibility::Misses,
        interval: 1_000,
        think: Ps(700),
        ..Options::default()
    };
    run(&mut device, (0..4).map(stream).collect(), options).unwrap()
}

/// The value is pinned: a change of any decision or time anywhere in the model shows here.
#[test]
fn a_run_is_repeatable() {
    let first = mixed(11);
    assert_eq!(first, mixed(11));
    assert_ne!(first.hash, mixed(12).hash);
    assert_eq!(
        first.hash.value(),
        0x3581_b786_bddc_2dfd,
        "{:#018x}",
        first.hash
    );
}

/// Times that saturate at the end of the clock stood still, and the run went on with them.
#[test]
fn a_run_ends_with_the_clock() {
    let after = |think, accesses| {
        let options = Options {
            think,
            ..Options::default()
        };
        let stream = sweep(1024, 1).take(accesses);
        run(&mut device(&[]), vec![stream], options).map(|result| result.accesses)
    };
    let half = Ps(Ps::LAST.0 / 2);
    assert_eq!(after(half, 2), Ok(2));
    assert_eq!(after(half, 3), Err(ClockEnd));
    assert_eq!(after(Ps::MAX, 1), Ok(1));
    assert_eq!(after(Ps::MAX, 2), Err(ClockEnd));
    let told = ClockEnd.to_string();
    assert!(
        told.starts_with("the simulated clock ends after 106 days"),
        "{told}"
    );
}
