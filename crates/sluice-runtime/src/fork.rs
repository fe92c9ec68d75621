//! Fork: the parent stands still under its own lock, and the child takes up a copy of the device.
//!
//! Other threads of the parent go on meanwhile. What they store until the child exists is in the
//! child or not, as without a device; only the kernel's notes of written pages are not the child's.

pub mod off_device;

use crate::clock::{self, now_ns};
use crate::control::start as start_control;
use crate::engine::state::Core;
use crate::engine::{Engine, kind};
use crate::faults::active;
use crate::faults::handler::start as start_handlers;
use crate::host::{Backing, MAPPED, OFF_DEVICE, PENDING, STASHED, UNSURE};
use crate::measures::stats::Identity;
use crate::memory::private::keep_from_children;
use crate::process::limits::{with_own_files, with_own_memory};
use crate::process::{descriptors, root, witness};
use crate::session::error::{StartError, os};
use crate::session::files;
use crate::session::{Session, Store, Trap};
use crate::shmem::client as shmem;
use crate::threads::calm;
use crate::threads::{hired, thread};
use core::ops::Range;
use core::sync::atomic::Ordering::*;
use sluice_abi::Counter;
use sluice_region::{PAGE, Pagemap, Uffd, cpu_now, dont_need, raw_mmap};

impl Engine {
    /// Before a fork: takes the locks, and lets the child have the heap.
    pub fn before_fork(&self) {
        // No work of another thread is under way at the service thread.
        thread::before_fork();
        shmem::before_fork();
        // Two threads may fork at once; the second waits here for the first.
        let own = sluice_region::thread_id();
        while self
            .forking
            .compare_exchange(0, own, AcqRel, Relaxed)
            .is_err()
        {
            core::hint::spin_loop();
        }
        self.core.acquire();
        clock::before_fork();
        // SAFETY: the lock is held by this thread, without a guard, until `after_fork_*`.
        let core = unsafe { self.core.get_held() };
        core.host.progress.all_stay = true;
        if let Backing::Private(b) = &core.host.backing {
            match b.give_to_children() {
                // Where the program has kept memory from this process, there is none.
                Ok(()) | Err(libc::ENOMEM) => {}
                Err(errno) => sluice_region::fatal(format_args!(
                    "the memory of a fork's child: errno {errno} of madvise"
                )),
            }
        }
        if let Some(file) = core.host.file() {
            file.before_fork(match thread::has_service() {
                true => thread::service_thread(),
                false => own,
            });
        }
        for range in &core.host.withheld {
            // What cannot be kept from a child was not there.
            let _ = keep_from_children(range.start, range.len());
        }
    }

    /// In the parent: goes on, also if there is no child. Pages that could not leave meanwhile do
    /// at the next trap.
    pub fn after_fork_in_parent(&self, has_child: bool) {
        self.finish_serving();
        // SAFETY: as in `before_fork`.
        let core = unsafe { self.core.get_held() };
        core.host.progress.all_stay = false;
        core.live.change().add(Counter::Forks, has_child.into());
        core.keep_from_children();
        if let Some(file) = core.host.file() {
            file.after_fork_in_parent();
        }
        self.core.release();
        self.forking.store(0, Release);
        shmem::after_fork_in_parent();
        thread::after_fork_in_parent();
    }

    /// In the child: threads, descriptors and statistics of its own over the copied memory.
    /// The child's device starts as an exact copy of its parent's. Says whether it has one.
    pub fn after_fork_in_child(&'static self) -> Result<bool, StartError> {
        clock::after_fork_in_child();
        calm::after_fork_in_child();
        active::after_fork_in_child();
        witness::after_fork_in_child();
        thread::after_fork_in_child();
        hired::after_fork_in_child();
        // SAFETY: the forking thread holds the lock.
        let core = unsafe { self.core.get_held() };
        core.host.progress.all_stay = false;
        if core.host.is_off() {
            self.go_on_off_device();
            return Ok(false);
        }
        let cpu = cpu_now();
        let has_device = match with_own_memory(|| with_own_files(|| self.begin_in_child(cpu))) {
            // Not even the service thread could begin, and nothing has changed.
            Err(e) if self.has_no_service() && e.is_out_of_reach() && self.can_be_left() => false,
            begun => begun?,
        };
        if !has_device {
            calm::calm(|| with_own_memory(|| self.leave_parents_device()))?;
        }
        Ok(has_device)
    }

    /// Whether there should be a service thread, and there is not.
    fn has_no_service(&self) -> bool {
        self.session.trap == Trap::Event && !thread::has_service()
    }

    fn begin_in_child(&'static self, cpu: usize) -> Result<bool, StartError> {
        match self.session.trap {
            // The service thread is at the old root.
            Trap::Event => {
                // SAFETY: the forking thread holds the lock.
                let file = unsafe { self.core.get_held() }.host.file();
                let opened = file.map(|file| file.opened());
                let kept = opened.as_ref().map_or(&[][..], |opened| opened.numbers());
                let begun = thread::start_service_for(kept, || self.take_up_device(cpu));
                if let Some(opened) = opened {
                    opened.close();
                }
                begun.map_err(os("starting the service thread"))?
            }
            Trap::Signal => calm::calm(|| root::visit(|| self.take_up_device(cpu))),
        }
    }

    /// False if all is as it was, since the child cannot open what it needs.
    fn take_up_device(&'static self, cpu: usize) -> Result<bool, StartError> {
        // SAFETY: the forking thread holds the lock, and waits for this.
        if !unsafe { self.core.get_held() }.renew(self)? {
            return Ok(false);
        }
        self.core.release();
        self.forking.store(0, Release);
        let left = shmem::after_fork_in_child(&self.session.dir);
        self.count(Counter::SharedBytes, left as u64);
        self.start_threads(cpu)?;
        Ok(true)
    }

    /// Starts the handlers of event mode, the first on a CPU, and the server of the control ring;
    /// all of them or none.
    pub fn start_threads(&'static self, cpu: usize) -> Result<(), StartError> {
        thread::in_service(|| {
            self.session.hire()?;
            if self.session.trap == Trap::Event {
                start_handlers(self, cpu).map_err(os("starting a thread of the runtime"))?;
            }
            start_control(self).map_err(os("starting a thread of the runtime"))
        })
    }
}

impl Session {
    /// Has the threads wait that [`Engine::start_threads`] needs. What is to be made for the engine
    /// comes after it: without them there is none.
    pub fn hire(&self) -> Result<(), StartError> {
        let hired = hired::hire(self.hired_threads(), || {
            descriptors::make_room(self.trap == Trap::Signal);
        });
        hired.map_err(os("starting a thread of the runtime"))
    }
}

impl Core {
    fn keep_from_children(&self) {
        if let Backing::Private(b) = &self.host.backing
            && !self.host.is_off()
        {
            // What it was before, so it is possible.
            let _ = b.keep_from_children();
        }
    }

    /// Registers all memory of the device with another descriptor than before.
    fn register(&mut self, engine: &Engine, uffd: &Uffd) -> Result<(), StartError> {
        match &mut self.host.backing {
            Backing::Private(b) => b.register_limbo(uffd).map_err(os("registering a page"))?,
            Backing::Shared(b) => b.register(uffd).map_err(os("registering the file"))?,
        }
        if engine.arena.1 > 0 {
            let taken = self.take_over(uffd, engine.arena);
            taken.map_err(os("registering the heap"))?;
        }
        let registered = engine.calibration.register(uffd);
        registered.map_err(os("registering a page"))
    }

    /// Serves by other descriptors than before, with the first of which all memory is registered.
    /// No handler exists yet.
    fn use_descriptors(
        &mut self,
        engine: &Engine,
        uffd: Uffd,
        pagemap: Pagemap,
    ) -> Result<(), StartError> {
        let session = &engine.session;
        let is_signal = session.trap == Trap::Signal;
        self.host
            .replace_descriptors(uffd, pagemap, session.first_threads() as u64, is_signal)
            .map_err(os("opening /proc/self/task"))?;
        if is_signal {
            descriptors::forget_all_but(root::number());
            let guarded = self.host.each_descriptor(descriptors::guard);
            guarded.map_err(os("moving a descriptor"))?;
        }
        // SAFETY: no handler exists yet that reads it.
        unsafe { *engine.events.get() = self.host.uffd.events() };
        self.forget_kernels_notes();
        self.drop_what_nobody_brought(engine.arena.0);
        (self.waiting, self.ahead) = (0, 0);
        Ok(())
    }

    /// Goes on in the same process by another descriptor, after all of the runtime's threads were
    /// gone for a moment.
    pub fn resume(&mut self, engine: &Engine, uffd: Uffd) -> Result<(), StartError> {
        self.register(engine, &uffd)?;
        if let Some(file) = self.host.file() {
            file.after_move(engine.session.io());
        }
        self.use_descriptors(engine, uffd, open_pagemap()?)?;
        // Descriptors were closed, and with them the leases.
        self.give_leased_back(engine);
        let left = shmem::resume(&engine.session.dir);
        self.live.change().add(Counter::SharedBytes, left as u64);
        engine.session.hold.renew(&engine.session.dir)
    }

    /// Registers what the arena has on the device.
    fn take_over(&self, uffd: &Uffd, (base, len): (usize, usize)) -> Result<(), i32> {
        let register = |pages: Range<usize>| {
            uffd.register_private(base + pages.start * PAGE, pages.len() * PAGE)
        };
        // What is off the device is the kernel's: files that the program has mapped there, and
        // stacks for signals, to which the kernel writes without waiting for a page.
        self.each_run_on_device(0..len / PAGE, self.host.used.runs(), register)
    }

    /// Calls `each` with each run of pages that is on the device. Only in `used` may there be some
    /// that are not.
    fn each_run_on_device(
        &self,
        all: Range<usize>,
        used: impl Iterator<Item = Range<usize>>,
        mut each: impl FnMut(Range<usize>) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let mut first = all.start;
        for page in used.flatten() {
            if self.host.state[page] & OFF_DEVICE != 0 {
                if first < page {
                    each(first..page)?;
                }
                first = page + 1;
            }
        }
        if first < all.end {
            each(first..all.end)?;
        }
        Ok(())
    }

    /// Opens for the child what its parent has, and keeps none of the parent's. False if that is
    /// out of its reach, and nothing has changed.
    fn renew(&mut self, engine: &Engine) -> Result<bool, StartError> {
        match self.mind_holes().and_then(|()| self.open_own(engine)) {
            Err(e) if e.is_out_of_reach() && engine.can_be_left() => {
                hired::dismiss();
                Ok(false)
            }
            own => self.go_on_with(engine, own?).map(|()| true),
        }
    }

    /// Opens all of it, and has threads wait, before anything changes.
    fn open_own(&self, engine: &Engine) -> Result<Own, StartError> {
        let session = &engine.session;
        let uffd = Uffd::open(kind(session.trap)).map_err(StartError::Descriptor)?;
        let pagemap = open_pagemap()?;
        session.hire()?;
        let made = files::create(session, self.identity_of_child(engine))?;
        Ok(Own {
            uffd,
            pagemap,
            made,
        })
    }

    /// What a child's files say of it.
    pub fn identity_of_child(&self, engine: &Engine) -> Identity {
        Identity {
            pages: self.device.pages(),
            heap_at: engine.arena.0,
            started_ns: now_ns(),
            forked: true,
        }
    }

    fn go_on_with(&mut self, engine: &Engine, own: Own) -> Result<(), StartError> {
        let session = &engine.session;
        self.register(engine, &own.uffd)?;
        self.keep_from_children();
        self.take_up_file(session)?;
        self.use_descriptors(engine, own.uffd, own.pagemap)?;
        engine.lock_what_comes(false);
        self.forget_hints_of_parent();
        self.inherited = *self.device.stats();
        self.recorder = None;
        self.take_files(own.made);
        if session.trap == Trap::Signal {
            session.hold.guard().map_err(os("moving a descriptor"))?;
        }
        let hit_ns = engine.block().get(Counter::HitNs);
        engine.set_block(self.live.block());
        self.host.residency = self.live.residency();
        self.host.forget_waits();
        // A lease is the parent's. Until the program goes on in the child, nobody reads its memory.
        self.give_leased_back(engine);
        let used = self.host.used.runs().flatten();
        used.for_each(|lpn| self.show(lpn as u64));
        let block = self.live.change();
        block.set(Counter::EntryNs, engine.entry_ns());
        block.set(Counter::ExitNs, engine.exit_ns());
        block.set(Counter::HitNs, hit_ns);
        Ok(())
    }

    /// Files whose leases are gone are the kernel's from now on.
    fn give_leased_back(&mut self, engine: &Engine) {
        if let Some(sources) = self.host.sources() {
            sources.forget_leases();
        }
        self.hand_over_leased(engine.device_time(now_ns()));
    }

    /// Reads evicted pages from the parent's files, and keeps its own in another.
    fn take_up_file(&mut self, session: &Session) -> Result<(), StartError> {
        let (Some(file), Store::File(folder)) = (self.host.file(), &session.store) else {
            return Ok(());
        };
        let has_parents = session.trap == Trap::Signal;
        file.go_on_in_child(session.io(), has_parents)
            .map_err(|errno| StartError::Store {
                folder: folder.clone(),
                errno,
            })
    }

    /// Puts new files where the parent's were. Elsewhere they might lie where the program has kept
    /// memory from its children, and expects nothing.
    fn take_files(&mut self, made: files::Made) {
        let old = core::mem::replace(&mut self.live, made.live);
        self.live.take_place_of(old);
        let old = core::mem::replace(&mut self.ring, made.ring);
        if let (Some(ring), Some(old)) = (&mut self.ring, old) {
            ring.take_place_of(old);
        }
        if let (Some(profile), Some(new)) = (&mut self.profile, made.profile) {
            profile.go_on_in(new, self.host.used.runs());
        }
    }

    /// Where the program kept memory from its children, the kernel must not map anything that would
    /// be taken for the device's.
    fn mind_holes(&mut self) -> Result<(), StartError> {
        if let Backing::Shared(backing) = &mut self.host.backing {
            let forgotten = backing.forget_unmapped();
            return forgotten.map_err(os("reading /proc/self/maps"));
        }
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        for range in &self.host.withheld {
            // SAFETY: the kernel maps nothing where something is.
            let _ = unsafe { raw_mmap(range.start, range.len(), libc::PROT_NONE, flags, -1, 0) };
        }
        Ok(())
    }

    /// Until now nothing served this process's faults. A tracer or another process that looked at a
    /// missing page meanwhile has put zeros there, which are not the page.
    fn drop_what_nobody_brought(&self, base: usize) {
        let host = &self.host;
        let Backing::Private(backing) = &host.backing else {
            return;
        };
        let is_file = |page| {
            let view = backing
                .lpn(page)
                .and_then(|lpn| backing.sources.view_of(lpn));
            view.is_some()
        };
        for run in host.used.runs() {
            let (from, to) = (base + run.start * PAGE, base + run.end * PAGE);
            host.pagemap.each_present(from, to, |page| {
                let state = host.state[(page - base) / PAGE];
                let is_elsewhere = state & STASHED != 0 || is_file(page);
                if state & (MAPPED | OFF_DEVICE) == 0 && is_elsewhere {
                    // SAFETY: the page's contents are in the stash, or in its file.
                    let _ = unsafe { dont_need(page, PAGE) };
                }
            });
        }
    }

    /// Nobody waits any more. Of what is mapped, the kernel's notes went with the descriptor
    /// before.
    fn forget_kernels_notes(&mut self) {
        let is_private = matches!(self.host.backing, Backing::Private(_));
        for run in self.host.used.runs() {
            for state in &mut self.host.state[run] {
                *state &= !PENDING;
                if is_private && *state & MAPPED != 0 {
                    *state |= UNSURE;
                }
            }
        }
    }
}

/// What a child has of its own: its descriptors, and its files of the session.
struct Own {
    uffd: Uffd,
    pagemap: Pagemap,
    made: files::Made,
}

fn open_pagemap() -> Result<Pagemap, StartError> {
    Pagemap::open().map_err(os("opening /proc/self/pagemap"))
}

#[cfg(test)]
mod tests {
    use crate::host::OFF_DEVICE;
    use crate::rig;
    use core::ops::Range;

    /// The runs that a child registers of eight pages, of which these are off the device.
    fn runs(off: &[usize]) -> Vec<Range<usize>> {
        let engine = rig::engine(&[]);
        let mut core = engine.core();
        for at in off {
            core.host.state[*at] |= OFF_DEVICE;
        }
        let mut found = Vec::new();
        let used = [0..3, 4..8].into_iter();
        let each = core.each_run_on_device(0..8, used, |run| {
            found.push(run);
            Ok(())
        });
        each.expect("nothing that fails");
        found
    }

    /// The kernel refuses an empty range, and with it the child.
    #[test]
    fn a_child_registers_what_is_on_the_device_and_nothing_that_is_empty() {
        let all = 0..8;
        assert_eq!(runs(&[]), [all]);
        assert_eq!(runs(&[2, 5]), [0..2, 3..5, 6..8]);
        assert_eq!(runs(&[0, 1, 4, 7]), [2..4, 5..7]);
        assert_eq!(runs(&[6, 7]).last(), Some(&(0..6)));
    }
}
