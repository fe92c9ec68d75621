//! The mappings of shared memory that a process has on the device.

use super::message::Window;
use crate::memory::shared::alike;

/// Mappings that a process may have on the device at once.
pub const MAX: usize = 1024;

/// They do not overlap, and are in no order.
#[derive(Debug)]
pub struct Windows {
    all: Vec<Window>,
}

impl Windows {
    /// None, and room for none: it is made when there is one.
    pub const fn none() -> Windows {
        Windows { all: Vec::new() }
    }

    /// Whether there is room for one more, and for what a cut may add.
    pub fn has_room(&self) -> bool {
        self.all.len() + 1 < MAX
    }

    /// Adds a mapping; see [`Windows::has_room`].
    pub fn push(&mut self, window: Window) {
        self.all.push(window);
    }

    /// All of them, which are forgotten.
    pub fn take(&mut self) -> Vec<Window> {
        core::mem::take(&mut self.all)
    }

    /// The mapping that an address lies in.
    pub fn of(&self, addr: usize) -> Option<&Window> {
        self.all.iter().find(|w| (w.start..w.end()).contains(&addr))
    }

    /// The parts of mappings that lie in a range of addresses.
    pub fn parts(&self, start: usize, end: usize) -> impl Iterator<Item = Window> {
        self.all.iter().filter_map(move |w| w.within(start, end))
    }

    /// How far a range of addresses is alike from its start on: the end of that part, and whether
    /// it is of a mapping.
    pub fn alike_from(&self, start: usize, end: usize) -> (usize, bool) {
        alike(self.parts(start, end).map(|w| w.start..w.end()), start, end)
    }

    /// Forgets what lies in a range of addresses.
    pub fn cut(&mut self, start: usize, end: usize) {
        for at in (0..self.all.len()).rev() {
            let window = self.all[at];
            if window.within(start, end).is_none() {
                continue;
            }
            self.all.swap_remove(at);
            self.all.extend(window.within(0, start));
            self.all.extend(window.within(end, usize::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: usize, end: usize) -> Window {
        Window {
            start,
            len: end - start,
            offset: start as u64 - 0x1000,
            ..Window::default()
        }
    }

    #[test]
    fn a_cut_leaves_both_sides() {
        let mut windows = Windows::none();
        windows.push(window(0x10000, 0x18000));
        windows.push(window(0x18000, 0x20000));
        windows.push(window(0x40000, 0x41000));
        let parts: Vec<_> = windows.parts(0x17000, 0x19000).collect();
        assert_eq!(parts, [window(0x17000, 0x18000), window(0x18000, 0x19000)]);
        windows.cut(0x12000, 0x19000);
        let mut left = windows.all.clone();
        left.sort_by_key(|w| w.start);
        let expected = [(0x10000, 0x12000), (0x19000, 0x20000), (0x40000, 0x41000)];
        assert_eq!(left, expected.map(|(start, end)| window(start, end)));
        assert!(windows.of(0x11fff).is_some() && windows.of(0x12000).is_none());
        windows.cut(0x40000, 0x41000);
        assert_eq!(windows.all.len(), 2);
    }
}
