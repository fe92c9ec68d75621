//! Which allocations and which threads the misses belong to (`--profile`).
//!
//! The library in the program says which pages an allocation has, and by which calls it was made.
//! A miss counts for the allocation of its page and for its thread. All of it is in a file of the
//! session, so that it is there however the program ends.

use crate::process::loaded::Loaded;
use core::sync::atomic::{AtomicU16, AtomicU64, Ordering::*};
use sluice_abi::{
    Missed, PROFILE_FRAMES, PROFILE_MAGIC, PROFILE_SITES, PROFILE_VERSION, ProfileBlock,
    ProfiledThread, frame, profile_pages_at, write_words,
};
use sluice_region::{Mapping, thread_name};
use sluice_units::Fnv;
use std::ops::Range;

/// A hash table of stacks has so many places: twice the sites.
const PLACES: usize = PROFILE_SITES * 2;
/// Calls that are looked at: those of this library itself are left out.
pub(crate) const CALLS: usize = PROFILE_FRAMES + 6;
/// The site of pages that belong to no allocation that is looked at.
const NO_SITE: u16 = 0;

/// Where the calls of a stack return to, the innermost first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    pub(crate) addresses: [usize; CALLS],
    depth: usize,
}

impl Calls {
    /// Adds the next call outwards. Says whether there is room for more.
    pub fn push(&mut self, address: usize) -> bool {
        if let Some(place) = self.addresses.get_mut(self.depth) {
            *place = address;
            self.depth += 1;
        }
        self.depth < CALLS
    }

    fn known(&self) -> &[usize] {
        &self.addresses[..self.depth]
    }

    /// Never 0.
    fn hash(&self) -> u64 {
        let mut hash = Fnv::default();
        self.known().iter().for_each(|at| hash.word(*at as u64));
        hash.value().max(1)
    }
}

/// The profile of this process.
#[derive(Debug)]
pub(crate) struct Profile {
    map: Mapping,
    pages: u64,
    /// Hashes of stacks, and their sites: a table of open addresses.
    known: Box<[(u64, u16); PLACES]>,
    /// What the loader has given to modules, by their numbers.
    loaded: Vec<usize>,
}

impl Profile {
    /// A profile over a mapping of [`sluice_abi::profile_bytes`].
    pub fn new(map: Mapping, pages: u64) -> Profile {
        let profile = Profile {
            map,
            pages,
            known: vec![(0, 0); PLACES].try_into().expect("as many"),
            loaded: Vec::with_capacity(sluice_abi::PROFILE_MODULES),
        };
        let block = profile.block();
        block.version.store(PROFILE_VERSION, Relaxed);
        block.sites.store(1, Relaxed);
        block.modules.store(1, Relaxed);
        block.magic.store(PROFILE_MAGIC, Release);
        profile
    }

    fn block(&self) -> &ProfileBlock {
        // SAFETY: the mapping is page-aligned, long enough, and all fields are atomics.
        unsafe { &*(self.map.addr() as *const ProfileBlock) }
    }

    /// The sites of all pages.
    fn page_sites(&self) -> &[AtomicU16] {
        let first = (self.map.addr() + profile_pages_at()) as *const AtomicU16;
        // SAFETY: the mapping has one for each page behind the block.
        unsafe { core::slice::from_raw_parts(first, self.pages as usize) }
    }

    /// Counts a miss of a thread on a page. On the path of a fault.
    pub fn missed(&self, lpn: u64, thread: u32) {
        let place = self.count(lpn, thread, |missed| add(&missed.misses, 1));
        // A thread gets its name after its start, from itself or from another.
        if let Some(place) = place
            && place.missed.misses.load(Relaxed).is_power_of_two()
            && let Some(name) = thread_name(thread)
        {
            write_words(&place.name, &name);
        }
    }

    /// Counts the time that a thread waited for a page. On the path of a fault.
    pub fn waited(&self, lpn: u64, thread: u32, ns: u64) {
        self.count(lpn, thread, |missed| add(&missed.waited_ns, ns));
    }

    /// Counts for a page's site and for a thread, whose place it returns.
    fn count(&self, lpn: u64, thread: u32, count: impl Fn(&Missed)) -> Option<&ProfiledThread> {
        let block = self.block();
        let site = self.page_sites().get(lpn as usize);
        let site = site.map_or(NO_SITE, |site| site.load(Relaxed));
        // Others can write to the file: a number that no site has counts as no site.
        let site = block.site.get(usize::from(site)).unwrap_or(&block.site[0]);
        count(&site.missed);
        let place = self.place_of_thread(thread);
        count(place.map_or(&block.others, |place| &place.missed));
        place
    }

    /// The place of a thread, which is its own from now on; `None` if no place is left, or nobody
    /// knows which thread it is (0).
    fn place_of_thread(&self, thread: u32) -> Option<&ProfiledThread> {
        let thread = u64::from(thread);
        let mut places = self.block().thread.iter().filter(|_| thread != 0);
        let place = places.find(|place| {
            let id = place.id.load(Relaxed);
            id == 0 || id == thread
        })?;
        place.id.store(thread, Relaxed);
        Some(place)
    }

    /// The site of a stack, if it is known.
    fn site_of(&self, calls: &Calls) -> Option<u16> {
        let (hash, place) = self.place_of(calls);
        (self.known[place].0 == hash).then(|| self.known[place].1)
    }

    /// The hash of a stack, and its place in the table: one that has it, or an empty one.
    fn place_of(&self, calls: &Calls) -> (u64, usize) {
        let hash = calls.hash();
        let mut place = hash as usize % PLACES;
        while self.known[place].0 != 0 && self.known[place].0 != hash {
            place = (place + 1) % PLACES;
        }
        (hash, place)
    }

    /// Makes a site of a stack; `None` if there are as many as can be.
    fn add_site(&mut self, calls: &Calls, loaded: &[Loaded; CALLS]) -> Option<u16> {
        let number = self.block().sites.load(Relaxed);
        if number >= PROFILE_SITES as u64 {
            return None;
        }
        let (hash, place) = self.place_of(calls);
        self.known[place] = (hash, number as u16);
        let others = calls.known().iter().zip(loaded);
        let others = others.filter(|(_, of)| !of.is_own());
        let mut depth = 0;
        for (address, of) in others.take(PROFILE_FRAMES) {
            let module = self.module(of);
            let within = address.wrapping_sub(if module == 0 { 0 } else { of.base });
            let frames = &self.block().site[number as usize].frames;
            frames[depth].store(frame(module, within as u64), Relaxed);
            depth += 1;
        }
        let block = self.block();
        block.site[number as usize]
            .depth
            .store(depth as u64, Relaxed);
        block.sites.store(number + 1, Release);
        Some(number as u16)
    }

    /// The number of a module; 0 for one that is not known, or for which there is no room.
    fn module(&mut self, of: &Loaded) -> usize {
        if of.start == 0 {
            return 0;
        }
        if let Some(at) = self.loaded.iter().position(|start| *start == of.start) {
            return at + 1;
        }
        let number = self.loaded.len() + 1;
        let Some(module) = self.block().module.get(number) else {
            return 0;
        };
        write_words(&module.path, of.path());
        self.block().modules.store(number as u64 + 1, Relaxed);
        self.loaded.push(of.start);
        number
    }

    /// Pages are allocated by these calls. `loaded` is where the calls are; without it, false says
    /// that the site is not known.
    pub fn allocated(
        &mut self,
        pages: Range<usize>,
        bytes: usize,
        calls: &Calls,
        loaded: Option<&[Loaded; CALLS]>,
    ) -> bool {
        let site = match (self.site_of(calls), loaded) {
            (None, None) => return false,
            (Some(site), _) => Some(site),
            (None, Some(loaded)) => self.add_site(calls, loaded),
        };
        let block = self.block();
        match site.and_then(|site| block.site.get(usize::from(site))) {
            Some(site) => {
                add(&site.allocations, 1);
                add(&site.bytes, bytes as u64);
            }
            None => add(&block.lost, 1),
        }
        self.give(pages, site.unwrap_or(NO_SITE));
        true
    }

    /// Pages are given back.
    pub fn freed(&self, pages: Range<usize>) {
        self.give(pages, NO_SITE);
    }

    /// Notes that pages belong to a site, or to none.
    fn give(&self, pages: Range<usize>, site: u16) {
        let all = self.page_sites();
        let pages = pages.start.min(all.len())..pages.end.min(all.len());
        for page in &all[pages] {
            // What is not touched takes no memory.
            if page.load(Relaxed) != site {
                page.store(site, Relaxed);
            }
        }
    }

    /// In the child of a fork: knows what its parent knows, and has counted nothing.
    pub fn go_on_in(&mut self, child: Profile, used: impl Iterator<Item = Range<usize>>) {
        let (from, to) = (self.block(), child.block());
        let copy = |from: &AtomicU64, to: &AtomicU64| to.store(from.load(Relaxed), Relaxed);
        let sites = (from.sites.load(Relaxed) as usize).min(PROFILE_SITES);
        for (from, to) in from.site.iter().zip(&to.site).take(sites) {
            copy(&from.depth, &to.depth);
            let frames = from.frames.iter().zip(&to.frames);
            frames.for_each(|(from, to)| copy(from, to));
        }
        for (from, to) in from
            .module
            .iter()
            .zip(&to.module)
            .take(self.loaded.len() + 1)
        {
            let words = from.path.iter().zip(&to.path);
            words.for_each(|(from, to)| copy(from, to));
        }
        copy(&from.sites, &to.sites);
        copy(&from.modules, &to.modules);
        for page in used.flatten().filter(|page| *page < self.pages as usize) {
            let site = self.page_sites()[page].load(Relaxed);
            child.give(page..page + 1, site);
        }
        let old = core::mem::replace(&mut self.map, child.map);
        self.map.take_place_of(old);
    }
}

/// One writer at a time, under the engine's lock.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let map = Mapping::anonymous(sluice_abi::profile_bytes(8)).expect("room");
        Profile::new(map, 8)
    }

    /// A fault can come before its thread is known: that is no thread's, whichever comes next.
    #[test]
    fn misses_of_an_unknown_thread_are_no_other_threads() {
        let profile = profile();
        profile.missed(0, 0);
        profile.missed(0, 77);
        let block = profile.block();
        assert_eq!(block.others.misses.load(Relaxed), 1);
        assert_eq!(block.thread[0].id.load(Relaxed), 77);
        assert_eq!(block.thread[0].missed.misses.load(Relaxed), 1);
    }
}
