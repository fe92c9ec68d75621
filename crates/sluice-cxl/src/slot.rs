//! What a slot can carry, and how often.
//!
//! CXL 3.1, Tables 4-7 and 4-8 with Figures 4-10 to 4-34 (68-byte flits), 4-14 to 4-16 with
//! Figures 4-52 to 4-67 (256-byte flits), and 4-18 (rates). Formats with messages of CXL.cache
//! are left out, and so is the direct peer-to-peer use of formats against their direction.

use super::flit::{FlitMode, SlotKind};
use super::layout::bits;
use super::opcode::{Channel, Direction};

/// Where a message lies in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotPlace {
    pub channel: Channel,
    /// Its lowest bit.
    pub at: u32,
    /// Where its two bits of DevLoad lie, if apart: CXL 2.0 put them behind both messages.
    pub load_at: Option<u32>,
}

/// A slot's format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub code: u8,
    pub places: &'static [SlotPlace],
}

impl Format {
    /// How many data headers it has room for.
    pub fn data_headers(&self) -> usize {
        self.places
            .iter()
            .filter(|place| place.channel.has_data())
            .count()
    }
}

const fn place(channel: Channel, at: u32) -> SlotPlace {
    let load_at = None;
    SlotPlace {
        channel,
        at,
        load_at,
    }
}

const fn apart(at: u32, load: u32) -> SlotPlace {
    let (channel, load_at) = (Channel::Ndr, Some(load));
    SlotPlace {
        channel,
        at,
        load_at,
    }
}

const fn format(code: u8, places: &'static [SlotPlace]) -> Format {
    Format { code, places }
}

/// The code of a slot of data in a 68-byte flit.
pub(super) const DATA_68: u8 = 0;

/// H4 and H5.
static M2S_68_FIRST: &[Format] = &[
    format(5, &[place(Channel::Req, 32)]),
    format(4, &[place(Channel::RwD, 32)]),
];

/// G4 and G5.
static M2S_68: &[Format] = &[
    format(4, &[place(Channel::Req, 0)]),
    format(5, &[place(Channel::RwD, 0)]),
];

/// H3 to H5.
static S2M_68_FIRST: &[Format] = &[
    format(4, &[apart(32, 90), apart(60, 88)]),
    format(3, &[place(Channel::Drs, 32), place(Channel::Ndr, 72)]),
    format(5, &[place(Channel::Drs, 32), place(Channel::Drs, 72)]),
];

/// G4 to G6.
static S2M_68: &[Format] = &[
    format(5, &[apart(0, 58), apart(28, 56)]),
    format(4, &[place(Channel::Drs, 0), apart(40, 98), apart(68, 96)]),
    format(
        6,
        &[
            place(Channel::Drs, 0),
            place(Channel::Drs, 40),
            place(Channel::Drs, 80),
        ],
    ),
];

/// G4, G5 and G14.
static M2S_256: &[Format] = &[
    format(4, &[place(Channel::Req, 4)]),
    format(
        5,
        &[
            place(Channel::BiRsp, 4),
            place(Channel::BiRsp, 44),
            place(Channel::BiRsp, 84),
        ],
    ),
    format(14, &[place(Channel::RwD, 4)]),
];

/// G6, G7 and G15.
static S2M_256: &[Format] = &[
    format(
        7,
        &[
            place(Channel::Ndr, 4),
            place(Channel::Ndr, 44),
            place(Channel::Ndr, 84),
        ],
    ),
    format(6, &[place(Channel::BiSnp, 4), place(Channel::Ndr, 88)]),
    format(
        15,
        &[
            place(Channel::Drs, 4),
            place(Channel::Drs, 44),
            place(Channel::Drs, 84),
        ],
    ),
];

/// G4, G5 and G14 under port-based routing.
static M2S_PBR: &[Format] = &[
    format(4, &[place(Channel::Req, 4)]),
    format(5, &[place(Channel::BiRsp, 4), place(Channel::BiRsp, 56)]),
    format(14, &[place(Channel::RwD, 4)]),
];

/// G6, G7 and G15 under port-based routing.
static S2M_PBR: &[Format] = &[
    format(7, &[place(Channel::Ndr, 4), place(Channel::Ndr, 52)]),
    format(6, &[place(Channel::BiSnp, 4)]),
    format(15, &[place(Channel::Drs, 4), place(Channel::Drs, 52)]),
];

/// The formats of a slot; the first is also that of an empty one.
pub(super) fn formats(mode: FlitMode, direction: Direction, kind: SlotKind) -> &'static [Format] {
    match (mode, direction, kind) {
        (FlitMode::B68, Direction::M2s, SlotKind::First68) => M2S_68_FIRST,
        (FlitMode::B68, Direction::M2s, _) => M2S_68,
        (FlitMode::B68, Direction::S2m, SlotKind::First68) => S2M_68_FIRST,
        (FlitMode::B68, Direction::S2m, _) => S2M_68,
        (FlitMode::B256Pbr, Direction::M2s, _) => M2S_PBR,
        (FlitMode::B256Pbr, Direction::S2m, _) => S2M_PBR,
        (_, Direction::M2s, _) => M2S_256,
        (_, Direction::S2m, _) => S2M_256,
    }
}

/// Whether a message with these `header` bits fits in the place.
///
/// Requests that end behind a header slot fit if what is behind is zero ("zero extended", Tables
/// 4-15 and 4-16). Other messages must fit whole.
pub(super) fn fits(mode: FlitMode, kind: SlotKind, place: &SlotPlace, header: u128) -> bool {
    let room = kind.bits() - place.at;
    let extends = matches!(place.channel, Channel::Req | Channel::RwD);
    room >= bits(place.channel, mode.layout()) || extends && header >> room == 0
}

/// Whether the slot has the place at all.
pub(super) fn exists(mode: FlitMode, kind: SlotKind, place: &SlotPlace) -> bool {
    fits(mode, kind, place, 0)
}

/// How many messages of each channel may come together: in a flit of 68 bytes, or in 128 bytes of
/// a longer one (CXL 3.1, 4.2.5 and Table 4-18).
fn most(mode: FlitMode, channel: Channel) -> u8 {
    let [in_68, in_128] = match channel {
        Channel::Req => [2, 4],
        Channel::RwD => [1, 2],
        Channel::BiRsp => [0, 3],
        Channel::Ndr => [2, 6],
        Channel::Drs => [3, 3],
        Channel::BiSnp => [0, 2],
    };
    match mode {
        FlitMode::B68 => in_68,
        _ => in_128,
    }
}

/// Counts messages against their rates: per flit of 68 bytes, per two neighbouring groups of four
/// slots in a longer one (the last group has three).
#[derive(Clone, Debug)]
pub(super) struct Rates {
    mode: FlitMode,
    /// By group, the last one of the flit before first, and by channel.
    groups: [[u8; 6]; 5],
    /// In the eighth slot: with low latency it is checked with the second half of the flit, and so
    /// counts for the last two groups as well.
    eighth: [u8; 6],
}

impl Rates {
    pub fn new(mode: FlitMode) -> Rates {
        Rates {
            mode,
            groups: [[0; 6]; 5],
            eighth: [0; 6],
        }
    }

    /// A flit begins.
    pub fn next_flit(&mut self) {
        // The only group of a 68-byte flit does not belong to the next flit.
        let last = self.groups[4];
        self.groups = [[0; 6]; 5];
        self.groups[0] = last;
        self.eighth = [0; 6];
    }

    /// How many messages of `channel` slot `slot` may still take.
    #[inline]
    pub fn left(&self, slot: usize, channel: Channel) -> u8 {
        let (group, at) = (slot / 4, channel as usize);
        let mut there = self.groups[group][at] + self.groups[group + 1][at];
        if self.mode == FlitMode::B256LowLatency && group == 3 {
            there += self.eighth[at];
        }
        most(self.mode, channel).saturating_sub(there)
    }

    /// Slot `slot` takes one.
    #[inline]
    pub fn add(&mut self, slot: usize, channel: Channel) {
        self.groups[slot / 4 + 1][channel as usize] += 1;
        if slot == 7 {
            self.eighth[channel as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of a place.
    fn bits_of(mode: FlitMode, place: &SlotPlace) -> Vec<u32> {
        let end = place.at + bits(place.channel, mode.layout());
        match place.load_at {
            None => (place.at..end).collect(),
            Some(load) => (place.at..end - 2).chain(load..load + 2).collect(),
        }
    }

    /// The lengths that the tables of the specification give; those of whole slots, without a
    /// flit's header or a slot's format.
    #[test]
    fn formats_have_the_published_lengths_and_no_overlap() {
        use Direction::{M2s, S2m};
        let first = SlotKind::First68;
        let cases: [(FlitMode, Direction, SlotKind, u32, &[u32]); 8] = [
            (FlitMode::B68, M2s, first, 32, &[87, 87]),
            (FlitMode::B68, M2s, SlotKind::Generic, 0, &[87, 87]),
            (FlitMode::B68, S2m, first, 32, &[60, 70, 80]),
            (FlitMode::B68, S2m, SlotKind::Generic, 0, &[60, 100, 120]),
            (FlitMode::B256, M2s, SlotKind::Generic, 4, &[100, 120, 104]),
            (FlitMode::B256, S2m, SlotKind::Generic, 4, &[120, 124, 120]),
            (
                FlitMode::B256Pbr,
                M2s,
                SlotKind::Generic,
                4,
                &[120, 104, 124],
            ),
            (FlitMode::B256Pbr, S2m, SlotKind::Generic, 4, &[96, 96, 96]),
        ];
        for (mode, direction, kind, from, lengths) in cases {
            for (format, &length) in formats(mode, direction, kind).iter().zip(lengths) {
                let all = format.places.iter().flat_map(|place| bits_of(mode, place));
                let mut bits: Vec<u32> = all.collect();
                bits.sort_unstable();
                let expected: Vec<u32> = (from..from + length).collect();
                assert_eq!(
                    bits, expected,
                    "{mode:?} {direction:?} format {}",
                    format.code
                );
            }
        }
    }

    /// Tables 4-15 and 4-16: messages of the shorter slots.
    #[test]
    fn header_slots_have_fewer_places() {
        let places = |mode, direction, kind| -> Vec<usize> {
            let all = formats(mode, direction, kind).iter();
            let there = |place: &&SlotPlace| exists(mode, kind, place);
            all.map(|format| format.places.iter().filter(there).count())
                .collect()
        };
        for kind in [SlotKind::Header, SlotKind::ShortHeader] {
            assert_eq!(places(FlitMode::B256, Direction::M2s, kind), [1, 2, 1]);
            assert_eq!(places(FlitMode::B256, Direction::S2m, kind), [2, 1, 2]);
        }
        assert_eq!(
            places(FlitMode::B256Pbr, Direction::M2s, SlotKind::Header),
            [1, 2, 1]
        );
        assert_eq!(
            places(FlitMode::B256Pbr, Direction::S2m, SlotKind::Header),
            [2, 1, 2]
        );
    }
}
