//! What must hold between the map and the lines. For tests.

use super::Ftl;
use super::area::Area;
use crate::layout::Layout;

impl Ftl {
    /// Panics if the mapping and the lines contradict each other.
    pub fn check(&self) {
        self.data.check();
        let translation = self.translation.iter();
        translation.for_each(|translation| translation.area().check());
    }

    /// For tests that watch the flash array.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Blocks of each plane that hold data; those after them hold pages of the map.
    pub fn data_blocks(&self) -> u32 {
        self.data.geometry.lines_per_pool
    }

    /// The PPNs of all translation pages.
    pub fn translation_ppns(&self) -> Vec<u32> {
        let areas = self
            .translation
            .iter()
            .map(|translation| translation.area());
        let ppns = areas.flat_map(|area| {
            let pages = (0..area.geometry.lpns).filter_map(|page| area.map.place_of(page));
            pages.map(|place| area.blocks.ppn_of(place))
        });
        ppns.collect()
    }

    /// The state of every pool, for messages.
    pub fn dump(&self) -> String {
        let pools = 0..self.data.geometry.pools;
        let pools: Vec<String> = pools.map(|pool| self.data.lines.dump(pool)).collect();
        pools.join("\n")
    }
}

impl Area {
    pub(super) fn check(&self) {
        let mut valid = vec![0u32; self.geometry.lines() as usize];
        for lpn in 0..self.geometry.lpns {
            if let Some(place) = self.map.place_of(lpn) {
                assert_eq!(
                    self.map.owner_of(place),
                    Some(lpn),
                    "owner of place {place}"
                );
                valid[self.geometry.line_of(place) as usize] += 1;
            }
        }
        for (line, valid) in (0..).zip(&valid) {
            assert_eq!(self.lines.valid(line), *valid, "valid pages of line {line}");
            assert!(*valid <= self.lines.programmed(line), "line {line}");
        }
        self.lines.check();
    }
}
