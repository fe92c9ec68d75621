//! Flits into messages.

use super::codec::decode;
use super::flit::{Flit, FlitError, FlitMode, HEADER_BITS, Header68, SlotKind};
use super::layout::bits;
use super::message::Message;
use super::opcode::{Channel, Direction};
use super::pack::{CHUNKS_MAX, LINE_SLOTS, LOAD_AT, ROLLOVER_MAX};
use super::slot::{DATA_68, Format, Rates, SlotPlace, exists, formats};
use std::collections::VecDeque;

/// A message whose data is on its way.
#[derive(Clone, Copy)]
struct Pending {
    message: Message,
    /// Slots of data that have come.
    come: usize,
}

impl Pending {
    /// Slots of data, the byte enables among them.
    fn slots(&self) -> usize {
        LINE_SLOTS + usize::from(self.message.enables().is_some())
    }
}

/// Takes the messages of one direction out of their flits: the reverse of
/// [`Packer`](super::Packer), and a check of the rules that it follows.
///
/// All memory is taken at the start.
pub struct Unpacker {
    mode: FlitMode,
    direction: Direction,
    pending: VecDeque<Pending>,
    rates: Rates,
}

impl Unpacker {
    /// An unpacker at the beginning of a stream of flits.
    pub fn new(mode: FlitMode, direction: Direction) -> Unpacker {
        Unpacker {
            mode,
            direction,
            pending: VecDeque::with_capacity(CHUNKS_MAX / LINE_SLOTS + 1),
            rates: Rates::new(mode),
        }
    }

    /// Whether no data is missing.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Calls `out` with each message of which the flit brings the last part.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the flit, and where. What comes after such a flit means nothing:
    /// begin anew.
    pub fn take(&mut self, flit: &Flit, out: &mut impl FnMut(Message)) -> Result<(), FlitError> {
        self.rates.next_flit();
        let beyond = flit.slots.iter().skip(self.mode.slots());
        if beyond.into_iter().any(|&slot| slot != 0) {
            return Err(FlitError::Reserved {
                slot: self.mode.slots(),
            });
        }
        match self.mode {
            FlitMode::B68 => self.take_68(flit, out),
            _ => self.take_256(flit, out),
        }
    }

    /// Slots of data that are still to come.
    fn expected(&self) -> usize {
        self.pending
            .iter()
            .map(|pending| pending.slots() - pending.come)
            .sum()
    }

    fn take_68(&mut self, flit: &Flit, out: &mut impl FnMut(Message)) -> Result<(), FlitError> {
        if self.expected() >= LINE_SLOTS {
            for (slot, &chunk) in flit.slots[..LINE_SLOTS].iter().enumerate() {
                self.data(slot, chunk, out)?;
            }
            return Ok(());
        }
        let header = Header68::decode(flit.slots[0])?;
        let mut begun: Option<bool> = None;
        for slot in 0..LINE_SLOTS {
            let kind = self.mode.kind(slot);
            let (code, expected) = (header.formats[slot], !self.pending.is_empty());
            if kind.takes_data() && (code == DATA_68 || expected) {
                if code != DATA_68 || !expected {
                    return Err(FlitError::Data { slot, expected });
                }
                self.data(slot, flit.slots[slot], out)?;
                continue;
            }
            let skip = if slot == 0 { HEADER_BITS } else { 0 };
            let contents = flit.slots[slot] >> skip << skip;
            let before = self.pending.len();
            self.messages(slot, kind, code, contents, out)?;
            if let Some(new) = self.pending.get(before) {
                if begun.is_some() {
                    return Err(FlitError::DataHeaders { slot });
                }
                begun = Some(new.message.enables().is_some());
            }
        }
        match begun {
            Some(_) if !header.whole => Err(FlitError::Header { field: "Sz" }),
            _ if header.enables != begun.unwrap_or(false) => Err(FlitError::Header { field: "BE" }),
            _ => Ok(()),
        }
    }

    fn take_256(&mut self, flit: &Flit, out: &mut impl FnMut(Message)) -> Result<(), FlitError> {
        for slot in 0..self.mode.slots() {
            let (kind, bits) = (self.mode.kind(slot), flit.slots[slot]);
            if kind.takes_data() && !self.pending.is_empty() {
                self.data(slot, bits, out)?;
                continue;
            }
            if kind.bits() < u128::BITS && bits >> kind.bits() != 0 {
                return Err(FlitError::Reserved { slot });
            }
            let (before, expected) = (self.pending.len(), self.expected());
            self.messages(slot, kind, (bits & 0xF) as u8, bits & !0xF, out)?;
            if self.pending.len() > before && expected > ROLLOVER_MAX {
                return Err(FlitError::Rollover { slot });
            }
        }
        Ok(())
    }

    /// A slot of data for the oldest message that lacks some.
    fn data(
        &mut self,
        slot: usize,
        chunk: u128,
        out: &mut impl FnMut(Message),
    ) -> Result<(), FlitError> {
        let expected = false;
        let first = self
            .pending
            .front_mut()
            .ok_or(FlitError::Data { slot, expected })?;
        let at = 16 * first.come;
        match &mut first.message {
            Message::RwD(rwd) if first.come == LINE_SLOTS => {
                let mask = u64::try_from(chunk).map_err(|_| FlitError::Reserved { slot })?;
                rwd.enables = Some(mask);
            }
            Message::RwD(rwd) => rwd.data[at..at + 16].copy_from_slice(&chunk.to_le_bytes()),
            Message::Drs(drs) => drs.data[at..at + 16].copy_from_slice(&chunk.to_le_bytes()),
            _ => return Err(FlitError::Data { slot, expected }),
        }
        first.come += 1;
        if first.come == first.slots() {
            let message = first.message;
            self.pending.pop_front();
            self.finished(slot, &message)?;
            out(message);
        }
        Ok(())
    }

    /// Checks what only shows when the data is there.
    fn finished(&self, slot: usize, message: &Message) -> Result<(), FlitError> {
        let again = super::codec::encode(message, self.mode.layout());
        again
            .map(|_| ())
            .map_err(|error| FlitError::Message { slot, error })
    }

    /// A slot of messages.
    fn messages(
        &mut self,
        slot: usize,
        kind: SlotKind,
        code: u8,
        contents: u128,
        out: &mut impl FnMut(Message),
    ) -> Result<(), FlitError> {
        let mut all = formats(self.mode, self.direction, kind).iter();
        let format = all.find(|format| format.code == code);
        let format = format.ok_or(FlitError::Format { slot, code })?;
        let mut rest = contents;
        let (mut headers, mut closed) = (0, [false; 6]);
        for place in format.places {
            if !exists(self.mode, kind, place) {
                continue;
            }
            let (header, mask) = self.cut(place, contents);
            rest &= !mask;
            let channel = place.channel;
            if header & 1 == 0 {
                closed[channel as usize] = true;
                if header != 0 {
                    return Err(FlitError::Reserved { slot });
                }
                continue;
            }
            if closed[channel as usize] {
                return Err(FlitError::Loose { slot, channel });
            }
            headers += usize::from(channel.has_data());
            self.message(slot, channel, header, out)?;
        }
        self.check_headers(slot, format, headers)?;
        match rest {
            0 => Ok(()),
            _ => Err(FlitError::Reserved { slot }),
        }
    }

    /// The bits of the message in its place, and all that it covers.
    fn cut(&self, place: &SlotPlace, contents: u128) -> (u128, u128) {
        let whole = bits(place.channel, self.mode.layout());
        let ones = |count: u32| u128::MAX >> (u128::BITS - count);
        match place.load_at {
            None => {
                let mask = ones(whole) << place.at;
                ((contents & mask) >> place.at, mask)
            }
            Some(load) => {
                let low = contents >> place.at & ones(LOAD_AT);
                let high = contents >> load & ones(whole - LOAD_AT);
                let mask = ones(LOAD_AT) << place.at | ones(whole - LOAD_AT) << load;
                (low | high << LOAD_AT, mask)
            }
        }
    }

    fn message(
        &mut self,
        slot: usize,
        channel: Channel,
        header: u128,
        out: &mut impl FnMut(Message),
    ) -> Result<(), FlitError> {
        let message = decode(channel, header, self.mode.layout());
        let message = message.map_err(|error| FlitError::Message { slot, error })?;
        if self.rates.left(slot, channel) == 0 {
            return Err(FlitError::Rate { slot, channel });
        }
        self.rates.add(slot, channel);
        match channel.has_data() {
            true => self.pending.push_back(Pending { message, come: 0 }),
            false => out(message),
        }
        Ok(())
    }

    /// Data headers stand from the first place on, and several only where there are several.
    fn check_headers(&self, slot: usize, format: &Format, there: usize) -> Result<(), FlitError> {
        let room = format.data_headers();
        let alone = self.mode == FlitMode::B68 && room > 1 && there == 1;
        // A slot of 68-byte flits may be empty in any format.
        let none = self.mode != FlitMode::B68 && room > 0 && there == 0;
        match alone || none {
            true => Err(FlitError::DataHeaders { slot }),
            false => Ok(()),
        }
    }
}
