//! The channels of one ring: from an entry to a piece of work at a time, and to its answer.

use super::earlier;
use super::pages::{Arrivals, Job};
use crate::clock::now_ns;
use crate::engine::Engine;
use crate::engine::turn::give_way;
use crate::session::rings::own_pid;
use core::sync::atomic::{AtomicU32, Ordering::*};
use sluice_abi::{
    CHANNELS, Completion, Counter, Found, Request, Ring, Server, Status, Submission, Words,
};
use sluice_region::futex_wake;

/// A guest whose entry took longer than this at once, as a change of policy does, ..
const REST_ABOVE_NS: u64 = 200_000;
/// .. is not looked at for so many times as long: it holds up every fault, and a guest may ask for
/// it without end, ..
const REST_SHARE: u64 = 8;
/// .. but no longer than this.
const REST_MAX_NS: u64 = 500_000_000;

/// What a persistent store is asked for is looked after this often.
const STORE_NS: u64 = 1_000_000;

/// A ring as its server sees it.
pub(super) struct Lanes {
    pub engine: &'static Engine,
    ring: &'static Ring,
    /// Whether a guest can write the ring.
    pub is_guest: bool,
    servers: [Server; CHANNELS],
    /// The command under way of each channel, with its tag.
    jobs: [Option<(u64, Job)>; CHANNELS],
    pub arrivals: Arrivals,
    /// The channel that is asked first for an entry.
    first: usize,
    /// Until when no entry is taken.
    rest_until_ns: u64,
}

impl Lanes {
    pub fn new(engine: &'static Engine, ring: &'static Ring, is_guest: bool) -> Lanes {
        Lanes {
            engine,
            ring,
            is_guest,
            servers: [Server::default(); CHANNELS],
            jobs: [const { None }; CHANNELS],
            arrivals: Arrivals::new(),
            first: 0,
            rest_until_ns: 0,
        }
    }

    /// The futex on which clients of this host wake the server.
    pub fn bell(&self) -> &'static AtomicU32 {
        &self.ring.bell
    }

    /// Takes one entry, and goes on with each command that is under way, for a moment each. Says
    /// when there is more to do; `None` once all is done.
    pub fn turn(&mut self) -> Option<u64> {
        self.show_life();
        let mut next = self.take_entry();
        for at in 0..CHANNELS {
            let Some((tag, mut job)) = self.jobs[at].take() else {
                continue;
            };
            if job.next_ns(&self.arrivals) <= now_ns() {
                job.some_pages(self.engine, &mut self.arrivals, at);
            }
            let is_done = job.is_done(self.arrivals.of(at));
            if is_done && job.is_kept(self.engine) {
                self.complete(at, tag, job.finish());
                next = Some(0);
                continue;
            }
            let again_ns = match is_done {
                true => now_ns() + STORE_NS,
                false => job.next_ns(&self.arrivals),
            };
            next = earlier(next, Some(again_ns));
            self.jobs[at] = Some((tag, job));
        }
        next
    }

    fn show_life(&self) {
        let pid = if self.is_guest { 0 } else { own_pid() };
        self.ring.publish(pid, self.engine.session.ring_poll_ns);
        self.ring.beats.fetch_add(1, Relaxed);
    }

    /// Takes the next entry of the channels that have no command under way, one after the other.
    /// `Some` if there was one.
    fn take_entry(&mut self) -> Option<u64> {
        let began_ns = now_ns();
        if began_ns < self.rest_until_ns {
            return None;
        }
        let mut next = None;
        for at in (self.first..CHANNELS).chain(0..self.first) {
            if self.jobs[at].is_some() {
                continue;
            }
            let ring = self.ring;
            match self.servers[at].next(&ring.channels[at]) {
                Found::Nothing => {}
                Found::Client => {
                    self.wake();
                    next = Some(0);
                }
                Found::Submission(words) => {
                    self.begin(at, &words);
                    self.first = (at + 1) % CHANNELS;
                    let ended_ns = now_ns();
                    let took_ns = ended_ns - began_ns;
                    if self.is_guest && took_ns > REST_ABOVE_NS {
                        let rest_ns = took_ns.saturating_mul(REST_SHARE);
                        self.rest_until_ns = ended_ns + rest_ns.min(REST_MAX_NS);
                    }
                    return Some(0);
                }
            }
        }
        next
    }

    /// Carries out what an entry says, whatever that is, or begins with it.
    fn begin(&mut self, at: usize, words: &Words) {
        let submission = match Submission::from_words(words) {
            Ok(submission) => submission,
            Err(status) => return self.complete(at, words[1], Completion::new(0, status)),
        };
        let answer = match submission.request {
            Request::Stats => Completion::new(0, Status::Done),
            Request::Set(text) => self.set(&text),
            Request::Pages(operation, _) if !self.has_door(operation) => {
                Completion::new(0, Status::BadOperation)
            }
            Request::Pages(operation, range) => match self.pages_of(&range) {
                Ok((first, count)) => {
                    let job = Job::new(self.engine, operation, first, count);
                    self.jobs[at] = Some((submission.tag, job));
                    return;
                }
                Err(status) => Completion::new(0, status),
            },
        };
        self.complete(at, submission.tag, answer);
    }

    /// Answers the entry that a channel gave out last.
    fn complete(&mut self, at: usize, tag: u64, mut answer: Completion) {
        answer.tag = tag;
        let now = now_ns();
        let answered_ns = now.saturating_sub(self.engine.started_ns);
        answer.done_ns = answer.done_ns.max(answered_ns);
        let refused = !matches!(
            answer.status,
            Status::Done | Status::Nothing | Status::Partly
        );
        let mut core = self.engine.core();
        core.device.advance(self.engine.device_time(now));
        let block = core.live.change();
        block.add(Counter::Commands, 1);
        block.add(Counter::CommandsRefused, u64::from(refused));
        core.publish();
        drop(block);
        give_way(core);
        core::sync::atomic::fence(Release);
        let ring = self.ring;
        self.servers[at].answer(&ring.channels[at], &answer.to_words());
        self.wake();
    }

    /// Clients on this host may sleep. Those of a guest look by themselves.
    fn wake(&self) {
        if !self.is_guest {
            self.ring.answered.fetch_add(1, AcqRel);
            futex_wake(&self.ring.answered);
        }
    }
}
