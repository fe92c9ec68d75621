//! Does a store keep what was flushed, wherever its medium fails or the power goes?
//!
//! The medium loses at a power cut any of the sectors that were written since the last flush, as
//! disks do. Every call at which that can be is tried.

use sluice_store::{Keeper, Medium, PAGE, Shape, Store, check};
use sluice_units::Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::rc::Rc;

const SECTOR: usize = 512;
const PAGES: u64 = 6;
const DEVICE: &str = "test";

/// What happens at a call.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    /// It fails, and so does every later one: the power is gone.
    PowerCut,
    /// It fails, perhaps half-way, and the next one works.
    Error,
    /// The disk is full: a write fails, perhaps half-way, and so does every later one that needs
    /// more room, until there is some.
    Full(Needs),
}

/// Which writes to a full disk need more room.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Needs {
    /// Those to places that have nothing.
    NewPlaces,
    /// All, as on a disk that never writes over anything.
    EveryWrite,
}

#[derive(Clone)]
struct Disk(Rc<RefCell<Inner>>);

struct Inner {
    durable: Vec<u8>,
    /// Sectors written since the last flush, in order.
    written: Vec<(usize, [u8; SECTOR])>,
    seen: Vec<u8>,
    calls: u64,
    fault: Option<(u64, Fault)>,
    rng: Rng,
}

impl Disk {
    fn new(bytes: Vec<u8>, fault: Option<(u64, Fault)>, seed: u64) -> Disk {
        Disk(Rc::new(RefCell::new(Inner {
            seen: bytes.clone(),
            durable: bytes,
            written: Vec::new(),
            calls: 0,
            fault,
            rng: Rng::stream(seed, "crash"),
        })))
    }

    fn calls(&self) -> u64 {
        self.0.borrow().calls
    }

    /// What is there after a power cut: any of what was written since the last flush.
    fn after_power_cut(&self) -> Vec<u8> {
        let mut inner = self.0.borrow_mut();
        let written = core::mem::take(&mut inner.written);
        let mut bytes = inner.durable.clone();
        for (at, sector) in written {
            if inner.rng.below(2) == 0 {
                bytes[at..at + SECTOR].copy_from_slice(&sector);
            }
        }
        bytes
    }
}

impl Inner {
    /// Counts a call, and says whether it fails, and whether half of it is done all the same. A
    /// write has its place.
    fn enter(&mut self, write: Option<(usize, usize)>) -> (bool, bool) {
        self.calls += 1;
        let (calls, half) = (self.calls, self.rng.below(2) == 0);
        match self.fault {
            Some((at, Fault::PowerCut)) if calls >= at => (true, calls == at && half),
            Some((at, Fault::Error)) if calls == at => (true, half),
            Some((at, Fault::Full(needs))) if calls >= at => {
                let has_no_room = write.is_some_and(|(at, len)| match needs {
                    Needs::NewPlaces => self.seen[at..at + len].iter().all(|byte| *byte == 0),
                    Needs::EveryWrite => true,
                });
                (has_no_room, half)
            }
            _ => (false, false),
        }
    }

    /// What a call that fails answers.
    fn error(&self) -> Error {
        let is_full = matches!(self.fault, Some((_, Fault::Full(_))));
        Error::from_raw_os_error(if is_full { 28 } else { 5 })
    }

    fn put(&mut self, from: &[u8], at: usize) {
        self.seen[at..at + from.len()].copy_from_slice(from);
        let first = at / SECTOR * SECTOR;
        for sector in (first..at + from.len()).step_by(SECTOR) {
            let bytes = self.seen[sector..sector + SECTOR]
                .try_into()
                .expect("whole");
            self.written.push((sector, bytes));
        }
    }
}

impl Medium for Disk {
    fn bytes(&self) -> Result<u64> {
        Ok(self.0.borrow().seen.len() as u64)
    }

    fn read(&self, to: &mut [u8], at: u64) -> Result<()> {
        let at = at as usize;
        to.copy_from_slice(&self.0.borrow().seen[at..at + to.len()]);
        Ok(())
    }

    fn write(&mut self, from: &[u8], at: u64) -> Result<()> {
        let mut inner = self.0.borrow_mut();
        let (fails, half) = inner.enter(Some((at as usize, from.len())));
        let len = match (fails, half) {
            (false, _) => from.len(),
            (true, true) => from.len() / 2 / SECTOR * SECTOR,
            (true, false) => 0,
        };
        inner.put(&from[..len], at as usize);
        match fails {
            true => Err(inner.error()),
            false => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<()> {
        let mut inner = self.0.borrow_mut();
        let (fails, _) = inner.enter(None);
        if fails {
            return Err(inner.error());
        }
        inner.durable = inner.seen.clone();
        inner.written.clear();
        Ok(())
    }

    fn next_data(&self, from: u64) -> Result<Option<u64>> {
        Ok((from < self.bytes()?).then_some(from))
    }

    fn punch(&mut self, at: u64, len: u64) -> Result<()> {
        self.write(&vec![0; len as usize], at)
    }
}

fn shape() -> Shape {
    Shape {
        pages: PAGES,
        device: DEVICE.to_owned(),
        identity: 0x5107_ce00,
    }
}

/// What pages may have.
struct Allowed {
    /// What each had when it was flushed last, and what was put since.
    words: BTreeMap<u64, Vec<u64>>,
    /// Pages whose last write failed: each has what it had at some time before.
    unsure: [bool; PAGES as usize],
    /// The last word that was put.
    word: u64,
}

impl Allowed {
    fn new() -> Allowed {
        Allowed {
            words: (0..PAGES).map(|page| (page, vec![0])).collect(),
            unsure: [false; PAGES as usize],
            word: 0,
        }
    }

    fn put(&mut self, store: &mut Store<Disk>, page: u64, word: u64) -> Result<bool> {
        let put = store.put(page, &contents(word));
        self.unsure[page as usize] = put.is_err();
        self.words.get_mut(&page).expect("a page").push(word);
        put
    }

    fn flush(&mut self, store: &mut Store<Disk>) -> Result<()> {
        store.flush()?;
        for (page, words) in &mut self.words {
            if !self.unsure[*page as usize] {
                words.drain(..words.len() - 1);
            }
        }
        Ok(())
    }

    /// One of what it may have is what each page has.
    fn is_in(&self, store: &Store<Disk>, what: &str) -> Allowed {
        let mut found = Allowed::new();
        found.word = self.word;
        for (page, words) in &self.words {
            let mut has = [1; PAGE];
            store.get(*page, &mut has).expect(what);
            let one = words.iter().find(|word| contents(**word) == has);
            let one = one.unwrap_or_else(|| panic!("{what}: page {page} has none of {words:?}"));
            found.words.insert(*page, vec![*one]);
        }
        found
    }
}

fn contents(word: u64) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    for (at, bytes) in page.chunks_exact_mut(8).enumerate() {
        let mixed = match word {
            0 => 0,
            _ => word.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at as u64,
        };
        bytes.copy_from_slice(&mixed.to_le_bytes());
    }
    page
}

/// Puts and flushes in a random order that the seed decides. Nothing that fails ends it.
fn work(store: &mut Store<Disk>, allowed: &mut Allowed, rng: &mut Rng) {
    for _ in 0..40 {
        if rng.below(5) == 0 {
            let _ = allowed.flush(store);
        } else {
            allowed.word += 1;
            let (page, word) = (rng.below(PAGES), allowed.word);
            let word = if rng.below(8) == 0 { 0 } else { word };
            let _ = allowed.put(store, page, word);
        }
    }
}

/// Opens what a power cut has left, and holds every page against what it may have. Says what each
/// has.
fn check_after(bytes: Vec<u8>, allowed: &Allowed, what: &str) -> Allowed {
    let disk = Disk::new(bytes, None, 0);
    let report = check(&disk).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(report.damaged, 0, "{what}: {report:?}");
    let (store, _) = Store::open(disk.clone(), PAGES, DEVICE).expect(what);
    let found = allowed.is_in(&store, what);
    drop(store);
    // What was mended is whole: a second opening has nothing to do.
    let report = check(&disk).expect(what);
    assert_eq!((report.damaged, report.torn), (0, 0), "{what}");
    assert_eq!(report.flushed, report.writes.max(report.flushed), "{what}");
    found
}

/// One run with a fault at a call. Says whether the call was reached.
fn run(at: u64, fault: Fault, seed: u64) -> bool {
    let what = format!("{fault:?} at call {at}, seed {seed}");
    let bytes = vec![0; Store::<Disk>::bytes_of(&shape()) as usize];
    let disk = Disk::new(bytes, Some((at, fault)), seed);
    let mut allowed = Allowed::new();
    let Ok(mut store) = Store::create(disk.clone(), shape()) else {
        // A store has its name only when it is whole.
        return true;
    };
    let mut rng = Rng::stream(seed + 1, "crash");
    work(&mut store, &mut allowed, &mut rng);
    let left = disk.after_power_cut();
    let mut found = check_after(left.clone(), &allowed, &what);
    if let Fault::Full(_) = fault {
        with_room_again(store, &disk, allowed, &mut rng, &what);
    } else {
        live_on(left, &mut found, &mut rng, &what);
    }
    disk.calls() >= at
}

/// What was full has room again: the store that was open all the time takes everything.
fn with_room_again(
    mut store: Store<Disk>,
    disk: &Disk,
    mut allowed: Allowed,
    rng: &mut Rng,
    what: &str,
) {
    allowed = allowed.is_in(&store, what);
    disk.0.borrow_mut().fault = None;
    for page in (0..PAGES).filter(|_| rng.below(2) == 0) {
        allowed.word += 1;
        let word = allowed.word;
        allowed.put(&mut store, page, word).expect(what);
    }
    allowed.flush(&mut store).expect(what);
    work(&mut store, &mut allowed, rng);
    check_after(disk.after_power_cut(), &allowed, what);
}

/// Further lives of a store, each of which ends by a power cut at some call, of its opening even.
fn live_on(mut left: Vec<u8>, found: &mut Allowed, rng: &mut Rng, what: &str) {
    for life in 2..5 {
        let what = format!("{what}, life {life}");
        let cut = (1 + rng.below(100), Fault::PowerCut);
        let disk = Disk::new(left, Some(cut), rng.below(1 << 40));
        if let Ok((mut store, _)) = Store::open(disk.clone(), PAGES, DEVICE) {
            work(&mut store, found, rng);
        }
        left = disk.after_power_cut();
        *found = check_after(left.clone(), found, &what);
    }
}

#[test]
fn what_was_flushed_is_there_after_a_power_cut_at_every_call() {
    for seed in 0..40 {
        let reached = (1..)
            .take_while(|at| run(*at, Fault::PowerCut, seed))
            .count();
        assert!(reached > 60, "{reached} calls");
    }
}

#[test]
fn what_was_flushed_is_there_after_every_call_that_fails() {
    for seed in 0..40 {
        let reached = (1..).take_while(|at| run(*at, Fault::Error, seed)).count();
        assert!(reached > 60, "{reached} calls");
    }
}

/// What a full disk does not take is missing; nothing else is, and nothing once there is room.
#[test]
fn a_full_disk_loses_nothing_and_goes_on_with_room() {
    for seed in 0..20 {
        for needs in [Needs::NewPlaces, Needs::EveryWrite] {
            let full = Fault::Full(needs);
            let reached = (1..).take_while(|at| run(*at, full, seed)).count();
            assert!(reached > 60, "{reached} calls");
        }
    }
}

/// The opening mends what was cut off; a power cut during that loses nothing either.
#[test]
fn an_opening_that_is_cut_off_loses_nothing() {
    let mut mended = 0;
    for seed in 0..200 {
        let bytes = vec![0; Store::<Disk>::bytes_of(&shape()) as usize];
        let at = 20 + seed % 60;
        let disk = Disk::new(bytes, Some((at, Fault::PowerCut)), seed);
        let mut allowed = Allowed::new();
        let mut store = Store::create(disk.clone(), shape()).expect("a store");
        work(
            &mut store,
            &mut allowed,
            &mut Rng::stream(seed + 1, "crash"),
        );
        let left = disk.after_power_cut();
        for at in 1.. {
            let disk = Disk::new(left.clone(), Some((at, Fault::PowerCut)), seed + at);
            let opened = Store::open(disk.clone(), PAGES, DEVICE);
            let is_over = disk.calls() < at;
            mended += u64::from(opened.is_ok_and(|(_, report)| report.torn > 0));
            let what = format!("opening cut at call {at}, seed {seed}");
            check_after(disk.after_power_cut(), &allowed, &what);
            if is_over {
                break;
            }
        }
    }
    assert!(mended > 20, "{mended} openings had something to mend");
}

/// Write-back of a device's memory: the power goes at every call of it, to memory or store.
#[test]
fn a_write_back_that_is_cut_off_loses_nothing_that_was_flushed() {
    let memory = |word: u64| {
        let pages = (0..PAGES).flat_map(|page| contents(word * PAGES + page));
        pages.collect::<Vec<u8>>()
    };
    for at in 1.. {
        let bytes = vec![0; Store::<Disk>::bytes_of(&shape()) as usize];
        let disk = Disk::new(bytes, None, at);
        let store = Store::create(disk.clone(), shape()).expect("a store");
        let host = Disk::new(memory(1), None, 0);
        let mut keeper = Keeper::new(host.clone(), store);
        keeper.keep(&keeper.all(), u64::MAX).expect("room");
        keeper.flush().expect("room");
        host.0.borrow_mut().seen = memory(2);
        disk.0.borrow_mut().fault = Some((disk.calls() + at, Fault::PowerCut));
        let done = keeper.keep(&keeper.all(), u64::MAX);
        let is_flushed = done.and_then(|_| keeper.flush()).is_ok();
        let left = Disk::new(disk.after_power_cut(), None, 0);
        let (store, _) = Store::open(left, PAGES, DEVICE).expect("whole");
        let again = Disk::new(vec![7; PAGES as usize * PAGE], None, 0);
        Keeper::new(again.clone(), store).load().expect("whole");
        let found = again.0.borrow().seen.clone();
        let (old, new) = (memory(1), memory(2));
        for (at, page) in found.chunks_exact(PAGE).enumerate() {
            let of = |memory: &[u8]| memory[at * PAGE..(at + 1) * PAGE] == *page;
            assert!(of(&new) || !is_flushed && of(&old), "page {at}");
        }
        if is_flushed {
            assert!(at > 2 * PAGES, "{at} calls");
            return;
        }
    }
}

/// Every byte that means something, changed: nothing of it is returned as data.
#[test]
fn a_changed_byte_is_found() {
    let bytes = vec![0; Store::<Disk>::bytes_of(&shape()) as usize];
    let disk = Disk::new(bytes, None, 0);
    let mut store = Store::create(disk.clone(), shape()).expect("a store");
    for (word, page) in [(1, 0), (2, 3), (3, 3), (4, 5)] {
        store.put(page, &contents(word)).expect("room");
        store.flush().expect("room");
    }
    drop(store);
    let whole = disk.0.borrow().seen.clone();
    let (mut found, mut tried) = (0, 0);
    let mut rng = Rng::stream(9, "crash");
    for at in (0..whole.len()).filter(|at| whole[*at] != 0) {
        if at > 4096 + PAGES as usize * 64 && rng.below(16) != 0 {
            continue;
        }
        tried += 1;
        let mut changed = whole.clone();
        changed[at] ^= 1 << rng.below(8);
        let disk = Disk::new(changed, None, 0);
        let Ok((store, _)) = Store::open(disk, PAGES, DEVICE) else {
            found += 1;
            continue;
        };
        // What a page had before it was written again is no longer needed.
        for (page, word) in [(0, 1), (1, 0), (2, 0), (3, 3), (4, 0), (5, 4)] {
            let mut read = [1; PAGE];
            store.get(page, &mut read).expect("opened, so whole");
            assert!(read == contents(word), "byte {at}: page {page}");
        }
    }
    assert!(found * 10 > tried * 6, "{found} of {tried}");
}
