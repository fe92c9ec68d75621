//! What the program does to its own mappings: giving pages back, changing their protection, mapping
//! the device file and unmapping it. Called by hooks, off the fault path.

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::engine::turn::give_way;
use crate::fatal::lost_page;
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, PENDING, SAMPLED, STASHED, WRITTEN};
use crate::memory::private::keep_from_children;
use crate::session::{OnDevice, Store};
use crate::threads::calm::calm;
use crate::threads::thread::in_service;
use core::ops::Range;
use sluice_abi::Counter;
use sluice_region::{PAGE, Told, raw_madvise, raw_mprotect};

/// Pages whose contents are dropped under one hold of the lock.
const DROPPED_TOGETHER: usize = 256;

impl Engine {
    /// Drops the contents of pages the program gave back. The range is whole pages of the arena.
    /// Says how many had any, or a place in the cache.
    pub fn discard(&self, start: usize, len: usize) -> u64 {
        self.discard_all(start, len, false)
    }

    /// Drops the contents of pages as [`discard`](Engine::discard) does, and takes the program's
    /// access to them. Those that the kernel does not protect, because the program has too many
    /// mappings, are empty only.
    pub fn shut(&self, start: usize, len: usize) {
        self.discard_all(start, len, true);
    }

    fn discard_all(&self, start: usize, len: usize, shut: bool) -> u64 {
        let all = || {
            let (mut next, end, mut dropped) = (start, start + len, 0);
            while next < end {
                dropped += self.discard_some(&mut next, end, shut);
            }
            dropped
        };
        match self.session.store {
            Store::Memory => calm(all),
            // Its descriptor is the service thread's.
            Store::File(_) => in_service(all),
        }
    }

    /// Drops the contents of the first pages of a range, with gaps for faults between one call and
    /// the next.
    fn discard_some(&self, start: &mut usize, end: usize, shut: bool) -> u64 {
        let now = self.device_time(now_ns());
        let mut guard = self.core.lock();
        let core = &mut *guard;
        let first = core.host.lpn(*start);
        let Some(first) = first.filter(|_| matches!(core.host.backing, Backing::Private(_))) else {
            *start = end;
            return 0;
        };
        // What was never used is dropped with what comes before it: the kernel has nothing there.
        let all = (end - *start) / PAGE;
        let next_used = core.host.used.next_used(first as usize + DROPPED_TOGETHER);
        let pages = all.min(next_used - first as usize);
        // First, so that no store comes between the two.
        // SAFETY: a range of the arena, which the program gave back.
        if shut && unsafe { raw_mprotect(*start, pages * PAGE, libc::PROT_NONE) }.is_ok() {
            core.host.closed.mark(first as usize, pages, true);
        }
        let mut dropped = 0;
        for lpn in first..first + pages.min(DROPPED_TOGETHER) as u64 {
            let state = core.host.state[lpn as usize];
            let has_any = state & (MAPPED | STASHED | WRITTEN | SAMPLED) != 0;
            if has_any || core.host.is_near(lpn) {
                core.host.reset(lpn, PENDING | OFF_DEVICE, 0);
                core.discard(now, lpn);
                core.show(lpn);
                dropped += 1;
            }
        }
        if let Backing::Private(b) = &mut core.host.backing {
            b.drop_range(first, pages);
        }
        core.publish();
        *start += pages * PAGE;
        if *start < end {
            give_way(guard);
        }
        dropped
    }

    /// Takes the program's access to a range. Contents stay on the device and pages in its cache,
    /// but none stays mapped: the kernel moves nothing out of memory that nobody may write to.
    pub fn close(&self, start: usize, len: usize) -> Result<(), i32> {
        in_service(|| self.close_now(start, len))
    }

    fn close_now(&self, start: usize, len: usize) -> Result<(), i32> {
        let mut guard = self.core.lock();
        let core = &mut *guard;
        let first = core.host.lpn(start).ok_or(libc::EINVAL)?;
        core.host.ask_alone();
        for lpn in first..first + (len / PAGE) as u64 {
            if core.host.set_aside(lpn) {
                core.show(lpn);
            }
        }
        core.host.closed.mark(first as usize, len / PAGE, true);
        // SAFETY: a range of the arena, on behalf of the program that it belongs to.
        unsafe { raw_mprotect(start, len, libc::PROT_NONE) }
    }

    /// The program has access to a range again.
    pub fn opened(&self, start: usize, len: usize) {
        calm(|| {
            let mut core = self.core.lock();
            if let Some(first) = core.host.lpn(start) {
                core.host.closed.mark(first as usize, len / PAGE, false);
            }
        });
    }

    /// Takes pages off the device, contents and all, because their protection is to change.
    pub fn leave_device(&self, start: usize, len: usize) {
        in_service(|| self.leave_device_now(start, len));
    }

    fn leave_device_now(&self, start: usize, len: usize) {
        if let Err(errno) = self.hand_over_files(start, len) {
            sluice_region::fatal(format_args!("files cannot be given back: errno {errno}"));
        }
        let (mut at, end) = (start, start + len);
        while at < end {
            // Pages that have left before are not registered, and may be anything.
            let (to, is_off) = self.alike_from(at, end);
            if !is_off {
                self.leave_device_alike(at, to - at);
            }
            at = to;
        }
    }

    /// Takes memory off the device of which no page has left it, and no page is a file's.
    fn leave_device_alike(&self, start: usize, len: usize) {
        let now = self.device_time(now_ns());
        let mut core = self.core.lock();
        let Some(first) = core.host.lpn(start) else {
            return;
        };
        let mut left = 0;
        for at in 0..len / PAGE {
            let lpn = first + at as u64;
            let state = core.host.state[lpn as usize];
            if state & OFF_DEVICE == 0 {
                if state & (MAPPED | STASHED) == STASHED
                    && let Err(errno) = core.host.map(lpn, start + at * PAGE)
                {
                    let why = Told::number(errno);
                    lost_page(format_args!("a page cannot leave the device: {why}"));
                }
                if let Some(file) = core.host.file() {
                    file.unmapped(lpn);
                }
                core.discard(now, lpn);
                core.host.reset(lpn, PENDING, OFF_DEVICE);
                core.host.used.mark(lpn as usize);
                core.show(lpn);
                left += 1;
            }
        }
        let _ = core.host.uffd.unregister(start, len);
        core.live.change().add(Counter::HostPages, left);
    }

    /// Keeps a range from the children of forks to come, as the program wants. It leaves the
    /// device.
    pub fn withhold(&self, start: usize, len: usize) -> Result<(), i32> {
        in_service(|| {
            self.leave_device_now(start, len);
            self.core.lock().host.withheld.push(start..start + len);
        });
        Ok(())
    }

    /// Has the kernel move memory that has left the device, from `old`, and says where to. Outside
    /// of the arena children have it, but for what the program keeps from them. No fork comes
    /// between.
    pub fn move_away(
        &self,
        old: Range<usize>,
        new_len: usize,
        call: impl FnOnce() -> Result<usize, i32>,
    ) -> Result<usize, i32> {
        calm(|| {
            let core = self.core.lock();
            let at = call()?;
            if self.in_arena(at) {
                return Ok(at);
            }
            // SAFETY: the program's own memory, whose contents stay.
            let mut told = unsafe { raw_madvise(at, new_len, libc::MADV_DOFORK) };
            for range in &core.host.withheld {
                let (from, to) = (range.start.max(old.start), range.end.min(old.end));
                if from < to {
                    let kept = keep_from_children(at + (from - old.start), to - from);
                    told = told.and(kept);
                }
            }
            if let Err(errno) = told {
                sluice_region::fatal(format_args!(
                    "what children of forks are to have of memory that moved: errno {errno}"
                ));
            }
            Ok(at)
        })
    }

    /// Lets children have a range again.
    pub fn withhold_no_more(&self, start: usize, len: usize) {
        calm(|| {
            let withheld = &mut self.core.lock().host.withheld;
            let rests: Vec<_> = withheld
                .drain(..)
                .flat_map(|range| {
                    let (from, to) = (range.start, range.end);
                    [
                        from..to.min(start.max(from)),
                        from.max((start + len).min(to))..to,
                    ]
                })
                .filter(|rest| !rest.is_empty())
                .collect();
            *withheld = rests;
        });
    }

    /// Brings a range back under the device, empty. The caller has mapped it afresh. What the
    /// kernel refuses to register stays off the device.
    pub fn rejoin_device(&self, start: usize, len: usize) {
        in_service(|| self.rejoin_device_now(start, len));
    }

    fn rejoin_device_now(&self, start: usize, len: usize) {
        self.withhold_no_more(start, len);
        let mut core = self.core.lock();
        let Some(first) = core.host.lpn(start) else {
            return;
        };
        // SAFETY: a mapped range of the arena; advice only.
        let _ = unsafe { sluice_region::no_huge_pages(start, len) };
        if !core.host.is_off() {
            let _ = keep_from_children(start, len);
        }
        let mut place = 0;
        if core.host.uffd.register_private(start, len).is_err() {
            // Of several mappings the first may be registered.
            let _ = core.host.uffd.unregister(start, len);
            place = OFF_DEVICE;
        }
        let mut left = 0;
        for lpn in first..first + (len / PAGE) as u64 {
            let state = &mut core.host.state[lpn as usize];
            left += u64::from(*state & OFF_DEVICE < place);
            *state = *state & PENDING | place;
            if place != 0 {
                core.host.used.mark(lpn as usize);
                core.show(lpn);
            }
        }
        core.live.change().add(Counter::HostPages, left);
        if let Some(node) = self.session.settings.params.numa_node {
            let _ = sluice_region::bind_to_node(start, len, node);
        }
    }

    /// Whether any page of a range has left the device.
    pub fn any_off_device(&self, start: usize, len: usize) -> bool {
        calm(|| {
            let core = self.core.lock();
            let Some(first) = core.host.lpn(start) else {
                return false;
            };
            let range = first as usize..first as usize + len / PAGE;
            core.host.state[range].iter().any(|s| s & OFF_DEVICE != 0)
        })
    }

    /// The first page of a range of addresses that the device serves: one that has not left it, and
    /// is not closed.
    pub fn next_served(&self, start: usize, end: usize) -> Option<usize> {
        let found = self.find_pages(start, end, false, Host::serves);
        found.map(|pages| pages.start)
    }

    /// Where the contents of a page are that has to come from a file. There may be none: the file
    /// may end before it.
    pub fn to_come_from(&self, page: usize) -> Option<usize> {
        if self.session.kinds.files.is_empty() {
            return None;
        }
        calm(|| {
            let core = self.core.lock();
            let lpn = core.host.lpn(page)?;
            let Backing::Private(backing) = &core.host.backing else {
                return None;
            };
            let has_own = core.host.state[lpn as usize] & (MAPPED | STASHED) != 0;
            backing.sources.view_of(lpn).filter(|_| !has_own)
        })
    }

    /// The first bytes in a row, of a range of addresses, that the device serves. Files that may
    /// only be read are not among them where somebody is `to_write`.
    pub fn served_run(&self, start: usize, end: usize, to_write: bool) -> Option<Range<usize>> {
        let pages = self.find_pages(start, end, true, |host, lpn| {
            host.serves(lpn) && !(to_write && host.is_sealed(lpn))
        })?;
        Some(pages.start.max(start)..pages.end)
    }

    /// The first page of a range of addresses that is one, and those in a row behind it.
    fn find_pages(
        &self,
        start: usize,
        end: usize,
        in_a_row: bool,
        is_one: impl Fn(&Host, u64) -> bool,
    ) -> Option<Range<usize>> {
        let (mut first, mut end) = (start & !(PAGE - 1), end);
        if self.session.place == OnDevice::Heap {
            first = first.max(self.arena.0);
            end = end.min(self.arena.0 + self.arena.1);
        }
        if first >= end {
            return None;
        }
        calm(|| {
            let core = self.core.lock();
            let host = &core.host;
            let is_one = |page: &usize| host.lpn(*page).is_some_and(|lpn| is_one(host, lpn));
            let mut pages = (first..end).step_by(PAGE);
            let first = pages.find(is_one)?;
            let behind = match in_a_row {
                true => pages.find(|page| !is_one(page)),
                false => None,
            };
            Some(first..behind.unwrap_or(end))
        })
    }

    /// The device file's identity, with `--place dax`.
    pub fn dax_identity(&self) -> Option<(u64, u64)> {
        calm(|| match &self.core.lock().host.backing {
            Backing::Shared(b) => Some(b.identity()),
            Backing::Private(_) => None,
        })
    }

    /// Puts a fresh shared mapping of the device file under the device.
    pub fn add_window(&self, start: usize, len: usize, offset: u64) -> Result<(), i32> {
        in_service(|| self.add_window_now(start, len, offset))
    }

    fn add_window_now(&self, start: usize, len: usize, offset: u64) -> Result<(), i32> {
        let mut guard = self.core.lock();
        let core = &mut *guard;
        let first = offset / PAGE as u64;
        if first + (len / PAGE) as u64 > core.host.state.len() as u64 {
            return Err(libc::ENOSPC);
        }
        if core.host.is_off() {
            return Ok(());
        }
        Engine::reach(self.session.trap, start, len);
        match &mut core.host.backing {
            Backing::Shared(b) => b.add(&core.host.uffd, start, len, first),
            Backing::Private(_) => Ok(()),
        }
    }

    /// Forgets mappings of the device file that are about to go.
    pub fn cut_windows(&self, start: usize, len: usize) -> Result<(), i32> {
        match self.session.place {
            OnDevice::Heap => Ok(()),
            OnDevice::Dax(_) => in_service(|| self.cut_windows_now(start, len)),
        }
    }

    fn cut_windows_now(&self, start: usize, len: usize) -> Result<(), i32> {
        let mut guard = self.core.lock();
        let host = &mut guard.host;
        let state = &mut host.state;
        match &mut host.backing {
            Backing::Shared(b) => b.cut(start, len, &host.pagemap, |lpn| {
                if let Some(s) = state.get_mut(lpn as usize) {
                    *s |= WRITTEN;
                }
            }),
            Backing::Private(_) => Ok(()),
        }
    }
}

impl Host {
    /// Whether the device serves accesses to a page.
    fn serves(&self, lpn: u64) -> bool {
        self.state[lpn as usize] & OFF_DEVICE == 0 && !self.closed.has(lpn as usize)
    }

    /// Whether a page is of a file that the program may only read.
    fn is_sealed(&self, lpn: u64) -> bool {
        match &self.backing {
            Backing::Private(b) => b.sources.sealed.has(lpn as usize),
            Backing::Shared(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rig;
    use sluice_region::{PAGE, Uffd, UffdKind, raw_mmap};

    /// It would be off the device for ever, however often the program mapped it afresh.
    #[test]
    fn a_range_that_is_mapped_afresh_is_the_devices_again() {
        let engine = rig::engine(&[]);
        let (first, len) = (rig::page(engine, 1), 2 * PAGE);
        for lpn in 0..4 {
            rig::touch(engine, 1 + lpn, lpn, true);
            rig::store(engine, lpn, 10 + lpn);
        }
        engine.leave_device(first, len);
        assert!(engine.any_off_device(first, len));
        assert_eq!((rig::load(engine, 1), rig::load(engine, 2)), (11, 12));
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: pages of the arena, which nobody else uses.
        unsafe { raw_mmap(first, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) }.unwrap();
        engine.rejoin_device(first, len);
        assert!(!engine.any_off_device(first, len));
        for (lpn, value) in [(1, 0), (2, 0)] {
            rig::touch(engine, 10 + lpn, lpn, false);
            assert_eq!(rig::load(engine, lpn), value, "empty");
        }
        assert_eq!(rig::load(engine, 3), 13, "a neighbour");
    }

    /// The device took its pages for its own, and nobody served them.
    #[test]
    fn a_range_that_the_kernel_does_not_register_stays_off_the_device() {
        let engine = rig::engine(&[]);
        let (first, len) = (rig::page(engine, 1), 2 * PAGE);
        engine.leave_device(first, 2 * len);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: pages of the arena, which nobody else uses.
        unsafe { raw_mmap(first, 2 * len, prot, flags, -1, 0) }.unwrap();
        let of_another = Uffd::open(UffdKind::Signal).expect("a descriptor");
        of_another
            .register_private(first + PAGE, PAGE)
            .expect("free memory");
        engine.rejoin_device(first, len);
        assert_eq!(engine.alike_from(first, first + len), (first + len, true));
        drop(of_another);
        for lpn in [1, 2] {
            // SAFETY: memory of the arena that is mapped, and of no device.
            unsafe { (rig::page(engine, lpn) as *mut u64).write_volatile(lpn) };
            assert_eq!(rig::load(engine, lpn), lpn);
        }
        engine.rejoin_device(first, len);
        assert!(!engine.any_off_device(first, len));
    }
}
