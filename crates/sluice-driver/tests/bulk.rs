//! Arrays of accesses are the accesses of the closed loop, and keep their time between them.

use sluice_driver::{Access, Accesses, Bulk, Options, run};
use sluice_model::{Device, DeviceConfig};
use sluice_units::{LINE_BYTES, PAGE_BYTES, Ps, Rng};

const HIT: Ps = Ps::from_ns(150);
/// An idle miss: 40 us of NAND and 150 ns of controller.
const MISS: Ps = Ps::from_ns(40_150);

fn device() -> Device {
    let mut raw = DeviceConfig::builder();
    raw.set("device.capacity", "16MiB").unwrap();
    raw.set("cache.capacity", "1MiB").unwrap();
    Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap()
}

fn loads(addresses: &[u64]) -> Accesses<'_> {
    Accesses {
        addresses,
        writes: None,
        sizes: None,
        at: None,
    }
}

fn never(_: u64) -> bool {
    false
}

#[test]
fn arrays_are_the_accesses_of_one_requester() {
    let mut rng = Rng::stream(5, "bulk");
    let addresses: Vec<u64> = (0..5_000).map(|_| rng.below(4 << 20)).collect();
    let writes: Vec<bool> = addresses.iter().map(|_| rng.below(3) == 0).collect();
    let each = addresses.iter().zip(&writes);
    let stream = each.map(|(addr, write)| Access {
        addr: *addr,
        write: *write,
    });
    let mut other = device();
    let told = run(&mut other, vec![stream], Options::default());

    let mut bulk = Bulk::new(device());
    let mut took = Ps::ZERO;
    for (addresses, writes) in addresses.chunks(700).zip(writes.chunks(700)) {
        let given = Accesses {
            writes: Some(writes),
            ..loads(addresses)
        };
        took = bulk
            .access(given, never)
            .into_iter()
            .fold(took, |a, b| a + b);
    }
    assert_eq!(bulk.counted(), &told);
    assert_eq!(bulk.device().stats(), other.stats());
    assert_eq!((took, bulk.now()), (told.sim_time, told.sim_time));
}

#[test]
fn an_access_asks_for_each_line_that_it_touches() {
    let line = LINE_BYTES;
    for (addr, bytes, lines) in [
        (0, 1, 1),
        (0, line, 1),
        (0, line + 1, 2),
        (line - 1, 1, 1),
        (line - 1, 2, 2),
        (line - 1, line + 1, 2),
        (line - 1, line + 2, 3),
        (PAGE_BYTES - 1, PAGE_BYTES + 2, 66),
    ] {
        let mut bulk = Bulk::new(device());
        let (addresses, sizes) = ([addr], [bytes]);
        let given = Accesses {
            sizes: Some(&sizes),
            ..loads(&addresses)
        };
        bulk.access(given, never);
        assert_eq!(bulk.counted().accesses, lines, "{bytes} bytes at {addr}");
    }
}

#[test]
fn what_has_a_time_of_its_own_is_made_then() {
    let mut bulk = Bulk::new(device());
    let addresses = [0, PAGE_BYTES, 0];
    let at = [Ps::ZERO, Ps::from_ns(10), Ps::from_ms(1)];
    let given = Accesses {
        at: Some(&at),
        ..loads(&addresses)
    };
    // The second is under way with the first, on another channel.
    assert_eq!(bulk.access(given, never), [MISS, MISS, HIT]);
    assert_eq!((bulk.made(), bulk.now()), (at[2], at[2] + HIT));
    assert_eq!(bulk.access(loads(&[0]), never), [HIT]);
    assert_eq!(bulk.made(), at[2] + HIT);
}

#[test]
fn it_stops_where_it_is_told_to() {
    let addresses = vec![0; 200_000];
    let mut bulk = Bulk::new(device());
    let mut asked = Vec::new();
    let took = bulk.access(loads(&addresses), |done| {
        asked.push(done);
        done >= 131_072
    });
    assert_eq!(asked, [0, 65_536, 131_072]);
    assert_eq!((took.len(), bulk.counted().accesses), (131_072, 131_072));
}
