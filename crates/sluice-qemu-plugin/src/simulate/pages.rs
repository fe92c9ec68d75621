//! From the addresses of a program or guest to the memory of the simulated host.
//!
//! Pages lie there one after another, in the order in which they are touched first. Those on the
//! device come behind those that are kept off it.

use sluice_units::PAGE_BYTES;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Pages that a CPU finds without asking.
const NEAR: usize = 1 << 12;

/// Which pages there are.
pub struct Pages {
    /// Addresses of the device; all are, if there is none.
    device: Option<Range<u64>>,
    /// Pages that can be off the device, and all there can be.
    local: u64,
    room: u64,
    places: Mutex<Places>,
}

struct Places {
    by_page: HashMap<u64, u64>,
    /// Taken so far, off the device and on it.
    local: u64,
    device: u64,
}

/// There is no room for one more page.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Pages {
    /// `local`: bytes for what is off the device, none of which are needed if all is on it; `room`:
    /// bytes for all.
    pub fn new(device: Option<Range<u64>>, local: u64, room: u64) -> Pages {
        Pages {
            device,
            local: local / PAGE_BYTES,
            room: room / PAGE_BYTES,
            places: Mutex::new(Places {
                by_page: HashMap::new(),
                local: 0,
                device: 0,
            }),
        }
    }

    /// Pages touched so far: off the device, and on it.
    pub fn touched(&self) -> (u64, u64) {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        (places.local, places.device)
    }

    fn find(&self, page: u64) -> Result<u64, Full> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.by_page.get(&page) {
            return Ok(*place);
        }
        let address = page * PAGE_BYTES;
        let on_device = self.device.as_ref().is_none_or(|d| d.contains(&address));
        let (place, end) = match on_device {
            true => (self.local + places.device, self.room),
            false => (places.local, self.local),
        };
        if place >= end {
            return Err(Full);
        }
        match on_device {
            true => places.device += 1,
            false => places.local += 1,
        }
        places.by_page.insert(page, place);
        Ok(place)
    }
}

/// What a CPU knows of the pages: a direct-mapped list of page and place, each plus one.
pub struct Near(Box<[(u64, u64)]>);

impl Near {
    /// A list that remembers no page yet.
    pub fn new() -> Near {
        Near(vec![(0, 0); NEAR].into_boxed_slice())
    }

    /// Where an address lies.
    #[inline]
    pub fn translate(&mut self, pages: &Pages, address: u64) -> Result<u64, Full> {
        let page = address / PAGE_BYTES;
        let slot = &mut self.0[page as usize % NEAR];
        if slot.0 != page + 1 {
            *slot = (page + 1, pages.find(page)?);
        }
        Ok(slot.1 * PAGE_BYTES + address % PAGE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_as_they_are_touched() {
        let pages = Pages::new(None, 0, 3 * PAGE_BYTES);
        let mut near = Near::new();
        let mut at = |address| near.translate(&pages, address);
        assert_eq!(at(0x7000_1234), Ok(0x234));
        assert_eq!(at(0x9_0000_0008), Ok(0x1008));
        assert_eq!(at(0x7000_1fff), Ok(0xfff));
        // It falls into the first page's place of the list, and must not be taken for it.
        let other = 0x7000_1000 + NEAR as u64 * PAGE_BYTES;
        assert_eq!(at(other), Ok(0x2000));
        assert_eq!(at(0x7000_1000), Ok(0));
        assert_eq!(at(0), Err(Full));
        assert_eq!(pages.touched(), (0, 3));
    }

    #[test]
    fn a_range_is_the_device() {
        let pages = Pages::new(Some(0x10_0000..0x20_0000), 2 * PAGE_BYTES, 4 * PAGE_BYTES);
        let mut near = Near::new();
        let mut at = |address| near.translate(&pages, address);
        assert_eq!(at(0x10_0000), Ok(0x2000));
        assert_eq!(at(0x0), Ok(0));
        assert_eq!(at(0x1f_f000), Ok(0x3000));
        assert_eq!(at(0x20_0000), Ok(0x1000));
        assert_eq!(at(0x30_0000), Err(Full));
        assert_eq!(at(0x11_0000), Err(Full));
        assert_eq!(pages.touched(), (2, 2));
    }
}
