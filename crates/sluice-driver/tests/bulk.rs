//! Arrays of accesses are the accesses of the closed loop, and keep their time between them.

use sluice_driver::{Access, Accesses, Blocks, Bulk, Options, run};
use sluice_model::{BlockOp, Device, DeviceConfig};
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
    let told = run(&mut other, vec![stream], Options::default()).unwrap();

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

/// A disk and a memory window are doors of one device: what is cached comes from the cache, what is
/// written as blocks is cached no longer, and both go on with one time.
#[test]
fn blocks_and_accesses_are_of_one_device() {
    const PAGE: u64 = PAGE_BYTES;
    let mut bulk = Bulk::new(device());
    let block = |bulk: &mut Bulk, op, pages: &[u64], counts: Option<&[u64]>| {
        let given = Blocks {
            op,
            pages,
            counts,
            at: None,
        };
        bulk.block(given, never).unwrap()
    };
    // Flash, and once more: a block read brings nothing into the cache. Two pages of two dies take
    // no longer than one.
    assert_eq!(block(&mut bulk, BlockOp::Read, &[7, 7], None), [MISS; 2]);
    assert_eq!(block(&mut bulk, BlockOp::Read, &[8], Some(&[2])), [MISS]);
    assert_eq!(
        bulk.access(loads(&[7 * PAGE, 7 * PAGE]), never),
        [MISS, HIT]
    );
    assert_eq!(block(&mut bulk, BlockOp::Read, &[7], None), [HIT]);
    assert_eq!(block(&mut bulk, BlockOp::Write, &[7], None), [HIT]);
    let before = bulk.now();
    let again = bulk.access(loads(&[7 * PAGE]), never)[0];
    assert!(
        again >= MISS,
        "the written page is cached no longer: {again}"
    );
    assert_eq!(bulk.now(), before + again);
    block(&mut bulk, BlockOp::Trim, &[0], Some(&[16]));
    let stats = bulk.device().stats();
    let counts = [
        stats.block_reads,
        stats.block_cache_hits,
        stats.block_writes,
        stats.block_trims,
    ];
    assert_eq!(counts, [5, 1, 1, 16]);
    // At times of their own two requests overlap.
    let given = Blocks {
        op: BlockOp::Read,
        pages: &[100, 101],
        counts: None,
        at: Some(&[bulk.now(), bulk.now()]),
    };
    assert_eq!(bulk.block(given, never).unwrap(), [MISS; 2]);
}
