//! A whole device beside a plain one: lists of pages, without time, banks, blocks or indices,
//! written from what the parameters and calls say. Both get the same requests, far apart so that
//! nothing is on its way any more, and count the same: whatever the times and the flash array are.
//! An access that sets nothing else in motion takes the time that the parameters say.

mod cache;
mod draw;
mod log;
mod plain;
mod times;

use draw::{PAGES, drawn, rarely_drawn};
use plain::Plain;
use sluice_model::{
    BlockOp, BlockRequest, Command, Device, DeviceConfig, Op, PARAMS, Param, Pattern, Request,
    ServedBy, Stats,
};
use sluice_units::{Lpn, Ps, Rng};

/// Between two requests. Everything that the first one has begun is done by then.
const GAP: Ps = Ps::from_ms(1_000);

/// Something that is asked of a device.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Access(u32, u64, Op),
    Command(Command),
    Block(BlockOp, u32, u64),
    Discard(u32),
    WrittenLate(u32),
    Promote(u32),
    Demote(u32),
    DemoteToFlash(u32),
    Advise(u32, u64, Pattern),
    Compact,
}

/// The next request: low pages come up more often, and some come in order.
fn asked(rng: &mut Rng, next: &mut u32, page_bytes: u64) -> Asked {
    let mut below = |n: u64| rng.below(n);
    let page = match below(4) {
        0 => {
            *next = (*next + 1) % PAGES;
            *next
        }
        _ => (below(14) * below(14)) as u32 % PAGES,
    };
    let lpn = Lpn(page);
    let count = below(12).min(u64::from(PAGES - page));
    match below(100) {
        0..34 => Asked::Access(page, below(page_bytes), Op::Read),
        34..68 => Asked::Access(page, below(page_bytes), Op::Write),
        68..71 => Asked::Command(Command::Pin(lpn)),
        71..73 => Asked::Command(Command::Unpin(lpn)),
        73..75 => Asked::Command(Command::Prefetch(lpn)),
        75..77 => Asked::Command(Command::Evict(lpn)),
        77..79 => Asked::Command(Command::Flush(lpn)),
        79..81 => Asked::Command(Command::Cold(lpn)),
        81..83 => Asked::Block(BlockOp::Read, page, count),
        83..85 => Asked::Block(BlockOp::Write, page, count),
        85 => Asked::Block(BlockOp::Trim, page, count),
        86 => Asked::Block(BlockOp::Flush, page, 1 + below(u64::from(PAGES - page))),
        87 => Asked::Discard(page),
        88 => Asked::WrittenLate(page),
        89..91 => Asked::Promote(page),
        91..94 => Asked::Demote(page),
        94..96 => Asked::DemoteToFlash(page),
        96..99 => {
            let patterns = [Pattern::Normal, Pattern::Random, Pattern::Sequential];
            Asked::Advise(page, 4 * count, patterns[below(3) as usize])
        }
        _ => Asked::Compact,
    }
}

/// Asks the device. What it answers, as numbers: where it found the page, or what it did. `took`
/// is how long an access took.
fn ask(device: &mut Device, now: Ps, asked: Asked, took: &mut Ps) -> [u64; 2] {
    let bytes = device.config().page_bytes();
    match asked {
        Asked::Access(page, offset, op) => {
            let addr = u64::from(page) * bytes + offset;
            let done = device.access(now, Request { addr, op }, &mut ());
            *took = done.done_at - now;
            [done.served_by as u64, done.was_prefetched.into()]
        }
        Asked::Command(command) => match device.command(now, command, &mut ()) {
            Ok(done) => [1, done.changed.into()],
            Err(_) => [0, 0],
        },
        Asked::Block(op, page, count) => {
            let done = device.block(now, BlockRequest::new(op, Lpn(page), count), &mut ());
            [1, done.expect("pages of an SSD").cached]
        }
        Asked::Promote(page) => [device.promote(now, Lpn(page)).dirty.into(), 0],
        Asked::Demote(page) => {
            let done = device.demote(now, Lpn(page), &mut ());
            [done.served_by as u64, 0]
        }
        _ => {
            report(device, now, asked);
            [0, 0]
        }
    }
}

/// Says to the device what it does not answer.
fn report(device: &mut Device, now: Ps, asked: Asked) {
    match asked {
        Asked::Discard(page) => device.discard(now, Lpn(page)),
        Asked::WrittenLate(page) => device.write_back(now, Lpn(page)),
        Asked::DemoteToFlash(page) => device.demote_to_flash(now, Lpn(page)),
        Asked::Advise(page, count, pattern) => device.advise(Lpn(page), count, pattern),
        _ => device.compact_log(now),
    }
}

/// Counters with their names.
macro_rules! counters {
    ($of:expr, $($name:ident)*) => { vec![$((stringify!($name), $of.$name)),*] };
}

/// What both count. How the translation layer and the flash array go about it is their own, and a
/// plain device has no times. A page of the map that the controller still holds counts among the
/// host's reads, so that those are compared where the map is in memory.
fn counted(s: &Stats, map_is_in_memory: bool) -> Vec<(&'static str, u64)> {
    let moved = s.gc_moves + s.translation_reads;
    let reads = (s.flash_reads + s.held_reads).wrapping_sub(moved);
    let accesses = counters!(s, loads stores hits misses mshr_merges first_misses read_arounds
        write_arounds write_throughs);
    let pages = counters!(s, fills evictions dirty_evictions cold_evictions command_evictions drops
        late_write_backs trims host_programs write_buffer_reads write_buffer_saved);
    let ahead = counters!(s, prefetch_issued prefetch_used prefetch_late prefetch_unused
        prefetch_dropped sequential_prefetches sequential_passed random_quiet);
    let commands = counters!(s, flushes pins unpins pins_dropped pin_fills command_fills cooled
        refused block_reads block_cache_hits block_writes block_trims block_flushes);
    let log = counters!(s.write_log, appends superseded hits compactions pages_flushed
        lines_flushed compaction_reads dropped demoted);
    let migration = counters!(s.migration, promoted promoted_dirty demoted fills programs);
    let reads = vec![("reads", if map_is_in_memory { reads } else { 0 })];
    [accesses, pages, ahead, commands, log, migration, reads].concat()
}

/// The values that are not the defaults.
fn others(config: &DeviceConfig) -> String {
    let raw = config.raw();
    let other = PARAMS.iter().filter(|param| !raw.is_default(param));
    let pair = |param: &Param| format!("{}={}", param.key, raw.get(param.key).unwrap_or_default());
    other.map(pair).collect::<Vec<_>>().join(" ")
}

/// Runs both, and compares them after each request. Counts the accesses whose time is known.
fn same(seed: u64, requests: u32, timed: &mut [u64; 4]) -> Stats {
    let config = drawn(seed);
    let mut device = Device::new(&config, seed).expect("a device");
    let mut plain = Plain::new(&config);
    let mut rng = Rng::stream(seed, "requests");
    let (mut now, mut next) = (GAP, 0);
    for number in 0..requests {
        let asked = asked(&mut rng, &mut next, config.page_bytes());
        // A store to a log would send for pages, which may be there when compaction wants them.
        let in_order = matches!(asked, Asked::Advise(_, _, Pattern::Sequential));
        if in_order && config.write_log.is_some() {
            continue;
        }
        let before = *device.stats();
        let mut took = Ps::ZERO;
        let answers = [ask(&mut device, now, asked, &mut took), plain.ask(asked)];
        if let Asked::Access(_, _, op) = asked {
            let counted = device.stats().since(&before);
            if let Some([least, most]) = times::of(&config, op, answers[0][0], &counted) {
                let at = || format!("{seed}: request {number}, {asked:?} of {}", others(&config));
                assert!(
                    (least..=most).contains(&took),
                    "{took} {least} {most}, {}",
                    at()
                );
                timed[answers[0][0] as usize] += 1;
            }
        }
        now += GAP;
        device.advance(now);
        plain.rest();
        let at = || format!("{seed}: request {number}, {asked:?} of {}", others(&config));
        assert_eq!(answers[0], answers[1], "{}", at());
        let of = |stats| counted(stats, plain.map_is_in_memory);
        let both = of(device.stats()).into_iter().zip(of(&plain.stats));
        let differ: Vec<_> = both.filter(|(ours, theirs)| ours != theirs).collect();
        assert!(differ.is_empty(), "{differ:?}, {}", at());
        assert_eq!(device.balance(), Ok(()), "{}", at());
        for lpn in (0..PAGES).map(Lpn) {
            let ours = [
                device.is_cached(lpn),
                device.is_pinned(lpn),
                device.is_in_flash(lpn),
            ];
            assert_eq!(ours, plain.has(lpn.0), "{lpn}: {}", at());
        }
    }
    // What flash does not have is dirty. What is lost then does not matter.
    let dirty = |lpn: &u32| device.promote(now, Lpn(*lpn)).dirty;
    let dirty: Vec<u32> = (0..PAGES).filter(dirty).collect();
    assert_eq!(dirty, plain.dirty(), "{seed}");
    plain.stats
}

#[test]
fn a_device_counts_what_plain_lists_count() {
    let mut all: Vec<(&str, u64)> = counted(&Stats::default(), true);
    let mut timed = [0; 4];
    for seed in 0..sluice_testkit::cases(120).into() {
        let counts = counted(&same(seed, 400, &mut timed), true);
        let sums = all.iter_mut().zip(counts);
        sums.for_each(|(sum, (_, count))| sum.1 += count);
    }
    for served_by in [ServedBy::CacheHit, ServedBy::Flash, ServedBy::WriteLog] {
        assert!(timed[served_by as usize] > 400, "{served_by:?}: {timed:?}");
    }
    // Each thing happens, but for those that take two requests at once.
    let rare = all.into_iter().filter(|(_, count)| *count < 10);
    assert_eq!(
        rare.collect::<Vec<_>>(),
        [("mshr_merges", 0), ("prefetch_late", 0)]
    );
}

/// A test whose devices are all alike, or are mostly refused, shows little.
#[test]
fn devices_differ_in_every_parameter() {
    assert_eq!(rarely_drawn(400, 20), []);
}
