//! Packets that wait for ever: for credits that only such packets hold.

use super::Links;
use crate::ids::DirectionId;
use crate::packet::{Credit, Slab};
use sluice_cxl::Channel;
use std::collections::BTreeMap;

impl Links {
    /// The directions for whose credits packets wait in vain, and how many do. Other packets may go
    /// on: a credit comes as long as one that holds it does.
    pub(crate) fn stuck(&self, packets: &Slab) -> BTreeMap<DirectionId, usize> {
        // By what they wait for: what each of them holds.
        let mut waiting: BTreeMap<(DirectionId, Channel), Vec<Option<Credit>>> = BTreeMap::new();
        for (direction, it) in self.directions.iter() {
            let credits = it.credits.map(|credits| &self.credits[credits]);
            for packet in credits.into_iter().flat_map(|it| it.waiting(packets)) {
                let packet = &packets[packet];
                let all = waiting.entry((direction, packet.channel)).or_default();
                all.push(packet.credit());
            }
        }
        loop {
            let mut held: BTreeMap<(DirectionId, Channel), u32> = BTreeMap::new();
            for credit in waiting.values().flatten().flatten() {
                *held.entry((credit.direction, credit.channel)).or_default() += 1;
            }
            let before = waiting.len();
            waiting.retain(|room, _| held.get(room).copied() == self.room(room.0));
            if waiting.len() == before {
                break;
            }
        }
        let mut stuck = BTreeMap::new();
        for ((direction, _), packets) in waiting {
            *stuck.entry(direction).or_default() += packets.len();
        }
        stuck
    }

    /// Credits of each channel of a direction.
    fn room(&self, direction: DirectionId) -> Option<u32> {
        let credits = self.directions[direction].credits?;
        Some(self.credits[credits].each())
    }
}
