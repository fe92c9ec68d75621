//! The flash array through the device: what its parameters change for the host.

use sluice_model::{ConfigError, Device, DeviceConfig};
use sluice_testkit::rig::{device, read};
use sluice_units::{Lpn, Ps};

const HIT: Ps = Ps::from_ns(150);
const READ: Ps = Ps::from_us(40);
const PROGRAM: Ps = Ps::from_us(200);

const ONE_DIE: [(&str, &str); 2] = [("nand.channels", "1"), ("nand.dies", "1")];

/// Two programs asked for at once of a single die, and a read 50 us later.
fn read_behind_programs(pairs: &[(&str, &str)]) -> (Device, Ps) {
    let mut device = device(&[&ONE_DIE[..], pairs].concat());
    (0..2).for_each(|lpn| device.write_back(Ps::ZERO, Lpn::of(lpn)));
    let completion = read(&mut device, Ps::from_us(50), 9);
    (device, completion.done_at)
}

#[test]
fn the_order_and_suspension_decide_what_a_read_waits_for() {
    let first = ("nand.priority", "read_first");
    let (_, fifo) = read_behind_programs(&[]);
    assert_eq!(fifo, PROGRAM * 2 + READ + HIT);
    let (_, waits) = read_behind_programs(&[first]);
    assert_eq!(waits, PROGRAM + READ + HIT);
    let suspend = [
        first,
        ("nand.suspend", "program"),
        ("nand.suspend_latency", "5us"),
    ];
    let (device, suspends) = read_behind_programs(&suspend);
    assert_eq!(suspends, Ps::from_us(50 + 5) + READ + HIT);
    assert_eq!(device.stats().suspensions, 1);
    let parts = device.stats().parts;
    assert_eq!(parts.flash_queue, Ps::from_us(5));
    assert_eq!(parts.flash_service, READ);
}

/// The pages of a cell take turns, each with the time of its type.
#[test]
fn a_cell_has_as_many_types_of_pages_as_bits() {
    let all = [
        ("nand.read", "10us"),
        ("nand.read_csb", "20us"),
        ("nand.read_msb", "30us"),
        ("nand.read_tsb", "40us"),
    ];
    for (cell, types) in [
        ("slc", &[0][..]),
        ("mlc", &[0, 2]),
        ("tlc", &[0, 1, 2]),
        ("qlc", &[0, 1, 2, 3]),
    ] {
        let mut given = vec![("nand.cell", cell), ("prefetch.policy", "none")];
        given.extend(types.iter().map(|place| all[*place]));
        let mut device = device(&[&ONE_DIE[..], &given].concat());
        // Pages that are written one after the other lie so in their block.
        (0..24).for_each(|lpn| device.write_back(Ps::from_ms(lpn), Lpn::of(lpn)));
        let time = |lpn| {
            let at = Ps::from_ms(1_000 + lpn);
            (read(&mut device, at, lpn).done_at - at - HIT).as_us()
        };
        let times: Vec<u64> = (0..24).map(time).collect();
        let expected: Vec<u64> = types.iter().map(|place| 10 * (1 + *place as u64)).collect();
        let turns = |from: usize| {
            let cycle = expected.iter().cycle().skip(from);
            cycle.take(24).copied().collect::<Vec<u64>>()
        };
        assert!(
            (0..types.len()).any(|from| times == turns(from)),
            "{cell}: {times:?}"
        );
        // A type that it has not cannot be given.
        for (place, (key, value)) in all.iter().enumerate() {
            let mut raw = DeviceConfig::builder();
            raw.set("nand.cell", cell).unwrap();
            raw.set(key, value).unwrap();
            assert_eq!(
                DeviceConfig::new(&raw).is_ok(),
                types.contains(&place),
                "{cell} {key}"
            );
        }
    }
}

#[test]
fn retries_are_counted() {
    let mut device = device(&[&ONE_DIE[..], &[("nand.retry_reads", "1")]].concat());
    for lpn in 0..3 {
        let now = Ps::from_ms(1 + lpn);
        assert_eq!(
            read(&mut device, now, lpn).done_at,
            now + READ * (lpn + 1) + HIT
        );
    }
    assert_eq!(device.stats().read_retries, 1 + 2);
}

#[test]
fn more_bad_blocks_than_a_plane_can_spare_are_refused_in_a_line() {
    let mut raw = DeviceConfig::builder();
    raw.set("nand.bad_blocks", "2%").unwrap();
    let config = DeviceConfig::new(&raw).unwrap();
    assert_eq!(config.nand.bad_blocks, 64 * 1_644 / 50);
    raw.set("nand.bad_blocks", "10%").unwrap();
    let message = DeviceConfig::new(&raw).unwrap_err().to_string();
    // 10 % of 64 x 1644 blocks are 10521: 165 on the worst plane. 16 are kept free, 2 are open.
    for part in [
        "nand.bad_blocks",
        "ftl.overprovision",
        "ftl.gc_threshold",
        "165 bad blocks of a plane and the 18 that",
        "its 108 spare ones",
        "at most 90 be bad",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains('\n'));
}

#[test]
fn what_cannot_be_together_is_refused_in_a_line() {
    for (pairs, keys) in [
        (
            &[("nand.suspend", "both")][..],
            ["nand.suspend", "nand.priority"],
        ),
        (&[("nand.read_msb", "60us")], ["nand.read_msb", "nand.cell"]),
        (
            &[("nand.cell", "mlc"), ("nand.program_csb", "1ms")],
            ["nand.program_csb", "nand.cell"],
        ),
    ] {
        let mut raw = DeviceConfig::builder();
        pairs
            .iter()
            .for_each(|(key, value)| raw.set(key, value).unwrap());
        let error = DeviceConfig::new(&raw).unwrap_err();
        let ConfigError::Impossible { settings, .. } = &error else {
            panic!("{error}");
        };
        let named: Vec<&str> = settings.iter().map(|(key, _)| *key).collect();
        assert_eq!(named, keys);
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
