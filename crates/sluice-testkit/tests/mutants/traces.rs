//! Traces of every format. What is taken is written again, and is the same.

use sluice_testkit::mutate::{bytes, each, reaches, seed, text};
use sluice_trace::convert::{FORMATS, Format, Input, Options, Output, convert};
use sluice_trace::{Access, Error, Header, Kind, Reader, Writer};
use sluice_units::Rng;
use std::io::Cursor;
use std::path::Path;

/// Where the columns of a block's accesses begin: magic, counts, then two lengths for each column.
const HEAD: usize = 24;
const COLUMNS: usize = 6;

fn accesses(rng: &mut Rng, count: usize) -> Vec<Access> {
    let mut counts = [0; 3];
    let mut one = || {
        let cpu = rng.below(3) as usize;
        counts[cpu] += rng.below(9);
        let reach = 1 << [12, 20, 40][rng.below(3) as usize];
        Access {
            cpu: cpu as u32,
            instructions: counts[cpu],
            address: 0x1000 + rng.below(reach),
            size: [1, 4, 8, 64, 3, 4096][rng.below(6) as usize],
            kind: [Kind::Load, Kind::Store, Kind::Fetch][rng.below(3) as usize],
        }
    };
    (0..count).map(|_| one()).collect()
}

/// A file of several blocks.
fn written(accesses: &[Access]) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut out, &Header::new("mutants"))?;
    for (n, access) in accesses.iter().enumerate() {
        if n % 40 == 39 {
            writer.flush()?;
        }
        writer.push(access)?;
    }
    writer.finish(&[])?;
    Ok(out.into_inner())
}

/// A file of several blocks, and where its first block begins.
fn file(accesses: &[Access]) -> (Vec<u8>, usize) {
    let bytes = written(accesses).unwrap();
    let text = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    (bytes, 28 + text)
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The columns of the block at `at`, decompressed, and where it ends.
fn columns(bytes: &[u8], at: usize) -> (Vec<Vec<u8>>, usize) {
    let mut place = at + HEAD + 8 * COLUMNS;
    let column = |n| {
        let lengths = at + HEAD + 8 * n;
        let [raw, stored] = [number(bytes, lengths), number(bytes, lengths + 4)];
        place += stored;
        match stored {
            0 => Vec::new(),
            _ => zstd::bulk::decompress(&bytes[place - stored..place], raw).unwrap(),
        }
    };
    let columns = (0..COLUMNS).map(column).collect();
    (columns, place + 4)
}

/// A block with the head and columns given, and with the checksum that it must have.
fn block(head: &[u8], columns: &[Vec<u8>]) -> Vec<u8> {
    let mut out = head[..HEAD].to_vec();
    out.resize(HEAD + 8 * COLUMNS, 0);
    for (n, column) in columns.iter().enumerate() {
        let stored = match column.is_empty() {
            true => Vec::new(),
            false => zstd::bulk::compress(column, 1).unwrap(),
        };
        let lengths = HEAD + 8 * n;
        out[lengths..lengths + 4].copy_from_slice(&(column.len() as u32).to_le_bytes());
        out[lengths + 4..lengths + 8].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        out.extend(stored);
    }
    out.extend(crc32fast::hash(&out).to_le_bytes());
    out
}

/// Changes what one block says, and mends its checksum. The file is one whose writer was killed:
/// it has no index.
fn inside(rng: &mut Rng, valid: &[u8], blocks_at: usize) -> Vec<u8> {
    let mut out = valid[..blocks_at].to_vec();
    out[16..24].fill(0);
    let (mut at, chosen) = (blocks_at, rng.below(3));
    let mut n = 0;
    while valid[at..].starts_with(b"SLBK") {
        let (mut columns, end) = columns(valid, at);
        let mut head = valid[at..at + HEAD].to_vec();
        if n == chosen {
            match rng.below(8) {
                0 => {
                    let mutant = bytes(rng, &head[4..]);
                    let kept = mutant.len().min(HEAD - 4);
                    head[4..4 + kept].copy_from_slice(&mutant[..kept]);
                }
                _ => {
                    let column = &mut columns[rng.below(COLUMNS as u64) as usize];
                    *column = bytes(rng, column);
                }
            }
        }
        out.extend(block(&head, &columns));
        (at, n) = (end, n + 1);
    }
    out
}

fn read(bytes: &[u8]) -> Result<Vec<Access>, Error> {
    Reader::new(Cursor::new(bytes))?.collect()
}

/// Reads a file; what could be read is written again and read again.
fn survives(bytes: &[u8]) -> bool {
    let accesses = match read(bytes) {
        Ok(accesses) => accesses,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return false;
        }
    };
    match written(&accesses) {
        Ok(again) => assert_eq!(read(&again).unwrap(), accesses),
        // A block says by itself how far each CPU is, so that reading can begin there. One that
        // contradicts the block before it is read, and not written.
        Err(Error::Access { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    true
}

#[test]
fn blocks_that_say_something_else() {
    let mut rng = Rng::stream(seed(), "blocks");
    let (valid, blocks_at) = file(&accesses(&mut rng, 150));
    assert!(survives(&valid));
    let count = sluice_testkit::cases(2_000);
    let taken = each(
        count,
        || inside(&mut rng, &valid, blocks_at),
        |it| survives(it),
    );
    reaches("blocks", taken, count, 20);
}

/// Damage that checksums find, nearly all of it.
#[test]
fn damaged_files() {
    let mut rng = Rng::stream(seed(), "files");
    let (valid, _) = file(&accesses(&mut rng, 150));
    let count = sluice_testkit::cases(2_000);
    let taken = each(count, || bytes(&mut rng, &valid), |it| survives(it));
    assert!(
        taken * 10 < count,
        "{taken} of {count} damaged files were taken"
    );
}

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

/// Converts a file, if that can be.
fn converted(from: &Format, input: &Path, to: &str, output: &Path) -> bool {
    let options = Options {
        fetches: true,
        columns: "time_ns,op,address,size,cpu".parse().ok(),
        ..Options::default()
    };
    let (out, pending) = Output::new(output).unwrap();
    let input = Input::new(input);
    match convert(from, input, format(to), out, &options, &mut |_| true) {
        Ok(report) => {
            assert!(report.is_some(), "nobody stopped it");
            pending.unwrap().keep().unwrap();
            true
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            false
        }
    }
}

#[test]
fn traces_of_other_formats() {
    let mut rng = Rng::stream(seed(), "formats");
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // One CPU, and pages: every format holds them.
    let mut all = accesses(&mut rng, 60);
    let mut instructions = 0;
    for access in &mut all {
        instructions += rng.below(3);
        (access.cpu, access.instructions) = (0, instructions);
    }
    std::fs::write(path("valid"), file(&all).0).unwrap();
    for from in FORMATS.iter().filter(|format| format.name != "sluice") {
        let own = path(from.name);
        let sluice = format("sluice");
        assert!(
            converted(sluice, &path("valid"), from.name, &own),
            "{}",
            from.name
        );
        let valid = std::fs::read(&own).unwrap();
        let count = sluice_testkit::cases(150);
        let takes = |mutant: &Vec<u8>| {
            std::fs::write(path("mutant"), mutant).unwrap();
            let taken = converted(from, &path("mutant"), "sluice", &path("out"));
            if taken {
                let bytes = std::fs::read(path("out")).unwrap();
                assert!(survives(&bytes), "what a conversion wrote cannot be read");
            }
            taken
        };
        let next = || match std::str::from_utf8(&valid) {
            Ok(lines) => text(&mut rng, &[lines]).into_bytes(),
            Err(_) => bytes(&mut rng, &valid),
        };
        let taken = each(count, next, takes);
        reaches(from.name, taken, count, 10);
    }
}
