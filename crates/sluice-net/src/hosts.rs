//! Simulated hosts as requesters: one clock for them and the fabric between them.
//!
//! A host and a fabric have a queue of events each. [`Hosts::step`] handles the first event of all:
//! of those at the same time the fabric's first, then the hosts' in the order of their requesters.

use super::answers::HostNews;
use super::engine::Done;
use super::error::Standstill;
use super::fabric::{Fabric, Length, WATCH};
use super::ids::{EndpointId, RequesterId};
use super::stats::Completed;
use sluice_host::Host;
use sluice_model::Device;
use sluice_units::{ClockEnd, Ps};

/// Instructions that all hosts together retire without a request, while none is under way, before
/// a run is given up: their programs may run in their caches for ever.
const SILENCE_MAX: u64 = 500_000_000;

/// A host at its requester.
struct Seat<'a> {
    requester: RequesterId,
    /// Where its program's memory begins among the requester's addresses.
    base: u64,
    host: Host<'a>,
    may_ask: bool,
    /// When its next event is due; [`Ps::MAX`] if none is. Asking its queue takes longer.
    next_at: Ps,
}

/// Since when the hosts have asked for nothing.
#[derive(Default)]
struct Silence {
    /// Requests that they had issued then.
    issued: u64,
    /// Instructions that they had retired then.
    retired: u64,
}

impl Silence {
    /// # Errors
    /// [`Standstill::Silence`].
    fn check(&mut self, hosts: &Hosts<'_>) -> Result<(), Standstill> {
        let (issued, retired) = (hosts.fabric.engine().issued, hosts.retired());
        if issued != self.issued || hosts.fabric.in_flight() > 0 {
            *self = Silence { issued, retired };
        }
        let instructions = retired - self.retired;
        if instructions < SILENCE_MAX {
            return Ok(());
        }
        Err(Standstill::Silence {
            completed: hosts.fabric.all_completed(),
            instructions,
        })
    }
}

/// A fabric with hosts.
pub struct Hosts<'a> {
    fabric: Fabric,
    /// In the order of their requesters.
    seats: Vec<Seat<'a>>,
    /// The seat whose host's event is due first, and when; [`Ps::MAX`] if none is.
    first: (Ps, usize),
    /// When the fabric's next event is due; [`Ps::MAX`] if none is, nothing if that is not known.
    fabric_at: Option<Ps>,
}

impl<'a> Hosts<'a> {
    /// No host yet.
    pub fn new(fabric: Fabric) -> Hosts<'a> {
        Hosts {
            fabric,
            seats: Vec::new(),
            first: (Ps::MAX, 0),
            fabric_at: None,
        }
    }

    /// Puts a host at a requester behind those that have one. Its program's memory begins at `base`
    /// of the requester's addresses.
    ///
    /// # Panics
    /// If the requester is none of a host's, or comes before one that has a host; on coherent
    /// memory, if the host has no L3.
    pub fn seat(&mut self, requester: RequesterId, base: u64, mut host: Host<'a>) {
        let is_behind = |seat: &Seat| seat.requester < requester;
        assert!(self.seats.last().is_none_or(is_behind), "in order");
        self.fabric.engine_mut().seat(requester, &mut host);
        let next_at = host.next_at().unwrap_or(Ps::MAX);
        self.seats.push(Seat {
            requester,
            base,
            may_ask: host.may_ask(),
            host,
            next_at,
        });
        self.find_first();
    }

    /// The fabric that the hosts are requesters of.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The fabric, to begin or end its counting.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        self.fabric_at = None;
        &mut self.fabric
    }

    /// The hosts, in the order of their requesters.
    pub fn hosts(&self) -> impl Iterator<Item = (RequesterId, &Host<'a>)> {
        self.seats.iter().map(|seat| (seat.requester, &seat.host))
    }

    /// The hosts, to begin their counting.
    pub fn hosts_mut(&mut self) -> impl Iterator<Item = &mut Host<'a>> {
        self.seats.iter_mut().map(|seat| &mut seat.host)
    }

    /// Handles the next event of all; `done` gets a request that came back. False if there is none.
    ///
    /// # Errors
    /// [`Standstill::Deadlock`] and [`Standstill::ClockEnd`].
    ///
    /// # Panics
    /// If a program has more memory than its requester reaches.
    #[inline]
    pub fn step(&mut self, done: &mut dyn FnMut(Completed)) -> Result<bool, Standstill> {
        let fabric = &self.fabric;
        let next_at = || fabric.next_at().unwrap_or(Ps::MAX);
        let fabric_at = *self.fabric_at.get_or_insert_with(next_at);
        let (at, number) = self.first;
        if at >= fabric_at {
            // Hosts that wait for nothing else let time pass for memories.
            let is_over = at == Ps::MAX && self.fabric.is_over()?;
            return match is_over {
                true => Ok(false),
                false => self.step_fabric(done).map(|()| true),
            };
        }
        if at > Ps::LAST {
            return Err(ClockEnd.into());
        }
        self.seats[number].host.step();
        self.send(number, at);
        self.fabric.engine_mut().settle();
        Ok(true)
    }

    /// Finds the host whose event is due first: of those at the same time the first in order.
    fn find_first(&mut self) {
        let seats = self.seats.iter().enumerate();
        let first = seats.map(|(number, seat)| (seat.next_at, number)).min();
        self.first = first.unwrap_or((Ps::MAX, 0));
    }

    /// Runs as [`Fabric::run_with`] does, until so many requests have come back or nobody has any
    /// more.
    ///
    /// # Errors
    /// [`Standstill`].
    pub fn run_with(
        &mut self,
        length: Length,
        watch: &mut dyn FnMut(u64) -> bool,
        done: &mut dyn FnMut(Completed),
    ) -> Result<(), Standstill> {
        if self.seats.is_empty() {
            return self.fabric.run_with(length, watch, done);
        }
        self.fabric_mut().begin_issuing();
        let before = self.fabric.all_completed();
        let warm = before.saturating_add(length.warmup);
        let mut goes_on = self.run_until(warm, watch, &mut |_| ())?;
        if goes_on {
            self.pass();
            self.fabric.begin();
            self.hosts_mut().for_each(Host::reset);
            let all = self.fabric.all_completed();
            goes_on = self.run_until(all.saturating_add(length.requests), watch, done)?;
        }
        self.pass();
        self.fabric.end_run(goes_on)
    }

    /// Brings every host to the time of the last event of all: one that waits waits until then.
    fn pass(&mut self) {
        let times = self.hosts().map(|(_, host)| host.now());
        let now = times.fold(self.fabric.now(), Ps::max);
        self.hosts_mut().for_each(|host| host.pass(now));
    }

    /// False if `watch` said no.
    fn run_until(
        &mut self,
        completed: u64,
        watch: &mut dyn FnMut(u64) -> bool,
        done: Done,
    ) -> Result<bool, Standstill> {
        let mut left = WATCH;
        let mut silence = Silence::default();
        while self.fabric.all_completed() < completed && !self.is_over()? && self.step(done)? {
            left -= 1;
            if left == 0 {
                left = WATCH;
                silence.check(self)?;
                if !watch(self.fabric.all_completed()) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether no request will come any more: none is under way, and no host that may ask has work
    /// left. One whose memory is all its own may run for ever.
    ///
    /// # Errors
    /// [`Standstill::Deadlock`] if one is under way for ever.
    #[inline]
    fn is_over(&self) -> Result<bool, Standstill> {
        let is_still = |seat: &Seat| !seat.may_ask || seat.next_at == Ps::MAX;
        Ok(self.seats.iter().all(is_still) && self.fabric.is_over()?)
    }

    /// Instructions that the hosts have retired which may ask for something.
    fn retired(&self) -> u64 {
        let seats = self.seats.iter().filter(|seat| seat.may_ask);
        seats.map(|seat| seat.host.retired()).sum()
    }

    fn step_fabric(&mut self, done: Done) -> Result<(), Standstill> {
        self.fabric_at = None;
        self.fabric.step(done)?;
        while let Some(news) = self.fabric.engine_mut().answers.take() {
            let of = |seat: &Seat| seat.requester.cmp(&news.requester);
            let number = self.seats.binary_search_by(of);
            let number = number.expect("a host asked for it");
            let Seat { base, host, .. } = &mut self.seats[number];
            match news.what {
                HostNews::Answer(tag, reply) => host.answer(news.at, tag, &reply),
                HostNews::Snoop(addr, keeps) => _ = host.snoop(addr - *base, keeps),
            }
            self.send(number, news.at);
        }
        self.fabric.engine_mut().settle();
        Ok(())
    }

    /// Sends what a host asks for, which has done something at `now`.
    fn send(&mut self, number: usize, now: Ps) {
        let Seat {
            requester,
            base,
            host,
            next_at,
            ..
        } = &mut self.seats[number];
        *next_at = host.next_at().unwrap_or(Ps::MAX);
        let due = (*next_at, number);
        let engine = self.fabric.engine_mut();
        if engine.coherence.is_some() {
            for done in host.take_performed() {
                engine.performed(*requester, *base, done, now);
            }
        }
        for ask in host.take_asks() {
            self.fabric_at = None;
            let target = engine.addresses.find(*requester, *base + ask.addr);
            let target = target.expect("a program fits into what its host reaches");
            engine.ask(*requester, target, *base, &ask);
        }
        if number == self.first.1 {
            self.find_first();
        } else {
            self.first = self.first.min(due);
        }
    }

    /// The device behind an endpoint.
    pub fn device(&self, endpoint: EndpointId) -> Option<&Device> {
        self.fabric.device(endpoint)
    }

    /// The fabric, when the hosts are not needed any more.
    pub fn into_fabric(self) -> Fabric {
        self.fabric
    }
}
