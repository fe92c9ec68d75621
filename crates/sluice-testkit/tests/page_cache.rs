//! The page cache against this kernel's own: a file is read by patterns, through a mapping and by
//! system calls, and after every touch the pages that are there are compared, page for page.
//!
//! The file is in `SLUICE_PAGE_CACHE_DIR`, or among the build's. `scripts/page_cache` mounts other
//! file systems, and runs this there. What the kernel did is added to `SLUICE_PAGE_CACHE_RECORD`.

use sluice_driver::{Advice, Limits, Pages};
use sluice_testkit::touches::{PAGES, Pattern, patterns, record};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr::{null_mut, read_volatile};
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
/// The kernel whose page cache this is.
const RELEASE: &str = "6.18.";
/// Readahead that is under way is there by then.
const PATIENCE: Duration = Duration::from_secs(1);

/// Times that a pattern is tried while others need the memory.
const TRIES: usize = 20;
/// Of so many patterns one may show nothing for that reason.
const UNCHECKED_ONE_IN: usize = 25;

/// The pages that the model has after each touch.
fn modelled(pattern: &Pattern, limits: Limits) -> Vec<Vec<bool>> {
    let mut is_there = vec![false; PAGES as usize];
    let touch = |reads: Vec<Pages>| {
        for read in reads {
            is_there[read.start as usize..read.end as usize].fill(true);
        }
        is_there.clone()
    };
    pattern.brought_in(limits).into_iter().map(touch).collect()
}

/// A mapping of the whole file.
struct Mapping(*mut u8);

impl Mapping {
    fn of(file: &File) -> Mapping {
        let (length, fd) = (PAGES as usize * PAGE, file.as_raw_fd());
        // SAFETY: a new mapping of a file that nobody shortens.
        let at =
            unsafe { libc::mmap(null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
        assert_ne!(at, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Mapping(at.cast())
    }

    fn advise(&self, advice: Advice) {
        let advice = match advice {
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
            Advice::Random => libc::MADV_RANDOM,
        };
        // SAFETY: the mapping is ours.
        let done = unsafe { libc::madvise(self.0.cast(), PAGES as usize * PAGE, advice) };
        assert_eq!(done, 0);
    }

    fn load(&self, page: u64) {
        // SAFETY: within the mapping, which can be read.
        unsafe { read_volatile(self.0.add(page as usize * PAGE)) };
    }

    fn resident(&self) -> Vec<bool> {
        let mut states = vec![0u8; PAGES as usize];
        // SAFETY: the mapping is ours, and there is a byte for each page.
        let done = unsafe {
            libc::mincore(
                self.0.cast(),
                PAGES as usize * PAGE,
                states.as_mut_ptr().cast(),
            )
        };
        assert_eq!(done, 0);
        states.into_iter().map(|state| state & 1 == 1).collect()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mapping any more.
        unsafe { libc::munmap(self.0.cast(), PAGES as usize * PAGE) };
    }
}

fn fadvise(file: &File, advice: i32) {
    // SAFETY: an open file.
    let done = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
    assert_eq!(done, 0);
}

/// Has the kernel forget the file; a page that does not leave. Who looks at all memory, as DAMON
/// does, holds a page for a moment.
fn empty(file: &File, seen: &Mapping) -> Option<usize> {
    let until = Instant::now() + PATIENCE;
    loop {
        fadvise(file, libc::POSIX_FADV_DONTNEED);
        let left = seen.resident().iter().position(|is_there| *is_there);
        if left.is_none() || Instant::now() >= until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads by the pattern; the first difference from what is expected after a touch.
fn compare(path: &Path, pattern: &Pattern, expected: &[Vec<bool>]) -> Option<String> {
    let file = File::open(path).expect("just written");
    let seen = Mapping::of(&file);
    if let Some(page) = empty(&file, &seen) {
        return Some(format!("page {page} does not leave the cache"));
    }
    let mapping = Mapping::of(&file);
    match (pattern.is_by_call, pattern.advice) {
        (false, advice) => mapping.advise(advice),
        (true, Advice::Normal) => {}
        (true, Advice::Sequential) => fadvise(&file, libc::POSIX_FADV_SEQUENTIAL),
        (true, Advice::Random) => fadvise(&file, libc::POSIX_FADV_RANDOM),
    }
    let mut buffer = vec![0; PAGE * 4096];
    for (at, (&(page, count), expected)) in pattern.touches.iter().zip(expected).enumerate() {
        match pattern.is_by_call {
            true => {
                let buffer = &mut buffer[..count as usize * PAGE];
                file.read_exact_at(buffer, page * PAGE as u64)
                    .expect("a read");
            }
            false => mapping.load(page),
        }
        // Looking at all pages takes longer than touching one.
        if at > 64 && at % 64 != 0 && at + 1 < pattern.touches.len() {
            continue;
        }
        let until = Instant::now() + PATIENCE;
        let mut resident = seen.resident();
        while resident != *expected && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
            resident = seen.resident();
        }
        if resident != *expected {
            return Some(format!(
                "after touch {at}, of page {page}: only here {}, only in the model {}",
                ranges(&resident, expected),
                ranges(expected, &resident)
            ));
        }
    }
    None
}

/// What one has and the other has not.
fn ranges(one: &[bool], other: &[bool]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < one.len() {
        let from = at;
        while at < one.len() && one[at] && !other[at] {
            at += 1;
        }
        match at > from {
            true => write!(text, "{from}..{at} ").expect("a string"),
            false => at += 1,
        }
    }
    text
}

/// Why a host cannot show it.
#[derive(Debug, thiserror::Error)]
enum Unchecked {
    #[error("the model is of Linux {RELEASE}x, this is {0}")]
    Kernel(String),
    #[error("{0}: {1}")]
    Knob(String, std::io::Error),
}

/// Where the file is, and its readahead.
fn place() -> Result<(PathBuf, Limits), Unchecked> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if !release.starts_with(RELEASE) {
        return Err(Unchecked::Kernel(release.trim().to_owned()));
    }
    let dir = std::env::var_os("SLUICE_PAGE_CACHE_DIR");
    let dir = dir.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let device = fs::metadata(&dir).expect("a folder").dev();
    let device = format!("{}:{}", libc::major(device), libc::minor(device));
    let pages = |knob: String| match fs::read_to_string(&knob) {
        Ok(kib) => Ok(kib.trim().parse::<u64>().expect("a number") * 1024 / PAGE as u64),
        Err(error) => Err(Unchecked::Knob(knob, error)),
    };
    let limits = Limits {
        window: pages(format!("/sys/class/bdi/{device}/read_ahead_kb"))?,
        request: pages(format!("/sys/dev/block/{device}/queue/max_sectors_kb"))?,
        large_folios: true,
    };
    Ok((dir, limits))
}

/// A file, with data where others have mounted a file system for it. Holes are there at once.
fn file_in(dir: &Path) -> PathBuf {
    let path = dir.join(format!("page-cache-{}", std::process::id()));
    let file = File::create(&path).expect("a file");
    file.set_len(PAGES * PAGE as u64).expect("room");
    if std::env::var_os("SLUICE_PAGE_CACHE_DIR").is_some() {
        let bytes = vec![1; PAGE];
        for page in 0..PAGES {
            file.write_all_at(&bytes, page * PAGE as u64).expect("room");
        }
    }
    file.sync_all().expect("room");
    path
}

/// What a pattern shows.
enum Shown {
    Equal,
    /// It differs twice in the same way.
    Differs(String),
    /// It differs in another way each time: others may take pages away.
    Nothing(String),
}

fn difference(path: &Path, pattern: &Pattern, limits: Limits) -> Shown {
    let expected = modelled(pattern, limits);
    let name = &pattern.name;
    let mut last = String::new();
    for _ in 0..TRIES {
        match compare(path, pattern, &expected) {
            None => return Shown::Equal,
            Some(how) if how == last => return Shown::Differs(format!("{name}: {how}")),
            Some(how) => last = how,
        }
    }
    Shown::Nothing(format!(
        "{name}: others take pages away, {TRIES} times: {last}"
    ))
}

#[test]
fn the_same_pages_are_there_as_in_this_kernel() {
    let (dir, mut limits) = match place() {
        Ok(place) => place,
        Err(why) => return eprintln!("unchecked here: {why}"),
    };
    let path = file_in(&dir);
    let patterns = patterns(limits.window);
    // Whether a file system has large folios is written nowhere: a reader in order shows it.
    let of_all = patterns.iter().find(|pattern| pattern.is_by_call);
    let of_all = difference(&path, of_all.expect("reads"), limits);
    limits.large_folios = matches!(of_all, Shown::Equal);
    let (mut differ, mut unchecked) = (Vec::new(), Vec::new());
    let unchecked_max = patterns.len() / UNCHECKED_ONE_IN;
    for pattern in &patterns {
        if unchecked.len() > unchecked_max {
            break;
        }
        match difference(&path, pattern, limits) {
            Shown::Equal => {}
            Shown::Differs(how) => differ.push(how),
            Shown::Nothing(why) => unchecked.push(why),
        }
    }
    fs::remove_file(&path).expect("ours");
    println!("{} patterns, {limits:?}", patterns.len());
    assert!(differ.is_empty(), "{limits:?}:\n{}", differ.join("\n"));
    // A model that is wrong in another way each time is wrong.
    let listed = unchecked.join("\n");
    assert!(unchecked.len() <= unchecked_max, "{limits:?}:\n{listed}");
    eprint!(
        "{}",
        unchecked
            .iter()
            .map(|why| format!("unchecked: {why}\n"))
            .collect::<String>()
    );
    if let Some(path) = std::env::var_os("SLUICE_PAGE_CACHE_RECORD") {
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        let record = record(limits);
        if !text.contains(&record) {
            text += &record;
        }
        fs::write(&path, text).expect("room");
    }
}
