//! Larger systems under random orders of messages, watched by the monitor.

use proptest::prelude::*;
use sluice_cxl::coherence::{
    Access, Blocks, Cache, CacheOut, CacheSetup, Dcoh, DcohAction, DcohSetup, M2s, Message,
    Monitor, Replacement, S2m, State, ToDevice, ToHost, VICTIMS, Want,
};
use sluice_cxl::{Channel, Layout, decode, encode};
use sluice_units::Rng;
use std::collections::VecDeque;
use std::error::Error;

const LINES: u64 = 12;
const ACCESSES: u32 = 3;

/// Hosts with caches, one host without, an agent, and all that is between them.
struct World {
    caches: Vec<Cache>,
    agent: Dcoh,
    up: Vec<M2s>,
    down: Vec<S2m>,
    completions: Vec<VecDeque<S2m>>,
    reads: Vec<(u16, u64, u64)>,
    monitor: Monitor,
    /// Every value that a line had, in order.
    values: Vec<Vec<u64>>,
    memory: Vec<u64>,
    /// Per host and access number, what is outstanding.
    accesses: Vec<Vec<Option<Asked>>>,
    /// What the host without a cache waits for.
    plain: Option<Plain>,
    stores: u64,
    rng: Rng,
}

/// An access: its line, and what it stores.
type Asked = (u64, Option<u64>);

/// A request of the host without a cache.
struct Plain {
    line: u64,
    /// Values that the line had had when it was sent.
    before: usize,
    /// Messages to come: a completion, and data for a read.
    to_come: u32,
}

#[derive(Clone, Debug)]
struct Case {
    hosts: u32,
    entries: u32,
    sets: u32,
    trackers: u16,
    policy: usize,
    blocks: Blocks,
    ways: u32,
    lines: u32,
    fifo: bool,
    notify: bool,
    lets_go: bool,
    seed: u64,
}

impl World {
    fn new(case: &Case) -> World {
        let cache = CacheSetup {
            lines: case.ways * case.lines,
            ways: case.ways,
            replacement: [Replacement::Lru, Replacement::Fifo][usize::from(case.fifo)],
            notify: case.notify,
            accesses: ACCESSES,
            watched: true,
        };
        let agent = DcohSetup {
            hosts: case.hosts + 1,
            entries: case.entries * case.sets,
            ways: case.entries,
            trackers: case.trackers,
            requests_max: (case.hosts * ACCESSES) as usize + 1,
            victim: &VICTIMS[case.policy],
            blocks: case.blocks,
        };
        World {
            caches: (0..case.hosts).map(|_| Cache::new(&cache)).collect(),
            agent: Dcoh::new(&agent),
            up: Vec::new(),
            down: Vec::new(),
            completions: vec![VecDeque::new(); case.hosts as usize + 1],
            reads: Vec::new(),
            monitor: Monitor::default(),
            values: vec![vec![0]; LINES as usize],
            memory: vec![0; LINES as usize],
            accesses: vec![vec![None; ACCESSES as usize]; case.hosts as usize],
            plain: None,
            stores: 0,
            rng: Rng::stream(case.seed, "walk"),
        }
    }

    fn pick(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }

    fn access(&mut self) -> Result<(), Box<dyn Error>> {
        let (host, line) = (self.pick(self.caches.len() + 1), self.rng.below(LINES));
        self.stores += 1;
        let store = (self.rng.below(3) == 0).then_some(self.stores);
        if host == self.caches.len() {
            if self.plain.is_none() {
                self.plain = Some(Plain {
                    line,
                    before: self.values[line as usize].len(),
                    to_come: if store.is_some() { 1 } else { 2 },
                });
                self.up.push(Message {
                    what: store.map_or(ToDevice::Read(Want::Current), |_| ToDevice::Write),
                    peer: host as u32,
                    line,
                    tag: 0,
                    data: self.stores,
                });
            }
            return Ok(());
        }
        let Some(number) = self.accesses[host].iter().position(Option::is_none) else {
            return Ok(());
        };
        self.accesses[host][number] = Some((line, store));
        let mut out = CacheOut::default();
        match self.caches[host].access(number as u32, [line; 2], store, &mut out) {
            Access::Hit(data) => out.done.push((number as u32, data)),
            Access::Waits => {}
        }
        self.said(host, out)
    }

    /// A host drops a line for reasons of its own, if it has one.
    fn let_go(&mut self) -> Result<(), Box<dyn Error>> {
        let (host, line) = (self.pick(self.caches.len()), self.rng.below(LINES));
        let mut out = CacheOut::default();
        self.caches[host].let_go(line, &mut out);
        let state = self.caches[host].state(line);
        if !self.caches[host].is_asked(line) && state != State::Invalid {
            return Err(format!("host {host} let go of {line} and has it as {state:?}").into());
        }
        self.said(host, out)
    }

    fn said(&mut self, host: usize, out: CacheOut) -> Result<(), Box<dyn Error>> {
        let peer = host as u32;
        let sent = out.send.iter().map(|sent| Message { peer, ..*sent });
        self.up.extend(sent.map(up_the_wire));
        for (line, state) in out.changes {
            self.monitor.changed(peer, line, state)?;
        }
        for (number, data) in out.done {
            match self.accesses[host][number as usize].take() {
                Some((line, Some(stamp))) => self.stored(line, stamp),
                Some((line, None)) => {
                    // Stores that follow in the same call have other lines or come later.
                    self.monitor.loaded(peer, line, data)?;
                }
                None => return Err("an access that was done twice".into()),
            }
        }
        Ok(())
    }

    fn stored(&mut self, line: u64, stamp: u64) {
        self.monitor.stored(line, stamp);
        self.values[line as usize].push(stamp);
    }

    fn did(&mut self, actions: Vec<DcohAction>, cause: Option<M2s>) {
        for action in actions {
            match action {
                DcohAction::Send(message) => match message.what.channel() {
                    Channel::Ndr => {
                        let message = down_the_wire(message);
                        self.completions[message.peer as usize].push_back(message);
                    }
                    _ => self.down.push(down_the_wire(message)),
                },
                DcohAction::Write { line, data } => {
                    // A store by the host without a cache is done when memory has it.
                    let by_cache = cause.is_some_and(|cause| {
                        matches!(cause.what, ToDevice::WriteBack(_)) && cause.data == data
                    });
                    if !by_cache {
                        self.stored(line, data);
                    }
                    self.memory[line as usize] = data;
                }
                DcohAction::Read { tracker, line, .. } => {
                    self.reads.push((tracker, line, self.memory[line as usize]));
                }
            }
        }
    }

    /// One message arrives, or memory answers. Returns whether there was anything.
    fn deliver(&mut self) -> Result<bool, Box<dyn Error>> {
        let waiting: Vec<usize> = (0..self.completions.len())
            .filter(|host| !self.completions[*host].is_empty())
            .collect();
        let all = self.up.len() + self.down.len() + waiting.len() + self.reads.len();
        if all == 0 {
            return Ok(false);
        }
        let mut at = self.pick(all);
        if at < self.up.len() {
            let message = self.up.swap_remove(at);
            let mut actions = Vec::new();
            self.agent.receive(message, message.line, &mut actions);
            self.did(actions, Some(message));
            return Ok(true);
        }
        at -= self.up.len();
        if at < self.reads.len() {
            let (tracker, _, data) = self.reads.swap_remove(at);
            let mut actions = Vec::new();
            self.agent.data(tracker, data, &mut actions);
            self.did(actions, None);
            return Ok(true);
        }
        at -= self.reads.len();
        let message = match at < self.down.len() {
            true => self.down.swap_remove(at),
            false => self.completions[waiting[at - self.down.len()]]
                .pop_front()
                .unwrap(),
        };
        self.arrive(message).map(|()| true)
    }

    fn arrive(&mut self, message: S2m) -> Result<(), Box<dyn Error>> {
        let host = message.peer as usize;
        if host < self.caches.len() {
            let mut out = CacheOut::default();
            self.caches[host].receive(Message { peer: 0, ..message }, &mut out);
            return self.said(host, out);
        }
        let plain = self.plain.as_mut().ok_or("an answer that nobody wants")?;
        plain.to_come -= 1;
        match message.what {
            ToHost::Data => {
                let seen = &self.values[plain.line as usize][plain.before - 1..];
                if !seen.contains(&message.data) {
                    let what = format!("line {}: old data {}", plain.line, message.data);
                    return Err(what.into());
                }
            }
            ToHost::Done(State::Invalid) => {}
            other => {
                return Err(format!("{other:?} to a host without a cache").into());
            }
        }
        if plain.to_come == 0 {
            self.plain = None;
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Box<dyn Error>> {
        let waits = self.accesses.iter().flatten().any(Option::is_some) || self.plain.is_some();
        let quiet = self.agent.is_quiet() && self.caches.iter().all(Cache::is_quiet);
        for line in 0..LINES {
            for (host, cache) in self.caches.iter().enumerate() {
                let held = cache.state(line) != State::Invalid;
                if held && !self.agent.knows(line, host as u32) {
                    let what = format!("the filter does not know that {host} holds {line}");
                    return Err(what.into());
                }
            }
        }
        match waits || !quiet {
            true => Err("nothing moves, and something waits".into()),
            false => Ok(()),
        }
    }
}

/// A message as the device reads it in the bits that CXL has for it. Data go beside.
fn up_the_wire(sent: M2s) -> M2s {
    let bits = encode(&sent.to_wire(0), Layout::Pbr).unwrap();
    let wire = decode(sent.what.channel(), bits, Layout::Pbr).unwrap();
    let read = M2s::of_wire(&wire, sent.peer).expect("a message of a host");
    let data = sent.data;
    Message { data, ..read }
}

/// A message as the host reads it in CXL's bits; runs of lines that CXL cannot name pass by.
fn down_the_wire(sent: S2m) -> S2m {
    let Some(wire) = sent.to_wire(0) else {
        let run = |lines| lines > 1 && (lines == 3 || !sent.line.is_multiple_of(u64::from(lines)));
        assert!(matches!(sent.what, ToHost::Snoop { lines, .. } if run(lines)));
        return sent;
    };
    let bits = encode(&wire, Layout::Pbr).unwrap();
    let wire = decode(sent.what.channel(), bits, Layout::Pbr).unwrap();
    let read = S2m::of_wire(&wire, sent.peer).expect("a message of a device");
    let data = sent.data;
    Message { data, ..read }
}

fn walk(case: &Case, steps: usize) -> Result<u64, Box<dyn Error>> {
    let mut world = World::new(case);
    for _ in 0..steps {
        // Bursts of accesses between stretches in which messages catch up.
        match world.rng.below(16) {
            0..=3 => world.access()?,
            4 if case.lets_go => world.let_go()?,
            _ => _ = world.deliver()?,
        }
    }
    while world.deliver()? {}
    world.end()?;
    Ok(world.monitor.checked())
}

fn cases() -> impl Strategy<Value = Case> {
    let blocks = (1u8..=4, any::<(bool, bool)>());
    let blocks = blocks.prop_map(|(lines_max, (aligned, extends))| Blocks {
        lines_max,
        aligned,
        extends,
    });
    let hosts = prop_oneof![1u32..5, Just(70)];
    let filter = (1u32..12, 1u32..5);
    let system = (hosts, filter, 1u16..8, 0..VICTIMS.len(), blocks);
    (
        system,
        1u32..4,
        1u32..4,
        any::<(bool, bool)>(),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(
            |(
                (hosts, (entries, sets), trackers, policy, blocks),
                ways,
                lines,
                (fifo, lets_go),
                notify,
                seed,
            )| Case {
                hosts,
                entries,
                sets,
                trackers,
                policy,
                blocks,
                ways,
                lines,
                fifo,
                notify,
                lets_go,
                seed,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(400)))]

    #[test]
    fn any_system_stays_coherent_under_any_order(case in cases()) {
        let checked = walk(&case, 3_000);
        prop_assert!(checked.is_ok(), "{:?}", checked);
        prop_assert!(checked.unwrap() > 100);
    }
}

/// A walk ends when nothing is under way, which a request of a host alone is.
#[test]
fn a_cache_whose_request_is_not_answered_is_not_quiet() {
    let mut cache = Cache::new(&CacheSetup {
        lines: 4,
        ways: 2,
        replacement: Replacement::Lru,
        notify: true,
        accesses: 1,
        watched: true,
    });
    let mut out = CacheOut::default();
    assert!(cache.is_quiet());
    assert!(matches!(
        cache.access(0, [7; 2], None, &mut out),
        Access::Waits
    ));
    assert!(!cache.is_quiet());
    let asked = out.send[0];
    for what in [ToHost::Done(State::Exclusive), ToHost::Data] {
        assert!(!cache.is_quiet());
        let answer = Message {
            what,
            peer: 0,
            line: 7,
            tag: asked.tag,
            data: 5,
        };
        cache.receive(answer, &mut out);
    }
    assert!(cache.is_quiet());
    assert_eq!(out.done, [(0, 5)]);
}
