//! How large a cache a program needs: one live run records some of its accesses.

use super::{Seen, SizeArgs, answer};
use crate::child::leave;
use crate::error::Error;
use crate::live::args::{ControlArg, LiveArgs};
use crate::live::{self, Ended, Live};
use crate::result_args::ResultArgs;
use crate::settings::DeviceArgs;
use crate::{program, signals};
use sluice_abi::{Counter, RECORD_MAGIC, RecordHeader, is_watched};
use sluice_model::DeviceConfig;
use sluice_results::{Folder, ProcessMark, SizeMethod, SizeProfile, read_marks};
use sluice_runtime::{OnDevice, Store};
use sluice_simulation::{Timing, Uses};
use sluice_units::{Bytes, PAGE_BYTES, Ps};
use std::collections::HashSet;
use std::process::ExitCode;

/// Pages that are watched, at most: the hit ratio of a sample of so many is within a point or two
/// of the program's.
pub const SAMPLE: u64 = 4096;
/// Of watched pages, uses are told apart with so many others in between: of a page that is used
/// more often than that, chance decides too much whether it is among the watched.
const APART: u64 = 16;
/// Mappings from this size up are placed, as by `sluice run`.
const MMAP_MIN: usize = 128 << 10;

const NOTHING: &str = "nothing of the program was on the device: it used no memory that is placed \
                       there, or it is static and needs a guest (`sluice vm`)";

pub fn run(
    args: &SizeArgs,
    config: &DeviceConfig,
    folder: Option<&Folder>,
) -> Result<ExitCode, Error> {
    let prog = program::check(&args.program[0])?;
    let command = program::words_of(&args.program);
    let live_args = live_args(args);
    let live = Live {
        args: &live_args,
        config: profile(args, config)?,
        settings: Default::default(),
        trap: args.trap,
        place: OnDevice::Heap,
        kinds: Default::default(),
        place_name: "heap".to_owned(),
        store: Store::Memory,
        persistence: None,
        store_name: "dram".to_owned(),
        mmap_min: MMAP_MIN,
        command: args.program.clone(),
        poll: None,
        watch: args.filter.map_or(args.sample, |_| 0),
        count_after: None,
        profile: 0,
        is_emulated: true,
    };
    let mut ready = live.prepare()?;
    let running = ready.start(&prog, |_| {}, &signals::ENDING)?;
    let (pid, mut threads, mut computed) = (running.pid(), 0, None);
    let mut look = |seen: live::Seen| {
        threads = threads.max(threads_of(pid));
        computed = computed_by(pid, seen.seconds).or(computed);
        None
    };
    let Some(ended) = ready.await_end(running, Some(&mut look))? else {
        return Ok(ExitCode::from(2));
    };
    let main = ended.main(pid);
    let marks = main.map(|main| read_marks(ready.session(), main));
    let record = ready.record_of(pid);
    let record = record.map_err(Error::system("reading the record of traps"))?;
    let (own, record) = (ready.runtime_threads(), Record::read(&record));
    // Its files are in memory.
    drop(ready);
    let Some(record) = record.filter(|record| !record.pages.is_empty()) else {
        return Err(Error::unfit(args.program[0].display(), NOTHING));
    };
    let part = Part::new(args, &marks.unwrap_or_default(), &record)?;
    let threads = threads.saturating_sub(own).max(1);
    let profile = record.profile(&ended, pid, threads, computed);
    let seen = Seen {
        workload: &command.join(" "),
        method: args
            .filter
            .map_or(SizeMethod::Sampled, |_| SizeMethod::Filtered),
        uses: record.uses(args.filter, &part),
        profile: Some(profile),
    };
    let timing = match profile.without_traps_s {
        Some(without_s) if part == Part::ALL => Timing::Live {
            without: Ps::from_ns((without_s * 1e9) as u64),
            written_per_million: record.written_per_million(&ended, pid),
        },
        _ => Timing::Unknown,
    };
    warn(&profile);
    answer(args, config, &seen, &timing, folder)?;
    Ok(leave(ended.exit))
}

/// The options of a live run that only records.
fn live_args(args: &SizeArgs) -> LiveArgs {
    LiveArgs {
        device: DeviceArgs {
            device: args.device.device.clone(),
            set: Vec::new(),
            seed: args.device.seed,
        },
        handlers: 1,
        control: ControlArg::Off,
        control_poll: None,
        sample_hits: None,
        record_traps: args.traps,
        metrics: Vec::new(),
        result: ResultArgs::default(),
    }
}

/// A device whose flash takes no time: as large as the one that is asked about, with a cache of
/// the filter's size, or of all.
fn profile(args: &SizeArgs, config: &DeviceConfig) -> Result<DeviceConfig, Error> {
    let mut raw = DeviceConfig::builder();
    let cache = args.filter.unwrap_or(config.capacity());
    let page = Bytes(config.page_bytes());
    if cache < page {
        let why = format!("expected a page at least, {page}");
        return Err(Error::value("--filter", cache, why));
    }
    for (key, value) in [
        ("device.capacity", config.capacity().to_string()),
        ("cache.capacity", cache.to_string()),
        ("cache.policy", "fifo".to_owned()),
        ("ftl.precondition", "sequential".to_owned()),
    ] {
        raw.set(key, &value)?;
    }
    for key in ["nand.read", "nand.program", "nand.erase", "nand.transfer"] {
        raw.set(key, "0ns")?;
    }
    Ok(DeviceConfig::new(&raw)?)
}

/// Threads of a process now, those of the runtime among them; 0 if it is gone.
fn threads_of(pid: u64) -> u64 {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |tasks| tasks.count() as u64)
}

/// Shares of the time so far that a process' first thread was on a processor.
#[derive(Clone, Copy)]
struct Computed {
    /// In the program itself.
    user: f64,
    /// In the kernel, where a part of each trap is spent.
    system: f64,
}

/// Clock ticks in a second, in which Linux gives times of processes.
const TICKS_PER_S: f64 = 100.0;

/// Of a process that has run for so long, if it is there.
fn computed_by(pid: u64, seconds: f64) -> Option<Computed> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).ok()?;
    // The name may have spaces and parentheses in it.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let share = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS_PER_S / seconds);
    Some(Computed {
        user: share(11)?,
        system: share(12)?,
    })
}

/// What a user should know of the run.
fn warn(profile: &SizeProfile) {
    if profile.traps_lost > 0 {
        errln!(
            "sluice: warning: the record had no room for {} of {} traps: the run's end is missing; \
             raise --traps, or lower --sample",
            profile.traps_lost,
            profile.traps + profile.traps_lost
        );
    }
    if profile.threads > 1 {
        errln!(
            "sluice: warning: the program has {} threads, whose misses overlap: run times are not \
             reported",
            profile.threads
        );
    }
}

/// The part of the record that counts; what is before it fills the caches.
#[derive(Debug, PartialEq)]
struct Part {
    from: usize,
    to: usize,
}

impl Part {
    const ALL: Part = Part {
        from: 0,
        to: usize::MAX,
    };

    /// Between the first marks of the names that were given, the second after the first.
    fn new(args: &SizeArgs, marks: &[ProcessMark], record: &Record) -> Result<Part, Error> {
        let find = |key: &str, name: &str, after: u64| {
            let found = marks
                .iter()
                .find(|mark| mark.name == name && mark.at_ns > after);
            found.ok_or_else(|| {
                let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
                let which = match names[..] {
                    [] => "the program set no mark (sluice_mark)".to_owned(),
                    _ => format!(
                        "the program set the marks {} in this order",
                        names.join(", ")
                    ),
                };
                Error::value(key, name, which)
            })
        };
        let from = args.from.as_deref().map(|name| find("--from", name, 0));
        let from = from.transpose()?;
        let after = from.map_or(0, |mark| mark.at_ns);
        let to = args.to.as_deref().map(|name| find("--to", name, after));
        let part = Part {
            from: from.map_or(0, |mark| mark.recorded as usize),
            to: to
                .transpose()?
                .map_or(usize::MAX, |mark| mark.recorded as usize),
        };
        let behind = part.from >= record.pages.len();
        let (key, name, why) = match (&args.from, &args.to) {
            (Some(from), _) if behind && record.is_full() => (
                "--from",
                from,
                "the record of the run was full before this mark",
            ),
            (Some(from), _) if behind => ("--from", from, "the program used nothing after it"),
            (_, Some(to)) if part.from >= part.to => (
                "--to",
                to,
                "nothing of the program was used between the two marks",
            ),
            _ => return Ok(part),
        };
        Err(Error::value(key, name, why))
    }
}

/// A record of traps.
struct Record {
    /// All of them, also those that it had no room for.
    count: u64,
    /// One page in two to the power of this was watched.
    halvings: u32,
    taken: u64,
    written: u64,
    pages: Vec<u64>,
}

impl Record {
    fn read(bytes: &[u8]) -> Option<Record> {
        let words: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect();
        let (head, pages) = words.split_at_checked(size_of::<RecordHeader>() / 8)?;
        let &[magic, capacity, count, halvings, taken, written] = head else {
            return None;
        };
        let kept = count.min(capacity) as usize;
        (magic == RECORD_MAGIC).then(|| Record {
            count,
            halvings: halvings as u32,
            taken,
            written,
            pages: pages.iter().copied().take(kept).collect(),
        })
    }

    /// Whether there were more traps than it has room for.
    fn is_full(&self) -> bool {
        self.count > self.pages.len() as u64
    }

    /// The program's uses of its pages, by the recorded traps.
    fn uses(&self, filter: Option<Bytes>, part: &Part) -> Uses {
        let smallest = match filter {
            Some(size) => size.pages(),
            None => APART << self.halvings,
        };
        let pages = &self.pages[..part.to.min(self.pages.len())];
        let all: HashSet<u64> = pages.iter().copied().collect();
        let mut uses = Uses::of_some(PAGE_BYTES, smallest, all.len() as u64);
        for (at, page) in pages.iter().enumerate() {
            if at == part.from && at > 0 {
                uses.warm();
            }
            if is_watched(*page, self.halvings) {
                uses.touch(*page);
            }
        }
        uses
    }

    /// The run. How long traps take is estimated, and a busy machine adds to it: the program needs
    /// as long at least as its own instructions took, and as its thread computed at most. Traps of
    /// several threads overlap, so that nobody knows how long the program takes without them.
    fn profile(
        &self,
        ended: &Ended,
        pid: u64,
        threads: u64,
        computed: Option<Computed>,
    ) -> SizeProfile {
        let main = ended.main(pid);
        let trapped_s = main
            .and_then(|main| main.latencies.as_ref())
            .map_or(0.0, |of| of.achieved.sum() as f64 / 1e12);
        let left_s = (ended.wall_s - trapped_s).max(0.0);
        let alone_s = computed.map_or(left_s, |of| {
            let user_s = of.user * ended.wall_s;
            left_s.clamp(user_s, user_s + of.system * ended.wall_s)
        });
        SizeProfile {
            wall_s: ended.wall_s,
            without_traps_s: (threads == 1).then_some(alone_s),
            traps: self.pages.len() as u64,
            traps_lost: self.count - self.pages.len() as u64,
            sampled_share: 1.0 / f64::from(1u32 << self.halvings),
            threads,
        }
    }

    /// Of the pages that were taken away, or left the small cache, those that were written.
    fn written_per_million(&self, ended: &Ended, pid: u64) -> u64 {
        let main = ended.main(pid);
        let count = |counter| main.map_or(0, |main| main.get(counter));
        let (written, all) = match self.taken {
            0 => (count(Counter::DirtyEvictions), count(Counter::Evictions)),
            taken => (self.written, taken),
        };
        (written * 1_000_000).checked_div(all).unwrap_or(0)
    }
}
