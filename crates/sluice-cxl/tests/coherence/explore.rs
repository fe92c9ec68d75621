//! Every state that two hosts, two lines and one device can reach, whatever order messages take.

use sluice_cxl::Channel;
use sluice_cxl::coherence::{
    Access, Blocks, Cache, CacheOut, CacheSetup, Dcoh, DcohAction, DcohSetup, M2s, Message,
    Replacement, S2m, State, ToHost, Victim,
};
use sluice_params::Registered;
use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::hash::{Hash, Hasher};

const HOSTS: usize = 2;
const LINES: u64 = 2;

/// Names of data: the last store's, any older, and that of a store that is not done.
const LAST: u64 = 1;
const OLD: u64 = 0;
const NEW: u64 = 2;

#[derive(Clone)]
struct World {
    caches: Vec<Cache>,
    agent: Dcoh,
    /// On their way to the device, in no order.
    up: Vec<M2s>,
    /// On their way to hosts, in no order.
    down: Vec<S2m>,
    /// Completions on their way, in order for each host.
    completions: Vec<VecDeque<S2m>>,
    /// Reads that memory has not answered: tracker, line, what it held.
    reads: Vec<(u16, u64, u64)>,
    memory: Vec<u64>,
    /// Per host and access number: line and whether it stores.
    accesses: Vec<Vec<Option<(u64, bool)>>>,
    second_lines: u64,
    ordered: bool,
    /// Its number in the order of finding. Not part of the state.
    number: usize,
}

/// One thing that can happen next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access(usize, usize, u64, bool),
    Up(usize),
    Down(usize),
    Completion(usize),
    Memory(usize),
}

/// 128 bits of a state: no two of some millions are the same but by a chance of 2^-80.
struct Print([u64; 2]);

impl Hasher for Print {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56;
            for (lane, factor) in [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93]
                .iter()
                .enumerate()
            {
                let mixed = (self.0[lane] ^ word).wrapping_mul(*factor);
                self.0[lane] = mixed ^ mixed >> 29 ^ mixed.rotate_left(17);
            }
        }
    }

    fn finish(&self) -> u64 {
        self.0[0]
    }
}

fn print_of(thing: &impl Hash) -> u128 {
    let mut print = Print([1, 2]);
    thing.hash(&mut print);
    u128::from(print.0[0]) << 64 | u128::from(print.0[1])
}

/// Which system is explored.
#[derive(Clone, Copy, Debug)]
struct Case {
    cache_lines: u32,
    entries: u32,
    trackers: u16,
    notify: bool,
    /// Accesses that a host has outstanding.
    accesses: u32,
    /// Lines that the second host accesses.
    second_lines: u64,
    /// Whether completions keep their order, as they must.
    ordered: bool,
}

impl World {
    fn new(case: &Case) -> World {
        let cache = CacheSetup {
            lines: case.cache_lines,
            ways: case.cache_lines,
            replacement: Replacement::Lru,
            notify: case.notify,
            accesses: case.accesses,
            watched: false,
        };
        let agent = DcohSetup {
            hosts: HOSTS as u32,
            entries: case.entries,
            ways: case.entries,
            trackers: case.trackers,
            requests_max: 8,
            victim: Victim::named("fifo").unwrap(),
            blocks: Blocks {
                lines_max: 1,
                aligned: true,
                extends: false,
            },
        };
        World {
            caches: vec![Cache::new(&cache); HOSTS],
            agent: Dcoh::new(&agent),
            up: Vec::new(),
            down: Vec::new(),
            completions: vec![VecDeque::new(); HOSTS],
            reads: Vec::new(),
            memory: vec![LAST; LINES as usize],
            accesses: vec![vec![None; case.accesses as usize]; HOSTS],
            second_lines: case.second_lines,
            ordered: case.ordered,
            number: 0,
        }
    }

    /// Messages in no order are a set: their prints, sorted.
    fn print(&self) -> u128 {
        let mut loose: Vec<u128> = self.up.iter().map(print_of).collect();
        loose.extend(self.down.iter().map(print_of));
        loose.extend(self.reads.iter().map(print_of));
        loose.sort_unstable();
        let rest = (&self.caches, &self.agent, &self.completions);
        print_of(&(loose, rest, &self.memory, &self.accesses))
    }

    fn steps(&self, new_accesses: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        steps.extend((0..self.up.len()).map(Step::Up));
        steps.extend((0..self.down.len()).map(Step::Down));
        let waiting = (0..HOSTS).filter(|host| !self.completions[*host].is_empty());
        steps.extend(waiting.map(Step::Completion));
        steps.extend((0..self.reads.len()).map(Step::Memory));
        for host in 0..HOSTS {
            // Numbers are alike, so that only the first free one is used.
            let free = self.accesses[host].iter().position(Option::is_none);
            let lines = [LINES, self.second_lines][host];
            for line in (0..lines).filter(|_| new_accesses) {
                let asked = self.accesses[host]
                    .iter()
                    .flatten()
                    .any(|(it, _)| *it == line);
                if let (Some(number), false) = (free, asked) {
                    steps.extend([false, true].map(|st| Step::Access(host, number, line, st)));
                }
            }
        }
        steps
    }

    /// What a step is, with the message that it delivers.
    fn tell(&self, step: Step) -> String {
        match step {
            Step::Up(at) => format!("{:?}", self.up[at]),
            Step::Down(at) => format!("{:?}", self.down[at]),
            Step::Completion(host) => format!("{:?}", self.completions[host][0]),
            step => format!("{step:?}"),
        }
    }

    fn step(&mut self, step: Step) -> Result<(), Box<dyn Error>> {
        let mut out = CacheOut::default();
        let mut actions = Vec::new();
        match step {
            Step::Access(host, number, line, store) => {
                self.accesses[host][number] = Some((line, store));
                let stamp = store.then_some(NEW);
                let cache = &mut self.caches[host];
                match cache.access(number as u32, [line; 2], stamp, &mut out) {
                    Access::Hit(data) => out.done.push((number as u32, data)),
                    Access::Waits => {}
                }
                self.host_said(host, out)?;
            }
            Step::Completion(host) => {
                let message = self.completions[host].pop_front().unwrap();
                self.caches[host].receive(Message { peer: 0, ..message }, &mut out);
                self.host_said(host, out)?;
            }
            Step::Down(at) => {
                let message = self.down.swap_remove(at);
                let host = message.peer as usize;
                self.caches[host].receive(Message { peer: 0, ..message }, &mut out);
                self.host_said(host, out)?;
            }
            Step::Up(at) => {
                let message = self.up.swap_remove(at);
                self.agent.receive(message, message.line, &mut actions);
                self.agent_did(actions);
            }
            Step::Memory(at) => {
                let (tracker, _, data) = self.reads.swap_remove(at);
                self.agent.data(tracker, data, &mut actions);
                self.agent_did(actions);
            }
        }
        self.check()
    }

    fn agent_did(&mut self, actions: Vec<DcohAction>) {
        for action in actions {
            match action {
                DcohAction::Send(message) => match message.what.channel() {
                    Channel::Ndr if self.ordered => {
                        self.completions[message.peer as usize].push_back(message)
                    }
                    _ => self.down.push(message),
                },
                DcohAction::Write { line, data } => self.memory[line as usize] = data,
                DcohAction::Read { tracker, line, .. } => {
                    self.reads.push((tracker, line, self.memory[line as usize]));
                }
            }
        }
    }

    fn host_said(&mut self, host: usize, out: CacheOut) -> Result<(), Box<dyn Error>> {
        let peer = host as u32;
        self.up
            .extend(out.send.iter().map(|sent| Message { peer, ..*sent }));
        for (number, data) in out.done {
            let done = self.accesses[host][number as usize].take();
            match done.ok_or("an access that was done twice")? {
                (line, true) => self.stored(line),
                (_, false) if data == LAST => {}
                (line, false) => {
                    return Err(format!("host {host} read old data of {line}").into());
                }
            }
        }
        Ok(())
    }

    /// What was last is old now, everywhere.
    fn stored(&mut self, line: u64) {
        let name = |of: u64, data: u64| match data {
            LAST if of == line => OLD,
            NEW if of == line => LAST,
            data => data,
        };
        self.caches.iter_mut().for_each(|cache| cache.rename(name));
        self.agent.rename(name);
        self.up
            .iter_mut()
            .for_each(|it| it.data = name(it.line, it.data));
        self.down
            .iter_mut()
            .for_each(|it| it.data = name(it.line, it.data));
        self.reads.iter_mut().for_each(|it| it.2 = name(it.1, it.2));
        self.memory[line as usize] = name(line, self.memory[line as usize]);
    }

    fn check(&self) -> Result<(), Box<dyn Error>> {
        for line in 0..LINES {
            let states = self.caches.iter().map(|cache| cache.state(line));
            let held = states
                .clone()
                .filter(|state| *state != State::Invalid)
                .count();
            let writers = states
                .clone()
                .filter(|state| *state >= State::Exclusive)
                .count();
            if writers > 1 || writers == 1 && held > 1 {
                let states: Vec<State> = states.collect();
                return Err(format!("line {line}: {states:?}").into());
            }
            for (host, state) in states.enumerate() {
                if state != State::Invalid && !self.agent.knows(line, host as u32) {
                    let what = format!("line {line}: the filter does not know of host {host}");
                    return Err(what.into());
                }
            }
        }
        Ok(())
    }

    /// Lets messages arrive until there are none, or the rest is known to end well; then nothing
    /// may be under way.
    fn drain(mut self, ends: &mut BTreeSet<u128>) -> Result<(), Box<dyn Error>> {
        const STEPS_MAX: usize = 300;
        for _ in 0..STEPS_MAX {
            if !ends.insert(self.print()) {
                return Ok(());
            }
            let Some(step) = self.steps(false).first().copied() else {
                let quiet = self.agent.is_quiet() && self.caches.iter().all(Cache::is_quiet);
                let waits = self.accesses.iter().flatten().any(Option::is_some);
                return match quiet && !waits {
                    true => Ok(()),
                    false => Err("nothing moves, and something waits".into()),
                };
            };
            self.step(step)?;
        }
        Err("messages without end".into())
    }
}

/// What an exploration saw.
#[derive(Default)]
struct Seen {
    states: usize,
    steps: usize,
    conflicts: usize,
}

fn explore(case: &Case) -> Result<Seen, Box<dyn Error>> {
    let mut seen = Seen::default();
    let first = World::new(case);
    let (mut known, mut ends) = (BTreeSet::from([first.print()]), BTreeSet::new());
    let mut frontier = VecDeque::from([first]);
    // Per state: the one that it was found from, and how.
    let mut from = vec![(0, None)];
    while let Some(world) = frontier.pop_front() {
        let ended = world.clone().drain(&mut ends);
        ended.map_err(|error| path(case, &from, world.number, &*error))?;
        for step in world.steps(true) {
            let mut next = world.clone();
            next.number = from.len();
            from.push((world.number, Some(step)));
            next.step(step)
                .map_err(|error| path(case, &from, next.number, &*error))?;
            seen.steps += 1;
            if known.insert(next.print()) {
                let acks = next.completions.iter().flatten();
                seen.conflicts += acks.filter(|it| it.what == ToHost::ConflictAck).count();
                frontier.push_back(next);
            } else {
                from.pop();
            }
        }
    }
    seen.states = known.len();
    Ok(seen)
}

/// An error with the shortest way to it.
fn path(case: &Case, from: &[(usize, Option<Step>)], mut at: usize, error: &dyn Error) -> String {
    let mut steps = Vec::new();
    while let (before, Some(step)) = from[at] {
        steps.push(step);
        at = before;
    }
    let mut world = World::new(case);
    let mut told = format!("{case:?}: {error}, after");
    for step in steps.into_iter().rev() {
        told += &format!("\n{}", world.tell(step));
        _ = world.step(step);
    }
    told
}

const SMALL: Case = Case {
    cache_lines: 1,
    entries: 1,
    trackers: 1,
    notify: false,
    accesses: 1,
    second_lines: LINES,
    ordered: true,
};

#[test]
fn no_order_of_messages_breaks_coherence_or_stops_anything() {
    let two = Case {
        cache_lines: 2,
        trackers: 2,
        ..SMALL
    };
    let cases = [
        // Everything is evicted, by caches and by the filter.
        SMALL,
        // Caches notify devices of clean evictions; that takes many more states.
        Case {
            notify: true,
            second_lines: 1,
            ..SMALL
        },
        // The filter takes away what the caches could hold.
        two,
        // Nothing is evicted: conflicts alone.
        Case { entries: 2, ..two },
    ];
    for case in &cases {
        let seen = explore(case).unwrap_or_else(|error| panic!("{error}"));
        println!(
            "{case:?}: {} states, {} steps, {} states with an acknowledged conflict",
            seen.states, seen.steps, seen.conflicts
        );
        assert!(seen.conflicts > 0);
    }
}

/// Which lines are held, whose they are and which came first decides what the agent does next.
#[test]
fn what_the_filter_knows_tells_states_apart() {
    let case = Case {
        cache_lines: 2,
        entries: 2,
        trackers: 2,
        ..SMALL
    };
    let stores: [&[(usize, u64)]; 7] = [
        &[],
        &[(0, 0)],
        &[(0, 1)],
        &[(1, 0)],
        &[(1, 1)],
        &[(0, 0), (0, 1)],
        &[(0, 1), (0, 0)],
    ];
    let prints = stores.map(|stores| {
        let mut world = World::new(&case);
        for (host, line) in stores {
            world.step(Step::Access(*host, 0, *line, true)).unwrap();
            while let Some(step) = world.steps(false).first().copied() {
                world.step(step).unwrap();
            }
        }
        print_of(&world.agent)
    });
    assert_eq!(BTreeSet::from(prints).len(), stores.len());
}

/// The exploration does find what is wrong: the conflict handshake rests on this order.
#[test]
fn completions_that_overtake_each_other_are_caught() {
    let case = Case {
        ordered: false,
        ..SMALL
    };
    let error = explore(&case).err().expect("an incoherence");
    let error = error.to_string();
    println!("{error}");
    assert!(error.contains("ConflictAck"), "{error}");
}
