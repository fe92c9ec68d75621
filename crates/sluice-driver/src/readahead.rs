//! Windows of Linux' readahead: how large, where, and when the next one is due.

/// The largest folio: two to the power of this many pages.
const MOST_ORDER: u8 = 9;

/// What bounds the readahead of a file, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most pages of a window (`read_ahead_kb` of the device); 0: no readahead.
    pub window: u64,
    /// The most pages of one request to the device (`max_sectors_kb`).
    pub request: u64,
    /// Whether the file system takes folios of more than a page.
    pub large_folios: bool,
}

/// The window that was read last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub start: u64,
    pub size: u64,
    /// Pages that are left when the next window is due.
    pub ahead: u64,
    /// Folios have two to the power of this many pages at most.
    pub order: u8,
}

impl Window {
    /// Around a fault.
    pub fn around(page: u64, most: u64) -> Window {
        Window {
            start: page.saturating_sub(most / 2),
            size: most,
            ahead: most / 4,
            order: 0,
        }
    }

    /// The first window of a reader in order that asks for so many pages.
    pub fn first(start: u64, asked: u64, most: u64) -> Window {
        let rounded = asked.next_power_of_two();
        let size = match rounded {
            _ if rounded <= most / 32 => rounded * 4,
            _ if rounded <= most / 4 => rounded * 2,
            _ => most,
        };
        Window {
            start,
            size,
            ahead: if size > asked { size - asked } else { size / 2 },
            order: 0,
        }
    }

    /// Of a reader whose earlier pages are cached, though not by this window.
    pub fn after(start: u64, size: u64) -> Window {
        Window {
            start,
            size,
            ahead: 1,
            order: 0,
        }
    }

    /// The page that is marked.
    pub fn mark(&self) -> u64 {
        self.start + self.size - self.ahead
    }

    /// The next one.
    pub fn go_on(&mut self, most: u64) {
        self.start += self.size;
        self.size = self.size.max(self.grown(most));
        self.align(most);
    }

    /// The next one of a reader whose window was lost, with what is cached ahead of it.
    pub fn begin_again(&mut self, start: u64, ahead: u64, most: u64) {
        (self.start, self.size) = (start, ahead);
        self.size = self.grown(most);
        self.align(most);
    }

    /// The order that folios of this window can have.
    pub fn limit_order(&mut self) -> u8 {
        self.order = self.order.min(MOST_ORDER).min(self.size.ilog2() as u8);
        self.order
    }

    fn grown(&self, most: u64) -> u64 {
        match self.size {
            size if size < most / 16 => 4 * size,
            size if size <= most / 2 => 2 * size,
            _ => most,
        }
    }

    /// Folios grow with each window, whose end they align.
    fn align(&mut self, most: u64) {
        self.order += 2;
        let align = 1 << u32::from(self.order).min(most.trailing_zeros());
        let end = (self.start + self.size) / align * align;
        if end > self.start {
            self.size = end - self.start;
        }
        self.ahead = self.size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get_next_ra_size` of Linux' mm/readahead.c: four times below a sixteenth of the most, twice
    /// up to a half, and then the most.
    #[test]
    fn windows_grow_as_linux_s() {
        for (size, most, next) in [
            (4, 128, 16),
            (8, 128, 16),
            (60, 128, 120),
            (64, 128, 128),
            (68, 128, 128),
            (128, 128, 128),
            (4, 32, 8),
            (16, 32, 32),
        ] {
            let mut window = Window::default();
            window.begin_again(0, size, most);
            assert_eq!(window.size, next, "{size} of {most}");
            assert_eq!((window.start, window.ahead), (0, next));
            // The next one begins where this one ends, and is no smaller.
            window.go_on(most);
            assert_eq!(window.start, next, "{size} of {most}");
            assert!((next..=most).contains(&window.size), "{window:?}");
        }
    }
}
