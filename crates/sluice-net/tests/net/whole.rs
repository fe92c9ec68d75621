//! What a fabric is asked by its users: requests from outside, time, stops and deadlocks.

use crate::rig::{drain, fabric, run, spec};
use sluice_net::{Access, Fabric, Length, Refusal, RequesterId, Standstill};
use sluice_units::{ClockEnd, Ps};

fn external(more: &[(&str, &str)]) -> Fabric {
    let mut set = vec![
        ("topology.kind", "bus"),
        ("requester.pattern", "external"),
        ("requester.count", "2"),
        ("requester.depth", "3"),
        ("endpoint.count", "1"),
        ("endpoint.capacity", "1MiB"),
    ];
    set.extend(more);
    fabric(&spec(&set))
}

const READ: Access = Access {
    addr: 64,
    is_write: false,
};
/// A read alone, of a header of 250 ps and a line of 1 ns.
const ALONE: Ps = Ps(10_000 + 12_000 + 2 * 51_000 + 40_000 + 50_000 + 1_250);

#[test]
fn a_request_that_cannot_be_changes_nothing() {
    let mut fabric = external(&[]);
    let host = RequesterId(0);
    for tag in 0..3 {
        assert!(fabric.has_room(host));
        assert_eq!(fabric.send(Ps(9), host, READ, tag), Ok(()));
    }
    assert_eq!(fabric.in_flight(), 3);
    assert!(!fabric.has_room(host) && fabric.has_room(RequesterId(1)));
    let beyond = Access {
        addr: 1 << 20,
        ..READ
    };
    let last = Access {
        addr: (1 << 20) - 64,
        ..READ
    };
    let other = RequesterId(1);
    for (at, who, access, why) in [
        (Ps(8), other, READ, Refusal::Past),
        (Ps::from_ms(1), other, READ, Refusal::Early),
        (Ps(9), host, READ, Refusal::Full),
        (Ps(9), other, beyond, Refusal::NoMemory),
    ] {
        assert_eq!(fabric.send(at, who, access, 9), Err(why));
    }
    assert_eq!((fabric.in_flight(), fabric.now()), (3, Ps(9)));
    assert_eq!(fabric.send(Ps(9), other, last, 3), Ok(()));
    let issued: Vec<u64> = fabric.requester_stats().map(|it| it.issued).collect();
    assert_eq!((issued, fabric.in_flight()), (vec![3, 1], 4));
    let mut tags: Vec<u64> = drain(&mut fabric).iter().map(|done| done.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2, 3]);
    assert_eq!((fabric.in_flight(), fabric.next_at()), (0, None));
    assert!(fabric.has_room(host));
}

/// Time goes on as far as it is asked to, with all that happens until then.
#[test]
fn time_goes_on_to_the_moment_that_is_asked_for() {
    let mut fabric = external(&[]);
    fabric.send(Ps(5), RequesterId(0), READ, 7).unwrap();
    let mut done = Vec::new();
    let mut until = |fabric: &mut Fabric, at| {
        let advanced = fabric.advance(at, &mut |it| done.push(it));
        (advanced, done.len(), fabric.now())
    };
    let end = Ps(5) + ALONE;
    let before = end - Ps(1);
    assert_eq!(until(&mut fabric, before), (Ok(()), 0, before));
    assert_eq!(fabric.next_at(), Some(end));
    assert_eq!(until(&mut fabric, end), (Ok(()), 1, end));
    let later = end + Ps::from_us(3);
    assert_eq!(until(&mut fabric, later), (Ok(()), 1, later));
    // Time does not go back.
    assert_eq!(until(&mut fabric, end), (Ok(()), 1, later));
    assert_eq!((done[0].latency, done[0].at), (ALONE, end));
    assert_eq!(fabric.stats().latency.sum(), u128::from(ALONE.0));
}

/// Of many events each 65,536th is followed by a question whether to go on.
#[test]
fn a_run_can_be_watched_and_stopped() {
    let set = [("topology.kind", "star"), ("requester.count", "2")];
    let length = Length {
        warmup: 0,
        requests: 60_000,
    };
    let mut whole = fabric(&spec(&set));
    let mut seen = Vec::new();
    let mut watch = |done| {
        seen.push(done);
        true
    };
    whole.run(length, &mut watch).unwrap();
    let looks = whole.stats().events / 65_536;
    assert!(looks >= 2, "{looks}");
    assert_eq!(seen.len() as u64, looks);
    assert!(seen.is_sorted_by(|a, b| a < b));
    let mut stopped = fabric(&spec(&set));
    stopped.run(length, &mut |_| false).unwrap();
    assert_eq!(stopped.stats().events, 65_536);
    assert_eq!(stopped.stats().completed(), seen[0]);
    assert_eq!(stopped.stats().until, stopped.now());
    // In the warm-up, nothing was counted from then on.
    let mut early = fabric(&spec(&set));
    let warm = Length {
        warmup: 60_000,
        requests: 1,
    };
    early.run(warm, &mut |_| false).unwrap();
    assert_eq!(early.stats().completed(), seen[0]);
}

/// Counting begins after the warm-up; what was under way then is counted when it comes back.
#[test]
fn what_warms_a_fabric_is_not_counted() {
    let set = [("topology.kind", "star"), ("requester.count", "2")];
    let run = |warmup, requests| {
        let mut fabric = fabric(&spec(&set));
        let mut done = Vec::new();
        let length = Length { warmup, requests };
        fabric
            .run_with(length, &mut |_| true, &mut |it| done.push(it))
            .unwrap();
        fabric.balance().unwrap();
        (fabric, done)
    };
    let (_, all) = run(0, 3_000);
    let (fabric, rest) = run(1_000, 2_000);
    assert_eq!(rest, all[1_000..]);
    let stats = fabric.stats();
    assert_eq!((stats.from, stats.until), (all[999].at, all[2_999].at));
    assert_eq!(stats.completed(), 2_000);
    let latency: u128 = rest.iter().map(|it| u128::from(it.latency.0)).sum();
    assert_eq!(stats.latency.sum(), latency);
    assert_eq!(stats.parts().total(), latency);
    for (number, counted) in (0..).zip(fabric.requester_stats()) {
        let mine = rest.iter().filter(|it| it.requester == RequesterId(number));
        let mine: Vec<u128> = mine.map(|it| u128::from(it.latency.0)).collect();
        assert_eq!(counted.completed, mine.len() as u64);
        assert_eq!(counted.latency, mine.iter().sum::<u128>());
    }
    let requests = stats.hops.iter().map(|hops| hops.count);
    assert_eq!(requests.collect::<Vec<_>>(), [0, 2_000]);
}

/// A requester that has so many requests under way issues the next one when one comes back, and no
/// sooner than its pause after the one before.
#[test]
fn depth_and_interval_say_when_requests_are_issued() {
    for (depth, interval) in [(1, 0u64), (1, 400), (4, 0), (4, 30), (64, 7)] {
        let (depth_text, pause) = (depth.to_string(), format!("{interval}ns"));
        let mut fabric = fabric(&spec(&[
            ("topology.kind", "bus"),
            ("requester.count", "1"),
            ("requester.pattern", "stream"),
            ("requester.depth", &depth_text),
            ("requester.interval", &pause),
            ("endpoint.count", "1"),
        ]));
        let mut done = Vec::new();
        let length = Length {
            warmup: 0,
            requests: 500,
        };
        fabric
            .run_with(length, &mut |_| true, &mut |it| done.push(it))
            .unwrap();
        let issued: Vec<Ps> = done.iter().map(|it| it.at - it.latency).collect();
        for number in 0..done.len() {
            // They come back in order.
            assert_eq!(done[number].tag, number as u64);
            let mut due = Ps::ZERO;
            if number > 0 {
                due = issued[number - 1] + Ps::from_ns(interval);
            }
            if number >= depth {
                due = due.max(done[number - depth].at);
            }
            assert_eq!(issued[number], due, "{number} of depth {depth}, {pause}");
        }
    }
}

/// A ring whose links have room for one packet of a kind fills up and stands still: all that is
/// under way waits for credits, or is in front of what does.
#[test]
fn a_deadlock_is_found_and_says_who_waits() {
    let mut fabric = fabric(&spec(&[
        ("topology.kind", "ring"),
        ("topology.placement", "alternate"),
        ("link.credits", "1"),
    ]));
    let length = Length {
        warmup: 0,
        requests: 100_000,
    };
    let Err(Standstill::Deadlock(error)) = fabric.run(length, &mut |_| true) else {
        panic!("no deadlock");
    };
    assert_eq!(Ps(error.at), fabric.now());
    assert_eq!(fabric.next_at(), None);
    let under_way = error.packets + error.elsewhere;
    assert_eq!(under_way as u64, fabric.in_flight());
    assert_eq!(under_way, 8 * 64, "every requester's queue is full");
    // Room for one packet of a kind in front of each direction that is waited for.
    let directions: Vec<&str> = error.links.split(", ").collect();
    assert!(
        error.packets > under_way / 2 && directions.len() >= 3,
        "{error}"
    );
    let known = fabric.graph().directions();
    let known: Vec<String> = known.map(|it| fabric.graph().direction_name(it)).collect();
    assert!(
        directions
            .iter()
            .all(|name| known.iter().any(|it| it == name))
    );
    // Those alone: nobody waits for the links of memories, for instance.
    assert!(directions.len() < known.len(), "{error}");
    // Advancing finds it as well.
    assert_eq!(fabric.advance(fabric.now(), &mut |_| ()), Err(error.into()));
}

/// As many requests as there are numbers, after a warm-up: the sum wrapped, and nothing was
/// counted.
#[test]
fn a_run_of_all_the_requests_that_can_be_counts_them() {
    let mut fabric = fabric(&spec(&[("topology.kind", "bus")]));
    let length = Length {
        warmup: 1_000,
        requests: u64::MAX,
    };
    let mut watched = 0;
    let mut watch = |_: u64| {
        watched += 1;
        watched < 2
    };
    fabric.run(length, &mut watch).unwrap();
    assert!(fabric.stats().completed() > 10_000);
}

/// Times after the end of the clock began at 0 again.
#[test]
fn a_run_ends_with_the_clock() {
    for (at, ends) in [(Ps(1 << 62), false), (Ps::LAST, true)] {
        let mut fabric = fabric(&spec(&[("requester.pattern", "external")]));
        let access = Access {
            addr: 0,
            is_write: false,
        };
        fabric.send(at, RequesterId(0), access, 1).unwrap();
        let mut done = 0;
        let ended = fabric.advance(Ps::MAX, &mut |_| done += 1);
        assert_eq!(
            ended == Err(Standstill::ClockEnd(ClockEnd)),
            ends,
            "{ended:?}"
        );
        assert_eq!(done, u64::from(!ends));
    }
}

/// Caches that take no time have all: no link was busy, but the first one was named.
#[test]
fn a_run_without_time_is_bounded_by_who_asks() {
    let set = [
        ("requester.count", "1"),
        ("requester.process", "0ns"),
        ("requester.cache_access", "0ns"),
        ("requester.footprint", "1KiB"),
        ("requester.cache_lines", "16"),
        ("coherence.filter", "endpoint"),
    ];
    let length = Length {
        warmup: 20_000,
        requests: 500,
    };
    let fabric = run(&set, length);
    assert_eq!(fabric.stats().time(), Ps::ZERO);
    let found = fabric.bottleneck();
    assert_eq!((found.kind, &*found.name), ("requester", "r0"));
}
