//! The largest that a trace can hold, one more than that, and what a conversion makes up.

use sluice_trace::convert::{FORMATS, Format, Input, Options, Output, Report, convert};
use sluice_trace::{Access, CPUS_MAX, Error, Header, Kind, Reader, Writer};
use std::io::Cursor;
use std::path::Path;

fn load(cpu: u32, instructions: u64, address: u64) -> Access {
    Access {
        cpu,
        instructions,
        address,
        size: 8,
        kind: Kind::Load,
    }
}

fn file(header: &Header, accesses: &[Access]) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut out, header)?;
    for access in accesses {
        writer.push(access)?;
    }
    writer.finish(&[])?;
    Ok(out.into_inner())
}

fn read(bytes: &[u8]) -> Result<Vec<Access>, Error> {
    Reader::new(Cursor::new(bytes))?.collect()
}

#[test]
fn as_many_cpus_as_there_can_be() {
    let header = Header::new("test");
    let last = [load(0, 1, 64), load(CPUS_MAX - 1, 5, 128)];
    let bytes = file(&header, &last).unwrap();
    assert_eq!(read(&bytes).unwrap(), last);
    let error = file(&header, &[load(CPUS_MAX, 1, 64)]).unwrap_err();
    assert!(error.to_string().contains("CPU is 65536"), "{error}");
}

/// The text of a header has 1 MiB of room, quotes and names of fields included.
#[test]
fn a_command_as_long_as_there_is_room() {
    const ROOM: usize = 1 << 20;
    let of = |length: usize| file(&Header::new("x".repeat(length)), &[load(0, 1, 64)]);
    // What stands around the command: the file's first bytes have the length of the text.
    let bytes = of(100).unwrap();
    let text = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let most = ROOM - (text - 100);
    let bytes = of(most).unwrap();
    let reader = Reader::new(Cursor::new(&bytes[..])).unwrap();
    assert_eq!(reader.header().command.len(), most);
    let error = of(most + 1).unwrap_err().to_string();
    assert!(error.contains("1048577 bytes of 1048576"), "{error}");
}

/// Where the bytes begin that do not belong to the file.
#[test]
fn bytes_behind_the_index_are_told_by_their_place() {
    let bytes = file(&Header::new("test"), &[load(0, 1, 64), load(0, 2, 4096)]).unwrap();
    for more in [1, 2, 1000] {
        let longer = [&bytes[..], &vec![7; more]].concat();
        let error = read(&longer).unwrap_err().to_string();
        let place = format!("byte {}: bytes follow the index", bytes.len());
        assert!(error.ends_with(&place), "{error}");
    }
}

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

fn converted(from: &str, input: &Path, to: &str, output: &Path) -> Report {
    let (out, pending) = Output::new(output).unwrap();
    let options = Options::default();
    let input = Input::new(input);
    let report = convert(format(from), input, format(to), out, &options, &mut |_| {
        true
    });
    let report = report.unwrap().unwrap();
    pending.unwrap().keep().unwrap();
    report
}

/// Requests that go back in time, also behind the first of all, are counted each once.
#[test]
fn requests_that_go_back_in_time_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let [csv, out] = ["a.csv", "b"].map(|name| dir.path().join(name));
    for (times, back) in [
        (&[10u64, 20, 20, 30][..], 0),
        (&[10, 20, 15, 30], 1),
        (&[10, 20, 15, 19, 21], 2),
        (&[10, 5], 1),
        (&[10, 20, 5, 5, 30], 2),
    ] {
        let line =
            |time: &u64| format!("{},host,0,Read,{},4096,0\n", time * 10_000_000, time << 12);
        let text: String = times.iter().map(line).collect();
        std::fs::write(&csv, text).unwrap();
        let notes = converted("msr-csv", &csv, "sluice", &out).notes;
        let told: Vec<&String> = notes
            .iter()
            .filter(|note| note.contains("go back"))
            .collect();
        match back {
            0 => assert!(told.is_empty(), "{times:?}: {told:?}"),
            _ => assert!(told[0].starts_with(&format!("{back} requests")), "{told:?}"),
        }
        // Time stands still meanwhile.
        let counts = Reader::open(&out)
            .unwrap()
            .map(|access| access.unwrap().instructions);
        assert!(counts.is_sorted(), "{times:?}");
    }
}

/// Requests of 0 bytes make no access, and are counted.
#[test]
fn requests_of_nothing_are_left_out_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let [csv, out] = ["a.csv", "b"].map(|name| dir.path().join(name));
    for sizes in [&[4096][..], &[0, 4096], &[4096, 0, 0, 1, 0]] {
        let line = |(at, size): (usize, &u64)| format!("{at},host,0,Read,{},{size},0\n", at << 12);
        let text: String = sizes.iter().enumerate().map(line).collect();
        std::fs::write(&csv, text).unwrap();
        let notes = converted("msr-csv", &csv, "sluice", &out).notes;
        let told: Vec<&String> = notes.iter().filter(|it| it.contains("0 bytes")).collect();
        let empty = sizes.iter().filter(|size| **size == 0).count();
        match empty {
            0 => assert!(told.is_empty(), "{told:?}"),
            _ => assert_eq!(told, [&format!("{empty} requests of 0 bytes left out")]),
        }
        let requests = format!("{} requests", sizes.len());
        assert!(notes.contains(&requests), "{notes:?}");
        let made = Reader::open(&out).unwrap().count();
        assert_eq!(made, sizes.len() - empty);
    }
}

/// Instructions without a known place are a loop of 1,024 of four bytes, over and over.
#[test]
fn made_up_instructions_go_round_in_a_loop() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    let loads: Vec<Access> = (0..3_000).map(|n| load(0, n, 4096 + n * 64)).collect();
    std::fs::write(&a, file(&Header::new("test"), &loads).unwrap()).unwrap();
    converted("sluice", &a, "champsim", &b);
    let bytes = std::fs::read(&b).unwrap();
    let records = bytes.as_chunks::<64>().0;
    assert_eq!(records.len(), 3_000);
    for (n, record) in (0..).zip(records) {
        let ip = u64::from_le_bytes(record[..8].try_into().unwrap());
        assert_eq!(ip, 0x40_0000 + n % 1_024 * 4, "instruction {n}");
    }
}
