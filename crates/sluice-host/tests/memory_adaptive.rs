//! SkyByte's page migration: how long a promotion takes, where each line is meanwhile, and how
//! pages go back. Both sides of each time.

use sluice_host::{Adaptive, Memory, Migration, Moved};
use sluice_testkit::host_rig::{HIT, host, memory};
use sluice_units::Ps;

const INTERRUPT: Ps = Ps::from_us(5);
const LINE: Ps = Ps::from_ns(50);
const COPY: Ps = Ps(LINE.0 * 64);
const FLASH: Ps = Ps::from_us(3);
const PAGE: u64 = 4096;

fn given() -> Adaptive {
    Adaptive {
        pages: 2,
        threshold: 2,
        decay: Ps::ZERO,
        buffer: 2,
        interrupt: INTERRUPT,
        line: LINE,
        huge: 1,
        spare: 0,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways: 0,
    }
}

fn adaptive(given: Adaptive) -> Memory {
    memory(Migration::Adaptive(given), &[])
}

/// Reads a page, which is a miss, until it is hot. Returns when its promotion began.
fn heat(memory: &mut Memory, from: Ps, page: u64) -> Ps {
    let times = [Ps::ZERO, Ps::from_us(10), Ps::from_us(11)].map(|after| from + after);
    for now in times {
        assert_eq!(memory.take_moved(), None);
        memory.read(now, page * PAGE, false);
    }
    times[2]
}

fn moved(page: u64) -> Option<Moved> {
    Some(Moved {
        first: page,
        pages: 1,
        shootdown: true,
    })
}

/// Heats a page and waits until it is in host memory.
fn promote(memory: &mut Memory, from: Ps, page: u64) -> Ps {
    let end = heat(memory, from, page) + INTERRUPT + COPY;
    memory.run(end);
    assert_eq!(memory.take_moved(), moved(page));
    end
}

#[test]
fn a_promotion_takes_its_interrupt_and_64_lines() {
    let mut memory = adaptive(given());
    let begin = heat(&mut memory, Ps::from_us(100), 7);
    assert_eq!(memory.next_event(), Some(begin + INTERRUPT));
    let end = begin + INTERRUPT + COPY;
    memory.run(end - Ps(1));
    assert_eq!(memory.take_moved(), None);
    memory.run(end);
    assert_eq!(memory.take_moved(), moved(7));
    assert_eq!(memory.next_event(), None);
    let migration = memory.stats().migration;
    assert_eq!((migration.promotions, migration.shootdowns), (1, 1));
    // Three reads and the copy.
    assert_eq!(memory.stats().link_bytes, [0, (3 + 64) * 64]);
    memory.read(end, 7 * PAGE, false);
    assert_eq!(memory.stats().requests.host_reads, 1);
    assert!(!memory.device().is_cached(sluice_units::Lpn(7)));
}

#[test]
fn a_page_is_hot_at_the_threshold_and_not_before() {
    let mut memory = adaptive(given());
    memory.read(Ps::ZERO, 0, false);
    memory.read(Ps::from_us(10), 0, false);
    assert_eq!(memory.next_event(), None);
    memory.write(Ps::from_us(20), 0);
    assert!(memory.next_event().is_some());
}

/// Counts are halved at every multiple of the decay time.
#[test]
fn a_count_decays() {
    let decay = Ps::from_us(100);
    let after_two = |third: Ps| {
        let mut memory = adaptive(Adaptive { decay, ..given() });
        memory.read(Ps::ZERO, 0, false);
        memory.read(Ps::from_us(10), 0, false);
        memory.read(third, 0, false);
        memory.next_event().is_some()
    };
    assert!(after_two(decay - Ps(1)));
    assert!(!after_two(decay));
}

/// A read that is answered with a message counts when it is read again.
#[test]
fn a_delayed_read_does_not_count() {
    let mut memory = adaptive(given());
    assert!(memory.read(Ps::ZERO, 0, true).delayed);
    memory.read(Ps::from_us(10), 0, true);
    assert_eq!(memory.next_event(), None);
    memory.read(Ps::from_us(20), 0, true);
    assert!(memory.next_event().is_some());
}

/// SkyByte section III-C: a write goes where the line is; the device serves reads, but for lines
/// that it has as they were.
#[test]
fn during_a_copy_each_line_is_where_it_is() {
    let line = 20;
    let asks = |after: Ps| {
        let mut memory = adaptive(given());
        let begin = heat(&mut memory, Ps::from_us(100), 0);
        memory.reset_stats();
        memory.write(begin + INTERRUPT + after, line * 64);
        let first = memory.stats().migration;
        let to_host = memory.stats().requests.host_writes;
        memory.read(begin + INTERRUPT + after, line * 64, false);
        memory.read(begin + INTERRUPT + after, (line + 1) * 64, false);
        let requests = memory.stats().requests;
        assert_eq!(
            (requests.host_reads, requests.host_writes),
            (to_host, to_host)
        );
        assert_eq!(requests.total(), 3);
        assert_eq!(
            (first.buffer_host, first.buffer_device),
            (to_host, 1 - to_host)
        );
        // The line that was written is read where it was written, its neighbour from the device.
        let all = memory.stats().migration;
        assert_eq!(
            (all.buffer_host, all.buffer_device),
            (2 * to_host, 3 - 2 * to_host)
        );
        to_host
    };
    assert_eq!(asks(LINE * line - Ps(1)), 0);
    assert_eq!(asks(LINE * line), 1);
}

#[test]
fn a_full_buffer_refuses_and_the_page_has_to_become_hot_again() {
    let mut memory = adaptive(Adaptive {
        buffer: 1,
        interrupt: Ps::from_ms(1),
        ..given()
    });
    let begin = heat(&mut memory, Ps::from_us(100), 0);
    heat(&mut memory, begin, 1);
    assert_eq!(memory.stats().migration.buffer_full, 1);
    memory.read(begin * 2, PAGE, false);
    assert_eq!(memory.stats().migration.buffer_full, 1);
    assert_eq!(memory.next_event(), Some(begin + Ps::from_ms(1)));
}

/// SkyByte section III-C: 64 pages are under way at once, and no more.
#[test]
fn the_buffer_has_64_entries() {
    let mut memory = adaptive(Adaptive {
        pages: 100,
        buffer: 64,
        interrupt: Ps::from_ms(10),
        ..given()
    });
    for page in 0..65 {
        heat(&mut memory, Ps::from_us(50) * page, page);
    }
    assert_eq!(memory.stats().migration.buffer_full, 1);
    memory.run(Ps::from_ms(20));
    assert_eq!(memory.stats().migration.promotions, 64);
}

/// A page that has left the cache before its copy begins is read from flash for it.
#[test]
fn a_copy_begins_when_the_page_is_in_the_cache() {
    let one_set = [
        ("cache.capacity", "16KiB"),
        ("cache.ways", "4"),
        ("cache.policy", "lru"),
    ];
    let wait = Ps::from_us(100);
    let late = Adaptive {
        interrupt: wait,
        ..given()
    };
    let takes = |comes_back: bool| {
        let mut memory = memory(Migration::Adaptive(late), &one_set);
        let begin = heat(&mut memory, wait, 0) + wait;
        for page in 1..5 {
            let now = begin - Ps::from_us(50) + Ps::from_us(10) * page;
            memory.read(now, page * PAGE, false);
        }
        if comes_back {
            memory.write(begin - Ps::from_us(1), 0);
        }
        memory.run(begin);
        let end = memory.next_event().expect("a copy");
        memory.run(end);
        assert_eq!(memory.take_moved(), moved(0));
        end - begin
    };
    assert_eq!(takes(false), HIT + FLASH + COPY);
    // On its way already.
    assert_eq!(takes(true), HIT + FLASH + COPY - Ps::from_us(1));
}

#[test]
fn without_host_memory_nothing_is_promoted() {
    let mut memory = adaptive(Adaptive {
        pages: 0,
        ..given()
    });
    heat(&mut memory, Ps::ZERO, 0);
    assert_eq!(memory.next_event(), None);
    assert_eq!(memory.stats().migration.no_room, 1);
}

/// A page that nobody wrote is as flash has it: only its translation changes, at once.
#[test]
fn a_clean_page_goes_back_without_a_copy() {
    let mut memory = adaptive(given());
    let end = promote(&mut memory, Ps::from_us(100), 0);
    let sent = memory.stats().link_bytes[0];
    // The second page takes the last frame: the first one makes room for the third.
    heat(&mut memory, end, 1);
    assert_eq!(memory.take_moved(), moved(0));
    let migration = memory.stats().migration;
    assert_eq!((migration.demotions, migration.dirty_demotions), (1, 0));
    assert_eq!(memory.stats().link_bytes[0], sent);
    memory.reset_stats();
    memory.read(end * 2, 0, false);
    assert_eq!(memory.stats().requests.device_read_misses, 1);
}

/// Promotes page 0, writes it there, and begins to promote page 1: page 0 has to leave.
fn leaving() -> (Memory, Ps) {
    let mut memory = adaptive(given());
    let end = promote(&mut memory, Ps::from_us(100), 0);
    memory.write(end, 0);
    let begin = heat(&mut memory, end, 1);
    (memory, begin)
}

#[test]
fn a_written_page_goes_back_line_by_line() {
    let (mut memory, begin) = leaving();
    memory.run(begin + COPY - Ps(1));
    assert_eq!(memory.take_moved(), None);
    memory.run(begin + COPY);
    assert_eq!(memory.take_moved(), moved(0));
    let migration = memory.stats().migration;
    assert_eq!((migration.demotions, migration.dirty_demotions), (1, 1));
    assert_eq!(memory.stats().link_bytes[0], 64 * 64);
    assert_eq!(memory.device().stats().migration.demoted, 1);
    memory.reset_stats();
    memory.read(begin + Ps::from_us(50), 0, false);
    assert_eq!(memory.stats().requests.device_read_hits, 1);
}

/// Until then it is read from host memory, and a write keeps it there.
#[test]
fn a_page_that_is_written_while_it_leaves_stays() {
    let (mut memory, begin) = leaving();
    memory.reset_stats();
    memory.read(begin + COPY - Ps(2), 0, false);
    memory.write(begin + COPY - Ps(1), 64);
    memory.run(begin + COPY);
    let requests = memory.stats().requests;
    assert_eq!((requests.host_reads, requests.host_writes), (1, 1));
    assert_eq!(memory.take_moved(), None);
    assert_eq!(memory.stats().migration.demotions, 0);
    // It is tried again.
    memory.run(begin + COPY + COPY);
    assert_eq!(memory.stats().migration.dirty_demotions, 1);
}

/// Linux's lists: a page that was accessed since its last turn stays, the other leaves.
#[test]
fn the_page_that_was_not_used_leaves() {
    let mut memory = adaptive(Adaptive {
        pages: 4,
        ..given()
    });
    let mut now = Ps::from_us(100);
    for page in 0..3 {
        now = promote(&mut memory, now, page);
    }
    // The first look takes their accessed bits away, and page 0.
    now = heat(&mut memory, now, 3) + INTERRUPT + COPY;
    memory.run(now);
    assert_eq!(memory.take_moved(), moved(0));
    assert_eq!(memory.take_moved(), moved(3));
    memory.read(now, PAGE, false);
    heat(&mut memory, now, 4);
    assert_eq!(memory.take_moved(), moved(2), "page 1 was used");
}

/// SkyByte section IV: the home node first, then the other, which is farther away.
#[test]
fn the_other_node_is_used_when_the_home_node_is_full() {
    let far = Ps::from_ns(90);
    let mut memory = adaptive(Adaptive {
        pages: 1,
        remote_pages: 2,
        remote_latency: far,
        ..given()
    });
    let end = promote(&mut memory, Ps::from_us(100), 0);
    let end = promote(&mut memory, end, 1);
    let mut takes = |after: u64, page: u64| {
        let now = end + Ps::from_ns(after);
        memory.read(now, page * PAGE, false).done_at - now
    };
    takes(0, 0);
    takes(500, 1);
    // Both rows are open now.
    let near = takes(1_000, 0);
    assert_eq!(takes(1_500, 1), near + far);
}

/// 512 chunks, each but the first one brought into the device's cache at its turn.
#[test]
fn a_huge_page_goes_chunk_by_chunk() {
    let mut memory = adaptive(Adaptive {
        pages: 512,
        huge: 512,
        ..given()
    });
    let begin = heat(&mut memory, Ps::from_us(100), 512 + 3);
    let cached = COPY;
    let fetched = HIT + FLASH + COPY;
    // Chunk 3 was accessed, and is still in the cache of 256 pages.
    let end = begin + INTERRUPT + cached + fetched * 511;
    let chunk_10 = begin + INTERRUPT + cached + fetched * 9 + HIT + FLASH;
    let addr = (512 + 10) * PAGE + 5 * 64;
    memory.reset_stats();
    memory.write(chunk_10 + LINE * 5 - Ps(1), addr);
    assert_eq!(memory.stats().requests.device_writes, 1);
    memory.write(chunk_10 + LINE * 5, addr);
    assert_eq!(memory.stats().requests.host_writes, 1);
    // A chunk later it is still known that the device does not have that line.
    memory.read(chunk_10 + COPY, addr, false);
    memory.read(chunk_10 + COPY, addr - PAGE, false);
    let requests = memory.stats().requests;
    assert_eq!((requests.host_reads, requests.device_read_hits), (1, 1));
    memory.run(end - Ps(1));
    assert_eq!(memory.take_moved(), None);
    memory.run(end);
    let whole = Moved {
        first: 512,
        pages: 512,
        shootdown: true,
    };
    assert_eq!(memory.take_moved(), Some(whole));
    assert_eq!(memory.device().stats().migration.promoted, 512);
}

/// The copy shares the link with accesses: it stretches when they fill it.
#[test]
fn a_copy_as_fast_as_the_link_leaves_no_room_on_it() {
    let line = host(Migration::None).link.line;
    let mut memory = adaptive(Adaptive { line, ..given() });
    // Another page for the reads.
    memory.read(Ps::ZERO, PAGE, false);
    let begin = heat(&mut memory, Ps::from_us(100), 0) + INTERRUPT;
    let end = begin + line * 64;
    // Reads that would arrive during the copy arrive after it, one after the other.
    let now = begin + line - HIT;
    memory.run(begin);
    let now = now.max(begin);
    let answers: Vec<Ps> = (0..3)
        .map(|read| memory.read(now, PAGE + read * 64, false).done_at)
        .collect();
    assert!(
        answers[0] >= end && answers[0] < end + line,
        "{answers:?} {end}"
    );
    assert_eq!(answers[1] - answers[0], line);
    assert_eq!(answers[2] - answers[1], line);
}

/// Only accesses to a page in the device's cache count, and those before it left are forgotten.
#[test]
fn a_count_ends_when_the_page_leaves_the_cache() {
    let after = |others: u64| {
        let one_set = [
            ("cache.capacity", "16KiB"),
            ("cache.ways", "4"),
            ("cache.policy", "lru"),
        ];
        let mut memory = memory(Migration::Adaptive(given()), &one_set);
        let mut now = Ps::ZERO;
        let mut read = |page: u64| {
            memory.read(now, page * PAGE, false);
            now += Ps::from_us(10);
            memory.next_event().is_some()
        };
        read(0);
        read(0);
        (1..=others).for_each(|page| assert!(!read(page)));
        // If it had left it comes back now, and this is a miss.
        let hot = read(0);
        assert!(hot || !read(0));
        hot
    };
    assert!(after(3));
    assert!(!after(4));
}

/// Reclaim takes clean pages away in batches, with one shootdown for each.
#[test]
fn pages_leave_in_batches() {
    let mut memory = adaptive(Adaptive {
        pages: 8,
        spare: 4,
        ..given()
    });
    let mut now = Ps::from_us(100);
    for page in 0..4 {
        now = promote(&mut memory, now, page);
    }
    heat(&mut memory, now, 4);
    let left: Vec<Moved> = std::iter::from_fn(|| memory.take_moved()).collect();
    let shootdowns: Vec<bool> = left.iter().map(|moved| moved.shootdown).collect();
    // Three are free: four and three more are to be.
    assert_eq!(shootdowns, [true, false, false, false]);
    assert_eq!(memory.stats().migration.demotions, 4);
}

/// Host memory may have more frames than the device has pages: those that can be used are whole
/// sets.
#[test]
fn sets_of_more_frames_than_pages_are_whole() {
    for ways in [3, 3 << 10, 3 << 24] {
        let pages = 3 << 24;
        let mut memory = adaptive(Adaptive {
            pages,
            ways,
            ..given()
        });
        for (from, page) in [(Ps::from_us(100), 7), (Ps::from_us(1_000), 8)] {
            let end = heat(&mut memory, from, page) + INTERRUPT + COPY;
            memory.run(end);
        }
        let migration = memory.stats().migration;
        assert_eq!((migration.promotions, migration.demotions), (2, 0));
    }
}
