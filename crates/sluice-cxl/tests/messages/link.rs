//! What messages cost on a link, beside closed forms.

use sluice_cxl::{
    BiRsp, BiRspOp, BiSnp, BiSnpOp, Channel, Cost, DevLoad, Direction, Drs, DrsOp, FlitLink,
    FlitMode, Message, Meta, MetaValue, Ndr, NdrOp, Packing, RwD, RwdOp, SnpType, cost, wire_bytes,
};
use sluice_units::Ps;

fn example(channel: Channel) -> Message {
    let meta = Meta::state(MetaValue::Invalid);
    let load = DevLoad::Light;
    let (tag, ld_id, spid, dpid) = (1, 0, 0, 0);
    match channel {
        Channel::Req => Message::Req(crate::messages::read()),
        Channel::RwD => Message::RwD(RwD {
            snp: SnpType::NoOp,
            data: [7; 64],
            ..crate::messages::write(RwdOp::MemWr)
        }),
        Channel::BiRsp => {
            let (opcode, bi_id, bi_tag, low_addr) = (BiRspOp::I, 0, 1, 0);
            Message::BiRsp(BiRsp {
                opcode,
                bi_id,
                bi_tag,
                low_addr,
                spid,
                dpid,
            })
        }
        Channel::Ndr => {
            let opcode = NdrOp::Cmp;
            Message::Ndr(Ndr {
                opcode,
                meta,
                tag,
                load,
                ld_id,
                dpid,
            })
        }
        Channel::Drs => {
            let (opcode, poison, data) = (DrsOp::MemData, false, [7; 64]);
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
        }
        Channel::BiSnp => {
            let (opcode, bi_id, bi_tag, addr) = (BiSnpOp::Inv, 0, 1, 64);
            Message::BiSnp(BiSnp {
                opcode,
                bi_id,
                bi_tag,
                addr,
                spid,
                dpid,
            })
        }
    }
}

/// The cost of `rounds` times these channels, which go one way.
fn stream(mode: FlitMode, channels: &[Channel], rounds: u64) -> Cost {
    let round: Vec<Message> = channels.iter().map(|&channel| example(channel)).collect();
    let direction = channels
        .first()
        .map_or(Direction::M2s, |channel| channel.direction());
    cost(mode, direction, &round, rounds).unwrap()
}

#[test]
fn a_flit_takes_its_bits_over_the_lanes() {
    let link = |mode, rate, lanes, sync| FlitLink::new(mode, rate, lanes, sync).unwrap();
    // 256 B over 16 lanes of 64 GT/s: 2 ns. Over 4 lanes of 32: 16 ns, and 2 of 130 bits more.
    assert_eq!(link(FlitMode::B256, 64, 16, true).time(1), Ps(2000));
    assert_eq!(link(FlitMode::B256, 32, 4, false).time(1), Ps(16_000));
    assert_eq!(link(FlitMode::B256, 32, 4, true).time(1), Ps(16_250));
    // 68 B over 16 lanes of 32 GT/s: 1062.5 ps; rounded up once, not per flit.
    let odd = link(FlitMode::B68, 32, 16, false);
    assert_eq!(
        [1, 2, 3].map(|flits| odd.time(flits)),
        [Ps(1063), Ps(2125), Ps(3188)]
    );
    assert_eq!(odd.time_of_bytes(68), Ps(1063));
    assert_eq!(odd.time_of_bytes(64), Ps(1000));
}

#[test]
fn links_that_are_none_are_refused() {
    let says = |mode, rate, lanes| {
        FlitLink::new(mode, rate, lanes, true)
            .unwrap_err()
            .to_string()
    };
    let rate = "12 GT/s is no rate of a lane; valid are 8, 16, 32 and 64";
    assert_eq!(says(FlitMode::B256, 12, 16), rate);
    let lanes = "a link has no 12 lanes; valid are 1, 2, 4, 8 and 16";
    assert_eq!(says(FlitMode::B256, 32, 12), lanes);
    let mode = "68-byte flits are not carried at 64 GT/s; 256-byte flits are";
    assert_eq!(says(FlitMode::B68, 64, 16), mode);
}

/// The long run counts each message that was given, and the line of each that has data.
#[test]
fn a_cost_counts_what_was_carried() {
    for channel in [Channel::Req, Channel::RwD, Channel::Ndr, Channel::Drs] {
        let lines = u64::from(matches!(channel, Channel::RwD | Channel::Drs));
        let carried = stream(FlitMode::B68, &[channel], 50);
        assert_eq!(carried.messages, 50, "{channel}");
        assert_eq!(carried.payload, 50 * 64 * lines, "{channel}");
        assert_eq!(carried.bytes, carried.flits * 68, "{channel}");
    }
}

/// A message alone: its header is in the first slot of a flit, data in the three or fourteen
/// that follow.
#[test]
fn a_message_alone_takes_whole_flits() {
    for &mode in FlitMode::ALL {
        for channel in Channel::ALL {
            let expected = match (mode, channel) {
                (FlitMode::B68, Channel::BiRsp | Channel::BiSnp) => 0,
                (FlitMode::B68, Channel::RwD | Channel::Drs) => 136,
                (mode, _) => mode.bytes(),
            };
            assert_eq!(
                wire_bytes(mode, channel, Packing::Alone),
                expected,
                "{mode:?} {channel}"
            );
            if expected > 0 {
                assert_eq!(
                    stream(mode, &[channel], 1).bytes,
                    expected,
                    "{mode:?} {channel}"
                );
            }
        }
    }
}

/// Streams of one channel, in flits of 68 bytes.
///
/// Reads: two a flit. Writes: a header goes into the first slot of each flit that is not all
/// data; four headers and sixteen slots of data are five flits. Data responses: two headers in a
/// first slot, so eight headers and 32 slots of data are four first slots, and 32 slots more make
/// nine flits. Completions: two a flit.
#[test]
fn streams_in_68_byte_flits_have_closed_forms() {
    let flits = |channel, rounds| stream(FlitMode::B68, &[channel], rounds).flits;
    assert_eq!(flits(Channel::Req, 1000), 500);
    assert_eq!(flits(Channel::Ndr, 1000), 500);
    assert_eq!(flits(Channel::RwD, 1000), 1250);
    assert_eq!(flits(Channel::Drs, 1000), 1125);
}

/// Streams of one channel, in flits of 256 bytes: four reads in each half, six completions, two
/// snoops, three snoop responses (Table 4-18); three writes of five slots each.
#[test]
fn streams_in_256_byte_flits_have_closed_forms() {
    for mode in [FlitMode::B256, FlitMode::B256Pbr] {
        let flits = |channel, rounds| stream(mode, &[channel], rounds).flits;
        assert_eq!(flits(Channel::Req, 4000), 500);
        assert_eq!(flits(Channel::Ndr, 6000), 500);
        assert_eq!(flits(Channel::BiSnp, 2000), 500);
        assert_eq!(flits(Channel::BiRsp, 3000), 500);
        assert_eq!(flits(Channel::RwD, 3000), 1000);
    }
}
/// Reads and writes in one direction each, all slots of all flits in use: a read asks with one
/// slot, a write with five, so that one of each take six of a flit's slots.
#[test]
fn a_mix_fills_the_slots_of_requests() {
    for &mode in FlitMode::ALL {
        let down = stream(mode, &[Channel::Req, Channel::RwD], 1200);
        let slots = down.flits * mode.slots() as u64;
        assert!(
            (7200..7200 + mode.slots() as u64).contains(&slots),
            "{mode:?}: {slots}"
        );
    }
}

/// No stream of data responses beats its slots: four of data each in slots that take data, and
/// as few headers as fit in their formats. The packer loses less than 5 % to the order of slots.
#[test]
fn data_responses_come_near_what_slots_allow() {
    for (mode, generic, first, several) in [
        (FlitMode::B256, 14, 2, 3),
        (FlitMode::B256LowLatency, 13, 4, 3),
        (FlitMode::B256Pbr, 14, 2, 2),
    ] {
        // With `a` headers' slots a flit: lines = first + several * a = (generic - a) / 4.
        let bound = (several * generic + first) as f64 / (4 * several + 1) as f64;
        let cost = stream(mode, &[Channel::Drs], 12_000);
        let lines = 12_000.0 / cost.flits as f64;
        assert!(
            lines <= bound && lines > 0.95 * bound,
            "{mode:?}: {lines} of {bound}"
        );
    }
}

/// Bytes of the busier direction for each request of a stream of `reads` reads and `writes`
/// writes in turn.
fn busier(mode: FlitMode, reads: usize, writes: usize) -> f64 {
    let mix = |read, write| [vec![read; reads], vec![write; writes]].concat();
    let down = stream(mode, &mix(Channel::Req, Channel::RwD), 2400);
    let up = stream(mode, &mix(Channel::Drs, Channel::Ndr), 2400);
    down.bytes.max(up.bytes) as f64 / (2400 * (reads + writes)) as f64
}

/// Figure 16 of ESF for real flits: what a mix gains over reads only. The paper's model of
/// headers as long as `h` payloads has 2 / (1 + h) at 1:1.
#[test]
fn the_page_tells_what_a_mix_gains() {
    let page = include_str!("../../../../docs/cxl-mem.md");
    for &mode in FlitMode::ALL {
        let [reads, writes, even] = [(1, 0), (0, 1), (1, 1)].map(|(r, w)| busier(mode, r, w));
        let gain = reads / even;
        let row = format!(
            "| `{}` | {reads:.1} | {writes:.1} | {even:.1} | {gain:.2} | {:.2} |",
            mode.name(),
            2.0 / gain - 1.0,
        );
        assert!(page.contains(&row), "docs/cxl-mem.md lacks\n{row}");
    }
}

#[test]
fn the_page_tells_what_messages_take() {
    let page = include_str!("../../../../docs/cxl-mem.md");
    for channel in Channel::ALL {
        let cell = |mode, packing| match wire_bytes(mode, channel, packing) {
            0 => "no".to_owned(),
            bytes => bytes.to_string(),
        };
        let mut row = format!("| {channel} |");
        for &mode in FlitMode::ALL {
            let [alone, shared] = [Packing::Alone, Packing::Shared].map(|how| cell(mode, how));
            row += &format!(" {alone}, {shared} |");
        }
        assert!(page.contains(&row), "docs/cxl-mem.md lacks\n{row}");
    }
}
