//! The CXL link: two lanes, each of them taken by one line of 64 bytes at a time.

use sluice_model::Lane;
use sluice_units::Ps;

/// Both directions. Requests and messages without data are small and go beside the lines.
pub(super) struct Link {
    to_device: Lane,
    pub from_device: Lane,
    /// When the last line of an access went out: requests stay in order.
    last: Ps,
}

impl Link {
    pub fn new(line: Ps) -> Link {
        Link {
            to_device: Lane::new(line),
            from_device: Lane::new(line),
            last: Ps::ZERO,
        }
    }

    /// When a request without data goes out.
    pub fn request(&self, now: Ps) -> Ps {
        now.max(self.last)
    }

    /// When a request with a line goes out.
    pub fn write(&mut self, now: Ps) -> Ps {
        self.last = self.to_device.take(now, self.request(now));
        self.last
    }

    /// When a line goes out of a page that goes back in the background, at `at`. Requests pass it.
    pub fn page_line(&mut self, now: Ps, at: Ps) -> Ps {
        self.to_device.take(now, at)
    }
}
