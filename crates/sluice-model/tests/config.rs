//! Does the configuration survive nonsense, and does each refusal say what would do?

use proptest::prelude::*;
use sluice_model::{ConfigError, DeviceConfig, DeviceError, PARAMS, RawConfig};
use std::collections::BTreeSet;

fn set(pairs: &[(&str, &str)]) -> RawConfig {
    let mut raw = DeviceConfig::builder();
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    raw
}

/// The message, which must be one line.
fn message(result: Result<impl Sized, ConfigError>) -> String {
    let message = result
        .err()
        .expect("this configuration must be refused")
        .to_string();
    assert!(!message.contains('\n'), "more than a line: {message}");
    message
}

#[test]
fn each_parameter_is_declared_once_and_in_full() {
    let keys: BTreeSet<&str> = PARAMS.iter().map(|param| param.key).collect();
    assert_eq!(keys.len(), PARAMS.len());
    for param in PARAMS {
        assert!(param.key.contains('.'), "{}", param.key);
        assert!(
            !param.meaning.is_empty() && !param.source.is_empty(),
            "{}",
            param.key
        );
        DeviceConfig::builder()
            .set(param.key, param.default)
            .unwrap();
    }
}

#[test]
fn the_default_is_cylon() {
    let config = DeviceConfig::default();
    assert_eq!(config.capacity().0, 96 << 30);
    assert_eq!(config.cache.pages, 1_258_291, "5 % of 25,165,824 pages");
    assert_eq!(config.nand.read.as_us(), 40);
    assert_eq!(
        (
            config.nand.channels,
            config.nand.dies,
            config.nand.die_count()
        ),
        (8, 8, 64)
    );
    // 1536 blocks of home pages on each die, and 7 % of that, rounded up.
    assert_eq!(config.nand.blocks_per_plane, 1_536 + 108);
    assert_eq!(config.ftl.gc_threshold_blocks, 16);
    assert_eq!(config.cache.built_in().unwrap().info.name, "fifo");
}

#[test]
fn an_unknown_key_suggests_the_nearest() {
    let found = message(DeviceConfig::builder().set("cache.polcy", "lru"));
    assert_eq!(
        found,
        "unknown key `cache.polcy`: did you mean `cache.policy`? `sluice device show` lists all \
         keys"
    );
    let found = message(DeviceConfig::builder().set("colour", "red"));
    assert!(
        found.starts_with("unknown key `colour`: valid keys are in the tables device, memory, "),
        "{found}"
    );
}

/// Key, refused value, and what the message must say.
const REFUSED: [(&str, &str, &str); 21] = [
    (
        "device.link_bandwidth",
        "8GB",
        "; expected \"none\" or a bandwidth such as 16GB/s, or a whole number of MB/s from 1 to ",
    ),
    (
        "device.link_bandwidth",
        "0GB/s",
        "; expected \"none\" or a bandwidth",
    ),
    (
        "cache.policy",
        "s3fif",
        "(did you mean s3fifo?); expected one of fifo, lifo, lru, ",
    ),
    ("cache.policy", "", "; expected one of fifo, "),
    (
        "prefetch.policy",
        "strides",
        "; expected one of none, nextn",
    ),
    (
        "nand.read",
        "40",
        "; expected a time from 0 to 10s in s, ms, us, ns or ps",
    ),
    ("nand.read", "11s", "; expected a time from 0 to 10s"),
    ("nand.dies", "0", "; expected a whole number from 1 to 1024"),
    (
        "nand.channels",
        "-1",
        "; expected a whole number from 1 to 1024",
    ),
    (
        "nand.pages_per_block",
        "1",
        "; expected a whole number from 2 to 65536",
    ),
    (
        "mshr.entries",
        "0",
        "; expected a whole number from 1 to 65536",
    ),
    (
        "prefetch.degree",
        "65",
        "; expected a whole number from 0 to 64",
    ),
    (
        "device.capacity",
        "0B",
        "; expected a size above 0 in B, kB, KiB, ",
    ),
    ("device.capacity", "5%", "; expected a size above 0 in B, "),
    (
        "cache.capacity",
        "101%",
        "; expected a size above 0 such as 16MiB, or a percentage of ",
    ),
    (
        "cache.capacity",
        "5 pages",
        "; expected a size above 0 such as 16MiB",
    ),
    (
        "cache.ways",
        "0",
        "; expected \"full\" or a whole number from 1",
    ),
    (
        "cache.ways",
        "half",
        "; expected \"full\" or a whole number from 1",
    ),
    (
        "ftl.overprovision",
        "0%",
        "; expected a percentage or ratio above 0, up to 1000%",
    ),
    (
        "ftl.overprovision",
        "7",
        "; expected a percentage or ratio above 0",
    ),
    (
        "ftl.gc_threshold",
        "0",
        "; expected a number of blocks from 1, or a percentage",
    ),
];

#[test]
fn a_bad_value_names_key_value_and_choices() {
    for (key, value, ending) in REFUSED {
        let mut raw = DeviceConfig::builder();
        let found = message(raw.set(key, value));
        let start = format!("bad value for `{key}`: \"{value}\"");
        assert!(
            found.starts_with(&start) && found.contains(ending),
            "{found}"
        );
        assert_eq!(
            raw,
            DeviceConfig::builder(),
            "a refused value must change nothing"
        );
    }
}

#[test]
fn a_bandwidth_has_a_unit_or_is_a_number_of_megabytes() {
    let of = |value| {
        let raw = set(&[("device.link_bandwidth", value)]);
        DeviceConfig::new(&raw).unwrap().link_bandwidth
    };
    assert_eq!(
        ["none", "8000", "8GB/s", "1GiB/s"].map(of),
        [None, Some(8_000), Some(8_000), Some(1_073)]
    );
}

/// Values that contradict each other, and what the message must say.
const IMPOSSIBLE: [(&[(&str, &str)], &str); 11] = [
    (
        &[("device.capacity", "16MiB"), ("cache.capacity", "17MiB")],
        "cache.capacity = 17MiB, device.capacity = 16MiB: the cache is larger than the device",
    ),
    (
        &[("device.capacity", "64KiB")],
        "cache.ways = full, device.capacity = 64KiB: the cache has not one page of 4KiB",
    ),
    (
        &[("device.capacity", "1MiB"), ("cache.ways", "16")],
        "cache.capacity = 5%, cache.ways = 16, device.capacity = 1MiB: the cache has 12 pages of \
         4KiB, too few for one set",
    ),
    (
        &[("device.capacity", "64MiB"), ("cache.ways", "1000")],
        "cache.capacity = 5%, cache.ways = 1000, device.capacity = 64MiB: the cache has 819 \
         pages of 4KiB, too few for one set",
    ),
    (
        &[("device.capacity", "4095")],
        "device.capacity = 4095B: less than a page, 4096 bytes",
    ),
    (
        &[("prefetch.policy", "nextn")],
        "prefetch.policy = nextn, prefetch.degree = 0: a prefetcher of degree 0 does nothing",
    ),
    (
        &[("device.capacity", "16TiB")],
        "device.capacity = 16TiB: more than 4294967293 pages",
    ),
    (
        &[("device.capacity", "15TiB"), ("ftl.overprovision", "10%")],
        "pages_per_block = 256: 4429185024 physical pages; at most 4294967293 are accepted",
    ),
    (
        &[("device.capacity", "96GiB"), ("ftl.gc_threshold", "10%")],
        "ftl.overprovision = 7%, ftl.gc_threshold = 10%: a plane has 108 spare blocks, of which \
             garbage collection needs 2 to write to: over-provision more, or set a threshold of at \
             most 106 blocks",
    ),
    (
        &[
            ("device.capacity", "16MiB"),
            ("ftl.write_buffer", "65"),
            ("ftl.superblock", "64"),
        ],
        "ftl.write_buffer = 65, ftl.superblock = 64: a buffer of 4160 pages; the device has 4096",
    ),
    (
        &[
            ("nand.channels", "1024"),
            ("nand.dies", "1024"),
            ("nand.write_queue", "129"),
        ],
        "nand.write_queue = 129: 1048576 dies have room for at most 128 each",
    ),
];

#[test]
fn an_impossible_combination_names_its_keys_and_values() {
    for (pairs, expected) in IMPOSSIBLE {
        let found = message(DeviceConfig::new(&set(pairs)));
        assert!(found.starts_with("impossible configuration: "), "{found}");
        assert!(
            found.contains(expected),
            "{found}\n does not contain\n{expected}"
        );
    }
}

/// A number of bytes that makes no whole page, or set, stands for those that it has room for.
#[test]
fn sizes_are_rounded_down_to_whole_sets() {
    for (size, ways, pages) in [
        ("1MB", "full", 244),
        ("1MiB", "full", 256),
        ("1M", "full", 256),
        ("1048576", "full", 256),
        ("1MiB", "3", 255),
    ] {
        let pairs = [
            ("device.capacity", "16MB"),
            ("cache.capacity", size),
            ("cache.ways", ways),
        ];
        let config = DeviceConfig::new(&set(&pairs)).expect(size);
        assert_eq!((config.pages, config.cache.pages), (3906, pages), "{size}");
    }
}

/// Each side of each limit.
#[test]
fn what_is_just_possible_is_accepted() {
    let accepted: [&[(&str, &str)]; 6] = [
        &[("device.capacity", "16MiB"), ("cache.capacity", "16MiB")],
        &[("device.capacity", "4096B"), ("cache.capacity", "4096B")],
        &[("device.capacity", "80KiB")],
        &[("cache.capacity", "1024kB"), ("cache.ways", "250")],
        &[("device.capacity", "96GiB"), ("ftl.gc_threshold", "106")],
        &[("prefetch.policy", "nextn"), ("prefetch.degree", "64")],
    ];
    for pairs in accepted {
        DeviceConfig::new(&set(pairs)).unwrap_or_else(|error| panic!("{pairs:?}: {error}"));
    }
    assert!(DeviceConfig::new(&set(&[("ftl.gc_threshold", "107")])).is_err());
}

/// A share of the capacity is cut to whole sets, never refused for its remainder.
#[test]
fn a_share_is_rounded_down_to_whole_sets() {
    let config = set(&[("device.capacity", "64MiB"), ("cache.ways", "16")]);
    let config = DeviceConfig::new(&config).unwrap();
    assert_eq!(
        (config.cache.pages, config.cache.ways),
        (816, 16),
        "5 % are 819 pages"
    );
}

#[test]
fn pairs_reproduce_what_they_came_from() {
    let raw = set(&[
        ("device.capacity", "4.5GiB"),
        ("cache.capacity", "12.5%"),
        ("cache.ways", "16"),
        ("cache.policy", "clock"),
        ("nand.read", "3.25us"),
        ("ftl.overprovision", "1/14"),
        ("ftl.gc_threshold", "9"),
        ("ftl.precondition", "none"),
    ]);
    let mut again = DeviceConfig::builder();
    for (key, value) in raw.to_pairs() {
        again.set(key, &value).unwrap();
    }
    assert_eq!(again, raw);
    assert_eq!(raw.get("nand.read").as_deref(), Some("3250ns"));
    assert_eq!(raw.to_pairs().len(), PARAMS.len());
}

proptest! {
    #[test]
    fn an_unknown_key_is_one_line(key in "(?s).{0,24}") {
        if let Err(error) = DeviceConfig::builder().set(&key, "1") {
            prop_assert!(!error.to_string().contains('\n'), "{}", error);
        }
    }

    /// Whatever is set, the outcome is a configuration or a message of one line.
    #[test]
    fn nonsense_is_refused_without_a_panic(
        settings in prop::collection::vec(
            (0..PARAMS.len(), "[0-9]{1,20}(us|MiB|TiB|%|)|full|none|nextn|lru|(?s).{0,12}"),
            0..8,
        ),
    ) {
        let mut raw = DeviceConfig::builder();
        for (index, value) in settings {
            if let Err(error) = raw.set(PARAMS[index].key, &value) {
                prop_assert!(!error.to_string().contains('\n'), "{}", error);
            }
        }
        if let Ok(config) = DeviceConfig::new(&raw) {
            prop_assert!(config.cache.pages <= config.pages);
            prop_assert!(config.cache.pages.is_multiple_of(config.cache.ways));
            let dies = u64::from(config.nand.plane_count());
            let held = u64::from(config.ftl.valid_pages_per_plane_max) * dies;
            prop_assert!(held >= u64::from(config.pages), "every logical page has a place");
        }
    }
}

/// The name of an object that cannot be used may be a misspelt policy.
#[test]
fn what_a_policy_may_be_is_told_with_an_object_that_is_none() {
    let error = DeviceError::Plugin {
        key: "cache.policy",
        path: "./lru.so".to_owned(),
        why: "there is no such file".to_owned(),
    };
    let (message, policies) = (error.to_string(), sluice_model::EVICTIONS);
    assert!(message.starts_with("bad value for `cache.policy`: \"./lru.so\": "));
    for policy in policies {
        assert!(message.contains(policy.info.name), "{message}");
    }
}
