//! What is told of a trace: its lines and pages, how soon they come again, and what filtered it.

use sluice_trace::filter::Levels;
use sluice_trace::footprint::Footprint;
use sluice_trace::{Access, Kind};

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
