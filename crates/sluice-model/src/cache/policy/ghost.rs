//! The pages that left last, in the order in which they left.

/// FIFO queues of page addresses, each of a bounded length, from which a page can be taken.
///
/// A page is in one queue at most. A queue is a ring of addresses in which those that were taken
/// leave holes, so that only the address itself and the two ends are ever touched. When the ring
/// is full of holes it is packed; that happens once in as many additions as it has holes.
pub(super) struct Ghost {
    /// Per queue, `1 << bits` cells: LPN + 1, or 0 for a hole.
    cells: Vec<u32>,
    /// Per LPN: its cell + 1, or 0 if it is in no queue.
    cell_of: Vec<u32>,
    queues: Vec<Queue>,
    size: u32,
    bits: u32,
}

/// Cells `oldest .. next` are in use, counted on without end.
#[derive(Clone, Copy, Default)]
struct Queue {
    oldest: u32,
    next: u32,
    len: u32,
}

impl Ghost {
    /// Queues of at most `size` pages each.
    pub fn new(queues: u32, size: u32, pages: u32) -> Ghost {
        let cells = (size + size / 2 + 1).next_power_of_two();
        Ghost {
            cells: vec![0; queues as usize * cells as usize],
            cell_of: vec![0; pages as usize],
            queues: vec![Queue::default(); queues as usize],
            size,
            bits: cells.trailing_zeros(),
        }
    }

    pub fn len(&self, queue: u32) -> u32 {
        self.queues[queue as usize].len
    }

    /// Remembers a page that is not yet, and forgets the oldest of the queue if there are too many.
    #[inline]
    pub fn add(&mut self, queue: u32, lpn: u32) {
        if self.len(queue) == self.size && !self.forget_oldest(queue) {
            return;
        }
        let Queue { oldest, next, .. } = self.queues[queue as usize];
        if next.wrapping_sub(oldest) >> self.bits != 0 {
            self.pack(queue);
        }
        let cell = self.cell(queue, self.queues[queue as usize].next);
        self.cells[cell] = lpn + 1;
        self.cell_of[lpn as usize] = cell as u32 + 1;
        let queue = &mut self.queues[queue as usize];
        queue.next = queue.next.wrapping_add(1);
        queue.len += 1;
    }

    /// Forgets the page that has been in the queue the longest. Says whether there was one.
    #[inline]
    pub fn forget_oldest(&mut self, queue: u32) -> bool {
        if self.len(queue) == 0 {
            return false;
        }
        loop {
            let cell = self.cell(queue, self.queues[queue as usize].oldest);
            let oldest = &mut self.queues[queue as usize].oldest;
            *oldest = oldest.wrapping_add(1);
            if let Some(lpn) = std::mem::take(&mut self.cells[cell]).checked_sub(1) {
                self.cell_of[lpn as usize] = 0;
                self.queues[queue as usize].len -= 1;
                return true;
            }
        }
    }

    /// The queue that a page is in.
    #[inline]
    pub fn queue_of(&self, lpn: u32) -> Option<u32> {
        Some(self.cell_of[lpn as usize].checked_sub(1)? >> self.bits)
    }

    /// Forgets the page, and says in which queue it was.
    #[inline]
    pub fn take(&mut self, lpn: u32) -> Option<u32> {
        let cell = self.cell_of[lpn as usize].checked_sub(1)?;
        self.cell_of[lpn as usize] = 0;
        self.cells[cell as usize] = 0;
        let queue = cell >> self.bits;
        self.queues[queue as usize].len -= 1;
        Some(queue)
    }

    /// What a look-up of the page reads; see [`super::Eviction::warm`].
    #[inline]
    pub fn warm(&self, lpn: u32) -> u32 {
        self.cell_of[lpn as usize]
    }

    fn cell(&self, queue: u32, count: u32) -> usize {
        let within = count & ((1 << self.bits) - 1);
        ((queue << self.bits) | within) as usize
    }

    /// Closes the holes. A full ring has at least a third of them.
    #[cold]
    fn pack(&mut self, queue: u32) {
        let Queue { oldest, next, .. } = self.queues[queue as usize];
        let mut free = oldest;
        let mut from = oldest;
        while from != next {
            let cell = self.cell(queue, from);
            from = from.wrapping_add(1);
            if let Some(lpn) = std::mem::take(&mut self.cells[cell]).checked_sub(1) {
                let to = self.cell(queue, free);
                self.cells[to] = lpn + 1;
                self.cell_of[lpn as usize] = to as u32 + 1;
                free = free.wrapping_add(1);
            }
        }
        self.queues[queue as usize].next = free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const PAGES: u32 = 40;

    #[derive(Clone, Debug)]
    enum Step {
        Add(u32),
        Take(u32),
        Forget,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..PAGES).prop_map(Step::Add),
            4 => (0..PAGES).prop_map(Step::Take),
            1 => Just(Step::Forget),
        ]
    }

    proptest! {
        /// Two queues, each beside a plain list.
        #[test]
        fn queues_are_plain_lists(
            size in 0u32..9,
            steps in prop::collection::vec((0u32..2, step()), 0..600),
        ) {
            let mut ghost = Ghost::new(2, size, PAGES);
            let mut plain = [VecDeque::new(), VecDeque::new()];
            for (queue, step) in steps {
                match step {
                    Step::Add(lpn) if ghost.queue_of(lpn).is_none() => {
                        ghost.add(queue, lpn);
                        let list = &mut plain[queue as usize];
                        list.push_back(lpn);
                        if list.len() > size as usize {
                            list.pop_front();
                        }
                    }
                    Step::Add(lpn) | Step::Take(lpn) => {
                        let holds = |list: &VecDeque<u32>| list.contains(&lpn);
                        let expected = plain.iter().position(holds);
                        plain.iter_mut().for_each(|list| list.retain(|held| *held != lpn));
                        prop_assert_eq!(ghost.take(lpn), expected.map(|queue| queue as u32));
                    }
                    Step::Forget => {
                        let expected = plain[queue as usize].pop_front().is_some();
                        prop_assert_eq!(ghost.forget_oldest(queue), expected);
                    }
                }
                for (queue, list) in plain.iter().enumerate() {
                    prop_assert_eq!(ghost.len(queue as u32) as usize, list.len());
                }
                for lpn in 0..PAGES {
                    let expected = plain.iter().position(|list| list.contains(&lpn));
                    prop_assert_eq!(ghost.queue_of(lpn), expected.map(|queue| queue as u32));
                }
            }
        }
    }
}
