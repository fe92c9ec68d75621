//! Which copy of a line is the newest: a check on where reads are served from.
//!
//! A host keeps them if its run is checked; otherwise they are empty and nobody reads them. The
//! host reports what happens to which copy. This module does not know where the host believes a
//! page to be.

use sluice_units::{LINE_BYTES, PAGE_BYTES};
use std::collections::BTreeMap;

/// Lines of a page.
pub(super) const LINES: u64 = PAGE_BYTES / LINE_BYTES;

type Page = [u32; LINES as usize];

/// Version of a line whose last write the host made the device forget.
const LOST: u32 = u32::MAX;

/// Versions by page: the newest there is, the device's, and host memory's by frame.
#[derive(Default)]
pub(super) struct Versions {
    is_on: bool,
    newest: BTreeMap<u64, Page>,
    device: BTreeMap<u64, Page>,
    host: BTreeMap<u64, Page>,
}

fn page_of(addr: u64) -> (u64, usize) {
    (addr / PAGE_BYTES, (addr % PAGE_BYTES / LINE_BYTES) as usize)
}

fn of(pages: &BTreeMap<u64, Page>, page: u64) -> Page {
    pages.get(&page).copied().unwrap_or([0; LINES as usize])
}

fn line(pages: &mut BTreeMap<u64, Page>, addr: u64) -> &mut u32 {
    let (page, line) = page_of(addr);
    &mut pages.entry(page).or_insert([0; LINES as usize])[line]
}

impl Versions {
    pub fn new(is_on: bool) -> Versions {
        Versions {
            is_on,
            ..Versions::default()
        }
    }

    fn write(&mut self, addr: u64) -> u32 {
        let newest = line(&mut self.newest, addr);
        *newest += 1;
        *newest
    }

    /// The program's line at `addr` is written in host memory at `place`.
    pub fn host_write(&mut self, addr: u64, place: u64) {
        if self.is_on {
            *line(&mut self.host, place) = self.write(addr);
        }
    }

    /// It is written on the device.
    pub fn device_write(&mut self, addr: u64) {
        if self.is_on {
            *line(&mut self.device, addr) = self.write(addr);
        }
    }

    /// It is read from host memory.
    pub fn host_read(&mut self, addr: u64, place: u64) {
        if self.is_on {
            let newest = *line(&mut self.newest, addr);
            assert_eq!(*line(&mut self.host, place), newest, "{addr:#x} from host");
        }
    }

    /// It is read from the device.
    pub fn device_read(&mut self, addr: u64) {
        if self.is_on {
            let newest = *line(&mut self.newest, addr);
            assert_eq!(
                *line(&mut self.device, addr),
                newest,
                "{addr:#x} from device"
            );
        }
    }

    /// The lines of a page, but those of `except`, are copied from the device to a frame.
    pub fn copied(&mut self, page: u64, frame: u64, except: u64) {
        if self.is_on {
            let (from, mut to) = (of(&self.device, page), of(&self.host, frame));
            for line in (0..LINES as usize).filter(|line| except >> line & 1 == 0) {
                to[line] = from[line];
            }
            self.host.insert(frame, to);
        }
    }

    /// The host has taken the page over. What the device had and flash has not is gone.
    pub fn taken(&mut self, page: u64, dirty: bool) {
        if self.is_on && dirty {
            self.device.insert(page, [LOST; LINES as usize]);
        }
    }

    /// The frame is given up, and the device has the page.
    pub fn dropped(&mut self, page: u64, frame: u64) {
        if self.is_on {
            let (device, host) = (of(&self.device, page), of(&self.host, frame));
            assert_eq!(device, host, "page {page} as the device has it");
        }
    }

    /// The frame's contents go to the device.
    pub fn given(&mut self, page: u64, frame: u64) {
        if self.is_on {
            let host = of(&self.host, frame);
            assert_eq!(host, of(&self.newest, page), "page {page} as it is given");
            self.device.insert(page, host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const PAGE: u64 = 3;
    const FRAME: u64 = 8;
    const ADDR: u64 = PAGE * PAGE_BYTES + 5 * LINE_BYTES;
    const PLACE: u64 = FRAME * PAGE_BYTES + 5 * LINE_BYTES;

    /// Whether a check finds a mistake.
    fn fails(versions: &mut Versions, check: impl FnOnce(&mut Versions)) -> bool {
        catch_unwind(AssertUnwindSafe(|| check(versions))).is_err()
    }

    fn on_device(versions: &mut Versions) -> bool {
        !fails(versions, |it| it.device_read(ADDR))
    }

    fn in_host(versions: &mut Versions) -> bool {
        !fails(versions, |it| it.host_read(ADDR, PLACE))
    }

    #[test]
    fn only_the_newest_copy_may_be_read() {
        let mut versions = Versions::new(true);
        // Nobody has written yet: all copies are alike.
        assert!(on_device(&mut versions) && in_host(&mut versions));
        versions.device_write(ADDR);
        assert!(on_device(&mut versions) && !in_host(&mut versions));
        versions.copied(PAGE, FRAME, 0);
        assert!(on_device(&mut versions) && in_host(&mut versions));
        versions.host_write(ADDR, PLACE);
        assert!(!on_device(&mut versions) && in_host(&mut versions));
        versions.device_write(ADDR);
        assert!(on_device(&mut versions) && !in_host(&mut versions));
        // A neighbour is another line, and another page's lines are others.
        versions.device_write(ADDR + LINE_BYTES);
        assert!(on_device(&mut versions));
        versions.device_read(ADDR + PAGE_BYTES);
        versions.host_read(ADDR + PAGE_BYTES, PLACE + PAGE_BYTES);
    }

    #[test]
    fn a_copy_leaves_out_what_was_written_meanwhile() {
        let mut versions = Versions::new(true);
        versions.device_write(ADDR);
        versions.host_write(ADDR, PLACE);
        versions.copied(PAGE, FRAME, 1 << 5);
        assert!(in_host(&mut versions));
        versions.copied(PAGE, FRAME, 1 << 4);
        assert!(!in_host(&mut versions), "the old line is over the new one");
    }

    /// What only the device's cache had is lost when the host takes the page over.
    #[test]
    fn a_page_that_was_taken_dirty_is_lost_to_the_device() {
        let mut versions = Versions::new(true);
        versions.device_write(ADDR);
        versions.copied(PAGE, FRAME, 0);
        versions.taken(PAGE, false);
        assert!(on_device(&mut versions));
        assert!(!fails(&mut versions, |it| it.dropped(PAGE, FRAME)));
        versions.taken(PAGE, true);
        assert!(!on_device(&mut versions) && in_host(&mut versions));
        assert!(fails(&mut versions, |it| it.dropped(PAGE, FRAME)));
        // Given back, the device has it again, and the frame may go.
        assert!(!fails(&mut versions, |it| it.given(PAGE, FRAME)));
        assert!(on_device(&mut versions));
        assert!(!fails(&mut versions, |it| it.dropped(PAGE, FRAME)));
        // What is old is not given.
        versions.device_write(ADDR);
        assert!(fails(&mut versions, |it| it.given(PAGE, FRAME)));
    }

    #[test]
    fn who_is_not_checked_keeps_nothing() {
        let mut versions = Versions::new(false);
        versions.device_write(ADDR);
        versions.host_write(ADDR, PLACE);
        versions.taken(PAGE, true);
        versions.copied(PAGE, FRAME, 0);
        assert!(on_device(&mut versions) && in_host(&mut versions));
        versions.given(PAGE, FRAME);
        versions.dropped(PAGE, FRAME);
        let pages = [&versions.newest, &versions.device, &versions.host];
        assert!(pages.iter().all(|pages| pages.is_empty()));
    }
}
