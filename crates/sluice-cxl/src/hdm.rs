//! One HDM decoder: a range of host addresses dealt out over devices, granule by granule.
//!
//! CXL 3.1, 8.2.4.20 (registers) and its implementation note on decode logic. By modulo arithmetic
//! granule `k` of the range is granule `k / ways` of device `k mod ways`. By XOR arithmetic (a
//! host's CXIMS table, 9.18.1.4) it is the same granule of another device: each bit of the device's
//! number is the XOR of those bits of the address that a map names.

use sluice_params::choices;

choices! {
    /// From the number of a granule to the device that has it.
    pub enum Arithmetic {
        Modulo = "modulo": "granule k is on device k modulo their number",
        Xor = "xor": "each bit of the device's number is XORed with two higher bits of the address",
        Weighted = "weighted": "each device in turn takes as many granules as its weight",
    }
}

/// How far above the granule's own bits the lower of the two lies that [`Arithmetic::Xor`] adds,
/// and the upper. CXL leaves the maps to the host. These are the ones of Linux's CXL tests: with
/// granules of 256 bytes `0x404100`, `0x808200` and so on, the address bits 8, 14 and 22 for bit 0.
const XOR_SHIFTS: [u32; 2] = [6, 14];

/// The numbers of devices that a range can be dealt out over.
pub const WAYS: &[u8] = &[1, 2, 3, 4, 6, 8, 12, 16];

/// The most devices of one range.
pub const MAX_WAYS: usize = 16;

/// The sizes of a granule in bytes. Those of CXL begin with [`GRANULARITY_MIN`]; smaller ones are
/// for models of systems that deal out lines.
pub const GRANULARITIES: &[u64] = &[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/// The smallest granule that a register of CXL can hold.
pub const GRANULARITY_MIN: u64 = 256;

/// From an offset in the range to a place among the devices, and back.
///
/// Holds no division but one by the constant 3, which compiles to a multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HdmDecoder {
    /// log2 of the granule's bytes.
    granule: u8,
    /// log2 of the power of two in the ways.
    twos: u8,
    /// Whether the ways are three times that power.
    thirds: bool,
    arithmetic: Arithmetic,
}

impl HdmDecoder {
    /// A decoder over `ways` devices in granules of `granularity` bytes; `None` if there
    /// is no such decoder (see [`WAYS`] and [`GRANULARITIES`]; none of CXL's has weights).
    pub fn new(ways: u8, granularity: u64, arithmetic: Arithmetic) -> Option<HdmDecoder> {
        if !WAYS.contains(&ways) || !GRANULARITIES.contains(&granularity) {
            return None;
        }
        if arithmetic == Arithmetic::Weighted {
            return None;
        }
        Some(HdmDecoder {
            granule: granularity.trailing_zeros() as u8,
            twos: ways.trailing_zeros() as u8,
            thirds: ways.is_multiple_of(3),
            arithmetic,
        })
    }

    /// What is XORed with the lowest bits of a granule's number, by the bits above them.
    #[inline]
    fn folded(self, granule: u64) -> u64 {
        match self.arithmetic {
            Arithmetic::Modulo | Arithmetic::Weighted => 0,
            Arithmetic::Xor => {
                let [lower, upper] = XOR_SHIFTS.map(|shift| granule >> shift);
                (lower ^ upper) & self.low_mask()
            }
        }
    }

    /// The bits of a granule's number that the power of two takes.
    fn low_mask(self) -> u64 {
        (1 << self.twos) - 1
    }

    /// The devices that share the range.
    pub fn ways(self) -> u8 {
        let base = if self.thirds { 3 } else { 1 };
        base << self.twos
    }

    /// The bytes of a granule.
    pub fn granularity(self) -> u64 {
        1 << self.granule
    }

    /// The interleave granularity as the register holds it (IG), if it can.
    pub fn encoded_granularity(self) -> Option<u8> {
        self.granule
            .checked_sub(GRANULARITY_MIN.trailing_zeros() as u8)
    }

    /// The interleave ways as the register holds them (IW): 0 to 4 for powers of two, 8 to 10 for
    /// three times a power of two.
    pub fn encoded_ways(self) -> u8 {
        if self.thirds {
            8 + self.twos
        } else {
            self.twos
        }
    }

    /// The device's place, below [`HdmDecoder::ways`], and the offset within its share, of the
    /// byte `offset` bytes into the range.
    #[inline]
    pub fn split(self, offset: u64) -> (u8, u64) {
        let within = offset & (self.granularity() - 1);
        let granule = offset >> self.granule;
        let upper = granule >> self.twos;
        let low = (granule & self.low_mask() ^ self.folded(granule)) as u8;
        if !self.thirds {
            return (low, upper << self.granule | within);
        }
        let share = upper / 3;
        let third = (upper - 3 * share) as u8;
        (third << self.twos | low, share << self.granule | within)
    }

    /// The offset into the range of the byte `share` bytes into the share of the device at
    /// `place`: the inverse of [`HdmDecoder::split`]. `place` is below [`HdmDecoder::ways`].
    #[inline]
    pub fn join(self, place: u8, share: u64) -> u64 {
        debug_assert!(place < self.ways());
        let within = share & (self.granularity() - 1);
        let granule = (share >> self.granule) * u64::from(self.ways()) + u64::from(place);
        // What is folded in lies above the bits that it changes.
        (granule ^ self.folded(granule)) << self.granule | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    const MODULO: Arithmetic = Arithmetic::Modulo;

    #[test]
    fn registers_hold_what_the_specification_encodes() {
        let encoded = |ways| HdmDecoder::new(ways, 256, MODULO).unwrap().encoded_ways();
        let all: Vec<u8> = WAYS.iter().map(|&ways| encoded(ways)).collect();
        assert_eq!(all, [0, 1, 8, 2, 9, 3, 10, 4]);
        let of_cxl = [256, 512, 1024, 2048, 4096, 8192, 16384];
        for (ig, bytes) in (0..).zip(of_cxl) {
            let decoder = HdmDecoder::new(1, bytes, MODULO).unwrap();
            assert_eq!(decoder.encoded_granularity(), Some(ig));
        }
        for bytes in [64, 128] {
            let decoder = HdmDecoder::new(1, bytes, MODULO).unwrap();
            assert_eq!(decoder.encoded_granularity(), None);
        }
    }

    #[test]
    fn nothing_else_is_a_decoder() {
        for ways in (0..=255).filter(|ways| !WAYS.contains(ways)) {
            assert_eq!(HdmDecoder::new(ways, 256, MODULO), None);
        }
        for bytes in [0, 32, 96, 255, 257, 768, 16_383, 32_768, u64::MAX] {
            assert_eq!(HdmDecoder::new(2, bytes, MODULO), None);
        }
    }

    /// Deals the granules out one by one, as one deals cards.
    #[test]
    fn granules_are_dealt_out_in_turn() {
        for &ways in WAYS {
            for &bytes in GRANULARITIES {
                let decoder = HdmDecoder::new(ways, bytes, MODULO).unwrap();
                assert_eq!((decoder.ways(), decoder.granularity()), (ways, bytes));
                let mut dealt = [0_u64; MAX_WAYS];
                let mut place = 0;
                for granule in 0..4 * u64::from(ways) + 1 {
                    let share = dealt[usize::from(place)] * bytes;
                    for within in [0, 1, 31, 63, bytes - 1] {
                        let (at, got) = (granule * bytes + within, (place, share + within));
                        assert_eq!(decoder.split(at), got, "{ways} ways of {bytes}");
                        assert_eq!(decoder.join(got.0, got.1), at, "{ways} ways of {bytes}");
                    }
                    dealt[usize::from(place)] += 1;
                    place = (place + 1) % ways;
                }
            }
        }
    }

    /// The map of each bit as a table of CXIMS has it, and the XOR of all bits under it.
    #[test]
    fn xor_is_that_of_the_maps() {
        let maps = [0x40_4100_u64, 0x80_8200, 0x101_0400, 0x202_0800];
        for (twos, ways) in (0..).zip([1, 2, 4, 8, 16]) {
            let decoder = HdmDecoder::new(ways, 256, Arithmetic::Xor).unwrap();
            for at in (0..1 << 28).step_by(0x7_0300) {
                let bits = maps.iter().map(|map| (at & map).count_ones() as u8 & 1);
                let place = (0..).zip(bits.take(twos));
                let place = place.fold(0, |place, (bit, value)| place | value << bit);
                let (_, share) = HdmDecoder::new(ways, 256, MODULO).unwrap().split(at);
                assert_eq!(decoder.split(at), (place, share), "{ways} ways, {at:#x}");
            }
        }
    }

    /// Granules whose numbers are multiples of 2^k, 2^n of them: the bits k to k + n - 1 take every
    /// value. A bit of the device's number is free if one of the bits behind it is, so that 2^f
    /// devices for f such bits have the same share, and the others nothing.
    #[test]
    fn powers_of_two_spread_over_as_many_devices_as_bits_are_free() {
        for arithmetic in &[MODULO, Arithmetic::Xor] {
            for (k, n, &bytes) in every(&[0, 1, 2, 4, 6, 8, 12, 14], &[4, 6, 9], GRANULARITIES) {
                let decoder = HdmDecoder::new(16, bytes, *arithmetic).unwrap();
                let mut counts = [0_u32; 16];
                for granule in (0..1_u64 << n).map(|number| number << k) {
                    counts[usize::from(decoder.split(granule * bytes).0)] += 1;
                }
                let behind = |bit: u32| match arithmetic {
                    Arithmetic::Xor => vec![bit, bit + 6, bit + 14],
                    _ => vec![bit],
                };
                let is_free = |bit: &u32| behind(*bit).iter().any(|at| (k..k + n).contains(at));
                let free = (0..4).filter(is_free).count() as u32;
                let each = counts.iter().filter(|count| **count > 0);
                let each: Vec<u32> = each.copied().collect();
                assert_eq!(
                    each,
                    vec![1 << (n - free); 1 << free],
                    "{arithmetic:?} {k} {n}"
                );
            }
        }
    }

    /// Every combination.
    fn every<'a>(
        ks: &'a [u32],
        ns: &'a [u32],
        bytes: &'a [u64],
    ) -> impl Iterator<Item = (u32, u32, &'a u64)> {
        let pairs = ks
            .iter()
            .flat_map(move |k| ns.iter().map(move |n| (*k, *n)));
        pairs.flat_map(move |(k, n)| bytes.iter().map(move |bytes| (k, n, bytes)))
    }

    proptest! {
        #[test]
        fn split_and_join_are_inverse(
            ways in select(WAYS),
            bytes in select(GRANULARITIES),
            offset in 0..1_u64 << 52,
        ) {
            let decoder = HdmDecoder::new(ways, bytes, MODULO).unwrap();
            let (place, share) = decoder.split(offset);
            let granule = offset / bytes;
            prop_assert_eq!(u64::from(place), granule % u64::from(ways));
            prop_assert_eq!(share, granule / u64::from(ways) * bytes + offset % bytes);
            prop_assert_eq!(decoder.join(place, share), offset);
            let xor = HdmDecoder::new(ways, bytes, Arithmetic::Xor).unwrap();
            let (other, same) = xor.split(offset);
            prop_assert!(other < ways);
            prop_assert_eq!(same, share);
            prop_assert_eq!(xor.join(other, share), offset);
        }
    }
}
