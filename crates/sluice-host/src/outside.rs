//! What a host does with a memory that is elsewhere: see [`super::port`].

use super::artifact::{Artifact, Before, NoArtifact};
use super::config::{HostConfig, Migration};
use super::memory::Memory;
use super::miss::Miss;
use super::port::{Ask, AskFor, NO_LINE, Reply, WRITE, Waiter};
use super::stream::Program;
use super::system::{Event, Host, MEMORY_MAX};
use sluice_model::{Device, ServedBy};
use sluice_units::Ps;

impl<'a> Host<'a> {
    /// A host whose memory, but what stays in its own DRAM, is behind a port, before the program's
    /// first instruction.
    ///
    /// # Panics
    /// If pages move, or the program has not as many threads as the host.
    pub fn with_port(config: &'a HostConfig, program: &'a mut dyn Program) -> Host<'a> {
        assert!(program.footprint() <= MEMORY_MAX);
        assert_eq!(program.threads(), config.threads);
        let memory = Memory::behind_port(config, NoArtifact);
        let mut host = Host::new(config, NoArtifact, memory, program);
        host.port = Some(Box::default());
        host.start();
        host
    }

    /// Gives the device behind the port what it has at the start. Returns it, with how far its time
    /// is ahead of the host's then.
    pub fn fill_device(&mut self, device: Device) -> (Device, Ps) {
        let before = Before::default();
        let pages = device.config().cache.pages;
        self.memory.lend(device);
        self.fill(self.config.pages_of_others(pages, &before), &before);
        self.memory.give_back()
    }
}

impl<A: Artifact> Host<'_, A> {
    /// When its next event is due.
    pub fn next_at(&self) -> Option<Ps> {
        self.events.next_at()
    }

    /// Time passes up to `now`, before which nothing of its own is due.
    pub fn pass(&mut self, now: Ps) {
        self.now = self.now.max(now);
    }

    /// Its time: that of the last thing that it did.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Whether it may ask for anything: not if all memory is its own.
    pub fn may_ask(&self) -> bool {
        self.config.migration != Migration::AllHost
    }

    /// Instructions retired since the beginning.
    pub fn retired(&self) -> u64 {
        self.retired
    }

    /// Marks passed since counting began.
    pub fn marks_passed(&self) -> usize {
        self.marks.len()
    }

    /// Requests that have left it since last asked.
    pub fn take_asks(&mut self) -> impl Iterator<Item = Ask> {
        let asks = self.port.as_mut().map(|port| port.asks.drain(..));
        asks.into_iter().flatten()
    }

    /// Sets how many pages the device behind the port has programmed, for the timeline.
    pub fn tell_programs(&mut self, programs: u64) {
        if let Some(port) = &mut self.port {
            port.programs = programs;
        }
    }

    /// Whether an address is behind the port.
    #[inline]
    pub(super) fn is_outside(&self, addr: u64) -> bool {
        self.port.is_some() && !self.memory.is_host(addr)
    }

    /// Whether a miss is for a line that is under way through the port, and now waits for it too.
    /// Without an L3 nobody knows what others have asked for.
    #[inline]
    pub(super) fn joins(&mut self, number: usize, miss: u32, mshr: usize) -> bool {
        let at = self.now + self.l3_latency(number);
        let Some(port) = self.port.as_mut().filter(|_| self.l3.is_there()) else {
            return false;
        };
        let misses = &mut self.cores[number].misses;
        let Some(waiters) = port.waiters(misses.get(miss).line) else {
            return false;
        };
        let core = number as u32;
        waiters.push(Waiter {
            core,
            miss,
            mshr,
            at,
        });
        misses.take_mshr(mshr, Ps::MAX);
        misses.ask(miss);
        self.l3.merge();
        true
    }

    /// A miss leaves the L3 through the port.
    pub(super) fn ask(&mut self, number: usize, miss: u32, mshr: usize, at: Ps) {
        let may_delay = self.config.coordinated && !self.is_patient(number);
        let misses = &mut self.cores[number].misses;
        let Miss { line, writes, .. } = *misses.get(miss);
        let what = match writes {
            true => AskFor::Owned,
            false => AskFor::Line,
        };
        misses.take_mshr(mshr, Ps::MAX);
        misses.ask(miss);
        self.l3.ask();
        let core = number as u32;
        if let Some(port) = &mut self.port {
            let waiter = Waiter {
                core,
                miss,
                mshr,
                at,
            };
            port.read(line, at, what, may_delay, waiter);
        }
    }

    /// A written line leaves through the port. A core that has flushed it learns when it has
    /// arrived.
    pub(super) fn send(&mut self, addr: u64, at: Ps, flushes: Option<u32>) {
        if let Some(port) = &mut self.port {
            port.write(addr, at, flushes);
        }
    }

    /// A miss finds no MSHR of the L3, and looks again when an answer has come.
    pub(super) fn wait_for_answer(&mut self, number: usize, miss: u32, mshr: usize) {
        let (core, epoch) = (number as u32, self.keep_mshr(number, mshr));
        if let Some(port) = &mut self.port {
            port.full.push_back((core, miss, mshr as u16, epoch));
        }
    }

    /// An answer has come, at a time at which no event is due before.
    ///
    /// # Panics
    /// If nothing of that tag was asked for: the caller's mistake.
    pub fn answer(&mut self, now: Ps, tag: u32, reply: &Reply) {
        let port = self.port.as_mut().expect("a host with a port");
        match reply.served_by {
            Some(ServedBy::CacheHit) => port.looked_up[0] += 1,
            Some(ServedBy::WriteLog) | None => (),
            Some(_) => port.looked_up[1] += 1,
        }
        if tag & WRITE == 0 {
            self.read_done(now, tag, reply);
        } else {
            self.write_done(now, tag & !WRITE, reply);
        }
    }

    fn read_done(&mut self, now: Ps, tag: u32, reply: &Reply) {
        self.begin_answer(now);
        let port = self.port.as_mut().expect("a host with a port");
        let line = std::mem::replace(&mut port.lines[tag as usize], NO_LINE);
        let (asked_at, waiters) = &mut port.reads[tag as usize];
        let (asked_at, mut waiters) = (*asked_at, std::mem::take(waiters));
        self.memory.answered(asked_at, self.now, false, reply);
        self.l3.answered();
        if reply.owned {
            self.memory.own(line);
        }
        self.line_comes(line, reply.delayed, &waiters);
        self.go_on(&waiters);
        waiters.clear();
        let port = self.port.as_mut().expect("a host with a port");
        port.reads[tag as usize].1 = waiters;
        port.free_reads.push(tag);
    }

    fn write_done(&mut self, now: Ps, tag: u32, reply: &Reply) {
        let port = self.port.as_mut().expect("a host with a port");
        let (asked_at, flushes) = port.writes[tag as usize];
        port.free_writes.push(tag);
        self.memory.answered(asked_at, now, true, reply);
        if let Some(core) = flushes {
            self.begin_answer(now);
            self.cores[core as usize].arrived(self.now);
            self.wake(core as usize);
        }
    }

    /// The time of an answer begins.
    fn begin_answer(&mut self, now: Ps) {
        self.now = self.now.max(now);
        self.note(self.now.0);
    }

    /// The line that misses waited for has come, or a long-delay message.
    fn line_comes(&mut self, line: u32, delayed: bool, waiters: &[Waiter]) {
        for waiter in waiters {
            let misses = &mut self.cores[waiter.core as usize].misses;
            let until = match delayed {
                true => self.now,
                false => self.now.max(waiter.at),
            };
            misses.take_mshr(waiter.mshr, until);
        }
        if !delayed {
            let victim = self.l3.arrive(line);
            self.displaced(victim, self.now + self.l3_latency(0));
        }
        let mut again = Vec::new();
        for waiter in waiters {
            let (number, miss) = (waiter.core as usize, waiter.miss);
            let at = self.now + self.l3_latency(number);
            if !delayed && self.lacks_right(number, miss) {
                again.push(*waiter);
            } else if !delayed {
                self.get_line(number, miss, self.now.max(waiter.at), at);
            } else if self.config.coordinated && !self.is_patient(number) {
                let core = &mut self.cores[number];
                let write_back = core.misses.get(miss).write_back;
                core.delay(miss, self.now, self.now);
                self.write_back(write_back, at);
                self.wake(number);
            } else {
                // Its thread waits whatever comes, and asks for the line itself.
                let core = &mut self.cores[number];
                core.misses.take_back(miss);
                let epoch = core.epoch;
                let core = number as u32;
                self.events
                    .push(self.now, Event::Access { core, miss, epoch });
            }
        }
        self.ask_again(line, &again);
    }

    /// Misses that waited for an MSHR go on.
    fn go_on(&mut self, waiters: &[Waiter]) {
        if let Some(port) = &mut self.port {
            for (core, miss, mshr, epoch) in port.full.drain(..) {
                let again = Event::Again {
                    core,
                    miss,
                    mshr,
                    epoch,
                };
                self.events.push(self.now, again);
            }
        }
        for waiter in waiters {
            self.retry_all(waiter.core as usize);
        }
    }
}
