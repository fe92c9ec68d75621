//! Which memory has which address: dealt out by hand, granule after granule.

use crate::rig::{drain, fabric, refused, spec};
use sluice_net::{
    Access, EndpointId, Fabric, FabricConfig, FabricSpec, Group, RangeSpec, RequesterId,
};
use sluice_units::Ps;

const KIB: u64 = 1024;

/// Memories of so many KiB and logical devices each.
fn memories(sizes: &[(u64, u32)], more: &[(&str, &str)]) -> FabricSpec {
    let mut set = vec![
        ("topology.kind", "bus"),
        ("requester.count", "1"),
        ("requester.pattern", "external"),
    ];
    set.extend(more);
    let mut spec = spec(&set);
    let group = |(number, (kib, logical)): (usize, &(u64, u32))| Group {
        name: format!("mem{number}"),
        set: vec![
            ("count".to_owned(), "1".to_owned()),
            ("capacity".to_owned(), format!("{kib}KiB")),
            ("logical_devices".to_owned(), logical.to_string()),
        ],
        ..Group::default()
    };
    spec.endpoints = sizes.iter().enumerate().map(group).collect();
    spec
}

/// The endpoint and logical device that serves an address.
fn server(fabric: &mut Fabric, sizes: &[(u64, u32)], addr: u64) -> (usize, u32) {
    let all = || {
        let ends = sizes.iter().enumerate();
        ends.flat_map(|(end, (_, logical))| (0..*logical).map(move |id| (end, id)))
    };
    let served =
        |fabric: &Fabric, (end, id): (usize, u32)| fabric.served(EndpointId(end as u32), id as u8);
    let before: Vec<u64> = all().map(|it| served(fabric, it)).collect();
    let at = fabric.now() + Ps::from_us(1);
    let access = Access {
        addr,
        is_write: false,
    };
    fabric.send(at, RequesterId(0), access, 0).unwrap();
    drain(fabric);
    let mut more = all()
        .zip(before)
        .filter(|(it, before)| served(fabric, *it) > *before);
    let found = more.next().expect("somebody serves it").0;
    assert!(more.next().is_none(), "one request, one memory");
    found
}

/// Neighbours of one size share a range, as many as CXL lets: 1, 2, 3, 4, 6, 8, 12 or 16, and no
/// more than `map.ways`. Ranges follow each other.
#[test]
fn neighbours_of_one_size_share_ranges() {
    let sizes = [64, 64, 64, 64, 64, 32, 32, 128, 64].map(|kib| (kib, 1));
    for (ways, ranges) in [
        ("16", &[4, 1, 2, 1, 1][..]),
        ("3", &[3, 2, 2, 1, 1]),
        ("2", &[2, 2, 1, 2, 1, 1]),
        ("1", &[1; 9]),
    ] {
        let given = memories(&sizes, &[("map.ways", ways), ("map.granularity", "1KiB")]);
        let reach = FabricConfig::new(&given, 1).unwrap().reach(RequesterId(0));
        assert_eq!(reach, sizes.iter().map(|(kib, _)| kib * KIB).sum::<u64>());
        let mut fabric = fabric(&given);
        let (mut base, mut first) = (0, 0);
        for count in ranges {
            let each = sizes[first].0;
            for granule in 0..each * count {
                let expected = first + (granule % count) as usize;
                if granule % 13 < 5 || granule + 5 > each * count {
                    let addr = base + granule * KIB + granule % 16 * 64;
                    let found = server(&mut fabric, &sizes, addr);
                    assert_eq!(
                        found,
                        (expected, 0),
                        "{ways}: granule {granule} of {base:#x}"
                    );
                }
            }
            base += each * count * KIB;
            first += *count as usize;
        }
        assert_eq!(base, reach);
    }
}

/// Logical devices are dealt out as devices of their own; each is a part of its endpoint.
#[test]
fn logical_devices_are_neighbours() {
    let sizes = [(64, 4), (32, 2), (16, 1)];
    let given = memories(&sizes, &[("map.granularity", "4KiB")]);
    let mut fabric = fabric(&given);
    // Seven of 16 KiB: six share a range, and the last follows.
    let all: Vec<(usize, u32)> = (0..4)
        .map(|id| (0, id))
        .chain([(1, 0), (1, 1), (2, 0)])
        .collect();
    for granule in 0..28u64 {
        let expected = match granule {
            0..24 => all[granule as usize % 6],
            _ => all[6],
        };
        let found = server(&mut fabric, &sizes, granule * 4 * KIB + 64);
        assert_eq!(found, expected, "{granule}");
    }
    let config = FabricConfig::new(&given, 1).unwrap();
    assert_eq!(config.reach(RequesterId(0)), 112 * KIB);
}

/// A range has as many whole rounds of weights as the device has room for that is full first.
#[test]
fn weighted_ranges_end_with_the_first_full_device() {
    let sizes = [64, 64, 48].map(|kib| (kib, 1));
    for (weights, rounds) in [
        ([1, 1, 1], 48),
        ([2, 1, 1], 32),
        ([1, 3, 1], 21),
        ([1, 1, 5], 9),
    ] {
        let more = [("map.granularity", "1KiB"), ("map.arithmetic", "weighted")];
        let mut given = memories(&sizes, &more);
        for (group, weight) in given.endpoints.iter_mut().zip(weights) {
            group.set.push(("weight".to_owned(), weight.to_string()));
        }
        let reach = FabricConfig::new(&given, 1).unwrap().reach(RequesterId(0));
        let round: u64 = weights.iter().sum();
        assert_eq!(reach, rounds * round * KIB, "{weights:?}");
        let mut fabric = fabric(&given);
        for granule in 0..2 * round {
            let place = granule % round;
            let expected = match place {
                _ if place < weights[0] => 0,
                _ if place < weights[0] + weights[1] => 1,
                _ => 2,
            };
            let found = server(&mut fabric, &sizes, granule * KIB);
            assert_eq!(found, (expected, 0), "{weights:?}: {granule}");
        }
    }
    // No more devices than `map.ways` share one; the others follow.
    let more = [
        ("map.granularity", "1KiB"),
        ("map.arithmetic", "weighted"),
        ("map.ways", "2"),
    ];
    let mut fabric = fabric(&memories(&sizes, &more));
    let mut at = |kib: u64| server(&mut fabric, &sizes, kib * KIB).0;
    assert_eq!([0, 1, 127, 128, 129, 175].map(&mut at), [0, 1, 1, 2, 2, 2]);
}

/// A device that is full before its granules of the first round are dealt out is named.
#[test]
fn a_device_has_room_for_a_round() {
    let sizes = [(64, 1), (16, 1)];
    let with = |arithmetic: &str, granularity: &str, weight: &str| {
        let more = [
            ("map.granularity", granularity),
            ("map.arithmetic", arithmetic),
        ];
        let mut given = memories(&sizes, &more);
        given.endpoints[1]
            .set
            .push(("weight".to_owned(), weight.to_owned()));
        given
    };
    fabric(&with("weighted", "1KiB", "16"));
    for weight in ["17", "255"] {
        let error = refused(&with("weighted", "1KiB", weight)).to_string();
        let said = format!(
            "`mem1` has 16KiB, less than its granules of a round: endpoint.weight = {weight}, \
             map.granularity = 1KiB"
        );
        assert!(error.contains(&said), "{error}");
    }
    // Granules that no map has are what is wrong, however small the devices are.
    let error = refused(&with("weighted", "32KiB", "1")).to_string();
    assert!(!error.contains("of a round"), "{error}");
}

/// A requester uses what is mapped from address 0 on without a gap, in whatever order the ranges
/// are given.
#[test]
fn a_gap_ends_what_is_used() {
    let sizes = [64, 64, 64].map(|kib| (kib, 1));
    let with = |bases: [u64; 3]| {
        let mut given = memories(&sizes, &[]);
        let ranges = bases.into_iter().enumerate();
        given.ranges = ranges
            .map(|(number, base)| RangeSpec {
                name: format!("r{number}"),
                base: base * KIB,
                size: 64 * KIB,
                targets: vec![format!("mem{number}")],
                hosts: Vec::new(),
            })
            .collect();
        given
    };
    for (bases, reach) in [
        ([0, 64, 128], 192),
        ([128, 0, 64], 192),
        ([0, 128, 64], 192),
        ([0, 64, 192], 128),
        ([128, 256, 0], 64),
    ] {
        let config = FabricConfig::new(&with(bases), 1).unwrap();
        assert_eq!(config.reach(RequesterId(0)), reach * KIB, "{bases:?}");
    }
    let error = refused(&with([64, 128, 192])).to_string();
    assert!(error.contains("requester.footprint is 0B"), "{error}");
    // All of it and no more can be used.
    let mut given = with([0, 64, 192]);
    given.raw.set("requester.footprint", "128KiB").unwrap();
    fabric(&given);
    given.raw.set("requester.footprint", "131136B").unwrap();
    let error = refused(&given).to_string();
    assert!(error.contains("give it from 128B to that"), "{error}");
}

/// Each logical device has the same whole lines.
#[test]
fn logical_devices_have_whole_lines() {
    let with = |bytes: &str| {
        let mut given = memories(&[(0, 3)], &[("map.granularity", "64B")]);
        given.endpoints[0].set[1].1 = bytes.to_owned();
        given
    };
    let config = FabricConfig::new(&with("576B"), 1).unwrap();
    assert_eq!(config.reach(RequesterId(0)), 576);
    for bytes in ["640B", "200B"] {
        let error = refused(&with(bytes)).to_string();
        assert!(
            error.contains("the same number of lines of 64 bytes"),
            "{error}"
        );
    }
}

/// Channels and ranks of DRAM are numbered by bits.
#[test]
fn dram_is_built_of_powers_of_two() {
    for (key, value, next) in [
        ("endpoint.dram_channels", "3", "4"),
        ("endpoint.dram_ranks", "6", "8"),
    ] {
        let given = spec(&[("endpoint.type", "dram"), (key, value)]);
        let error = refused(&given).to_string();
        let expected = format!("{key} = {value}: not a power of two; {next} is the next");
        assert!(error.contains(&expected), "{error}");
    }
    fabric(&spec(&[
        ("endpoint.type", "dram"),
        ("endpoint.dram_channels", "4"),
        ("endpoint.dram_ranks", "2"),
    ]));
}
