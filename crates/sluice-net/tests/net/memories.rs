//! Memories from outside: the calls that they get, when, and that it does not matter how they
//! answer.

use crate::rig::{drain, fabric, spec};
use sluice_net::{
    Access, Answer, Completed, EndpointId, ExternalMemory, Fabric, Length, MemoryRequest, PacketId,
    RequesterId, Source,
};
use sluice_units::{Ps, Rng};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const READ: Ps = Ps(37_003);
const WRITE: Ps = Ps(61_007);

/// How a memory answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// With a time, and never needs to be advanced.
    AtOnce,
    /// With a time, though it might have said later.
    Known,
    /// Later, when it is advanced.
    Later,
}

/// The calls that a memory got.
#[derive(Default)]
struct Seen {
    requests: Vec<(Ps, MemoryRequest)>,
    advances: Vec<Ps>,
}

/// A memory that does one request after the other.
struct Plain {
    how: How,
    free: Ps,
    under_way: VecDeque<(Ps, PacketId)>,
    seen: Rc<RefCell<Seen>>,
}

impl ExternalMemory for Plain {
    fn request(&mut self, now: Ps, request: MemoryRequest) -> Answer {
        self.seen.borrow_mut().requests.push((now, request));
        let time = if request.is_write { WRITE } else { READ };
        self.free = self.free.max(now) + time;
        if self.how != How::Later {
            return Answer::At(self.free);
        }
        self.under_way.push_back((self.free, request.id));
        Answer::Later
    }

    fn next_at(&self) -> Option<Ps> {
        self.under_way.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Ps, done: &mut dyn FnMut(PacketId)) {
        self.seen.borrow_mut().advances.push(now);
        while let Some((at, id)) = self.under_way.front() {
            if *at > now {
                break;
            }
            done(*id);
            self.under_way.pop_front();
        }
    }

    fn answers_at_once(&self) -> bool {
        self.how == How::AtOnce
    }
}

/// Two hosts and a memory on a switch.
fn star(more: &[(&str, &str)]) -> Fabric {
    let mut set = vec![
        ("topology.kind", "star"),
        ("requester.count", "2"),
        ("requester.pattern", "external"),
        ("requester.depth", "1024"),
        ("endpoint.count", "1"),
        ("endpoint.type", "external"),
    ];
    set.extend(more);
    fabric(&spec(&set))
}

/// When requests are issued, by whom, and what they are.
fn asks() -> Vec<(Ps, u32, Access)> {
    let mut rng = Rng::stream(3, "asks");
    let mut at = Ps::ZERO;
    let mut ask = |n: u32| {
        at += Ps(1 + rng.below(97_001));
        let access = Access {
            addr: rng.below(1 << 20) * 64,
            is_write: rng.below(3) == 0,
        };
        (at, n % 2, access)
    };
    (0..600).map(&mut ask).collect()
}

fn run(mut fabric: Fabric) -> Vec<Completed> {
    let mut done = Vec::new();
    for (tag, (at, requester, access)) in (0..).zip(asks()) {
        fabric
            .advance(at, &mut |it| done.push(it))
            .expect("it goes on");
        let sent = fabric.send(at, RequesterId(requester), access, tag);
        sent.expect("there is room");
    }
    done.extend(drain(&mut fabric));
    fabric.balance().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(fabric.served(EndpointId(0), 0), 600);
    done.sort_unstable_by_key(|it| it.tag);
    done
}

fn with(how: How) -> (Vec<Completed>, Seen) {
    let seen = Rc::default();
    let mut fabric = star(&[]);
    let memory = Plain {
        how,
        free: Ps::ZERO,
        under_way: VecDeque::new(),
        seen: Rc::clone(&seen),
    };
    fabric.attach(EndpointId(0), Box::new(memory));
    (run(fabric), seen.take())
}

/// From a host to the memory: processing and cache, a request or a line over two links with two
/// ports each, the switch, the controller.
fn way_there(is_write: bool) -> Ps {
    let wires = if is_write { Ps(1_000) } else { Ps(250) };
    Ps::from_ns(10 + 12 + 2 * (25 + 1 + 25) + 20 + 40) + wires * 2
}

/// However a memory answers, requests are done at the same times.
#[test]
fn how_a_memory_answers_changes_nothing() {
    let (at_once, told) = with(How::AtOnce);
    assert!(told.advances.is_empty(), "it is never advanced");
    for how in [How::Known, How::Later] {
        let (done, seen) = with(how);
        assert_eq!(done, at_once, "{how:?}");
        let of = |seen: &Seen| {
            let requests = seen.requests.iter();
            requests
                .map(|(at, it)| (*at, it.addr, it.is_write))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&seen), of(&told), "{how:?}");
    }
}

/// A memory sees each request when it has come through the controller, in the order of time, and
/// is advanced when it wants to be and at no other time.
#[test]
fn a_memory_is_told_when_its_time_has_come() {
    let (done, seen) = with(How::Later);
    let asked = asks();
    let times: Vec<Ps> = seen.requests.iter().map(|(at, _)| *at).collect();
    assert!(times.is_sorted());
    // Most find the fabric empty; others wait for a link, and are later.
    let mut on_time = 0;
    let mut free = Ps::ZERO;
    let mut due = Vec::new();
    for (at, request) in &seen.requests {
        let same = |(_, _, access): &&(Ps, u32, Access)| {
            (access.addr, access.is_write) == (request.addr, request.is_write)
        };
        let (issued, ..) = asked.iter().find(same).expect("it was sent");
        let alone = *issued + way_there(request.is_write);
        assert!(*at >= alone, "{at} before {alone}");
        on_time += u32::from(*at == alone);
        free = free.max(*at) + if request.is_write { WRITE } else { READ };
        due.push(free);
    }
    assert!(on_time > 550, "{on_time}");
    assert_eq!(seen.advances, due);
    // The sum of all waits is in the memory's part, and the answers come back as fast as they can.
    let back = |it: &Completed| Ps::from_ns(2 * (25 + 1 + 25) + 20) + wires_back(it.is_write);
    let mut ends: Vec<Ps> = done.iter().map(|it| it.at - back(it)).collect();
    ends.sort_unstable();
    let in_time = ends.iter().filter(|end| due.binary_search(end).is_ok());
    assert!(in_time.count() > 550);
}

fn wires_back(is_write: bool) -> Ps {
    if is_write { Ps(250) } else { Ps(1_000) }.max(Ps::ZERO) * 2
}

/// A fixed memory whose reads and writes take the same time gets requests before their time comes.
/// One from outside that takes as long gets each when its time comes.
#[test]
fn a_constant_memory_is_the_same_told_early() {
    let fixed = |read: &str, write: &str| {
        run(star(&[
            ("endpoint.type", "fixed"),
            ("endpoint.read", read),
            ("endpoint.write", write),
        ]))
    };
    /// Takes as long for each, whatever else is under way.
    struct Constant(Ps, Ps);
    impl ExternalMemory for Constant {
        fn request(&mut self, now: Ps, request: MemoryRequest) -> Answer {
            Answer::At(now + if request.is_write { self.1 } else { self.0 })
        }
        fn next_at(&self) -> Option<Ps> {
            None
        }
        fn advance(&mut self, _: Ps, _: &mut dyn FnMut(PacketId)) {
            panic!("it never wants to be advanced");
        }
    }
    let outside = |read, write| {
        let mut fabric = star(&[]);
        fabric.attach(EndpointId(0), Box::new(Constant(read, write)));
        run(fabric)
    };
    for (read, write) in [(50, 50), (50, 90), (90, 50)] {
        let texts = [read, write].map(|ns| format!("{ns}ns"));
        let fixed = fixed(&texts[0], &texts[1]);
        assert_eq!(
            fixed,
            outside(Ps::from_ns(read), Ps::from_ns(write)),
            "{texts:?}"
        );
    }
}

/// A memory that wants to be advanced at a time that is past does not hold up the clock.
#[test]
fn the_clock_goes_on_whatever_a_memory_wants() {
    struct Impatient {
        id: Option<PacketId>,
        advances: Rc<RefCell<Vec<Ps>>>,
    }
    impl ExternalMemory for Impatient {
        fn request(&mut self, _: Ps, request: MemoryRequest) -> Answer {
            self.id = Some(request.id);
            Answer::Later
        }
        fn next_at(&self) -> Option<Ps> {
            self.id.map(|_| Ps::ZERO)
        }
        fn advance(&mut self, now: Ps, done: &mut dyn FnMut(PacketId)) {
            self.advances.borrow_mut().push(now);
            if self.advances.borrow().len() == 10
                && let Some(id) = self.id.take()
            {
                done(id);
            }
        }
    }
    let advances: Rc<RefCell<Vec<Ps>>> = Rc::default();
    let mut fabric = star(&[]);
    let memory = Impatient {
        id: None,
        advances: Rc::clone(&advances),
    };
    fabric.attach(EndpointId(0), Box::new(memory));
    let access = Access {
        addr: 0,
        is_write: false,
    };
    fabric.send(Ps::ZERO, RequesterId(0), access, 0).unwrap();
    let done = drain(&mut fabric);
    let first = way_there(false);
    let expected: Vec<Ps> = (0..10).map(|n| first + Ps(n)).collect();
    assert_eq!(*advances.borrow(), expected);
    let back = Ps::from_ns(2 * (25 + 1 + 25) + 20) + wires_back(false);
    assert_eq!(done[0].at, first + Ps(9) + back);
}

/// What memories took in the place of answers that could not be is summed over all of them.
#[test]
fn refused_answers_are_summed() {
    struct Refuses(u64);
    impl ExternalMemory for Refuses {
        fn request(&mut self, now: Ps, _: MemoryRequest) -> Answer {
            Answer::At(now)
        }
        fn next_at(&self) -> Option<Ps> {
            None
        }
        fn advance(&mut self, _: Ps, _: &mut dyn FnMut(PacketId)) {}
        fn refused(&self) -> u64 {
            self.0
        }
    }
    let mut fabric = star(&[("endpoint.count", "3")]);
    assert_eq!(fabric.refused(), 0);
    fabric.attach(EndpointId(0), Box::new(Refuses(3)));
    fabric.attach(EndpointId(2), Box::new(Refuses(4)));
    assert_eq!(fabric.refused(), 7);
    // One that does not say so has refused nothing.
    let memory = Plain {
        how: How::Later,
        free: Ps::ZERO,
        under_way: VecDeque::new(),
        seen: Rc::default(),
    };
    assert_eq!(memory.refused(), 0);
    fabric.attach(EndpointId(0), Box::new(memory));
    assert_eq!(fabric.refused(), 4);
}

/// A memory that refreshes itself once in a microsecond.
struct Refreshed(Ps);

impl ExternalMemory for Refreshed {
    fn request(&mut self, now: Ps, _: MemoryRequest) -> Answer {
        Answer::At(now + READ)
    }

    fn next_at(&self) -> Option<Ps> {
        Some(self.0)
    }

    fn advance(&mut self, now: Ps, _: &mut dyn FnMut(PacketId)) {
        self.0 = now + Ps::from_us(1);
    }
}

struct Once(u64);

impl Source for Once {
    fn next(&mut self) -> Option<Access> {
        self.0 = self.0.checked_sub(1)?;
        let addr = self.0 * 64;
        let is_write = false;
        Some(Access { addr, is_write })
    }
}

/// The run of a trace had no end.
#[test]
fn a_memory_that_refreshes_itself_holds_up_no_end() {
    let mut fabric = star(&[]);
    fabric.attach(EndpointId(0), Box::new(Refreshed(Ps::ZERO)));
    fabric.replay(RequesterId(0), Box::new(Once(100)));
    let length = Length {
        warmup: 0,
        requests: u64::MAX,
    };
    let mut watched = 0;
    let ended = fabric.run(length, &mut |_| {
        watched += 1;
        watched < 10
    });
    assert_eq!((ended, watched, fabric.all_completed()), (Ok(()), 0, 100));
}
