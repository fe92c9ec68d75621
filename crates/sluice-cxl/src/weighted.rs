//! Weighted interleaving: in each round a target takes as many granules in a row as its weight.
//!
//! No decoder of CXL has weights; a host does it above them, as Linux's weighted interleave policy
//! does with pages of nodes. So any number of targets may share a range.

use super::hdm::{GRANULARITIES, MAX_WAYS};
use std::ops::RangeInclusive;

/// The weights that a target can have: those of Linux.
pub const WEIGHTS: RangeInclusive<u8> = 1..=u8::MAX;

/// From an offset in a range to a place among targets with weights, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightedDecoder {
    /// log2 of the granule's bytes.
    granule: u8,
    ways: u8,
    /// Where in a round each target's granules begin; behind the last, how many there are.
    starts: [u16; MAX_WAYS + 1],
}

impl WeightedDecoder {
    /// A decoder over targets with these weights, 1 to [`MAX_WAYS`] of them, in granules of
    /// `granularity` bytes; `None` if a weight or a size is not one of [`WEIGHTS`] and
    /// [`GRANULARITIES`].
    pub fn new(weights: &[u8], granularity: u64) -> Option<WeightedDecoder> {
        let is_known = weights.iter().all(|weight| WEIGHTS.contains(weight));
        if !is_known || !(1..=MAX_WAYS).contains(&weights.len()) {
            return None;
        }
        if !GRANULARITIES.contains(&granularity) {
            return None;
        }
        let mut starts = [0; MAX_WAYS + 1];
        for (place, &weight) in weights.iter().enumerate() {
            starts[place + 1] = starts[place] + u16::from(weight);
        }
        Some(WeightedDecoder {
            granule: granularity.trailing_zeros() as u8,
            ways: weights.len() as u8,
            starts,
        })
    }

    /// Granules of all targets in a round.
    pub fn round(&self) -> u64 {
        u64::from(self.starts[usize::from(self.ways)])
    }

    /// Granules of the target at `place` in a round.
    pub fn weight(&self, place: u8) -> u64 {
        let place = usize::from(place);
        u64::from(self.starts[place + 1] - self.starts[place])
    }

    /// The target's place and the offset within its share, of the byte `offset` bytes into the
    /// range.
    #[inline]
    pub fn split(&self, offset: u64) -> (u8, u64) {
        let within = offset & ((1 << self.granule) - 1);
        let granule = offset >> self.granule;
        let (turn, at) = (granule / self.round(), granule % self.round());
        let ends = &self.starts[1..=usize::from(self.ways)];
        let place = ends.partition_point(|&end| u64::from(end) <= at);
        let before = at - u64::from(self.starts[place]);
        let share = turn * self.weight(place as u8) + before;
        (place as u8, share << self.granule | within)
    }

    /// The offset into the range of the byte `share` bytes into the share of the target at
    /// `place`: the inverse of [`WeightedDecoder::split`].
    #[inline]
    pub fn join(&self, place: u8, share: u64) -> u64 {
        let within = share & ((1 << self.granule) - 1);
        let granule = share >> self.granule;
        let (turn, before) = (granule / self.weight(place), granule % self.weight(place));
        let start = u64::from(self.starts[usize::from(place)]);
        (turn * self.round() + start + before) << self.granule | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdm::{Arithmetic, HdmDecoder, WAYS};
    use proptest::prelude::*;
    use proptest::sample::select;

    #[test]
    fn nothing_else_is_a_decoder() {
        for weights in [&[][..], &[0], &[1, 0, 2], &[1; 17]] {
            assert_eq!(WeightedDecoder::new(weights, 256), None, "{weights:?}");
        }
        for bytes in [0, 32, 96, 32_768] {
            assert_eq!(WeightedDecoder::new(&[1, 2], bytes), None);
        }
        WeightedDecoder::new(&[255; 16], 64).unwrap();
    }

    #[test]
    fn equal_weights_of_one_are_the_modulo_of_cxl() {
        for &ways in WAYS {
            let weighted = WeightedDecoder::new(&vec![1; usize::from(ways)], 512).unwrap();
            let modulo = HdmDecoder::new(ways, 512, Arithmetic::Modulo).unwrap();
            for offset in (0..1 << 20).step_by(96) {
                assert_eq!(weighted.split(offset), modulo.split(offset));
            }
        }
    }

    proptest! {
        /// Deals the granules out one by one: after each, a target has its weight of every whole
        /// round and of the round under way what has come to it. Each granule has one place, the
        /// next of its target, and leads back.
        #[test]
        fn each_target_has_its_weight_of_every_round(
            weights in prop::collection::vec(1_u8..=9, 1..17),
            bytes in select(GRANULARITIES),
            turns in 1_u64..5,
            within in 0_u64..64,
        ) {
            let decoder = WeightedDecoder::new(&weights, bytes).unwrap();
            let round: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            prop_assert_eq!(decoder.round(), round);
            let mut dealt = vec![0_u64; weights.len()];
            let mut granule = 0;
            for turn in 0..turns {
                for (place, &weight) in weights.iter().enumerate() {
                    for _ in 0..weight {
                        let (at, share) = (granule * bytes + within, dealt[place] * bytes + within);
                        prop_assert_eq!(decoder.split(at), (place as u8, share));
                        prop_assert_eq!(decoder.join(place as u8, share), at);
                        dealt[place] += 1;
                        granule += 1;
                    }
                }
                for (place, &weight) in weights.iter().enumerate() {
                    prop_assert_eq!(dealt[place], (turn + 1) * u64::from(weight));
                }
            }
        }

        #[test]
        fn far_addresses_lead_back(
            weights in prop::collection::vec(1_u8..=255, 1..17),
            bytes in select(GRANULARITIES),
            offset in 0..1_u64 << 52,
        ) {
            let decoder = WeightedDecoder::new(&weights, bytes).unwrap();
            let (place, share) = decoder.split(offset);
            prop_assert!(usize::from(place) < weights.len());
            prop_assert_eq!(decoder.join(place, share), offset);
        }
    }
}
