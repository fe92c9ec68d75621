//! Files whose checksums are right, and which say what cannot be. Each is written by hand from a
//! good one, as docs/trace-format.md has it.

use sluice_trace::{Access, CPUS_MAX, Error, Header, Kind, Reader, Writer};
use std::io::Cursor;

/// Three blocks of two accesses of CPU 0, ten instructions apart.
fn accesses() -> Vec<Access> {
    let one = |n: u64| Access {
        cpu: 0,
        instructions: 10 * n,
        address: 4096 + 64 * n,
        size: 8,
        kind: Kind::Load,
    };
    (1..=6).map(one).collect()
}

fn file() -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut out, &Header::new("test")).unwrap();
    for (n, access) in accesses().iter().enumerate() {
        if n > 0 && n % 2 == 0 {
            writer.flush().unwrap();
        }
        writer.push(access).unwrap();
    }
    assert_eq!(writer.accesses(), 6);
    writer.finish(&[]).unwrap();
    out.into_inner()
}

fn read(bytes: &[u8]) -> Result<Vec<Access>, Error> {
    Reader::new(Cursor::new(bytes))?.collect()
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// Where the blocks begin, and the index.
fn places(bytes: &[u8]) -> (Vec<usize>, usize) {
    let index = number(bytes, 16);
    let mut at = 28 + number(bytes, 12);
    let mut blocks = Vec::new();
    while at < index {
        blocks.push(at);
        let stored = (0..6).map(|column| number(bytes, at + 28 + 8 * column));
        at += 72 + stored.sum::<usize>() + 4;
    }
    (blocks, index)
}

fn leb(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for number in numbers {
        let mut left = *number;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }
    out
}

/// The file with another index, which holds these numbers.
fn indexed(bytes: &[u8], numbers: &[u64]) -> Vec<u8> {
    let (_, at) = places(bytes);
    let raw = leb(numbers);
    let stored = zstd::bulk::compress(&raw, 3).unwrap();
    let mut index = b"SLIX".to_vec();
    index.extend((raw.len() as u32).to_le_bytes());
    index.extend((stored.len() as u32).to_le_bytes());
    index.extend(stored);
    index.extend(crc32fast::hash(&index).to_le_bytes());
    [&bytes[..at], &index].concat()
}

/// A kilobyte that says it unpacks to 64 MiB of blocks was unpacked, and its 22 million blocks took
/// half a gigabyte until they were refused.
#[test]
fn an_index_is_no_longer_than_its_blocks_need() {
    let good = file();
    let (_, at) = places(&good);
    let mut index = b"SLIX".to_vec();
    let mut raw = leb(&[22_000_000]);
    raw.resize(64 << 20, 0);
    let stored = zstd::bulk::compress(&raw, 3).unwrap();
    index.extend((raw.len() as u32).to_le_bytes());
    index.extend((stored.len() as u32).to_le_bytes());
    index.extend(stored);
    index.extend(crc32fast::hash(&index).to_le_bytes());
    let bytes = [&good[..at], &index].concat();
    assert!(bytes.len() < 8 << 10, "{}", bytes.len());
    let told = read(&bytes).unwrap_err().to_string();
    assert!(told.contains("an index of 67108864 bytes"), "{told}");
}

/// The numbers of the index that this file should have: places, accesses and instructions as
/// differences, then all accesses and those of the one CPU.
fn due(bytes: &[u8]) -> Vec<u64> {
    let (blocks, _) = places(bytes);
    let [a, b, c] = blocks[..] else {
        panic!("three blocks");
    };
    let [a, b, c] = [a, b - a, c - b].map(|place| place as u64);
    vec![3, a, 0, 0, b, 2, 20, c, 2, 20, 6, 1, 60]
}

#[test]
fn the_index_has_the_numbers_of_the_page() {
    let bytes = file();
    assert_eq!(indexed(&bytes, &due(&bytes)), bytes);
    let reader = Reader::new(Cursor::new(&bytes)).unwrap();
    assert_eq!((reader.accesses(), reader.blocks()), (6, 3));
    assert_eq!(reader.cpus(), [60]);
    assert_eq!(reader.bytes(), bytes.len() as u64);
}

#[test]
fn an_index_that_contradicts_itself_is_refused() {
    let bytes = file();
    let good = due(&bytes);
    let (_, index) = places(&bytes);
    let told = |change: &dyn Fn(&mut Vec<u64>)| {
        let mut numbers = good.clone();
        change(&mut numbers);
        read(&indexed(&bytes, &numbers)).unwrap_err().to_string()
    };
    let contradicts = format!("byte {index}: the index contradicts itself");
    for (what, change) in [
        (
            "the first block is elsewhere",
            (|n| n[1] += 1) as fn(&mut Vec<u64>),
        ),
        ("accesses before the first block", |n| n[2] = 1),
        ("two blocks at one place", |n| n[4] = 0),
        ("a block without accesses", |n| n[5] = 0),
        ("a last block without accesses", |n| n[10] = 4),
        ("fewer accesses than before the last block", |n| n[10] = 3),
        ("a block behind the index", |n| n[7] = 1 << 20),
        ("accesses and no block", |n| drop(n.splice(..10, [0]))),
    ] {
        assert!(
            told(&change).ends_with(&contradicts),
            "{what}: {}",
            told(&change)
        );
    }
    let of_64 = told(&|n| n[4] = u64::MAX);
    assert!(
        of_64.ends_with("column \"index\": a sum of more than 64 bits"),
        "{of_64}"
    );
    let more = told(&|n| n.push(7));
    assert!(
        more.ends_with("column \"index\": 1 bytes too many"),
        "{more}"
    );
    let fewer = told(&|n| n[11] = 2);
    assert!(
        fewer.ends_with("column \"index\": it ends too early"),
        "{fewer}"
    );
    let cpus = told(&|n| n[11] = u64::from(CPUS_MAX) + 1);
    assert!(cpus.ends_with("column \"index\": 65537 CPUs"), "{cpus}");
    // A trace with as many CPUs as there can be is read.
    let mut most = good.clone();
    most[11] = u64::from(CPUS_MAX);
    most.extend(vec![5; CPUS_MAX as usize - 1]);
    let bytes = indexed(&bytes, &most);
    assert_eq!(
        Reader::new(Cursor::new(&bytes)).unwrap().cpus().len(),
        65_536
    );
    assert_eq!(read(&bytes).unwrap(), accesses());
}

/// A block is the one of the index: as many accesses, as many before it, as many instructions.
#[test]
fn a_block_that_is_not_the_one_of_the_index_is_refused() {
    let bytes = file();
    let good = due(&bytes);
    let (blocks, _) = places(&bytes);
    for (place, by) in [(5, 1), (6, 1), (8, 1), (9, 1), (10, 1)] {
        let mut numbers = good.clone();
        numbers[place] += by;
        let told = read(&indexed(&bytes, &numbers)).unwrap_err().to_string();
        let named = blocks.iter().any(|block| {
            told.ends_with(&format!(
                "byte {block}: the block is not the one of the index"
            ))
        });
        assert!(named, "{place}: {told}");
    }
}

#[test]
fn an_index_that_cannot_be_there_is_refused() {
    let bytes = file();
    let (blocks, index) = places(&bytes);
    let at = |place: u64| {
        let mut bytes = bytes.clone();
        bytes[16..24].copy_from_slice(&place.to_le_bytes());
        read(&bytes).unwrap_err().to_string()
    };
    let first = blocks[0] as u64;
    let in_header = at(first - 1);
    assert!(
        in_header.ends_with("byte 16: the index is in the header"),
        "{in_header}"
    );
    for place in [first, blocks[1] as u64, index as u64 - 1, index as u64 + 1] {
        let none = at(place);
        assert!(
            none.ends_with(&format!("byte {place}: no index begins here")),
            "{none}"
        );
    }
    let end = bytes.len() as u64;
    for place in [end - 11, end, u64::MAX] {
        let cut = at(place);
        assert!(!cut.contains("no index begins here"), "{place}: {cut}");
    }
    // An index of more than 1 GiB is not read, whichever of its two lengths says so.
    for length in [4, 8] {
        let mut bytes = bytes.clone();
        bytes[index + length..index + length + 4]
            .copy_from_slice(&((1u32 << 30) + 1).to_le_bytes());
        let told = read(&bytes).unwrap_err().to_string();
        assert!(
            told.ends_with(&format!("byte {index}: no index begins here")),
            "{told}"
        );
        bytes[index + length..index + length + 4].copy_from_slice(&(1u32 << 30).to_le_bytes());
        let told = read(&bytes).unwrap_err().to_string();
        assert!(!told.contains("no index begins here"), "{told}");
    }
    let mut wrong = bytes.clone();
    wrong[index + 12] ^= 1;
    let told = read(&wrong).unwrap_err().to_string();
    assert!(
        told.ends_with(&format!("byte {index}: the index's checksum is wrong")),
        "{told}"
    );
}

/// The head of the second block with another number in it, under a right checksum.
fn headed(bytes: &[u8], at: usize, number: u32) -> Vec<u8> {
    let (blocks, _) = places(bytes);
    let (start, end) = (blocks[1], blocks[2]);
    let mut bytes = bytes.to_vec();
    bytes[start + at..start + at + 4].copy_from_slice(&number.to_le_bytes());
    let crc = crc32fast::hash(&bytes[start..end - 4]);
    bytes[end - 4..end].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn a_head_that_cannot_be_is_refused() {
    let bytes = file();
    let (blocks, _) = places(&bytes);
    let told = |at, number| read(&headed(&bytes, at, number)).unwrap_err().to_string();
    let here = |what: &str| format!("byte {}: {what}", blocks[1]);
    for accesses in [0, 65_537] {
        let due = here(&format!("a block of {accesses} accesses"));
        assert!(told(4, accesses).ends_with(&due), "{}", told(4, accesses));
    }
    assert!(
        !told(4, 65_536).contains("a block of"),
        "{}",
        told(4, 65_536)
    );
    for column in 0..6 {
        let (raw, stored) = (24 + 8 * column, 28 + 8 * column);
        let most = 1 << 20;
        assert!(told(raw, most + 1).ends_with(&here("a column of 1048577 bytes")));
        assert!(
            !told(raw, most).contains("a column of"),
            "{}",
            told(raw, most)
        );
        // What is compressed may be larger than what it was, but not twice as large.
        assert!(told(stored, 2 * most + 2).ends_with(&here("a column of 1048577 bytes")));
        let cut = told(stored, 2 * most + 1);
        assert!(
            cut.ends_with(&here("the file ends within this block")),
            "{cut}"
        );
    }
    let mut other = bytes.clone();
    other[blocks[1]] = b'X';
    let none = read(&other).unwrap_err().to_string();
    assert!(none.ends_with(&here("no block begins here")), "{none}");
}

/// The writer was killed: what is read then, and what is left out.
#[test]
fn an_unfinished_file_says_what_is_left_out() {
    let bytes = file();
    let (blocks, index) = places(&bytes);
    for (blocks_read, end) in [
        (0, blocks[1] - 1),
        (1, blocks[1]),
        (1, blocks[1] + 71),
        (2, index - 1),
    ] {
        let mut cut = bytes[..end].to_vec();
        cut[16..24].fill(0);
        let reader = Reader::new(Cursor::new(&cut)).unwrap();
        let left = end
            - if blocks_read == 0 {
                blocks[0]
            } else {
                blocks[blocks_read]
            };
        let told = reader.unfinished().expect("unfinished").to_string();
        assert_eq!(
            told,
            format!(
                "the trace was not finished: its first {} accesses are read, {left} bytes of an \
                 unfinished block are left out",
                2 * blocks_read
            )
        );
        let executed: &[u64] = [&[][..], &[20], &[40]][blocks_read];
        assert_eq!(reader.cpus(), executed);
        assert_eq!(reader.count(), 2 * blocks_read);
    }
    // A block that is whole, and not the one that follows.
    let mut cut = [&bytes[..blocks[1]], &bytes[blocks[2]..index]].concat();
    cut[16..24].fill(0);
    let told = read(&cut).unwrap_err().to_string();
    let due = format!("byte {}: the block is not the one that follows", blocks[1]);
    assert!(told.ends_with(&due), "{told}");
}

#[test]
fn blocks_are_read_by_their_number() {
    let (bytes, all) = (file(), accesses());
    let mut reader = Reader::new(Cursor::new(&bytes)).unwrap();
    for number in [2, 0, 1] {
        let block = reader.read_block(number).unwrap();
        assert_eq!(block, &all[2 * number..2 * number + 2]);
        // The next to be read are those behind it.
        assert_eq!(
            reader.next().map(Result::unwrap),
            all.get(2 * number + 2).copied()
        );
    }
    // What is left of a block that was begun, then the next.
    reader.seek_access(1).unwrap();
    assert_eq!(reader.next_block().unwrap().unwrap(), &all[1..2]);
    assert_eq!(reader.next_block().unwrap().unwrap(), &all[2..4]);
    reader.seek_access(6).unwrap();
    assert!(reader.next_block().unwrap().is_none());
    let refused = reader.seek_access(7).unwrap_err().to_string();
    assert!(refused.contains('7') && refused.contains('6'), "{refused}");
    let over = std::panic::AssertUnwindSafe(|| reader.read_block(3).is_ok());
    assert!(std::panic::catch_unwind(over).is_err());
}

/// Replaying one ended in a panic.
#[test]
fn an_index_of_fewer_cpus_or_instructions_than_the_blocks_is_refused() {
    let bytes = file();
    let good = due(&bytes);
    let blocks = good.len() - 2;
    let told = |cpus: &[u64]| {
        let numbers = [&good[..blocks], &[cpus.len() as u64], cpus].concat();
        read(&indexed(&bytes, &numbers))
    };
    assert_eq!(told(&[60]).unwrap(), accesses());
    assert_eq!(told(&[61, 5]).unwrap(), accesses());
    for cpus in [&[][..], &[59], &[0, 60]] {
        let told = told(cpus).unwrap_err().to_string();
        let why = "the block has more CPUs or instructions than the index";
        assert!(told.ends_with(why), "{cpus:?}: {told}");
    }
}
