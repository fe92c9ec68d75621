//! Are the lists what as many plain queues are?

use proptest::prelude::*;
use sluice_lists::Lists;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

const NODES: u32 = 12;

fn hash_of(lists: &Lists) -> u64 {
    let mut hasher = DefaultHasher::new();
    lists.hash(&mut hasher);
    hasher.finish()
}

/// Does one step to the lists and to plain queues, whose front is the newest node.
fn step(lists: &mut Lists, naive: &mut [VecDeque<u32>], what: u8, list: usize, node: u32) {
    let number = list as u32;
    let place = |queue: &VecDeque<u32>, node| queue.iter().position(|other| *other == node);
    let home = naive.iter().position(|queue| queue.contains(&node));
    match (what, home) {
        (0, None) => {
            lists.push_front(number, node);
            naive[list].push_front(node);
        }
        (1, None) => {
            lists.push_back(number, node);
            naive[list].push_back(node);
        }
        (2 | 3, None) if !naive[list].is_empty() => {
            let at = node as usize % naive[list].len();
            let other = naive[list][at];
            if what == 2 {
                lists.push_before(number, other, node);
                naive[list].insert(at, node);
            } else {
                lists.replace(number, other, node);
                naive[list][at] = node;
            }
        }
        (4, Some(home)) => {
            lists.remove(home as u32, node);
            naive[home].retain(|other| *other != node);
        }
        (5, Some(home)) => {
            lists.move_to_front(home as u32, node);
            let at = place(&naive[home], node).unwrap();
            naive[home].remove(at);
            naive[home].push_front(node);
        }
        (6, _) => assert_eq!(lists.pop_back(number), naive[list].pop_back()),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(128)))]

    #[test]
    fn lists_are_queues(steps in prop::collection::vec((0..7u8, 0..3usize, 0..NODES), 0..120)) {
        let mut lists = Lists::new(2, NODES);
        // Fewer are no change.
        lists.grow(3);
        lists.grow(1);
        let mut naive = vec![VecDeque::new(); 3];
        for (what, list, node) in steps {
            step(&mut lists, &mut naive, what, list, node);
            for (number, queue) in (0..).zip(&naive) {
                prop_assert_eq!(lists.iter(number).collect::<Vec<_>>(), Vec::from(queue.clone()));
                prop_assert_eq!(lists.len(number), queue.len() as u32);
                prop_assert_eq!(lists.front(number), queue.front().copied());
                prop_assert_eq!(lists.back(number), queue.back().copied());
                let odd = queue.iter().rev().find(|node| *node % 2 == 1);
                prop_assert_eq!(lists.oldest(number, |node| node % 2 == 1), odd.copied());
                for (at, node) in queue.iter().enumerate() {
                    let newer = at.checked_sub(1).map(|at| queue[at]);
                    prop_assert_eq!(lists.newer(*node), newer);
                    prop_assert_eq!(lists.older(*node), queue.get(at + 1).copied());
                }
            }
        }
        // Lists that came to the same contents by another way compare as equal.
        let mut direct = Lists::new(3, NODES);
        for (number, queue) in (0..).zip(&naive) {
            queue.iter().for_each(|node| direct.push_back(number, *node));
        }
        prop_assert_eq!(hash_of(&lists), hash_of(&direct));
        if let Some(node) = direct.pop_back(0) {
            prop_assert_ne!(hash_of(&lists), hash_of(&direct));
            direct.push_back(1, node);
            prop_assert_ne!(hash_of(&lists), hash_of(&direct));
        }
    }
}
