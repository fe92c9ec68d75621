//! What processes of a session leave behind when they end, given back while the session goes on.
//!
//! A script that starts thousands of programs would otherwise fill the memory file system with
//! rings that nobody reads, and with files of counters. Of those that have ended the ones with the
//! most traps keep their counters to themselves. What the others counted goes into one sum
//! ([`sluice_results::fold`]), and their files go.

use rustix::fs::readlink;
use sluice_abi::{
    CROWD_FILES, FIRST_IMAGES, KEEPER, LOCK_FILE, MAP_AT, MEANWHILE, VIEW_LINK, profile_pages_at,
};
use sluice_control::home;
use sluice_region::{PAGE, is_running, lock_byte, open_regular, own_user, punch, unlock_byte};
use sluice_results::{
    Identity, LISTED, Rank, fold, has_marks, image_name, image_of, read_rank, remove_image,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// A process and the number of one of its images.
type Image = (u64, u64);

/// Looks again and again which processes of a session have ended.
#[derive(Debug)]
pub struct Ended {
    /// An opening of the session's lock file of our own: locks are of openings.
    lock: File,
    /// Files of the session at the last look.
    files: usize,
    /// Images that had ended at the last look. One look is not enough: a process that is about to
    /// lock its new files has not locked them yet.
    suspects: HashSet<Image>,
    /// Images whose memory was given back.
    done: HashSet<Image>,
    /// Listed images that may go into the sum, with what they are worth.
    listed: BTreeSet<Rank>,
    /// Images whose names the process still needs for its next image.
    named: HashSet<Image>,
}

impl Ended {
    /// For a session's directory; none if it has no lock file of this user's.
    pub fn new(dir: &Path) -> Option<Ended> {
        let lock = open_regular(&dir.join(LOCK_FILE), true, Some(own_user())).ok()?;
        // Where there are no such locks, nobody waits for a keeper.
        let _ = lock_byte(lock.as_raw_fd(), KEEPER);
        Some(Ended {
            lock,
            files: 0,
            suspects: HashSet::new(),
            done: HashSet::new(),
            listed: BTreeSet::new(),
            named: HashSet::new(),
        })
    }

    /// Gives back the memory of every process that has ended at this look and at the last one. Says
    /// whether there are others that have ended.
    pub fn look(&mut self, dir: &Path) -> bool {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut files = 0;
        let images: Vec<Image> = entries
            .inspect(|_| files += 1)
            .filter_map(|entry| image_of(&entry.file_name()))
            .collect();
        self.files = files;
        let mut last: HashMap<u64, u64> = HashMap::new();
        for (pid, image) in &images {
            let last = last.entry(*pid).or_default();
            *last = (*image).max(*last);
        }
        let first = first_process(dir);
        let mut suspects = HashSet::new();
        for of in images {
            let is_new = !self.done.contains(&of);
            if is_new && !self.has_ended(dir, of) {
                continue;
            }
            if is_new && !self.suspects.contains(&of) {
                suspects.insert(of);
            } else if is_new || self.named.contains(&of) {
                self.settle(dir, of, last[&of.0], first);
            }
        }
        self.suspects = suspects;
        self.fold(dir, first);
        !self.suspects.is_empty()
    }

    /// Whether there were so many files at the last look that a starting process waits for their
    /// removal.
    pub fn is_awaited(&self) -> bool {
        self.files >= CROWD_FILES
    }

    /// Whether nobody says that an image's files are in use.
    fn has_ended(&self, dir: &Path, of: Image) -> bool {
        let path = dir.join(image_name(of.0, of.1));
        let file = open_regular(&path, false, Some(own_user()));
        let Ok(inode) = file.and_then(|file| Ok(file.metadata()?.ino())) else {
            return false;
        };
        let lock = self.lock.as_raw_fd();
        let is_free = |byte| matches!(lock_byte(lock, byte), Ok(true));
        if !is_free(inode) {
            return false;
        }
        // A process that locks its byte anew waits for this, and holds the other one until then.
        let has_ended = is_free(inode | MEANWHILE);
        if has_ended {
            unlock_byte(lock, inode | MEANWHILE);
        }
        unlock_byte(lock, inode);
        has_ended
    }

    /// Gives back the memory of an image that has ended, and decides what becomes of the rest.
    fn settle(&mut self, dir: &Path, of: Image, last: u64, first: Option<u64>) {
        let (pid, image) = of;
        let is_first_done = self.done.insert(of);
        // The next image's number is found by the names of these.
        let is_named = image == last || image < u64::from(FIRST_IMAGES);
        if is_named && is_in_session(pid, dir) {
            self.named.insert(of);
            if is_first_done {
                give_back(dir, of);
            }
            return;
        }
        self.named.remove(&of);
        if image == last && Some(pid) != first {
            // Only the record of the program itself is read.
            let _ = std::fs::remove_file(dir.join(record_name(pid)));
        }
        let Some(rank) = read_rank(dir, pid, image) else {
            // It was killed before it had counted anything.
            remove_image(dir, pid, image);
            self.done.remove(&of);
            return;
        };
        // Marks part the figures of the program itself.
        let is_marked = Some(pid) == first && has_marks(dir, pid, image);
        let is_listed = is_marked || self.listed.insert(rank) && !self.is_over(rank);
        if is_first_done && is_listed {
            give_back(dir, of);
        }
    }

    /// Whether so many are worth more that an image goes into the sum.
    fn is_over(&self, rank: Rank) -> bool {
        self.listed.len() > LISTED && self.listed.first() == Some(&rank)
    }

    /// Adds to the sum what too many are listed.
    fn fold(&mut self, dir: &Path, first: Option<u64>) {
        let too_many = self.listed.len().saturating_sub(LISTED);
        let ranks: Vec<Rank> = self.listed.iter().take(too_many).copied().collect();
        let images: Vec<Identity> = ranks.iter().map(Rank::identity).collect();
        // Where it cannot be, it is tried again at the next look.
        if !images.is_empty() && fold(dir, &images, first).is_ok() {
            for (rank, of) in ranks.iter().zip(&images) {
                self.listed.remove(rank);
                self.done.remove(&(of.pid, of.image));
            }
        }
    }
}

/// The file with the traps that a process was to record.
fn record_name(pid: u64) -> String {
    format!("traps-{pid}.bin")
}

/// The session's first process.
fn first_process(dir: &Path) -> Option<u64> {
    let view = readlink(dir.join(VIEW_LINK), Vec::new()).ok()?;
    let view = Path::new(std::str::from_utf8(view.as_bytes()).ok()?);
    Some(image_of(view.file_name()?)?.0)
}

/// Whether a process of this number runs and is one of the session.
fn is_in_session(pid: u64, dir: &Path) -> bool {
    let Ok(pid) = u32::try_from(pid) else {
        return false;
    };
    is_running(pid) && home::is_in_session(pid, dir)
}

/// Removes the rings of a process, its residency map, the sites of its pages, and pages of its
/// statistics that are zero. Failing to is no harm: the session's end removes everything.
fn give_back(dir: &Path, of: Image) {
    let stats = dir.join(image_name(of.0, of.1));
    let Ok(file) = open_regular(&stats, true, Some(own_user())) else {
        return;
    };
    for kind in ["ring", "guest-ring"] {
        let _ = std::fs::remove_file(stats.with_extension(kind));
    }
    punch_from(&file, MAP_AT as u64);
    if let Ok(profile) = open_regular(&stats.with_extension("profile"), true, Some(own_user())) {
        punch_from(&profile, profile_pages_at() as u64);
    }
    let mut page = [0; PAGE];
    for at in (0..MAP_AT as u64).step_by(PAGE) {
        let read = file.read_exact_at(&mut page, at);
        if read.is_ok() && page.iter().all(|byte| *byte == 0) {
            let _ = punch(&file, at, PAGE as u64);
        }
    }
}

/// Gives back the memory of a file from a place on.
fn punch_from(file: &File, at: u64) {
    let len = file.metadata().map_or(0, |found| found.len());
    if len > at {
        let _ = punch(file, at, len - at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_abi::{Counter, OTHERS_FILE, STATS_MAGIC, STATS_VERSION, StatsBlock};
    use sluice_results::{read_processes, read_session};
    use std::path::PathBuf;
    use std::sync::atomic::Ordering::Relaxed;

    const LEN: usize = MAP_AT + 16 * PAGE;
    /// Numbers from here on are no process's.
    const NOBODY: u64 = 1 << 30;

    fn session() -> tempfile::TempDir {
        let dir = tempfile::tempdir_in("/dev/shm").expect("room");
        std::fs::write(dir.path().join(LOCK_FILE), "").expect("room");
        dir
    }

    /// The files of an image with so many traps, as full as they can be.
    fn image(dir: &Path, pid: u64, image: u64, traps: u64) -> PathBuf {
        // SAFETY: all fields are atomics of integers, for which zeros are valid.
        let block: Box<StatsBlock> = Box::new(unsafe { std::mem::zeroed() });
        block.magic.store(STATS_MAGIC, Relaxed);
        block.version.store(STATS_VERSION, Relaxed);
        block.pid.store(pid, Relaxed);
        block.started_ns.store(pid * 100 + image, Relaxed);
        block.counters[Counter::Traps as usize].store(traps, Relaxed);
        block.modelled.record(40_000);
        // SAFETY: the block is that long, and nobody writes to it meanwhile.
        let words = unsafe {
            let first = (&raw const *block).cast::<u8>();
            std::slice::from_raw_parts(first, size_of::<StatsBlock>())
        };
        let mut bytes = vec![1; LEN];
        bytes[..MAP_AT].fill(0);
        bytes[..words.len()].copy_from_slice(words);
        let stats = dir.join(image_name(pid, image));
        std::fs::write(&stats, &bytes).expect("room");
        for kind in ["ring", "guest-ring", "cmd", "mark0"] {
            std::fs::write(stats.with_extension(kind), "x").expect("room");
        }
        stats
    }

    fn taken(path: &Path) -> u64 {
        path.metadata().expect("a file").blocks() * 512
    }

    fn looks(ended: &mut Ended, dir: &Path, times: u32) {
        for _ in 0..times {
            ended.look(dir);
        }
    }

    /// The traps of each listed process; images and traps in the sum, and both together.
    fn figures(dir: &Path) -> (Vec<u64>, u64, u64, u64) {
        let mut listed: Vec<u64> = read_processes(dir)
            .iter()
            .map(|of| of.get(Counter::Traps))
            .collect();
        listed.sort_unstable();
        let (images, traps) = read_session(dir, |others, _| {
            let latencies = others.latencies();
            assert_eq!(latencies.modelled.count(), others.images());
            (others.images(), others.get(Counter::Traps))
        });
        let sum = listed.iter().sum::<u64>() + traps;
        (listed, images, traps, sum)
    }

    #[test]
    fn what_an_ended_process_counted_stays_and_the_rest_goes_at_the_second_look() {
        let dir = session();
        let stats = image(dir.path(), NOBODY, 0, 9);
        let mut ended = Ended::new(dir.path()).expect("a lock file");
        assert!(ended.look(dir.path()));
        assert_eq!(taken(&stats), LEN as u64, "one look is not enough");
        assert!(!ended.look(dir.path()));
        assert!(taken(&stats) <= 4 * PAGE as u64, "{}", taken(&stats));
        assert_eq!(figures(dir.path()), (vec![9], 0, 0, 9));
        assert!(!stats.with_extension("ring").exists());
        assert!(!stats.with_extension("guest-ring").exists());
        assert!(stats.with_extension("cmd").exists());
    }

    #[test]
    fn a_process_that_runs_keeps_everything() {
        for byte in [0, MEANWHILE] {
            let dir = session();
            let stats = image(dir.path(), NOBODY, 0, 9);
            let lock = dir.path().join(LOCK_FILE);
            let other = open_regular(&lock, true, None).expect("a lock file");
            let inode = stats.metadata().expect("a file").ino();
            assert!(lock_byte(other.as_raw_fd(), inode | byte).expect("locks"));
            let mut ended = Ended::new(dir.path()).expect("a lock file");
            looks(&mut ended, dir.path(), 3);
            assert_eq!(taken(&stats), LEN as u64);
            assert!(stats.with_extension("ring").exists());
            drop(other);
            looks(&mut ended, dir.path(), 2);
            assert!(taken(&stats) <= 4 * PAGE as u64);
        }
    }

    /// Each program of a script left two files until the script's end.
    #[test]
    fn of_many_that_ended_those_with_most_traps_keep_files_and_the_rest_is_one_sum() {
        const MORE: u64 = 40;
        let dir = session();
        let all = LISTED as u64 + MORE;
        let mut ended = Ended::new(dir.path()).expect("a lock file");
        for n in 0..all {
            // In no order.
            image(dir.path(), NOBODY + n, 0, 1 + n * 7 % all);
            if n % 50 == 0 {
                ended.look(dir.path());
            }
        }
        looks(&mut ended, dir.path(), 3);
        let total = (1..=all).sum();
        let least = (1..=MORE).sum();
        let listed: Vec<u64> = (MORE + 1..=all).collect();
        assert_eq!(figures(dir.path()), (listed, MORE, least, total));
        let files = std::fs::read_dir(dir.path()).expect("ours").count();
        assert_eq!(
            files,
            2 + 3 * LISTED,
            "the lock, the sum, and three of each"
        );
        // Nothing changes any more.
        looks(&mut ended, dir.path(), 3);
        assert_eq!(figures(dir.path()).3, total);
    }

    /// A keeper that was killed between the two steps has left files that are in the sum.
    #[test]
    fn what_is_in_the_sum_is_counted_once_whoever_was_killed() {
        let dir = session();
        let gone: Vec<Identity> = (0..3)
            .map(|n| {
                image(dir.path(), NOBODY + n, 0, 10);
                let (pid, image) = (NOBODY + n, 0);
                let started_ns = pid * 100;
                Identity {
                    pid,
                    image,
                    started_ns,
                }
            })
            .collect();
        fold(dir.path(), &gone[..2], None).expect("room");
        assert_eq!(figures(dir.path()), (vec![10], 2, 20, 30));
        // As if it had been killed before it removed the files; one has its name from another.
        image(dir.path(), NOBODY, 0, 10);
        let other = image(dir.path(), NOBODY + 1, 0, 5);
        let later = 7u64.to_ne_bytes();
        let at = std::mem::offset_of!(StatsBlock, started_ns) as u64;
        let file = File::options().write(true).open(other).expect("ours");
        file.write_all_at(&later, at).expect("room");
        assert_eq!(figures(dir.path()), (vec![5, 10], 2, 20, 35));
        // As if it had been killed while it wrote the next sum.
        std::fs::write(dir.path().join(sluice_abi::OTHERS_NEXT), "half").expect("room");
        fold(dir.path(), &gone[2..], None).expect("room");
        assert_eq!(figures(dir.path()), (vec![5], 3, 30, 35));
        assert!(!dir.path().join(image_name(NOBODY, 0)).exists());
        assert!(dir.path().join(OTHERS_FILE).exists());
    }

    #[test]
    fn a_process_that_was_killed_before_it_counted_leaves_nothing() {
        let dir = session();
        let stats = dir.path().join(image_name(NOBODY, 0));
        std::fs::write(&stats, "").expect("room");
        let mut ended = Ended::new(dir.path()).expect("a lock file");
        looks(&mut ended, dir.path(), 2);
        assert!(!stats.exists());
    }
}
