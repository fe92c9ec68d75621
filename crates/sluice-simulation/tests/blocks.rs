//! A trace of requests by the block door does to a device what the same requests do to it one by
//! one.

use sluice_driver::Visibility;
use sluice_model::{BlockOp, BlockRequest, Device, DeviceConfig, Op, Request};
use sluice_replay::{Placement, Replay};
use sluice_results::SimResult;
use sluice_simulation::Plan;
use sluice_trace::{Access, BLOCK_PIECE, Header, Kind, Writer};
use sluice_units::{Lpn, Ps, Rng};
use std::path::Path;

const PAGES: u64 = 2048;
const PIECE_PAGES: u64 = BLOCK_PIECE as u64 / 4096;

#[derive(Clone, Copy)]
enum Step {
    Line(u64, bool),
    Block(Kind, u64, u64),
}

fn steps() -> Vec<Step> {
    let mut rng = Rng::stream(5, "blocks");
    // Every page once, so that pages by their addresses are where the steps say.
    let mut steps = vec![Step::Block(Kind::BlockRead, 0, PAGES)];
    for _ in 0..4_000 {
        let page = rng.below(PAGES - 64);
        steps.push(match rng.below(10) {
            0..3 => Step::Line(page * 4096 + 64, false),
            3..6 => Step::Line(page * 4096 + 128, true),
            6 => Step::Block(Kind::BlockRead, page, 1 + rng.below(40)),
            7 => Step::Block(Kind::BlockWrite, page, 1 + rng.below(40)),
            8 => Step::Block(Kind::BlockTrim, page, 1 + rng.below(8)),
            _ => Step::Block(Kind::BlockFlush, 0, 0),
        });
    }
    steps
}

fn record(path: &Path, steps: &[Step]) {
    let mut writer = Writer::create(path, &Header::new("test").with_block_requests()).unwrap();
    for (step, instructions) in steps.iter().zip(0..) {
        let mut push = |kind, address, size| {
            let cpu = 0;
            let access = Access {
                cpu,
                instructions,
                address,
                size,
                kind,
            };
            writer.push(&access).unwrap();
        };
        match *step {
            Step::Line(addr, false) => push(Kind::Load, addr, 8),
            Step::Line(addr, true) => push(Kind::Store, addr, 8),
            Step::Block(Kind::BlockFlush, ..) => push(Kind::BlockFlush, 0, 0),
            Step::Block(kind, first, count) => {
                for done in (0..count).step_by(PIECE_PAGES as usize) {
                    let pages = (count - done).min(PIECE_PAGES);
                    push(kind, (first + done) * 4096, (pages * 4096) as u16);
                }
            }
        }
    }
    writer.finish(&[]).unwrap();
}

fn config(set: &[(&str, &str)]) -> DeviceConfig {
    let mut raw = sluice_config::load("cylon").unwrap();
    let usual = [("device.capacity", "16MiB"), ("cache.capacity", "1MiB")];
    for (key, value) in usual.iter().chain(set) {
        raw.set(key, value).unwrap();
    }
    DeviceConfig::simulated(&raw).unwrap()
}

fn replayed(config: &DeviceConfig, steps: &[Step]) -> SimResult {
    placed(config, steps, Placement::Address)
}

fn placed(config: &DeviceConfig, steps: &[Step], placement: Placement) -> SimResult {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks.trace");
    record(&path, steps);
    let replay = Replay::open(&path, placement).unwrap();
    assert!(replay.has_blocks() && replay.footprint().0 == PAGES * 4096);
    let refused = replay.streams().err().unwrap().to_string();
    assert!(
        refused.ends_with("which only `sluice sim --device` replays"),
        "{refused}"
    );
    let plan = Plan {
        device: "cylon",
        config,
        workload: "blocks",
        visibility: Visibility::All,
        seed: 1,
        bound: false,
        histogram: false,
        warmup: 0,
    };
    let asked = replay
        .asked(config.pages.into(), config.page_bytes())
        .unwrap();
    plan.run_asked(asked, || false).unwrap().unwrap()
}

/// The device, and the time at which the last step was done. Pages are those of 4 KiB.
fn directly(config: &DeviceConfig, steps: &[Step]) -> (Device, Ps, u64) {
    let mut device = Device::new(config, 1).unwrap();
    let (mut now, mut requests) = (Ps::ZERO, 0);
    let page_bytes = config.page_bytes();
    for step in steps {
        now = match *step {
            Step::Line(addr, write) => {
                let op = if write { Op::Write } else { Op::Read };
                device.access(now, Request { addr, op }, &mut ()).done_at
            }
            Step::Block(kind, first, count) => {
                let op = match kind {
                    Kind::BlockRead => BlockOp::Read,
                    Kind::BlockWrite => BlockOp::Write,
                    Kind::BlockTrim => BlockOp::Trim,
                    _ => BlockOp::Flush,
                };
                let (from, to) = match op {
                    BlockOp::Flush => (0, u64::from(config.pages)),
                    // A disk keeps a page of which it is to trim a part.
                    BlockOp::Trim => {
                        let (begin, end) = (first * 4096, (first + count) * 4096);
                        (begin.div_ceil(page_bytes), end / page_bytes)
                    }
                    _ => {
                        let end = (first + count) * 4096;
                        (first * 4096 / page_bytes, end.div_ceil(page_bytes))
                    }
                };
                requests += 1;
                if from < to {
                    let request = BlockRequest::new(op, Lpn::of(from), to - from);
                    device.block(now, request, &mut ()).unwrap().done_at
                } else {
                    now
                }
            }
        };
    }
    (device, now, requests)
}

#[test]
fn a_trace_of_block_requests_does_what_the_requests_do() {
    for set in [
        &[][..],
        &[("device.page", "512B")],
        &[("device.page", "16KiB")],
        &[("cache.store_miss", "around")],
    ] {
        let (config, steps) = (config(set), steps());
        let result = replayed(&config, &steps);
        let (device, now, requests) = directly(&config, &steps);
        let stats = device.stats();
        let block = result.block.unwrap();
        assert_eq!(block.requests, requests);
        let found = [
            block.pages_read,
            block.cache_hits,
            block.pages_written,
            block.pages_trimmed,
            block.flushes,
            block.pages_flushed,
            block.refused,
            result.cache.misses,
            result.served.cache,
            result.flash.counts.reads,
            result.flash.counts.programs,
        ];
        let due = [
            stats.block_reads,
            stats.block_cache_hits,
            stats.block_writes,
            stats.block_trims,
            stats.block_flushes,
            stats.flushes,
            stats.refused,
            stats.misses,
            stats.hits,
            stats.flash_reads,
            stats.flash_programs,
        ];
        assert_eq!(found, due, "{set:?}");
        assert_eq!(result.sim_time_s, now.0 as f64 / 1e12, "{set:?}");
        assert!(block.flushes > 0 && block.pages_flushed > 0 && block.cache_hits > 0);
    }
}

/// What was trimmed is in flash no more, and what was flushed is.
#[test]
fn trims_unmap_and_flushes_write() {
    let config = config(&[]);
    let all = Step::Block(Kind::BlockWrite, 0, PAGES);
    let read = Step::Block(Kind::BlockRead, 100, 8);
    let trim = Step::Block(Kind::BlockTrim, 100, 4);
    let reads = |steps: &[Step]| replayed(&config, steps).flash.counts.reads;
    assert_eq!(reads(&[all, read]), 8);
    assert_eq!(reads(&[all, trim, read]), 4);
    let store = Step::Line(200 * 4096, true);
    let flush = Step::Block(Kind::BlockFlush, 0, 0);
    let programs = |steps: &[Step]| replayed(&config, steps).flash.counts.programs;
    assert_eq!(programs(&[all, store]), PAGES);
    assert_eq!(programs(&[all, store, flush, flush]), PAGES + 1);
}

#[test]
fn a_large_page_is_trimmed_as_a_whole_alone() {
    let config = config(&[("device.page", "64KiB")]);
    let all = Step::Block(Kind::BlockWrite, 0, PAGES);
    let read = Step::Block(Kind::BlockRead, 16, 16);
    let reads = |steps: &[Step]| replayed(&config, steps).flash.counts.reads;
    let trim = |first, count| Step::Block(Kind::BlockTrim, first, count);
    for (first, count, left) in [(16, 1, 1), (17, 16, 1), (16, 16, 0), (15, 18, 0)] {
        assert_eq!(
            reads(&[all, trim(first, count), read]),
            left,
            "{first} {count}"
        );
    }
}

/// Pages in order of touch: a request comes back to a large page that it has named.
#[test]
fn a_request_asks_for_a_large_page_once() {
    let config = config(&[("device.page", "64KiB")]);
    let touches = [16, 1, 15].map(|page| Step::Block(Kind::BlockRead, page, 1));
    let rest = Step::Block(Kind::BlockRead, 0, PAGES);
    let write = Step::Block(Kind::BlockWrite, 0, 32);
    let steps = [touches[0], touches[1], touches[2], rest, write];
    let block = placed(&config, &steps, Placement::Touch).block.unwrap();
    assert_eq!(block.pages_written, 2);
}
