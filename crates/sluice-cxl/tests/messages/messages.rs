//! Messages, bit by bit.

use crate::arbitrary::{LAYOUTS, carried, of_channel};
use proptest::prelude::*;
use proptest::sample::select;
use sluice_cxl::{
    BiSnp, BiSnpOp, Channel, DevLoad, Drs, DrsOp, Layout, Message, Meta, MetaValue, Ndr, NdrOp,
    Req, ReqOp, RwD, RwdOp, SnpType, bits, blocks, decode, encode,
};

/// A read of address 0x1040 in no particular state.
pub fn read() -> Req {
    Req {
        opcode: ReqOp::MemRd,
        snp: SnpType::SnpInv,
        meta: Meta::state(MetaValue::Any),
        tag: 0xBEEF,
        addr: 0x1040,
        tc: 0,
        ckid: 0,
        ld_id: 0,
        spid: 0,
        dpid: 0,
    }
}

pub fn write(opcode: RwdOp) -> RwD {
    RwD {
        opcode,
        snp: SnpType::NoOp,
        meta: Meta::NONE,
        tag: 1,
        addr: 0,
        poison: false,
        tc: 0,
        ckid: 0,
        ld_id: 0,
        spid: 0,
        dpid: 0,
        enables: None,
        data: [0; 64],
    }
}

fn refusal(message: Message, layout: Layout) -> String {
    encode(&message, layout).unwrap_err().to_string()
}

/// Of Tables 4-7 and 4-8 (68-byte flits), 4-14 and 4-15 (256-byte flits), divided by the number
/// of messages in the slot.
#[test]
fn lengths_are_those_of_the_slot_formats() {
    let of = |layout| Channel::ALL.map(|channel| bits(channel, layout));
    assert_eq!(of(Layout::B68), [87, 87, 0, 60 / 2, 120 / 3, 0]);
    assert_eq!(of(Layout::B256), [100, 104, 120 / 3, 120 / 3, 120 / 3, 84]);
    assert_eq!(of(Layout::Pbr), [120, 124, 104 / 2, 96 / 2, 96 / 2, 96]);
}

/// Figure 4-66, whose slot begins with four bits of format: byte 1 holds MetaField, MetaValue
/// and the lowest bits of the tag, byte 3 ends with the lowest bit of LD-ID, byte 4 has TRP.
#[test]
fn a_data_response_lies_as_figure_4_66_has_it() {
    let response = Drs {
        opcode: DrsOp::MemDataNxm,
        meta: Meta::state(MetaValue::Shared),
        tag: 0xABC5,
        poison: true,
        load: DevLoad::Moderate,
        ld_id: 0b1011,
        dpid: 0,
        data: [0; 64],
    };
    let bits = encode(&Message::Drs(response), Layout::B256).unwrap();
    let slot = (bits << 4 | 0xF).to_le_bytes();
    let expected = [
        0b0011_1111, // opcode 001, valid, SlotFmt 15
        0b0101_1100, // tag 5, MetaValue 11, MetaField 00
        0xBC,
        0b1101_1010, // LD-ID[0] 1, DevLoad 10, poison 1, tag[15:12] A
        0b0000_0101, // TRP 0, LD-ID[3:1] 101
    ];
    assert_eq!(slot[..5], expected);
    assert_eq!(slot[5..], [0; 11]);
}

#[test]
fn a_read_has_its_fields_in_order() {
    let low: u128 = 1 | 0b0001 << 1 | 0b011 << 5 | 0b10 << 10 | 0xBEEF << 12;
    let message = Message::Req(read());
    assert_eq!(encode(&message, Layout::B256).unwrap(), low | 0x41 << 28);
    // 68-byte flits have Address[5] too.
    assert_eq!(encode(&message, Layout::B68).unwrap(), low | 0x82 << 28);
    let half = Message::Req(Req {
        addr: 0x1060,
        ..read()
    });
    assert_eq!(encode(&half, Layout::B68).unwrap(), low | 0x83 << 28);
}

#[test]
fn what_flits_cannot_carry_is_refused_with_the_field() {
    let req = |change: fn(&mut Req)| {
        let mut req = read();
        change(&mut req);
        Message::Req(req)
    };
    let b256 = "M2S Req: SPID is 0x7, in 256-byte flits it has 0 bits";
    assert_eq!(refusal(req(|r| r.spid = 7), Layout::B256), b256);
    let pbr = refusal(req(|r| r.dpid = 4096), Layout::Pbr);
    assert!(
        pbr.starts_with("M2S Req: DPID is 0x1000, in 256-byte flits under"),
        "{pbr}"
    );
    let ckid = "M2S Req: CKID is 0x1, in 68-byte flits it has 0 bits";
    assert_eq!(refusal(req(|r| r.ckid = 1), Layout::B68), ckid);
    let wide = "M2S Req: Address[51:6] is 0x400000000000, in 68-byte flits it has 46 bits";
    assert_eq!(refusal(req(|r| r.addr = 1 << 52), Layout::B68), wide);
    let odd = "M2S Req: address 0x1060 is not a multiple of 64";
    assert_eq!(refusal(req(|r| r.addr = 0x1060), Layout::B256), odd);
}

#[test]
fn data_and_byte_enables_belong_to_their_opcodes() {
    let partial = Message::RwD(write(RwdOp::MemWrPtl));
    assert_eq!(
        refusal(partial, Layout::B256),
        "MemWrPtl needs byte enables"
    );
    let whole = Message::RwD(RwD {
        enables: Some(1),
        ..write(RwdOp::MemWr)
    });
    assert_eq!(refusal(whole, Layout::B256), "MemWr has no byte enables");
    let conflict = Message::RwD(RwD {
        data: [1; 64],
        ..write(RwdOp::BiConflict)
    });
    let says = "BIConflict has no data: its 64 bytes are zero";
    assert_eq!(refusal(conflict, Layout::B256), says);
    let early = Message::RwD(write(RwdOp::BiConflict));
    assert_eq!(
        refusal(early, Layout::B68),
        "68-byte flits do not carry BIConflict"
    );
}

/// Table 3-48. A block is two or four lines, aligned to its size; three lines are no message.
#[test]
fn blocks_of_snoops_are_two_or_four_aligned_lines() {
    let at = |first, lines| BiSnp::covering(BiSnpOp::Inv, first, lines);
    assert_eq!(at(0x1040, 1), Some((BiSnpOp::Inv, 0x1040)));
    assert_eq!(at(0x1000, 2), Some((BiSnpOp::InvBlk, 0x1040)));
    assert_eq!(at(0x1080, 2), Some((BiSnpOp::InvBlk, 0x1080)));
    assert_eq!(at(0x1000, 4), Some((BiSnpOp::InvBlk, 0x10C0)));
    for (first, lines) in [(0x1040, 2), (0x10C0, 2), (0x1040, 4), (0x1080, 4)] {
        assert_eq!(at(first, lines), None, "{lines} from {first:#x}");
    }
    for first in (0x1000..0x1100).step_by(64) {
        assert_eq!(at(first, 3), None);
        assert_eq!(at(first, 0), None);
    }
    let none = BiSnp {
        opcode: BiSnpOp::CurBlk,
        bi_id: 0,
        bi_tag: 0,
        addr: 0,
        spid: 0,
        dpid: 0,
    };
    // A block begins where four lines do: then its two last bits name none.
    for (addr, told) in [(0, "0x0"), (0x100, "0x100"), (0xC00, "0xc00")] {
        let says = format!("S2M BISnp: Address[51:6] is {told}, which is reserved");
        let none = BiSnp { addr, ..none };
        assert_eq!(refusal(Message::BiSnp(none), Layout::B256), says);
    }
    let old = "68-byte flits do not carry S2M BISnp";
    assert_eq!(refusal(Message::BiSnp(none), Layout::B68), old);
}

#[test]
fn three_lines_are_two_snoops() {
    let cut = |first, lines| blocks(first, lines).collect::<Vec<_>>();
    assert_eq!(cut(0, 3), [(0, 2), (128, 1)]);
    assert_eq!(cut(64, 3), [(64, 1), (128, 2)]);
    assert_eq!(cut(64, 7), [(64, 1), (128, 2), (256, 4)]);
    assert_eq!(cut(192, 0), []);
}

/// The opcodes that CXL 3.1 reserves decode to nothing, but for SkyByte's.
#[test]
fn reserved_opcodes_are_refused() {
    let reserved = |channel, width: u32, at: u32| {
        (0..1_u128 << width)
            .filter(|opcode| decode(channel, 1 | opcode << at, Layout::B256).is_err())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reserved(Channel::Req, 4, 1),
        [0b0111, 0b1011, 0b1110, 0b1111]
    );
    assert_eq!(
        reserved(Channel::BiRsp, 4, 1),
        [3, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    );
    assert_eq!(reserved(Channel::Ndr, 3, 1), [0b110]);
    assert_eq!(reserved(Channel::Drs, 3, 1), [3, 4, 5, 6, 7]);
    assert_eq!(NdrOp::from_bits(0b111), Some(NdrOp::SkyByteDelay));
    let says = decode(Channel::Ndr, 0b1101, Layout::B256)
        .unwrap_err()
        .to_string();
    assert_eq!(says, "S2M NDR: Opcode is 0x6, which is reserved");
    let off = decode(Channel::Ndr, 0, Layout::B68)
        .unwrap_err()
        .to_string();
    assert_eq!(off, "S2M NDR: the valid bit is off");
}

fn any_message() -> impl Strategy<Value = (Layout, Message)> {
    (select(LAYOUTS), select(&Channel::ALL[..])).prop_flat_map(|(layout, channel)| {
        let layout = if carried(channel, layout) {
            layout
        } else {
            Layout::B256
        };
        (Just(layout), of_channel(channel, layout))
    })
}

/// Tables 3-46 and 3-49 under port-based routing: SPID before DPID behind the address, and DPID
/// behind the load.
#[test]
fn ports_stand_where_the_tables_list_them() {
    let snoop = BiSnp {
        opcode: BiSnpOp::Data,
        bi_id: 0,
        bi_tag: 0xA5A,
        addr: 0x1234_5678_9AC0,
        spid: 0x123,
        dpid: 0xFED,
    };
    let bits = encode(&Message::BiSnp(snoop), Layout::Pbr).unwrap();
    let field = |at: u32, width: u32| (bits >> at) as u64 & ((1 << width) - 1);
    assert_eq!(field(5, 12), 0xA5A);
    assert_eq!(field(17, 46), 0x1234_5678_9AC0 >> 6);
    assert_eq!([field(63, 12), field(75, 12)], [0x123, 0xFED]);
    let completion = Ndr {
        opcode: NdrOp::Cmp,
        meta: Meta::state(MetaValue::Any),
        tag: 0xABC5,
        ld_id: 0,
        load: DevLoad::Severe,
        dpid: 0xFED,
    };
    let bits = encode(&Message::Ndr(completion), Layout::Pbr).unwrap();
    assert_eq!(bits >> 24, 0xFED << 2 | 0b11);
}

/// The header alone: what [`decode`] knows.
fn without_data(mut message: Message) -> Message {
    match &mut message {
        Message::RwD(rwd) => {
            rwd.data = [0; 64];
            rwd.enables = rwd.enables.map(|_| 0);
        }
        Message::Drs(drs) => drs.data = [0; 64],
        _ => (),
    }
    message
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded((layout, message) in any_message()) {
        let channel = message.channel();
        let encoded = encode(&message, layout).unwrap();
        prop_assert_eq!(encoded >> bits(channel, layout), 0);
        prop_assert_eq!(decode(channel, encoded, layout), Ok(without_data(message)));
    }

    /// Any bits are a message or refused, and what they are encodes to the same bits.
    #[test]
    fn nonsense_is_refused(
        layout in select(LAYOUTS),
        channel in select(&Channel::ALL[..]),
        noise: u128,
        kept in 0_u32..=128,
    ) {
        let noise = noise & u128::MAX.checked_shr(128 - kept).unwrap_or(0) | 1;
        if let Ok(message) = decode(channel, noise, layout) {
            prop_assert_eq!(encode(&message, layout), Ok(noise));
        }
    }

    #[test]
    fn a_range_is_cut_into_blocks(first in 0_u64..1 << 40, lines in 0_u64..40) {
        let mut next = first * 64;
        for (at, count) in blocks(first * 64, lines) {
            prop_assert_eq!(at, next);
            let (opcode, addr) = BiSnp::covering(BiSnpOp::Data, at, count).unwrap();
            let snoop = BiSnp { opcode, bi_id: 0, bi_tag: 0, addr, spid: 0, dpid: 0 };
            prop_assert_eq!((snoop.first(), snoop.lines()), (at, count));
            next += 64 * u64::from(count);
        }
        prop_assert_eq!(next, (first + lines) * 64);
    }
}
