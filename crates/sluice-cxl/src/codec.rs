//! A message to its bits and back.

use super::error::MessageError;
use super::layout::{FIELDS, Field, Layout, parts};
use super::message::{BiRsp, BiSnp, Drs, Message, Meta, Ndr, Req, RwD};
use super::opcode::{
    BiRspOp, BiSnpOp, Channel, DevLoad, DrsOp, MetaField, MetaValue, NdrOp, ReqOp, RwdOp, SnpType,
};
use sluice_units::LINE_BYTES;

/// The values of all fields; those that a message does not have are zero.
#[derive(Clone, Copy)]
struct Values([u64; FIELDS]);

impl Values {
    fn of(list: &[(Field, u64)]) -> Values {
        let mut values = [0; FIELDS];
        values[Field::Valid as usize] = 1;
        list.iter()
            .for_each(|&(field, value)| values[field as usize] = value);
        Values(values)
    }

    fn get(&self, field: Field) -> u64 {
        self.0[field as usize]
    }
}

/// Fields that flits of some kind do not have: a value in them would be lost.
const OPTIONAL: &[Field] = &[
    Field::LdId,
    Field::Spid,
    Field::Dpid,
    Field::Ckid,
    Field::BiId,
];

/// The bits of `message`, from bit 0 up, without its data.
///
/// # Errors
///
/// Says what flits of this kind cannot carry.
pub fn encode(message: &Message, layout: Layout) -> Result<u128, MessageError> {
    let channel = message.channel();
    let (head, rest) = parts(channel, layout);
    if head.is_empty() {
        return Err(MessageError::Channel { channel, layout });
    }
    check(message, layout)?;
    let values = values(message);
    let (mut encoded, mut at, mut there) = (0, 0, 0_u32);
    for &(field, width) in head.iter().chain(rest) {
        there |= 1 << field as u32;
        let value = values.get(field);
        if value >> width != 0 {
            return Err(MessageError::Width {
                channel,
                field,
                value,
                width,
                layout,
            });
        }
        encoded |= u128::from(value) << at;
        at += u32::from(width);
    }
    for &field in OPTIONAL {
        let value = values.get(field);
        if there >> field as u32 & 1 == 0 && value != 0 {
            return Err(MessageError::Width {
                channel,
                field,
                value,
                width: 0,
                layout,
            });
        }
    }
    Ok(encoded)
}

/// The message of `channel` in `bits`, as [`encode`] makes them. Its data is zero, and so are byte
/// enables if its opcode has them.
///
/// # Errors
///
/// Says what is no message: reserved values, reserved bits that are set, bits behind the last.
/// Receivers ignore reserved bits; a model that sees one has an error in it.
pub fn decode(channel: Channel, bits: u128, layout: Layout) -> Result<Message, MessageError> {
    let (head, rest) = parts(channel, layout);
    if head.is_empty() {
        return Err(MessageError::Channel { channel, layout });
    }
    let mut values = Values([0; FIELDS]);
    let mut left = bits;
    for &(field, width) in head.iter().chain(rest) {
        let value = (left & ((1 << width) - 1)) as u64;
        if field == Field::Reserved && value != 0 {
            return Err(MessageError::Reserved {
                channel,
                field,
                value,
            });
        }
        values.0[field as usize] = value;
        left >>= width;
    }
    if left != 0 {
        let (field, value) = (Field::Reserved, left as u64);
        return Err(MessageError::Reserved {
            channel,
            field,
            value,
        });
    }
    if values.get(Field::Valid) == 0 {
        return Err(MessageError::NotValid { channel });
    }
    let message = message(channel, &values)?;
    if layout != Layout::B68 && values.get(Field::Trailer) != message.enables().is_some().into() {
        let value = values.get(Field::Trailer);
        return Err(MessageError::Reserved {
            channel,
            field: Field::Trailer,
            value,
        });
    }
    check(&message, layout)?;
    Ok(message)
}

/// What no width of a field says.
fn check(message: &Message, layout: Layout) -> Result<(), MessageError> {
    let channel = message.channel();
    let aligned = |addr: u64, multiple: u64| match addr.is_multiple_of(multiple) {
        true => Ok(()),
        false => Err(MessageError::Address {
            channel,
            addr,
            multiple,
        }),
    };
    let extended = |meta: Meta| match meta.field {
        MetaField::Extended => Err(MessageError::Extended { channel }),
        _ => Ok(()),
    };
    match message {
        Message::Req(req) => {
            extended(req.meta)?;
            // 68-byte flits say which half of the line is wanted first.
            aligned(
                req.addr,
                if layout == Layout::B68 {
                    LINE_BYTES / 2
                } else {
                    LINE_BYTES
                },
            )
        }
        Message::RwD(rwd) => {
            extended(rwd.meta)?;
            aligned(rwd.addr, LINE_BYTES)?;
            check_data(rwd, layout)
        }
        Message::Ndr(ndr) => extended(ndr.meta),
        Message::Drs(drs) => extended(drs.meta),
        Message::BiRsp(_) => Ok(()),
        Message::BiSnp(snoop) => {
            aligned(snoop.addr, LINE_BYTES)?;
            // 00b names no block.
            if snoop.opcode.is_block() && snoop.addr.is_multiple_of(4 * LINE_BYTES) {
                let field = Field::Address;
                return Err(MessageError::Reserved {
                    channel,
                    field,
                    value: snoop.addr,
                });
            }
            Ok(())
        }
    }
}

fn check_data(rwd: &RwD, layout: Layout) -> Result<(), MessageError> {
    let opcode = rwd.opcode.name();
    let plain = matches!(rwd.opcode, RwdOp::MemWr | RwdOp::MemWrPtl);
    if layout == Layout::B68 && !plain {
        return Err(MessageError::Opcode { opcode, layout });
    }
    if rwd.enables.is_some() != rwd.opcode.has_enables() {
        let given = rwd.enables.is_some();
        return Err(MessageError::Enables { opcode, given });
    }
    match rwd.opcode.writes() || rwd.data == [0; LINE_BYTES as usize] {
        true => Ok(()),
        false => Err(MessageError::Data { opcode }),
    }
}

/// The values of the fields of `message`.
fn values(message: &Message) -> Values {
    use Field::*;
    match message {
        Message::Req(m) => Values::of(&[
            (Opcode, m.opcode.bits().into()),
            (SnpType, m.snp.bits().into()),
            (MetaField, m.meta.field.bits().into()),
            (MetaValue, m.meta.value.bits().into()),
            (Tag, m.tag.into()),
            (Half, m.addr / (LINE_BYTES / 2) % 2),
            (Address, m.addr / LINE_BYTES),
            (Tc, m.tc.into()),
            (Ckid, m.ckid.into()),
            (LdId, m.ld_id.into()),
            (Spid, m.spid.into()),
            (Dpid, m.dpid.into()),
        ]),
        Message::RwD(m) => Values::of(&[
            (Opcode, m.opcode.bits().into()),
            (SnpType, m.snp.bits().into()),
            (MetaField, m.meta.field.bits().into()),
            (MetaValue, m.meta.value.bits().into()),
            (Tag, m.tag.into()),
            (Address, m.addr / LINE_BYTES),
            (Poison, m.poison.into()),
            (Trailer, m.enables.is_some().into()),
            (Tc, m.tc.into()),
            (Ckid, m.ckid.into()),
            (LdId, m.ld_id.into()),
            (Spid, m.spid.into()),
            (Dpid, m.dpid.into()),
        ]),
        Message::BiRsp(m) => Values::of(&[
            (Opcode, m.opcode.bits().into()),
            (BiId, m.bi_id.into()),
            (BiTag, m.bi_tag.into()),
            (LowAddr, m.low_addr.into()),
            (Spid, m.spid.into()),
            (Dpid, m.dpid.into()),
        ]),
        Message::Ndr(m) => Values::of(&[
            (Opcode, m.opcode.bits().into()),
            (MetaField, m.meta.field.bits().into()),
            (MetaValue, m.meta.value.bits().into()),
            (Tag, m.tag.into()),
            (DevLoad, m.load.bits().into()),
            (LdId, m.ld_id.into()),
            (Dpid, m.dpid.into()),
        ]),
        Message::Drs(m) => Values::of(&[
            (Opcode, m.opcode.bits().into()),
            (MetaField, m.meta.field.bits().into()),
            (MetaValue, m.meta.value.bits().into()),
            (Tag, m.tag.into()),
            (Poison, m.poison.into()),
            (DevLoad, m.load.bits().into()),
            (LdId, m.ld_id.into()),
            (Dpid, m.dpid.into()),
        ]),
        Message::BiSnp(m) => Values::of(&[
            (Opcode, m.opcode.bits().into()),
            (BiId, m.bi_id.into()),
            (BiTag, m.bi_tag.into()),
            (Address, m.addr / LINE_BYTES),
            (Spid, m.spid.into()),
            (Dpid, m.dpid.into()),
        ]),
    }
}

/// The message that has these values.
fn message(channel: Channel, values: &Values) -> Result<Message, MessageError> {
    let reader = Reader { channel, values };
    match channel {
        Channel::Req => reader.req().map(Message::Req),
        Channel::RwD => reader.rwd().map(Message::RwD),
        Channel::BiRsp => reader.bi_rsp().map(Message::BiRsp),
        Channel::Ndr => reader.ndr().map(Message::Ndr),
        Channel::Drs => reader.drs().map(Message::Drs),
        Channel::BiSnp => reader.bi_snp().map(Message::BiSnp),
    }
}

/// Makes messages of the values of their fields.
struct Reader<'v> {
    channel: Channel,
    values: &'v Values,
}

impl Reader<'_> {
    /// A field that is an enumeration.
    fn read<T>(&self, field: Field, from: fn(u8) -> Option<T>) -> Result<T, MessageError> {
        let (channel, value) = (self.channel, self.values.get(field));
        from(value as u8).ok_or(MessageError::Reserved {
            channel,
            field,
            value,
        })
    }

    fn meta(&self) -> Result<Meta, MessageError> {
        let field = self.read(Field::MetaField, MetaField::from_bits)?;
        let value = self.read(Field::MetaValue, MetaValue::from_bits)?;
        Ok(Meta { field, value })
    }

    /// A field of at most 16 bits.
    fn wide(&self, field: Field) -> u16 {
        self.values.get(field) as u16
    }

    /// A field of at most 8 bits.
    fn narrow(&self, field: Field) -> u8 {
        self.values.get(field) as u8
    }

    fn line(&self) -> u64 {
        self.values.get(Field::Address) * LINE_BYTES
    }

    fn req(&self) -> Result<Req, MessageError> {
        Ok(Req {
            opcode: self.read(Field::Opcode, ReqOp::from_bits)?,
            snp: self.read(Field::SnpType, SnpType::from_bits)?,
            meta: self.meta()?,
            tag: self.wide(Field::Tag),
            addr: self.line() + self.values.get(Field::Half) * (LINE_BYTES / 2),
            tc: self.narrow(Field::Tc),
            ckid: self.wide(Field::Ckid),
            ld_id: self.narrow(Field::LdId),
            spid: self.wide(Field::Spid),
            dpid: self.wide(Field::Dpid),
        })
    }

    fn rwd(&self) -> Result<RwD, MessageError> {
        let opcode = self.read(Field::Opcode, RwdOp::from_bits)?;
        Ok(RwD {
            opcode,
            snp: self.read(Field::SnpType, SnpType::from_bits)?,
            meta: self.meta()?,
            tag: self.wide(Field::Tag),
            addr: self.line(),
            poison: self.narrow(Field::Poison) == 1,
            tc: self.narrow(Field::Tc),
            ckid: self.wide(Field::Ckid),
            ld_id: self.narrow(Field::LdId),
            spid: self.wide(Field::Spid),
            dpid: self.wide(Field::Dpid),
            enables: opcode.has_enables().then_some(0),
            data: [0; LINE_BYTES as usize],
        })
    }

    fn bi_rsp(&self) -> Result<BiRsp, MessageError> {
        Ok(BiRsp {
            opcode: self.read(Field::Opcode, BiRspOp::from_bits)?,
            bi_id: self.wide(Field::BiId),
            bi_tag: self.wide(Field::BiTag),
            low_addr: self.narrow(Field::LowAddr),
            spid: self.wide(Field::Spid),
            dpid: self.wide(Field::Dpid),
        })
    }

    fn ndr(&self) -> Result<Ndr, MessageError> {
        Ok(Ndr {
            opcode: self.read(Field::Opcode, NdrOp::from_bits)?,
            meta: self.meta()?,
            tag: self.wide(Field::Tag),
            load: self.read(Field::DevLoad, DevLoad::from_bits)?,
            ld_id: self.narrow(Field::LdId),
            dpid: self.wide(Field::Dpid),
        })
    }

    fn drs(&self) -> Result<Drs, MessageError> {
        Ok(Drs {
            opcode: self.read(Field::Opcode, DrsOp::from_bits)?,
            meta: self.meta()?,
            tag: self.wide(Field::Tag),
            poison: self.narrow(Field::Poison) == 1,
            load: self.read(Field::DevLoad, DevLoad::from_bits)?,
            ld_id: self.narrow(Field::LdId),
            dpid: self.wide(Field::Dpid),
            data: [0; LINE_BYTES as usize],
        })
    }

    fn bi_snp(&self) -> Result<BiSnp, MessageError> {
        Ok(BiSnp {
            opcode: self.read(Field::Opcode, BiSnpOp::from_bits)?,
            bi_id: self.wide(Field::BiId),
            bi_tag: self.wide(Field::BiTag),
            addr: self.line(),
            spid: self.wide(Field::Spid),
            dpid: self.wide(Field::Dpid),
        })
    }
}
