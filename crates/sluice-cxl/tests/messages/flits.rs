//! Flits: messages in, messages out.

use crate::arbitrary::{carried, of_channel};
use proptest::prelude::*;
use proptest::sample::select;
use sluice_cxl::{
    Channel, Direction, Flit, FlitMode, MAX_SLOTS, Message, PackError, Packer, Unpacker,
};
use std::error::Error;

/// Messages of one direction in some order.
fn traffic(most: usize) -> impl Strategy<Value = (FlitMode, Direction, Vec<Message>)> {
    let directions = select(vec![Direction::M2s, Direction::S2m]);
    (select(FlitMode::ALL), directions).prop_flat_map(move |(mode, direction)| {
        let layout = mode.layout();
        let fits =
            |channel: &Channel| channel.direction() == direction && carried(*channel, layout);
        let channels: Vec<Channel> = Channel::ALL.into_iter().filter(fits).collect();
        let message = select(channels).prop_flat_map(move |channel| of_channel(channel, layout));
        (
            Just(mode),
            Just(direction),
            prop::collection::vec(message, 0..most),
        )
    })
}

/// All flits of the messages, of which `burst` are queued before each flit.
fn packed(mode: FlitMode, direction: Direction, messages: &[Message], burst: usize) -> Vec<Flit> {
    let mut packer = Packer::new(mode, direction, messages.len().max(1));
    let mut flits = Vec::new();
    let mut bursts = messages.chunks(burst);
    loop {
        let more = bursts.next();
        more.unwrap_or_default()
            .iter()
            .for_each(|message| packer.push(message).unwrap());
        match packer.next_flit() {
            Some(flit) => flits.push(flit),
            None if more.is_none() => return flits,
            None => (),
        }
    }
}

/// The messages of the flits, or why not.
fn unpacked(
    mode: FlitMode,
    direction: Direction,
    flits: &[Flit],
) -> Result<Vec<Message>, Box<dyn Error>> {
    let mut unpacker = Unpacker::new(mode, direction);
    let mut messages = Vec::new();
    for flit in flits {
        let taken = unpacker.take(flit, &mut |message| messages.push(message));
        taken?;
    }
    match unpacker.is_idle() {
        true => Ok(messages),
        false => Err("data is missing".into()),
    }
}

/// The messages of one channel, in order.
fn of(messages: &[Message], channel: Channel) -> Vec<Message> {
    messages
        .iter()
        .filter(|message| message.channel() == channel)
        .copied()
        .collect()
}

fn refusal(mode: FlitMode, direction: Direction, slots: &[u128]) -> String {
    let mut flit = Flit::EMPTY;
    flit.slots[..slots.len()].copy_from_slice(slots);
    unpacked(mode, direction, &[flit]).unwrap_err().to_string()
}

/// The header of a 68-byte flit with these formats.
fn header(formats: [u128; 4]) -> u128 {
    formats
        .iter()
        .enumerate()
        .map(|(slot, format)| format << (5 + 3 * slot))
        .sum()
}

#[test]
fn what_goes_the_other_way_is_refused() {
    let read = crate::messages::read();
    let mut up = Packer::new(FlitMode::B68, Direction::S2m, 1);
    let says = up.push(&Message::Req(read)).unwrap_err().to_string();
    assert_eq!(says, "M2S Req does not go S2m");
    let mut down = Packer::new(FlitMode::B68, Direction::M2s, 1);
    down.push(&Message::Req(read)).unwrap();
    let full = PackError::Full {
        channel: Channel::Req,
    };
    assert_eq!(down.push(&Message::Req(read)), Err(full));
    assert!(down.next_flit().is_some() && down.is_idle() && down.next_flit().is_none());
}

#[test]
fn nonsense_is_refused_with_its_slot() {
    use Direction::{M2s, S2m};
    let b68 = |direction, slots: &[u128]| refusal(FlitMode::B68, direction, slots);
    let control = b68(M2s, &[1]);
    assert_eq!(control, "a control flit: it carries no message");
    assert_eq!(
        b68(M2s, &[header([0, 4, 4, 4])]),
        "slot 0: format 0 carries nothing of CXL.mem \
        in this direction"
    );
    assert_eq!(
        b68(M2s, &[header([5, 0, 4, 4])]),
        "slot 1: data without a header"
    );
    // A write begins in slot 0; size is off.
    let write = 0b0011 << 32;
    let sz = "the header's Sz contradicts the data headers of the flit";
    assert_eq!(b68(M2s, &[header([4, 0, 0, 0]) | write]), sz);
    let be = "the header's BE contradicts the data headers of the flit";
    assert_eq!(b68(M2s, &[header([4, 0, 0, 0]) | write | 0b11000]), be);
    let follows = "slot 1: data must follow its header";
    assert_eq!(b68(M2s, &[header([4, 4, 0, 0]) | write | 0b10000]), follows);
    assert_eq!(
        b68(M2s, &[header([4, 0, 0, 0]) | write | 0b10000]),
        "data is missing"
    );
    // Two places for data headers, one used; and a second header in the flit.
    let alone = "slot 0: data headers stand where they must not";
    assert_eq!(b68(S2m, &[header([5, 0, 0, 0]) | 1 << 32 | 0b10000]), alone);
    let loose = "slot 1: S2M NDR behind an empty place";
    assert_eq!(b68(S2m, &[header([4, 5, 5, 5]), 1 << 28]), loose);
    // Three reads in a flit that takes two.
    let often = "slot 2: M2S Req comes too often";
    assert_eq!(
        b68(M2s, &[header([5, 4, 4, 4]) | 0b11 << 32, 0b11, 0b11]),
        often
    );
    let b256 = |direction, slots: &[u128]| refusal(FlitMode::B256, direction, slots);
    assert_eq!(
        b256(M2s, &[4, 4 | 1 << 109]),
        "slot 1: reserved bits are set"
    );
    assert_eq!(
        b256(S2m, &[7, 7, 7, 15]),
        "slot 3: data headers stand where they must not"
    );
    assert_eq!(b256(M2s, &[4 | 1 << 112]), "slot 0: reserved bits are set");
    let opcode = b256(M2s, &[4 | 0b01111 << 4]);
    assert_eq!(opcode, "slot 0: M2S Req: Opcode is 0x7, which is reserved");
}

/// A bit of some flit.
fn flip() -> impl Strategy<Value = (prop::sample::Index, usize, u32)> {
    (any::<prop::sample::Index>(), 0..MAX_SLOTS, 0_u32..128)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(400)))]

    /// Whatever is packed comes out again, by channel in order, and the rules are kept.
    #[test]
    fn packing_and_unpacking_are_inverse(
        (mode, direction, messages) in traffic(60),
        burst in 1_usize..20,
    ) {
        let flits = packed(mode, direction, &messages, burst);
        let back = unpacked(mode, direction, &flits);
        let back = back.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(back.len(), messages.len());
        for channel in Channel::ALL {
            prop_assert_eq!(of(&back, channel), of(&messages, channel));
        }
    }

    /// A bit that flips in what is sent never panics, and never turns up as more messages.
    #[test]
    fn damage_is_refused_or_another_message(
        (mode, direction, messages) in traffic(20),
        bits in prop::collection::vec(flip(), 1..4),
    ) {
        let mut flits = packed(mode, direction, &messages, 20);
        prop_assume!(!flits.is_empty());
        for (flit, slot, bit) in bits {
            let flits = flits.as_mut_slice();
            flit.get_mut(flits).slots[slot] ^= 1 << bit;
        }
        if let Ok(back) = unpacked(mode, direction, &flits) {
            let again = packed(mode, direction, &back, back.len().max(1));
            let again = unpacked(mode, direction, &again);
            prop_assert_eq!(again.ok().map(|m| m.len()), Some(back.len()));
        }
    }

    /// Random slots, most of them with codes that mean something.
    #[test]
    fn random_flits_never_panic(
        mode in select(FlitMode::ALL),
        direction in select(vec![Direction::M2s, Direction::S2m]),
        noise in prop::collection::vec((any::<[u128; MAX_SLOTS]>(), 0_u32..128), 1..6),
    ) {
        let mut unpacker = Unpacker::new(mode, direction);
        for (slots, shift) in noise {
            let mut flit = Flit { slots: slots.map(|slot| slot >> shift) };
            flit.slots[mode.slots()..].fill(0);
            if mode == FlitMode::B68 {
                flit.slots[0] &= !0b111_0000_0000_0000_0011;
            }
            if unpacker.take(&flit, &mut |_| ()).is_err() {
                break;
            }
        }
    }
}
