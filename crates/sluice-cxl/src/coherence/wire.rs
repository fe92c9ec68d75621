//! The messages as CXL.mem encodes them (CXL 3.1, 3.3.5 to 3.3.10), and back.
//!
//! A completion has no address there, and a response to a snoop has only its tags: the receiver
//! needs no more. A message carries where its data are, not the data themselves.

use super::message::{M2s, Message, S2m, Snoop, State, ToDevice, ToHost, Want};
use crate::{self as cxl, BiRspOp, BiSnpOp, DevLoad, DrsOp, Meta, MetaValue, NdrOp, ReqOp};
use crate::{RwdOp, SnpType};
use sluice_units::LINE_BYTES;

/// The contents of a line in a message that says only where the line is.
const NO_DATA: cxl::Line = [0; LINE_BYTES as usize];

impl M2s {
    /// The message to a device that calls itself `bi_id` in its snoops. Port ids, logical device
    /// and traffic class are the carrier's, and zero here.
    pub fn to_wire(&self, bi_id: u16) -> cxl::Message {
        let addr = self.line * LINE_BYTES;
        let req = |opcode, snp, value| req(opcode, snp, value, self.tag, addr);
        let rwd = |opcode, snp, value| rwd(opcode, snp, value, self.tag, addr);
        match self.what {
            ToDevice::Read(Want::Current) => req(ReqOp::MemRd, SnpType::SnpCur, MetaValue::Invalid),
            ToDevice::Read(Want::Shared) => req(ReqOp::MemRd, SnpType::SnpData, MetaValue::Shared),
            ToDevice::Read(Want::Any) => req(ReqOp::MemRd, SnpType::SnpInv, MetaValue::Any),
            ToDevice::Own => req(ReqOp::MemInv, SnpType::SnpInv, MetaValue::Any),
            ToDevice::CleanEvict => req(ReqOp::MemClnEvct, SnpType::NoOp, MetaValue::Invalid),
            ToDevice::WriteBack(keeps) => rwd(RwdOp::MemWr, SnpType::NoOp, value_of(keeps)),
            ToDevice::Write => rwd(RwdOp::MemWr, SnpType::SnpInv, MetaValue::Invalid),
            ToDevice::Conflict => rwd(RwdOp::BiConflict, SnpType::NoOp, MetaValue::Invalid),
            ToDevice::Response { left, lines } => cxl::Message::BiRsp(cxl::BiRsp {
                opcode: match (left, lines) {
                    (State::Invalid, 1) => BiRspOp::I,
                    (State::Shared, 1) => BiRspOp::S,
                    (_, 1) => BiRspOp::E,
                    (State::Invalid, _) => BiRspOp::IBlk,
                    (State::Shared, _) => BiRspOp::SBlk,
                    (..) => BiRspOp::EBlk,
                },
                bi_id,
                bi_tag: self.tag,
                low_addr: 0,
                spid: 0,
                dpid: 0,
            }),
        }
    }

    /// What a device reads in a message of host `peer`; none if it is no message that hosts of this
    /// kind send. Of a block, the response has two lines, and of none the address.
    pub fn of_wire(wire: &cxl::Message, peer: u32) -> Option<M2s> {
        let (what, tag, addr) = match wire {
            cxl::Message::Req(req) => {
                let what = match (req.opcode, req.snp, req.meta.value) {
                    (ReqOp::MemRd, SnpType::SnpCur, _) => ToDevice::Read(Want::Current),
                    (ReqOp::MemRd, SnpType::SnpData, _) => ToDevice::Read(Want::Shared),
                    (ReqOp::MemRd, SnpType::SnpInv, _) => ToDevice::Read(Want::Any),
                    (ReqOp::MemInv, SnpType::SnpInv, MetaValue::Any) => ToDevice::Own,
                    (ReqOp::MemClnEvct, ..) => ToDevice::CleanEvict,
                    _ => return None,
                };
                (what, req.tag, req.addr)
            }
            cxl::Message::RwD(rwd) => {
                let what = match (rwd.opcode, rwd.snp) {
                    (RwdOp::MemWr, SnpType::NoOp) => ToDevice::WriteBack(state_of(rwd.meta.value)?),
                    (RwdOp::MemWr, SnpType::SnpInv) => ToDevice::Write,
                    (RwdOp::BiConflict, _) => ToDevice::Conflict,
                    _ => return None,
                };
                (what, rwd.tag, rwd.addr)
            }
            cxl::Message::BiRsp(rsp) => {
                let (left, lines) = match rsp.opcode {
                    BiRspOp::I => (State::Invalid, 1),
                    BiRspOp::S => (State::Shared, 1),
                    BiRspOp::E => (State::Exclusive, 1),
                    BiRspOp::IBlk => (State::Invalid, 2),
                    BiRspOp::SBlk => (State::Shared, 2),
                    BiRspOp::EBlk => (State::Exclusive, 2),
                };
                (ToDevice::Response { left, lines }, rsp.bi_tag, 0)
            }
            _ => return None,
        };
        Some(Message {
            what,
            peer,
            line: addr / LINE_BYTES,
            tag,
            data: 0,
        })
    }
}

impl S2m {
    /// The message of a device that calls itself `bi_id`; none for a run of lines that CXL cannot
    /// name: three, or not aligned.
    pub fn to_wire(&self, bi_id: u16) -> Option<cxl::Message> {
        Some(match self.what {
            ToHost::Done(state) => ndr(
                match state {
                    State::Invalid => NdrOp::Cmp,
                    State::Shared => NdrOp::CmpS,
                    State::Exclusive => NdrOp::CmpE,
                    State::Modified => NdrOp::CmpM,
                },
                self.tag,
            ),
            ToHost::ConflictAck => ndr(NdrOp::BiConflictAck, self.tag),
            ToHost::Data => cxl::Message::Drs(cxl::Drs {
                opcode: DrsOp::MemData,
                meta: Meta::NONE,
                tag: self.tag,
                poison: false,
                load: DevLoad::Light,
                ld_id: 0,
                dpid: 0,
                data: NO_DATA,
            }),
            ToHost::Snoop { want, lines } => {
                let opcode = match want {
                    Snoop::Current => BiSnpOp::Cur,
                    Snoop::Data => BiSnpOp::Data,
                    Snoop::Invalidate => BiSnpOp::Inv,
                };
                let first = self.line * LINE_BYTES;
                let (opcode, addr) = cxl::BiSnp::covering(opcode, first, lines)?;
                cxl::Message::BiSnp(cxl::BiSnp {
                    opcode,
                    bi_id,
                    bi_tag: self.tag,
                    addr,
                    spid: 0,
                    dpid: 0,
                })
            }
        })
    }

    /// What a host reads in a message of device `peer`; none if it is none that devices of this
    /// kind send. Completions and data have no address.
    pub fn of_wire(wire: &cxl::Message, peer: u32) -> Option<S2m> {
        let (what, tag, line) = match wire {
            cxl::Message::Ndr(ndr) => {
                let what = match ndr.opcode {
                    NdrOp::Cmp => ToHost::Done(State::Invalid),
                    NdrOp::CmpS => ToHost::Done(State::Shared),
                    NdrOp::CmpE => ToHost::Done(State::Exclusive),
                    NdrOp::CmpM => ToHost::Done(State::Modified),
                    NdrOp::BiConflictAck => ToHost::ConflictAck,
                    NdrOp::CmpTee | NdrOp::SkyByteDelay => return None,
                };
                (what, ndr.tag, 0)
            }
            cxl::Message::Drs(drs) if drs.opcode == DrsOp::MemData => (ToHost::Data, drs.tag, 0),
            cxl::Message::BiSnp(snp) => {
                let want = match snp.opcode {
                    BiSnpOp::Cur | BiSnpOp::CurBlk => Snoop::Current,
                    BiSnpOp::Data | BiSnpOp::DataBlk => Snoop::Data,
                    BiSnpOp::Inv | BiSnpOp::InvBlk => Snoop::Invalidate,
                };
                let lines = snp.lines();
                let what = ToHost::Snoop { want, lines };
                (what, snp.bi_tag, snp.first() / LINE_BYTES)
            }
            _ => return None,
        };
        Some(Message {
            what,
            peer,
            line,
            tag,
            data: 0,
        })
    }
}

fn req(opcode: ReqOp, snp: SnpType, value: MetaValue, tag: u16, addr: u64) -> cxl::Message {
    cxl::Message::Req(cxl::Req {
        opcode,
        snp,
        meta: Meta::state(value),
        tag,
        addr,
        tc: 0,
        ckid: 0,
        ld_id: 0,
        spid: 0,
        dpid: 0,
    })
}

fn rwd(opcode: RwdOp, snp: SnpType, value: MetaValue, tag: u16, addr: u64) -> cxl::Message {
    cxl::Message::RwD(cxl::RwD {
        opcode,
        snp,
        meta: Meta::state(value),
        tag,
        addr,
        poison: false,
        tc: 0,
        ckid: 0,
        ld_id: 0,
        spid: 0,
        dpid: 0,
        enables: None,
        data: NO_DATA,
    })
}

fn ndr(opcode: NdrOp, tag: u16) -> cxl::Message {
    cxl::Message::Ndr(cxl::Ndr {
        opcode,
        meta: Meta::NONE,
        tag,
        load: DevLoad::Light,
        ld_id: 0,
        dpid: 0,
    })
}

fn value_of(state: State) -> MetaValue {
    match state {
        State::Invalid => MetaValue::Invalid,
        State::Shared => MetaValue::Shared,
        State::Exclusive | State::Modified => MetaValue::Any,
    }
}

fn state_of(value: MetaValue) -> Option<State> {
    match value {
        MetaValue::Invalid => Some(State::Invalid),
        MetaValue::Shared => Some(State::Shared),
        MetaValue::Any => Some(State::Exclusive),
        MetaValue::ExplicitNoOp => None,
    }
}
