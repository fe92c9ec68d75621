//! Requests by the block door: in a trace of version 2, and nowhere else.

use sluice_trace::convert::{FORMATS, Input, Options, Output, RequestForm, convert};
use sluice_trace::{Access, BLOCK_PIECE, Error, Header, Kind, Reader, Writer};
use std::io::Cursor;
use std::path::Path;

fn access(kind: Kind, instructions: u64, address: u64, size: u16) -> Access {
    Access {
        cpu: 0,
        instructions,
        address,
        size,
        kind,
    }
}

fn all() -> Vec<Access> {
    vec![
        access(Kind::Load, 0, 8, 8),
        access(Kind::BlockRead, 3, 4096, 64),
        access(Kind::BlockWrite, 3, 8192, BLOCK_PIECE),
        access(Kind::BlockWrite, 3, 8192 + 61_440, 512),
        access(Kind::Store, 9, 1 << 40, 64),
        access(Kind::BlockTrim, 10, 0, 4096),
        access(Kind::BlockFlush, 11, 0, 0),
        access(Kind::Fetch, 12, 16, 4),
    ]
}

fn written(header: &Header, accesses: &[Access]) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    let mut writer = Writer::new(&mut out, header)?;
    accesses.iter().try_for_each(|access| writer.push(access))?;
    writer.finish(&[])?;
    Ok(out.into_inner())
}

#[test]
fn they_come_back_among_accesses() {
    let header = Header::new("test").with_block_requests();
    let bytes = written(&header, &all()).unwrap();
    assert_eq!(bytes[8], 2);
    let reader = Reader::new(Cursor::new(&bytes)).unwrap();
    assert!(reader.header().block_requests);
    let read: Result<Vec<Access>, Error> = reader.collect();
    assert_eq!(read.unwrap(), all());
}

/// What an older reader knows is still written for it, byte by byte.
#[test]
fn a_trace_without_them_is_of_version_1_and_refuses_them() {
    let plain = [all()[0], all()[4], all()[7]];
    let bytes = written(&Header::new("test"), &plain).unwrap();
    assert_eq!(bytes[8], 1);
    assert!(!String::from_utf8_lossy(&bytes).contains("block_requests"));
    let refused = written(&Header::new("test"), &all()).unwrap_err();
    let says = "access 1 cannot be recorded: its header says that there are no block requests";
    assert_eq!(refused.to_string(), says);
    // The same bytes are refused if they say version 2, or a later one.
    for (version, says) in [(2, "contradict"), (3, "version 3 is not known")] {
        let mut other = bytes.clone();
        other[8] = version;
        let refused = Reader::new(Cursor::new(&other)).err().unwrap().to_string();
        assert!(
            refused.contains(says) || refused.contains("checksum"),
            "{refused}"
        );
    }
}

#[test]
fn a_flush_has_no_place() {
    let header = Header::new("test").with_block_requests();
    for wrong in [
        access(Kind::BlockFlush, 0, 4096, 0),
        access(Kind::BlockFlush, 0, 0, 8),
    ] {
        let refused = written(&header, &[wrong]).unwrap_err().to_string();
        assert!(refused.ends_with("a flush has neither address nor size"));
    }
    let refused = written(&header, &[access(Kind::BlockRead, 0, 0, 0)]).unwrap_err();
    assert!(refused.to_string().ends_with("its size is 0"));
}

/// Converts a file of a folder to another name there.
fn converted(folder: &Path, from: &str, to: &str, options: &Options) -> Result<String, Error> {
    let format = |name: &str| {
        let bare = name.split('.').next().unwrap();
        FORMATS.iter().find(|format| format.name == bare).unwrap()
    };
    let (output, pending) = Output::new(&folder.join(to))?;
    let input = Input::new(&folder.join(from));
    let report = convert(
        format(from),
        input,
        format(to),
        output,
        options,
        &mut |_| true,
    )?;
    pending.unwrap().keep()?;
    Ok(report.unwrap().notes.join("; "))
}

const TEXT: &str = "\
time_ns,op,address,size,cpu
0,write,0,100000,0
5,read,4608,512,0
5,trim,4096,8192,1
7,flush,0,0,1
";

#[test]
fn a_text_of_requests_becomes_requests_and_the_text_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("csv.in"), TEXT).unwrap();
    let options = Options {
        request: RequestForm::Block,
        columns: Some("time_ns,op,address,size,cpu".parse().unwrap()),
        ..Options::default()
    };
    let notes = converted(folder.path(), "csv.in", "sluice.trace", &options).unwrap();
    assert!(
        notes.contains("each request is one by the block door"),
        "{notes}"
    );
    let reader = Reader::open(at("sluice.trace")).unwrap();
    let read: Vec<(Kind, u64, u16)> = reader
        .map(|access| access.map(|it| (it.kind, it.address, it.size)).unwrap())
        .collect();
    let due = [
        (Kind::BlockWrite, 0, BLOCK_PIECE),
        (Kind::BlockWrite, 61_440, 38_560),
        (Kind::BlockRead, 4608, 512),
        (Kind::BlockTrim, 4096, 8192),
        (Kind::BlockFlush, 0, 0),
    ];
    assert_eq!(read, due);
    converted(folder.path(), "sluice.trace", "csv.out", &options).unwrap();
    let text = std::fs::read_to_string(at("csv.out")).unwrap();
    assert_eq!(text, TEXT);
    // As accesses, a trim has no meaning; and other formats have no place for any.
    let lines = Options {
        request: RequestForm::Lines,
        ..options
    };
    for op in ["trim", "t", "flush", "f"] {
        let text = format!("time_ns,op,address,size,cpu\n0,{op},0,4096,0\n");
        std::fs::write(at("csv.in"), text).unwrap();
        let refused = converted(folder.path(), "csv.in", "sluice.trace", &lines).unwrap_err();
        let says = "with --request block also trim";
        assert!(refused.to_string().contains(says), "{refused}");
    }
    for (to, kind) in [
        ("lackey.out", "BlockWrite"),
        ("champsim.out", "BlockWrite"),
        ("oracle-general.out", "BlockWrite"),
        ("msr-csv.out", "BlockTrim"),
    ] {
        let refused = converted(folder.path(), "sluice.trace", to, &options).unwrap_err();
        let says = format!("no place for requests by the block door, such as {kind}");
        assert!(refused.to_string().ends_with(&says), "{refused}");
    }
}

#[test]
fn msrs_requests_are_put_together_again() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "0,sluice,0,Write,512,200000,0\n10,sluice,0,Read,0,4096,0\n";
    std::fs::write(folder.path().join("msr-csv.in"), rows).unwrap();
    let options = Options {
        request: RequestForm::Block,
        ..Options::default()
    };
    converted(folder.path(), "msr-csv.in", "sluice.trace", &options).unwrap();
    converted(folder.path(), "sluice.trace", "msr-csv.out", &options).unwrap();
    let again = std::fs::read_to_string(folder.path().join("msr-csv.out")).unwrap();
    assert_eq!(again, rows);
}

/// A request of as many bytes as pieces hold is followed, at the same time, by one that begins
/// where it ends.
#[test]
fn a_request_ends_with_its_last_piece() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "time_ns,op,address,size,cpu\n".to_owned();
    let mut address = 0;
    for size in [
        61_440, 4096, 122_880, 1, 61_440, 61_440, 61_441, 61_439, 512,
    ] {
        text += &format!("0,write,{address},{size},0\n");
        address += size;
    }
    std::fs::write(folder.path().join("csv.in"), &text).unwrap();
    let options = Options {
        request: RequestForm::Block,
        columns: Some("time_ns,op,address,size,cpu".parse().unwrap()),
        ..Options::default()
    };
    converted(folder.path(), "csv.in", "sluice.trace", &options).unwrap();
    converted(folder.path(), "sluice.trace", "csv.out", &options).unwrap();
    let again = std::fs::read_to_string(folder.path().join("csv.out")).unwrap();
    assert_eq!(again, text);
}
