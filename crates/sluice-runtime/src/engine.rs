//! From a fault to a mapped page: one device model, one lock, one answer.

use crate::calibrate::{Calibration, Cost, MapTime};
use crate::clock::now_ns;
use crate::files;
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, PENDING, SAMPLED, STASHED, WRITTEN};
use crate::lock::{Guard, Lock};
use crate::private::PrivateBacking;
use crate::record::Recorder;
use crate::sample::Sampler;
use crate::session::{Place, Session, Trap};
use crate::shared::SharedBacking;
use crate::stats::Live;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use sluice_abi::Counter;
use sluice_model::{Device, Hint, Op, Request, ServedBy, Stats};
use sluice_region::{PAGE, Pagemap, Uffd, UffdKind};
use sluice_units::{Lpn, Ps};

/// A miss that ends later than this after its deadline is late.
const LATE_AFTER_NS: u64 = 1_000;

/// A wait longer than this has room for freeing evicted pages.
const TIDY_ABOVE_NS: u64 = 20_000;

/// Why a runtime cannot start.
#[derive(Debug)]
pub struct StartError(pub String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What to do about a fault.
#[derive(Clone, Copy, Debug)]
pub enum Plan {
    /// The address is not on the device.
    Outside,
    /// Nothing more: the page is mapped.
    Done,
    /// Call [`Engine::fill`] once the deadline has come.
    Wait(Wait),
}

/// A page on its way.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Faulting page.
    pub addr: usize,
    lpn: u64,
    access_ns: u64,
    modelled_ns: u64,
    /// When to call [`Engine::fill`], so that the program goes on at the modelled moment.
    pub act_ns: u64,
    /// The model says the delay is long: the CPU may be given away meanwhile.
    pub may_sleep: bool,
    counted: bool,
}

impl Wait {
    /// A page that is due at once and that nobody counts.
    fn now(addr: usize) -> Wait {
        let (lpn, access_ns, modelled_ns, act_ns) = (0, 0, 0, 0);
        Wait {
            addr,
            lpn,
            access_ns,
            modelled_ns,
            act_ns,
            may_sleep: false,
            counted: false,
        }
    }
}

/// What the lock protects.
pub struct Core {
    device: Device,
    /// Pages and mappings.
    pub host: Host,
    live: Live,
    recorder: Option<Recorder>,
    inherited: Stats,
    /// Threads that wait for a page.
    waiting: u32,
    /// When the page mapped last arrived, as the model says, ns.
    arrived_ns: u64,
}

/// A running device.
pub struct Engine {
    /// The session it was started from.
    pub session: Session,
    core: Lock<Core>,
    /// A second handle to the descriptor's number, for reading events without the lock.
    events: UnsafeCell<i32>,
    calibration: Calibration,
    entry_ns: AtomicU64,
    /// Exit without mapping the page; `map_time` adds that.
    leave_ns: AtomicU64,
    map_time: MapTime,
    started_ns: u64,
    arena: (usize, usize),
    /// Thread that holds the lock over a fork; 0 for none.
    forking: AtomicU32,
}

/// The core, locked or already held for the thread that is served.
enum Entry<'a> {
    Locked(Guard<'a, Core>),
    Held(&'a mut Core),
}

impl core::ops::Deref for Entry<'_> {
    type Target = Core;
    fn deref(&self) -> &Core {
        match self {
            Entry::Locked(guard) => guard,
            Entry::Held(core) => core,
        }
    }
}

impl core::ops::DerefMut for Entry<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        match self {
            Entry::Locked(guard) => guard,
            Entry::Held(core) => core,
        }
    }
}

// SAFETY: `events` changes only in the child of a fork, before its second thread exists.
unsafe impl Sync for Engine {}

fn os(what: &str) -> impl Fn(i32) -> StartError + '_ {
    move |errno| {
        let text = std::io::Error::from_raw_os_error(errno);
        StartError(format!("{what}: {text}"))
    }
}

fn kind(trap: Trap) -> UffdKind {
    if trap == Trap::Event {
        UffdKind::Events
    } else {
        UffdKind::Signal
    }
}

impl Engine {
    /// Builds device and memory. Faults are not answered until a handler is there.
    pub fn start(session: Session) -> Result<Engine, StartError> {
        let started_ns = now_ns();
        let uffd = Uffd::open(kind(session.trap)).map_err(|e| StartError(e.to_string()))?;
        let device =
            Device::new(&session.device, session.seed).map_err(|e| StartError(e.to_string()))?;
        let pages = device.pages();
        let mut arena = (0, 0);
        let backing = match &session.place {
            Place::Heap => {
                let mut b = PrivateBacking::new(pages as usize).map_err(os("reserving memory"))?;
                b.register(&uffd).map_err(os("registering the heap"))?;
                arena = (b.arena().addr(), b.arena().len());
                Backing::Private(b)
            }
            Place::Dax(path) => {
                let identity = dax_identity(path)?;
                Backing::Shared(SharedBacking::new(identity).map_err(os("reserving memory"))?)
            }
        };
        let calibration = Calibration::new(&uffd).map_err(os("registering a page"))?;
        let live = files::create_stats(&session, started_ns, false)?;
        let recorder = files::create_record(&session)?;
        let events = UnsafeCell::new(uffd.raw());
        let handlers = if session.trap == Trap::Event {
            session.handlers
        } else {
            0
        };
        let mut host =
            Host::new(uffd, backing, pages, handlers).map_err(os("opening /proc/self"))?;
        if session.sample_ns > 0 {
            host.sampler = Some(Sampler::new(session.sample_ns, session.seed));
        }
        let inherited = Stats::default();
        Ok(Engine {
            session,
            core: Lock::new(Core {
                device,
                host,
                live,
                recorder,
                inherited,
                waiting: 0,
                arrived_ns: 0,
            }),
            events,
            calibration,
            entry_ns: AtomicU64::new(0),
            leave_ns: AtomicU64::new(0),
            map_time: MapTime::default(),
            started_ns,
            arena,
            forking: AtomicU32::new(0),
        })
    }

    /// Times the trap on this host. A handler must be there.
    pub fn calibrate(&self) {
        let Cost {
            entry_ns,
            exit_ns,
            map_ns,
        } = self.calibration.measure();
        self.entry_ns.store(entry_ns, Relaxed);
        self.leave_ns.store(exit_ns - map_ns, Relaxed);
        self.map_time.set(map_ns);
        let core = self.core.lock();
        core.live.block().set(Counter::EntryNs, entry_ns);
        core.live.block().set(Counter::ExitNs, exit_ns);
    }

    /// From the last act to the program's next instruction, ns.
    fn exit_ns(&self) -> u64 {
        self.leave_ns.load(Relaxed) + self.map_time.get()
    }

    /// Whether an address belongs to the heap's arena.
    pub fn in_arena(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.arena.0) < self.arena.1
    }

    /// First address and length of the heap's arena; empty with `--place dax`.
    pub fn arena(&self) -> (usize, usize) {
        self.arena
    }

    /// The descriptor's number, to read events from.
    pub(crate) fn events_fd(&self) -> i32 {
        // SAFETY: see the note on `Sync`.
        unsafe { *self.events.get() }
    }

    /// Device time of a moment.
    fn device_time(&self, ns: u64) -> Ps {
        Ps::from_ns(ns.saturating_sub(self.started_ns))
    }

    /// Takes a fault that was seen at `seen_ns`.
    ///
    /// `None` while another thread forks: the event must wait, for the fork holds the lock and may
    /// itself need a page.
    pub fn trap(
        &self,
        addr: usize,
        write: bool,
        seen_ns: u64,
        thread: impl Fn() -> u32,
    ) -> Option<Plan> {
        let mut core = self.enter(thread)?;
        Some(self.trap_in(&mut core, addr, write, seen_ns))
    }

    fn trap_in(&self, core: &mut Core, addr: usize, write: bool, seen_ns: u64) -> Plan {
        if self.calibration.owns(addr) {
            self.calibration.see(seen_ns);
            return Plan::Wait(Wait::now(addr));
        }
        let Some(lpn) = core.host.lpn(addr) else {
            return Plan::Outside;
        };
        let mut access_ns = seen_ns.saturating_sub(self.entry_ns.load(Relaxed));
        // A thread goes on once its last page is there. Where the trap's cost is estimated too
        // high it seems to be earlier, and the page would look as if it were still on its way.
        if core.waiting == 0 {
            access_ns = access_ns.max(core.arrived_ns);
        }
        core.host.progress.trapped(lpn);
        core.sweep_orphans(self.device_time(access_ns));
        core.sample(access_ns);
        let state = core.host.state[lpn as usize];
        if state & (MAPPED | OFF_DEVICE) != 0 {
            return core.map_again(lpn, addr);
        }
        core.request(self, addr, lpn, write, access_ns)
    }

    /// Maps a page whose moment has come and wakes its threads.
    ///
    /// `acting_ns` is the time now. False while another thread forks: try again.
    pub fn fill(&self, wait: &Wait, acting_ns: u64, thread: impl Fn() -> u32) -> bool {
        let Some(mut core) = self.enter(thread) else {
            return false;
        };
        if self.calibration.owns(wait.addr) {
            self.calibration.answer(&core.host.uffd, acting_ns);
            return true;
        }
        self.fill_in(&mut core, wait, acting_ns);
        true
    }

    fn fill_in(&self, core: &mut Core, wait: &Wait, acting_ns: u64) {
        core.waiting -= 1;
        if wait.counted {
            self.count_latency(core, wait, acting_ns);
        }
        let lpn = wait.lpn;
        // A failure leaves the page unmapped; its thread faults again and is served again.
        if core.host.map(lpn, wait.addr).is_err() {
            core.host.uffd.wake(wait.addr & !(PAGE - 1));
            core.host.state[lpn as usize] &= !PENDING;
            return;
        }
        core.host.arrived(lpn);
        core.arrived_ns = wait.access_ns + wait.modelled_ns;
        // In event mode the call may give its CPU to the thread it wakes: no measure of itself.
        if self.session.trap == Trap::Signal {
            self.map_time.add(now_ns() - acting_ns);
        }
    }

    /// The core on behalf of a faulting thread.
    ///
    /// The thread that forks holds the lock until the child exists, and the C library touches
    /// memory in between. Its own faults are served under the lock that it holds, since it cannot
    /// use the core while it waits for them.
    fn enter(&self, thread: impl Fn() -> u32) -> Option<Entry<'_>> {
        loop {
            match self.forking.load(Acquire) {
                0 => {}
                // SAFETY: the holder of the lock is blocked in the fault being served.
                forking if forking == thread() => {
                    return Some(Entry::Held(unsafe { self.core.get_held() }));
                }
                _ => return None,
            }
            if let Some(guard) = self.core.try_lock_briefly() {
                return Some(Entry::Locked(guard));
            }
        }
    }

    fn count_latency(&self, core: &Core, wait: &Wait, acting_ns: u64) {
        let end_ns = acting_ns + self.exit_ns();
        let achieved = end_ns.saturating_sub(wait.access_ns);
        let block = core.live.block();
        block.modelled.record(wait.modelled_ns);
        block.achieved.record(achieved);
        if achieved > wait.modelled_ns + LATE_AFTER_NS {
            block.add(Counter::Late, 1);
        }
    }

    /// Drops the contents of pages the program gave back. The range is whole pages of the arena.
    pub fn discard(&self, start: usize, len: usize) {
        let now = self.device_time(now_ns());
        let mut core = self.core.lock();
        let Some(first) = core.host.lpn(start) else {
            return;
        };
        let pages = len / PAGE;
        for lpn in first..first + pages as u64 {
            let state = core.host.state[lpn as usize];
            if state & (MAPPED | STASHED | WRITTEN | SAMPLED) != 0 {
                core.host.reset(lpn, PENDING | OFF_DEVICE, 0);
                core.device.discard(now, Lpn(lpn));
            }
        }
        if let Backing::Private(b) = &core.host.backing {
            b.drop_range(first, pages);
        }
        core.publish();
    }

    /// Takes pages off the device, contents and all, because their protection is to change.
    pub fn leave_device(&self, start: usize, len: usize) {
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
                if state & (MAPPED | STASHED) == STASHED {
                    // EEXIST cannot be: the page is not mapped. Other failures leave zeros.
                    let _ = core.host.map(lpn, start + at * PAGE);
                }
                core.device.discard(now, Lpn(lpn));
                core.host.reset(lpn, PENDING, OFF_DEVICE);
                left += 1;
            }
        }
        let _ = core.host.uffd.unregister(start, len);
        core.live.block().add(Counter::HostPages, left);
    }

    /// Brings a range back under the device, empty. The caller has mapped it afresh.
    pub fn rejoin_device(&self, start: usize, len: usize) {
        let mut core = self.core.lock();
        let Some(first) = core.host.lpn(start) else {
            return;
        };
        for lpn in first..first + (len / PAGE) as u64 {
            core.host.state[lpn as usize] &= PENDING;
        }
        // SAFETY: a mapped range of the arena; advice only.
        let _ = unsafe { sluice_region::no_huge_pages(start, len) };
        let _ = core.host.uffd.register_private(start, len);
    }

    /// Whether any page of a range has left the device.
    pub fn any_off_device(&self, start: usize, len: usize) -> bool {
        let core = self.core.lock();
        let Some(first) = core.host.lpn(start) else {
            return false;
        };
        let range = first as usize..first as usize + len / PAGE;
        core.host.state[range].iter().any(|s| s & OFF_DEVICE != 0)
    }

    /// The device file's identity, with `--place dax`.
    pub fn dax_identity(&self) -> Option<(u64, u64)> {
        match &self.core.lock().host.backing {
            Backing::Shared(b) => Some(b.identity()),
            Backing::Private(_) => None,
        }
    }

    /// Puts a fresh shared mapping of the device file under the device.
    pub fn add_window(&self, start: usize, len: usize, offset: u64) -> Result<(), i32> {
        let mut guard = self.core.lock();
        let core = &mut *guard;
        let first = offset / PAGE as u64;
        if first + (len / PAGE) as u64 > core.host.state.len() as u64 {
            return Err(libc::ENOSPC);
        }
        match &mut core.host.backing {
            Backing::Shared(b) => b.add(&core.host.uffd, start, len, first),
            Backing::Private(_) => Ok(()),
        }
    }

    /// Forgets mappings of the device file that are about to go.
    pub fn cut_windows(&self, start: usize, len: usize) -> Result<(), i32> {
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

    /// Adds to a counter from outside the fault path.
    pub fn count(&self, counter: Counter, n: u64) {
        self.core.lock().live.block().add(counter, n);
    }

    /// Sets a counter from outside the fault path.
    pub fn set_count(&self, counter: Counter, n: u64) {
        self.core.lock().live.block().set(counter, n);
    }

    /// Writes the last figures and marks the block as ended.
    pub fn finish(&self) {
        let core = self.core.lock();
        core.publish();
        core.live.block().ended.store(1, Release);
    }

    /// Before a fork: takes the lock and notes which pages are written, because the child's page
    /// tables will not remember.
    pub fn before_fork(&self) {
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
        // SAFETY: the lock is held by this thread, without a guard, until `after_fork_*`.
        let core = unsafe { self.core.get_held() };
        core.live.block().add(Counter::Forks, 1);
        core.note_written(self.arena.0);
    }

    /// In the parent: goes on.
    pub fn after_fork_in_parent(&self) {
        self.core.release();
        self.forking.store(0, Release);
    }

    /// In the child: a descriptor, page map and statistics of its own over the copied memory.
    /// The child's device starts as an exact copy of its parent's.
    pub fn after_fork_in_child(&self) -> Result<(), StartError> {
        // SAFETY: as in `before_fork`; this is the child's only thread.
        let core = unsafe { self.core.get_held() };
        let result = core.renew(self);
        if result.is_ok() {
            // SAFETY: no other thread exists.
            unsafe { *self.events.get() = core.host.uffd.raw() };
        }
        self.core.release();
        self.forking.store(0, Release);
        result
    }

    /// The core, for the calls that come from hooks.
    pub fn core(&self) -> Guard<'_, Core> {
        self.core.lock()
    }
}

impl Core {
    /// Asks the model and says when the page may appear.
    fn request(&mut self, e: &Engine, addr: usize, lpn: u64, write: bool, at_ns: u64) -> Plan {
        let op = if write { Op::Write } else { Op::Read };
        let request = Request {
            addr: lpn * PAGE as u64,
            op,
        };
        let now = e.device_time(at_ns);
        let completion = self.device.access(now, request, &mut self.host);
        self.host.adopt(lpn);
        self.host.top = self.host.top.max(lpn + 1);
        let flags = if write { PENDING | WRITTEN } else { PENDING };
        self.host.state[lpn as usize] |= flags;
        if let Some(recorder) = &self.recorder {
            recorder.push(lpn);
        }
        let block = self.live.block();
        block.add(Counter::Traps, 1);
        let flash = completion.served_by == ServedBy::Flash;
        block.add(
            if flash {
                Counter::Misses
            } else {
                Counter::SoftTraps
            },
            1,
        );
        block.set(Counter::LastTrapNs, at_ns.saturating_sub(e.started_ns));
        self.publish();
        self.waiting += 1;
        let modelled_ns = completion.done_at.0.saturating_sub(now.0).div_ceil(1_000);
        let exit_ns = e.exit_ns();
        if modelled_ns > TIDY_ABOVE_NS {
            self.host.tidy();
        }
        Plan::Wait(Wait {
            addr,
            lpn,
            access_ns: at_ns,
            modelled_ns,
            act_ns: (at_ns + modelled_ns).saturating_sub(exit_ns),
            may_sleep: completion.hint == Hint::LongDelay,
            counted: completion.served_by != ServedBy::CacheHit,
        })
    }

    /// A fault on a page that is mapped: another thread was faster, the page is mapped elsewhere,
    /// or the program dropped it by a system call of its own, after which it reads as zeros.
    fn map_again(&mut self, lpn: u64, addr: usize) -> Plan {
        let block = self.live.block();
        block.add(Counter::Spurious, 1);
        let was = self.host.state[lpn as usize];
        if let Backing::Private(_) = self.host.backing {
            self.host.state[lpn as usize] &= !STASHED;
        }
        if self.host.map(lpn, addr).is_err() {
            self.host.uffd.wake(addr & !(PAGE - 1));
        }
        self.host.state[lpn as usize] = was;
        Plan::Done
    }

    /// Carries out evictions that had to wait for a thread's turn.
    fn sweep_orphans(&mut self, now: Ps) {
        while let Some((lpn, written)) = self.host.next_orphan() {
            if written {
                self.device.write_back(now, Lpn(lpn));
            }
        }
    }

    fn sample(&mut self, now_ns: u64) {
        if let Some(verdict) = self.host.sample(now_ns) {
            let block = self.live.block();
            block.add(Counter::SampledPages, 1);
            block.add(Counter::SampledTouched, u64::from(verdict.touched));
            block.add(Counter::SampledWindowNs, verdict.window_ns);
            block.add(Counter::SampledMapped, self.host.mapped());
        }
    }

    /// Copies the counters into the statistics block.
    fn publish(&self) {
        self.live.copy_model(self.device.stats(), &self.inherited);
        self.host.copy_counters(self.live.block());
    }

    fn note_written(&mut self, base: usize) {
        let host = &mut self.host;
        let state = &mut host.state;
        if let Backing::Shared(_) = host.backing {
            return;
        }
        host.pagemap
            .each_written(base, base + host.top as usize * PAGE, |page| {
                let flags = &mut state[(page - base) / PAGE];
                if *flags & MAPPED != 0 {
                    *flags |= WRITTEN;
                }
            });
    }

    fn renew(&mut self, engine: &Engine) -> Result<(), StartError> {
        let session = &engine.session;
        let uffd = Uffd::open(kind(session.trap)).map_err(|e| StartError(e.to_string()))?;
        match &mut self.host.backing {
            Backing::Private(b) => b.register(&uffd).map_err(os("registering the heap"))?,
            Backing::Shared(b) => b.register(&uffd).map_err(os("registering the file"))?,
        }
        engine
            .calibration
            .register(&uffd)
            .map_err(os("registering a page"))?;
        if engine.arena.1 > 0 {
            let protect = uffd.write_protect(engine.arena.0, engine.arena.1);
            protect.map_err(os("protecting the heap"))?;
        }
        self.host.uffd = uffd;
        self.host.pagemap = Pagemap::open().map_err(os("opening /proc/self/pagemap"))?;
        self.host
            .threads
            .reopen()
            .map_err(os("opening /proc/self/task"))?;
        // The threads that waited exist in the parent only.
        for state in &mut self.host.state[..self.host.top as usize] {
            *state &= !PENDING;
        }
        self.waiting = 0;
        self.inherited = self.device.stats().clone();
        self.recorder = None;
        self.live = files::create_stats(session, now_ns(), true)?;
        let block = self.live.block();
        block.set(Counter::EntryNs, engine.entry_ns.load(Relaxed));
        block.set(Counter::ExitNs, engine.exit_ns());
        Ok(())
    }
}

fn dax_identity(path: &std::path::Path) -> Result<(u64, u64), StartError> {
    use std::os::unix::fs::MetadataExt;
    let at = path.display();
    let meta = std::fs::metadata(path).map_err(|e| StartError(format!("{at}: {e}")))?;
    Ok((meta.dev(), meta.ino()))
}
