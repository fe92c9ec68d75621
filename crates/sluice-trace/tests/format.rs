//! What is written is read, from anywhere; what is damaged is refused.

use proptest::prelude::*;
use sluice_trace::{Access, BLOCK_ACCESSES, Error, Header, Kind, Order, Reader, Space, Writer};
use sluice_units::Rng;
use std::io::Cursor;

fn header(granularity: u32) -> Header {
    Header {
        granularity,
        filter: Some("L1 32KiB, 8 ways".to_owned()),
        space: Space::Physical,
        order: Order::PerCpu,
        block_requests: false,
        ..Header::new("test 'a b'")
    }
}

/// A finished file; a block ends after each of `flushes` accesses.
fn file(accesses: &[Access], granularity: u32, flushes: &[usize]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut out, &header(granularity)).unwrap();
    for (n, access) in accesses.iter().enumerate() {
        if flushes.contains(&n) {
            writer.flush().unwrap();
        }
        writer.push(access).unwrap();
    }
    let summary = writer.finish(&[]).unwrap();
    assert_eq!(summary.accesses, accesses.len() as u64);
    assert_eq!(summary.bytes, out.get_ref().len() as u64);
    out.into_inner()
}

fn reader(bytes: &[u8]) -> Result<Reader<Cursor<&[u8]>>, Error> {
    Reader::new(Cursor::new(bytes))
}

fn read(bytes: &[u8]) -> Result<Vec<Access>, Error> {
    reader(bytes)?.collect()
}

/// Accesses of several CPUs: mostly near each other, sometimes anywhere.
fn accesses(count: usize, granularity: u64, seed: u64) -> Vec<Access> {
    let mut rng = Rng::stream(seed, "trace format");
    let mut counts = [0u64; 70];
    let mut address = 0u64;
    let mut cpu = 0;
    let mut one = || {
        if rng.below(50) == 0 {
            cpu = rng.below(counts.len() as u64) as usize;
        }
        counts[cpu] += [0, 1, 7, 1 << 33][rng.below(4) as usize];
        address = match rng.below(10) {
            0 => rng.next_u64() & (u64::MAX >> rng.below(64)),
            _ => address.wrapping_add(rng.below(512)).wrapping_sub(100),
        };
        Access {
            cpu: cpu as u32,
            instructions: counts[cpu],
            address: address & !(granularity - 1),
            size: [1, 2, 4, 8, 16, 32, 64, 3, 128, u16::MAX][rng.below(10) as usize],
            kind: [Kind::Load, Kind::Store, Kind::Fetch][rng.below(3) as usize],
        }
    };
    (0..count).map(|_| one()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(64)))]

    #[test]
    fn what_is_written_is_read(
        count in 0..3000usize,
        shift in 0..17u32,
        seed: u64,
        flushes in prop::collection::vec(0..3000usize, 0..4),
    ) {
        let accesses = accesses(count, 1 << shift, seed);
        let bytes = file(&accesses, 1 << shift, &flushes);
        let mut reader = reader(&bytes).unwrap();
        prop_assert_eq!(reader.header(), &header(1 << shift));
        prop_assert_eq!(reader.accesses(), count as u64);
        prop_assert_eq!(reader.unfinished(), None);
        let read: Result<Vec<Access>, Error> = reader.by_ref().collect();
        prop_assert_eq!(read.unwrap(), accesses);
        prop_assert!(reader.next().is_none());
    }

    #[test]
    fn reading_begins_anywhere(
        count in 1..2000usize,
        seed: u64,
        flushes in prop::collection::vec(0..2000usize, 0..6),
        wanted: prop::sample::Index,
    ) {
        let accesses = accesses(count, 1, seed);
        let bytes = file(&accesses, 1, &flushes);
        let mut reader = reader(&bytes).unwrap();
        let number = wanted.index(count + 1);
        reader.seek_access(number as u64).unwrap();
        let rest: Vec<Access> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert_eq!(&rest, &accesses[number..]);
        prop_assert!(reader.seek_access(count as u64 + 1).is_err());

        // The sum over the CPUs at each access, plainly.
        let mut counts = std::collections::BTreeMap::new();
        let sums: Vec<u64> = accesses.iter().map(|access| {
            counts.insert(access.cpu, access.instructions);
            counts.values().sum()
        }).collect();
        let instructions = wanted.index(*sums.last().unwrap() as usize + 2) as u64;
        let due = sums.iter().position(|sum| *sum >= instructions).unwrap_or(count);
        prop_assert_eq!(reader.seek_instructions(instructions).unwrap(), due as u64);
        let rest: Vec<Access> = reader.map(Result::unwrap).collect();
        prop_assert_eq!(&rest, &accesses[due..]);
    }

    #[test]
    fn damage_is_an_error_or_nothing(
        seed: u64,
        place: prop::sample::Index,
        bits in 1..=255u8,
        length in 1..9usize,
    ) {
        let accesses = accesses(600, 1, seed);
        let mut bytes = file(&accesses, 1, &[200, 400]);
        let at = place.index(bytes.len());
        let end = bytes.len().min(at + length);
        bytes[at..end].iter_mut().for_each(|byte| *byte ^= bits);
        if let Ok(read) = read(&bytes) {
            prop_assert_eq!(read, accesses);
        }
    }

    #[test]
    fn bytes_that_are_no_trace_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read(&bytes).is_err());
        let mut bytes = bytes;
        let head = file(&[], 1, &[]);
        bytes.splice(0..0, head[..28].iter().copied());
        prop_assert!(read(&bytes).is_err());
    }
}

#[test]
fn a_file_that_was_cut_is_refused_and_says_where() {
    let accesses = accesses(600, 1, 1);
    let bytes = file(&accesses, 1, &[200, 400]);
    for end in 0..bytes.len() {
        let error = read(&bytes[..end]).unwrap_err().to_string();
        let named = match end {
            0..8 => "not a Sluice trace",
            _ => "byte",
        };
        assert!(error.contains(named), "{end}: {error}");
    }
    let mut more = bytes.clone();
    more.push(0);
    let error = read(&more).unwrap_err().to_string();
    assert!(error.ends_with("bytes follow the index"), "{error}");
}

/// The place of the index is written last: without it, a file is that of a writer that was killed.
#[test]
fn a_killed_writer_leaves_its_whole_blocks() {
    let accesses = accesses(600, 1, 2);
    let mut bytes = file(&accesses, 1, &[200, 400]);
    let at = u64::from_le_bytes(std::array::from_fn(|n| bytes[16 + n])) as usize;
    bytes[16..24].fill(0);
    assert_eq!(
        read(&bytes).unwrap(),
        accesses,
        "the index is there, but its place is not"
    );
    let whole = Reader::new(Cursor::new(&bytes)).unwrap();
    assert_eq!(whole.unfinished(), None);
    let text = u32::from_le_bytes(std::array::from_fn(|n| bytes[12 + n])) as usize;
    let mut seen = std::collections::BTreeSet::new();
    for end in 28 + text..bytes.len() {
        let mut reader = reader(&bytes[..end]).unwrap();
        let unfinished = reader.unfinished().unwrap();
        let read: Vec<Access> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(read.len() as u64, unfinished.accesses);
        assert_eq!(read, accesses[..read.len()]);
        assert!(end < at || read.len() == 600);
        seen.insert(read.len());
        reader.seek_access(0).unwrap();
        assert_eq!(reader.count(), read.len());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 200, 400, 600]);
}

#[test]
fn blocks_are_full_and_every_one_of_them_is_checked() {
    let count = 2 * BLOCK_ACCESSES + 5;
    let accesses = accesses(count, 64, 3);
    let bytes = file(&accesses, 64, &[]);
    let mut reader = reader(&bytes).unwrap();
    assert_eq!(reader.blocks(), 3);
    assert_eq!(reader.bytes(), bytes.len() as u64);
    let mut lengths = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        lengths.push(block.len());
    }
    assert_eq!(lengths, [BLOCK_ACCESSES, BLOCK_ACCESSES, 5]);
    reader.seek_access(70_000).unwrap();
    assert_eq!(reader.next().unwrap().unwrap(), accesses[70_000]);

    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let mut results = Reader::new(Cursor::new(damaged)).unwrap();
    let good = results.by_ref().take_while(Result::is_ok).count();
    assert_eq!(good, BLOCK_ACCESSES);
    assert!(results.next().is_none(), "it ends after an error");
}

#[test]
fn what_a_trace_cannot_hold_is_refused_and_changes_nothing() {
    let good = Access {
        cpu: 1,
        instructions: 10,
        address: 640,
        size: 64,
        kind: Kind::Load,
    };
    let mut out = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut out, &header(64)).unwrap();
    writer.push(&good).unwrap();
    let cases = [
        (Access { size: 0, ..good }, "its size is 0"),
        (
            Access {
                address: 650,
                ..good
            },
            "its address 0x28a is no multiple of 64",
        ),
        (
            Access {
                cpu: 65_536,
                ..good
            },
            "its CPU is 65536; expected less than 65536",
        ),
        (
            Access {
                instructions: 9,
                ..good
            },
            "CPU 1 has executed 9 instructions, and 10 before",
        ),
        (
            Access {
                cpu: 2,
                instructions: u64::MAX,
                ..good
            },
            "all CPUs have executed more than 2^64 instructions",
        ),
    ];
    for (access, why) in cases {
        let error = writer.push(&access).unwrap_err().to_string();
        assert_eq!(error, format!("access 1 cannot be recorded: {why}"));
    }
    writer.push(&good).unwrap();
    assert_eq!(writer.finish(&[5, 99]).unwrap().cpus, [5, 99]);
    assert_eq!(read(out.get_ref()).unwrap(), [good, good]);
    for granularity in [0, 3, 1 << 17] {
        let error = Writer::new(Cursor::new(Vec::new()), &header(granularity))
            .err()
            .unwrap();
        assert!(
            error
                .to_string()
                .contains(&format!("granularity: {granularity} is not"))
        );
    }
}

#[test]
fn a_later_version_is_refused() {
    let mut bytes = file(&[], 1, &[]);
    bytes[8] = 3;
    assert_eq!(
        read(&bytes).unwrap_err().to_string(),
        "trace format version 3 is not known; this reader knows version 2"
    );
}
