//! From a fault to a mapped page: one device model, one lock, one answer.

pub mod calibrate;
pub mod hand_over;
pub mod hints;
pub mod migration;
pub mod moves;
pub mod state;
pub mod turn;

use crate::clock::now_ns;
use crate::engine::calibrate::Calibration;
use crate::engine::hints::{Hints, Said};
use crate::engine::migration::Migration;
use crate::engine::state::{Access, Core, Plan, Wait};
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, Obstacle, PENDING};
use crate::lock::{Guard, Lock};
use crate::measures::sample::Sampler;
use crate::measures::stats::Identity;
use crate::measures::watch::Watched;
use crate::memory::heap;
use crate::memory::shared::{self, SharedBacking};
use crate::process::descriptors::{forget, guard};
use crate::session::contents;
use crate::session::desk::StoreDesk;
use crate::session::error::{StartError, os};
use crate::session::files;
use crate::session::settings::MigrationPolicy;
use crate::session::{OnDevice, Session, Trap};
use crate::threads::calm::calm;
use crate::threads::gone::end_service;
use crate::threads::hired;
use crate::threads::thread;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use sluice_abi::{Counter, StatsBlock};
use sluice_model::{Device, Stats};
use sluice_region::{EventSource, LibraryCount, PAGE, Uffd, UffdKind};
use sluice_units::Ps;

/// How often a fault looks whether another thread still forks, which may need the same CPU.
pub(crate) const FORK_LOOK_NS: u64 = 20_000;

/// A running device.
pub struct Engine {
    /// The session it was started from.
    pub session: Session,
    pub(crate) core: Lock<Core>,
    /// Where faults are read from, without the lock.
    pub(crate) events: UnsafeCell<EventSource>,
    pub(crate) calibration: Calibration,
    entry_ns: AtomicU64,
    exit_ns: AtomicU64,
    pub(crate) started_ns: u64,
    pub(crate) arena: (usize, usize),
    /// Thread that holds the lock over a fork; 0 for none.
    pub(crate) forking: AtomicU32,
    /// What of hints must be known without the lock.
    pub(crate) said: Said,
    /// Where a persistent store is asked for.
    pub(crate) desk: Option<&'static StoreDesk>,
    /// Statistics of this process, which live as long as it.
    block: AtomicPtr<StatsBlock>,
}

// SAFETY: `events` changes only in the child of a fork, before its second thread exists.
unsafe impl Sync for Engine {}

pub(crate) fn kind(trap: Trap) -> UffdKind {
    if trap == Trap::Event {
        UffdKind::Events
    } else {
        UffdKind::Signal
    }
}

/// Has hits trap, as far as the session asks for it.
fn show_hits(host: &mut Host, session: &Session) {
    if session.sample_ns > 0 {
        host.sampler = Some(Sampler::new(session.sample_ns, session.seed));
    }
    if session.watch > 0 {
        host.watched = Some(Watched::new(session.watch));
    }
}

impl Engine {
    /// Builds device and memory. Faults are not answered until a handler is there.
    ///
    /// By a thread of the program's: libraries of policies are loaded. What the kernel gives is
    /// opened by the service thread, if there is one.
    pub fn start(session: Session) -> Result<&'static Engine, StartError> {
        let (device, library) = Engine::prepare(&session)?;
        let open = || Engine::open(session, device, library);
        match thread::has_service() {
            true => thread::in_service(open),
            false => open(),
        }
    }

    /// The same with a service thread, and with the threads that answer, the first on a CPU. To be
    /// waited for once: another process may have the CPU each time.
    pub fn start_with_threads(session: Session, cpu: usize) -> Result<&'static Engine, StartError> {
        let (device, library) = Engine::prepare(&session)?;
        let begun = thread::start_service_for(&[], || {
            session.hire()?;
            let engine = Engine::open(session, device, library)?;
            engine.start_threads(cpu).map(|()| engine)
        });
        let begun = begun.map_err(os("starting the service thread"))?;
        // The program may go on without the device, and then without threads of ours.
        if begun.is_err() {
            hired::dismiss();
            if thread::running() == 1 {
                end_service();
            }
        }
        begun
    }

    fn prepare(session: &Session) -> Result<(Box<Device>, LibraryCount), StartError> {
        let device = session.settings.of_device(&session.device);
        let device = device.expect("only a threshold that fits any device was changed");
        let device = contents::of_session(device, &session.dir);
        let device = sluice_plugin::device(&device, session.seed)?;
        let library = LibraryCount::find();
        crate::process::loaded::prepare(session.profile > 0);
        // It is too large to be handed over by value.
        Ok((Box::new(device), library))
    }

    fn open(
        session: Session,
        device: Box<Device>,
        library: LibraryCount,
    ) -> Result<&'static Engine, StartError> {
        let started_ns = now_ns();
        let uffd = Uffd::open(kind(session.trap)).map_err(StartError::Descriptor)?;
        let pages = device.pages();
        let mut arena = (0, 0);
        let backing = match &session.place {
            OnDevice::Heap => {
                let heap = heap::open(&session, &uffd, pages as usize)?;
                arena = (heap.arena().addr(), heap.arena().len());
                Engine::reach(session.trap, arena.0, arena.1);
                Backing::Private(heap)
            }
            OnDevice::Dax(path) => {
                let identity = shared::identity(path)?;
                Backing::Shared(SharedBacking::new(identity).map_err(StartError::NoRoom)?)
            }
        };
        let calibration = Calibration::new(&uffd).map_err(os("registering a page"))?;
        let identity = Identity {
            pages,
            heap_at: arena.0,
            started_ns,
            forked: false,
        };
        let made = files::create(&session, identity)?;
        let recorder = files::create_record(&session)?;
        let events = UnsafeCell::new(uffd.events());
        let threads = sluice_region::ThreadCount::open(library, thread::running() as u64);
        let mut host = threads
            .and_then(|threads| Host::new(uffd, backing, pages, threads, made.live.residency()))
            .map_err(os("opening /proc/self"))?;
        host.desk = StoreDesk::of(&session)?;
        host.threads.set_own(session.first_threads() as u64);
        host.can_be_interrupted = session.trap == Trap::Event;
        show_hits(&mut host, &session);
        let (migration, near) = Migration::of(&session.settings.params, pages).unzip();
        host.near = near;
        let block = AtomicPtr::new(core::ptr::from_ref(made.live.block()).cast_mut());
        Ok(Box::leak(Box::new(Engine {
            block,
            session,
            desk: host.desk,
            core: Lock::new(Core {
                device: *device,
                host,
                live: made.live,
                ring: made.ring,
                recorder,
                profile: made.profile,
                inherited: Stats::default(),
                waiting: 0,
                ahead: 0,
                arrived_ns: 0,
                hints: Hints::new(pages as usize),
                migration,
            }),
            said: Said::default(),
            events,
            calibration,
            entry_ns: AtomicU64::new(0),
            exit_ns: AtomicU64::new(0),
            started_ns,
            arena,
            forking: AtomicU32::new(0),
        })))
    }

    /// Learns what a trap costs on this host. A handler must be there.
    pub fn calibrate(&self) {
        let cost = self.calibration.of_session(&self.session.dir);
        let (entry_ns, exit_ns) = (cost.entry_ns, cost.exit_ns);
        self.entry_ns.store(entry_ns, Relaxed);
        self.exit_ns.store(exit_ns, Relaxed);
        calm(|| {
            let mut core = self.core.lock();
            core.host.set_trap_cost(entry_ns + exit_ns);
            let block = core.live.change();
            block.set(Counter::EntryNs, entry_ns);
            block.set(Counter::ExitNs, exit_ns);
            block.set(Counter::HitNs, cost.hit_ns);
        });
    }

    /// From the access to the first look at the clock, ns.
    pub(crate) fn entry_ns(&self) -> u64 {
        self.entry_ns.load(Relaxed)
    }

    /// From the last act to the program's next instruction, ns.
    pub(crate) fn exit_ns(&self) -> u64 {
        self.exit_ns.load(Relaxed)
    }

    /// Whether an address belongs to the heap's arena.
    pub fn in_arena(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.arena.0) < self.arena.1
    }

    /// First address and length of the heap's arena; empty with `--place dax`.
    pub fn arena(&self) -> (usize, usize) {
        self.arena
    }

    /// Where faults are read from.
    pub(crate) fn events(&self) -> EventSource {
        // SAFETY: see the note on `Sync`.
        unsafe { *self.events.get() }
    }

    /// Device time of a moment.
    pub(crate) fn device_time(&self, ns: u64) -> Ps {
        Ps::from_ns(ns.saturating_sub(self.started_ns))
    }

    /// The moment of a device time, at the earliest.
    pub(crate) fn wall_ns(&self, at: Ps) -> u64 {
        self.started_ns + at.0.div_ceil(1_000)
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
        let mut core = self.enter(&thread)?;
        let mut plan = self.trap_in(&mut core, addr, write, seen_ns, &thread);
        if let (true, Plan::Wait(wait)) = (core.is_held(), &mut plan) {
            wait.forker = thread();
        }
        Some(plan)
    }

    fn trap_in(
        &self,
        core: &mut Core,
        addr: usize,
        write: bool,
        seen_ns: u64,
        thread: impl Fn() -> u32,
    ) -> Plan {
        if self.calibration.owns(addr) {
            self.calibration.see(seen_ns);
            return Plan::Wait(self.calibration.wait(addr, seen_ns));
        }
        if let Some(obstacle) = core.host.obstacle(addr) {
            return self.stopped_by(obstacle, core, addr);
        }
        let Some(lpn) = core.host.lpn(addr) else {
            return self.outside(core, addr);
        };
        let mut access_ns = seen_ns.saturating_sub(self.entry_ns());
        // A thread goes on once its last page is there. Where the trap's cost is estimated too
        // high it seems to be earlier, and the page would look as if it were still on its way.
        if core.waiting == 0 {
            access_ns = access_ns.max(core.arrived_ns);
        }
        core.host.ask_alone();
        if core.device.asks_who() {
            core.device.by(Some(thread().into()));
        }
        let of_crowd = (!core.host.alone).then(&thread);
        core.host.progress.trapped(lpn, of_crowd, seen_ns);
        core.sweep_orphans(self.device_time(access_ns));
        core.sample(access_ns);
        let state = core.host.state[lpn as usize];
        if state & (MAPPED | PENDING) == MAPPED || state & OFF_DEVICE != 0 {
            return core.map_again(lpn, addr);
        }
        if core.host.is_near(lpn) {
            return core.host_hit(lpn, addr);
        }
        let access = Access {
            addr,
            lpn,
            write,
            at_ns: access_ns,
            now: self.device_time(access_ns),
            since_start_ns: access_ns.saturating_sub(self.started_ns),
            seen_ns: access_ns + self.entry_ns(),
            exit_ns: self.exit_ns(),
            trap: self.session.trap,
            on_long_delay: self.session.settings.params.on_long_delay,
            profiled: core.profile.is_some().then(thread),
        };
        core.migrate_beside(access.now, lpn);
        core.request(&access)
    }

    /// A fault on a page that cannot be there: the program gets its SIGBUS, as without a device.
    fn stopped_by(&self, obstacle: Obstacle, core: &mut Core, addr: usize) -> Plan {
        match (self.session.trap, obstacle) {
            (Trap::Signal, _) => return Plan::Outside,
            (Trap::Event, Obstacle::End) if self.in_arena(addr) => {
                core.hand_over_page(self.device_time(now_ns()), addr);
                core.host.wake(addr);
            }
            // The kernel looks for the end before it asks anybody.
            (Trap::Event, Obstacle::End) => core.host.wake(addr),
            (Trap::Event, Obstacle::Full) => core.host.leave_to_kernel(addr),
        }
        Plan::Done
    }

    /// A fault on an address that is the runtime's own, or behind the device's end: there are
    /// zeros. The program has no business there, but may look at all that it finds mapped.
    fn outside(&self, core: &Core, addr: usize) -> Plan {
        if self.session.trap == Trap::Signal && !core.host.is_own(addr) {
            return Plan::Outside;
        }
        core.host.map_zeros(addr & !(PAGE - 1));
        Plan::Done
    }

    /// Maps a page ahead of its moment; its thread waits on. If that cannot be, `fill` does it.
    pub fn bring(&self, wait: &mut Wait) {
        let Some(mut core) = self.enter(|| wait.forker) else {
            return;
        };
        if self.calibration.owns(wait.addr) {
            wait.is_there = self.calibration.bring(&core.host.uffd);
            return;
        }
        wait.is_there = core.host.map_ahead(wait.lpn, wait.addr);
        core.ahead += u32::from(wait.is_there);
    }

    /// Maps a page whose moment has come, if it is not yet there, and wakes its threads.
    ///
    /// `acting_ns` is the time now. False while another thread forks: try again.
    pub fn fill(&self, wait: &Wait, acting_ns: u64) -> bool {
        let Some(mut core) = self.enter(|| wait.forker) else {
            return false;
        };
        if self.calibration.owns(wait.addr) {
            self.calibration
                .answer(&core.host.uffd, wait, acting_ns, self.session.trap);
            return true;
        }
        self.fill_in(&mut core, wait, acting_ns);
        true
    }

    fn fill_in(&self, core: &mut Core, wait: &Wait, acting_ns: u64) {
        core.waiting -= 1;
        core.ahead -= u32::from(wait.is_there);
        let lpn = wait.lpn;
        let is_settled = core.host.settle(lpn, wait.addr, wait.is_there);
        let acted_ns = if wait.is_there { acting_ns } else { now_ns() };
        self.count_latency(core, wait, acted_ns);
        if !is_settled {
            // Its thread faults again and is served again.
            self.wake(core, wait.addr);
            return;
        }
        if wait.is_there {
            self.wake(core, wait.addr);
        }
        core.host.arrived(lpn);
        core.show(lpn);
        core.arrived_ns = wait.access_ns + wait.modelled_ns;
        if !core.host.alone {
            core.map_arrived(self.device_time(acting_ns));
        }
    }

    /// In signal mode the thread itself is here, and nobody sleeps.
    fn wake(&self, core: &Core, addr: usize) {
        if self.session.trap == Trap::Event {
            core.host.wake(addr);
        }
    }

    fn count_latency(&self, core: &Core, wait: &Wait, acted_ns: u64) {
        let end_ns = acted_ns + self.exit_ns();
        let achieved_ns = end_ns.saturating_sub(wait.access_ns);
        core.live
            .count_wait(wait.modelled_ns, achieved_ns, wait.is_miss);
        if let (true, Some(profile), Some(thread)) = (wait.is_miss, &core.profile, wait.profiled) {
            profile.waited(wait.lpn, thread, achieved_ns);
        }
    }

    /// Counts a thread's wait for a CPU, beyond what waking it takes. Not while another one forks,
    /// which has the lock and may need a page.
    pub(crate) fn count_run_delay(&self, thread: u32, ns: u64) {
        if let Some(core) = self.enter(|| thread) {
            core.live.count_run_delay(ns);
        }
    }

    /// Statistics, for single stores without the lock.
    pub(crate) fn block(&self) -> &StatsBlock {
        // SAFETY: those of this process are never unmapped; all fields are atomics.
        unsafe { &*self.block.load(Acquire) }
    }

    /// In the child of a fork: these are its own.
    pub(crate) fn set_block(&self, block: &StatsBlock) {
        let block = core::ptr::from_ref(block).cast_mut();
        self.block.store(block, Release);
    }

    /// Whether pages may move to host memory.
    pub(crate) fn moves_pages(&self) -> bool {
        self.session.settings.params.migration_policy != MigrationPolicy::None
    }

    /// Adds to a counter from outside the fault path.
    pub fn count(&self, counter: Counter, n: u64) {
        calm(|| self.core.lock().live.change().add(counter, n));
    }

    /// Sets a counter from outside the fault path.
    pub fn set_count(&self, counter: Counter, n: u64) {
        calm(|| self.core.lock().live.change().set(counter, n));
    }

    /// The core, for a thread of the runtime.
    pub(crate) fn core(&self) -> Guard<'_, Core> {
        self.core.lock()
    }

    /// Moves what the runtime has opened out of the program's way.
    pub fn guard_descriptors(&self) -> Result<(), i32> {
        calm(|| {
            self.core.lock().host.each_descriptor(guard)?;
            self.session.hold.guard()
        })
    }

    /// Leaves a number to the program, which wants just this one.
    pub fn give_up_number(&self, number: i32) -> Result<(), i32> {
        calm(|| {
            forget(number);
            if self.session.hold.descriptor() == Some(number) {
                return self.session.hold.guard();
            }
            self.core
                .lock()
                .host
                .each_descriptor(|fd| match *fd == number {
                    true => guard(fd),
                    false => Ok(()),
                })
        })
    }

    /// Whether an address is on the device.
    pub fn is_placed(&self, addr: usize) -> bool {
        match self.session.place {
            OnDevice::Heap => self.in_arena(addr),
            OnDevice::Dax(_) => calm(|| self.core.lock().host.lpn(addr).is_some()),
        }
    }
}
