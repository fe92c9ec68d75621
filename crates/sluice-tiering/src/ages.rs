//! Which page of host memory leaves next, by an active and an inactive list as in Linux.

use sluice_lists::Lists;

/// Newest in front.
const INACTIVE: u32 = 0;
const ACTIVE: u32 = 1;

/// What is asked about the frames of host memory when one is to be free.
pub trait Frames {
    /// Whether the page in a frame was used since it was last asked about, or since it became
    /// inactive.
    fn take_used(&mut self, frame: u32) -> bool;

    /// The page in a frame becomes inactive: uses count from now on.
    fn becomes_inactive(&mut self, frame: u32);
}

/// The frames in use, by age. A page comes in as inactive, becomes active if it was used when its
/// turn comes to leave, and inactive again when there are more active pages than inactive ones.
pub struct Ages {
    lists: Lists,
    /// Which list each frame is in.
    list: Vec<u32>,
}

impl Ages {
    /// Ages of so many frames, none of them in use.
    pub fn new(frames: u32) -> Ages {
        Ages {
            lists: Lists::new(2, frames),
            list: vec![INACTIVE; frames as usize],
        }
    }

    /// A frame that a page has come into.
    pub fn add(&mut self, frame: u32) {
        self.put(INACTIVE, frame);
    }

    fn put(&mut self, list: u32, frame: u32) {
        self.list[frame as usize] = list;
        self.lists.push_front(list, frame);
    }

    /// A frame that is in use no longer.
    pub fn remove(&mut self, frame: u32) {
        self.lists.remove(self.list[frame as usize], frame);
    }

    /// Takes out the frame that leaves next: an inactive one that was not used. `None` if there is
    /// none, or if it was not found in so many steps; the next search then goes on from there.
    pub fn victim(&mut self, steps: u64, frames: &mut impl Frames) -> Option<u32> {
        for _ in 0..steps {
            if self.lists.len(ACTIVE) > self.lists.len(INACTIVE) {
                let frame = self.lists.pop_back(ACTIVE)?;
                frames.becomes_inactive(frame);
                self.put(INACTIVE, frame);
                continue;
            }
            let frame = self.lists.pop_back(INACTIVE)?;
            if !frames.take_used(frame) {
                return Some(frame);
            }
            self.put(ACTIVE, frame);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    impl Frames for Vec<bool> {
        fn take_used(&mut self, frame: u32) -> bool {
            std::mem::take(&mut self[frame as usize])
        }

        fn becomes_inactive(&mut self, frame: u32) {
            self[frame as usize] = false;
        }
    }

    /// The rule of `Ages` over queues, oldest in front.
    #[derive(Default)]
    struct Twin {
        inactive: VecDeque<u32>,
        active: VecDeque<u32>,
    }

    impl Twin {
        fn victim(&mut self, used: &mut [bool]) -> Option<u32> {
            loop {
                while self.active.len() > self.inactive.len() {
                    let frame = self.active.pop_front()?;
                    used[frame as usize] = false;
                    self.inactive.push_back(frame);
                }
                let frame = self.inactive.pop_front()?;
                if !std::mem::take(&mut used[frame as usize]) {
                    return Some(frame);
                }
                self.active.push_back(frame);
            }
        }

        fn remove(&mut self, frame: u32) {
            self.inactive.retain(|other| *other != frame);
            self.active.retain(|other| *other != frame);
        }
    }

    const FRAMES: u32 = 13;

    /// Whatever comes, is used, is given up and leaves.
    #[test]
    fn it_does_as_two_queues_do() {
        let (mut ages, mut twin) = (Ages::new(FRAMES), Twin::default());
        let mut used = vec![false; FRAMES as usize];
        let mut free: Vec<u32> = (0..FRAMES).collect();
        let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let frame = (dice >> 8) as u32 % FRAMES;
            match dice % 8 {
                0..3 => used[frame as usize] = true,
                3..6 => {
                    if let Some(frame) = free.pop() {
                        ages.add(frame);
                        twin.inactive.push_back(frame);
                    }
                }
                6 if !free.contains(&frame) => {
                    ages.remove(frame);
                    twin.remove(frame);
                    free.push(frame);
                }
                _ => {
                    let mut of_twin = used.clone();
                    let left = ages.victim(u64::MAX, &mut used);
                    assert_eq!(left, twin.victim(&mut of_twin));
                    assert_eq!(used, of_twin);
                    free.extend(left);
                }
            }
        }
    }

    /// All were used, and what a search has done counts for the next.
    #[test]
    fn a_search_ends_after_its_steps_and_goes_on_with_the_next() {
        let mut whole = Ages::new(FRAMES);
        (0..FRAMES).for_each(|frame| whole.add(frame));
        let mut used = vec![true; FRAMES as usize];
        let victim = whole.victim(u64::MAX, &mut used.clone());
        let mut bit_by_bit = Ages::new(FRAMES);
        (0..FRAMES).for_each(|frame| bit_by_bit.add(frame));
        let mut found = (1..).map(|tries| (tries, bit_by_bit.victim(3, &mut used)));
        let (tries, left) = found.find(|(_, left)| left.is_some()).expect("one");
        assert_eq!(left, victim);
        assert!(
            tries > 4,
            "{tries} tries of three steps for {FRAMES} frames"
        );
    }
}
