//! What must hold between the map and the lines. For tests.

use super::Ftl;
use super::factory::Factory;
use super::store::Store;
use crate::config::Settings;
use crate::layout::{Block, Layout};
use sluice_units::{IndexType, Lpn, Ppn};
use std::collections::BTreeSet;

impl Ftl {
    /// Panics if the mapping and the lines contradict each other.
    pub fn check(&self) {
        self.data.store.check();
        let translation = self.translation.iter();
        translation.for_each(|translation| translation.area().store.check());
    }

    /// For tests that watch the flash array.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The blocks that hold pages of the map, spare ones for those included.
    pub fn translation_blocks(&self) -> BTreeSet<Block> {
        let areas = self.translation.iter();
        let all = areas.map(|translation| translation.area().store.blocks.all());
        all.flatten().collect()
    }

    /// The blocks that hold the host's data, in order; one as often as lines have it.
    pub fn data_blocks(&self) -> Vec<Block> {
        let mut all = self.data.store.blocks.all();
        all.sort_unstable();
        all
    }

    /// The PPNs of all translation pages.
    pub fn translation_ppns(&self) -> Vec<Ppn> {
        let areas = self
            .translation
            .iter()
            .map(|translation| translation.area());
        let ppns = areas.flat_map(|area| {
            let pages = Lpn::range(0..area.store.geometry.lpns)
                .filter_map(|page| area.store.map.place_of(page));
            pages.map(|place| area.store.blocks.ppn_of(place))
        });
        ppns.collect()
    }

    /// The state of every pool, for messages.
    pub fn dump(&self) -> String {
        let pools = 0..self.data.store.geometry.pools;
        let pools: Vec<String> = pools.map(|pool| self.data.store.lines.dump(pool)).collect();
        pools.join("\n")
    }
}

/// The blocks that are bad from the factory.
pub fn factory_bad_blocks(settings: &Settings, seed: u64) -> BTreeSet<Block> {
    let factory = Factory::new(settings, seed);
    let all = Block::range(0..Layout::new(settings).blocks());
    all.filter(|block| {
        factory
            .as_ref()
            .is_some_and(|factory| factory.is_bad(*block))
    })
    .collect()
}

impl Store {
    pub(super) fn check(&self) {
        let mut valid = vec![0u32; self.geometry.lines() as usize];
        for lpn in Lpn::range(0..self.geometry.lpns) {
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
