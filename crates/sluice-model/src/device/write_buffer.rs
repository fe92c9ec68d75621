//! The controller's write buffer: pages that wait until they fill a superpage.

use crate::config::Settings;
use crate::ftl::Placement;
use crate::index::PageIndex;
use sluice_lists::Lists;
use sluice_units::{Lpn, Table};

/// Pages in the order in which they came. A page that comes again keeps its turn.
pub(super) struct WriteBuffer {
    /// Pages programmed together: one on each plane of a superblock.
    superpage: u32,
    /// Per page: its place here.
    places: PageIndex<u32>,
    lists: Lists,
    /// Per place: the page there, and where the host wants it.
    held: Table<u32, (Lpn, Placement)>,
}

/// Places without a page.
const FREE: u32 = 0;
/// Places with one, the oldest at the back.
const HELD: u32 = 1;

impl WriteBuffer {
    /// An empty one, if the device has one.
    pub fn new(settings: &Settings) -> Option<WriteBuffer> {
        let superpages = settings.ftl.write_buffer?;
        let superpage = settings.ftl.superblock_planes;
        let room = superpages * superpage;
        let mut lists = Lists::new(2, room);
        (0..room).for_each(|place| lists.push_front(FREE, place));
        Some(WriteBuffer {
            superpage,
            places: PageIndex::new(settings.pages, room),
            lists,
            held: Table::filled(room, (Lpn(0), Placement::default())),
        })
    }

    /// Whether the page is here.
    #[inline]
    pub fn has(&self, lpn: Lpn) -> bool {
        self.places.get(lpn).is_some()
    }

    /// Takes the page. Says whether it takes the place of older contents. `None` if there is no
    /// room: a buffer that became full is emptied by a superpage, unless flash refuses its pages.
    pub fn take(&mut self, lpn: Lpn, placement: Placement) -> Option<bool> {
        if let Some(place) = self.places.get(lpn) {
            self.held[place].1 = placement;
            return Some(true);
        }
        let place = self.lists.pop_back(FREE)?;
        self.lists.push_front(HELD, place);
        self.held[place] = (lpn, placement);
        self.places.set(lpn, place);
        Some(false)
    }

    /// How many pages are to be programmed now: a superpage if it is full.
    pub fn due(&self) -> u32 {
        match self.lists.len(FREE) {
            0 => self.superpage,
            _ => 0,
        }
    }

    /// The oldest page, and where the host wants it.
    pub fn oldest(&self) -> Option<(Lpn, Placement)> {
        let place = self.lists.back(HELD)?;
        Some(self.held[place])
    }

    /// Where the host wants the page, if it is here.
    pub fn placement_of(&self, lpn: Lpn) -> Option<Placement> {
        let place = self.places.get(lpn)?;
        Some(self.held[place].1)
    }

    /// Takes the page out. Says whether it was here.
    pub fn remove(&mut self, lpn: Lpn) -> bool {
        let Some(place) = self.places.get(lpn) else {
            return false;
        };
        self.places.clear(lpn);
        self.lists.remove(HELD, place);
        self.lists.push_front(FREE, place);
        true
    }

    /// How many pages are here.
    pub fn len(&self) -> u32 {
        self.lists.len(HELD)
    }
}
