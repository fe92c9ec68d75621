//! Is a host what its parameters say, and does each refusal say what would do?

use proptest::prelude::*;
use sluice_host::{HOST_PARAMS, HostConfig, HostDram, Migration, Scheduling};
use sluice_model::PARAMS;
use sluice_params::RawConfig;
use sluice_units::Ps;
use std::collections::BTreeSet;

const SEED: u64 = 7;

fn set(pairs: &[(&str, &str)]) -> RawConfig {
    let mut raw = RawConfig::of(HOST_PARAMS);
    for (key, value) in pairs {
        raw.set(key, value).unwrap();
    }
    raw
}

/// The message, which must be one line.
fn refusal(pairs: &[(&str, &str)]) -> String {
    let error = HostConfig::new(&set(pairs), SEED).err();
    let message = error
        .expect("this configuration must be refused")
        .to_string();
    assert!(!message.contains('\n'), "more than a line: {message}");
    message
}

#[test]
fn each_parameter_is_declared_once_and_in_full() {
    let keys: BTreeSet<&str> = HOST_PARAMS.iter().map(|param| param.key).collect();
    assert_eq!(keys.len(), HOST_PARAMS.len());
    let tables = |params: &[sluice_model::Param]| -> BTreeSet<&str> {
        let table = |param: &sluice_model::Param| param.key.split_once('.').unwrap().0;
        params.iter().map(table).collect()
    };
    assert!(tables(HOST_PARAMS).is_disjoint(&tables(PARAMS)));
    for param in HOST_PARAMS {
        assert!(
            !param.meaning.is_empty() && !param.source.is_empty(),
            "{}",
            param.key
        );
    }
}

/// Table II of the paper, in its own numbers.
#[test]
fn the_default_is_table_2() {
    let host = HostConfig::new(&set(&[]), SEED).unwrap();
    let cpu = host.cpu;
    assert_eq!((cpu.cores, cpu.cycle, cpu.window), (8, Ps(250), 256));
    let levels = [cpu.l1, cpu.l2, cpu.l3].map(|l| (l.lines * 64, l.ways, l.mshrs));
    let published = [(32 << 10, 8, 8), (512 << 10, 32, 128), (16 << 20, 16, 1024)];
    assert_eq!(levels, published);
    assert_eq!(host.link.line, Ps::from_ns(4), "64 bytes at 16 GB/s");
    assert_eq!(host.switching.cost, Ps::from_us(2));
    assert_eq!((host.threads, host.coordinated), (8, false));
    assert_eq!(host.scheduling, Scheduling::Fair);
    assert_eq!(host.migration, Migration::None);
    assert_eq!(host.seed, SEED);
    let HostDram::Banks(banks) = host.dram else {
        panic!("DDR5 has banks")
    };
    let s = banks.layout.standard;
    let conflict = Ps((s.rp + s.rcd + s.read_latency) * s.clock.0);
    assert_eq!(conflict.as_ns(), 46, "the 46 ns of Figure 17");
    let HostDram::Fixed(latency) = HostConfig::new(&set(&[("host.dram", "fixed")]), SEED)
        .unwrap()
        .dram
    else {
        panic!("fixed is fixed")
    };
    assert_eq!(latency, Ps::from_ns(46));
}

#[test]
fn every_policy_takes_its_budget_in_pages() {
    let of = |policy: &'static str| {
        let raw = set(&[("migration.policy", policy), ("migration.spare", "2%")]);
        HostConfig::new(&raw, SEED).unwrap().migration
    };
    assert_eq!(of("host"), Migration::AllHost);
    let Migration::Adaptive(adaptive) = of("adaptive") else {
        panic!("adaptive is adaptive")
    };
    // 2 GiB in pages of 4 KiB, of which 2 % rounded up.
    assert_eq!((adaptive.pages, adaptive.spare), (524_288, 10_486));
    assert_eq!((adaptive.buffer, adaptive.huge), (64, 1));
    assert_eq!(adaptive.remote_pages, 0);
    let Migration::Tpp(tpp) = of("tpp") else {
        panic!("tpp is TPP")
    };
    assert_eq!((tpp.pages, tpp.spare), (524_288, 10_486));
    let Migration::AstriFlash(astriflash) = of("astriflash") else {
        panic!("astriflash is AstriFlash")
    };
    assert_eq!((astriflash.pages, astriflash.ways), (524_288, 8));
}

#[test]
fn huge_pages_round_to_huge_pages() {
    let huge = [
        ("migration.policy", "adaptive"),
        ("migration.page", "2MiB"),
        ("migration.capacity", "64MiB"),
        ("migration.remote_capacity", "4MiB"),
    ];
    let host = HostConfig::new(&set(&huge), SEED).unwrap();
    let Migration::Adaptive(adaptive) = host.migration else {
        panic!("adaptive is adaptive")
    };
    assert_eq!((adaptive.huge, adaptive.pages), (512, 32 * 512));
    assert_eq!((adaptive.spare, adaptive.remote_pages), (512, 1024));
}

#[test]
fn an_l2_may_be_sure_of_nothing() {
    let l2_rules = |pairs| HostConfig::new(&set(pairs), SEED).unwrap().cpu.l2_rules;
    assert!(l2_rules(&[]));
    assert!(!l2_rules(&[("l2.inclusion", "none")]));
}

/// What is set, and what the refusal must say.
#[test]
fn what_cannot_be_together_is_refused_with_what_would_do() {
    let huge = ("migration.page", "2MiB");
    let adaptive = ("migration.policy", "adaptive");
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("cpu.threads", "4")],
            "impossible configuration: cpu.threads = 4, cpu.cores = 8: a core without a thread; \
             at least 8 threads",
        ),
        (
            &[("l2.mshrs", "0")],
            "impossible configuration: l2.mshrs = 0: a cache without MSHRs could not miss; give \
             it 1 at least",
        ),
        (
            &[("l3.capacity", "12MiB")],
            "impossible configuration: l3.capacity = 12MiB, l3.ways = 16: not a power of two of \
             sets of 16 lines of 64 bytes; give it 1024B times a power of two",
        ),
        (
            &[("l1.latency", "5ns")],
            "impossible configuration: l1.latency = 5ns, l2.latency = 3500ps: a level's latency \
             has that of the levels above in it; give the lower level the longer one",
        ),
        (
            &[("tlb.entries", "1000")],
            "tlb.entries = 1000, tlb.ways = 12: not a power of two of sets of 12 entries; \
             give 12 times a power of two",
        ),
        (
            &[("cpu.cycle", "0ps")],
            "cpu.cycle = 0ps: no time would pass",
        ),
        (&[("os.slice", "0ps")], "os.slice = 0ps: no time would pass"),
        (
            &[("host.dram_channels", "12")],
            "host.dram_channels = 12: not a power of two; 16 is the next",
        ),
        (
            &[adaptive, ("migration.capacity", "65GiB")],
            "migration.capacity = 65GiB, host.memory = 64GiB: more than host memory has; give \
             migration.capacity as much at most",
        ),
        (
            &[adaptive, ("migration.capacity", "5000B")],
            "migration.capacity = 5kB: not a multiple of 4096 bytes",
        ),
        (
            &[adaptive, huge, ("migration.capacity", "2MiB")],
            "migration.capacity = 2MiB, migration.spare = 1%, migration.page = 2MiB: all of it \
             would be kept free",
        ),
        (
            &[adaptive, huge, ("migration.remote_capacity", "1MiB")],
            "migration.remote_capacity = 1MiB: not a multiple of 2097152 bytes",
        ),
        (
            &[
                ("migration.policy", "astriflash"),
                ("migration.astriflash_ways", "3"),
            ],
            "migration.capacity = 2GiB, migration.astriflash_ways = 3: not a power of two of \
             sets of 3 pages; give 12288B times a power of two",
        ),
    ];
    for (pairs, said) in cases {
        let message = refusal(pairs);
        assert!(message.contains(said), "{message}\n{said}");
    }
}

#[test]
fn sets_that_cannot_be_are_refused() {
    let in_sets = |ways| [("migration.policy", "adaptive"), ("migration.ways", ways)];
    let message = refusal(&in_sets("3"));
    let said = "migration.capacity = 2GiB, migration.ways = 3: 524288 frames are not sets of 3; \
                give a divisor, or all";
    assert!(message.contains(said), "{message}");
    let mut pairs = in_sets("8").to_vec();
    pairs.push(("migration.remote_capacity", "1GiB"));
    let message = refusal(&pairs);
    let said = "migration.ways = 8, migration.remote_capacity = 1GiB: sets are of one node";
    assert!(message.contains(said), "{message}");
    let raw = set(&in_sets("8"));
    let Migration::Adaptive(adaptive) = HostConfig::new(&raw, SEED).unwrap().migration else {
        panic!("adaptive is adaptive")
    };
    assert_eq!(adaptive.ways, 8);
    let many = |policy, sets| [("migration.policy", policy), ("migration.sets", sets)];
    let message = refusal(&many("tpp", "7"));
    let said = "migration.capacity = 2GiB, migration.sets = 7: 524288 frames are not 7 sets; \
                give a divisor, or none";
    assert!(message.contains(said), "{message}");
    let mut pairs = in_sets("8").to_vec();
    pairs.push(("migration.sets", "8"));
    let message = refusal(&pairs);
    let said = "migration.ways = 8, migration.sets = 8: one follows from the other";
    assert!(message.contains(said), "{message}");
    let raw = set(&many("tpp", "8"));
    let Migration::Tpp(tpp) = HostConfig::new(&raw, SEED).unwrap().migration else {
        panic!("tpp is tpp")
    };
    assert_eq!(tpp.ways, 65_536);
}

/// More than a core has rings for.
#[test]
fn what_a_core_cannot_hold_is_refused() {
    for (key, least, most) in [("cpu.window", 1, 1_024), ("cpu.store_buffer", 0, 3_072)] {
        let mut raw = RawConfig::of(HOST_PARAMS);
        raw.set(key, &most.to_string()).unwrap();
        HostConfig::new(&raw, SEED).unwrap();
        let more = (most + 1).to_string();
        let message = raw.set(key, &more).unwrap_err().to_string();
        for said in [
            key,
            &more,
            &format!("a whole number from {least} to {most}"),
        ] {
            assert!(message.contains(said), "{message} without {said}");
        }
    }
}

/// Line times are rounded up: a link is never faster than it was said to be.
#[test]
fn the_link_is_never_faster_than_said() {
    for (mb_s, ps) in [
        ("16000", 4_000),
        ("16001", 4_000),
        ("15999", 4_001),
        ("64", 1_000_000),
    ] {
        let host = HostConfig::new(&set(&[("link.bandwidth", mb_s)]), SEED).unwrap();
        assert_eq!(host.link.line, Ps(ps), "{mb_s} MB/s");
    }
}

proptest! {
    /// Any values that each key takes by itself are a host, or refused in one line.
    #[test]
    fn no_combination_panics(
        picks in prop::collection::vec(
            (0..HOST_PARAMS.len(), "[0-9]{1,6}(ns|us|KiB|MiB|%|)|none|on|host|adaptive|tpp|2MiB"),
            1..8,
        ),
    ) {
        let mut raw = RawConfig::of(HOST_PARAMS);
        for (index, value) in picks {
            // A value of another kind is refused here, and changes nothing.
            let _ = raw.set(HOST_PARAMS[index].key, &value);
        }
        if let Err(error) = HostConfig::new(&raw, SEED) {
            let message = error.to_string();
            prop_assert!(message.starts_with("impossible configuration: "), "{}", message);
            prop_assert!(!message.contains('\n'), "{}", message);
        }
    }
}

#[test]
fn a_link_has_messages_where_pages_stay() {
    let host = HostConfig::new(&set(&[]), SEED).unwrap();
    assert_eq!(host.link.messages, None, "the default is constant");
    let host = HostConfig::new(&set(&[("link.model", "protocol")]), SEED).unwrap();
    let messages = host.link.messages.unwrap();
    assert_eq!(messages.bandwidth, 16_000);
    assert_eq!(messages.flits.bytes(), 68);
    for policy in ["adaptive", "tpp", "astriflash"] {
        let message = refusal(&[("link.model", "protocol"), ("migration.policy", policy)]);
        let said = format!("migration.policy = {policy}");
        for part in [
            "link.model = protocol",
            &said,
            "give migration.policy none or host",
        ] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
}
