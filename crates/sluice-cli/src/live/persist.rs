//! The store of a persistent device while its program runs.
//!
//! This command keeps the store. Before the program starts it has the device's memory be what the
//! store holds. A thread then writes pages that the device has programmed, and those that somebody
//! wants to be durable; at the end, all that differ. The programs ask for that at a desk.

use super::kin;
use crate::error::Error;
use crate::session::end_left;
use rustix::rand::{GetRandomFlags, getrandom};
use sluice_abi::{
    Answer, DESK_FILE, DESK_MAGIC, Desk, DeskState, PROGRAMMED_AT, Ticket, Wanted, desk_bytes,
    desk_words, lost_at,
};
use sluice_disk::Power;
use sluice_model::DeviceConfig;
use sluice_region::{Mapping, create_private, futex_wait, futex_wake};
use sluice_store::{Error as StoreError, Keeper, Kept, LoadError, PAGE, Pages, Shape, Store};
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread that writes looks this often for what was programmed.
const LOOK_NS: u64 = 20_000_000;
/// Threads that wait see this often that this command lives.
const BEAT: Duration = Duration::from_millis(100);
/// The asker of an answer that nobody has fetched for so long has ended, or was stopped and asks
/// again.
const FETCHED_WITHIN: Duration = Duration::from_secs(5);

/// What a persistent device is to be kept in.
#[derive(Clone, Debug)]
pub struct Persistence {
    /// The file of its store.
    pub store: PathBuf,
    /// The file that is its memory while it runs.
    pub memory: PathBuf,
    /// The device's name in messages.
    pub device: String,
    /// How many pages it has.
    pub pages: u64,
    /// Nanojoules for the program of a page.
    pub program_energy: u64,
    /// The power of the device as a disk, if it is one.
    pub power: Power,
}

/// A store that is being kept.
pub struct Persistent {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    path: PathBuf,
    memory: PathBuf,
    pages: u64,
    desk: Mapping,
    keeper: Mutex<Keeper<File, File>>,
    is_over: AtomicBool,
    /// What a power cut has left.
    cut: Mutex<Option<Kept>>,
    /// A process of ours that has nothing to do with the device.
    spared: u32,
    power: Power,
}

impl Persistence {
    /// What `--store` names, checked: where a persistent device, whose memory is a file, is kept.
    pub fn new(
        text: &str,
        memory: PathBuf,
        device: &str,
        config: &DeviceConfig,
    ) -> Result<Persistence, Error> {
        let bad = |why: &str| Error::value("--store", text, why);
        let path = text.strip_prefix("file:").filter(|p| !p.is_empty());
        let store = PathBuf::from(path.ok_or_else(|| {
            bad("with device.persistent=yes expected file:STORE, the file that keeps the device")
        })?);
        if store.is_dir() {
            return Err(bad(
                "it is a folder; with device.persistent=yes expected the file that keeps the \
                 device, which is made if it is not there",
            ));
        }
        if store.canonicalize().is_ok_and(|store| store == memory) {
            return Err(bad("it is the device's memory; expected another file"));
        }
        Ok(Persistence {
            store,
            memory,
            device: device.to_owned(),
            pages: config.pages.into(),
            program_energy: config.program_energy,
            power: Power::default(),
        })
    }

    fn failed(&self) -> impl Fn(StoreError) -> Error {
        let store = format!("--store file:{}", self.store.display());
        move |why| Error::unfit(&store, why)
    }

    /// Has the device's memory be what its store holds, and keeps it there from now on. `spared` is
    /// no process of the program.
    pub fn start(&self, session: &Path, spared: u32) -> Result<Persistent, Error> {
        let in_memory = Error::system(self.memory.display());
        let memory = File::options().read(true).write(true).open(&self.memory);
        let memory = memory.map_err(in_memory)?;
        sluice_store::lock(&memory).map_err(|why| Error::unfit(self.memory.display(), why))?;
        self.check_length(&memory)?;
        // A command that was killed may have left what still writes to it.
        end_left();
        let failed = self.failed();
        let keeper = match sluice_store::is_to_be_made(&self.store) {
            // A new store begins with what the device's memory has.
            Ok(true) => {
                sluice_store::create(&self.store, self.shape()?, memory).map_err(&failed)?
            }
            // What cannot be looked at cannot be opened, and says why there.
            Ok(false) | Err(_) => {
                let opened = sluice_store::open(&self.store, self.pages, &self.device);
                let mut keeper = Keeper::new(memory, opened.map_err(&failed)?.0);
                keeper.load().map_err(|why| match why {
                    LoadError::Store(why) => Error::system(self.store.display())(why),
                    LoadError::Memory(why) => Error::system(self.memory.display())(why),
                })?;
                keeper
            }
        };
        let shared = Arc::new(Shared {
            path: self.store.clone(),
            memory: self.memory.clone(),
            pages: self.pages,
            desk: self.desk(&session.join(DESK_FILE))?,
            keeper: Mutex::new(keeper),
            is_over: AtomicBool::new(false),
            cut: Mutex::new(None),
            spared,
            power: self.power.clone(),
        });
        let thread = |run: fn(&Shared)| {
            let shared = shared.clone();
            let builder = std::thread::Builder::new().name("sluice-store".to_owned());
            builder.spawn(move || run(&shared))
        };
        let threads = [thread(Shared::serve), thread(Shared::beat)];
        let threads: Result<Vec<_>, _> = threads.into_iter().collect();
        let threads = threads.map_err(Error::system("a thread for the store"))?;
        Ok(Persistent { shared, threads })
    }

    /// That nothing of the memory lies behind the device, where it would not be kept.
    fn check_length(&self, memory: &File) -> Result<(), Error> {
        let found = memory
            .metadata()
            .map_err(Error::system(self.memory.display()))?;
        let (found, most) = (found.len(), self.pages * PAGE as u64);
        if found <= most {
            return Ok(());
        }
        let why = format!(
            "the memory has {found} bytes, and device.capacity is {most}: what lies behind would \
             not be kept; set a larger device.capacity, or cut the memory (`truncate -s {most}`)"
        );
        Err(Error::unfit(self.memory.display(), why))
    }

    fn shape(&self) -> Result<Shape, Error> {
        let mut identity = [0; 8];
        let got = getrandom(&mut identity, GetRandomFlags::empty());
        got.map_err(|e| Error::system("a random number")(e.into()))?;
        Ok(Shape {
            pages: self.pages,
            device: Store::<File>::name_of(&self.device).to_owned(),
            identity: u64::from_ne_bytes(identity),
        })
    }

    fn desk(&self, path: &Path) -> Result<Mapping, Error> {
        let bytes = desk_bytes(self.pages);
        let file = create_private(path).and_then(|file| {
            file.set_len(bytes as u64)?;
            // A later store to a page of this file could not report that there is no room.
            sluice_region::reserve(&file, 0, bytes as u64)?;
            Ok(file)
        });
        let file = file.map_err(Error::system(path.display()))?;
        let map = Mapping::shared(file.as_raw_fd(), bytes).map_err(|errno| {
            Error::system(path.display())(std::io::Error::from_raw_os_error(errno))
        })?;
        let desk = desk_of(&map);
        desk.pages.store(self.pages, Relaxed);
        desk.program_energy.store(self.program_energy, Relaxed);
        desk.magic.store(DESK_MAGIC, Release);
        Ok(map)
    }
}

fn desk_of(map: &Mapping) -> &Desk {
    // SAFETY: page-aligned and long enough; all fields are atomics.
    unsafe { &*(map.addr() as *const Desk) }
}

impl Shared {
    fn desk(&self) -> &Desk {
        desk_of(&self.desk)
    }

    /// The words of bits from a place in the desk on.
    fn words(&self, at: usize) -> &[AtomicU64] {
        let first = (self.desk.addr() + at) as *const AtomicU64;
        // SAFETY: within the mapping, whose length was computed from the pages.
        unsafe { core::slice::from_raw_parts(first, desk_words(self.pages)) }
    }

    fn keeper(&self) -> MutexGuard<'_, Keeper<File, File>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        while !self.is_over.load(Acquire) {
            self.desk().beats.fetch_add(1, AcqRel);
            std::thread::sleep(BEAT);
        }
    }

    fn serve(&self) {
        let desk = self.desk();
        let (mut seen, mut held) = (0, (Instant::now(), desk.held()));
        let (mut served, mut next_word) = (None, 0);
        let mut warned_of = String::new();
        while !self.is_over.load(Acquire) {
            let rung = desk.bell.load(Acquire);
            if held.0.elapsed() > FETCHED_WITHIN {
                desk.give_up(&held.1);
                held = (Instant::now(), desk.held());
            }
            let asked = desk.next(served);
            if let Some((ticket, wanted)) = asked {
                served = Some(ticket);
                match wanted {
                    Wanted::Flush { first, count } => self.flush(ticket, first, count),
                    Wanted::PowerCut { most } => {
                        let answer = self.cut_power(most);
                        self.answer(ticket, answer);
                        return self.after_cut(answer);
                    }
                }
            }
            let programmed = desk.programmed.load(Acquire);
            if programmed != seen {
                let has_asked = || desk.next(None).is_some();
                match self.write_back(&mut next_word, has_asked) {
                    Ok(true) => {
                        seen = programmed;
                        warned_of.clear();
                    }
                    Ok(false) => continue,
                    Err(why) => {
                        // It is tried again, and all of it at the end. Once is enough to say so.
                        let why = why.to_string();
                        if why != warned_of {
                            errln!("sluice: warning: the store {}: {why}", self.path.display());
                            warned_of = why;
                        }
                        seen = u64::MAX;
                    }
                }
            }
            if asked.is_none() {
                futex_wait(&desk.bell, rung, Some(LOOK_NS));
            }
        }
    }

    /// Writes the pages that the device has programmed, from a word of their bits on. False if
    /// `is_to_stop` ended it after a word: the next call goes on behind that.
    fn write_back(&self, next: &mut usize, is_to_stop: impl Fn() -> bool) -> std::io::Result<bool> {
        let words = self.words(PROGRAMMED_AT);
        for _ in 0..words.len() {
            let at = *next;
            *next = (at + 1) % words.len();
            if words[at].load(Relaxed) == 0 {
                continue;
            }
            self.write_word(at)?;
            if is_to_stop() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the pages that a word has bits of.
    fn write_word(&self, at: usize) -> std::io::Result<()> {
        let word = &self.words(PROGRAMMED_AT)[at];
        let mut bits = word.swap(0, AcqRel);
        let mut keeper = self.keeper();
        while bits != 0 {
            let page = at as u64 * 64 + u64::from(bits.trailing_zeros());
            if page < self.pages
                && let Err(why) = keeper.keep_page(page)
            {
                word.fetch_or(bits, AcqRel);
                return Err(why);
            }
            bits &= bits - 1;
        }
        Ok(())
    }

    fn answer(&self, ticket: Ticket, answer: Answer) {
        self.desk().answer(ticket, answer);
        futex_wake(&self.desk().answered);
    }

    fn flush(&self, ticket: Ticket, first: u64, count: u64) {
        let end = first.saturating_add(count).min(self.pages);
        let mut keeper = self.keeper();
        let kept = keeper.keep(&Pages(first.min(end)..end), u64::MAX);
        let flushed = kept.and_then(|kept| keeper.flush().map(|()| kept.written));
        drop(keeper);
        let answer = match flushed {
            Ok(written) => Answer {
                written,
                ..Answer::default()
            },
            Err(why) => self.failed(&why),
        };
        self.answer(ticket, answer);
    }

    /// Says what has failed, and answers that it has.
    fn failed(&self, why: &std::io::Error) -> Answer {
        errln!("sluice: the store {}: {why}", self.path.display());
        let unnamed = match why.kind() {
            std::io::ErrorKind::FileTooLarge => libc::EFBIG,
            _ => libc::EIO,
        };
        Answer {
            errno: why.raw_os_error().unwrap_or(unnamed) as u32,
            ..Answer::default()
        }
    }

    /// The power is gone. No thread of the program stores anything more. What the device has
    /// programmed is there; of what only its cache has it programs as many pages as it can, in
    /// rising order, and the others are lost.
    fn cut_power(&self, most: u64) -> Answer {
        self.desk().set_state(DeskState::PowerOff);
        if !kin::end_all(self.spared) {
            // What one still stores would be taken for stored before the cut.
            let why = std::io::Error::other("a process of the program could not be killed");
            return self.failed(&why);
        }
        self.power.cut();
        let written = self.write_back(&mut 0, || false);
        let mut keeper = self.keeper();
        let all = keeper.all();
        let kept = written.and_then(|_| keeper.keep(&all, most));
        let kept = kept.and_then(|kept| keeper.flush().map(|()| kept));
        drop(keeper);
        match kept {
            Ok(kept) => {
                let lost = self.words(lost_at(self.pages));
                for page in &kept.lost {
                    lost[*page as usize / 64].fetch_or(1 << (page % 64), AcqRel);
                }
                let answer = Answer {
                    errno: 0,
                    written: kept.written,
                    lost: kept.lost.len() as u64,
                };
                *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
                answer
            }
            Err(why) => self.failed(&why),
        }
    }

    /// That no program has put another file in the memory's place: the next start fills that with
    /// what the store has.
    fn check_name(&self, keeper: &Keeper<File, File>) -> Result<(), Error> {
        let identity = |of: Metadata| (of.dev(), of.ino());
        let named = self.memory.metadata().map(identity);
        match named.is_ok_and(|named| keeper.memory().metadata().map(identity).ok() != Some(named))
        {
            true => Err(Error::unfit(
                self.memory.display(),
                "the program has put another file in the place of the device's memory, and \
                 nothing of that was kept",
            )),
            false => Ok(()),
        }
    }

    /// A second command that cuts the power learns what the first cut has left, and nothing is
    /// flushed any more.
    fn after_cut(&self, left: Answer) {
        let desk = self.desk();
        loop {
            let (rung, is_over) = (desk.bell.load(Acquire), self.is_over.load(Acquire));
            while let Some((ticket, wanted)) = desk.next(None) {
                let no_power = Answer {
                    errno: libc::EIO as u32,
                    ..Answer::default()
                };
                let is_cut = matches!(wanted, Wanted::PowerCut { .. });
                self.answer(ticket, if is_cut { left } else { no_power });
            }
            if is_over {
                return;
            }
            futex_wait(&desk.bell, rung, Some(LOOK_NS));
        }
    }
}

impl Persistent {
    /// Ends all processes of the program. Says whether none is left.
    pub fn end_programs(&self) -> bool {
        kin::end_all(self.shared.spared)
    }

    /// After the program: all that differs is written and made durable, unless the power was cut.
    pub fn finish(self) -> Result<(), Error> {
        let shared = &self.shared;
        shared.is_over.store(true, Release);
        shared.power.cut();
        shared.desk().bell.fetch_add(1, AcqRel);
        futex_wake(&shared.desk().bell);
        for thread in self.threads {
            if thread.join().is_err() {
                return Err(Error::unfit(shared.path.display(), "its thread has failed"));
            }
        }
        let path = shared.path.display();
        let is_cut = shared.desk().state() == DeskState::PowerOff;
        shared.desk().set_state(DeskState::Closed);
        if is_cut {
            let cut = shared.cut.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(kept) = cut.as_ref() else {
                let why = "the power was cut, and what the device had left could not be kept";
                return Err(Error::unfit(path, why));
            };
            let (written, lost) = (kept.written, kept.lost.len());
            errln!(
                "sluice: the power was cut: {written} written pages of the cache were programmed, \
                 {lost} were lost{}",
                of_pages(&kept.lost)
            );
            return Ok(());
        }
        let mut keeper = shared.keeper();
        let all = keeper.all();
        let kept = keeper.keep(&all, u64::MAX);
        kept.and_then(|_| keeper.flush())
            .map_err(Error::system(format!(
                "{path}: not all of the device was kept"
            )))?;
        shared.check_name(&keeper)
    }
}

/// Lost pages as ranges of bytes.
fn of_pages(pages: &[u64]) -> String {
    let mut text = String::new();
    for run in pages.chunk_by(|a, b| a + 1 == *b) {
        let (first, end) = (run[0] * PAGE as u64, (run[run.len() - 1] + 1) * PAGE as u64);
        text += &format!(
            "{} {first:#x}..{end:#x}",
            if text.is_empty() { ":" } else { "," }
        );
    }
    text
}
