//! The ring against a naive model of it, and against clients that write what they like.

use proptest::prelude::*;
use sluice_abi::{
    CHANNELS, Channel, Client, Completion, ENTRIES, Found, Hello, Operation, RING_MAGIC,
    RING_VERSION, Range, Reason, Request, Ring, Server, Status, Submission, TEXT_BYTES, Text,
    WORDS, Words,
};
use sluice_testkit::cases;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::*;

/// A ring of zeros, as a fresh file is.
fn ring() -> Box<Ring> {
    // SAFETY: all fields are atomics of integers, for which zeros are valid.
    Box::new(unsafe { std::mem::zeroed() })
}

fn words(first: u64) -> Words {
    std::array::from_fn(|at| first + at as u64)
}

/// A client of a channel whose server looks at it.
fn attached(channel: &Channel, server: &mut Server, number: u64) -> Client {
    let mut hello = Hello::say(channel, number);
    assert_eq!(hello.welcomed(channel), None, "nobody has looked yet");
    assert_eq!(server.next(channel), Found::Client);
    hello.welcomed(channel).expect("a welcome")
}

fn entry(found: Found) -> Option<Words> {
    match found {
        Found::Submission(words) => Some(words),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    /// What goes in comes out once, in order; and there is never room for more than the ring has.
    #[test]
    fn it_is_two_queues(
        steps in proptest::collection::vec(0u8..4, 1..400),
        start in prop_oneof![any::<u32>(), u32::MAX - 300..=u32::MAX],
    ) {
        let ring = ring();
        let channel = &ring.channels[3];
        // Counts begin at the client's number, and go round.
        let mut server = Server::default();
        let mut client = attached(channel, &mut server, u64::from(start));
        let (mut submitted, mut answered) = (VecDeque::new(), VecDeque::new());
        let mut next = 0;
        for step in steps {
            match step {
                0 | 1 => {
                    let room = submitted.len() + answered.len() < ENTRIES as usize;
                    prop_assert_eq!(client.submit(channel, &words(next)), room);
                    if room {
                        submitted.push_back(next);
                        next += 1;
                    }
                }
                2 => {
                    let entry = entry(server.next(channel));
                    prop_assert_eq!(entry, submitted.front().map(|n| words(*n)));
                    if let Some(entry) = entry {
                        server.answer(channel, &words(entry[0] + 1_000_000));
                        answered.extend(submitted.pop_front());
                    }
                }
                _ => {
                    let expected = answered.pop_front().map(|n| words(n + 1_000_000));
                    prop_assert_eq!(client.take(channel), expected);
                }
            }
        }
        prop_assert_eq!(server.broken, 0);
    }

    /// Counts that make no sense stop neither the server nor the other channels.
    #[test]
    fn hostile_counts(
        noise in proptest::collection::vec((any::<u32>(), any::<u32>(), 0u8..3), 1..100)
    ) {
        let ring = ring();
        let (bad, good) = (&ring.channels[0], &ring.channels[1]);
        let (mut server, mut other) = (Server::default(), Server::default());
        let mut client = attached(good, &mut other, 7);
        for (n, (submitted, taken, what)) in noise.into_iter().enumerate() {
            match what {
                0 => bad.submitted.store(submitted, Release),
                1 => bad.taken.store(taken, Release),
                _ => bad.submitted.store(bad.submitted.load(Relaxed) + submitted % 3, Release),
            }
            // Never more at once than there are places.
            let mut got = 0;
            while entry(server.next(bad)).is_some() {
                server.answer(bad, &words(0));
                got += 1;
                prop_assert!(got <= ENTRIES);
            }
            let entry = words(n as u64);
            prop_assert!(client.submit(good, &entry));
            prop_assert_eq!(other.next(good), Found::Submission(entry));
            other.answer(good, &entry);
            prop_assert_eq!(client.take(good), Some(entry));
        }
    }

    /// Whatever was written over a channel, the next client that attaches is served.
    #[test]
    fn a_spoilt_channel_recovers(
        before in proptest::collection::vec((0usize..6, 0u64..4, any::<u64>()), 1..40),
        number in any::<u64>(),
        zeros in any::<bool>(),
    ) {
        let ring = ring();
        let channel = &ring.channels[2];
        let mut server = Server::default();
        let mut client = attached(channel, &mut server, 5);
        for (what, small, any) in before {
            let word = if zeros { small } else { any };
            match what {
                0 => channel.submitted.store(word as u32, Release),
                1 => channel.taken.store(word as u32, Release),
                2 => channel.accepted.store(word as u32, Release),
                3 => channel.completed.store(word as u32, Release),
                4 => channel.hello.store(word, Release),
                _ => channel.welcome.store(word, Release),
            }
            client.submit(channel, &words(word));
            if small == 0 && let Some(entry) = entry(server.next(channel)) {
                server.answer(channel, &entry);
            }
        }
        let mut hello = Hello::say(channel, number);
        let mut next = None;
        for _ in 0..4 {
            if let Some(entry) = entry(server.next(channel)) {
                server.answer(channel, &entry);
            }
            next = next.or_else(|| hello.welcomed(channel));
        }
        let mut next = next.expect("a welcome");
        for n in 0..40 {
            prop_assert!(next.submit(channel, &words(n)));
            prop_assert_eq!(server.next(channel), Found::Submission(words(n)));
            server.answer(channel, &words(n + 1));
            prop_assert_eq!(next.take(channel), Some(words(n + 1)));
        }
    }

    /// Any words are read or refused; what is read is what was meant.
    #[test]
    fn any_words(mut words in any::<[u64; WORDS]>(), form in 0u8..6) {
        // Mostly nonsense would be refused for its first word alone.
        if form > 0 {
            words[0] = (words[0] & 0xf) | u64::from(RING_VERSION) << 16 | (words[0] >> 60) << 32;
        }
        if form > 1 {
            words[4..].fill(0);
        }
        if form > 2 {
            words[0] &= 0x1_ffff_ffff;
            words[2] &= 0xffff_ffff;
        }
        match Submission::from_words(&words) {
            Err(status) => prop_assert!(status as u32 >= Status::BadVersion as u32),
            Ok(submission) => {
                prop_assert_eq!(submission.to_words(), words);
                if let Request::Pages(_, range) = submission.request {
                    prop_assert!(range.len > 0 && range.start.checked_add(range.len).is_some());
                }
            }
        }
        if let Some(completion) = Completion::from_words(&words) {
            prop_assert_eq!(Completion::from_words(&completion.to_words()), Some(completion));
        }
    }

    #[test]
    fn completions_come_back(
        numbers in any::<[u64; 7]>(),
        text in ".{0,60}",
        status in 0..Status::ALL.len(),
        reason in 0..Reason::ALL.len(),
    ) {
        let [tag, pages, changed, already, refused, first_refused, done_ns] = numbers;
        let completion = Completion {
            tag,
            status: Status::ALL[status],
            reason: Reason::ALL[reason],
            pages,
            changed,
            already,
            refused,
            first_refused,
            done_ns,
            text: Text::cut(&text),
        };
        prop_assert_eq!(Completion::from_words(&completion.to_words()), Some(completion));
    }

    #[test]
    fn submissions_come_back(
        tag in any::<u64>(),
        start in any::<u64>(),
        len in 1u64..=u64::MAX,
        is_address in any::<bool>(),
        text in ".{0,60}",
        which in 0usize..7,
    ) {
        let range = Range { start, len, is_address };
        let request = match Operation::ALL[which] {
            Operation::Set => Request::Set(Text::cut(&text)),
            Operation::Stats => Request::Stats,
            operation => Request::Pages(operation, range),
        };
        let read = Submission::from_words(&Submission { tag, request }.to_words());
        let fits = start.checked_add(len).is_some() || !matches!(request, Request::Pages(..));
        match fits {
            true => prop_assert_eq!(read, Ok(Submission { tag, request })),
            false => prop_assert_eq!(read, Err(Status::BadRange)),
        }
    }
}

#[test]
fn each_kind_of_nonsense_has_its_name() {
    let range = Range {
        start: 0,
        len: 1,
        is_address: false,
    };
    let request = Request::Pages(Operation::Pin, range);
    let good = Submission { tag: 7, request }.to_words();
    assert!(Submission::from_words(&good).is_ok());
    let set = Request::Set(Text::cut("a=b"));
    let text = Submission {
        tag: 7,
        request: set,
    }
    .to_words();
    let with = |from: &Words, at: usize, word: u64| {
        let mut words = *from;
        words[at] = word;
        Submission::from_words(&words)
    };
    let version = u64::from(RING_VERSION) << 16;
    let cases = [
        (with(&good, 0, 1), Status::BadVersion),
        (with(&good, 0, 1 | (version << 1)), Status::BadVersion),
        (with(&good, 0, version), Status::BadOperation),
        (with(&good, 0, version | 99), Status::BadOperation),
        (with(&good, 0, good[0] | 2 << 32), Status::BadReserved),
        (with(&good, 0, good[0] | 1 << 63), Status::BadReserved),
        (with(&good, 4, 1), Status::BadReserved),
        (with(&good, 31, 1), Status::BadReserved),
        (with(&good, 3, 0), Status::BadRange),
        (with(&good, 2, u64::MAX), Status::BadRange),
        (with(&text, 4, TEXT_BYTES as u64 + 1), Status::BadText),
        (with(&text, 4, u64::MAX), Status::BadText),
        (with(&text, 4, 2), Status::BadText),
        (with(&text, 10, 0xff_ffff), Status::BadText),
        (with(&text, 5, 1), Status::BadReserved),
        (with(&text, 2, 1), Status::BadReserved),
    ];
    for (n, (read, status)) in cases.into_iter().enumerate() {
        assert_eq!(read, Err(status), "case {n}");
    }
}

#[test]
fn a_channel_is_taken_over_when_its_server_is_done() {
    let ring = ring();
    let channel = &ring.channels[CHANNELS - 1];
    let mut server = Server::default();
    let mut first = attached(channel, &mut server, 1);
    assert!(first.submit(channel, &words(1)));
    let found = entry(server.next(channel)).expect("an entry");
    // The first one dies, and the server is still at work.
    let mut hello = Hello::say(channel, 2);
    assert_eq!(hello.welcomed(channel), None);
    server.answer(channel, &found);
    assert_eq!(hello.welcomed(channel), None);
    assert_eq!(server.next(channel), Found::Client);
    let mut second = hello.welcomed(channel).expect("free");
    assert_eq!(second.take(channel), None, "another's answer");
    assert!(second.submit(channel, &words(2)));
    assert_eq!(entry(server.next(channel)), Some(words(2)));
}

/// A client that says the number which the server heard last is heard all the same.
#[test]
fn a_number_that_was_used_before_is_not_taken_for_heard() {
    let ring = ring();
    let mut server = Server::default();
    for number in [7, 7, 0, 0, u64::MAX, u64::MAX] {
        attached(&ring.channels[0], &mut server, number);
    }
}

#[test]
fn codes_are_what_they_say() {
    assert!(
        Operation::ALL
            .iter()
            .all(|one| Operation::of(*one as u32) == Some(*one))
    );
    assert!(
        Status::ALL
            .iter()
            .all(|one| Status::of(*one as u32) == Some(*one))
    );
    assert!(
        Reason::ALL
            .iter()
            .all(|one| Reason::of(*one as u32) == Some(*one))
    );
    assert_eq!(
        (Operation::of(0), Status::of(4), Reason::of(99)),
        (None, None, None)
    );
    assert_eq!(Text::new(&"x".repeat(TEXT_BYTES + 1)), None);
    assert_eq!(
        Text::cut(&"ä".repeat(TEXT_BYTES)).as_str().len(),
        TEXT_BYTES / 2 * 2
    );
}

#[test]
fn a_client_that_takes_no_answers_gets_no_more() {
    let ring = ring();
    let channel = &ring.channels[0];
    let mut server = Server::default();
    channel.submitted.store(ENTRIES, Release);
    channel.taken.store(0, Release);
    while let Some(entry) = entry(server.next(channel)) {
        server.answer(channel, &entry);
    }
    assert_eq!(channel.completed.load(Acquire), ENTRIES);
    channel.submitted.store(ENTRIES + 3, Release);
    assert_eq!(
        entry(server.next(channel)),
        None,
        "no answer has been taken"
    );
    channel.taken.store(2, Release);
    for _ in 0..2 {
        let entry = entry(server.next(channel)).expect("two have been");
        server.answer(channel, &entry);
    }
    assert_eq!(entry(server.next(channel)), None);
}

#[test]
fn the_server_s_words_come_back() {
    let ring = ring();
    let channel = &ring.channels[4];
    let mut server = Server::default();
    let mut client = attached(channel, &mut server, 3);
    ring.publish(17, 5_000);
    for word in [
        &ring.magic,
        &ring.version,
        &ring.pid,
        &ring.poll_ns,
        &channel.welcome,
    ] {
        word.store(0xbad, Relaxed);
    }
    for count in [&channel.accepted, &channel.completed] {
        count.store(0xbad, Relaxed);
    }
    ring.publish(17, 5_000);
    assert_eq!(server.next(channel), Found::Nothing);
    let header = [&ring.magic, &ring.version, &ring.pid, &ring.poll_ns];
    let found = header.map(|word| word.load(Relaxed));
    assert_eq!(found, [RING_MAGIC, u64::from(RING_VERSION), 17, 5_000]);
    assert!(
        client.submit(channel, &words(1)),
        "the counts are the server's again"
    );
    assert_eq!(client.take(channel), None);
}
