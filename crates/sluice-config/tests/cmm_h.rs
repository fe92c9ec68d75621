//! The preset against what the CMM-H case study measured, section 3.

use sluice_model::{Device, DeviceConfig, Op, Request, ServedBy};
use sluice_units::{Ps, Rng};

fn device() -> Device {
    let config = DeviceConfig::new(&sluice_config::load("cmm-h").unwrap()).unwrap();
    Device::new(&config, 1).unwrap()
}

fn access(device: &mut Device, now: Ps, addr: u64, op: Op) -> (Ps, ServedBy) {
    let completion = device.access(now, Request { addr, op }, &mut ());
    (completion.done_at - now, completion.served_by)
}

#[test]
fn hits_take_600_ns_and_misses_20_to_80_us_for_loads_and_stores() {
    for op in [Op::Read, Op::Write] {
        let mut device = device();
        let (miss, served_by) = access(&mut device, Ps::ZERO, 0, op);
        assert_eq!(served_by, ServedBy::Flash);
        assert!(miss >= Ps::from_us(20) && miss <= Ps::from_us(80), "{miss}");
        let hit = access(&mut device, Ps::from_ms(1), 64, op);
        // With its line's time on the link.
        assert_eq!(hit, (Ps(602_560), ServedBy::CacheHit));
    }
}

/// 32 threads that load from random pages out of the cache: below 700 MB/s, and near it, for some
/// of the thirteen in flight wait for the same die.
#[test]
fn misses_stay_below_700_mb_a_second() {
    let (mut device, mut rng) = (device(), Rng::stream(1, "cmm-h"));
    let mut threads = [Ps::ZERO; 32];
    let misses = 20_000;
    for _ in 0..misses {
        let next = (0..threads.len()).min_by_key(|at| threads[*at]).unwrap();
        let addr = rng.below(1 << 40) & !63;
        threads[next] += access(&mut device, threads[next], addr, Op::Read).0;
    }
    let end = threads.into_iter().max().unwrap();
    let mb_per_s = misses * 4_096 * 1_000 / end.as_ns();
    assert!((640..=700).contains(&mb_per_s), "{mb_per_s} MB/s");
    assert_eq!(device.balance(), Ok(()));
}
