//! How physical page numbers are made of channel, chip, die, plane, block and page.

use crate::config::Settings;
#[cfg(test)]
use sluice_units::IndexType;
use sluice_units::{Ppn, index_type};

index_type! {
    /// Which channel of the flash array.
    pub(crate) struct Channel;
    /// Which die of all channels together.
    pub(crate) struct Die;
    /// Which plane of all dies together.
    pub(crate) struct Plane;
    /// Which block of all planes together.
    pub(crate) struct Block;
}

/// A plane, by its place in the flash array. Each number counts from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneAddress {
    /// The channel.
    pub channel: u32,
    /// The chip on its channel.
    pub chip: u32,
    /// The die on its chip.
    pub die: u32,
    /// The plane of its die.
    pub plane: u32,
}

/// The geometry of the flash array.
///
/// A PPN counts pages within a block, then blocks within a plane, then planes within a die, then
/// dies. Dies are numbered with the channel running fastest, then the chip on its channel, then
/// the die on its chip.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub channels: u32,
    /// Chips on each channel.
    chips: u32,
    /// Dies on all channels together.
    pub dies: u32,
    /// Planes of each die.
    pub planes: u32,
    pub pages_per_block: u32,
    pub blocks_per_plane: u32,
}

impl Layout {
    pub fn new(settings: &Settings) -> Layout {
        let nand = &settings.nand;
        Layout {
            channels: nand.channels,
            chips: nand.chips,
            dies: nand.die_count(),
            planes: nand.planes,
            pages_per_block: nand.pages_per_block,
            blocks_per_plane: nand.blocks_per_plane,
        }
    }

    pub fn pages_per_plane(&self) -> u32 {
        self.pages_per_block * self.blocks_per_plane
    }

    /// Planes of all dies together. Plane `p` is plane `p % planes` of die `p / planes`.
    pub fn plane_count(&self) -> u32 {
        self.dies * self.planes
    }

    /// Blocks on all dies together.
    pub fn blocks(&self) -> u32 {
        self.plane_count() * self.blocks_per_plane
    }

    pub fn die_of(&self, ppn: Ppn) -> Die {
        Die(ppn.0 / (self.pages_per_plane() * self.planes))
    }

    /// The number of a plane among all planes, or `None` if there is no such plane.
    pub fn plane_at(&self, place: PlaneAddress) -> Option<Plane> {
        let dies_per_chip = self.dies / self.channels / self.chips;
        let there = place.channel < self.channels
            && place.chip < self.chips
            && place.die < dies_per_chip
            && place.plane < self.planes;
        let die = place.channel + self.channels * (place.chip + self.chips * place.die);
        there.then_some(Plane(die * self.planes + place.plane))
    }

    /// The plane among all planes.
    pub fn plane_of(&self, ppn: Ppn) -> Plane {
        Plane(ppn.0 / self.pages_per_plane())
    }

    /// The block among all blocks.
    pub fn block_of(&self, ppn: Ppn) -> Block {
        Block(ppn.0 / self.pages_per_block)
    }

    pub fn die_of_block(&self, block: Block) -> Die {
        Die(block.0 / (self.blocks_per_plane * self.planes))
    }

    pub fn channel_of_die(&self, die: Die) -> Channel {
        Channel(die.0 % self.channels)
    }

    /// The first PPN of a block.
    pub fn first_page_of(&self, block: Block) -> Ppn {
        Ppn(block.0 * self.pages_per_block)
    }

    #[cfg(test)]
    /// The PPNs of a block.
    pub fn pages_of(&self, block: Block) -> impl Iterator<Item = Ppn> + use<> {
        let first = self.first_page_of(block).0;
        Ppn::range(first..first + self.pages_per_block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_a_plane_of_its_own_and_none_is_beyond() {
        let layout = Layout {
            channels: 3,
            chips: 2,
            dies: 30,
            planes: 4,
            pages_per_block: 2,
            blocks_per_plane: 7,
        };
        let dies = (0..5).flat_map(|die| (0..2).map(move |chip| (chip, die)));
        let dies = dies.flat_map(|(chip, die)| (0..3).map(move |channel| (channel, chip, die)));
        for (number, (channel, chip, die)) in dies.enumerate() {
            assert_eq!(layout.channel_of_die(Die(number as u32)), Channel(channel));
            for plane in 0..4 {
                let place = PlaneAddress {
                    channel,
                    chip,
                    die,
                    plane,
                };
                let due = Plane(4 * number as u32 + plane);
                assert_eq!(layout.plane_at(place), Some(due), "{place:?}");
            }
        }
        for (channel, chip, die, plane) in [(3, 0, 0, 0), (0, 2, 0, 0), (0, 0, 5, 0), (0, 0, 0, 4)]
        {
            let place = PlaneAddress {
                channel,
                chip,
                die,
                plane,
            };
            assert_eq!(layout.plane_at(place), None, "{place:?}");
        }
    }
}
