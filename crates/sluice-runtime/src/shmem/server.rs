//! The thread that serves the shared memory of all processes of a session.
//!
//! It looks for faults as long as somebody has missed lately or waits, and sleeps otherwise. It
//! never waits for a process. One that does not listen keeps pages that have left the cache, which
//! costs accuracy and no byte.

use super::costs::Costs;
use super::message::{Answers, Ask, Request, address, socket};
use super::pages::Pages;
use super::process::Process;
use super::waits::{Wait, Waits};
use crate::clock::now_ns;
use crate::measures::stats::Live;
use crate::session::Session;
use crate::session::contents;
use crate::session::error::{StartError, os};
use crate::session::files;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, bind, listen};
use sluice_abi::Counter;
use sluice_model::{Device, Op, ServedBy};
use sluice_region::{Event, PAGE, sleep_exactly};
use sluice_units::{Lpn, Ps};
use std::mem::MaybeUninit;

/// Processes that may wait to be taken up.
const BACKLOG: i32 = 256;
/// Events that are read at once.
const BATCH: usize = 16;
/// Its last fault was so long ago before it sleeps.
const AWAKE_NS: u64 = 50_000;
/// A sleep ends so long before there is something to do, for it may end late.
const TIMER_NS: u64 = 100_000;
/// A sleep without anything to do.
const LOOK_NS: u64 = 100_000_000;
/// A process that has pages which are to leave gets another one this much later at most ..
const BEHIND_NS: u64 = 20_000_000;
/// .. and it is looked so often whether they have left.
const LOOK_AGAIN_NS: u64 = 2_000;

/// What the kernel says of, as numbers: the stop, the door, then two for each process, and those
/// who have come and not yet greeted.
const STOP: u64 = 0;
const DOOR: u64 = 1;
const FIRST: u64 = 2;
const ARRIVING: u64 = 1 << 32;

/// A device for what the processes of a session share.
pub struct Server {
    poll: OwnedFd,
    door: OwnedFd,
    /// Processes that have come, and not yet greeted.
    arriving: Vec<Option<Answers>>,
    /// Where the command says that the session is over. It lives as long as the kernel watches it.
    _stop: OwnedFd,
    device: Device,
    pages: Pages,
    live: Live,
    waits: Waits,
    costs: Costs,
    started_ns: u64,
    /// The last fault, or the last page that arrived.
    busy_ns: u64,
    /// The most pages that were mapped at once.
    most_pages: u64,
    /// How often somebody came for whom there were no descriptors.
    turned_away: u64,
    /// Its lock on the session's files.
    session: Session,
}

/// A server that can be started and stopped.
pub struct Start {
    server: Server,
    stop: OwnedFd,
}

impl Start {
    /// Makes the device, and a door by which processes come.
    pub fn open(session: Session) -> Result<Start, StartError> {
        let system = |what| move |errno: Errno| os(what)(errno.raw_os_error());
        let door = socket(SocketFlags::NONBLOCK).map_err(system("a socket"))?;
        // Only this user may connect to it.
        fchmod(&door, Mode::RUSR | Mode::WUSR)
            .and_then(|()| address(&session.dir))
            .and_then(|address| bind(&door, &address))
            .and_then(|()| listen(&door, BACKLOG))
            .map_err(system("the socket of shared memory"))?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = stop.map_err(system("an event"))?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("epoll"))?;
        for (fd, number) in [(&stop, STOP), (&door, DOOR)] {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&poll, fd, data, epoll::EventFlags::IN).map_err(system("epoll"))?;
        }
        let device = session.settings.of_device(&session.device);
        let device = device.expect("only a threshold that fits any device was changed");
        let device = contents::of_session(device, &session.dir);
        let device = sluice_plugin::device(&device, session.seed)?;
        let costs = Costs::measure().map_err(|e| {
            os("measuring what a fault costs")(e.raw_os_error().unwrap_or(libc::EIO))
        })?;
        let started_ns = now_ns();
        let live = files::create_for_server(&session, device.pages(), started_ns)?;
        let pages = Pages::new(device.pages(), live.residency());
        let block = live.change();
        block.set(Counter::EntryNs, costs.entry_ns);
        block.set(Counter::ExitNs, costs.exit_ns);
        drop(block);
        let server = Server {
            poll,
            door,
            arriving: Vec::new(),
            _stop: stop
                .try_clone()
                .map_err(|e| os("an event")(e.raw_os_error().unwrap_or(libc::EMFILE)))?,
            device,
            pages,
            live,
            waits: Waits::default(),
            costs,
            started_ns,
            busy_ns: 0,
            most_pages: 0,
            turned_away: 0,
            session,
        };
        Ok(Start { server, stop })
    }

    /// The server, for a thread of its own, and a function that stops it.
    pub fn parts(self) -> (Server, impl Fn() + Send + Sync + 'static) {
        let stop = self.stop;
        (self.server, move || {
            let _ = rustix::io::write(&stop, &1u64.to_ne_bytes());
        })
    }
}

impl Server {
    /// Serves until the command says that the session is over. Returns how many processes it turned
    /// away for want of descriptors.
    pub fn serve(mut self) -> u64 {
        sleep_exactly();
        sluice_region::raise_priority();
        sluice_region::name_thread(c"sluice-shared");
        let mut room = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH];
        loop {
            let now = now_ns();
            self.fill_due(now);
            self.pages.send_leaving();
            let limit_ns = self.sleep_ns(now);
            let limit = Timespec {
                tv_sec: 0,
                tv_nsec: limit_ns as i64,
            };
            let Ok((events, _)) = epoll::wait(&self.poll, &mut room, Some(&limit)) else {
                continue;
            };
            let was_asleep = limit_ns > 0;
            for event in events {
                match event.data.u64() {
                    STOP => {
                        self.finish();
                        return self.turned_away;
                    }
                    DOOR => self.let_in(),
                    number if number >= ARRIVING => self.take_up((number - ARRIVING) as usize),
                    number => self.hear((number - FIRST) as usize, was_asleep),
                }
            }
        }
    }

    /// How long nothing has to be done; 0 to look again at once.
    fn sleep_ns(&self, now: u64) -> u64 {
        match self.waits.next_ns() {
            Some(due) => due.saturating_sub(now + TIMER_NS),
            None if now < self.busy_ns + AWAKE_NS => 0,
            None => LOOK_NS,
        }
    }

    fn finish(&mut self) {
        self.sweep(now_ns());
        self.publish();
        self.live
            .block()
            .ended
            .store(1, core::sync::atomic::Ordering::Release);
        // The command removes the session's folder, which nobody may hold then.
        self.session.hold.give_up();
    }

    /// Lets processes in that have come.
    fn let_in(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = accept_with(&self.door, flags) {
            let free = self.arriving.iter().position(Option::is_none);
            let at = free.unwrap_or(self.arriving.len());
            if at == self.arriving.len() {
                self.arriving.push(None);
            }
            let data = epoll::EventData::new_u64(ARRIVING + at as u64);
            if epoll::add(&self.poll, &socket, data, epoll::EventFlags::IN).is_ok() {
                self.arriving[at] = Some(Answers(socket));
            }
        }
    }

    /// Takes up a process that greets.
    fn take_up(&mut self, at: usize) {
        let Some(answers) = self.arriving.get_mut(at).and_then(Option::take) else {
            return;
        };
        let greeting = answers.greeting();
        if let Err(Errno::AGAIN) = greeting {
            self.arriving[at] = Some(answers);
            return;
        }
        let _ = epoll::delete(&self.poll, &answers.0);
        // Of a greeting that is not whole the kernel had no numbers for the descriptors.
        self.turned_away += u64::from(matches!(greeting, Err(Errno::PROTO)));
        let process = greeting.map(|greeting| Process::new(answers, greeting));
        if let Ok(Ok(process)) = process {
            let place = self.pages.add(process);
            self.listen_to(place);
        }
    }

    fn listen_to(&mut self, place: usize) {
        let Some(process) = self.pages.process(place) else {
            return;
        };
        let number = FIRST + 2 * place as u64;
        let flags = epoll::EventFlags::IN;
        let added = [process.answers.0.as_fd(), process.uffd.as_fd()]
            .into_iter()
            .zip([number, number + 1])
            .try_for_each(|(fd, number)| {
                epoll::add(&self.poll, fd, epoll::EventData::new_u64(number), flags)
            });
        if added.is_err() {
            self.pages.remove(place);
        }
    }

    /// A process asks, or has missed.
    fn hear(&mut self, number: usize, was_asleep: bool) {
        let place = number / 2;
        match number % 2 {
            0 => self.answer(place),
            _ => self.read_faults(place, was_asleep),
        }
    }

    fn answer(&mut self, place: usize) {
        loop {
            let Some(process) = self.pages.process(place) else {
                return;
            };
            let request = match process.answers.next() {
                Ok(request) => request,
                Err(Errno::AGAIN) => return,
                Err(_) => return self.leave(place),
            };
            let errno = self.follow(place, request);
            let process = self.pages.process(place);
            if process.is_none_or(|process| process.answers.answer(errno).is_err()) {
                return self.leave(place);
            }
        }
    }

    /// A process is gone. What it waited for is void.
    fn leave(&mut self, place: usize) {
        self.waits.forget(place);
        self.pages.remove(place);
        self.publish();
    }

    fn follow(&mut self, place: usize, request: Request) -> i32 {
        let window = request.window;
        match request.ask {
            Ask::End => self.pages.end(place),
            Ask::Unmap => {
                if window.start.checked_add(window.len).is_none() {
                    return libc::EINVAL;
                }
                self.pages.unmap(place, window.start, window.end());
            }
            Ask::Map => return self.map(place, &request),
        }
        self.publish();
        0
    }

    fn map(&mut self, place: usize, request: &Request) -> i32 {
        let window = &request.window;
        let is_whole = |bytes: u64| bytes.is_multiple_of(PAGE as u64);
        let is_odd = !is_whole(window.start as u64)
            || !is_whole(window.len as u64)
            || !is_whole(window.offset)
            || window.len == 0
            || window.start.checked_add(window.len).is_none()
            || window.offset.checked_add(window.len as u64).is_none();
        if is_odd {
            return libc::EINVAL;
        }
        let now = self.device_time(now_ns());
        let device = &mut self.device;
        let is_there = self.pages.map(place, window, |pages| {
            // Nobody maps them, so nobody is asked.
            pages.for_each(|lpn| device.discard(now, Lpn::of(lpn)));
        });
        self.most_pages = self.most_pages.max(self.pages.in_use());
        let block = self.live.change();
        block.set(Counter::PlacedBytes, self.most_pages * PAGE as u64);
        drop(block);
        self.publish();
        if is_there { 0 } else { libc::ENOSPC }
    }

    fn device_time(&self, ns: u64) -> Ps {
        Ps::from_ns(ns.saturating_sub(self.started_ns))
    }

    fn read_faults(&mut self, place: usize, was_asleep: bool) {
        let none = Event {
            address: 0,
            write: false,
            thread: 0,
        };
        let mut faults = [none; BATCH];
        let Some(process) = self.pages.process(place) else {
            return;
        };
        let count = process.uffd.events().read(&mut faults, false);
        let seen_ns = now_ns();
        let entry_ns = match was_asleep {
            true => self.costs.asleep_ns,
            false => self.costs.entry_ns,
        };
        for fault in &faults[..count] {
            self.take(place, fault, seen_ns.saturating_sub(entry_ns));
        }
        self.busy_ns = seen_ns;
        self.pages.send_leaving();
    }

    /// A thread has missed at this moment.
    fn take(&mut self, place: usize, fault: &Event, access_ns: u64) {
        let Some(process) = self.pages.process(place) else {
            return;
        };
        let Some((start, lpn)) = process.lpn(fault.address) else {
            // It is being unmapped: the thread tries again, and finds the kernel's answer.
            process.uffd.wake(fault.address);
            return;
        };
        // Threads of two PID namespaces may have the same number.
        let thread = (process.pid as u32).wrapping_mul(31) ^ fault.thread;
        let is_mapped = process.segments[&start].is_mapped(lpn);
        self.pages.progress.trapped(lpn, Some(thread), access_ns);
        self.sweep(access_ns);
        if is_mapped && self.device.is_cached(Lpn::of(lpn)) {
            // Another thread of the process was faster, or the process has dropped it by itself.
            self.live.change().add(Counter::Spurious, 1);
            self.pages.put(place, start, lpn, fault.write);
            return;
        }
        self.pages.adopt(lpn);
        let op = if fault.write { Op::Write } else { Op::Read };
        let request = sluice_model::Request {
            addr: lpn * PAGE as u64,
            op,
        };
        let now = self.device_time(access_ns);
        self.device.by(Some(thread.into()));
        let completion = self.device.access(now, request, &mut self.pages);
        let block = self.live.change();
        block.add(Counter::Traps, 1);
        let is_flash = completion.served_by == ServedBy::Flash;
        if is_flash {
            self.pages.missed(lpn);
        }
        let counter = match is_flash {
            true => Counter::Misses,
            false => Counter::SoftTraps,
        };
        block.add(counter, 1);
        block.set(
            Counter::LastTrapNs,
            access_ns.saturating_sub(self.started_ns),
        );
        drop(block);
        let modelled_ns = completion.done_at.0.saturating_sub(now.0).div_ceil(1_000);
        self.waits.push(Wait {
            act_ns: (access_ns + modelled_ns).saturating_sub(self.costs.exit_ns),
            access_ns,
            modelled_ns,
            place,
            start,
            lpn,
            is_store: fault.write,
            is_miss: completion.served_by != ServedBy::CacheHit,
        });
        self.publish();
        self.fill_due(now_ns());
    }

    /// Maps what is due.
    fn fill_due(&mut self, mut now: u64) {
        while let Some(wait) = self.waits.pop_due(now) {
            if self.pages.is_behind(wait.place) && now < wait.act_ns + BEHIND_NS {
                // What it has must not become more and more. It is late then, and counted so.
                self.waits.put_off(wait, now + LOOK_AGAIN_NS);
                now = now_ns();
                continue;
            }
            self.pages
                .put(wait.place, wait.start, wait.lpn, wait.is_store);
            let acted_ns = now_ns();
            self.count(&wait, acted_ns);
            if !self.device.is_cached(Lpn::of(wait.lpn)) {
                // It left while it was on its way. Its thread needs it once.
                self.pages.orphan(wait.lpn);
            }
            self.busy_ns = acted_ns;
            now = acted_ns;
        }
    }

    /// Counts a wait whose page was mapped at a moment.
    fn count(&self, wait: &Wait, acted_ns: u64) {
        let way_back_ns = self.costs.exit_ns - self.costs.map_ns;
        let achieved_ns = (acted_ns + way_back_ns).saturating_sub(wait.access_ns);
        self.live
            .count_wait(wait.modelled_ns, achieved_ns, wait.is_miss);
    }

    /// Takes out what the model evicted while it was needed.
    fn sweep(&mut self, at_ns: u64) {
        let now = self.device_time(at_ns);
        while let Some((lpn, written)) = self.pages.next_orphan() {
            if written {
                self.device.write_back(now, Lpn::of(lpn));
            }
        }
        while let Some(lpn) = self.pages.next_late() {
            self.device.write_back(now, Lpn::of(lpn));
        }
    }

    fn publish(&self) {
        let block = self.live.change();
        self.live
            .copy_model(self.device.stats(), &Default::default());
        block.set(Counter::CachedPages, self.device.cached_pages());
        block.set(Counter::PinnedPages, self.device.pinned_pages());
    }
}
