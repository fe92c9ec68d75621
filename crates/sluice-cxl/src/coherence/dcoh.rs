//! The coherency agent of a memory device (DCOH), or of a group of them.

use super::count::DcohCount;
use super::filter::{BLOCK_LINES_MAX, Blocks, Chosen, Filter};
use super::index::LineIndex;
use super::message::{M2s, Message, S2m, Snoop, State, ToDevice, ToHost, Want};
use super::victim::Victim;
use sluice_lists::Lists;
use std::collections::VecDeque;

/// The most requests at once: BITag has 12 bits, and evictions have tags of their own.
pub const TRACKERS_MAX: u16 = 2048;

/// What an agent is made of.
#[derive(Clone, Copy)]
pub struct DcohSetup {
    /// Hosts, numbered from 0.
    pub hosts: u32,
    /// Entries of the snoop filter, at least 1.
    pub entries: u32,
    /// Entries in which a line can be. Divides `entries`.
    pub ways: u32,
    /// Requests that are worked on at once, 1 to [`TRACKERS_MAX`]; others wait in turn.
    pub trackers: u16,
    /// Requests that the hosts can have outstanding altogether.
    pub requests_max: usize,
    /// Which entry leaves a full filter.
    pub victim: &'static Victim,
    /// What one snoop may name.
    pub blocks: Blocks,
}

/// What the agent wants done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DcohAction {
    /// To a host.
    Send(S2m),
    /// Read the line from memory, and call [`Dcoh::data`] with it.
    Read {
        /// Which transaction waits for it, for [`Dcoh::data`].
        tracker: u16,
        /// Whose request it is.
        host: u32,
        /// The request's tag.
        tag: u16,
        /// What to read.
        line: u64,
    },
    /// Write the line to memory.
    Write {
        /// The line that is written, by its number.
        line: u64,
        /// Its contents, as in [`Message::data`].
        data: u64,
    },
}

/// A request that is worked on.
#[derive(Clone, Copy)]
pub(super) struct Tracker {
    pub(super) request: M2s,
    /// The set of its line.
    pub(super) set: u32,
    pub(super) entry: Option<u32>,
    /// Responses to come.
    pub(super) pending: u32,
    /// The list in which requests for the same line wait.
    pub(super) queue: u32,
}

/// A run of entries on its way out.
#[derive(Clone)]
pub(super) struct Eviction {
    pub(super) victims: Option<Chosen>,
    pub(super) pending: u32,
    /// Per line, the list in which requests for it wait.
    pub(super) queues: [u32; BLOCK_LINES_MAX as usize],
}

/// Keeps the caches of the hosts coherent, by an inclusive snoop filter (ESF section III-D).
///
/// Requests for one line are served one after the other, in the order of their arrival. A request
/// that conflicts with what others hold waits for their responses; one that needs an entry of a
/// full filter waits for a victim's. Writes, clean evictions and conflicts wait for nothing, so
/// that snoops always end. Timeless: the caller says when messages arrive and when memory answers.
#[derive(Clone)]
pub struct Dcoh {
    pub(super) filter: Filter,
    pub(super) trackers: Vec<Tracker>,
    pub(super) free_trackers: Vec<u16>,
    pub(super) evictions: Vec<Eviction>,
    pub(super) free_evictions: Vec<u16>,
    /// The entries of each set that evictions under way will free.
    pub(super) freeing: Vec<u32>,
    /// Which sets have more requests that wait than entries being freed, and how many do.
    pub(super) starved: (Vec<bool>, u32),
    /// Sets in which an entry was wanted while all evictions were under way.
    pub(super) put_off: VecDeque<u32>,
    /// Lines that a request or an eviction works on: the list in which others wait.
    pub(super) busy: LineIndex,
    /// Trackers that wait: for an entry of a set, whose list has the set's number, and for lines.
    pub(super) waiting: Lists,
    /// Requests that wait for a tracker, with the sets of their lines.
    pub(super) backlog: VecDeque<(M2s, u32)>,
    /// Trackers whose line has become theirs.
    pub(super) ready: VecDeque<u16>,
    pub(super) count: DcohCount,
}

impl Dcoh {
    /// An agent with an empty filter.
    pub fn new(setup: &DcohSetup) -> Dcoh {
        let trackers = setup.trackers as usize;
        assert!((1..=TRACKERS_MAX).contains(&setup.trackers) && setup.entries > 0);
        let filter = Filter::new(
            [setup.entries, setup.ways],
            setup.hosts,
            setup.victim,
            setup.blocks,
        );
        let sets = filter.sets() as usize;
        let per_eviction = BLOCK_LINES_MAX as usize;
        let eviction = |number: usize| Eviction {
            victims: None,
            pending: 0,
            queues: std::array::from_fn(|at| (sets + trackers + per_eviction * number + at) as u32),
        };
        let idle = Message {
            what: ToDevice::CleanEvict,
            peer: 0,
            line: 0,
            tag: 0,
            data: 0,
        };
        let tracker = |number| Tracker {
            request: idle,
            set: 0,
            entry: None,
            pending: 0,
            queue: sets as u32 + number as u32,
        };
        Dcoh {
            filter,
            trackers: (0..trackers).map(tracker).collect(),
            free_trackers: (0..setup.trackers).rev().collect(),
            evictions: (0..trackers).map(eviction).collect(),
            free_evictions: (0..setup.trackers).rev().collect(),
            freeing: vec![0; sets],
            starved: (vec![false; sets], 0),
            put_off: VecDeque::with_capacity(trackers),
            busy: LineIndex::new((1 + per_eviction) * trackers),
            waiting: Lists::new(
                (sets + (1 + per_eviction) * trackers) as u32,
                trackers as u32,
            ),
            backlog: VecDeque::with_capacity(setup.requests_max),
            ready: VecDeque::with_capacity(trackers),
            count: DcohCount::default(),
        }
    }

    /// What was counted so far.
    pub fn count(&self) -> &DcohCount {
        &self.count
    }

    /// Counts from 0 on again.
    pub fn reset_count(&mut self) {
        self.count = DcohCount::default();
    }

    /// Whether the filter knows that the host holds the line.
    pub fn knows(&self, line: u64, host: u32) -> bool {
        let entry = self.filter.find(line);
        entry.is_some_and(|entry| self.filter.is_owner(entry, host))
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.free_trackers.len() == self.trackers.len()
            && self.free_evictions.len() == self.evictions.len()
            && self.backlog.is_empty()
    }

    /// Whether requests wait for a tracker, or for an entry that no eviction will free because all
    /// have a transaction under way.
    pub fn is_short(&self) -> bool {
        !self.backlog.is_empty() || self.starved.1 > 0
    }

    /// Takes a message from the host `message.peer`. `index` picks the set of a request's line, by
    /// its remainder.
    pub fn receive(&mut self, message: M2s, index: u64, out: &mut Vec<DcohAction>) {
        match message.what {
            ToDevice::Read(_) | ToDevice::Own | ToDevice::Write => {
                self.count.requests += 1;
                let set = self.filter.set_at(index);
                self.backlog.push_back((message, set));
                self.admit();
            }
            ToDevice::CleanEvict => {
                self.count.clean_evictions += 1;
                self.dropped(message.line, message.peer, out);
                out.push(answer(&message, ToHost::Done(State::Invalid), 0));
            }
            ToDevice::WriteBack(keeps) => {
                self.count.write_backs += 1;
                out.push(DcohAction::Write {
                    line: message.line,
                    data: message.data,
                });
                // Behind the write, which it waits for, and before what the free entry allows.
                out.push(answer(&message, ToHost::Done(keeps), 0));
                match keeps {
                    State::Invalid => self.dropped(message.line, message.peer, out),
                    State::Shared => {
                        if let Some(entry) = self.filter.find(message.line) {
                            self.filter.set_exclusive(entry, false);
                        }
                    }
                    _ => {}
                }
            }
            ToDevice::Conflict => {
                self.count.conflicts += 1;
                out.push(answer(&message, ToHost::ConflictAck, 0));
            }
            ToDevice::Response { left, .. } => self.responded(&message, left, out),
        }
        self.work(out);
    }

    /// Memory has answered a [`DcohAction::Read`].
    pub fn data(&mut self, tracker: u16, data: u64, out: &mut Vec<DcohAction>) {
        let Tracker { request, entry, .. } = self.trackers[tracker as usize];
        let granted = match (request.what, entry) {
            (ToDevice::Read(Want::Shared), Some(entry)) => {
                let alone = self.filter.is_alone(entry, request.peer);
                self.grant(entry, request.peer, alone)
            }
            (ToDevice::Read(Want::Any), Some(entry)) => self.grant(entry, request.peer, true),
            _ => State::Invalid,
        };
        out.push(answer(&request, ToHost::Done(granted), 0));
        out.push(answer(&request, ToHost::Data, data));
        self.finish(tracker, out);
        self.work(out);
    }

    fn grant(&mut self, entry: u32, host: u32, exclusive: bool) -> State {
        self.filter.add_owner(entry, host);
        self.filter.set_exclusive(entry, exclusive);
        match exclusive {
            true => State::Exclusive,
            false => State::Shared,
        }
    }

    pub(super) fn is_ownerless(&self, entry: u32) -> bool {
        self.filter.owners(entry).iter().all(|word| *word == 0)
    }

    /// Gives waiting requests trackers, and those that have one their line.
    fn admit(&mut self) {
        while let (Some((request, set)), Some(tracker)) = (
            self.backlog.front().copied(),
            self.free_trackers.last().copied(),
        ) {
            self.backlog.pop_front();
            self.free_trackers.pop();
            let queue = self.trackers[tracker as usize].queue;
            self.trackers[tracker as usize].request = request;
            self.trackers[tracker as usize].set = set;
            match self.busy.get(request.line) {
                Some(list) => self.waiting.push_front(list, u32::from(tracker)),
                None => {
                    self.busy.set(request.line, queue);
                    let entry = self.filter.find(request.line);
                    if let Some(entry) = entry {
                        self.filter.set_busy(entry);
                    }
                    self.trackers[tracker as usize].entry = entry;
                    self.ready.push_back(tracker);
                }
            }
        }
    }

    fn work(&mut self, out: &mut Vec<DcohAction>) {
        while let Some(tracker) = self.ready.pop_front() {
            self.start(tracker, out);
            self.admit();
        }
    }

    fn start(&mut self, tracker: u16, out: &mut Vec<DcohAction>) {
        let Tracker {
            request,
            set,
            entry,
            ..
        } = self.trackers[tracker as usize];
        if let Some(entry) = entry {
            self.count.hits += 1;
            self.filter.touch(entry);
            self.resolve_conflict(tracker, entry, out);
        } else if matches!(
            request.what,
            ToDevice::Read(Want::Current) | ToDevice::Write
        ) {
            self.proceed(tracker, out);
        } else if let Some(entry) = self.filter.insert(request.line, set) {
            self.trackers[tracker as usize].entry = Some(entry);
            self.proceed(tracker, out);
        } else {
            self.count.waits_for_entry += 1;
            self.waiting.push_front(set, u32::from(tracker));
            self.note(set);
            self.make_room(set, out);
        }
    }

    /// Snoops the owners that may not keep the line as they have it.
    fn resolve_conflict(&mut self, tracker: u16, entry: u32, out: &mut Vec<DcohAction>) {
        let Message {
            what, peer, line, ..
        } = self.trackers[tracker as usize].request;
        let exclusive = self.filter.is_exclusive(entry);
        let want = match what {
            ToDevice::Read(Want::Current) if exclusive => Snoop::Current,
            ToDevice::Read(Want::Shared) if exclusive => Snoop::Data,
            ToDevice::Read(Want::Any) | ToDevice::Own | ToDevice::Write => Snoop::Invalidate,
            _ => return self.proceed(tracker, out),
        };
        let mut pending = 0;
        for (at, word) in self.filter.owners(entry).iter().enumerate() {
            for host in hosts_of(at, *word).filter(|host| *host != peer) {
                pending += 1;
                out.push(snoop(want, 1, host, line, tracker));
            }
        }
        self.count.conflict_snoops += u64::from(pending);
        self.trackers[tracker as usize].pending = pending;
        if pending == 0 {
            self.proceed(tracker, out);
        }
    }

    /// No other copy stands against the request any more.
    pub(super) fn proceed(&mut self, tracker: u16, out: &mut Vec<DcohAction>) {
        let Tracker { request, entry, .. } = self.trackers[tracker as usize];
        match request.what {
            ToDevice::Own => {
                let entry = entry.expect("an entry for a line that is to be held");
                let granted = self.grant(entry, request.peer, true);
                out.push(answer(&request, ToHost::Done(granted), 0));
                self.finish(tracker, out);
            }
            ToDevice::Write => {
                out.push(DcohAction::Write {
                    line: request.line,
                    data: request.data,
                });
                out.push(answer(&request, ToHost::Done(State::Invalid), 0));
                self.finish(tracker, out);
            }
            _ => out.push(DcohAction::Read {
                tracker,
                host: request.peer,
                tag: request.tag,
                line: request.line,
            }),
        }
    }

    fn finish(&mut self, tracker: u16, out: &mut Vec<DcohAction>) {
        let it = &mut self.trackers[tracker as usize];
        let (line, queue, entry) = (it.request.line, it.queue, it.entry.take());
        it.request.line = 0;
        let entry = match entry {
            Some(entry) if self.is_ownerless(entry) => {
                // A request that waits for the line comes to it later than this entry's next user.
                self.trackers[tracker as usize].queue = self.release(line, queue, None);
                self.vacate(entry, out);
                None
            }
            entry => {
                self.trackers[tracker as usize].queue = self.release(line, queue, entry);
                entry.filter(|_| self.busy.get(line).is_none())
            }
        };
        self.free_trackers.push(tracker);
        if let Some(entry) = entry {
            self.filter.set_idle(entry);
            self.make_room(self.filter.set_of(entry), out);
        }
        self.admit();
    }

    /// Lets the next request for the line have it, with its busy entry. The list of those that
    /// wait behind goes with the line; returns the one that its former holder has from now on.
    pub(super) fn release(&mut self, line: u64, queue: u32, entry: Option<u32>) -> u32 {
        let Some(next) = self.waiting.pop_back(queue) else {
            self.busy.remove(line);
            return queue;
        };
        self.ready.push_back(next as u16);
        let next = &mut self.trackers[next as usize];
        next.entry = entry;
        std::mem::replace(&mut next.queue, queue)
    }

    fn responded(&mut self, message: &M2s, left: State, out: &mut Vec<DcohAction>) {
        let trackers = self.trackers.len();
        match usize::from(message.tag).checked_sub(trackers) {
            Some(number) => {
                self.evictions[number].pending -= 1;
                if self.evictions[number].pending == 0 {
                    self.evicted(number, out);
                }
            }
            None => {
                let tracker = &mut self.trackers[message.tag as usize];
                tracker.pending -= 1;
                let (pending, entry) =
                    (tracker.pending, tracker.entry.expect("a conflict's entry"));
                match left {
                    State::Invalid => self.filter.remove_owner(entry, message.peer),
                    State::Shared => self.filter.set_exclusive(entry, false),
                    _ => {}
                }
                if pending == 0 {
                    self.proceed(message.tag, out);
                }
            }
        }
    }
}

pub(super) fn hosts_of(word: usize, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(64 * word as u32 + bit)
    })
}

fn answer(request: &M2s, what: ToHost, data: u64) -> DcohAction {
    DcohAction::Send(Message {
        what,
        peer: request.peer,
        line: request.line,
        tag: request.tag,
        data,
    })
}

pub(super) fn snoop(want: Snoop, lines: u8, host: u32, line: u64, tag: u16) -> DcohAction {
    DcohAction::Send(Message {
        what: ToHost::Snoop { want, lines },
        peer: host,
        line,
        tag,
        data: 0,
    })
}
