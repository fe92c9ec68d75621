//! Tags of requests: 16 bits of them, of which no two under way are the same.

use sluice_cxl::coherence::{
    Access, Cache, CacheOut, CacheSetup, M2s, Message, Replacement, S2m, Snoop, State, ToDevice,
    ToHost,
};
use std::collections::{BTreeSet, VecDeque};

const LINES: u32 = 1 << 16;

/// A device that answers requests at once, and lines that leave once nothing else is under way.
#[derive(Default)]
struct Slow {
    under_way: BTreeSet<u16>,
    requests: VecDeque<M2s>,
    leaving: VecDeque<M2s>,
    responses: u64,
    most: usize,
}

impl Slow {
    fn take(&mut self, out: &mut CacheOut) {
        for message in out.send.drain(..) {
            if let ToDevice::Response { .. } = message.what {
                self.responses += 1;
                continue;
            }
            assert!(self.under_way.insert(message.tag), "tag {}", message.tag);
            match message.what {
                ToDevice::WriteBack(_) => self.leaving.push_back(message),
                _ => self.requests.push_back(message),
            }
        }
        self.most = self.most.max(self.under_way.len());
    }

    fn answer(&mut self, cache: &mut Cache, out: &mut CacheOut) -> bool {
        let (message, answers) = match self.requests.pop_front() {
            Some(read) => (read, &[ToHost::Done(State::Exclusive), ToHost::Data][..]),
            None => match self.leaving.pop_front() {
                Some(left) => (left, &[ToHost::Done(State::Invalid)][..]),
                None => return false,
            },
        };
        self.under_way.remove(&message.tag);
        for what in answers {
            let Message { line, tag, .. } = message;
            let (what, peer, data) = (*what, 0, 0);
            let answer: S2m = Message {
                what,
                peer,
                line,
                tag,
                data,
            };
            cache.receive(answer, out);
        }
        true
    }

    /// Answers all but lines that leave.
    fn answer_requests(&mut self, cache: &mut Cache, out: &mut CacheOut) {
        self.take(out);
        while !self.requests.is_empty() {
            self.answer(cache, out);
            self.take(out);
        }
    }

    /// Answers all.
    fn answer_all(&mut self, cache: &mut Cache, out: &mut CacheOut) {
        self.take(out);
        while self.answer(cache, out) {
            self.take(out);
        }
    }
}

/// A cache for an access at a time.
fn one_by_one(lines: u32) -> Cache {
    Cache::new(&CacheSetup {
        lines,
        ways: lines,
        replacement: Replacement::Lru,
        notify: false,
        accesses: 1,
        watched: false,
    })
}

/// A host has more lines written than there are tags.
fn written(lines: u32) -> (Cache, CacheOut, Slow) {
    let (mut cache, mut out, mut device) =
        (one_by_one(lines), CacheOut::default(), Slow::default());
    for line in 0..u64::from(lines) {
        cache.access(0, [line; 2], Some(line), &mut out);
        device.answer_requests(&mut cache, &mut out);
    }
    assert_eq!(std::mem::take(&mut out.done).len(), lines as usize);
    (cache, out, device)
}

/// Lines on their way to memory took the places of requests, so that a host with few misses waited
/// for memory's writes.
#[test]
fn write_backs_under_way_hold_no_access_up() {
    let (mut cache, mut out, mut device) = (one_by_one(8), CacheOut::default(), Slow::default());
    for line in 0..100 {
        cache.access(0, [line; 2], Some(1), &mut out);
        device.answer_requests(&mut cache, &mut out);
        assert_eq!(std::mem::take(&mut out.done).len(), 1, "line {line}");
    }
    assert_eq!(device.leaving.len(), 92);
}

const MANY: u32 = 70_000;

#[test]
fn more_lines_than_tags_can_be_let_go() {
    let (mut cache, mut out, mut device) = written(MANY);
    for line in 0..u64::from(MANY) {
        cache.let_go(line, &mut out);
        device.take(&mut out);
        assert!(cache.is_asked(line));
    }
    // One of those that still wait is wanted back: it comes from memory.
    let last = u64::from(MANY) - 1;
    let wanted = cache.access(0, [last; 2], None, &mut out);
    assert_eq!(wanted, Access::Waits);
    device.answer_all(&mut cache, &mut out);
    assert_eq!(out.done.len(), 1);
    assert_eq!(cache.count().write_backs, u64::from(MANY));
    assert!(cache.is_quiet() && device.under_way.is_empty());
}

#[test]
fn more_lines_than_tags_can_be_snooped() {
    let (mut cache, mut out, mut device) = written(MANY);
    for line in 0..u64::from(MANY) {
        let (want, lines) = (Snoop::Invalidate, 1);
        let snoop = Message {
            what: ToHost::Snoop { want, lines },
            peer: (line >> 12) as u32,
            line,
            tag: line as u16 & 0xfff,
            data: 0,
        };
        cache.receive(snoop, &mut out);
        device.take(&mut out);
    }
    device.answer_all(&mut cache, &mut out);
    assert_eq!(device.responses, u64::from(MANY));
    assert_eq!(cache.count().write_backs, u64::from(MANY));
    assert!(cache.is_quiet() && cache.lines().next().is_none());
}

#[test]
fn no_two_requests_under_way_have_the_same_tag() {
    let mut cache = Cache::new(&CacheSetup {
        lines: LINES,
        ways: LINES,
        replacement: Replacement::Lru,
        notify: false,
        accesses: LINES,
        watched: false,
    });
    let (mut out, mut device) = (CacheOut::default(), Slow::default());
    // Every line of the second round displaces a written one of the first.
    for round in 0..2u64 {
        for number in 0..LINES {
            let line = round * u64::from(LINES) + u64::from(number);
            assert_eq!(
                cache.access(number, [line; 2], Some(1), &mut out),
                Access::Waits
            );
            device.take(&mut out);
        }
        while device.answer(&mut cache, &mut out) {
            device.take(&mut out);
        }
        assert_eq!(std::mem::take(&mut out.done).len(), LINES as usize);
        assert!(device.under_way.is_empty());
    }
    assert!((30_000..=1 << 15).contains(&device.most), "{}", device.most);
}
