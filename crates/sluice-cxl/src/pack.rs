//! Messages into flits.

use super::codec::encode;
use super::flit::{Flit, FlitMode, HEADER_BITS, Header68, PackError, SlotKind};
use super::message::{Line, Message};
use super::opcode::{Channel, Direction};
use super::slot::{DATA_68, Format, Rates, SlotPlace, exists, fits, formats};
use std::collections::VecDeque;

/// Slots of data for a line.
pub(super) const LINE_SLOTS: usize = 4;
/// The data that may be on its way when a header slot announces more (CXL 3.1, 4.3.4).
pub(super) const ROLLOVER_MAX: usize = 16;
/// All data that can be on its way: a full rollover, and three headers more with trailers.
pub(super) const CHUNKS_MAX: usize = ROLLOVER_MAX + 3 * (LINE_SLOTS + 1);

/// A message that waits.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its turn among all channels.
    turn: u64,
    header: u128,
    data: Option<(Line, Option<u64>)>,
}

/// Packs the messages of one direction into flits.
///
/// Each slot is filled as soon as there is a message for it. Among the messages that the slot can
/// take, the one that has waited longest decides the format. Of the formats that carry it, the
/// packer takes the one with most messages. Data follows its header without a gap. Within a channel
/// messages keep their order.
///
/// All memory is taken at the start.
pub struct Packer {
    mode: FlitMode,
    direction: Direction,
    /// By channel of the direction.
    queues: [VecDeque<Waiting>; 3],
    depth: usize,
    /// Data whose header is sent.
    chunks: VecDeque<u128>,
    rates: Rates,
    turn: u64,
}

/// The place of a channel among the three of its direction.
fn index(channel: Channel) -> usize {
    channel as usize % 3
}

impl Packer {
    /// A packer whose queues hold `depth` messages each.
    pub fn new(mode: FlitMode, direction: Direction, depth: usize) -> Packer {
        Packer {
            mode,
            direction,
            queues: std::array::from_fn(|_| VecDeque::with_capacity(depth)),
            depth,
            chunks: VecDeque::with_capacity(CHUNKS_MAX),
            rates: Rates::new(mode),
            turn: 0,
        }
    }

    /// Queues a message behind those of its channel.
    ///
    /// # Errors
    ///
    /// Says why not: the queue is full, the message goes the other way, or flits of this kind
    /// cannot carry it. Nothing is queued then.
    pub fn push(&mut self, message: &Message) -> Result<(), PackError> {
        let channel = message.channel();
        if channel.direction() != self.direction {
            let direction = self.direction;
            return Err(PackError::Direction { channel, direction });
        }
        let header = encode(message, self.mode.layout())?;
        let queue = &mut self.queues[index(channel)];
        if queue.len() == self.depth {
            return Err(PackError::Full { channel });
        }
        let data = message.data().map(|line| (*line, message.enables()));
        queue.push_back(Waiting {
            turn: self.turn,
            header,
            data,
        });
        self.turn += 1;
        Ok(())
    }

    /// Whether all is sent.
    pub fn is_idle(&self) -> bool {
        self.chunks.is_empty() && self.queues.iter().all(VecDeque::is_empty)
    }

    /// The next flit, or `None` if there is nothing to send.
    pub fn next_flit(&mut self) -> Option<Flit> {
        if self.is_idle() {
            return None;
        }
        self.rates.next_flit();
        let mut flit = Flit::EMPTY;
        match self.mode {
            FlitMode::B68 => self.fill_68(&mut flit),
            _ => self.fill_256(&mut flit),
        }
        Some(flit)
    }

    fn fill_68(&mut self, flit: &mut Flit) {
        if self.chunks.len() >= LINE_SLOTS {
            flit.slots[..LINE_SLOTS].fill_with(|| self.chunks.pop_front().unwrap_or(0));
            return;
        }
        let mut header = Header68::default();
        for slot in 0..LINE_SLOTS {
            let kind = self.mode.kind(slot);
            if let (true, Some(chunk)) = (kind.takes_data(), self.chunks.front()) {
                flit.slots[slot] = *chunk;
                header.formats[slot] = DATA_68;
                self.chunks.pop_front();
                continue;
            }
            let filled = self.fill_slot(slot, !header.whole);
            flit.slots[slot] |= filled.bits;
            header.formats[slot] = filled.code;
            header.whole |= filled.data;
            header.enables |= filled.enables;
        }
        debug_assert_eq!(flit.slots[0] as u32, 0);
        debug_assert_eq!(header.encode() >> HEADER_BITS, 0);
        flit.slots[0] |= header.encode();
    }

    fn fill_256(&mut self, flit: &mut Flit) {
        for slot in 0..self.mode.slots() {
            let kind = self.mode.kind(slot);
            if let (true, Some(chunk)) = (kind.takes_data(), self.chunks.front()) {
                flit.slots[slot] = *chunk;
                self.chunks.pop_front();
                continue;
            }
            let filled = self.fill_slot(slot, self.chunks.len() <= ROLLOVER_MAX);
            flit.slots[slot] = filled.bits | u128::from(filled.code);
        }
    }

    /// Fills a slot with messages, with data headers among them only if `data`.
    fn fill_slot(&mut self, slot: usize, data: bool) -> Filled {
        let kind = self.mode.kind(slot);
        let all = formats(self.mode, self.direction, kind);
        let mut best: Option<(&Format, Load)> = None;
        for format in all {
            let Some(load) = self.load(slot, kind, format, data) else {
                continue;
            };
            let better = best.as_ref().is_none_or(|(_, other)| {
                (load.oldest, other.messages) < (other.oldest, load.messages)
            });
            if better {
                best = Some((format, load));
            }
        }
        match best {
            Some((format, _)) => self.put(slot, kind, format),
            // The first format without a message: a slot of nothing.
            None => Filled {
                code: all[0].code,
                ..Filled::default()
            },
        }
    }

    /// What the format would carry now, if anything.
    fn load(&self, slot: usize, kind: SlotKind, format: &Format, data: bool) -> Option<Load> {
        if format.data_headers() > 0 && !data {
            return None;
        }
        let mut load = Load {
            oldest: u64::MAX,
            messages: 0,
        };
        let mut headers = 0;
        let mut taken = [0; 3];
        for place in format.places {
            let Some(waiting) = self.next_for(slot, kind, place, &taken) else {
                continue;
            };
            taken[index(place.channel)] += 1;
            headers += usize::from(place.channel.has_data());
            load.oldest = load.oldest.min(waiting.turn);
            load.messages += 1;
        }
        // A slot for data headers has one in its first place. Formats for several come after those
        // for one, which win ties: they are only taken for several.
        let needed = usize::from(format.data_headers() > 0);
        (load.messages > 0 && headers >= needed).then_some(load)
    }

    /// The message that would go to the place when `taken` of each channel have gone before.
    fn next_for(
        &self,
        slot: usize,
        kind: SlotKind,
        place: &SlotPlace,
        taken: &[usize; 3],
    ) -> Option<&Waiting> {
        let before = taken[index(place.channel)];
        let left = usize::from(self.rates.left(slot, place.channel));
        let waiting = self.queues[index(place.channel)].get(before)?;
        let room = exists(self.mode, kind, place) && before < left;
        (room && fits(self.mode, kind, place, waiting.header)).then_some(waiting)
    }

    /// Moves messages into the slot.
    fn put(&mut self, slot: usize, kind: SlotKind, format: &Format) -> Filled {
        let mut filled = Filled {
            code: format.code,
            ..Filled::default()
        };
        for place in format.places {
            if self.next_for(slot, kind, place, &[0; 3]).is_none() {
                continue;
            }
            let Some(waiting) = self.queues[index(place.channel)].pop_front() else {
                continue;
            };
            self.rates.add(slot, place.channel);
            filled.bits |= placed(place, waiting.header);
            if let Some((line, enables)) = waiting.data {
                filled.data = true;
                filled.enables |= enables.is_some();
                let (chunks, _) = line.as_chunks::<16>();
                self.chunks
                    .extend(chunks.iter().map(|&chunk| u128::from_le_bytes(chunk)));
                self.chunks.extend(enables.map(u128::from));
            }
        }
        filled
    }
}

/// Bits of a response before its load, where that lies apart.
pub(super) const LOAD_AT: u32 = 28;

/// The bits of a message in its place.
fn placed(place: &SlotPlace, header: u128) -> u128 {
    match place.load_at {
        None => header << place.at,
        Some(load) => {
            let low = header & ((1 << LOAD_AT) - 1);
            low << place.at | (header >> LOAD_AT) << load
        }
    }
}

/// What a format would carry.
struct Load {
    oldest: u64,
    messages: u32,
}

/// A slot that is filled.
#[derive(Default)]
struct Filled {
    code: u8,
    bits: u128,
    /// Whether data begins.
    data: bool,
    /// Whether byte enables end it.
    enables: bool,
}
