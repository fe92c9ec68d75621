//! Tags of requests: 16 bits of them, of which no two under way are the same.

use sluice_cxl::coherence::{
    Access, Cache, CacheOut, CacheSetup, M2s, Message, Replacement, S2m, State, ToDevice, ToHost,
};
use std::collections::{BTreeSet, VecDeque};

const LINES: u32 = 1 << 16;

/// A device that answers requests at once, and lines that leave once nothing else is under way.
#[derive(Default)]
struct Slow {
    under_way: BTreeSet<u16>,
    requests: VecDeque<M2s>,
    leaving: VecDeque<M2s>,
    most: usize,
}

impl Slow {
    fn take(&mut self, out: &mut CacheOut) {
        for message in out.send.drain(..) {
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
            assert_eq!(cache.access(number, line, Some(1), &mut out), Access::Waits);
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
