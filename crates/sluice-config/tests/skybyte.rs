//! The presets of the SkyByte paper are the devices of its tables.

use sluice_config::{describe, load};
use sluice_model::DeviceConfig;
use sluice_units::{Bytes, Ps};

fn config(preset: &str) -> DeviceConfig {
    DeviceConfig::new(&load(preset).unwrap()).unwrap()
}

/// Table II: 16 channels, 8 chips, 8 dies, 1 plane, 128 blocks of 256 pages: 128 GB of flash.
#[test]
fn the_flash_is_that_of_table_2() {
    for preset in [
        "skybyte-base",
        "skybyte",
        "z-nand",
        "xl-flash",
        "slc",
        "mlc",
    ] {
        let nand = config(preset).nand.clone();
        assert_eq!(
            (nand.channels, nand.die_count()),
            (16, 16 * 8 * 8),
            "{preset}"
        );
        assert_eq!(
            (nand.blocks_per_plane, nand.pages_per_block),
            (128, 256),
            "{preset}"
        );
        let pages = u64::from(nand.die_count()) * 128 * 256;
        assert_eq!(pages * 4096, 128 << 30);
        let used_percent = 100 - config(preset).ftl.gc_threshold_blocks * 100 / 128;
        assert_eq!(used_percent, 80, "{preset}");
    }
}

/// Table II: the log is taken out of the same 512 MB of DRAM.
#[test]
fn the_log_is_part_of_the_same_dram() {
    let (base, skybyte) = (config("skybyte-base"), config("skybyte"));
    assert!(base.write_log.is_none());
    assert_eq!(base.cache.capacity(), Bytes::from_mib(512));
    let log = skybyte.write_log.as_ref().unwrap();
    let log_bytes = u64::from(log.buffers * log.lines_per_buffer) * 64;
    assert_eq!(log_bytes, 64 << 20);
    let cache = skybyte.cache.capacity().0;
    assert_eq!(cache + log_bytes, 512 << 20);
    assert_eq!(log.index_latency, Ps::from_ns(72));
}

/// SkyByte's Table IV: the four kinds of flash.
#[test]
fn the_kinds_of_flash_are_those_of_table_4() {
    for (preset, read, program, erase) in [
        ("z-nand", 3, 100, 1_000),
        ("xl-flash", 4, 75, 850),
        ("slc", 25, 200, 1_500),
        ("mlc", 50, 600, 3_000),
    ] {
        let described = describe(preset).unwrap();
        for (key, us) in [
            ("nand.read", read),
            ("nand.program", program),
            ("nand.erase", erase),
        ] {
            let value = described.given.get(key).unwrap();
            assert_eq!(
                value.parse::<Ps>().unwrap(),
                Ps::from_us(us),
                "{preset} {key}"
            );
            assert!(
                described.source_of(key).contains("Table IV"),
                "{preset} {key}"
            );
        }
    }
}
