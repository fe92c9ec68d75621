//! Guests that offer without end, and guests and QEMUs that end while requests are under way.

use super::{Bench, OK, READ, WRITE, pattern};
use crate::driver::{Driver, HEAD};
use sluice_disk::BLOCK;
use std::time::{Duration, Instant};

const QUEUE_SIZE: u64 = 128;

fn is_within(limit: Duration, what: &str, act: impl FnOnce()) {
    let began = Instant::now();
    act();
    let took = began.elapsed();
    assert!(took < limit, "{what} took {took:?}");
}

/// A guest writes its queue as it likes. What it offers beyond its queue stays there.
#[test]
fn a_guest_that_offers_without_end_fills_no_memory_and_delays_no_end() {
    let mut bench = Bench::with(Driver::connect_with_events);
    bench.model.0.lock().unwrap().holds = Duration::from_millis(1);
    let under_way = bench.driver.flood(Duration::from_secs(2));
    assert!(under_way <= QUEUE_SIZE, "{under_way} are under way");
    let served = bench.model.calls().len();
    assert!(served > 300, "{served} were served");
    is_within(Duration::from_secs(3), "the new set-up", || {
        bench.driver.set_up_again();
    });
    bench.model.calls();
    assert_eq!(bench.request(WRITE, 1, &pattern(3, 1), 0).0, OK);
    assert!(bench.page(1) == pattern(3, 1));
    bench.driver.set_up_again();
    bench.driver.flood(Duration::from_secs(1));
    is_within(Duration::from_secs(2), "the end", || {
        bench.finish();
    });
}

/// A driver that is loaded anew while the device takes its time gets its disk.
#[test]
fn a_reset_does_not_wait_for_a_slow_request() {
    let mut bench = Bench::new();
    bench.model.0.lock().unwrap().takes_ms = vec![15_000];
    bench.driver.send(WRITE, 0, &pattern(1, 1), 0);
    while bench.model.calls().is_empty() {
        std::thread::yield_now();
    }
    is_within(Duration::from_secs(5), "the reset", || {
        bench.driver.set_up_again();
    });
    assert_eq!(bench.request(WRITE, 1, &pattern(3, 1), 0).0, OK);
    assert!(bench.page(0) == pattern(1, 1) && bench.page(1) == pattern(3, 1));
    let figures = bench.finish();
    // The first one's time was not seen to its end.
    assert_eq!(figures.writes, 2);
    assert!(figures.device().p99_ns < 5_000_000_000);
}

/// A QEMU that is stopped and goes on finds each request once, and its memory untouched meanwhile.
#[test]
fn what_was_not_begun_is_taken_again_when_the_guest_goes_on() {
    let mut bench = Bench::new();
    bench.device_has(0..3);
    bench.model.0.lock().unwrap().holds = Duration::from_secs(3);
    let heads = [0, 1, 2].map(|page| {
        let sector = page * BLOCK / 512;
        bench.driver.send(READ, sector, &[], BLOCK as usize)
    });
    while bench.model.calls().is_empty() {
        std::thread::yield_now();
    }
    let mut base = 0;
    is_within(Duration::from_millis(2500), "the stop", || {
        base = bench.driver.stop();
    });
    assert_eq!(base, 0, "nothing was answered");
    bench.model.0.lock().unwrap().holds = Duration::ZERO;
    let places = [0, 1, 2].map(|number| HEAD + (number << 20));
    for place in places {
        bench.driver.write(place + 0x100, &[0xaa]);
        bench.driver.write(place + 0x1000, &[0x55; BLOCK as usize]);
    }
    std::thread::sleep(Duration::from_secs(3));
    for place in places {
        assert_eq!(bench.driver.read(place + 0x100, 1), [0xaa]);
        let data = bench.driver.read(place + 0x1000, BLOCK as usize);
        assert!(data == [0x55; BLOCK as usize]);
    }
    // An interrupt for each.
    bench.model.0.lock().unwrap().takes_ms = vec![100, 400, 700];
    bench.driver.go_on(base);
    for (page, head) in (0..).zip(heads) {
        assert_eq!(bench.driver.answer().0, head);
        let place = places[page as usize];
        assert_eq!(bench.driver.read(place + 0x100, 1), [OK]);
        assert!(bench.driver.read(place + 0x1000, BLOCK as usize) == pattern(page as u8, 1));
    }
    let figures = bench.finish();
    assert_eq!((figures.reads, figures.failed), (3, 0));
}
