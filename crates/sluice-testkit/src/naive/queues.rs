//! SIEVE, 2Q, SLRU, LFU, LFRU and the paper's S3-FIFO as plain lists, the oldest in front.

use super::Naive;
use std::collections::VecDeque;

/// The plain cache of a policy at its default parameters, or `None` if it is not one of these.
pub(super) fn cache(policy: &str, capacity: usize) -> Option<Box<dyn Naive>> {
    Some(match policy {
        "sieve" => Box::new(Sieve {
            pages: Vec::new(),
            hand: None,
            capacity,
        }),
        "twoq" => Box::new(TwoQ::new(capacity, false)),
        "twoq libcachesim" => Box::new(TwoQ::new(capacity, true)),
        "twoq cxl-ssd-sim" => Box::new(Halves {
            newcomers: Pages::new(),
            main: Pages::new(),
            capacity,
        }),
        "slru" => Box::new(Slru::new(capacity, 2, false)),
        "slru libcachesim" => Box::new(Slru::new(capacity, 4, true)),
        "lfu" => Box::new(Lfu {
            pages: Vec::new(),
            clock: 0,
            capacity,
        }),
        "lfru" => Box::new(Lfru {
            privileged: Vec::new(),
            rest: Vec::new(),
            capacity,
        }),
        "s3fifo paper" => Box::new(S3FifoPaper {
            capacity,
            ..S3FifoPaper::default()
        }),
        _ => return None,
    })
}

/// (page, visited), and the page that the hand is at.
struct Sieve {
    pages: Vec<(u64, bool)>,
    hand: Option<u64>,
    capacity: usize,
}

impl Sieve {
    fn take(&mut self, place: usize) -> u64 {
        let (page, _) = self.pages.remove(place);
        self.hand = self.pages.get(place).map(|(p, _)| *p);
        page
    }
}

impl Naive for Sieve {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        if let Some(entry) = self.pages.iter_mut().find(|(p, _)| *p == page) {
            entry.1 = true;
            return (true, None);
        }
        let mut evicted = None;
        if self.pages.len() == self.capacity {
            let hand = self.hand;
            let at = self.pages.iter().position(|(p, _)| Some(*p) == hand);
            let mut place = at.unwrap_or(0);
            while self.pages[place].1 {
                self.pages[place].1 = false;
                place = (place + 1) % self.pages.len();
            }
            evicted = Some(self.take(place));
        }
        self.pages.push((page, false));
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        let Some(place) = self.pages.iter().position(|(p, _)| *p == page) else {
            return;
        };
        if self.hand == Some(page) {
            self.take(place);
        } else {
            self.pages.remove(place);
        }
    }
}

type Pages = VecDeque<u64>;

/// Takes a page out of a list. Says whether it was there.
fn take(pages: &mut Pages, page: u64) -> bool {
    let place = pages.iter().position(|p| *p == page);
    place.inspect(|place| _ = pages.remove(*place)).is_some()
}

struct TwoQ {
    newcomers: Pages,
    main: Pages,
    gone: Pages,
    capacity: usize,
    is_libcachesim: bool,
}

impl TwoQ {
    fn new(capacity: usize, is_libcachesim: bool) -> TwoQ {
        TwoQ {
            newcomers: Pages::new(),
            main: Pages::new(),
            gone: Pages::new(),
            capacity,
            is_libcachesim,
        }
    }

    fn make_room(&mut self) -> Option<u64> {
        if self.newcomers.len() + self.main.len() < self.capacity {
            return None;
        }
        if self.newcomers.len() <= self.capacity / 4 && !self.main.is_empty() {
            return self.main.pop_front();
        }
        let page = self.newcomers.pop_front()?;
        self.gone.push_back(page);
        if self.gone.len() > self.capacity / 2 {
            self.gone.pop_front();
        }
        Some(page)
    }
}

impl Naive for TwoQ {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        if self.newcomers.contains(&page) {
            return (true, None);
        }
        if take(&mut self.main, page) {
            self.main.push_back(page);
            return (true, None);
        }
        let comes_back = self.gone.contains(&page);
        if self.is_libcachesim {
            take(&mut self.gone, page);
        }
        let evicted = self.make_room();
        take(&mut self.gone, page);
        if comes_back {
            self.main.push_back(page);
        } else {
            self.newcomers.push_back(page);
        }
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        let _ = take(&mut self.newcomers, page) || take(&mut self.main, page);
    }
}

/// 2Q of CXL-SSD-Sim's artifact, with half of the pages in its LRU part.
struct Halves {
    newcomers: Pages,
    main: Pages,
    capacity: usize,
}

impl Naive for Halves {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let mut evicted = None;
        if take(&mut self.main, page) || take(&mut self.newcomers, page) {
            self.main.push_back(page);
            if self.main.len() > self.capacity.div_ceil(2) {
                evicted = self.main.pop_front();
            }
            return (true, evicted);
        }
        if self.newcomers.len() + self.main.len() == self.capacity {
            evicted = self.newcomers.pop_front().or_else(|| self.main.pop_front());
        }
        self.newcomers.push_back(page);
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        let _ = take(&mut self.newcomers, page) || take(&mut self.main, page);
    }
}

struct Slru {
    segments: Vec<Pages>,
    size: usize,
    capacity: usize,
    is_libcachesim: bool,
}

impl Slru {
    fn new(capacity: usize, segments: usize, is_libcachesim: bool) -> Slru {
        let segments = segments.min(capacity);
        Slru {
            segments: vec![Pages::new(); segments],
            size: capacity / segments,
            capacity,
            is_libcachesim,
        }
    }

    /// Lets what is too much in the segments fall, the highest first.
    fn cool(&mut self) {
        for above in (1..self.segments.len()).rev() {
            while self.segments[above].len() > self.size {
                let falls = self.segments[above].pop_front().unwrap();
                self.segments[above - 1].push_back(falls);
            }
        }
    }
}

impl Naive for Slru {
    /// A variant that lets several pages go at one hit has to be asked with capacities at which
    /// one is enough.
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let top = self.segments.len() - 1;
        if let Some(at) = (0..=top).find(|at| take(&mut self.segments[*at], page)) {
            self.segments[(at + 1).min(top)].push_back(page);
            let before = self.segments[0].len();
            self.cool();
            let fell = self.segments[0].len() > before;
            let over = self.is_libcachesim && fell && self.segments[0].len() > self.size;
            let evicted = if over {
                self.segments[0].pop_front()
            } else {
                None
            };
            return (true, evicted);
        }
        let mut evicted = None;
        if self.segments.iter().map(Pages::len).sum::<usize>() == self.capacity {
            let lowest = self.segments.iter_mut().find(|s| !s.is_empty());
            evicted = lowest.unwrap().pop_front();
        }
        let free = self.segments.iter().position(|s| s.len() < self.size);
        let segment = if self.is_libcachesim { free } else { None };
        self.segments[segment.unwrap_or(0)].push_back(page);
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        for segment in &mut self.segments {
            take(segment, page);
        }
    }
}

/// (page, accesses, when the last one was).
struct Lfu {
    pages: Vec<(u64, u64, u64)>,
    clock: u64,
    capacity: usize,
}

impl Naive for Lfu {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        self.clock += 1;
        if let Some(entry) = self.pages.iter_mut().find(|(p, ..)| *p == page) {
            *entry = (page, entry.1 + 1, self.clock);
            return (true, None);
        }
        let mut evicted = None;
        if self.pages.len() == self.capacity {
            let first = *self
                .pages
                .iter()
                .min_by_key(|(_, n, at)| (*n, *at))
                .unwrap();
            self.pages.retain(|entry| *entry != first);
            evicted = Some(first.0);
        }
        self.pages.push((page, 1, self.clock));
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        self.pages.retain(|(p, ..)| *p != page);
    }
}

/// (page, accesses).
struct Lfru {
    privileged: Vec<(u64, u64)>,
    rest: Vec<(u64, u64)>,
    capacity: usize,
}

impl Naive for Lfru {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let mut all = self.privileged.iter().chain(&self.rest);
        if let Some((_, count)) = all.find(|(p, _)| *p == page).copied() {
            self.discard(page);
            self.privileged.push((page, (count + 1).min(15)));
            if self.privileged.len() > self.capacity / 2 {
                self.rest.push(self.privileged.remove(0));
            }
            return (true, None);
        }
        let mut evicted = None;
        if self.privileged.len() + self.rest.len() == self.capacity {
            let fewest = self.rest.iter().map(|(_, count)| *count).min().unwrap();
            let place = self.rest.iter().position(|(_, count)| *count == fewest);
            evicted = Some(self.rest.remove(place.unwrap()).0);
        }
        self.rest.push((page, 1));
        (false, evicted)
    }

    fn discard(&mut self, page: u64) {
        self.privileged.retain(|(p, _)| *p != page);
        self.rest.retain(|(p, _)| *p != page);
    }
}

/// Queues of (page, count): small a tenth, the ghosts nine.
#[derive(Default)]
struct S3FifoPaper {
    small: VecDeque<(u64, u32)>,
    main: VecDeque<(u64, u32)>,
    ghost: Pages,
    capacity: usize,
}

impl S3FifoPaper {
    fn evict_main(&mut self) -> Option<u64> {
        loop {
            let (page, count) = self.main.pop_front()?;
            if count == 0 {
                return Some(page);
            }
            self.main.push_back((page, count.min(3) - 1));
        }
    }

    fn evict(&mut self) -> Option<u64> {
        let small_size = (self.capacity / 10).max(1);
        if self.small.len() < small_size {
            return self.evict_main();
        }
        while let Some((page, count)) = self.small.pop_front() {
            if count > 1 {
                self.main.push_back((page, 0));
                if self.main.len() > self.capacity - small_size {
                    return self.evict_main();
                }
                continue;
            }
            self.ghost.push_back(page);
            if self.ghost.len() > self.capacity * 9 / 10 {
                self.ghost.pop_front();
            }
            return Some(page);
        }
        self.evict_main()
    }
}

impl Naive for S3FifoPaper {
    fn access(&mut self, page: u64) -> (bool, Option<u64>) {
        let mut all = self.small.iter_mut().chain(self.main.iter_mut());
        if let Some(entry) = all.find(|(p, _)| *p == page) {
            entry.1 += 1;
            return (true, None);
        }
        let full = self.small.len() + self.main.len() == self.capacity;
        let evicted = if full { self.evict() } else { None };
        if take(&mut self.ghost, page) {
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
