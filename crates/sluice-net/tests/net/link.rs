//! One link between a host and a memory, against a slow twin of it: full and half duplex, with
//! and without credits.

use crate::rig::{drain, fabric, spec};
use sluice_net::{
    Access, Completed, Fabric, FabricSpec, Group, LinkId, LinkSpec, Part, RequesterId,
};
use sluice_units::{Ps, Rng};
use std::collections::VecDeque;

/// What differs from run to run. Times are in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Given {
    mb_s: u64,
    width: u64,
    header: u64,
    /// Turnaround and burst, if the directions share the wires.
    half: Option<(u64, u64)>,
    credits: Option<u64>,
    read: u64,
    write: u64,
}

const LATENCY: u64 = 13_001;
const PORT: u64 = 3_003;
const CONTROLLER: u64 = 7_007;
const HOST: u64 = 5_005;

/// A packet: its request, and whether it goes back.
#[derive(Clone, Copy)]
struct Packet {
    tag: usize,
    back: bool,
}

#[derive(Clone, Copy)]
enum What {
    /// A host issues its request, or a memory has served it: it goes to its port.
    Leave(Packet),
    /// It wants a credit, then the wires.
    Ready(Packet),
    /// Shared wires are given to the next.
    Grant,
    Arrive(Packet),
    /// Room for a packet of this way and kind is known.
    Credit(bool, bool),
}

/// A request: when it is issued, whether it writes, when it came back.
struct Request {
    at: u64,
    is_write: bool,
    done: u64,
}

struct Twin {
    given: Given,
    requests: Vec<Request>,
    due: Vec<(u64, u64, What)>,
    added: u64,
    /// By way (and by kind: with data or without), credits taken, and the packets that wait for
    /// one.
    taken: [[u64; 2]; 2],
    wait: [[VecDeque<Packet>; 2]; 2],
    /// When the wires of each way are free; of shared ones the first counts.
    free: [u64; 2],
    queues: [VecDeque<(u64, Packet)>; 2],
    last: Option<(usize, u64)>,
    is_granting: bool,
    busy: [u64; 2],
    /// Which way was busy, from when until when.
    spells: Vec<(usize, u64, u64)>,
    bytes: [u64; 2],
    waited: u64,
    /// The longest wait of each way.
    longest: [u64; 2],
    /// When each packet became ready, there and back.
    ready: Vec<[u64; 2]>,
}

impl Twin {
    fn add(&mut self, at: u64, what: What) {
        self.added += 1;
        self.due.push((at, self.added, what));
    }

    /// How long wires were busy with packets of a way between two moments.
    fn busy_between(&self, way: usize, from: u64, until: u64) -> u64 {
        let spells = self.spells.iter().filter(|(of, ..)| *of == way);
        let within = spells.map(|(_, start, end)| {
            let (start, end) = ((*start).max(from), (*end).min(until));
            end.saturating_sub(start)
        });
        within.sum()
    }

    fn has_data(&self, packet: Packet) -> bool {
        self.requests[packet.tag].is_write != packet.back
    }

    fn run(&mut self) {
        for tag in 0..self.requests.len() {
            let packet = Packet { tag, back: false };
            self.add(self.requests[tag].at + HOST, What::Leave(packet));
        }
        while let Some(first) =
            (0..self.due.len()).min_by_key(|it| (self.due[*it].0, self.due[*it].1))
        {
            let (now, _, what) = self.due.remove(first);
            match what {
                What::Leave(packet) => self.add(now + PORT, What::Ready(packet)),
                What::Ready(packet) => self.ready(now, packet),
                What::Grant => self.grant(now),
                What::Arrive(packet) => self.arrive(now, packet),
                What::Credit(back, has_data) => {
                    let (way, kind) = (usize::from(back), usize::from(has_data));
                    match self.wait[way][kind].pop_front() {
                        Some(packet) => self.wants_wires(now, packet),
                        None => self.taken[way][kind] -= 1,
                    }
                }
            }
        }
    }

    fn ready(&mut self, now: u64, packet: Packet) {
        let (way, kind) = (usize::from(packet.back), usize::from(self.has_data(packet)));
        self.ready[packet.tag][way] = now;
        match self.given.credits {
            Some(all) if self.taken[way][kind] == all => self.wait[way][kind].push_back(packet),
            _ => {
                self.taken[way][kind] += 1;
                self.wants_wires(now, packet);
            }
        }
    }

    fn wants_wires(&mut self, now: u64, packet: Packet) {
        if self.given.half.is_none() {
            return self.transmit(now, packet, usize::from(packet.back));
        }
        self.queues[usize::from(packet.back)].push_back((now, packet));
        self.wake(now);
    }

    fn wake(&mut self, now: u64) {
        let waits = self.queues.iter().any(|queue| !queue.is_empty());
        if waits && !std::mem::replace(&mut self.is_granting, true) {
            self.add(now.max(self.free[0]), What::Grant);
        }
    }

    /// The side that sent last goes on until its burst is over and the other waits.
    fn grant(&mut self, now: u64) {
        self.is_granting = false;
        let (turnaround, burst) = self.given.half.expect("shared wires");
        let (side, run) = self.last.unwrap_or((0, 0));
        let [mine, other] = [side, 1 - side].map(|side| !self.queues[side].is_empty());
        let goes_on = mine && (run < burst || !other);
        let next = if goes_on { side } else { 1 - side };
        let turns = self.last.is_some() && next != side;
        self.last = Some((next, if next == side { run + 1 } else { 1 }));
        let (_, packet) = self.queues[next].pop_front().expect("somebody waits");
        self.transmit(now + if turns { turnaround } else { 0 }, packet, 0);
        self.wake(now);
    }

    fn transmit(&mut self, now: u64, packet: Packet, wires: usize) {
        let bytes = if self.has_data(packet) {
            64
        } else {
            self.given.header
        };
        let bytes = bytes.next_multiple_of(self.given.width);
        let time = (bytes * 1_000_000).div_ceil(self.given.mb_s);
        let way = usize::from(packet.back);
        let start = now.max(self.free[wires]);
        self.free[wires] = start + time;
        self.busy[way] += time;
        self.spells.push((way, start, start + time));
        self.bytes[way] += bytes;
        let waited = start - self.ready[packet.tag][way];
        self.waited += waited;
        self.longest[way] = self.longest[way].max(waited);
        self.add(start + time + LATENCY + PORT, What::Arrive(packet));
    }

    fn arrive(&mut self, now: u64, packet: Packet) {
        if self.given.credits.is_some() {
            let has_data = self.has_data(packet);
            self.add(now + LATENCY, What::Credit(packet.back, has_data));
        }
        let it = &mut self.requests[packet.tag];
        if packet.back {
            it.done = now;
            return;
        }
        let memory = if it.is_write {
            self.given.write
        } else {
            self.given.read
        };
        let back = Packet {
            back: true,
            ..packet
        };
        self.add(now + CONTROLLER + memory, What::Leave(back));
    }
}

fn described(given: Given) -> FabricSpec {
    let ps = |ps: u64| format!("{ps}ps");
    let (turnaround, burst) = given.half.unwrap_or((0, 1));
    let set = [
        ("topology.kind", "list".to_owned()),
        ("requester.count", "1".to_owned()),
        ("requester.pattern", "external".to_owned()),
        ("requester.depth", "1000".to_owned()),
        ("requester.process", ps(HOST - 5)),
        ("requester.cache_access", ps(5)),
        ("endpoint.count", "1".to_owned()),
        ("endpoint.controller", ps(CONTROLLER)),
        ("endpoint.read", ps(given.read)),
        ("endpoint.write", ps(given.write)),
        ("packet.header", given.header.to_string()),
        ("link.bandwidth", given.mb_s.to_string()),
        ("link.width", given.width.to_string()),
        ("link.latency", ps(LATENCY)),
        ("link.port_latency", ps(PORT)),
        (
            "link.duplex",
            if given.half.is_some() { "half" } else { "full" }.to_owned(),
        ),
        ("link.turnaround", ps(turnaround)),
        ("link.burst", burst.to_string()),
        (
            "link.credits",
            given.credits.map_or("none".to_owned(), |it| it.to_string()),
        ),
    ];
    let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (*key, &**value)).collect();
    let mut described = spec(&set);
    let group = |name: &str| Group {
        name: name.to_owned(),
        set: vec![("count".to_owned(), "1".to_owned())],
        ..Group::default()
    };
    (described.requesters, described.endpoints) = (vec![group("h")], vec![group("m")]);
    described.links = vec![LinkSpec {
        ends: ["h".to_owned(), "m".to_owned()],
        set: Vec::new(),
    }];
    described
}

/// A twin with requests to make.
fn twin(given: Given, seed: u64) -> Twin {
    let mut rng = Rng::stream(seed, "requests");
    let mut at = 0;
    let mut request = |_| {
        at += rng.below(2 * 64_000_000 / given.mb_s);
        Request {
            at,
            is_write: rng.below(5) < 2,
            done: 0,
        }
    };
    let count = 300;
    Twin {
        given,
        requests: (0..count).map(&mut request).collect(),
        due: Vec::new(),
        added: 0,
        taken: [[0; 2]; 2],
        wait: Default::default(),
        free: [0; 2],
        queues: Default::default(),
        last: None,
        is_granting: false,
        busy: [0; 2],
        spells: Vec::new(),
        bytes: [0; 2],
        waited: 0,
        longest: [0; 2],
        ready: vec![[0; 2]; count],
    }
}

/// Sends a twin's requests over the fabric; `before` each of them something else may happen.
fn send(
    fabric: &mut Fabric,
    twin: &Twin,
    before: &mut dyn FnMut(&mut Fabric, u64),
) -> Vec<Completed> {
    let mut done = Vec::new();
    for (tag, request) in (0..).zip(&twin.requests) {
        fabric
            .advance(Ps(request.at), &mut |it| done.push(it))
            .unwrap();
        before(fabric, tag);
        let access = Access {
            addr: tag * 64,
            is_write: request.is_write,
        };
        fabric
            .send(Ps(request.at), RequesterId(0), access, tag)
            .unwrap();
    }
    done.extend(drain(fabric));
    fabric.balance().unwrap_or_else(|error| panic!("{error}"));
    done
}

fn check(given: Given, seed: u64) {
    let mut fabric = fabric(&described(given));
    let mut twin = twin(given, seed);
    let count = twin.requests.len();
    let done = send(&mut fabric, &twin, &mut |_, _| ());
    twin.run();
    assert_eq!(done.len(), count);
    for it in &done {
        let expected = &twin.requests[it.tag as usize];
        assert_eq!(it.at, Ps(expected.done), "{seed}: {} of {given:?}", it.tag);
        assert_eq!(it.latency, Ps(expected.done - expected.at));
    }
    compare(&fabric, &twin);
}

/// Holds what was counted against the twin.
fn compare(fabric: &Fabric, twin: &Twin) {
    let (given, count) = (twin.given, twin.requests.len());
    let (links, ways) = (fabric.links(), LinkId(0).directions());
    let parts = fabric.stats().parts();
    assert_eq!(parts[Part::LinkQueue], twin.waited.into());
    let busy: u64 = twin.busy.iter().sum();
    assert_eq!(parts[Part::Serialisation], busy.into());
    assert_eq!(
        parts[Part::Propagation],
        u128::from(LATENCY) * (2 * count as u128)
    );
    assert_eq!(parts[Part::Port], u128::from(PORT) * (4 * count as u128));
    for (way, direction) in ways.into_iter().enumerate() {
        assert_eq!(
            links.wait_max(direction),
            Ps(twin.longest[way]),
            "{given:?}"
        );
        assert_eq!(links.busy(direction, fabric.now()), Ps(twin.busy[way]));
        let carried = links.carried(direction);
        assert_eq!(
            (carried.packets, carried.bytes),
            (count as u64, twin.bytes[way])
        );
    }
}

/// Wires were busy as long as the twin's at any moment: what is reserved is not over yet.
fn check_busy(given: Given, seed: u64) {
    let mut fabric = fabric(&described(given));
    let mut twin = twin(given, seed);
    let (mut from, mut busy) = (0, Vec::new());
    send(&mut fabric, &twin, &mut |fabric, tag| {
        let now = fabric.now();
        let ways = LinkId(0).directions();
        busy.push((from, now.0, ways.map(|way| fabric.links().busy(way, now))));
        if tag % 100 == 99 {
            fabric.begin();
            from = now.0;
        }
    });
    twin.run();
    for (from, until, busy) in busy {
        let expected = [0, 1].map(|way| Ps(twin.busy_between(way, from, until)));
        assert_eq!(
            busy, expected,
            "{seed}: from {from} to {until} of {given:?}"
        );
    }
}

/// Links of all kinds, with a seed each.
fn links() -> impl Iterator<Item = (Given, u64)> {
    (0..150).map(|seed| {
        let mut rng = Rng::stream(seed, "links");
        let mut one_of = |of: &[u64]| of[rng.below(of.len() as u64) as usize];
        let half = (one_of(&[0, 1]) > 0).then(|| (one_of(&[0, 9_009]), one_of(&[1, 2, 8])));
        let given = Given {
            mb_s: one_of(&[900, 7_000]),
            width: one_of(&[1, 24]),
            header: one_of(&[7, 16, 64]),
            half,
            credits: [None, Some(1), Some(2), Some(9)][one_of(&[0, 1, 2, 3]) as usize],
            read: one_of(&[31_013, 50_021]),
            write: one_of(&[31_013, 90_031]),
        };
        (given, seed)
    })
}

#[test]
fn a_link_is_its_twin() {
    links().for_each(|(given, seed)| check(given, seed));
}

#[test]
fn a_link_is_busy_when_its_twin_is() {
    links().for_each(|(given, seed)| check_busy(given, seed));
}
