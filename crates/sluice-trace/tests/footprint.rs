//! The description of a trace: its lines and pages, how soon they come again, and what filtered it.

use proptest::prelude::*;
use sluice_trace::filter::Levels;
use sluice_trace::footprint::Footprint;
use sluice_trace::{Access, KINDS, Kind};
use std::collections::BTreeSet;

fn footprint(reuse: bool, accesses: &[(u64, u16)]) -> Footprint {
    let mut footprint = Footprint::new(reuse);
    for (address, size) in accesses {
        footprint.add(&Access {
            cpu: 0,
            instructions: 0,
            address: *address,
            size: *size,
            kind: Kind::Load,
        });
    }
    footprint
}

#[test]
fn levels_are_told_as_they_are_given() {
    for text in [
        "none",
        "L1=32KiB/8",
        "L1=32KiB/8,L2=512KiB/8",
        "L1=48KiB/12,L2=2MiB/16,L3=32MiB/16",
    ] {
        let levels = Levels::parse(text).expect("valid levels");
        assert_eq!(levels.to_string(), text);
        assert_eq!(levels.is_empty(), text == "none");
    }
}

#[test]
fn an_access_ends_with_its_last_byte() {
    for (address, size, range, lines, pages) in [
        (0, 1, (0, 0), 1, 1),
        (64, 64, (64, 127), 1, 1),
        (63, 2, (63, 64), 2, 1),
        (4095, 1, (4095, 4095), 1, 1),
        (4095, 2, (4095, 4096), 2, 2),
        (8192, 4096, (8192, 12_287), 64, 1),
    ] {
        let found = footprint(false, &[(address, size)]);
        assert_eq!(found.range, Some(range), "{address} {size}");
        assert_eq!((found.lines(), found.pages()), (lines, pages), "{address}");
    }
}

/// Pages 0, 1, 2, 0 and 0: two others lie between the first two uses of page 0, none between the
/// last.
#[test]
fn how_soon_a_page_comes_again_is_told_if_it_was_asked_for() {
    let accesses = [(0, 8), (4096, 8), (8192, 8), (8, 8), (16, 8)];
    let found = footprint(true, &accesses);
    let reuse = found.reuse().expect("it was asked for");
    assert_eq!(reuse.touches(), 5);
    assert_eq!(reuse.buckets(), [1, 0, 1]);
    assert!(footprint(false, &accesses).reuse().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(64)))]

    /// Every byte of every access by itself.
    #[test]
    fn counts_are_those_of_the_bytes(
        steps in prop::collection::vec((0..KINDS - 1, 0..4u32, 0..60_000u64, 1..9_000u16), 1..60),
    ) {
        let mut found = Footprint::new(true);
        let (mut kinds, mut bytes, mut cpus) = ([0; KINDS], [0; KINDS], Vec::new());
        let (mut pages, mut lines) = (BTreeSet::new(), BTreeSet::new());
        let (mut touches, mut range) = (0, None::<(u64, u64)>);
        for (kind, cpu, address, size) in steps {
            let named = [
                Kind::Load, Kind::Store, Kind::Fetch, Kind::BlockRead, Kind::BlockWrite,
                Kind::BlockTrim,
            ][kind];
            found.add(&Access { cpu, instructions: 0, address, size, kind: named });
            kinds[kind] += 1;
            bytes[kind] += u64::from(size);
            cpus.resize(cpus.len().max(cpu as usize + 1), 0);
            cpus[cpu as usize] += 1;
            if named == Kind::Fetch {
                continue;
            }
            let mut own = BTreeSet::new();
            for byte in address..address + u64::from(size) {
                pages.insert(byte / 4096);
                lines.insert(byte / 64);
                own.insert(byte / 4096);
                let (low, high) = range.unwrap_or((byte, byte));
                range = Some((low.min(byte), high.max(byte)));
            }
            // All lines of a page in one access are one use of it.
            touches += own.len() as u64;
        }
        prop_assert_eq!((found.kinds, found.bytes), (kinds, bytes));
        prop_assert_eq!(&found.cpus, &cpus);
        prop_assert_eq!(found.range, range);
        prop_assert_eq!(found.pages(), pages.len() as u64);
        prop_assert_eq!(found.lines(), lines.len() as u64);
        let reuse = found.reuse().unwrap();
        prop_assert_eq!(reuse.touches(), touches);
        prop_assert_eq!((reuse.pages(), reuse.first()), (found.pages(), found.pages()));
        let again: u64 = reuse.distances().iter().sum();
        prop_assert_eq!(again, touches - found.pages());
    }
}
