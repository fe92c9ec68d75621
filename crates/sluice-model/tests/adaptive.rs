//! ARC, LIRS and W-TinyLFU at sizes where every queue is in use: hit for hit and victim for victim
//! what plain lists do, in each variant.

use sluice_model::{Op, Request, ServedBy};
use sluice_testkit::rig::{self, Recorder};
use sluice_testkit::{naive_adaptive, traces};
use sluice_units::{Bytes, Lpn, PAGE_BYTES, Ps};

fn follows_its_plain_list(name: &str, settings: &[(&str, &str)], cache_pages: u64) {
    for trace in traces::all() {
        let size = |pages: u64| Bytes(pages * PAGE_BYTES).to_string();
        let (device_size, cache_size) = (size(traces::PAGES), size(cache_pages));
        let sizes = [
            ("device.capacity", &*device_size),
            ("cache.capacity", &*cache_size),
        ];
        let mut device = rig::device(&[&sizes[..], settings].concat());
        let mut plain = naive_adaptive::cache(name, cache_pages as usize).unwrap();
        let mut now = Ps::ZERO;
        for (index, page) in trace.pages[..7_000].iter().enumerate() {
            let mut host = Recorder::default();
            let req = Request {
                addr: Lpn(*page).addr(),
                op: Op::Read,
            };
            let completion = device.access(now, req, &mut host);
            let (hit, evicted) = plain.access(*page);
            let place = format!("{name} of {cache_pages} pages, {} {index}", trace.name);
            assert_eq!(completion.served_by == ServedBy::CacheHit, hit, "{place}");
            assert_eq!(host.unmapped, Vec::from_iter(evicted), "{place}");
            now = completion.done_at;
        }
    }
}

#[test]
fn arc() {
    for pages in [1, 2, 99, 400] {
        follows_its_plain_list("arc", &[("cache.policy", "arc")], pages);
    }
}

#[test]
fn lirs() {
    let policy = ("cache.policy", "lirs");
    let theirs = ("cache.lirs_variant", "libcachesim");
    for pages in [1, 2, 99, 400] {
        follows_its_plain_list("lirs", &[policy], pages);
        follows_its_plain_list("lirs libcachesim", &[policy, theirs], pages);
    }
}

#[test]
fn w_tinylfu() {
    let policy = ("cache.policy", "wtinylfu");
    let theirs = ("cache.wtinylfu_variant", "libcachesim");
    // 298 pages leave segments that do not add up to the main part.
    for pages in [1, 2, 99, 298] {
        follows_its_plain_list("wtinylfu", &[policy], pages);
        follows_its_plain_list("wtinylfu libcachesim", &[policy, theirs], pages);
    }
}
