//! Statistics of the processes of a session, read from its directory while they run or after.

use crate::MissLatency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::{
    Counter, MARKS_MAX, OF_SHARED_MEMORY, STATS_MAGIC, STATS_VERSION, StatsBlock, read_mark,
};
use sluice_region::{open_folder, open_regular};
use sluice_stats::Histogram;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{Ordering::*, fence};

/// A copy is tried so often before one is taken that may be of several moments.
const LOOKS: u32 = 100;

/// Arguments of a program cannot be longer than this on Linux, with usual limits of its stack.
const COMMAND_MAX: u64 = 6 << 20;

/// One process, or one program image of it.
#[derive(Clone, Debug)]
pub struct Process {
    /// Process id.
    pub pid: u64,
    /// Number of the image: `exec` makes the next.
    pub image: u64,
    /// Command line.
    pub command: Vec<String>,
    /// Start, ns of CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// It ran to its end; otherwise it was killed, or became another image.
    pub ended: bool,
    /// It came from a fork without exec.
    pub forked: bool,
    /// It is no process: the device of memory that processes share.
    pub shared_memory: bool,
    /// It became another program by `exec`.
    pub replaced: bool,
    /// The image before it, in the same process, became it.
    pub follows: bool,
    /// Programs that it started without a fork that copies it.
    pub started: u64,
    /// Address of the device's first page in the process; 0 if it has none.
    pub heap_at: u64,
    /// Pages of the device.
    pub pages: u64,
    counters: Box<[u64]>,
    latency: MissLatency,
    /// How often each latency came, of the image that a run is about. That of others is left out:
    /// a script may start thousands.
    pub latencies: Option<Box<Latencies>>,
}

/// The fields by which an image differs from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Process id.
    pub pid: u64,
    /// Number of the image.
    pub image: u64,
    /// Start, ns of CLOCK_MONOTONIC.
    pub started_ns: u64,
}

/// How often each latency of a miss came.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Latency the model asked for.
    pub modelled: Histogram,
    /// Latency the program saw.
    pub achieved: Histogram,
}

impl Latencies {
    fn since(&self, earlier: &Latencies) -> Latencies {
        Latencies {
            modelled: self.modelled.since(&earlier.modelled),
            achieved: self.achieved.since(&earlier.achieved),
        }
    }

    /// The figures of both.
    pub fn summary(&self) -> MissLatency {
        MissLatency {
            modelled: self.modelled.summary_in_ns(),
            achieved: self.achieved.summary_in_ns(),
        }
    }
}

impl Process {
    /// What a counter stood at when the process was read.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// What happened after an earlier look at the same process; both with their latencies.
    pub fn since(&self, earlier: &Process) -> Process {
        let both = self.latencies.as_ref().zip(earlier.latencies.as_ref());
        let latencies = both.map(|(now, then)| now.since(then));
        let counters = Counter::ALL.iter();
        let counters = counters.map(|of| of.since(self.get(*of), earlier.get(*of)));
        Process {
            counters: counters.collect(),
            latency: latencies
                .as_ref()
                .map(Latencies::summary)
                .unwrap_or_default(),
            latencies: latencies.map(Box::new),
            ..self.clone()
        }
    }

    /// The line of `processes` in a run's result.
    pub fn result(&self) -> ProcessResult {
        ProcessResult {
            pid: self.pid,
            image: self.image,
            command: self.command.clone(),
            forked: self.forked,
            shared_memory: self.shared_memory,
            ended: self.ended,
            traps: self.get(Counter::Traps),
            misses: self.get(Counter::Misses),
            late: self.get(Counter::Late),
            evictions: self.get(Counter::Evictions),
            dirty_evictions: self.get(Counter::DirtyEvictions),
            placed_bytes: self.get(Counter::PlacedBytes),
            shared_bytes: self.get(Counter::SharedBytes),
            latency_ns: self.latency(),
        }
    }

    /// This process, with the figures of its latencies only.
    pub(crate) fn without_latencies(self) -> Process {
        Process {
            latencies: None,
            ..self
        }
    }

    /// The fields by which it differs from all others.
    pub fn identity(&self) -> Identity {
        Identity {
            pid: self.pid,
            image: self.image,
            started_ns: self.started_ns,
        }
    }

    /// The latencies of its misses.
    pub fn latency(&self) -> MissLatency {
        self.latency
    }
}

/// What a process had done when a mark was set.
#[derive(Clone, Debug)]
pub struct ProcessMark {
    /// The mark's name.
    pub name: String,
    /// When, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Traps that its record had then.
    pub recorded: u64,
    /// Its figures.
    pub process: Process,
}

/// A process of a run, or one program image of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessResult {
    /// Process id.
    pub pid: u64,
    /// 0, and one more after each `exec`.
    pub image: u64,
    /// Command line.
    pub command: Vec<String>,
    /// It came from a fork without `exec`.
    pub forked: bool,
    /// It is no process: the device of memory that processes share (`--place shared`).
    pub shared_memory: bool,
    /// It ran to its end. Otherwise it was killed, ended by `_exit`, or became another image.
    pub ended: bool,
    /// Faults on pages of the device, but for those that found it mapped (`trap_kinds.spurious`).
    pub traps: u64,
    /// Traps on a page that was not in the cache.
    pub misses: u64,
    /// Waits for a page that was not there, of misses and others, that ended over 1 µs after the
    /// moment that the model asked for.
    pub late: u64,
    /// Pages that left the cache to make room.
    pub evictions: u64,
    /// Of the evictions, those of pages that had been written.
    pub dirty_evictions: u64,
    /// Bytes of device memory that it had mapped, at its end.
    pub placed_bytes: u64,
    /// Bytes of shared memory that it mapped and that stay in DRAM, all together.
    pub shared_bytes: u64,
    /// Latencies of its waits for pages that were not there, ns.
    pub latency_ns: MissLatency,
}

/// Ended processes and program images of a run that have no line of their own, together: those with
/// the fewest traps, where more than 256 have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProcesses {
    /// How many processes and program images these are.
    pub images: u64,
    /// Processes and images that ran to their end.
    pub ended: u64,
    /// Faults on pages of the device, but for those that found it mapped (`trap_kinds.spurious`).
    pub traps: u64,
    /// Traps on a page that was not in the cache.
    pub misses: u64,
    /// Waits for a page that was not there, of misses and others, that ended over 1 µs after the
    /// moment that the model asked for.
    pub late: u64,
    /// Pages that left the cache to make room.
    pub evictions: u64,
    /// Of the evictions, those of pages that had been written.
    pub dirty_evictions: u64,
    /// Bytes of device memory that each had mapped at its end, together.
    pub placed_bytes: u64,
    /// Bytes of shared memory that they mapped and that stay in DRAM, all together.
    pub shared_bytes: u64,
    /// Latencies of all their waits for pages that were not there, ns.
    pub latency_ns: MissLatency,
}

/// Every image of a session that has files, with its latencies, one after the other and in no
/// order. Files that are not ready are left out, and so is what is no file of the directory's user.
pub(crate) fn each_image(dir: &Path) -> impl Iterator<Item = Process> {
    let owner = owner_of(dir);
    let entries = owner.and_then(|_| std::fs::read_dir(dir).ok());
    let paths = entries.into_iter().flatten().flatten().map(|e| e.path());
    paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "stats"))
        .filter_map(move |path| read_process(&path, owner?))
}

/// An image of a process, if it is ready.
pub(crate) fn read_image(dir: &Path, pid: u64, image: u64) -> Option<Process> {
    read_process(&image_path(dir, pid, image), owner_of(dir)?)
}

/// The name of the file in which an image of a process has its statistics.
pub fn image_name(pid: u64, image: u64) -> String {
    format!("proc-{pid}-{image}.stats")
}

/// The process and the number of the image that a file's name says.
pub fn image_of(name: &OsStr) -> Option<(u64, u64)> {
    let rest = name.to_str()?.strip_prefix("proc-")?;
    let (pid, image) = rest.strip_suffix(".stats")?.split_once('-')?;
    Some((pid.parse().ok()?, image.parse().ok()?))
}

/// Where an image of a process has its statistics.
pub(crate) fn image_path(dir: &Path, pid: u64, image: u64) -> PathBuf {
    dir.join(image_name(pid, image))
}

pub(crate) fn owner_of(dir: &Path) -> Option<u32> {
    let found = open_folder(dir, None).and_then(|folder| folder.metadata());
    found.ok().map(|found| found.uid())
}

fn read_process(path: &Path, owner: u32) -> Option<Process> {
    let words = copy_at_rest(&open_regular(path, false, Some(owner)).ok()?).ok()?;
    of_words(&words, path, owner)
}

/// The marks of a program image, in the order in which they were set.
pub fn read_marks(dir: &Path, of: &Process) -> Vec<ProcessMark> {
    let Some(owner) = owner_of(dir) else {
        return Vec::new();
    };
    let stats = image_path(dir, of.pid, of.image);
    let read = |number| {
        let path = stats.with_extension(format!("mark{number}"));
        let mut file = open_regular(&path, false, Some(owner)).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let words = bytes.as_chunks().0.iter();
        let words: Vec<u64> = words.map(|word| u64::from_ne_bytes(*word)).collect();
        let mark = read_mark(&words)?;
        Some(ProcessMark {
            at_ns: mark.at_ns,
            recorded: mark.recorded,
            process: of_words(mark.words, &stats, owner)?,
            name: mark.name,
        })
    };
    let mut marks: Vec<ProcessMark> = (0..MARKS_MAX).filter_map(read).collect();
    marks.sort_by_key(|mark| mark.at_ns);
    marks
}

fn of_words(words: &[u64], path: &Path, owner: u32) -> Option<Process> {
    let block = as_image(words);
    if !is_ready(block) {
        return None;
    }
    let mut command = Vec::new();
    if let Ok(file) = open_regular(&path.with_extension("cmd"), false, Some(owner)) {
        // A command line that cannot be read is left out.
        let _ = file.take(COMMAND_MAX).read_to_end(&mut command);
    }
    let parts = command.split(|b| *b == 0).filter(|part| !part.is_empty());
    let latencies = Latencies {
        modelled: block.modelled.read(),
        achieved: block.achieved.read(),
    };
    Some(Process {
        pid: block.pid.load(Relaxed),
        image: image_number(path)?,
        command: parts
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect(),
        started_ns: block.started_ns.load(Relaxed),
        ended: block.ended.load(Relaxed) == 1,
        forked: block.forked.load(Relaxed) == 1,
        shared_memory: block.forked.load(Relaxed) == OF_SHARED_MEMORY,
        replaced: block.replaced.load(Relaxed) == 1,
        follows: block.follows.load(Relaxed) == 1,
        started: block.started.load(Relaxed),
        heap_at: block.heap_at.load(Relaxed),
        pages: block.pages.load(Relaxed),
        counters: Counter::ALL.iter().map(|c| block.get(*c)).collect(),
        latency: latencies.summary(),
        latencies: Some(Box::new(latencies)),
    })
}

/// The block that words are.
pub(crate) fn as_image(words: &[u64]) -> &StatsBlock {
    assert_eq!(words.len() * 8, size_of::<StatsBlock>());
    // SAFETY: the words are as many and as aligned as the block's, which are all atomics of u64.
    unsafe { &*words.as_ptr().cast::<StatsBlock>() }
}

/// Whether it is one of this version that a process has made ready.
pub(crate) fn is_ready(block: &StatsBlock) -> bool {
    block.magic.load(Relaxed) == STATS_MAGIC && block.version.load(Relaxed) == STATS_VERSION
}

/// A word of a file of the directory's user.
pub(crate) fn read_number(dir: &Path, path: &Path, at: usize) -> Option<u64> {
    let file = open_regular(path, false, Some(owner_of(dir)?)).ok()?;
    let mut word = [0; 8];
    file.read_exact_at(&mut word, at as u64).ok()?;
    Some(u64::from_ne_bytes(word))
}

/// The words of a block as they were at one moment, if its writer is ever at rest; one that was
/// killed may not be. What follows in the file is the residency map.
pub(crate) fn copy_at_rest(file: &File) -> std::io::Result<Box<[u64]>> {
    let mut bytes = vec![0; size_of::<StatsBlock>()];
    let sequence = || {
        let mut word = [0; 8];
        let at = offset_of!(StatsBlock, sequence) as u64;
        file.read_exact_at(&mut word, at)?;
        fence(SeqCst);
        Ok::<_, std::io::Error>(u64::from_ne_bytes(word))
    };
    for _ in 0..LOOKS {
        let before = sequence()?;
        file.read_exact_at(&mut bytes, 0)?;
        fence(SeqCst);
        if before.is_multiple_of(2) && sequence()? == before {
            break;
        }
    }
    let words = bytes.as_chunks().0.iter();
    Ok(words.map(|word| u64::from_ne_bytes(*word)).collect())
}

/// The last number of `proc-<pid>-<image>.stats`.
fn image_number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.rsplit('-').next()?.parse().ok()
}
