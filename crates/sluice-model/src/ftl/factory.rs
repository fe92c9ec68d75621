//! Blocks that were bad when the flash array was shipped.

use crate::config::Settings;
use crate::layout::{Block, Layout, Plane};
use sluice_units::{Bits, IndexType, Rng};

/// Which blocks those are, if there are any.
///
/// Planes have as many of them as others, or one more. Which planes and which blocks is drawn.
pub(super) struct Factory {
    bad: Bits,
    blocks_per_plane: u32,
}

impl Factory {
    pub fn new(settings: &Settings, seed: u64) -> Option<Factory> {
        if settings.nand.bad_blocks == 0 {
            return None;
        }
        let layout = Layout::new(settings);
        let mut factory = Factory {
            bad: Bits::new(layout.blocks() as usize),
            blocks_per_plane: layout.blocks_per_plane,
        };
        let mut rng = Rng::stream(seed, "nand.bad_blocks");
        let planes = settings.nand.plane_count();
        let each = settings.nand.bad_blocks / planes;
        let mut one_more = Drawn::new(settings.nand.bad_blocks % planes, planes);
        for plane in Plane::range(0..planes) {
            let wanted = each + u32::from(one_more.draw(&mut rng));
            let mut bad = Drawn::new(wanted, layout.blocks_per_plane);
            for block in factory.blocks_of(plane) {
                if bad.draw(&mut rng) {
                    factory.bad.set(block.index());
                }
            }
        }
        Some(factory)
    }

    pub fn is_bad(&self, block: Block) -> bool {
        self.bad.has(block.index())
    }

    /// The good blocks of a plane.
    pub fn good(&self, plane: Plane) -> impl Iterator<Item = Block> + '_ {
        self.blocks_of(plane).filter(|block| !self.is_bad(*block))
    }

    fn blocks_of(&self, plane: Plane) -> impl Iterator<Item = Block> + use<> {
        Block::range(plane.0 * self.blocks_per_plane..(plane.0 + 1) * self.blocks_per_plane)
    }
}

/// Some of a number of things, every choice of them as likely as any other.
struct Drawn {
    wanted: u32,
    left: u32,
}

impl Drawn {
    fn new(wanted: u32, of: u32) -> Drawn {
        Drawn { wanted, left: of }
    }

    /// Whether the next thing is one of them.
    fn draw(&mut self, rng: &mut Rng) -> bool {
        let drawn = rng.below(u64::from(self.left)) < u64::from(self.wanted);
        self.left -= 1;
        self.wanted -= u32::from(drawn);
        drawn
    }
}
