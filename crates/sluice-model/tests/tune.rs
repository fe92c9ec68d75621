//! Parameters that change while the device runs: what is cached stays, and what comes is served
//! as by a device that was made so.

use proptest::prelude::*;
use sluice_model::{
    Command, Device, DeviceConfig, DeviceError, EVICTIONS, Hint, Op, PARAMS, PREFETCHES, Request,
    ServedBy, is_tunable,
};
use sluice_testkit::cases;
use sluice_testkit::rig::{MISS, Recorder, device, read};
use sluice_units::{Lpn, PAGE_BYTES, Ps, Rng};

const HIT: Ps = Ps::from_ns(150);

fn tuned(device: &mut Device, key: &str, value: &str) {
    assert_eq!(device.tune(&[(key, value)], 1), Ok(true), "{key}={value}");
}

/// Reads pages one after the other, far apart in time. Returns the pages that left.
fn evictions(device: &mut Device, from_ms: u64, lpns: &[u64]) -> Vec<u64> {
    let mut host = Recorder::default();
    for (n, lpn) in lpns.iter().enumerate() {
        let request = sluice_model::Request {
            addr: Lpn::of(*lpn).addr(PAGE_BYTES),
            op: sluice_model::Op::Read,
        };
        device.access(Ps::from_ms(from_ms + n as u64), request, &mut host);
    }
    host.unmapped
}

#[test]
fn a_switch_changes_who_leaves_next() {
    let fill = |device: &mut Device| {
        evictions(device, 1, &[0, 1, 2, 3]);
        // A hit: LRU would now keep page 0, FIFO does not care.
        read(device, Ps::from_ms(9), 0);
    };
    let small = [("cache.capacity", "16KiB"), ("cache.policy", "fifo")];
    let mut stays = device(&small);
    fill(&mut stays);
    assert_eq!(evictions(&mut stays, 10, &[4, 5]), [0, 1]);

    let mut device = device(&small);
    fill(&mut device);
    tuned(&mut device, "cache.policy", "lifo");
    assert_eq!(evictions(&mut device, 10, &[4, 5]), [3, 4]);
    tuned(&mut device, "cache.policy", "lru");
    read(&mut device, Ps::from_ms(20), 0);
    // LIFO would have let 5 go first, so LRU had it as the oldest.
    assert_eq!(evictions(&mut device, 21, &[6, 7]), [5, 2]);
}

#[test]
fn latencies_hold_for_what_comes() {
    let mut device = device(&[]);
    let time = |device: &mut Device, ms, lpn| {
        let now = Ps::from_ms(ms);
        read(device, now, lpn).done_at - now
    };
    assert_eq!(time(&mut device, 1, 0), MISS);
    tuned(&mut device, "nand.read", "7us");
    assert_eq!(time(&mut device, 2, 1), Ps::from_us(7) + HIT);
    tuned(&mut device, "cache.hit_latency", "1us");
    assert_eq!(time(&mut device, 3, 1), Ps::from_us(1));
    assert_eq!(time(&mut device, 4, 2), Ps::from_us(8));
    tuned(&mut device, "device.protocol_latency", "500ns");
    assert_eq!(time(&mut device, 5, 2), Ps::from_ns(1_500));
    assert_eq!(device.balance(), Ok(()));
}

/// The third of one die's reads is estimated to take longer than the threshold.
#[test]
fn estimates_see_what_is_queued_after_a_change_of_times() {
    for key in ["nand.read", "nand.program", "nand.erase"] {
        let mut device = device(&[
            ("device.hint", "queue"),
            ("device.hint_threshold", "90us"),
            ("nand.channels", "1"),
            ("nand.dies", "1"),
        ]);
        tuned(&mut device, key, "41us");
        let hints = [0, 1, 2].map(|lpn| read(&mut device, Ps::ZERO, lpn).hint);
        assert_eq!(hints, [Hint::None, Hint::None, Hint::LongDelay], "{key}");
    }
}

#[test]
fn a_prefetcher_comes_and_goes() {
    let mut device = device(&[]);
    read(&mut device, Ps::from_ms(1), 0);
    let both = [("prefetch.policy", "nextn"), ("prefetch.degree", "2")];
    assert_eq!(device.tune(&both, 1), Ok(true));
    read(&mut device, Ps::from_ms(2), 10);
    assert_eq!(device.stats().prefetch_issued, 2);
    assert_eq!(
        read(&mut device, Ps::from_ms(3), 12).served_by,
        ServedBy::CacheHit
    );
    tuned(&mut device, "prefetch.policy", "none");
    read(&mut device, Ps::from_ms(4), 20);
    assert_eq!(device.stats().prefetch_issued, 2, "and no more");
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn pins_are_kept_over_a_switch_and_a_lower_limit() {
    let mut device = device(&[("cache.capacity", "16KiB")]);
    let pin = |device: &mut Device, lpn| {
        device
            .command(Ps::from_ms(1), Command::Pin(Lpn::of(lpn)), &mut ())
            .is_ok()
    };
    assert!(pin(&mut device, 0) && pin(&mut device, 1));
    tuned(&mut device, "cache.policy", "sieve");
    tuned(&mut device, "cache.pin_max", "25%");
    assert!(!pin(&mut device, 2));
    evictions(&mut device, 10, &[3, 4, 5, 6, 7, 8]);
    assert!(device.is_pinned(Lpn(0)) && device.is_pinned(Lpn(1)));
    assert_eq!(device.cached_pages(), 4);
    assert_eq!(device.balance(), Ok(()));
}

#[test]
fn what_cannot_change_is_refused_and_changes_nothing() {
    let mut device = device(&[]);
    let before = device.config().raw().clone();
    let refused = [
        ("device.capacity", "1GiB", "cannot change"),
        ("cache.capacity", "2MiB", "cache.policy"),
        ("cache.policy", "./policy.so", "while it runs"),
        ("cache.policy", "lur", "lru"),
        ("cache.polcy", "lru", "cache.policy"),
        ("nand.read", "5parsec", "us"),
        ("nand.channels", "16", "cannot change"),
    ];
    for (key, value, says) in refused {
        let error = device.tune(&[(key, value)], 1).expect_err(key).to_string();
        assert!(error.contains(says), "{key}={value}: {error}");
        assert_eq!(*device.config().raw(), before);
    }
    assert_eq!(
        device.tune(&[("cache.policy", "fifo")], 1),
        Ok(false),
        "it was so"
    );
    let banked =
        sluice_testkit::rig::device(&[("dram.model", "ddr4-2400"), ("dram.channels", "1")])
            .tune(&[("cache.hit_latency", "1us")], 1);
    assert!(
        matches!(banked, Err(DeviceError::Fixed { .. })),
        "{banked:?}"
    );
}

/// 70 GB were asked for by the thread that serves the control ring, which ended the program.
#[test]
fn a_table_out_of_proportion_is_refused_before_it_is_made() {
    let most = [
        ("256MiB", "16 is accepted"),
        ("1GiB", "64 is accepted"),
        ("64GiB", "1024 is accepted"),
    ];
    for (capacity, says) in most {
        let mut raw = sluice_model::DeviceConfig::builder();
        raw.set("device.capacity", capacity).expect("a size");
        raw.set("cache.capacity", "1MiB").expect("a size");
        let mut device =
            Device::new(&DeviceConfig::new(&raw).expect("a device"), 1).expect("a device");
        let huge = [
            ("prefetch.markov_pages", "268435456"),
            ("prefetch.markov_followers", "64"),
            ("prefetch.policy", "markov"),
            ("prefetch.degree", "4"),
        ];
        let before = device.config().raw().clone();
        let error = device.tune(&huge, 1).expect_err(capacity).to_string();
        for part in ["prefetch.markov_pages = 268435456", "66560 MiB", says] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        assert_eq!(*device.config().raw(), before);
        // The largest table that is accepted: 64 bytes for each page.
        let pages = |mib: u64| (mib << 20) / 64;
        let mib = says
            .split(' ')
            .next()
            .expect("a number")
            .parse()
            .expect("MiB");
        for (pages, is_accepted) in [(pages(mib), true), (pages(mib) + 4, false)] {
            let pages = pages.to_string();
            let pairs = [
                ("prefetch.markov_pages", pages.as_str()),
                ("prefetch.markov_followers", "15"),
                ("prefetch.policy", "markov"),
                ("prefetch.degree", "4"),
            ];
            assert_eq!(device.tune(&pairs, 1).is_ok(), is_accepted, "{pages}");
        }
        // A device that is made with them is refused as well.
        for (key, value) in huge {
            raw.set(key, value).expect("a value of its kind");
        }
        assert_eq!(
            DeviceConfig::new(&raw).expect_err(capacity).to_string(),
            error
        );
    }
}

#[test]
fn a_guest_gives_no_parameter_a_time_that_only_its_host_may_give() {
    let mut device = device(&[]);
    let longest = Ps::from_ms(100);
    for key in [
        "nand.read",
        "nand.erase",
        "nand.program",
        "device.protocol_latency",
    ] {
        let error = device.tune_within(&[(key, "100001us")], 1, longest);
        let error = error.expect_err(key).to_string();
        for part in [key, "100001us", "at most 100ms"] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        assert_eq!(device.tune_within(&[(key, "100ms")], 1, longest), Ok(true));
        assert_eq!(device.tune(&[(key, "10s")], 1), Ok(true), "the host may");
    }
    let hint = [("device.hint_threshold", "10s")];
    assert_eq!(
        device.tune_within(&hint, 1, longest),
        Ok(true),
        "nothing waits for it"
    );
}

#[test]
fn every_tunable_key_is_a_parameter() {
    for entry in sluice_model::tunable() {
        let prefix = entry.trim_end_matches('*');
        let known = PARAMS.iter().any(|param| param.key.starts_with(prefix));
        assert!(known, "{entry}");
    }
    assert!(is_tunable("cache.s3fifo_small") && !is_tunable("cache.s3"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Any policy after any other, any prefetcher, in the middle of anything.
    #[test]
    fn switches_lose_no_page(
        steps in proptest::collection::vec((0u64..64, 0u8..8, 0usize..64), 1..300)
    ) {
        let mut device = device(&[("cache.capacity", "64KiB"), ("cache.ways", "8")]);
        let mut now = Ps::ZERO;
        for (lpn, what, entry) in steps {
            now += Ps::from_us(17);
            let cached: Vec<bool> = (0..64).map(|lpn| device.is_cached(Lpn::of(lpn))).collect();
            let key = match what {
                0 => Some(("cache.policy", EVICTIONS[entry % EVICTIONS.len()].info.name)),
                1 => Some(("prefetch.policy", PREFETCHES[entry % PREFETCHES.len()].info.name)),
                _ => None,
            };
            if let Some((key, value)) = key {
                let pairs = [("prefetch.degree", "3"), (key, value)];
                prop_assert!(device.tune(&pairs, 1).is_ok());
                let after: Vec<bool> = (0..64).map(|lpn| device.is_cached(Lpn::of(lpn))).collect();
                prop_assert_eq!(cached, after);
            } else if what == 2 {
                let _ = device.command(now, Command::Pin(Lpn::of(lpn)), &mut ());
            } else if what == 3 {
                let _ = device.command(now, Command::Unpin(Lpn::of(lpn)), &mut ());
            } else {
                read(&mut device, now, lpn);
            }
            prop_assert_eq!(device.balance(), Ok(()));
        }
    }
}

/// A policy that is switched to before anything was cached is served as in a device made with it.
/// Some variants have to see hits, which a device otherwise does not look at.
#[test]
fn a_policy_switched_to_is_told_what_it_has_to_know() {
    let settings = [
        &[][..],
        &[("dram.model", "ddr5-4800")],
        &[("cache.track_lines", "yes")],
        &[("cache.write", "through")],
    ];
    for entry in EVICTIONS {
        let name = entry.info.name;
        let key = format!("cache.{name}_variant");
        let variants = PARAMS.iter().find(|param| param.key == key);
        let variants = variants.map_or(vec![None], |param| {
            param.kind.choices().into_iter().map(Some).collect()
        });
        for (variant, more) in variants.iter().flat_map(|v| settings.map(|more| (v, more))) {
            let of = |policy| {
                let mut given = vec![("cache.capacity", "64KiB"), ("cache.policy", policy)];
                given.extend(variant.map(|variant| (&key[..], variant)));
                given.extend(more);
                device(&given)
            };
            let (mut made, mut switched) = (of(name), of("fifo"));
            let changed = switched.tune(&[("cache.policy", name)], 1);
            assert_eq!(changed, Ok(name != "fifo"));
            let mut rng = Rng::stream(2, "switched");
            let mut hosts = [Recorder::default(), Recorder::default()];
            for step in 0..1_500 {
                let lpn = Lpn::of(rng.below(60).min(rng.below(60)));
                let op = [Op::Read, Op::Write][usize::from(rng.below(5) == 0)];
                let request = Request {
                    addr: lpn.addr(PAGE_BYTES),
                    op,
                };
                let [expected, ours] = [&mut made, &mut switched]
                    .into_iter()
                    .zip(&mut hosts)
                    .map(|(device, host)| device.access(Ps::from_us(100 * step), request, host))
                    .collect::<Vec<_>>()[..]
                else {
                    panic!("two devices");
                };
                assert_eq!(ours, expected, "{name} {variant:?} {more:?}, step {step}");
            }
            assert!(hosts[0].unmapped.len() > 150);
            assert_eq!(
                hosts[0].unmapped, hosts[1].unmapped,
                "{name} {variant:?} {more:?}"
            );
        }
    }
}

/// Nothing but a change of a policy makes it forget: the same pages leave as without other changes.
#[test]
fn a_change_of_something_else_leaves_a_policy_what_it_knows() {
    for entry in EVICTIONS {
        let name = entry.info.name;
        let run = |changes: bool| {
            let given = [("cache.capacity", "64KiB"), ("cache.policy", name)];
            let mut device = device(&given);
            let mut rng = Rng::stream(3, "others");
            let mut gone = Vec::new();
            for step in 0..100 {
                let draw = |_| rng.below(60).min(rng.below(60));
                let lpns: Vec<u64> = (0..20).map(draw).collect();
                gone.extend(evictions(&mut device, 1_000 * step, &lpns));
                let read = ["7us", "8us"][step as usize % 2];
                if changes {
                    tuned(&mut device, "nand.read", read);
                }
            }
            gone
        };
        let (gone, due) = (run(true), run(false));
        assert!(due.len() > 200, "{name}");
        assert!(gone == due, "{name}");
    }
}
