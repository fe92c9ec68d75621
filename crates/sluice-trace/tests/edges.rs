//! What conversions did wrong at the edges: outputs that are no files, the last addresses, headings
//! behind comments, and instructions that fetch twice.

use sluice_trace::convert::{
    FORMATS, Format, Input, Options, Output, Report, RequestForm, convert,
};
use sluice_trace::{Access, Error, Header, Kind, Reader, Writer};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use tempfile::TempDir;

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

/// Converts to Sluice's own format, or says why not.
fn read(from: &str, text: &str, options: &Options) -> Result<(Vec<Access>, Report), Error> {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    std::fs::write(&a, text).unwrap();
    let (out, pending) = Output::new(&b).unwrap();
    let (from, to) = (format(from), format("sluice"));
    let report = convert(from, Input::new(&a), to, out, options, &mut |_| true);
    let report = report?.unwrap();
    pending.unwrap().keep().unwrap();
    let all = Reader::open(&b).unwrap().map(Result::unwrap).collect();
    Ok((all, report))
}

/// Lines with columns of these names.
fn csv(columns: &str, text: &str, request: RequestForm) -> Result<(Vec<Access>, Report), Error> {
    let options = Options {
        columns: Some(columns.parse().unwrap()),
        request,
        ..Options::default()
    };
    read("csv", text, &options)
}

fn addresses(all: &[Access]) -> Vec<(u64, u16)> {
    all.iter().map(|one| (one.address, one.size)).collect()
}

/// Writes one access as text.
fn write(to: &Path) {
    let dir = TempDir::new().unwrap();
    let a = dir.path().join("a.csv");
    std::fs::write(&a, "10,host,0,Read,4096,64,0\n").unwrap();
    let (out, pending) = Output::new(to).unwrap();
    let own = format("msr-csv");
    let (input, options) = (Input::new(&a), Options::default());
    convert(own, input, own, out, &options, &mut |_| true).unwrap();
    if let Some(pending) = pending {
        pending.keep().unwrap();
    }
}

/// The line that `write` writes.
const LINE: &str = "0,sluice,0,Read,4096,64,0\n";

/// They were replaced by a file of their name, as was /dev/null.
#[test]
fn what_is_no_file_stays_and_is_written_to() {
    let dir = TempDir::new().unwrap();
    let [fifo, link] = ["fifo", "link"].map(|name| dir.path().join(name));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let made = rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0);
    made.unwrap();
    symlink(&fifo, &link).unwrap();
    for path in [&fifo, &link] {
        let other = fifo.clone();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            File::open(other)
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            text
        });
        write(path);
        // Before it is waited for: it would wait for a writer that never comes.
        assert!(fifo.symlink_metadata().unwrap().file_type().is_fifo());
        assert!(link.is_symlink());
        assert_eq!(reader.join().unwrap(), LINE);
    }
    for name in ["sluice", "oracle-general"] {
        // Somebody reads, or the FIFO could not be opened.
        let other = fifo.clone();
        let reader = std::thread::spawn(move || std::fs::read(other).unwrap());
        let (out, pending) = Output::new(&fifo).unwrap();
        assert!(pending.is_none());
        let (header, options) = (Header::new("test"), Options::default());
        let told = (format(name).create)(out, &header, &options).err().unwrap();
        assert!(
            told.to_string()
                .ends_with("cannot be written to a pipe; name a file"),
            "{told}"
        );
        assert_eq!(reader.join().unwrap(), b"");
    }
}

#[test]
fn what_a_link_names_is_replaced() {
    let dir = TempDir::new().unwrap();
    let [file, link, far, ring] =
        ["sub/file", "link", "sub/far", "ring"].map(|name| dir.path().join(name));
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    std::fs::write(&file, "old").unwrap();
    symlink("sub/file", &link).unwrap();
    symlink("../link", &far).unwrap();
    symlink("ring", &ring).unwrap();
    for (path, there) in [(&link, true), (&far, true), (&link, false), (&far, false)] {
        match there {
            true => std::fs::write(&file, "old").unwrap(),
            false => std::fs::remove_file(&file).unwrap(),
        }
        write(path);
        assert!(link.is_symlink() && far.is_symlink(), "{path:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), LINE);
    }
    assert!(Output::new(&ring).is_err());
    assert!(Output::new(dir.path()).is_err());
    let names = std::fs::read_dir(dir.path()).unwrap();
    assert_eq!(names.count(), 3, "nothing is left over");
}

/// The first address was lost, and the second was there twice.
#[test]
fn two_fetches_of_an_instruction_become_two_instructions() {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let one = |kind, address, size| Access {
        cpu: 0,
        instructions: 0,
        address,
        size,
        kind,
    };
    let all = [
        one(Kind::Fetch, 0x1000, 4),
        one(Kind::Fetch, 0x2000, 4),
        one(Kind::Load, 0x5000, 8),
    ];
    let mut writer = Writer::create(&a, &Header::new("test")).unwrap();
    all.iter().for_each(|one| writer.push(one).unwrap());
    writer.finish(&[]).unwrap();
    let options = Options {
        fetches: true,
        ..Options::default()
    };
    let convert = |from: &str, a: &Path, to: &str, b: &Path| {
        let (out, pending) = Output::new(b).unwrap();
        let (from, to) = (format(from), format(to));
        let report = convert(from, Input::new(a), to, out, &options, &mut |_| true);
        pending.unwrap().keep().unwrap();
        report.unwrap().unwrap()
    };
    let report = convert("sluice", &a, "champsim", &b);
    let told = report.notes.join("; ");
    assert!(told.contains("1 instructions with more than"), "{told}");
    assert!(!told.contains("are made up"), "{told}");
    convert("champsim", &b, "sluice", &c);
    let back: Vec<Access> = Reader::open(&c).unwrap().map(Result::unwrap).collect();
    let plain = |all: &[Access]| {
        all.iter()
            .map(|it| (it.kind, it.address))
            .collect::<Vec<_>>()
    };
    assert_eq!(plain(&back), plain(&all));
}

/// A CPU number of four billion took all memory on the way to champsim.
#[test]
fn a_cpu_that_no_trace_can_have_is_refused_by_its_line() {
    let of = |cpu: u64| {
        let text = format!("0,0,1\n64,{cpu},2\n");
        csv("address,cpu,-", &text, RequestForm::Lines)
    };
    assert_eq!(of(65_535).unwrap().0[1].cpu, 65_535);
    for cpu in [65_536, u64::from(u32::MAX), 1 << 40] {
        let told = of(cpu).unwrap_err().to_string();
        let expected = format!("line 2: cpu: {cpu}; expected less than 65536");
        assert!(told.ends_with(&expected), "{told}");
    }
}

#[test]
fn the_last_bytes_that_have_addresses_can_be_asked_for() {
    const LAST: u64 = 0xffff_ffff_ffff_ffc0;
    for (form, expected) in [
        (
            RequestForm::Lines,
            [(LAST - 4096, 4096 - 4032), (LAST - 4032, 4096)],
        ),
        (RequestForm::Page, [(LAST - 4096, 64), (LAST - 4032, 64)]),
    ] {
        let text = format!("{},4160\n", LAST - 4096);
        let (all, _) = csv("address,size", &text, form).unwrap();
        assert_eq!(addresses(&all), expected, "{form:?}");
    }
    let block = csv("address,size", &format!("{LAST},64\n"), RequestForm::Block);
    assert_eq!(addresses(&block.unwrap().0), [(LAST, 64)]);
    for (from, text) in [
        ("csv", format!("{LAST},65\n")),
        ("msr-csv", format!("1,host,0,Read,{LAST},65,0\n")),
    ] {
        let options = Options {
            columns: (from == "csv").then(|| "address,size".parse().unwrap()),
            ..Options::default()
        };
        let told = read(from, &text, &options).unwrap_err().to_string();
        let why = "ize: 65 bytes from 0xffffffffffffffc0 on end behind 2^64";
        assert!(told.ends_with(why), "{told}");
    }
    let large = csv("address,size", "0,1073741825\n", RequestForm::Lines);
    let large = large.unwrap_err().to_string();
    assert!(large.ends_with("expected 1 GiB at most"), "{large}");
    // Back to text, where an end of 0 joins nothing.
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    let text = format!("1,host,0,Read,{LAST},64,0\n1,host,0,Read,0,64,0\n");
    std::fs::write(&a, text).unwrap();
    let (out, pending) = Output::new(&b).unwrap();
    let own = format("msr-csv");
    convert(
        own,
        Input::new(&a),
        own,
        out,
        &Options::default(),
        &mut |_| true,
    )
    .unwrap();
    pending.unwrap().keep().unwrap();
    let expected = format!("0,sluice,0,Read,{LAST},64,0\n0,sluice,0,Read,0,64,0\n");
    assert_eq!(std::fs::read_to_string(&b).unwrap(), expected);
}

#[test]
fn a_heading_may_stand_behind_comments_and_a_mark() {
    for text in [
        "# of a disk\n\n#\naddress,size\n64,8\n",
        "\u{feff}64,8\n",
        "\u{feff}# of a disk\n64,8\n",
        "\u{feff}address,size\n64,8\n",
        "64,8\n# the end\n",
    ] {
        let (all, _) = csv("address,size", text, RequestForm::Lines).unwrap();
        assert_eq!(addresses(&all), [(64, 8)], "{text:?}");
    }
    assert!(csv("address,size", "a,b\nc,d\n", RequestForm::Lines).is_err());
    assert!(csv("address,size", "64,8\n\u{feff}64,8\n", RequestForm::Lines).is_err());
    let text = "\u{feff}10,host,0,Read,64,8,0\n";
    let (all, _) = read("msr-csv", text, &Options::default()).unwrap();
    assert_eq!(addresses(&all), [(64, 8)]);
}

/// A first request that is wrong was taken for a heading, and was missing.
#[test]
fn a_first_line_that_is_no_heading_is_refused() {
    let digits = "9".repeat(40);
    for (columns, line) in [
        ("address,size", "-64,8".to_owned()),
        ("address,size", format!("{digits},8")),
        ("address,size", "64.0,8".to_owned()),
        ("address,size", "NaN,8".to_owned()),
        ("time,address", "0,".to_owned()),
        ("time,op,address", "0,r".to_owned()),
    ] {
        let text = format!("{line}\n64,8\n");
        let told = csv(columns, &text, RequestForm::Lines).map(|(all, _)| addresses(&all));
        let told = told.expect_err(&line).to_string();
        assert!(told.contains("line 1: "), "{line}: {told}");
    }
    for time in ["1.5x", "1.+5", "1.123456789x", "1.1é"] {
        let told = csv(
            "time_s,address",
            &format!("{time},64\n"),
            RequestForm::Lines,
        );
        let told = told.map(|(all, _)| all.len()).expect_err(time).to_string();
        assert!(told.contains("is no number of s"), "{time}: {told}");
    }
}

/// All that a small file unpacks to was kept as one line.
#[test]
fn a_line_without_end_is_refused() {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    for (name, byte) in [("csv", b'0'), ("msr-csv", b'1'), ("lackey", b' ')] {
        let long = vec![byte; 4 << 20];
        std::fs::write(&a, zstd::bulk::compress(&long, 3).unwrap()).unwrap();
        let (out, _pending) = Output::new(&b).unwrap();
        let options = Options {
            columns: Some("address".parse().unwrap()),
            ..Options::default()
        };
        let (from, to) = (format(name), format("sluice"));
        let told = convert(from, Input::new(&a), to, out, &options, &mut |_| true);
        let told = told.unwrap_err().to_string();
        let says = "line 1: it has 65536 bytes and no end";
        assert!(told.contains(says) && told.len() < 300, "{name}: {told}");
    }
    // As long as a line may be, and one byte more.
    for (zeros, is_right) in [(65_533, true), (65_534, false)] {
        let text = format!("{}1\n", "0".repeat(zeros + 1));
        let told = csv("address", &text, RequestForm::Lines);
        assert_eq!(told.is_ok(), is_right, "{zeros}");
    }
}

/// The first instruction of a program that is not placed anywhere was taken for gzip's bytes.
#[test]
fn two_bytes_do_not_make_a_compressed_file() {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    let mut record = [0; 64];
    record[..8].copy_from_slice(&0x40_8b1f_u64.to_le_bytes());
    std::fs::write(&a, record).unwrap();
    let (out, pending) = Output::new(&b).unwrap();
    let options = Options {
        fetches: true,
        ..Options::default()
    };
    let (from, to) = (format("champsim"), format("sluice"));
    convert(from, Input::new(&a), to, out, &options, &mut |_| true).unwrap();
    pending.unwrap().keep().unwrap();
    let all: Vec<Access> = Reader::open(&b).unwrap().map(Result::unwrap).collect();
    assert_eq!(addresses(&all), [(0x40_8b1f, 4)]);
}

#[test]
fn notes_say_what_was_done() {
    let (all, report) = csv("address,size", "0,0\n64,8\n0,0\n", RequestForm::Lines).unwrap();
    assert_eq!(addresses(&all), [(64, 8)]);
    let told = report.notes.join("; ");
    assert!(told.contains("2 requests of 0 bytes left out"), "{told}");
    let (_, report) = csv("op,address,size", "f,0,0\n", RequestForm::Block).unwrap();
    let told = report.notes.join("; ");
    assert!(!told.contains("left out"), "{told}");
    let text = "20000000,h,0,Read,0,8,0\n30000000,h,0,Read,0,8,0\n25000000,h,0,Read,0,8,0\n";
    let options = Options {
        request: RequestForm::Block,
        ..Options::default()
    };
    let (all, report) = read("msr-csv", text, &options).unwrap();
    assert_eq!(all[2].instructions, all[1].instructions);
    let told = report.notes.join("; ");
    assert!(
        told.contains("1 requests go back in time; each has the latest time before it; ")
            && told.contains("3 requests; each request is one by the block door"),
        "{told}"
    );
}

/// The converter left out what was behind the first 65,535 bytes of an object, without a warning.
#[test]
fn a_large_object_is_read_whole() {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    for (size, expected) in [
        (65_535u32, vec![(1 << 20, 65_535)]),
        (
            65_536,
            vec![(1 << 20, 32_768), ((1 << 20) + 32_768, 32_768)],
        ),
        (
            100_000,
            vec![(1 << 20, 32_768), ((1 << 20) + 32_768, 32_768)],
        ),
        (1 << 20, (32..62).map(|n| (n << 15, 32_768)).collect()),
    ] {
        let mut record = vec![0; 4];
        record.extend(1u64.to_le_bytes());
        record.extend(size.to_le_bytes());
        record.extend((-1i64).to_le_bytes());
        std::fs::write(&a, record).unwrap();
        let (out, pending) = Output::new(&b).unwrap();
        let options = Options {
            object: 1 << 20,
            ..Options::default()
        };
        let (from, to) = (format("oracle-general"), format("sluice"));
        convert(from, Input::new(&a), to, out, &options, &mut |_| true).unwrap();
        pending.unwrap().keep().unwrap();
        let all: Vec<Access> = Reader::open(&b).unwrap().map(Result::unwrap).collect();
        let bytes: u64 = all.iter().map(|one| u64::from(one.size)).sum();
        assert_eq!(bytes, u64::from(size));
        assert!(addresses(&all).starts_with(&expected), "{size}: {all:?}");
    }
}

/// The converter counted accesses at address 0 as written, which champsim has no place for, and
/// made up the address of an instruction at 0.
#[test]
fn the_count_is_of_what_the_file_holds() {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let convert = |from, input, to, output| {
        let (out, pending) = Output::new(output).unwrap();
        let options = Options {
            fetches: true,
            ..Options::default()
        };
        let (input, mut go_on) = (Input::new(input), |_| true);
        let report = convert(format(from), input, format(to), out, &options, &mut go_on);
        pending.unwrap().keep().unwrap();
        report.unwrap().unwrap()
    };
    let text = "I  00000000,4\n L 00000000,8\n S 00000040,8\nI  00000004,4\n M 00000000,8\n\
                I  00000008,4\n";
    std::fs::write(&a, text).unwrap();
    for (to, held) in [("champsim", 4), ("sluice", 7), ("lackey", 7)] {
        let report = convert("lackey", &a, to, &b);
        assert_eq!(report.accesses, held, "{to}");
        let told = "3 accesses at address 0 left out: there it means none".to_owned();
        assert_eq!(report.notes.contains(&told), held == 4, "{to}");
        assert_eq!(convert(to, &b, "sluice", &c).accesses, held, "{to}");
        let mut all = Reader::open(&c).unwrap().map(Result::unwrap);
        let first = all.next().unwrap();
        assert_eq!((first.kind, first.address), (Kind::Fetch, 0), "{to}");
    }
}

#[test]
fn a_name_that_is_no_text_shows_its_format_all_the_same() {
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"a\xff.champsim.gz");
    let (format, is_packed) = Format::of_name(name.as_ref()).expect("the ending is text");
    assert_eq!((format.name, is_packed), ("champsim", true));
}
