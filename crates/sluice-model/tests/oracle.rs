//! Is a policy the policy it says? Exact hit counts against libCacheSim, and Belady's bound.

use sluice_model::{Device, DeviceConfig, EVICTIONS, Op, Request, ServedBy};
use sluice_testkit::{belady, traces};
use sluice_units::{Bytes, Lpn, PAGE_BYTES, Ps};

const GOLDEN: &str = include_str!("../../../tests/oracle/golden.txt");

/// Hits of a policy when every fill is complete before the next access.
fn hits(policy: &str, cache_pages: u64, pages: &[u64]) -> u64 {
    let mut raw = DeviceConfig::builder();
    let size = |pages: u64| Bytes(pages * PAGE_BYTES).to_string();
    raw.set("device.capacity", &size(traces::PAGES)).unwrap();
    raw.set("cache.capacity", &size(cache_pages)).unwrap();
    raw.set("cache.policy", policy).unwrap();
    let mut device = Device::new(&DeviceConfig::new(&raw).unwrap(), 1).unwrap();
    let mut now = Ps::ZERO;
    for page in pages {
        let req = Request {
            addr: Lpn::of(*page).addr(PAGE_BYTES),
            op: Op::Read,
        };
        let completion = device.access(now, req, &mut ());
        assert_ne!(completion.served_by, ServedBy::MshrMerge);
        now = completion.done_at;
    }
    device.stats().hits
}

#[test]
fn hit_counts_equal_those_of_libcachesim() {
    let traces = traces::all();
    let mut checked = 0;
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let [name, policy, capacity, expected] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let trace = traces.iter().find(|trace| trace.name == name).unwrap();
        let found = hits(policy, capacity.parse().unwrap(), &trace.pages);
        assert_eq!(found.to_string(), expected, "{name} {policy} {capacity}");
        checked += 1;
    }
    assert_eq!(
        checked,
        3 * 6 * 5,
        "three traces, six policies, five capacities"
    );
}

#[test]
fn nothing_beats_belady() {
    for trace in traces::all() {
        for cache_pages in [20, 256] {
            let best = belady::hits(&trace.pages, cache_pages as usize);
            for entry in EVICTIONS {
                let name = entry.info.name;
                let found = hits(name, cache_pages, &trace.pages);
                assert!(found <= best, "{name} on {}: {found} of {best}", trace.name);
                assert!(found > 0, "{name} on {} never hits", trace.name);
            }
        }
    }
}
