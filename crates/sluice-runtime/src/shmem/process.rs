//! A process as the server knows it.

use super::link::taken_out;
use super::message::{Answers, Greeting, MAX_DROPS, send_drops};
use crate::memory::private::zero_page;
use core::ops::Range;
use core::sync::atomic::Ordering::*;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use sluice_region::{Fill, Mapping, PAGE, Pagemap, Uffd};
use sluice_units::Bits;
use std::collections::{BTreeMap, VecDeque};

/// Consecutive pages of a mapping that are consecutive pages of the device.
#[derive(Debug)]
pub struct Segment {
    /// How many pages it has.
    pub pages: u64,
    /// First page of the device.
    pub lpn: u64,
    /// Which have page-table entries, as far as the server knows.
    mapped: Bits,
}

impl Segment {
    /// Nothing of it is mapped.
    pub fn new(lpn: u64, pages: u64) -> Segment {
        Segment {
            pages,
            lpn,
            mapped: Bits::new(pages as usize),
        }
    }

    fn page(&self, lpn: u64) -> usize {
        (lpn - self.lpn) as usize
    }

    /// Whether it has a page.
    pub fn has(&self, lpn: u64) -> bool {
        lpn.checked_sub(self.lpn)
            .is_some_and(|page| page < self.pages)
    }

    /// Notes that a page has an entry, or none. Says whether it had one.
    pub fn set(&mut self, lpn: u64, is_mapped: bool) -> bool {
        let page = self.page(lpn);
        match is_mapped {
            true => self.mapped.set(page),
            false => self.mapped.clear(page),
        }
    }

    /// Whether a page has an entry.
    pub fn is_mapped(&self, lpn: u64) -> bool {
        self.mapped.has(self.page(lpn))
    }

    /// Pages that have entries.
    pub fn all_mapped(&self) -> impl Iterator<Item = u64> + '_ {
        self.mapped.iter().map(|page| self.lpn + page as u64)
    }
}

/// A page that was clean when the message to take it out was sent to the process: a store may have
/// come between.
#[derive(Debug)]
struct Unsure {
    /// The process has taken it out when it has taken out so many.
    turn: u64,
    page: usize,
    lpn: u64,
}

/// Pages that are kept in doubt. Others count as written.
const MAX_UNSURE: usize = 4096;

/// A process that has shared memory on the device.
#[derive(Debug)]
pub struct Process {
    /// The number of the process.
    pub pid: u64,
    /// Where it asks.
    pub answers: Answers,
    /// By which its faults come.
    pub uffd: Uffd,
    /// Shows which pages the process has written.
    pub pagemap: Pagemap,
    /// By first address.
    pub segments: BTreeMap<usize, Segment>,
    drops: OwnedFd,
    leaving: Vec<u64>,
    /// In the order of their turns.
    unsure: VecDeque<Unsure>,
    /// Pages that were written after all.
    late: Vec<u64>,
    /// Pages that it was to take out, by the messages sent, and where it counts those that are.
    told: u64,
    taken_out: Mapping,
    zeros: Mapping,
}

impl Process {
    /// A process that has greeted, and has nothing yet.
    pub fn new(answers: Answers, greeting: Greeting) -> Result<Process, i32> {
        let [uffd, pagemap, drops, count] = greeting.handed;
        Ok(Process {
            pid: greeting.pid,
            answers,
            uffd: Uffd::of_other(uffd),
            pagemap: Pagemap::of(pagemap),
            segments: BTreeMap::new(),
            drops,
            leaving: Vec::with_capacity(MAX_DROPS),
            unsure: VecDeque::with_capacity(MAX_UNSURE),
            late: Vec::new(),
            told: 0,
            taken_out: Mapping::shared(count.as_raw_fd(), PAGE)?,
            zeros: zero_page()?,
        })
    }

    /// The page of the device at an address.
    pub fn lpn(&self, addr: usize) -> Option<(usize, u64)> {
        let (start, segment) = self.segments.range(..=addr).next_back()?;
        let page = ((addr - start) / PAGE) as u64;
        (page < segment.pages).then(|| (*start, segment.lpn + page))
    }

    /// Gives a page its entry and lets the thread that waits for it go on. False if that cannot be.
    pub fn put(&mut self, start: usize, lpn: u64, is_written: bool) -> bool {
        // The thread that waits may do so in a mapping that is another one by now.
        let Some(segment) = self.segments.get(&start).filter(|s| s.has(lpn)) else {
            return false;
        };
        let page = start + (lpn - segment.lpn) as usize * PAGE;
        // One that the process has taken out by itself.
        let is_written = is_written || segment.is_mapped(lpn) && self.is_written(page);
        // Afterwards the kernel's note of it is another one.
        let asked = self.unsure.iter().rposition(|unsure| unsure.page == page);
        if let Some(unsure) = asked.and_then(|at| self.unsure.remove(at))
            && unsure.turn <= taken_out(&self.taken_out).load(Acquire)
            && !self.pagemap.was_protected(page)
        {
            self.late.push(lpn);
        }
        let fill = Fill {
            protect: !is_written,
            wake: true,
        };
        let put = crate::memory::shared::map_page(&self.uffd, page, self.zeros.addr(), fill);
        if put.is_err() {
            // It is there, is mapped otherwise, or the object is shorter: its thread sees.
            self.uffd.wake(page);
        }
        let is_there = matches!(put, Ok(()) | Err(libc::EEXIST));
        if is_there && let Some(segment) = self.segments.get_mut(&start) {
            segment.set(lpn, true);
        }
        is_there
    }

    /// Has a page leave this process, if it has an entry. Says whether it had one and was written,
    /// as far as is known before it has left.
    pub fn drop_page(&mut self, start: usize, lpn: u64) -> Option<bool> {
        let segment = self.segments.get_mut(&start).filter(|s| s.has(lpn))?;
        if !segment.set(lpn, false) {
            return None;
        }
        let page = start + (lpn - segment.lpn) as usize * PAGE;
        self.leaving.push(page as u64);
        if self.pagemap.is_written(page) {
            return Some(true);
        }
        let is_kept = self.unsure.len() < MAX_UNSURE;
        if is_kept {
            let turn = self.told + self.leaving.len() as u64;
            self.unsure.push_back(Unsure { turn, page, lpn });
        }
        Some(!is_kept)
    }

    /// A page that was written after the process was to take it out, and before it had left. The
    /// kernel keeps the protection of one that was not.
    pub fn next_late(&mut self) -> Option<u64> {
        let done = taken_out(&self.taken_out).load(Acquire);
        while self.unsure.front().is_some_and(|first| first.turn <= done)
            && let Some(unsure) = self.unsure.pop_front()
        {
            if self.has_left(&unsure) && !self.pagemap.was_protected(unsure.page) {
                return Some(unsure.lpn);
            }
        }
        self.late.pop()
    }

    /// Whether nobody has mapped a page again that was to leave.
    fn has_left(&self, unsure: &Unsure) -> bool {
        self.lpn(unsure.page).is_some_and(|(start, lpn)| {
            let segment = self.segments.get(&start);
            lpn == unsure.lpn && segment.is_some_and(|it| !it.is_mapped(lpn))
        })
    }

    /// Whether a page was written that the process has taken out, or still has.
    fn is_written(&self, page: usize) -> bool {
        let out = || !self.pagemap.is_present(page) && !self.pagemap.was_protected(page);
        self.pagemap.is_written(page) || out()
    }

    /// A range of addresses is about to be mapped otherwise: what was written of the pages there
    /// that were to leave is known.
    pub fn settle(&mut self, start: usize, end: usize) {
        for unsure in core::mem::take(&mut self.unsure) {
            match (start..end).contains(&unsure.page) {
                true if !self.has_left(&unsure) => {}
                true if self.is_written(unsure.page) => self.late.push(unsure.lpn),
                true => {}
                false => self.unsure.push_back(unsure),
            }
        }
    }

    /// It has taken out all of its pages, for it is about to end. Returns those that it had
    /// written.
    ///
    /// It may have other threads, or not end after all: a page that they bring back is one of a
    /// process that has said nothing.
    pub fn end(&mut self) -> Vec<u64> {
        let mut written = Vec::new();
        let mut segments = core::mem::take(&mut self.segments);
        for (start, segment) in &mut segments {
            let range = *start..start + segment.pages as usize * PAGE;
            let [mut clean, mut back] = [0, 1].map(|_| Bits::new(segment.pages as usize));
            let note = |bits: &mut Bits, region: Range<usize>| {
                let pages = (region.start - start) / PAGE..(region.end - start) / PAGE;
                pages.for_each(|page| _ = bits.set(page));
            };
            self.pagemap
                .each_protected(range.clone(), |region| note(&mut clean, region));
            self.pagemap
                .each_of_file(range, |region| note(&mut back, region));
            let mut kept = Bits::new(segment.pages as usize);
            for page in segment.mapped.iter() {
                let is_back = back.has(page);
                if !clean.has(page) && (!is_back || self.is_written(start + page * PAGE)) {
                    written.push(segment.lpn + page as u64);
                }
                if is_back {
                    kept.set(page);
                }
            }
            segment.mapped = kept;
        }
        self.segments = segments;
        let is_out = |unsure: &Unsure| !self.pagemap.is_present(unsure.page);
        let (out, left): (VecDeque<_>, _) = self.unsure.drain(..).partition(is_out);
        self.unsure = left;
        for unsure in out {
            if self.has_left(&unsure) && !self.pagemap.was_protected(unsure.page) {
                self.late.push(unsure.lpn);
            }
        }
        written
    }

    /// Pages that were written after all, and of which nobody knows yet.
    pub fn take_late(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.late)
    }

    /// Pages of the device have lost their object: nobody asks what was written to them.
    pub fn forget(&mut self, lost: &Range<u64>) {
        self.late.retain(|lpn| !lost.contains(lpn));
    }

    /// Sends the process the pages that leave. A process that is stopped does not look: its pages
    /// stay, and go with a later message.
    pub fn send_leaving(&mut self) {
        let mut sent = 0;
        for pages in self.leaving.chunks(MAX_DROPS) {
            if send_drops(self.drops.as_fd(), pages).is_err() {
                break;
            }
            sent += pages.len();
        }
        self.told += sent as u64;
        self.leaving.drain(..sent);
    }

    /// Pages that it is to take out and still has.
    pub fn behind(&self) -> u64 {
        let done = taken_out(&self.taken_out).load(Acquire);
        self.told.saturating_sub(done) + self.leaving.len() as u64
    }

    /// The pages of a segment that the process has written.
    pub fn written_in(&self, start: usize) -> Vec<u64> {
        let Some(segment) = self.segments.get(&start) else {
            return Vec::new();
        };
        let page = |lpn: u64| start + (lpn - segment.lpn) as usize * PAGE;
        let mapped = segment.all_mapped();
        mapped
            .filter(|lpn| self.pagemap.is_written(page(*lpn)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{receive_drops, socket_pair};
    use super::*;
    use rustix::fd::{BorrowedFd, FromRawFd};
    use sluice_region::UffdKind;

    /// A process that does not look for a while, and the end at which it would.
    fn process(pages: u64) -> (Process, OwnedFd) {
        let own = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().expect("a descriptor");
        let uffd = Uffd::open(UffdKind::Events).expect("a descriptor");
        let pagemap = Pagemap::open().expect("a page map");
        let (drops, theirs) = socket_pair().expect("sockets");
        let (answers, _) = socket_pair().expect("sockets");
        // SAFETY: made here.
        let count = unsafe { OwnedFd::from_raw_fd(sluice_region::memfd(PAGE).expect("memory")) };
        let greeting = Greeting {
            pid: 1,
            handed: [own(uffd.as_fd()), own(pagemap.as_fd()), drops, count],
        };
        let mut process = Process::new(Answers(answers), greeting).expect("a process");
        process.segments.insert(PAGE, Segment::new(0, pages));
        (process, theirs)
    }

    /// More pages than its socket takes leave at once. It gets each of them, once.
    #[test]
    fn a_process_that_looks_late_is_told_of_all() {
        const PAGES: u64 = 100_000;
        let (mut process, theirs) = process(PAGES);
        let segment = process.segments.get_mut(&PAGE).expect("its segment");
        for lpn in 0..PAGES {
            segment.set(lpn, true);
        }
        for lpn in 0..PAGES {
            process.drop_page(PAGE, lpn).expect("it was mapped");
        }
        let (mut told, mut room) = (Vec::new(), [0; MAX_DROPS]);
        process.send_leaving();
        assert!(process.told < PAGES, "the socket took all");
        assert_eq!(process.behind(), PAGES);
        while told.len() < PAGES as usize {
            let count = receive_drops(theirs.as_fd(), &mut room).expect("more");
            told.extend_from_slice(&room[..count]);
            taken_out(&process.taken_out).fetch_add(count as u64, Release);
            process.send_leaving();
        }
        let expected: Vec<u64> = (1..=PAGES).map(|page| page * PAGE as u64).collect();
        assert!(told == expected, "pages are missing or come twice");
        assert_eq!(process.behind(), 0);
    }

    /// A process with a mapping of so many pages, all of which have entries and the first of which
    /// is page 10 of the device; and its memory.
    fn mapped(pages: usize) -> (Process, Mapping) {
        let (mut process, _) = process(0);
        let file = sluice_region::memfd(pages * PAGE).expect("memory");
        let memory = Mapping::shared(file, pages * PAGE).expect("memory");
        let start = memory.addr();
        process
            .uffd
            .register_shared(start, pages * PAGE)
            .expect("free memory");
        let segment = Segment::new(10, pages as u64);
        process.segments.insert(start, segment);
        for lpn in 10..10 + pages as u64 {
            assert!(process.put(start, lpn, false));
        }
        (process, memory)
    }

    fn store(memory: &Mapping, page: usize) {
        // SAFETY: mapped by `put`.
        unsafe { ((memory.addr() + page * PAGE) as *mut u64).write_volatile(7) };
    }

    /// Pages leave before, at and after the end that it says, with stores before and after it.
    #[test]
    fn what_a_process_has_after_its_end_may_be_written() {
        let (mut process, memory) = mapped(6);
        let start = memory.addr();
        assert_eq!(process.drop_page(start, 10), Some(false));
        assert_eq!(process.drop_page(start, 11), Some(false));
        for page in [0, 2, 4] {
            store(&memory, page);
        }
        // SAFETY: shared memory, which stays.
        unsafe { sluice_region::dont_need(start, 6 * PAGE) }.expect("mapped");
        // Another thread brings two back before the server hears of the end.
        assert!(process.put(start, 14, false) && process.put(start, 15, false));
        store(&memory, 5);
        let mut written = process.end();
        written.sort_unstable();
        assert_eq!(written, [12, 14, 15]);
        assert_eq!(
            process.take_late(),
            [10],
            "it left before, and was written then"
        );
        let left: Vec<u64> = process.segments[&start].all_mapped().collect();
        assert_eq!(left, [14, 15]);
        // What it does from now on is seen as that of any other process.
        assert!(process.put(start, 12, false));
        store(&memory, 2);
        store(&memory, 4);
        let known = [12, 13, 14].map(|lpn| process.drop_page(start, lpn));
        assert_eq!(known, [Some(true), None, Some(true)]);
    }

    /// It was to be taken out, and its address belongs to another object by now.
    #[test]
    fn what_was_to_leave_is_known_before_its_address_is_mapped_otherwise() {
        let (mut process, memory) = mapped(3);
        let start = memory.addr();
        for lpn in 10..13 {
            assert_eq!(process.drop_page(start, lpn), Some(false));
        }
        store(&memory, 1);
        store(&memory, 2);
        process.settle(start, start + 2 * PAGE);
        assert_eq!(process.take_late(), [11]);
        process.segments.clear();
        process.segments.insert(start, Segment::new(11, 1));
        // SAFETY: shared memory, which stays.
        unsafe { sluice_region::dont_need(start, 3 * PAGE) }.expect("mapped");
        taken_out(&process.taken_out).fetch_add(3, Release);
        assert_eq!(process.next_late(), None, "nobody knows the rest");
        assert!(!process.put(start, 13, true), "it is of another mapping");
    }

    /// It was taken for clean, and no flash program was counted.
    #[test]
    fn a_store_before_a_page_has_left_is_seen() {
        const PAGES: usize = 5;
        let (mut process, memory) = mapped(PAGES);
        let start = memory.addr();
        let store = |page| store(&memory, page);
        store(4);
        let known = [10, 11, 12, 13, 14].map(|lpn| process.drop_page(start, lpn));
        assert_eq!(
            known,
            [
                Some(false),
                Some(false),
                Some(false),
                Some(false),
                Some(true)
            ]
        );
        assert_eq!(process.next_late(), None, "it has taken out none");
        store(1);
        store(2);
        // SAFETY: shared memory, which stays.
        unsafe { sluice_region::dont_need(start, PAGES * PAGE) }.expect("mapped");
        process.send_leaving();
        taken_out(&process.taken_out).fetch_add(PAGES as u64, Release);
        // Page 2 comes back first, and page 3, which was not written.
        assert!(process.put(start, 12, false) && process.put(start, 13, false));
        let mut late: Vec<u64> = core::iter::from_fn(|| process.next_late()).collect();
        late.sort_unstable();
        assert_eq!(late, [11, 12]);
    }

    #[test]
    fn a_segment_knows_what_is_mapped() {
        let mut segment = Segment::new(1000, 130);
        assert!(!segment.has(999) && segment.has(1000) && segment.has(1129) && !segment.has(1130));
        for lpn in [1000, 1063, 1064, 1129] {
            assert!(!segment.set(lpn, true));
        }
        assert!(segment.set(1063, false), "it was");
        let mapped: Vec<u64> = segment.all_mapped().collect();
        assert_eq!(mapped, [1000, 1064, 1129]);
        assert!(segment.is_mapped(1064) && !segment.is_mapped(1063));
    }
}
