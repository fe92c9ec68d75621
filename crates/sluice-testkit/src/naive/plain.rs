//! FIFO, LIFO, LRU, MRU, CLOCK and S3-FIFO as plain lists.

use super::Naive;
use std::collections::VecDeque;

/// The plain cache of a policy, or `None` if it is not one of these.
pub(super) fn cache(policy: &str, capacity: usize, s3fifo_small: usize) -> Option<Box<dyn Naive>> {
    let pages = VecDeque::new();
    Some(match policy {
        "fifo" => Box::new(Queue {
            pages,
            capacity,
            move_on_hit: false,
            evict_newest: false,
        }),
        "lifo" => Box::new(Queue {
            pages,
            capacity,
            move_on_hit: false,
            evict_newest: true,
        }),
        "lru" => Box::new(Queue {
            pages,
            capacity,
            move_on_hit: true,
            evict_newest: false,
        }),
        "mru" => Box::new(Mru {
            pages: Vec::new(),
            capacity,
        }),
        "clock" => Box::new(Clock {
            pages: VecDeque::new(),
            capacity,
        }),
        "s3fifo" => Box::new(S3Fifo::new(capacity, s3fifo_small)),
        _ => return None,
    })
}

/// FIFO, LIFO and LRU: the newest at the back.
struct Queue {
    pages: VecDeque<u64>,
    capacity: usize,
    move_on_hit: bool,
    evict_newest: bool,
}

impl Naive for Queue {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let place = self.pages.iter().position(|p| *p == page);
        if let Some(place) = place {
            if self.move_on_hit {
                self.pages.remove(place);
                self.pages.push_back(page);
            }
            return (true, None);
        }
        let full = self.pages.len() == self.capacity;
        let evicted = match full {
            true if self.evict_newest => self.pages.pop_back(),
            true => self.pages.pop_front(),
            false => None,
        };
        self.pages.push_back(page);
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        self.pages.retain(|p| *p != page);
    }
}

/// The latest at the end.
struct Mru {
    pages: Vec<u64>,
    capacity: usize,
}

impl Naive for Mru {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let known = self.pages.iter().position(|p| *p == page);
        let mut evicted = None;
        if let Some(place) = known {
            self.pages.remove(place);
        } else if self.pages.len() == self.capacity {
            evicted = self.pages.pop();
        }
        self.pages.push(page);
        (known.is_some(), evicted)
    }

    fn discard(&mut self, page: u64) {
        self.pages.retain(|p| *p != page);
    }
}

/// The clock face from the hand on: (page, referenced).
struct Clock {
    pages: VecDeque<(u64, bool)>,
    capacity: usize,
}

impl Naive for Clock {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        if let Some(entry) = self.pages.iter_mut().find(|(p, _)| *p == page) {
            entry.1 = true;
            return (true, None);
        }
        let mut evicted = None;
        while self.pages.len() == self.capacity {
            match self.pages.pop_front() {
                Some((spared, true)) => self.pages.push_back((spared, false)),
                other => evicted = other.map(|(p, _)| p),
            }
        }
        self.pages.push_back((page, false));
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        self.pages.retain(|(p, _)| *p != page);
    }
}

/// S3-FIFO from its description: queues of (page, count), the oldest in front.
struct S3Fifo {
    small: VecDeque<(u64, u32)>,
    main: VecDeque<(u64, u32)>,
    ghost: VecDeque<u64>,
    capacity: usize,
    small_size: usize,
    ghost_size: usize,
    has_evicted: bool,
}

impl S3Fifo {
    fn new(capacity: usize, small_percent: usize) -> S3Fifo {
        S3Fifo {
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: VecDeque::new(),
            capacity,
            small_size: (capacity * small_percent / 100).max(1),
            ghost_size: capacity * (100 - small_percent) / 100,
            has_evicted: false,
        }
    }

    fn evict(&mut self) -> Option<u64> {
        self.has_evicted = true;
        loop {
            let main_over = self.main.len() > self.capacity - self.small_size;
            if main_over || self.small.is_empty() {
                let (page, count) = self.main.pop_front()?;
                if count == 0 {
                    return Some(page);
                }
                self.main.push_back((page, count.min(3) - 1));
                continue;
            }
            // Once begun, the small queue is gone through until a page leaves it for good.
            while let Some((page, count)) = self.small.pop_front() {
                if count < 2 {
                    self.ghost.push_back(page);
                    if self.ghost.len() > self.ghost_size {
                        self.ghost.pop_front();
                    }
                    return Some(page);
                }
                self.main.push_back((page, 0));
            }
        }
    }
}

impl Naive for S3Fifo {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let mut all = self.small.iter_mut().chain(self.main.iter_mut());
        if let Some(entry) = all.find(|(p, _)| *p == page) {
            entry.1 += 1;
            return (true, None);
        }
        let remembered = self.ghost.iter().position(|p| *p == page);
        if let Some(place) = remembered {
            self.ghost.remove(place);
        }
        let full = self.small.len() + self.main.len() == self.capacity;
        let evicted = if full { self.evict() } else { None };
        let small_full = self.small.len() >= self.small_size;
        if remembered.is_some() || (!self.has_evicted && small_full) {
            self.main.push_back((page, 0));
        } else {
            self.small.push_back((page, 0));
        }
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        self.small.retain(|(p, _)| *p != page);
        self.main.retain(|(p, _)| *p != page);
    }
}
