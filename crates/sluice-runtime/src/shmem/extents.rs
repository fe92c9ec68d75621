//! Which pages of the device hold which parts of objects of shared memory.

use super::message::Window;
use core::ops::Range;
use std::collections::BTreeMap;

/// An object's name and one of its pages.
type At = (u64, u64, u64);

/// A mapping of one process that shows an extent, or a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User {
    /// The process's place in the server's list.
    pub process: usize,
    /// The mapping's first address.
    pub start: usize,
}

/// Consecutive pages of the device that hold consecutive pages of an object.
#[derive(Debug)]
pub struct Extent {
    /// How many pages it has.
    pub pages: u64,
    /// Mappings that show some of them.
    pub users: Vec<User>,
    at: At,
    /// The number of the change after which nobody used it.
    idle_since: u64,
}

/// A part of a mapping that lies in one extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// First page, counted from the mapping's first.
    pub page: u64,
    /// How many pages it has.
    pub pages: u64,
    /// First page of the device.
    pub lpn: u64,
}

/// All extents of a device.
#[derive(Debug)]
pub struct Extents {
    pages: u64,
    by_lpn: BTreeMap<u64, Extent>,
    by_object: BTreeMap<At, u64>,
    changes: u64,
}

impl Extents {
    /// A device of so many pages, all of them free.
    pub fn new(pages: u64) -> Extents {
        Extents {
            pages,
            by_lpn: BTreeMap::new(),
            by_object: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Pages of objects that somebody maps.
    pub fn in_use(&self) -> u64 {
        let used = self
            .by_lpn
            .values()
            .filter(|extent| !extent.users.is_empty());
        used.map(|extent| extent.pages).sum()
    }

    /// Pages that objects have.
    fn taken(&self) -> u64 {
        self.by_lpn.values().map(|extent| extent.pages).sum()
    }

    /// The pages of the device for those of a mapping. Objects that nobody maps give up theirs if
    /// there is no room otherwise: `freed` gets them. `None` if there is no room even then; then
    /// nothing is taken.
    pub fn take(&mut self, window: &Window, freed: impl FnMut(Range<u64>)) -> Option<Vec<Piece>> {
        const PAGE: u64 = sluice_region::PAGE as u64;
        let first = window.offset / PAGE;
        let pages = window.len as u64 / PAGE;
        let object = |page| (window.device, window.inode, page);
        let mut missing = Vec::new();
        let mut pieces = Vec::new();
        let mut page = first;
        while page < first + pages {
            let (lpn, here) = match self.covering(object(page)) {
                Some((lpn, left)) => (Some(lpn), left),
                None => (None, self.hole(object(page))),
            };
            let here = here.min(first + pages - page);
            match lpn {
                Some(lpn) => pieces.push(Piece {
                    page: page - first,
                    pages: here,
                    lpn,
                }),
                None => missing.push(page..page + here),
            }
            page += here;
        }
        let wanted = missing.iter().map(|range| range.end - range.start).sum();
        let kept: Vec<u64> = pieces.iter().map(|piece| piece.lpn).collect();
        self.make_room(wanted, &kept, freed)?;
        for range in missing {
            self.fill(object, range, first, &mut pieces);
        }
        Some(pieces)
    }

    /// Gives each page of a range of an object a page of the device, of which there are enough.
    fn fill(
        &mut self,
        object: impl Fn(u64) -> At,
        mut range: Range<u64>,
        first: u64,
        pieces: &mut Vec<Piece>,
    ) {
        while range.start < range.end {
            let Some(gap) = self.first_gap() else {
                return;
            };
            let pages = (gap.end - gap.start).min(range.end - range.start);
            let at = object(range.start);
            self.by_object.insert(at, gap.start);
            let extent = Extent {
                pages,
                users: Vec::new(),
                at,
                idle_since: self.changes,
            };
            self.by_lpn.insert(gap.start, extent);
            pieces.push(Piece {
                page: range.start - first,
                pages,
                lpn: gap.start,
            });
            range.start += pages;
        }
    }

    /// The page of the device that a page of an object has, and how many of its extent are from
    /// there on.
    fn covering(&self, at: At) -> Option<(u64, u64)> {
        let (from, lpn) = self.by_object.range(..=at).next_back()?;
        let is_same = (from.0, from.1) == (at.0, at.1);
        let pages = self.by_lpn.get(lpn)?.pages;
        let inside = at.2 - from.2;
        (is_same && inside < pages).then(|| (lpn + inside, pages - inside))
    }

    /// Pages of an object from one on that have no place.
    fn hole(&self, at: At) -> u64 {
        let next = self.by_object.range(at..).next();
        let same = next.filter(|(to, _)| (to.0, to.1) == (at.0, at.1));
        same.map_or(u64::MAX, |(to, _)| to.2 - at.2)
    }

    fn first_gap(&self) -> Option<Range<u64>> {
        let mut from = 0;
        for (lpn, extent) in &self.by_lpn {
            if *lpn > from {
                return Some(from..*lpn);
            }
            from = lpn + extent.pages;
        }
        (from < self.pages).then_some(from..self.pages)
    }

    /// Has the objects that nobody maps give up their pages until there is room, the first idle
    /// first. Not those of `kept`.
    fn make_room(
        &mut self,
        wanted: u64,
        kept: &[u64],
        mut freed: impl FnMut(Range<u64>),
    ) -> Option<()> {
        let is_kept = |lpn: &u64, extent: &Extent| {
            let inside = |kept: &&u64| (*lpn..lpn + extent.pages).contains(*kept);
            !extent.users.is_empty() || kept.iter().any(|kept| inside(&kept))
        };
        let mut idle: Vec<(u64, u64)> = self
            .by_lpn
            .iter()
            .filter(|(lpn, extent)| !is_kept(lpn, extent))
            .map(|(lpn, extent)| (extent.idle_since, *lpn))
            .collect();
        idle.sort_unstable();
        let mut free = self.pages - self.taken();
        let idle_pages: u64 = idle.iter().map(|(_, lpn)| self.by_lpn[lpn].pages).sum();
        if free + idle_pages < wanted {
            return None;
        }
        for (_, lpn) in idle {
            if free >= wanted {
                break;
            }
            if let Some(extent) = self.by_lpn.remove(&lpn) {
                self.by_object.remove(&extent.at);
                free += extent.pages;
                freed(lpn..lpn + extent.pages);
            }
        }
        Some(())
    }

    /// The extent that has a page of the device.
    pub fn of(&self, lpn: u64) -> Option<&Extent> {
        let (from, extent) = self.by_lpn.range(..=lpn).next_back()?;
        (lpn - from < extent.pages).then_some(extent)
    }

    fn of_mut(&mut self, lpn: u64) -> Option<&mut Extent> {
        let (from, extent) = self.by_lpn.range_mut(..=lpn).next_back()?;
        (lpn - from < extent.pages).then_some(extent)
    }

    /// Somebody maps the extent of a page.
    pub fn add_user(&mut self, lpn: u64, user: User) {
        if let Some(extent) = self.of_mut(lpn) {
            extent.users.push(user);
        }
    }

    /// Somebody does not any more.
    pub fn remove_user(&mut self, lpn: u64, user: User) {
        self.changes += 1;
        let now = self.changes;
        if let Some(extent) = self.of_mut(lpn) {
            extent.users.retain(|other| *other != user);
            extent.idle_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = sluice_region::PAGE;

    fn window(inode: u64, first: u64, pages: usize) -> Window {
        Window {
            start: 0,
            len: pages * PAGE,
            device: 1,
            inode,
            offset: first * PAGE as u64,
        }
    }

    fn take(extents: &mut Extents, inode: u64, first: u64, pages: usize) -> Vec<(u64, u64, u64)> {
        let taken = extents.take(&window(inode, first, pages), |_| panic!("there was room"));
        let taken = taken.expect("room");
        taken.iter().map(|p| (p.page, p.pages, p.lpn)).collect()
    }

    #[test]
    fn an_object_has_the_same_pages_for_all() {
        let mut extents = Extents::new(100);
        assert_eq!(take(&mut extents, 7, 10, 20), [(0, 20, 0)]);
        assert_eq!(take(&mut extents, 7, 15, 5), [(0, 5, 5)]);
        assert_eq!(take(&mut extents, 8, 15, 5), [(0, 5, 20)]);
        // What lies around what is known is taken anew.
        let mut around = take(&mut extents, 7, 5, 30);
        around.sort_unstable();
        assert_eq!(around, [(0, 5, 25), (5, 20, 0), (25, 5, 30)]);
        assert_eq!(extents.taken(), 35);
    }

    #[test]
    fn who_is_not_mapped_gives_way() {
        let mut extents = Extents::new(10);
        let user = User {
            process: 3,
            start: 0x1000,
        };
        for (inode, lpn) in [(1, 0), (2, 4)] {
            assert_eq!(take(&mut extents, inode, 0, 4), [(0, 4, lpn)]);
            extents.add_user(lpn, user);
        }
        assert!(extents.take(&window(3, 0, 4), |_| ()).is_none());
        assert_eq!(extents.taken(), 8, "nothing was taken");
        extents.remove_user(5, user);
        let mut freed = Vec::new();
        let taken = extents.take(&window(3, 0, 4), |pages| freed.push(pages));
        let taken: Vec<_> = taken
            .expect("room")
            .iter()
            .map(|p| (p.pages, p.lpn))
            .collect();
        assert_eq!(taken, [(4, 4)]);
        assert!(
            matches!(&freed[..], [pages] if *pages == (4..8)),
            "{freed:?}"
        );
        assert!(extents.of(2).is_some_and(|extent| extent.users == [user]));
        // A part of an idle object does not give way to the rest of it.
        let mut extents = Extents::new(4);
        take(&mut extents, 1, 0, 2);
        assert_eq!(take(&mut extents, 1, 0, 4), [(0, 2, 0), (2, 2, 2)]);
    }
}
