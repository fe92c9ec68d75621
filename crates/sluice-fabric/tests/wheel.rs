//! Is the event queue the one that sorting by time and sequence gives?

use proptest::prelude::*;
use sluice_fabric::{Events, Wheel};
use sluice_units::Ps;

/// Additions at some time after the last event taken, and takings.
fn steps() -> impl Strategy<Value = Vec<Option<u64>>> {
    let delay = prop_oneof![
        Just(0),
        0..3u64,
        0..200u64,
        0..1_000_000u64,
        Just(1 << 12),
        Just(1 << 40),
    ];
    prop::collection::vec(
        prop_oneof![3 => delay.prop_map(Some), 2 => Just(None)],
        0..400,
    )
}

proptest! {
    #[test]
    fn events_come_as_from_a_heap_of_time_and_sequence(steps in steps()) {
        let mut wheel = Wheel::with_capacity(4);
        let mut heap = Events::with_capacity(4);
        let mut now = Ps::ZERO;
        for (number, step) in steps.into_iter().enumerate() {
            if let Some(delay) = step {
                wheel.push(now + Ps(delay), number);
                heap.push(now + Ps(delay), number);
            } else {
                prop_assert_eq!(wheel.next_at(), heap.next_at());
                let event = heap.pop();
                prop_assert_eq!(wheel.pop(), event);
                now = event.map_or(now, |(at, _)| at);
            }
        }
        while let Some(event) = heap.pop() {
            prop_assert_eq!(wheel.pop(), Some(event));
        }
        prop_assert!(wheel.is_empty() && wheel.pop().is_none());
    }
}

#[test]
fn asking_for_the_next_time_does_not_move_the_clock() {
    let mut wheel = Wheel::with_capacity(4);
    wheel.push(Ps(1_000_000), 'b');
    assert_eq!(wheel.next_at(), Some(Ps(1_000_000)));
    wheel.push(Ps(5), 'a');
    assert_eq!(wheel.pop(), Some((Ps(5), 'a')));
    assert_eq!(wheel.pop(), Some((Ps(1_000_000), 'b')));
}

#[test]
#[should_panic(expected = "an event in the past")]
fn the_past_is_refused() {
    let mut wheel = Wheel::with_capacity(4);
    wheel.push(Ps(9), ());
    wheel.pop();
    wheel.push(Ps(8), ());
}
