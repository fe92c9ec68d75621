//! The home agent beside a table of every granule.

use proptest::prelude::*;
use proptest::sample::select;
use sluice_cxl::{
    Arithmetic, DECODER_ALIGNMENT, GRANULARITIES, Home, HomeAgent, HomeError, WAYS, Window,
};
use sluice_units::Bytes;
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

fn window(name: &str, base: u64, size: u64, targets: &[u16]) -> Window {
    Window {
        name: name.to_owned(),
        base,
        size: Bytes(size),
        granularity: 256,
        arithmetic: Arithmetic::Modulo,
        targets: targets.to_vec(),
        weights: Vec::new(),
    }
}

/// An agent over four devices of 1 GiB, with CXL's alignment.
fn agent(windows: &[Window]) -> Result<HomeAgent, HomeError> {
    HomeAgent::new(windows, &[Bytes::from_gib(1); 4], DECODER_ALIGNMENT)
}

fn refusal(windows: &[Window]) -> String {
    agent(windows).unwrap_err().to_string()
}

#[test]
fn a_second_window_follows_the_first_on_each_device() {
    let agent = agent(&[
        window("high", 4096 * MIB, 512 * MIB, &[1, 0]),
        window("low", 0, 256 * MIB, &[1]),
    ])
    .unwrap();
    let home = |device, dpa| Some(Home { device, dpa });
    assert_eq!(agent.home(256 * MIB - 1), home(1, 256 * MIB - 1));
    assert_eq!(agent.home(256 * MIB), None);
    assert_eq!(agent.home(4096 * MIB - 1), None);
    assert_eq!(agent.home(4096 * MIB), home(1, 256 * MIB));
    assert_eq!(agent.home(4096 * MIB + 256), home(0, 0));
    assert_eq!(agent.home(4096 * MIB + 512), home(1, 256 * MIB + 256));
    assert_eq!(agent.home(4608 * MIB - 1), home(0, 256 * MIB - 1));
    assert_eq!(agent.home(4608 * MIB), None);
    let mapped: Vec<u64> = (0..4).map(|device| agent.mapped(device).0 / MIB).collect();
    assert_eq!(mapped, [256, 512, 0, 0]);
    assert_eq!(
        agent.address(Home {
            device: 0,
            dpa: 256 * MIB
        }),
        None
    );
    assert_eq!(agent.address(Home { device: 9, dpa: 0 }), None);
}

#[test]
fn windows_that_overlap_are_both_named() {
    let windows = [
        window("b", 512 * MIB, 512 * MIB, &[2, 3]),
        window("a", 0, 768 * MIB, &[0]),
    ];
    assert_eq!(
        refusal(&windows),
        "decoders `a` and `b` overlap: `a` ends at 0x30000000, `b` begins at 0x20000000"
    );
    // One line less, and they do not.
    agent(&[window("a", 0, 512 * MIB, &[0]), windows[0].clone()]).unwrap();
}

#[test]
fn what_cannot_be_is_refused_with_what_would_do() {
    let odd = Window {
        granularity: 384,
        ..window("w", 0, 256 * MIB, &[0])
    };
    let cases = [
        (
            window("w", 0, 0, &[0]),
            "decoder `w` is 0B at 0x0; a range is not empty",
        ),
        (
            window("w", 1 << 52, 256 * MIB, &[0]),
            "ends by 0x10000000000000",
        ),
        (window("w", u64::MAX, 2, &[0]), "ends by 0x10000000000000"),
        (
            window("w", 0, 256 * MIB, &[]),
            "decoder `w` has 0 targets; a range is interleaved",
        ),
        (
            window("w", 0, 256 * MIB, &[0; 5]),
            "over 1, 2, 3, 4, 6, 8, 12, 16",
        ),
        (
            odd,
            "decoder `w` has granules of 384 B; valid are 64, 128, 256,",
        ),
        (
            window("w", 4096, 256 * MIB, &[0]),
            "has base 0x1000, not a multiple of 0x10000000",
        ),
        (
            window("w", 0, 256 * MIB, &[0, 1]),
            "has size 0x10000000, not a multiple of 0x20000000",
        ),
        (
            window("w", 0, 512 * MIB, &[0, 4]),
            "decoder `w` names device 4; there are 4, from 0",
        ),
        (
            window("w", 0, 512 * MIB, &[1, 1]),
            "decoder `w` names device 1 twice",
        ),
        (
            window("w", 0, 2048 * MIB, &[3]),
            "decoder `w` needs 2GiB of device 3, which has 1GiB",
        ),
    ];
    for (window, says) in cases {
        let message = refusal(&[window]);
        assert!(message.contains(says), "{message}\nlacks {says}");
    }
}

#[derive(Clone, Debug)]
struct Layout {
    windows: Vec<Window>,
    devices: usize,
}

/// Up to four windows, of some rounds of granules each, with gaps between, over 16 devices.
fn layouts() -> impl Strategy<Value = Layout> {
    let devices = Just((0_u16..16).collect::<Vec<_>>()).prop_shuffle();
    let part = (
        select(WAYS),
        select(GRANULARITIES),
        1_u64..5,
        0_u64..3,
        devices,
    );
    prop::collection::vec(part, 1..5).prop_map(|parts| {
        let mut base = 0;
        let lay = |(ways, granularity, rounds, gap, devices): (u8, u64, u64, u64, Vec<u16>)| {
            base += gap * 16_384;
            let mut made = window("w", base, rounds * 16_384 * u64::from(ways), &[]);
            made.granularity = granularity;
            made.targets = devices[..usize::from(ways)].to_vec();
            base += made.size.0;
            made
        };
        let windows = parts.into_iter().map(lay).collect();
        Layout {
            windows,
            devices: 16,
        }
    })
}

/// Of 6 rounds of 256 MiB one device has 512 MiB, one 256 MiB, and one 768 MiB.
#[test]
fn a_device_has_room_for_its_weight() {
    let window = |size| Window {
        arithmetic: Arithmetic::Weighted,
        weights: vec![2, 1, 3],
        ..window("w", 0, size, &[0, 1, 2])
    };
    let room = [2u64, 1, 3].map(|weight| Bytes(weight * 256 * MIB));
    let agent = HomeAgent::new(&[window(6 * 256 * MIB)], &room, DECODER_ALIGNMENT).unwrap();
    let mapped: Vec<Bytes> = (0..3).map(|device| agent.mapped(device)).collect();
    assert_eq!(mapped, room);
    for short in 0..3 {
        let mut less = room;
        less[short].0 -= 1;
        let refused = HomeAgent::new(&[window(6 * 256 * MIB)], &less, DECODER_ALIGNMENT);
        assert_eq!(
            refused.err(),
            Some(HomeError::Capacity {
                name: "w".to_owned(),
                device: short as u16,
                needed: room[short],
                capacity: less[short],
            })
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(32)))]

    /// A table made by dealing every granule out by hand: the agent agrees with it, both ways,
    /// and no two addresses share a byte.
    #[test]
    fn an_agent_is_a_table_and_a_bijection(layout in layouts(), within in 0_u64..64) {
        let capacity = vec![Bytes::from_mib(64); layout.devices];
        let agent = HomeAgent::new(&layout.windows, &capacity, Bytes(16_384)).unwrap();
        let mut used = vec![0_u64; layout.devices];
        let mut seen = BTreeMap::new();
        for window in &layout.windows {
            let bytes = window.granularity;
            for granule in 0..window.size.0 / bytes {
                let turn = granule % window.targets.len() as u64;
                let device = window.targets[turn as usize];
                let home = Home { device, dpa: used[usize::from(device)] + within };
                used[usize::from(device)] += bytes;
                let hpa = window.base + granule * bytes + within;
                prop_assert_eq!(agent.home(hpa), Some(home));
                prop_assert_eq!(agent.address(home), Some(hpa));
                prop_assert_eq!(seen.insert((device, home.dpa), hpa), None);
            }
        }
        for (device, &bytes) in used.iter().enumerate() {
            prop_assert_eq!(agent.mapped(device as u16).0, bytes);
        }
    }

    /// Whatever is given: an answer or a refusal, and no two addresses of one byte.
    #[test]
    fn nonsense_is_refused_or_bijective(
        parts in prop::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u64>(), prop::collection::vec(0_u16..6, 0..18)),
            0..4,
        ),
        shift in 0_u32..40,
        probe: u64,
    ) {
        let make = |(base, size, granularity, targets): &(u64, u64, u64, Vec<u16>)| Window {
            name: "w".to_owned(),
            base: base >> shift << shift,
            size: Bytes(size >> shift.max(20) << shift),
            granularity: 1 << (granularity % 20),
            arithmetic: Arithmetic::ALL[(granularity / 20 % 3) as usize],
            targets: targets.clone(),
            weights: targets.iter().map(|target| *target as u8).collect(),
        };
        let windows: Vec<Window> = parts.iter().map(make).collect();
        let devices = [Bytes(1 << 60); 4];
        if let Ok(agent) = HomeAgent::new(&windows, &devices, Bytes(256)) {
            let bases = windows.iter().map(|window| window.base);
            for hpa in bases.chain([probe]) {
                if let Some(home) = agent.home(hpa) {
                    prop_assert_eq!(agent.address(home), Some(hpa));
                }
            }
        }
    }
}
