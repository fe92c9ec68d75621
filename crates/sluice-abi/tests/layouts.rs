//! Where things are in shared files, and which pages are watched.

use sluice_abi::{
    Answer, DESK_MAGIC, Desk, DeskState, HEAT_PAGES, MAP_AT, MARK_NAME_MAX, PROGRAMMED_AT,
    ProfileBlock, Progress, StatsBlock, TEXT_BYTES, Text, Wanted, desk_bytes, desk_words, heat_at,
    heat_len, is_mark_name, is_watched, lost_at, mark_words, profile_bytes, profile_pages_at,
    read_mark, view_bytes, watched_for,
};
use std::sync::atomic::Ordering::*;

/// SplitMix64 from the state 1234567: the first five numbers of Vigna's reference code.
#[test]
fn pages_are_watched_by_splitmix64() {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let published: [u64; 5] = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    for (n, number) in (0..).zip(published) {
        let state = GOLDEN.wrapping_mul(n).wrapping_add(1_234_567);
        assert_eq!(watched_for(state), number.leading_zeros(), "number {n}");
    }
}

#[test]
fn one_page_in_two_to_the_power_is_watched() {
    let pages = 1u64 << 18;
    for halvings in 0..12 {
        let watched = (0..pages).filter(|lpn| is_watched(*lpn, halvings)).count() as f64;
        let due = (pages >> halvings) as f64;
        assert!(
            (watched - due).abs() <= 4.0 * due.sqrt(),
            "{watched} for {due}"
        );
        // Pages that are watched after one more were watched before.
        assert!((0..pages).all(|lpn| !is_watched(lpn, halvings + 1) || is_watched(lpn, halvings)));
    }
    let far = (0..pages).max_by_key(|lpn| watched_for(*lpn)).unwrap();
    let most = watched_for(far);
    assert!(is_watched(far, most) && !is_watched(far, most + 1));
    // Of the number whose mix is 0 all 64 bits are zeros: it outlasts 63 halvings, and no more.
    let zero = 0u64.wrapping_sub(0x9e37_79b9_7f4a_7c15);
    assert_eq!(watched_for(zero), 64);
    assert!(is_watched(zero, 63) && !is_watched(zero, 64) && !is_watched(zero, 65));
}

/// A byte for each page behind the statistics, then four for each 64 of them: a power of two.
#[test]
fn the_map_and_the_heat_lie_behind_the_statistics() {
    assert_eq!(MAP_AT % 4096, 0);
    assert!(MAP_AT >= size_of::<StatsBlock>() && MAP_AT < size_of::<StatsBlock>() + 4096);
    for (pages, map, counters) in [
        (1, 4, 1),
        (4, 4, 1),
        (5, 8, 1),
        (64, 64, 1),
        (65, 68, 2),
        (1 << 20, 1 << 20, 1 << 14),
    ] {
        assert_eq!(heat_at(pages), MAP_AT + map);
        assert_eq!(heat_len(pages), counters);
        let all = MAP_AT + map + 4 * counters;
        let bytes = view_bytes(pages);
        assert!(
            bytes.is_power_of_two() && bytes >= all && bytes < 2 * all,
            "{pages} pages"
        );
    }
    assert_eq!(HEAT_PAGES, 64);
}

/// The desk, then the bits of programmed pages and those of lost ones, each from a page of its own
/// on: 32,768 bits are a page.
#[test]
fn the_bits_of_the_desk_begin_at_pages() {
    for (pages, words, bits_pages) in [
        (1, 1, 1),
        (64, 1, 1),
        (65, 2, 1),
        (32_768, 512, 1),
        (32_769, 513, 2),
        (65_536, 1024, 2),
    ] {
        assert_eq!(desk_words(pages), words);
        assert_eq!(lost_at(pages), PROGRAMMED_AT + 4096 * bits_pages);
        assert_eq!(desk_bytes(pages), PROGRAMMED_AT + 2 * 4096 * bits_pages);
    }
    assert_eq!(&DESK_MAGIC.to_le_bytes(), b"SLDESK01");
}

/// Two bytes for each page begin at the first page of the file behind the block; 2,048 fill one.
#[test]
fn the_sites_of_a_profile_s_pages_lie_behind_its_block() {
    let at = profile_pages_at();
    assert_eq!(at % 4096, 0);
    assert!((at - 4095..=at).contains(&size_of::<ProfileBlock>()));
    for (pages, filled) in [(1, 1), (2_048, 1), (2_049, 2), (6_145, 4)] {
        assert_eq!(profile_bytes(pages), at + filled * 4096, "{pages} pages");
    }
}

#[test]
fn a_desk_says_what_its_server_does() {
    let desk = Desk::default();
    assert_eq!(desk.state(), DeskState::Open);
    for state in [DeskState::PowerOff, DeskState::Closed, DeskState::Open] {
        desk.set_state(state);
        assert_eq!(desk.state(), state);
    }
}

/// Several at once, answered in another order: each has its own question and its own answer.
#[test]
fn requests_do_not_mix() {
    let desk = Desk::default();
    let wanted = |n: u64| match n % 2 {
        0 => Wanted::Flush {
            first: 100 + n,
            count: n,
        },
        _ => Wanted::PowerCut { most: n },
    };
    // Places that were used before, each another number of times.
    for used in 1..8 {
        for _ in 0..used {
            let tickets: Vec<_> = (0..used).map(|n| desk.post(wanted(n)).unwrap()).collect();
            while let Some((served, _)) = desk.next(None) {
                desk.answer(served, Answer::default());
            }
            for ticket in tickets {
                assert!(matches!(desk.look(ticket), Progress::Done(_)));
            }
        }
    }
    let tickets: Vec<_> = (0..8).map(|n| desk.post(wanted(n)).unwrap()).collect();
    let answer = |n: u64| Answer {
        errno: n as u32,
        written: 10 * n,
        lost: 100 * n,
    };
    let rung = desk.answered.load(Relaxed);
    for n in 0..8 {
        let (served, found) = desk.next(None).unwrap();
        assert_eq!(found, wanted(n));
        desk.answer(served, answer(n));
        // One that was answered and not looked at is not asked again, and keeps its place.
        let waits: Vec<_> = desk.held().iter().map(|state| state % 4).collect();
        assert_eq!(
            waits.iter().filter(|phase| **phase == 3).count() as u64,
            n + 1
        );
    }
    assert_eq!(desk.answered.load(Relaxed), rung + 8);
    assert!(desk.next(None).is_none());
    for (n, ticket) in tickets.iter().enumerate().rev() {
        assert_eq!(desk.look(*ticket), Progress::Done(answer(n as u64)));
        assert_eq!(
            desk.look(*ticket),
            Progress::GivenUp,
            "an answer is returned once"
        );
    }
    // Given up: an answer for which nobody came since, and nothing that changed in between.
    let [one, other] = [0, 1].map(|n| desk.post(wanted(n)).unwrap());
    let before = desk.held();
    while let Some((served, _)) = desk.next(None) {
        desk.answer(served, answer(3));
    }
    desk.give_up(&before);
    assert_eq!(desk.look(one), Progress::Done(answer(3)));
    desk.give_up(&desk.held());
    assert_eq!(desk.look(other), Progress::GivenUp);
    let next = desk.post(wanted(5)).unwrap();
    assert_eq!(desk.look(next), Progress::Waits);
    assert_eq!(
        desk.look(other),
        Progress::GivenUp,
        "an old ticket is for no new request"
    );
}

#[test]
fn texts_are_cut_between_letters() {
    let room = TEXT_BYTES;
    let of = |text: &str| Text::new(text).map(|text| text.as_str().to_owned());
    assert_eq!(of(&"x".repeat(room)), Some("x".repeat(room)));
    assert_eq!(of(&"x".repeat(room + 1)), None);
    assert_eq!(Text::cut(&"x".repeat(room + 9)).as_str(), "x".repeat(room));
    for (before, due) in [(room - 1, room - 1), (room - 2, room), (room, room)] {
        let text = format!("{}ä", "x".repeat(before));
        assert_eq!(Text::cut(&text).as_str().len(), due, "{before}");
    }
    assert_eq!(format!("{:?}", Text::cut("a \"b\"")), "\"a \\\"b\\\"\"");
    assert_eq!(Text::EMPTY.as_str(), "");
}

#[test]
fn a_mark_that_nobody_could_have_written_is_none() {
    // SAFETY: all fields are atomics of integers, for which zeros are valid.
    let block: Box<StatsBlock> = Box::new(unsafe { std::mem::zeroed() });
    let good = mark_words(&block, 1, 2, "a.b");
    assert_eq!(
        good.len(),
        size_of::<StatsBlock>() / 8 + 3 + MARK_NAME_MAX / 8
    );
    let length = size_of::<StatsBlock>() / 8 + 2;
    for (at, word) in [
        (length, 0),
        (length, 4),
        (length, MARK_NAME_MAX as u64 + 1),
        (length, u64::MAX),
        (length + 1, u64::from_ne_bytes(*b"a b\0\0\0\0\0")),
        (length + 1, u64::from_ne_bytes([0xff; 8])),
    ] {
        let mut words = good.clone();
        words[at] = word;
        assert_eq!(read_mark(&words), None, "{at} {word}");
    }
    let longer = [&good[..], &[0]].concat();
    assert_eq!(read_mark(&longer), None);
    assert_eq!(read_mark(&good).unwrap().name, "a.b");
    assert!(is_mark_name(&"x".repeat(MARK_NAME_MAX)) && is_mark_name("Z_9-."));
}
