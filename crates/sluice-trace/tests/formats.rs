//! What each pair of formats loses and says, and what a request of each format becomes.

use proptest::prelude::*;
use sluice_trace::convert::Part::{Bytes, Cpus, Fetches, Kinds, Registers, Service, Sizes, Times};
use sluice_trace::convert::{
    FORMATS, Format, Input, Options, Output, Part, Report, RequestForm, convert,
};
use sluice_trace::{Access, Header, Kind, Reader, Writer};
use std::path::Path;
use tempfile::TempDir;

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

/// Converts `bytes`, and gives back what was written and reported.
fn converted(from: &str, bytes: &[u8], to: &str, options: &Options) -> (Vec<u8>, Report) {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    std::fs::write(&a, bytes).unwrap();
    let (out, pending) = Output::new(&b).unwrap();
    let mut told = Vec::new();
    let report = convert(
        format(from),
        Input::new(&a),
        format(to),
        out,
        options,
        &mut |count| {
            told.push(count);
            true
        },
    );
    let report = report.unwrap().unwrap();
    assert!(told.is_sorted() && told.last() == Some(&report.accesses));
    pending.unwrap().keep().unwrap();
    (std::fs::read(&b).unwrap(), report)
}

fn trace(accesses: &[Access]) -> Vec<u8> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a");
    let mut writer = Writer::create(&path, &Header::new("test")).unwrap();
    accesses
        .iter()
        .for_each(|access| writer.push(access).unwrap());
    writer.finish(&[]).unwrap();
    std::fs::read(&path).unwrap()
}

fn accesses(bytes: &[u8]) -> Vec<Access> {
    let reader = Reader::new(std::io::Cursor::new(bytes)).unwrap();
    reader.map(Result::unwrap).collect()
}

fn access(cpu: u32, instructions: u64, kind: Kind, address: u64, size: u16) -> Access {
    Access {
        cpu,
        instructions,
        address,
        size,
        kind,
    }
}

fn options() -> Options {
    Options {
        columns: "time_ns,op,address,size,cpu".parse().ok(),
        ..Options::default()
    }
}

/// A trace in each format that has all that the format can hold.
fn full(name: &str) -> Vec<u8> {
    let all = [
        access(0, 0, Kind::Fetch, 0x40_0000, 4),
        access(0, 0, Kind::Load, 4096, 8),
        access(1, 0, Kind::Store, 8192, 8),
    ];
    match name {
        "sluice" => trace(&all),
        "csv" => b"1,read,4096,64,0\n2,write,8192,64,1\n".to_vec(),
        other => {
            let one = all.map(|access| Access { cpu: 0, ..access });
            let options = Options {
                fetches: true,
                ..options()
            };
            converted("sluice", &trace(&one), other, &options).0
        }
    }
}

/// A format, and of each format what a trace loses on its way there.
type Row = (&'static str, [(&'static str, &'static [Part]); 6]);

/// By hand, from what the formats' pages say that they hold.
const ROWS: [Row; 6] = [
    (
        "sluice",
        [
            ("sluice", &[]),
            ("champsim", &[Cpus, Sizes]),
            ("oracle-general", &[Cpus, Kinds, Sizes, Bytes, Fetches]),
            ("msr-csv", &[Cpus, Fetches]),
            ("csv", &[Fetches]),
            ("lackey", &[Cpus]),
        ],
    ),
    (
        "champsim",
        [
            ("sluice", &[Registers]),
            ("champsim", &[]),
            ("oracle-general", &[Kinds, Bytes, Fetches, Registers]),
            ("msr-csv", &[Fetches, Registers]),
            ("csv", &[Fetches, Registers]),
            ("lackey", &[Registers]),
        ],
    ),
    (
        "oracle-general",
        [
            ("sluice", &[]),
            ("champsim", &[]),
            ("oracle-general", &[]),
            ("msr-csv", &[]),
            ("csv", &[]),
            ("lackey", &[Times]),
        ],
    ),
    (
        "msr-csv",
        [
            ("sluice", &[Service]),
            ("champsim", &[Sizes, Service]),
            ("oracle-general", &[Kinds, Sizes, Bytes, Service]),
            ("msr-csv", &[]),
            ("csv", &[Service]),
            ("lackey", &[Times, Service]),
        ],
    ),
    (
        "csv",
        [
            ("sluice", &[]),
            ("champsim", &[Cpus, Sizes]),
            ("oracle-general", &[Cpus, Kinds, Sizes, Bytes]),
            ("msr-csv", &[Cpus]),
            ("csv", &[]),
            ("lackey", &[Cpus, Times]),
        ],
    ),
    (
        "lackey",
        [
            ("sluice", &[]),
            ("champsim", &[Sizes]),
            ("oracle-general", &[Kinds, Sizes, Bytes, Fetches]),
            ("msr-csv", &[Fetches]),
            ("csv", &[Fetches]),
            ("lackey", &[]),
        ],
    ),
];

/// Fetches are kept.
#[test]
fn each_pair_of_formats_says_what_is_lost() {
    let options = Options {
        fetches: true,
        max_fill: 1 << 40,
        ..options()
    };
    for (from, row) in ROWS {
        for (to, due) in row {
            let report = converted(from, &full(from), to, &options).1;
            assert_eq!(report.lost, due, "{from} to {to}");
        }
    }
}

/// What was not there is not lost, and fetches that were left out are counted instead.
#[test]
fn only_what_was_there_is_lost() {
    let plain = access(0, 5, Kind::Load, 4096, 8);
    let fetch = access(0, 5, Kind::Fetch, 4096, 4);
    let other = access(1, 0, Kind::Load, 4096, 8);
    let keep = Options {
        fetches: true,
        ..options()
    };
    let lost = |all: &[Access], to, options| converted("sluice", &trace(all), to, options).1;
    assert_eq!(lost(&[], "lackey", &keep).lost, []);
    // Lackey's text counts instructions by their fetches.
    assert_eq!(lost(&[plain], "lackey", &keep).lost, [Part::Instructions]);
    assert_eq!(lost(&[fetch, plain], "lackey", &keep).lost, []);
    let usual = options();
    let left_out = lost(&[fetch, plain, fetch], "lackey", &usual);
    assert_eq!(left_out.lost, [Part::Instructions]);
    assert_eq!((left_out.accesses, left_out.fetches), (1, 2));
    assert_eq!(lost(&[plain], "msr-csv", &keep).lost, []);
    assert_eq!(lost(&[plain, other], "msr-csv", &keep).lost, [Part::Cpus]);
    let one = Options {
        cpu: Some(0),
        ..options()
    };
    let taken = lost(&[plain, other], "msr-csv", &one);
    assert_eq!((taken.accesses, taken.lost), (1, vec![]));
    // A request of which a line of each page is left has no size any more.
    let page = Options {
        request: RequestForm::Page,
        ..options()
    };
    let requests = full("csv");
    assert_eq!(
        converted("csv", &requests, "csv", &page).1.lost,
        [Part::Sizes]
    );
    assert_eq!(
        converted("sluice", &trace(&[plain]), "csv", &page).1.lost,
        []
    );
}

#[test]
fn what_became_of_times_and_requests_is_said() {
    let options = Options {
        per_second: 1000,
        ..options()
    };
    let notes = |from: &str, to| converted(from, &full(from), to, &options).1.notes;
    let has = |notes: &[String], part: &str| notes.iter().any(|note| note.contains(part));
    for (from, to, due) in [
        (
            "csv",
            "sluice",
            "times became instruction counts, 1000 a second",
        ),
        (
            "msr-csv",
            "champsim",
            "times became instruction counts, 1000 a second",
        ),
        (
            "sluice",
            "msr-csv",
            "instruction counts became times, 1000 a second",
        ),
        (
            "lackey",
            "csv",
            "instruction counts became times, 1000 a second",
        ),
    ] {
        let notes = notes(from, to);
        assert_eq!(
            notes.last().map(String::as_str),
            Some(due),
            "{from} to {to}"
        );
    }
    for (from, to) in [
        ("csv", "lackey"),
        ("csv", "msr-csv"),
        ("sluice", "champsim"),
    ] {
        assert!(!has(&notes(from, to), "became"), "{from} to {to}");
    }
    for from in [
        "csv",
        "msr-csv",
        "oracle-general",
        "sluice",
        "champsim",
        "lackey",
    ] {
        let requests = ["csv", "msr-csv", "oracle-general"].contains(&from);
        // Only objects are more than a line here.
        assert_eq!(
            has(&notes(from, "sluice"), "each page of a request"),
            from == "oracle-general",
            "{from}"
        );
        assert_eq!(format(from).has_requests(), requests);
    }
    let page = Options {
        request: RequestForm::Page,
        ..options
    };
    let notes = converted("csv", &full("csv"), "sluice", &page).1.notes;
    assert!(has(&notes, "is one access, of a line at most"), "{notes:?}");
}

#[test]
fn requests_of_a_line_each_need_no_word() {
    for (request, is_more) in [
        ("1,read,4096,64,0\n", false),
        ("1,read,4097,63,0\n", false),
        ("1,read,4097,64,0\n", true),
        ("1,read,4096,65,0\n", true),
    ] {
        let (_, report) = converted("csv", request.as_bytes(), "sluice", &options());
        let is_told = report.notes.join("; ").contains("each page of a request");
        assert_eq!(is_told, is_more, "{request}");
    }
}

#[test]
fn a_conversion_can_be_ended() {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    std::fs::write(&a, full("csv")).unwrap();
    let (out, pending) = Output::new(&b).unwrap();
    let (from, to) = (format("csv"), format("sluice"));
    let report = convert(from, Input::new(&a), to, out, &options(), &mut |_| false);
    assert_eq!(report.unwrap(), None);
    drop(pending);
    assert!(!b.exists());
}

#[test]
fn a_name_says_which_format_it_is() {
    let of = |name: &str| {
        let found = Format::of_name(Path::new(name));
        found.map(|(format, is_packed)| (format.name, is_packed))
    };
    for (name, due) in [
        ("a.trace", Some(("sluice", false))),
        ("folder/a.SLUICE", Some(("sluice", false))),
        ("a.champsimtrace.xz", Some(("champsim", true))),
        ("a.champsim", Some(("champsim", false))),
        ("a.oracleGeneral.zst", Some(("oracle-general", true))),
        ("a.oracleGeneral.bin", Some(("oracle-general", false))),
        ("a.csv.gz", Some(("msr-csv", true))),
        ("a.lackey", Some(("lackey", false))),
        ("a.lackey.bz2", None),
        ("alackey", None),
        ("a.xlackey", None),
        ("lackey", None),
        ("a.gz", None),
        ("..", None),
    ] {
        assert_eq!(of(name), due, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(64)))]

    /// Byte by byte: those of a page are an access, or the first of its line alone.
    #[test]
    fn a_request_is_an_access_to_each_page(
        address in 0..40_000u64, size in 1..20_000u64, store: bool, cpu in 0..3u32,
    ) {
        let op = if store { "write" } else { "read" };
        let line = format!("9,{op},{address},{size},{cpu}\n");
        for form in [RequestForm::Lines, RequestForm::Page] {
            let options = Options { request: form, ..options() };
            let (bytes, _) = converted("csv", line.as_bytes(), "sluice", &options);
            let mut due: Vec<Access> = Vec::new();
            for at in address..address + size {
                let kind = if store { Kind::Store } else { Kind::Load };
                match due.last_mut() {
                    Some(last) if last.address / 4096 == at / 4096 => {
                        if form == RequestForm::Lines || last.address / 64 == at / 64 {
                            last.size += 1;
                        }
                    }
                    _ => due.push(access(cpu, 0, kind, at, 1)),
                }
            }
            prop_assert_eq!(accesses(&bytes), due);
        }
    }

    #[test]
    fn times_of_every_unit_are_instructions(
        whole in prop::collection::vec(0..5_000u64, 1..20), part in 0..1_000u64,
    ) {
        for (unit, ns) in [("time_s", 1_000_000_000), ("time_ms", 1_000_000), ("time_us", 1_000),
            ("time_ns", 1), ("time", 1)] {
            // A fraction needs a unit.
            let (part, digits) = match unit {
                "time" => (0, String::new()),
                _ => (part, format!(".{part:03}")),
            };
            let line = |time: &u64| format!("{time}{digits},4096\n");
            let text: String = whole.iter().map(line).collect();
            let options = Options {
                columns: format!("{unit},address").parse().ok(),
                per_second: 2_000_000_000,
                ..Options::default()
            };
            let (bytes, _) = converted("csv", text.as_bytes(), "sluice", &options);
            // From the first on, and never back.
            let of = |time: u64| time * ns + part * ns / 1_000;
            let mut latest = 0;
            for (access, time) in accesses(&bytes).iter().zip(&whole) {
                latest = latest.max(2 * of(*time).saturating_sub(of(whole[0])));
                prop_assert_eq!(access.instructions, latest);
            }
        }
    }
}

/// A request: time, object, size, and that it is never requested again.
fn record(time: u32, id: u64, size: u32) -> Vec<u8> {
    let mut bytes = time.to_le_bytes().to_vec();
    bytes.extend(id.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend((-1i64).to_le_bytes());
    bytes
}

/// Four requests, of which one is for nothing and one is larger than an object.
fn requests() -> [Vec<u8>; 4] {
    [
        record(5, 7, 100),
        record(6, 3, 8192),
        record(6, 7, 0),
        record(8, 7, 8193),
    ]
}

fn objects() -> Options {
    Options {
        object: 8192,
        ..options()
    }
}

/// The accesses that requests become, each with its instructions, and the notes.
fn read(records: &[Vec<u8>], options: &Options) -> (Vec<(u64, u64, u16)>, Vec<String>) {
    let (bytes, report) = converted("oracle-general", &records.concat(), "sluice", options);
    let of = |access: &Access| (access.instructions, access.address, access.size);
    (accesses(&bytes).iter().map(of).collect(), report.notes)
}

/// Requests of libCacheSim's, by hand: time, object, size and the next request.
#[test]
fn a_cache_trace_says_what_became_of_its_objects() {
    let (all, base) = (requests(), objects());
    let (found, notes) = read(&all, &base);
    let second = 1_000_000_000;
    let due = [
        (0, 7 << 13, 100),
        (second, 3 << 13, 8192),
        (3 * second, 7 << 13, 8192),
    ];
    assert_eq!(found, due);
    assert_eq!(
        notes[..3],
        [
            "each object is 8192 bytes of memory; every request is a load",
            "1 requests of 0 bytes left out",
            "1 requests of more than that were cut",
        ]
    );
    let (_, notes) = read(&all[..2], &base);
    assert!(
        !notes.iter().any(|note| note.contains("0 requests")),
        "{notes:?}"
    );
}

#[test]
fn objects_can_be_numbered_and_larger_than_an_access() {
    let (all, base) = (requests(), objects());
    let second = 1_000_000_000;
    // Numbered, the first object is at 0. A page of a request is its first line alone.
    let numbered = Options {
        number_objects: true,
        request: RequestForm::Page,
        ..base
    };
    let (found, notes) = read(&all, &numbered);
    assert_eq!(
        found,
        [
            (0, 0, 64),
            (second, 8192, 64),
            (second, 12_288, 64),
            (3 * second, 0, 64),
            (3 * second, 4096, 64),
        ]
    );
    assert_eq!(notes[1], "2 objects, numbered as they come first");
    // An object larger than an access can say is several, all at its time.
    let large = Options {
        object: 1 << 20,
        ..base
    };
    let part = 32 << 10;
    let parts: Vec<_> = (0..32)
        .map(|n| (0, (1 << 20) + n * part, part as u16))
        .collect();
    assert_eq!(read(&[record(0, 1, 1 << 20)], &large).0, parts);
}
