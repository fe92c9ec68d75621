//! The sum of what ended processes did that are no longer listed one by one.
//!
//! It is a file of the session. An image goes into it in two steps: first a new sum with it, which
//! names it, takes the place of the one before; then its own files go. A process that is killed in
//! between leaves a file that the sum names, and that no reader counts again.

use crate::process::{
    Identity, Latencies, OtherProcesses, Process, as_image, copy_at_rest, image_path, is_ready,
    owner_of, read_number,
};
use sluice_abi::{
    Counter, MARKS_MAX, OTHERS_FILE, OTHERS_MAGIC, OTHERS_NEXT, OthersBlock, STATS_VERSION,
    StatsBlock,
};
use sluice_region::{create_private, open_regular};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Ended program images that are listed one by one, those with the most traps.
pub const LISTED: usize = 256;
/// A file of more words is not ours.
const WORDS_MAX: usize = OthersBlock::WORDS + (1 << 22);
/// Pages of zeros are not written.
const PAGE: usize = 4096;

/// How much an image is worth a line of its own. The larger one stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    traps: u64,
    started_ns: Reverse<u64>,
    pid: Reverse<u64>,
    image: Reverse<u64>,
}

impl Rank {
    /// Of an image with so many traps.
    pub fn of(identity: Identity, traps: u64) -> Rank {
        Rank {
            traps,
            started_ns: Reverse(identity.started_ns),
            pid: Reverse(identity.pid),
            image: Reverse(identity.image),
        }
    }

    /// The image.
    pub fn identity(&self) -> Identity {
        Identity {
            pid: self.pid.0,
            image: self.image.0,
            started_ns: self.started_ns.0,
        }
    }
}

/// The rank of an image whose file is there and ready.
pub fn read_rank(dir: &Path, pid: u64, image: u64) -> Option<Rank> {
    let file = open_regular(&image_path(dir, pid, image), false, Some(owner_of(dir)?)).ok()?;
    let words = copy_at_rest(&file).ok()?;
    let block = as_image(&words);
    let identity = Identity {
        pid: block.pid.load(Relaxed),
        image,
        started_ns: block.started_ns.load(Relaxed),
    };
    is_ready(block).then(|| Rank::of(identity, block.get(Counter::Traps)))
}

/// The sum, and which images came last.
#[derive(Clone, Debug)]
pub struct Others {
    words: Box<[u64]>,
    last: Vec<Identity>,
}

impl Default for Others {
    fn default() -> Others {
        let mut others = Others {
            words: vec![0; OthersBlock::WORDS].into(),
            last: Vec::new(),
        };
        others.block_to_write().begin();
        others
    }
}

impl Others {
    /// That of a session; without a file there are none.
    pub fn read(dir: &Path) -> Others {
        let open = || open_regular(&dir.join(OTHERS_FILE), false, Some(owner_of(dir)?)).ok();
        open().and_then(Others::parse).unwrap_or_default()
    }

    fn parse(file: File) -> Option<Others> {
        let mut bytes = Vec::new();
        file.take(WORDS_MAX as u64 * 8)
            .read_to_end(&mut bytes)
            .ok()?;
        let words = bytes.as_chunks().0.iter();
        let words: Vec<u64> = words.map(|word| u64::from_ne_bytes(*word)).collect();
        let (block, rest) = words.split_at_checked(OthersBlock::WORDS)?;
        let of = |[pid, image, started_ns]: [u64; 3]| Identity {
            pid,
            image,
            started_ns,
        };
        let others = Others {
            words: block.into(),
            last: rest.as_chunks().0.iter().copied().map(of).collect(),
        };
        let block = others.block();
        let is_one = block.magic.load(Relaxed) == OTHERS_MAGIC
            && block.version.load(Relaxed) == STATS_VERSION
            && block.last.load(Relaxed) == others.last.len() as u64;
        is_one.then_some(others)
    }

    fn block(&self) -> &OthersBlock {
        // SAFETY: as many and as aligned words as the block's, which are all atomics of u64; nobody
        // writes to them meanwhile.
        unsafe { &*self.words.as_ptr().cast::<OthersBlock>() }
    }

    fn block_to_write(&mut self) -> &OthersBlock {
        // SAFETY: as above; they are borrowed for this alone.
        unsafe { &*self.words.as_mut_ptr().cast::<OthersBlock>() }
    }

    /// Program images in the sum.
    pub fn images(&self) -> u64 {
        self.number(|block| &block.images)
    }

    /// Images that became another program.
    pub fn replaced(&self) -> u64 {
        self.number(|block| &block.replaced)
    }

    /// Images that came from an `exec` or a program's start.
    pub fn execs(&self) -> u64 {
        self.number(|block| &block.execs)
    }

    /// Images that an image before them became.
    pub fn follows(&self) -> u64 {
        self.number(|block| &block.follows)
    }

    /// Programs that they started without a fork that copies it.
    pub fn started(&self) -> u64 {
        self.number(|block| &block.started)
    }

    /// The sum of a counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.number(|block| &block.counters[counter as usize])
    }

    /// Images of the session's first process in the sum.
    pub fn own_images(&self) -> u64 {
        self.number(|block| &block.own_images)
    }

    /// A counter of the images of the session's first process alone.
    pub fn own(&self, counter: Counter) -> u64 {
        self.number(|block| &block.own[counter as usize])
    }

    fn number(&self, of: impl Fn(&OthersBlock) -> &AtomicU64) -> u64 {
        of(self.block()).load(Relaxed)
    }

    /// How often each latency came.
    pub fn latencies(&self) -> Latencies {
        Latencies {
            modelled: self.block().modelled.read(),
            achieved: self.block().achieved.read(),
        }
    }

    /// Whether an image is in the sum although its files are still there.
    pub fn has(&self, process: &Process) -> bool {
        self.last.contains(&process.identity())
    }

    /// Its part of a run's result; nothing if there are none.
    pub fn result(&self) -> Option<OtherProcesses> {
        let latencies = self.latencies();
        (self.images() > 0).then(|| OtherProcesses {
            images: self.images(),
            ended: self.number(|block| &block.ended),
            traps: self.get(Counter::Traps),
            misses: self.get(Counter::Misses),
            late: self.get(Counter::Late),
            evictions: self.get(Counter::Evictions),
            dirty_evictions: self.get(Counter::DirtyEvictions),
            placed_bytes: self.get(Counter::PlacedBytes),
            shared_bytes: self.get(Counter::SharedBytes),
            latency_ns: latencies.summary(),
        })
    }

    /// Adds an image whose file is there, of the first process or another. Says whether it could.
    pub(crate) fn take(&mut self, dir: &Path, of: Identity, first: Option<u64>) -> bool {
        let open = || {
            let path = image_path(dir, of.pid, of.image);
            let file = open_regular(&path, false, Some(owner_of(dir)?)).ok()?;
            let words = copy_at_rest(&file).ok()?;
            let block = as_image(&words);
            let is_it = is_ready(block) && block.started_ns.load(Relaxed) == of.started_ns;
            is_it.then_some(words)
        };
        let words = open();
        if let Some(words) = &words {
            let is_own = Some(of.pid) == first;
            self.block_to_write().add(as_image(words), is_own);
        }
        words.is_some()
    }

    /// Writes it under the name that no reader knows, then gives it its own.
    fn save(&mut self, dir: &Path) -> std::io::Result<()> {
        let next = dir.join(OTHERS_NEXT);
        match std::fs::remove_file(&next) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let last = self.last.len() as u64;
        self.block_to_write().last.store(last, Relaxed);
        let keys = self.last.iter();
        let keys = keys.flat_map(|of| [of.pid, of.image, of.started_ns]);
        let words = self.words.iter().copied().chain(keys);
        let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        let file = create_private(&next)?;
        file.set_len(bytes.len() as u64)?;
        for (at, page) in bytes.chunks(PAGE).enumerate() {
            if page.iter().any(|byte| *byte != 0) {
                file.write_all_at(page, (at * PAGE) as u64)?;
            }
        }
        std::fs::rename(&next, dir.join(OTHERS_FILE))
    }
}

/// Adds ended images to a session's sum, then removes their files. `first` is its first process.
/// One caller at a time.
///
/// # Errors
/// What the system says. Then all is as it was before.
pub fn fold(dir: &Path, images: &[Identity], first: Option<u64>) -> std::io::Result<()> {
    let mut others = Others::read(dir);
    remove_last(dir, &others);
    others.last.clear();
    for of in images {
        if others.take(dir, *of, first) {
            others.last.push(*of);
        }
    }
    others.save(dir)?;
    remove_last(dir, &others);
    Ok(())
}

/// Removes the files of images that are in the sum: another keeper may have been killed before it
/// could.
fn remove_last(dir: &Path, others: &Others) {
    for of in &others.last {
        let path = image_path(dir, of.pid, of.image);
        // Another image may have the name by now.
        if read_number(dir, &path, std::mem::offset_of!(StatsBlock, started_ns))
            == Some(of.started_ns)
        {
            remove_image(dir, of.pid, of.image);
        }
    }
}

/// Removes the files of an image that has ended.
pub fn remove_image(dir: &Path, pid: u64, image: u64) {
    let stats = image_path(dir, pid, image);
    for number in 0..MARKS_MAX {
        // They have the lowest numbers.
        if std::fs::remove_file(stats.with_extension(format!("mark{number}"))).is_err() {
            break;
        }
    }
    for kind in ["ring", "guest-ring", "profile", "cmd", "stats"] {
        // Left-over files in memory are a nuisance, not an error.
        let _ = std::fs::remove_file(stats.with_extension(kind));
    }
}

/// Whether an image has marks.
pub fn has_marks(dir: &Path, pid: u64, image: u64) -> bool {
    image_path(dir, pid, image).with_extension("mark0").exists()
}
