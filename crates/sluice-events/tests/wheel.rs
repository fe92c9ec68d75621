//! Is the event queue the one that sorting by time and sequence gives?

use proptest::prelude::*;
use sluice_events::Wheel;
use sluice_units::Ps;

/// Additions at some time around the last event taken, and takings.
fn steps() -> impl Strategy<Value = Vec<Option<i64>>> {
    let delay = prop_oneof![
        Just(0),
        0..3i64,
        -1_000..200i64,
        0..1_000_000i64,
        Just(1 << 12),
        Just(1 << 40),
    ];
    prop::collection::vec(
        prop_oneof![3 => delay.prop_map(Some), 2 => Just(None)],
        0..400,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(256)))]

    /// Near and far, of the same time, and earlier than what was taken last.
    #[test]
    fn events_come_as_from_a_list_sorted_by_time_and_sequence(steps in steps()) {
        let mut wheel = Wheel::with_capacity(4);
        let mut naive: Vec<(Ps, usize)> = Vec::new();
        let mut now = 0u64;
        // At the end everything is taken.
        let rest = std::iter::repeat_n(None, steps.len() + 1);
        for (number, step) in steps.clone().into_iter().chain(rest).enumerate() {
            if let Some(delay) = step {
                let at = Ps(now.saturating_add_signed(delay));
                wheel.push(at, number);
                naive.push((at, number));
            } else {
                let first = naive.iter().copied().min();
                prop_assert_eq!(wheel.next_at(), first.map(|(at, _)| at));
                prop_assert_eq!(wheel.pop(), first);
                naive.retain(|event| Some(*event) != first);
                now = first.map_or(now, |(at, _)| at.0);
            }
            prop_assert_eq!(wheel.len(), naive.len());
            prop_assert_eq!(wheel.is_empty(), naive.is_empty());
            let waiting = wheel.iter().map(|(at, number)| (at, *number));
            let mut waiting: Vec<(Ps, usize)> = waiting.collect();
            waiting.sort_unstable_by_key(|(_, number)| *number);
            prop_assert_eq!(&waiting, &naive);
        }
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
