//! Files that the program maps: how their pages come under the device, how their protection
//! changes, and how they leave it. Called by hooks, off the fault path.

use crate::clock::{now_ns, sleep_until};
use crate::engine::Engine;
use crate::engine::state::Core;
use crate::engine::turn::{HOLD_NS, Unasked};
use crate::host::{MAPPED, PENDING, STASHED, WRITTEN};
use crate::memory::sources::FileKind;
use crate::threads::calm::calm;
use crate::threads::thread::{self, has_service, in_service};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use sluice_model::Command;
use sluice_region::{Lease, PAGE, raw_mprotect, unmap_view};
use sluice_units::{Lpn, Ps};

/// A page whose thread waits for its moment stays mapped. So often is it tried again ..
const TRIES: u32 = 50;
/// .. after so long.
const AGAIN_NS: u64 = 100_000;

/// The device whose leases the service thread looks at.
static LEASED: AtomicPtr<Engine> = AtomicPtr::new(core::ptr::null_mut());

/// Whether there has ever been a file on the device: most programs have none, and need not look.
static ANY: AtomicBool = AtomicBool::new(false);

/// Part of a file that the program maps.
#[derive(Clone, Copy, Debug)]
pub struct FilePart {
    /// The runtime's mapping of the same part (`sluice_region::map_view`), which is the device's
    /// from then on.
    pub view: usize,
    /// The program's descriptor of it.
    pub fd: i32,
    /// The program sees what others write to the file.
    pub is_shared: bool,
    /// The program can write to its memory.
    pub is_writable: bool,
}

impl Engine {
    /// Has whole pages of the arena, which the program has just taken, begin as part of a file.
    ///
    /// # Errors
    /// Why there is no lease for a shared part, or the kernel's. The view is the caller's then.
    pub fn place_file(&'static self, start: usize, len: usize, part: FilePart) -> Result<(), i32> {
        let thread = sluice_region::thread_id();
        in_service(|| {
            let lease = match part.is_shared {
                true if !has_service() => return Err(libc::ENOTSUP),
                true => Some(Lease::take(thread, part.fd)?),
                false => None,
            };
            let is_leased = lease.is_some();
            let placed = self.place_file_now(start, len, part, lease);
            if is_leased && placed.is_ok() {
                LEASED.store(core::ptr::from_ref(self).cast_mut(), Release);
                thread::set_watch(watch_leases);
            }
            placed
        })?;
        self.fill_flash(start, len);
        Ok(())
    }

    fn place_file_now(
        &self,
        start: usize,
        len: usize,
        part: FilePart,
        lease: Option<Lease>,
    ) -> Result<(), i32> {
        ANY.store(true, Release);
        let mut core = self.core();
        let (lpn, pages) = (core.host.lpn(start).ok_or(libc::EINVAL)?, len / PAGE);
        let sources = core.host.sources().ok_or(libc::EINVAL)?;
        if !part.is_writable {
            // SAFETY: pages of the arena that nobody knows of yet.
            unsafe { raw_mprotect(start, len, libc::PROT_READ)? };
            sources.sealed.mark(lpn as usize, pages, true);
        }
        sources.add(lpn, pages as u64, part.view, lease);
        Ok(())
    }

    /// The file lies in flash before it is mapped. Where flash has nothing, because memory was
    /// given back that had these pages before, it is written now.
    fn fill_flash(&self, start: usize, len: usize) {
        let Some(all) = self.span(start, len) else {
            return;
        };
        let mut next = all.start;
        while next < all.end {
            calm(|| {
                let began_ns = now_ns();
                let mut core = Unasked::new(self);
                while next < all.end && now_ns() <= began_ns + HOLD_NS {
                    let end = all.end.min(next + 64);
                    for lpn in (next..end).map(Lpn::of) {
                        if !core.device.is_in_flash(lpn) {
                            let now = self.device_time(now_ns());
                            core.device.write_back(now, lpn);
                        }
                    }
                    next = end;
                }
                core.publish();
                core.give_way();
            });
        }
    }

    /// How far a range of whole pages of the arena is alike from its start on: the end of that
    /// part, and whether it begins as a file's.
    pub fn file_from(&self, start: usize, end: usize) -> (usize, Option<FileKind>) {
        if !ANY.load(Acquire) {
            return (end, None);
        }
        let alike = calm(|| {
            let mut core = self.core();
            let first = core.host.lpn(start)?;
            let sources = core.host.sources()?;
            let pages = ((end - start) / PAGE) as u64;
            let (to, kind) = sources.alike_from(first, first + pages);
            Some((start + (to - first) as usize * PAGE, kind))
        });
        alike.unwrap_or((end, None))
    }

    /// Whether any page of a range begins as a file's.
    pub fn has_file(&self, start: usize, len: usize) -> bool {
        let (to, kind) = self.file_from(start, start + len);
        kind.is_some() || to < start + len
    }

    /// Takes or gives the right to write to pages that are files'. Contents stay.
    pub fn seal(&self, start: usize, len: usize, is_sealed: bool) -> Result<(), i32> {
        for _ in 0..TRIES {
            if !in_service(|| self.set_aside_all(start, len, None))? {
                break;
            }
            calm(|| sleep_until(now_ns() + AGAIN_NS));
        }
        let prot = match is_sealed {
            true => libc::PROT_READ,
            false => libc::PROT_READ | libc::PROT_WRITE,
        };
        in_service(|| self.set_aside_all(start, len, Some((prot, is_sealed)))).map(drop)
    }

    /// Unmaps pages, and then perhaps changes their protection before any can come back. Says
    /// whether some are still mapped.
    fn set_aside_all(
        &self,
        start: usize,
        len: usize,
        then: Option<(i32, bool)>,
    ) -> Result<bool, i32> {
        let mut core = self.core();
        let first = core.host.lpn(start).ok_or(libc::EINVAL)?;
        core.host.ask_alone();
        let mut any_left = false;
        for lpn in first..first + (len / PAGE) as u64 {
            if core.host.set_aside(lpn) {
                core.show(lpn);
            }
            any_left |= core.host.state[lpn as usize] & MAPPED != 0;
        }
        let Some((prot, is_sealed)) = then else {
            return Ok(any_left);
        };
        // SAFETY: a range of the arena, on behalf of the program that it belongs to.
        unsafe { raw_mprotect(start, len, prot)? };
        core.host.closed.mark(first as usize, len / PAGE, false);
        for lpn in first as usize..first as usize + len / PAGE {
            // What is still mapped may have been written, and must be moved when it leaves.
            let is_mapped = core.host.state[lpn] & MAPPED != 0;
            if let Some(sources) = core.host.sources() {
                sources.sealed.mark(lpn, 1, is_sealed && !is_mapped);
            }
        }
        Ok(any_left)
    }

    /// Makes pages of files that the program gives back ordinary ones. They have contents still.
    pub fn cut_files(&self, start: usize, len: usize) -> Result<(), i32> {
        match self.has_file(start, len) {
            true => {
                self.evict_unwritten(start, len);
                in_service(|| self.cut_files_now(start, len))
            }
            false => Ok(()),
        }
    }

    /// Drops what the program wrote to pages of files: they begin anew. Says how many had contents
    /// or a place in the cache.
    pub fn drop_written(&self, start: usize, len: usize) -> u64 {
        let dropped = self.evict_unwritten(start, len) + self.discard(start, len);
        self.fill_flash(start, len);
        dropped
    }

    /// Has pages leave the cache that were not written. Flash keeps what it has of them. Says how
    /// many there were.
    fn evict_unwritten(&self, start: usize, len: usize) -> u64 {
        let Some(all) = self.span(start, len) else {
            return 0;
        };
        let (mut next, mut gone) = (all.start, 0);
        while next < all.end {
            in_service(|| {
                let began_ns = now_ns();
                let mut core = Unasked::new(self);
                while next < all.end && now_ns() <= began_ns + HOLD_NS {
                    let from = core.host.used.next_used(next as usize) as u64;
                    let to = all.end.min(from + 16);
                    gone += core.evict_unwritten(self.device_time(now_ns()), from..to);
                    next = to.max(next + 1);
                }
                core.publish();
                core.give_way();
            });
        }
        gone
    }

    fn cut_files_now(&self, start: usize, len: usize) -> Result<(), i32> {
        self.each_file_part(start, len, |core, _, pages| {
            let mut next = pages.start;
            while next < pages.end {
                let (end, is_off, prot) = core.host.protected_alike(next, pages.end);
                // What the kernel has is replaced as a whole.
                if !is_off && prot == libc::PROT_READ {
                    core.host.unseal(next..end)?;
                }
                next = end;
            }
            if let Some(sources) = core.host.sources() {
                let (first, count) = (pages.start as usize, (pages.end - pages.start) as usize);
                sources.sealed.mark(first, count, false);
                sources.cut(pages);
            }
            Ok(())
        })
    }

    /// Gives what a range has of files back to the kernel, with all that the program wrote there.
    pub(crate) fn hand_over_files(&self, start: usize, len: usize) -> Result<(), i32> {
        in_service(|| {
            self.each_file_part(start, len, |core, now, pages| {
                core.hand_over(now, pages);
                Ok(())
            })
        })
    }

    fn each_file_part(
        &self,
        start: usize,
        len: usize,
        mut each: impl FnMut(&mut Core, Ps, Range<u64>) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let (mut at, end) = (start, start + len);
        while at < end {
            let (to, kind) = self.file_from(at, end);
            if kind.is_some() {
                let mut core = self.core();
                core.host.alone = false;
                let first = core.host.lpn(at).ok_or(libc::EINVAL)?;
                let pages = first..first + ((to - at) / PAGE) as u64;
                each(&mut core, self.device_time(now_ns()), pages)?;
                core.publish();
            }
            at = to;
        }
        Ok(())
    }
}

impl Core {
    fn evict_unwritten(&mut self, now: Ps, pages: Range<u64>) -> u64 {
        let mut gone = 0;
        for lpn in pages.clone() {
            let page = Lpn::of(lpn);
            let is_clean = self.host.state[lpn as usize] & (PENDING | STASHED | WRITTEN) == 0;
            if is_clean && self.device.is_cached(page) && !self.device.is_pinned(page) {
                let evict = Command::Evict(page);
                gone += u64::from(self.device.command(now, evict, &mut self.host).is_ok());
            }
        }
        self.carry_out(now);
        pages.for_each(|lpn| self.show(lpn));
        gone
    }
}

/// Gives back to the kernel what somebody waits to write to. By the service thread, now and then.
fn watch_leases() {
    // SAFETY: engines are never freed.
    let Some(engine) = (unsafe { LEASED.load(Acquire).as_ref() }) else {
        return;
    };
    let mut core = engine.core();
    core.host.alone = false;
    let now = engine.device_time(now_ns());
    while let Some(pages) = core.host.sources().and_then(|sources| sources.wanted()) {
        core.hand_over(now, pages);
    }
    core.publish();
    if core
        .host
        .sources()
        .is_none_or(|sources| !sources.has_leases())
    {
        thread::end_watch();
    }
}

/// Gives up a view that did not come under the device.
pub fn drop_view(view: usize, len: usize) {
    // SAFETY: made for the caller, who says that nobody reads it.
    unsafe { unmap_view(view, len) };
}
