//! A cache as lists of pages, one for each set.

use sluice_model::DeviceConfig;
use sluice_units::Lpn;

/// A page in the cache.
#[derive(Clone, Debug)]
pub struct Page {
    pub lpn: u32,
    pub dirty: bool,
    pub pinned: bool,
    /// Brought in before anybody asked, and not accessed since; whether it counts as prefetched.
    pub ahead: Option<bool>,
    /// When it went cold, if it is.
    pub cold: Option<u64>,
    /// Accesses that spare it.
    spared: u32,
    /// Brought in by the request that is being served: on its way, so that it cannot leave.
    pub arriving: bool,
}

/// Pages by set. What the policy holds stands in its order, the next to look at in front; pinned
/// pages stand anywhere.
pub struct Cache {
    pub sets: Vec<Vec<Page>>,
    ways: usize,
    pins: usize,
    policy: String,
    spared_most: u32,
    index: sluice_model::SetIndex,
    cooled: u64,
}

impl Cache {
    pub fn new(config: &DeviceConfig) -> Cache {
        let raw = config.raw();
        let bits: u32 = raw
            .get("cache.clock_bits")
            .expect("a parameter")
            .parse()
            .expect("a number");
        Cache {
            sets: vec![Vec::new(); (config.cache.pages / config.cache.ways) as usize],
            ways: config.cache.ways as usize,
            pins: config.cache.pins_per_set as usize,
            policy: raw.get("cache.policy").expect("a parameter"),
            spared_most: (1 << bits) - 1,
            index: config.cache.index,
            cooled: 0,
        }
    }

    pub fn set_of(&self, lpn: u32) -> usize {
        self.index.set_of(Lpn(lpn), self.sets.len() as u32) as usize
    }

    pub fn find(&mut self, lpn: u32) -> Option<&mut Page> {
        let set = self.set_of(lpn);
        self.sets[set].iter_mut().find(|page| page.lpn == lpn)
    }

    pub fn has(&self, lpn: u32) -> bool {
        let set = &self.sets[self.set_of(lpn)];
        set.iter().any(|page| page.lpn == lpn)
    }

    /// Nothing is on its way any more.
    pub fn rest(&mut self) {
        let pages = self.sets.iter_mut().flatten();
        pages.for_each(|page| page.arriving = false);
    }

    /// An access finds the page: the policy sees it, unless the page is pinned. Says what the page
    /// was ahead of.
    pub fn hit(&mut self, lpn: u32, makes_dirty: bool) -> Option<bool> {
        let (set, most) = (self.set_of(lpn), self.spared_most);
        let place = self.place(lpn)?;
        let page = &mut self.sets[set][place];
        page.dirty |= makes_dirty;
        page.cold = None;
        let ahead = page.ahead.take();
        if !page.pinned {
            page.spared = most.min(page.spared + 1);
            if self.policy == "lru" {
                let page = self.sets[set].remove(place);
                self.sets[set].push(page);
            }
        }
        ahead
    }

    fn place(&self, lpn: u32) -> Option<usize> {
        let set = &self.sets[self.set_of(lpn)];
        set.iter().position(|page| page.lpn == lpn)
    }

    /// Whether a page of this set can be pinned besides those that are.
    pub fn can_pin(&self, lpn: u32) -> bool {
        let set = &self.sets[self.set_of(lpn)];
        set.iter().filter(|page| page.pinned).count() < self.pins
    }

    pub fn pin(&mut self, lpn: u32) {
        let page = self.find(lpn).expect("a cached page");
        (page.pinned, page.cold) = (true, None);
    }

    /// It is a newcomer to the policy.
    pub fn unpin(&mut self, lpn: u32) {
        let mut page = self.take(lpn).expect("a cached page");
        (page.pinned, page.spared) = (false, 0);
        let set = self.set_of(lpn);
        self.sets[set].push(page);
    }

    pub fn take(&mut self, lpn: u32) -> Option<Page> {
        let (set, place) = (self.set_of(lpn), self.place(lpn)?);
        Some(self.sets[set].remove(place))
    }

    /// Lets the page be the next to leave. Says whether that is new.
    pub fn cool(&mut self, lpn: u32) -> bool {
        self.cooled += 1;
        let now = self.cooled;
        let Some(page) = self.find(lpn) else {
            return false;
        };
        let is_new = !page.pinned && !page.arriving && page.cold.is_none();
        if is_new {
            page.cold = Some(now);
        }
        is_new
    }

    /// Whether the page would need another one's place.
    pub fn is_full(&self, lpn: u32) -> bool {
        self.sets[self.set_of(lpn)].len() == self.ways
    }

    /// Takes the page out that leaves for `lpn`, but not `keep`.
    pub fn evict(&mut self, lpn: u32, keep: Option<u32>) -> Option<Page> {
        let set = self.set_of(lpn);
        let pages = &mut self.sets[set];
        let may_leave = |page: &Page| !page.pinned && !page.arriving && Some(page.lpn) != keep;
        let cold = pages
            .iter()
            .filter(|page| page.cold.is_some() && may_leave(page));
        if let Some(coldest) = cold.min_by_key(|page| page.cold).map(|page| page.lpn) {
            return self.take(coldest);
        }
        let mut place = 0;
        while place < pages.len() {
            if !may_leave(&pages[place]) {
                place += 1;
            } else if self.policy == "clock" && pages[place].spared > 0 {
                pages[place].spared -= 1;
                let page = pages.remove(place);
                pages.push(page);
            } else {
                return Some(pages.remove(place));
            }
        }
        None
    }

    pub fn insert(&mut self, lpn: u32, dirty: bool, ahead: Option<bool>) {
        let set = self.set_of(lpn);
        self.sets[set].push(Page {
            lpn,
            dirty,
            pinned: false,
            ahead,
            cold: None,
            spared: 0,
            arriving: true,
        });
    }
}
