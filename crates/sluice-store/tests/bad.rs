//! Stores with sectors that cannot be read, and stores that somebody has made up.

use sluice_store::{Error as StoreError, Keeper, Medium, PAGE, Pages, Shape, Store, check};
use std::cell::RefCell;
use std::io::{Error, Result};
use std::rc::Rc;
use std::time::{Duration, Instant};
use twox_hash::XxHash3_64;

const SECTOR: usize = 512;
const PAGES: u64 = 100;
const DEVICE: &str = "test";
const IDENTITY: u64 = 0x5107_ce00;
const MARK_AT: usize = 512;
const ENTRIES_AT: usize = 4096;
const ENTRY: usize = 32;
/// The first multiple of a page behind the entries.
const SLOTS_AT: usize = 3 * PAGE;

#[derive(Clone, Default, Debug)]
struct Disk(Rc<RefCell<Inner>>);

#[derive(Default, Debug)]
struct Inner {
    bytes: Vec<u8>,
    /// Sectors that cannot be read until they are written.
    bad: Vec<usize>,
    /// Nothing can be written, as on a full disk that writes over nothing.
    is_full: bool,
}

impl Disk {
    fn spoil(&self, at: usize) {
        self.0.borrow_mut().bad.push(at / SECTOR);
    }
}

impl Medium for Disk {
    fn bytes(&self) -> Result<u64> {
        Ok(self.0.borrow().bytes.len() as u64)
    }

    fn read(&self, to: &mut [u8], at: u64) -> Result<()> {
        let Inner { bytes, bad, .. } = &*self.0.borrow();
        let range = at as usize..at as usize + to.len();
        let sectors = range.start / SECTOR..range.end.div_ceil(SECTOR);
        if bad.iter().any(|sector| sectors.contains(sector)) {
            return Err(Error::from_raw_os_error(5));
        }
        to.copy_from_slice(&bytes[range]);
        Ok(())
    }

    fn write(&mut self, from: &[u8], at: u64) -> Result<()> {
        let Inner {
            bytes,
            bad,
            is_full,
        } = &mut *self.0.borrow_mut();
        if *is_full {
            return Err(Error::from_raw_os_error(28));
        }
        let range = at as usize..at as usize + from.len();
        bad.retain(|sector| !(range.start..range.end).contains(&(sector * SECTOR)));
        bytes[range].copy_from_slice(from);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn next_data(&self, from: u64) -> Result<Option<u64>> {
        Ok((from < self.bytes()?).then_some(from))
    }

    fn punch(&mut self, at: u64, len: u64) -> Result<()> {
        self.write(&vec![0; len as usize], at)
    }
}

fn shape(pages: u64) -> Shape {
    Shape {
        pages,
        device: DEVICE.to_owned(),
        identity: IDENTITY,
    }
}

fn contents(word: u8) -> [u8; PAGE] {
    [word; PAGE]
}

/// A store whose every page was flushed with its number and one.
fn filled() -> (Disk, Store<Disk>) {
    let disk = Disk::default();
    disk.0.borrow_mut().bytes = vec![0; Store::<Disk>::bytes_of(&shape(PAGES)) as usize];
    let mut store = Store::create(disk.clone(), shape(PAGES)).expect("room");
    for page in 0..PAGES {
        store.put(page, &contents(page as u8 + 1)).expect("room");
    }
    store.flush().expect("room");
    (disk, store)
}

fn opened(disk: &Disk) -> std::result::Result<Store<Disk>, StoreError> {
    Store::open(disk.clone(), PAGES, DEVICE).map(|(store, _)| store)
}

/// A bad sector had ended the check, and nobody learned which pages it had.
#[test]
fn pages_that_cannot_be_read_are_named_and_no_others() {
    let (disk, _) = filled();
    disk.spoil(SLOTS_AT + 7 * PAGE + 512);
    let report = check(&disk).expect("the rest can be read");
    assert_eq!(report.first_damaged, [(7, "unreadable contents")]);
    assert_eq!((report.stored, report.torn), (PAGES - 1, 0));
    let refused = opened(&disk).expect_err("a page is lost");
    assert!(
        matches!(refused, StoreError::Damaged { count: 1, first: 7 }),
        "{refused}"
    );
    disk.spoil(ENTRIES_AT + 2 * ENTRY * 16);
    let report = check(&disk).expect("the rest can be read");
    let mut expected = vec![(7, "unreadable contents")];
    expected.extend((16..24).map(|page| (page, "unreadable entries")));
    assert_eq!(report.first_damaged, expected);
}

/// A disk whose power goes while it writes may be unable to read that. It was not flushed.
#[test]
fn a_write_that_was_cut_off_may_be_unreadable() {
    let (disk, mut store) = filled();
    store.put(7, &contents(200)).expect("room");
    drop(store);
    // The second slot.
    disk.spoil(SLOTS_AT + (PAGES as usize + 7) * PAGE);
    let report = check(&disk).expect("readable");
    assert_eq!((report.torn, report.damaged), (1, 0));
    let mut store = opened(&disk).expect("it has all that was flushed");
    let mut found = [0; PAGE];
    store.get(7, &mut found).expect("readable");
    assert!(found == contents(8), "what was flushed");
    store.put(7, &contents(201)).expect("room");
    store.flush().expect("room");
    drop(store);
    let store = opened(&disk).expect("whole");
    store.get(7, &mut found).expect("readable");
    assert!(found == contents(201), "what was flushed then");
}

/// A start, and an end with nothing to keep, had failed where even the mark has no room.
#[test]
fn a_store_is_used_on_a_full_disk_while_nothing_changes() {
    let (disk, _) = filled();
    disk.0.borrow_mut().is_full = true;
    let mut store = opened(&disk).expect("nothing is to be written");
    let mut found = [0; PAGE];
    store.get(7, &mut found).expect("readable");
    assert!(found == contents(8) && !store.put(7, &found).expect("as it is"));
    store.flush().expect("nothing is to be written");
    store.put(7, &contents(200)).expect_err("it is full");
    store.flush().expect_err("it is full");
    disk.0.borrow_mut().is_full = false;
    store.put(7, &contents(200)).expect("room");
    store.flush().expect("room");
}

/// Behind the last number there is none. The next write had the number 0, which is damage.
#[test]
fn no_write_has_the_number_behind_the_last_one() {
    let sum = |bytes: &[u8]| XxHash3_64::oneshot_with_seed(IDENTITY, bytes).to_le_bytes();
    let (disk, _) = filled();
    let whole = disk.0.borrow().bytes.clone();
    let made_up = |number: u64| {
        let (mut mark, mut entry) = (whole.clone(), whole.clone());
        mark[MARK_AT..MARK_AT + 8].copy_from_slice(&number.to_le_bytes());
        let its_sum = sum(&mark[MARK_AT..MARK_AT + 8]);
        mark[MARK_AT + 8..MARK_AT + 16].copy_from_slice(&its_sum);
        let at = ENTRIES_AT + 2 * ENTRY * 5;
        entry[at + 8..at + 16].copy_from_slice(&number.to_le_bytes());
        let its_sum = sum(&entry[at..at + 24]);
        entry[at + 24..at + 32].copy_from_slice(&its_sum);
        [mark, entry]
    };
    for bytes in made_up(u64::MAX) {
        disk.0.borrow_mut().bytes = bytes;
        let refused = opened(&disk).expect_err("no number is left");
        assert!(matches!(refused, StoreError::Header), "{refused}");
    }
    for bytes in made_up(u64::MAX - 1) {
        disk.0.borrow_mut().bytes = bytes;
        let mut store = opened(&disk).expect("whole");
        let why = store.put(3, &contents(200)).expect_err("no number is left");
        assert!(why.to_string().contains("no number left"), "{why}");
        store.flush().expect("room");
        drop(store);
        assert_eq!(check(&disk).expect("readable").damaged, 0);
    }
}

/// Bytes that are all zeros, and holes but for their first page.
struct Sparse;

impl Medium for Sparse {
    fn bytes(&self) -> Result<u64> {
        Ok(u64::MAX)
    }

    fn read(&self, to: &mut [u8], _at: u64) -> Result<()> {
        to.fill(0);
        Ok(())
    }

    fn write(&mut self, _from: &[u8], _at: u64) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn next_data(&self, from: u64) -> Result<Option<u64>> {
        Ok((from < PAGE as u64).then_some(from))
    }

    fn punch(&mut self, _at: u64, _len: u64) -> Result<()> {
        Ok(())
    }
}

/// For each page that was flushed all pages of the device were looked at: 30 ms of 256 GiB.
#[test]
fn a_flush_of_a_page_takes_no_longer_on_a_large_device() {
    let store = Store::create(Sparse, shape(1 << 26)).expect("room");
    let mut keeper = Keeper::new(Sparse, store);
    let started = Instant::now();
    for _ in 0..1000 {
        keeper.keep(&Pages(0..1), u64::MAX).expect("zeros");
    }
    assert!(started.elapsed() < Duration::from_secs(5));
}
