//! Policies at sizes where every queue is in use do hit for hit and victim for victim what plain
//! lists do, in each variant.

use sluice_model::{Op, Request, ServedBy};
use sluice_testkit::rig::{self, Recorder};
use sluice_testkit::{naive, traces};
use sluice_units::{Bytes, Lpn, PAGE_BYTES, Ps};

fn follows(plain_name: &str, settings: &[(&str, &str)], cache_pages: u64) {
    // Pages that are cached and pages that are not are discarded, those just used among them.
    for discards in [None, Some(5)] {
        follows_with(discards, plain_name, settings, cache_pages);
    }
}

fn follows_with(
    discards: Option<usize>,
    plain_name: &str,
    settings: &[(&str, &str)],
    cache_pages: u64,
) {
    for trace in traces::all() {
        let size = |pages: u64| Bytes(pages * PAGE_BYTES).to_string();
        let (device_size, cache_size) = (size(traces::PAGES), size(cache_pages));
        let sizes = [
            ("device.capacity", &*device_size),
            ("cache.capacity", &*cache_size),
        ];
        let mut device = rig::device(&[&sizes[..], settings].concat());
        let mut plain = naive::cache(plain_name, cache_pages as usize, 10).unwrap();
        let mut now = Ps::ZERO;
        for (index, page) in trace.pages[..7_000].iter().enumerate() {
            let mut host = Recorder::default();
            let req = Request {
                addr: Lpn::of(*page).addr(PAGE_BYTES),
                op: Op::Read,
            };
            let completion = device.access(now, req, &mut host);
            let (hit, evicted) = plain.access(*page);
            let place = format!("{plain_name} of {cache_pages}, {} {index}", trace.name);
            assert_eq!(completion.served_by == ServedBy::CacheHit, hit, "{place}");
            assert_eq!(host.unmapped, Vec::from_iter(evicted), "{place}");
            now = completion.done_at;
            if discards.is_some_and(|each| index % each == 0) {
                let gone = trace.pages[index * 7 % (index + 1)];
                device.discard(now, Lpn::of(gone));
                plain.discard(gone);
            }
        }
    }
}

#[test]
fn policies_without_variants() {
    for name in [
        "fifo", "lifo", "lru", "clock", "sieve", "mru", "lfu", "lfru",
    ] {
        for pages in [1, 2, 99, 400] {
            follows(name, &[("cache.policy", name)], pages);
        }
    }
}

#[test]
fn two_q() {
    let policy = ("cache.policy", "twoq");
    let theirs = ("cache.twoq_variant", "libcachesim");
    let artifact = ("cache.twoq_variant", "cxl-ssd-sim");
    let halves = [policy, artifact, ("cache.twoq_in", "50%")];
    // Without room for pages that are used again it is FIFO.
    let all_new = [policy, artifact, ("cache.twoq_in", "100%")];
    for pages in [1, 2, 99, 400] {
        follows("twoq", &[policy], pages);
        follows("twoq libcachesim", &[policy, theirs], pages);
        follows("twoq cxl-ssd-sim", &halves, pages);
        follows("fifo", &all_new, pages);
    }
}

#[test]
fn slru() {
    let policy = ("cache.policy", "slru");
    let theirs = ("cache.slru_variant", "libcachesim");
    for pages in [1, 2, 99, 400] {
        follows("slru", &[policy], pages);
    }
    // At 401 one page is left over, which a hit lets go of.
    for pages in [4, 100, 401] {
        let settings = [policy, theirs, ("cache.slru_segments", "4")];
        follows("slru libcachesim", &settings, pages);
    }
}

#[test]
fn s3fifo() {
    let policy = ("cache.policy", "s3fifo");
    let paper = ("cache.s3fifo_variant", "paper");
    for pages in [1, 2, 99, 400] {
        follows("s3fifo paper", &[policy, paper], pages);
    }
    for pages in [10, 100, 400] {
        follows("s3fifo", &[policy], pages);
    }
}

#[test]
fn arc() {
    for pages in [1, 2, 99, 400] {
        follows("arc", &[("cache.policy", "arc")], pages);
    }
}

#[test]
fn lirs() {
    let policy = ("cache.policy", "lirs");
    let theirs = ("cache.lirs_variant", "libcachesim");
    for pages in [1, 2, 99, 400] {
        follows("lirs", &[policy], pages);
        follows("lirs libcachesim", &[policy, theirs], pages);
    }
}

#[test]
fn w_tinylfu() {
    let policy = ("cache.policy", "wtinylfu");
    let theirs = ("cache.wtinylfu_variant", "libcachesim");
    // 298 pages leave segments that do not add up to the main part.
    for pages in [1, 2, 99, 298] {
        follows("wtinylfu", &[policy], pages);
        follows("wtinylfu libcachesim", &[policy, theirs], pages);
    }
}
