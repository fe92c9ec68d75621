//! How a run of hosts ends: with memory that answers late, never, or never comes to rest.

use crate::rig::{direct, group, idle};
use sluice_host::{Host, HostConfig};
use sluice_net::{
    Answer, EndpointId, ExternalMemory, Fabric, FabricConfig, Group, HostGroup, Hosts, Length,
    LinkSpec, MemoryRequest, PacketId, RequesterId, Standstill,
};
use sluice_testkit::core_rig::{Loop, host, load};
use sluice_units::Ps;

/// A memory that refreshes itself once in a microsecond, and answers or does not.
struct Refreshed {
    answers: bool,
    next: Option<Ps>,
}

impl ExternalMemory for Refreshed {
    fn request(&mut self, now: Ps, _: MemoryRequest) -> Answer {
        match self.answers {
            true => Answer::At(now + Ps::from_ns(50)),
            false => Answer::Later,
        }
    }

    fn next_at(&self) -> Option<Ps> {
        self.next
    }

    fn advance(&mut self, now: Ps, _: &mut dyn FnMut(PacketId)) {
        self.next = Some(now + Ps::from_us(1));
    }
}

/// Runs a program of a hundred loads to its end.
fn run(memory: Refreshed) -> (Result<(), Standstill>, u64) {
    let host: HostConfig = host();
    let config = FabricConfig::new(&direct(&[]), 1).unwrap();
    let mut fabric = Fabric::new(&config).unwrap();
    fabric.attach(EndpointId(0), Box::new(memory));
    let mut program = Loop::new(1, vec![load(0, 10, 1)], 4096, 100);
    let mut hosts = Hosts::new(fabric);
    hosts.seat(RequesterId(0), 0, Host::with_port(&host, &mut program));
    let length = Length {
        warmup: 0,
        requests: u64::MAX,
    };
    let mut watched = 0;
    let ended = hosts.run_with(
        length,
        &mut |_| {
            watched += 1;
            assert!(watched < 10, "it goes on for ever");
            true
        },
        &mut |_| (),
    );
    (ended, hosts.fabric().all_completed())
}

#[test]
fn a_memory_that_refreshes_itself_holds_up_no_end() {
    let memory = Refreshed {
        answers: true,
        next: Some(Ps::ZERO),
    };
    assert_eq!(run(memory), (Ok(()), 100));
}

#[test]
fn a_memory_that_never_answers_a_host_is_a_deadlock() {
    let memory = Refreshed {
        answers: false,
        next: None,
    };
    let (ended, completed) = run(memory);
    assert!(
        matches!(&ended, Err(Standstill::Deadlock(it)) if it.elsewhere == 1),
        "{ended:?}"
    );
    assert_eq!(completed, 0);
}

/// Two hosts, of which the second waits for a slow memory all the time.
#[test]
fn a_host_that_waits_counts_up_to_the_end_of_the_run() {
    let mut spec = idle(&[("map.ways", "1"), ("endpoint.type", "fixed")]);
    for (name, time) in [("fast", "50ns"), ("slow", "900us")] {
        spec.requesters.push(Group {
            host: Some(HostGroup::default()),
            ..group(&format!("{name}-host"))
        });
        let set = [("read", time)];
        spec.endpoints.push(Group {
            set: set.map(|(key, value)| (key.into(), value.into())).into(),
            ..group(&format!("{name}-memory"))
        });
    }
    for (host, memory) in [
        ("fast", "fast"),
        ("fast", "slow"),
        ("slow", "fast"),
        ("slow", "slow"),
    ] {
        spec.links.push(LinkSpec {
            ends: [format!("{host}-host"), format!("{memory}-memory")],
            set: Vec::new(),
        });
    }
    let config = FabricConfig::new(&spec, 1).unwrap();
    let host = host();
    let mut programs = [(); 2].map(|()| Loop::new(1, vec![load(0, 10, 1)], 4096, 100_000));
    let mut hosts = Hosts::new(Fabric::new(&config).unwrap());
    for (number, program) in (0..).zip(&mut programs) {
        let base = u64::from(number) << 30;
        hosts.seat(RequesterId(number), base, Host::with_port(&host, program));
    }
    let length = Length {
        warmup: 5_000,
        requests: 10_000,
    };
    hosts.run_with(length, &mut |_| true, &mut |_| ()).unwrap();
    let time = hosts.fabric().stats().time();
    for (id, host) in hosts.hosts() {
        let stats = host.results();
        assert_eq!(stats.time, time, "{id:?}");
        let whole = stats.cores;
        let sum = whole.compute + whole.memory + whole.switching + whole.idle;
        assert_eq!(sum, time, "{id:?}");
    }
}
