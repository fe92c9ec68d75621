//! How long flits take on a link, and how many bytes messages cost in them.

use super::flit::{FlitMode, PackError};
use super::message::Message;
use super::opcode::{Channel, Direction};
use super::pack::Packer;
use sluice_units::{LINE_BYTES, Ps};

/// The transfer rates of a lane in GT/s (PCIe 3.0 to 6.0).
pub const RATES: &[u64] = &[8, 16, 32, 64];

/// The widths of a link in lanes (CXL 3.1, 6.1; 1 and 2 are degraded modes).
pub const LANES: &[u64] = &[1, 2, 4, 8, 16];

/// From this rate on lanes carry no synchronisation headers and 68-byte flits are not carried.
const FLIT_RATE: u64 = 64;

/// A link: one direction of it carries flits at a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlitLink {
    mode: FlitMode,
    /// Picoseconds of a flit: a fraction in lowest terms.
    ps: u64,
    per: u64,
}

/// Why there is no such link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The rate is none of the standard's.
    #[error("{rate} GT/s is no rate of a lane; valid are 8, 16, 32 and 64")]
    Rate {
        /// The rate that was asked for, GT/s.
        rate: u64,
    },
    /// The width is none of the standard's.
    #[error("a link has no {lanes} lanes; valid are 1, 2, 4, 8 and 16")]
    Lanes {
        /// The lanes that were asked for.
        lanes: u64,
    },
    /// 68-byte flits at a rate that needs longer ones.
    #[error("68-byte flits are not carried at {rate} GT/s; 256-byte flits are")]
    Mode {
        /// The rate that was asked for, GT/s.
        rate: u64,
    },
}

impl FlitLink {
    /// A link of `lanes` lanes of `rate` GT/s each.
    ///
    /// `sync_headers`: whether lanes spend 2 of 130 bits on synchronisation, as PCIe does up to
    /// 32 GT/s and as CXL may leave out (3.1, chapter 6: sync header bypass).
    ///
    /// # Errors
    ///
    /// Says which of the numbers cannot be.
    pub fn new(
        mode: FlitMode,
        rate: u64,
        lanes: u64,
        sync_headers: bool,
    ) -> Result<FlitLink, LinkError> {
        if !RATES.contains(&rate) {
            return Err(LinkError::Rate { rate });
        }
        if !LANES.contains(&lanes) {
            return Err(LinkError::Lanes { lanes });
        }
        if mode == FlitMode::B68 && rate >= FLIT_RATE {
            return Err(LinkError::Mode { rate });
        }
        let coded = if sync_headers && rate < FLIT_RATE {
            130
        } else {
            128
        };
        // Giga and pico leave a factor of 1000.
        let (ps, per) = (mode.bytes() * 8 * 1000 * coded, rate * lanes * 128);
        let common = gcd(ps, per);
        Ok(FlitLink {
            mode,
            ps: ps / common,
            per: per / common,
        })
    }

    /// The kind of flits.
    pub fn mode(self) -> FlitMode {
        self.mode
    }

    /// The time of `flits` flits without a gap, rounded up once.
    #[inline]
    pub fn time(self, flits: u64) -> Ps {
        Ps((u128::from(flits) * u128::from(self.ps)).div_ceil(u128::from(self.per)) as u64)
    }

    /// The time of `bytes` bytes of a stream of flits, rounded up.
    #[inline]
    pub fn time_of_bytes(self, bytes: u64) -> Ps {
        let per = u128::from(self.per) * u128::from(self.mode.bytes());
        Ps((u128::from(bytes) * u128::from(self.ps)).div_ceil(per) as u64)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What a stream of messages costs on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Flits that were sent.
    pub flits: u64,
    /// Bytes of these flits.
    pub bytes: u64,
    /// Bytes of data among the bytes sent.
    pub payload: u64,
    /// Messages that they carried.
    pub messages: u64,
}

/// Packs `rounds` times the messages of `round`, all there from the start, into the flits of their
/// direction. One round is what the messages cost alone; many are the long run.
///
/// # Errors
///
/// Says which message does not go that way or that flits of this kind cannot carry.
pub fn cost(
    mode: FlitMode,
    direction: Direction,
    round: &[Message],
    rounds: u64,
) -> Result<Cost, PackError> {
    // Two rounds in each queue, so that every channel always has messages to choose from.
    let mut packer = Packer::new(mode, direction, 2 * round.len().max(MIN_DEPTH));
    let mut cost = Cost::default();
    let (mut begun, mut at) = (0, 0);
    loop {
        while begun < rounds && !round.is_empty() {
            match packer.push(&round[at]) {
                Ok(()) => {
                    cost.messages += 1;
                    cost.payload += if round[at].data().is_some() {
                        LINE_BYTES
                    } else {
                        0
                    };
                }
                Err(PackError::Full { .. }) => break,
                Err(error) => return Err(error),
            }
            at = (at + 1) % round.len();
            begun += u64::from(at == 0);
        }
        if packer.next_flit().is_none() {
            cost.bytes = cost.flits * mode.bytes();
            return Ok(cost);
        }
        cost.flits += 1;
    }
}

/// More messages than a flit takes of any channel.
const MIN_DEPTH: usize = 16;

/// How a message's bytes on the link are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Packing {
    /// Nothing else is sent: it takes whole flits.
    Alone,
    /// Flits are full: it takes its part of their slots, with as many of its kind as a slot has
    /// places for.
    Shared,
}

/// The bytes that a message of `channel` takes on a link, rounded up; 0 if flits of this kind do
/// not carry it. Without byte enables.
pub fn wire_bytes(mode: FlitMode, channel: Channel, packing: Packing) -> u64 {
    // Places of the widest slot.
    let places = match (mode, channel) {
        (FlitMode::B68, Channel::BiRsp | Channel::BiSnp) => return 0,
        (_, Channel::Req | Channel::RwD | Channel::BiSnp) => 1,
        (FlitMode::B68, Channel::Drs) => 3,
        (FlitMode::B68 | FlitMode::B256Pbr, _) => 2,
        _ => 3,
    };
    let data: u64 = if channel.has_data() { 4 } else { 0 };
    match packing {
        // A header slot and four slots of data begin in the first slot of a flit.
        Packing::Alone => (1 + data).div_ceil(mode.slots() as u64) * mode.bytes(),
        Packing::Shared => {
            let slots = 1 + places * data;
            (slots * mode.bytes()).div_ceil(places * mode.slots() as u64)
        }
    }
}
