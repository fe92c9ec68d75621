//! Any message that flits of a kind can carry.

use proptest::prelude::*;
use proptest::sample::select;
use sluice_cxl::{
    BiRsp, BiRspOp, BiSnp, BiSnpOp, Channel, DevLoad, Drs, DrsOp, Layout, Line, Message, Meta,
    MetaField, MetaValue, Ndr, NdrOp, Req, ReqOp, RwD, RwdOp, SnpType,
};

pub const LAYOUTS: &[Layout] = &[Layout::B68, Layout::B256, Layout::Pbr];

fn meta() -> impl Strategy<Value = Meta> {
    let field = select(vec![MetaField::Meta0State, MetaField::NoOp]);
    (field, select(MetaValue::ALL)).prop_map(|(field, value)| Meta { field, value })
}

fn data() -> impl Strategy<Value = Line> {
    any::<[u64; 8]>().prop_map(|words| {
        let mut line = [0; 64];
        for (bytes, word) in line.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        line
    })
}

/// LD-ID, SPID, DPID and CKID, as far as there are such fields.
fn ids(layout: Layout) -> impl Strategy<Value = (u8, u16, u16, u16)> {
    let pbr = if layout == Layout::Pbr { 4096 } else { 1_u16 };
    let ld = if layout == Layout::Pbr { 1 } else { 16_u8 };
    let keys = if layout == Layout::B68 {
        1
    } else {
        1_u16 << 13
    };
    (0..ld, 0..pbr, 0..pbr, 0..keys)
}

fn line_addr() -> impl Strategy<Value = u64> {
    (0_u64..1 << 46).prop_map(|line| line * 64)
}

fn req(layout: Layout) -> impl Strategy<Value = Message> {
    let half = if layout == Layout::B68 { 2 } else { 1_u64 };
    let what = (select(ReqOp::ALL), select(SnpType::ALL), meta());
    (
        what,
        any::<u16>(),
        line_addr(),
        0..half,
        0_u8..4,
        ids(layout),
    )
        .prop_map(
            |((opcode, snp, meta), tag, addr, half, tc, (ld_id, spid, dpid, ckid))| {
                let addr = addr + 32 * half;
                Message::Req(Req {
                    opcode,
                    snp,
                    meta,
                    tag,
                    addr,
                    tc,
                    ckid,
                    ld_id,
                    spid,
                    dpid,
                })
            },
        )
}

fn rwd(layout: Layout) -> impl Strategy<Value = Message> {
    let opcodes = match layout {
        Layout::B68 => vec![RwdOp::MemWr, RwdOp::MemWrPtl],
        _ => RwdOp::ALL.to_vec(),
    };
    let what = (select(opcodes), select(SnpType::ALL), meta());
    let contents = (any::<bool>(), any::<u64>(), data());
    (
        what,
        any::<u16>(),
        line_addr(),
        contents,
        0_u8..4,
        ids(layout),
    )
        .prop_map(
            |((opcode, snp, meta), tag, addr, (poison, mask, data), tc, ids)| {
                let (ld_id, spid, dpid, ckid) = ids;
                let enables = opcode.has_enables().then_some(mask);
                let data = if opcode.writes() { data } else { [0; 64] };
                Message::RwD(RwD {
                    opcode,
                    snp,
                    meta,
                    tag,
                    addr,
                    poison,
                    tc,
                    ckid,
                    ld_id,
                    spid,
                    dpid,
                    enables,
                    data,
                })
            },
        )
}

fn bi_rsp(layout: Layout) -> impl Strategy<Value = Message> {
    let bi = if layout == Layout::Pbr { 1 } else { 4096_u16 };
    (
        select(BiRspOp::ALL),
        0..bi,
        0_u16..4096,
        0_u8..4,
        ids(layout),
    )
        .prop_map(|(opcode, bi_id, bi_tag, low_addr, (_, spid, dpid, _))| {
            Message::BiRsp(BiRsp {
                opcode,
                bi_id,
                bi_tag,
                low_addr,
                spid,
                dpid,
            })
        })
}

fn ndr(layout: Layout) -> impl Strategy<Value = Message> {
    (
        select(NdrOp::ALL),
        meta(),
        any::<u16>(),
        select(DevLoad::ALL),
        ids(layout),
    )
        .prop_map(|(opcode, meta, tag, load, (ld_id, _, dpid, _))| {
            Message::Ndr(Ndr {
                opcode,
                meta,
                tag,
                load,
                ld_id,
                dpid,
            })
        })
}

fn drs(layout: Layout) -> impl Strategy<Value = Message> {
    let what = (
        select(DrsOp::ALL),
        meta(),
        any::<u16>(),
        any::<bool>(),
        data(),
    );
    (what, select(DevLoad::ALL), ids(layout)).prop_map(
        |((opcode, meta, tag, poison, data), load, (ld_id, _, dpid, _))| {
            Message::Drs(Drs {
                opcode,
                meta,
                tag,
                poison,
                load,
                ld_id,
                dpid,
                data,
            })
        },
    )
}

fn bi_snp(layout: Layout) -> impl Strategy<Value = Message> {
    let bi = if layout == Layout::Pbr { 1 } else { 4096_u16 };
    let lines = select(vec![1_u8, 2, 4]);
    (
        select(BiSnpOp::ALL),
        0..bi,
        0_u16..4096,
        line_addr(),
        lines,
        ids(layout),
    )
        .prop_map(|(opcode, bi_id, bi_tag, addr, lines, (_, spid, dpid, _))| {
            let first = addr & !(64 * u64::from(lines) - 1);
            let (opcode, addr) = BiSnp::covering(opcode, first, lines).unwrap();
            Message::BiSnp(BiSnp {
                opcode,
                bi_id,
                bi_tag,
                addr,
                spid,
                dpid,
            })
        })
}

/// Any message of the channel.
pub fn of_channel(channel: Channel, layout: Layout) -> BoxedStrategy<Message> {
    match channel {
        Channel::Req => req(layout).boxed(),
        Channel::RwD => rwd(layout).boxed(),
        Channel::BiRsp => bi_rsp(layout).boxed(),
        Channel::Ndr => ndr(layout).boxed(),
        Channel::Drs => drs(layout).boxed(),
        Channel::BiSnp => bi_snp(layout).boxed(),
    }
}

/// Whether there are such messages.
pub fn carried(channel: Channel, layout: Layout) -> bool {
    layout != Layout::B68 || !matches!(channel, Channel::BiRsp | Channel::BiSnp)
}
