//! Formats hold what they say: what goes out comes back, but for what the report calls lost.

use proptest::prelude::*;
use sluice_trace::convert::{
    Columns, FORMATS, Format, Input, Options, Output, Part, Report, convert,
};
use sluice_trace::{Access, Header, Kind, Reader, Writer};
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

fn run(from: &str, input: &Path, to: &str, output: &Path, options: &Options) -> Report {
    let (out, pending) = Output::new(output).unwrap();
    let input = Input::new(input);
    let report = convert(format(from), input, format(to), out, options, &mut |_| true);
    let report = report.unwrap().unwrap();
    pending.unwrap().keep().unwrap();
    report
}

fn write(path: &Path, accesses: &[Access]) {
    let mut writer = Writer::create(path, &Header::new("test")).unwrap();
    accesses
        .iter()
        .for_each(|access| writer.push(access).unwrap());
    writer.finish(&[]).unwrap();
}

fn read(path: &Path) -> Vec<Access> {
    Reader::open(path).unwrap().map(Result::unwrap).collect()
}

/// From Sluice's to another format and back; what that gives, and the report of the first half.
fn round(name: &str, accesses: &[Access], options: &Options) -> (Vec<Access>, Report) {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    write(&a, accesses);
    let report = run("sluice", &a, name, &b, options);
    run(name, &b, "sluice", &c, options);
    (read(&c), report)
}

fn access(instructions: u64, kind: Kind, address: u64, size: u16) -> Access {
    Access {
        cpu: 0,
        instructions,
        address,
        size,
        kind,
    }
}

/// What one CPU does: every instruction is fetched and makes up to two loads and two stores.
fn program() -> impl Strategy<Value = Vec<Access>> {
    let data = || prop::collection::vec((1..1u64 << 40, 1..65u16), 0..3);
    let instruction = (1..1u64 << 40, 1..16u16, data(), data());
    prop::collection::vec(instruction, 0..200).prop_map(|instructions| {
        let mut all = Vec::new();
        for (n, (address, size, loads, stores)) in (0..).zip(instructions) {
            all.push(access(n, Kind::Fetch, address, size));
            let of = |kind, data: Vec<(u64, u16)>| {
                let one = move |(address, size)| access(n, kind, address, size);
                data.into_iter().map(one)
            };
            all.extend(of(Kind::Load, loads));
            all.extend(of(Kind::Store, stores));
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(24)))]

    #[test]
    fn lackeys_text_holds_all_of_one_cpu(program in program()) {
        let options = Options { fetches: true, ..Options::default() };
        let (back, report) = round("lackey", &program, &options);
        prop_assert_eq!(back, program);
        prop_assert_eq!(report.lost, []);
    }

    #[test]
    fn champsim_holds_all_but_sizes(program in program()) {
        let options = Options { fetches: true, ..Options::default() };
        let (back, report) = round("champsim", &program, &options);
        let sized = |one: &Access| Access {
            size: if one.kind == Kind::Fetch { 4 } else { 8 },
            ..*one
        };
        prop_assert_eq!(back, program.iter().map(sized).collect::<Vec<_>>());
        prop_assert_eq!(report.lost, [Part::Sizes]);
    }

    #[test]
    fn requests_for_objects_hold_the_order_of_objects(
        pages in prop::collection::vec(0..50u64, 0..300),
    ) {
        let loads: Vec<Access> = (0..).zip(&pages)
            .map(|(n, page)| access(3 * n, Kind::Load, page * 4096, 4096))
            .collect();
        // As many instructions a second as fit: whole seconds are all that is kept.
        let options = Options { per_second: 1, ..Options::default() };
        let (back, report) = round("oracle-general", &loads, &options);
        prop_assert_eq!(back, loads);
        prop_assert_eq!(report.lost, [Part::Kinds, Part::Sizes, Part::Bytes]);
    }

    #[test]
    fn the_next_request_is_the_next_request(pages in prop::collection::vec(0..9u64, 0..9000)) {
        let dir = TempDir::new().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        let loads: Vec<Access> =
            pages.iter().map(|page| access(0, Kind::Load, page * 4096, 8)).collect();
        write(&a, &loads);
        run("sluice", &a, "oracle-general", &b, &Options::default());
        let bytes = std::fs::read(&b).unwrap();
        prop_assert_eq!(bytes.len(), 24 * pages.len());
        for (n, record) in bytes.chunks(24).enumerate() {
            let next = i64::from_le_bytes(std::array::from_fn(|at| record[16 + at]));
            let due = pages[n + 1..].iter().position(|page| *page == pages[n]);
            prop_assert_eq!(next, due.map_or(-1, |ahead| (n + 2 + ahead) as i64));
        }
    }

    #[test]
    fn a_block_trace_comes_back_as_it_was(
        requests in prop::collection::vec((0..1u64 << 40, 1..20_000u64, any::<bool>()), 0..60),
    ) {
        let dir = TempDir::new().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
        let rows = (0..).zip(&requests).map(|(n, (offset, size, store))| {
            let kind = if *store { "Write" } else { "Read" };
            format!("{},sluice,0,{kind},{offset},{size},0\n", 77 * n)
        });
        let text: String = rows.collect();
        std::fs::write(&a, &text).unwrap();
        run("msr-csv", &a, "sluice", &b, &Options::default());
        run("sluice", &b, "msr-csv", &c, &Options::default());
        prop_assert_eq!(std::fs::read_to_string(&c).unwrap(), text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        which in 0..FORMATS.len(),
    ) {
        let dir = TempDir::new().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        std::fs::write(&a, &bytes).unwrap();
        let (out, _pending) = Output::new(&b).unwrap();
        let (input, options) = (Input::new(&a), Options::default());
        let _ = convert(&FORMATS[which], input, format("lackey"), out, &options, &mut |_| true);
    }
}

/// Twelve lines that valgrind 3.19 wrote, and what they say.
#[test]
fn lackeys_own_text() {
    let text = "==25071== Lackey, an example Valgrind tool\n\
                I  04020290,3\nI  04020293,5\n S 1ffefffe48,8\nI  04021040,1\n S 1ffefffe40,8\n\
                I  04021058,2\n M 0421d2c0,8\nI  0402105a,7\n L 0421d2c8,8\n\n--25071-- done\n";
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    std::fs::write(&a, text).unwrap();
    let report = run("lackey", &a, "sluice", &b, &Options::default());
    assert_eq!((report.accesses, report.fetches), (5, 5));
    assert_eq!(report.lost, []);
    let due = [
        access(1, Kind::Store, 0x1f_feff_fe48, 8),
        access(2, Kind::Store, 0x1f_feff_fe40, 8),
        access(3, Kind::Load, 0x0421_d2c0, 8),
        access(3, Kind::Store, 0x0421_d2c0, 8),
        access(4, Kind::Load, 0x0421_d2c8, 8),
    ];
    assert_eq!(read(&b), due);
    let options = Options {
        fetches: true,
        ..Options::default()
    };
    run("lackey", &a, "lackey", &c, &options);
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(['=', '-']));
    let plain: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(std::fs::read_to_string(&c).unwrap(), plain);
}

/// An instruction as ChampSim's tracer writes it.
#[test]
fn champsims_own_record() {
    let mut record = [0u8; 64];
    record[..8].copy_from_slice(&0x40_1234u64.to_le_bytes());
    (record[8], record[9]) = (1, 1);
    record[10..16].copy_from_slice(&[26, 0, 6, 25, 0, 0]);
    record[16..24].copy_from_slice(&0x7fff_0010u64.to_le_bytes());
    record[32..40].copy_from_slice(&0x7fff_0000u64.to_le_bytes());
    record[40..48].copy_from_slice(&0x7fff_0008u64.to_le_bytes());
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    std::fs::write(&a, [[0u8; 64], record].concat()).unwrap();
    let report = run("champsim", &a, "sluice", &b, &Options::default());
    assert_eq!(report.lost, [Part::Registers]);
    let notes = report.notes.join("; ");
    assert!(
        notes.contains("2 instructions; sizes are made up: 8 bytes"),
        "{notes}"
    );
    let due = [
        access(1, Kind::Load, 0x7fff_0000, 8),
        access(1, Kind::Load, 0x7fff_0008, 8),
        access(1, Kind::Store, 0x7fff_0010, 8),
    ];
    assert_eq!(read(&b), due);
}

#[test]
fn instructions_without_memory_are_there_in_champsim() {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let gaps = [
        access(5, Kind::Load, 64, 8),
        access(1000, Kind::Store, 128, 8),
    ];
    write(&a, &gaps);
    let report = run("sluice", &a, "champsim", &b, &Options::default());
    assert_eq!(std::fs::metadata(&b).unwrap().len(), 64 * 1001);
    assert_eq!(report.lost, [Part::Sizes]);
    run("champsim", &b, "sluice", &c, &Options::default());
    assert_eq!(read(&c), gaps);
}

/// A record has room for four loads and two stores.
#[test]
fn what_is_too_much_for_one_instruction_of_champsim_is_told() {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let several = |number, kind, count| (1..=count).map(move |n| access(number, kind, 64 * n, 8));
    let told = |loads, stores| {
        let loads = several(0, Kind::Load, loads).chain(several(1, Kind::Load, 5));
        let all: Vec<Access> = loads.chain(several(2, Kind::Store, stores)).collect();
        write(&a, &all);
        let report = run("sluice", &a, "champsim", &b, &Options::default());
        let back = run("champsim", &b, "sluice", &c, &Options::default());
        assert_eq!(back.accesses, all.len() as u64);
        report.notes.join("; ")
    };
    let of = |count| {
        format!("; {count} instructions with more than 4 loads, 2 stores or a fetch became")
    };
    for (loads, stores, count) in [(4, 2, 1), (5, 2, 2), (4, 3, 2), (5, 4, 3), (9, 5, 3)] {
        let notes = told(loads, stores);
        assert!(notes.contains(&of(count)), "{loads}, {stores}: {notes}");
    }
}

#[test]
fn what_is_compressed_is_decompressed() {
    let text = b"I  00001000,4\n L 00002000,8\n".repeat(1000);
    let gzip = || {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(&text).unwrap();
        out.finish().unwrap()
    };
    let xz = || {
        let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
        out.write_all(&text).unwrap();
        out.finish().unwrap()
    };
    let zstd = || zstd::stream::encode_all(&text[..], 1).unwrap();
    for bytes in [text.clone(), gzip(), xz(), zstd()] {
        let dir = TempDir::new().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        std::fs::write(&a, &bytes).unwrap();
        assert_eq!(
            run("lackey", &a, "sluice", &b, &Options::default()).accesses,
            1000
        );
    }
}

/// The first thing that is wrong, with its place.
fn refusal(from: &str, bytes: &[u8]) -> String {
    let dir = TempDir::new().unwrap();
    let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
    std::fs::write(&a, bytes).unwrap();
    let (out, pending) = Output::new(&b).unwrap();
    let (input, options) = (Input::new(&a), Options::default());
    let error = convert(
        format(from),
        input,
        format("sluice"),
        out,
        &options,
        &mut |_| true,
    );
    let error = error.unwrap_err().to_string();
    drop(pending);
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing is left"
    );
    error.replace(&format!("{}, ", a.display()), "")
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    assert_eq!(
        refusal("lackey", b"I  00001000,4\n X 12,8\n"),
        "line 2: \" X 12,8\" is not lackey's; expected \"I  ADDR,SIZE\", \" L ADDR,SIZE\", \
         \" S ADDR,SIZE\" or \" M ADDR,SIZE\""
    );
    assert_eq!(
        refusal("champsim", &[0; 100]),
        "record 2: 36 bytes of a record of 64; the file is cut off, or of another format"
    );
    assert_eq!(
        refusal("oracle-general", &[0; 30]),
        "record 2: 6 bytes of a record of 24; the file is cut off, or of another format"
    );
    assert_eq!(
        refusal("oracle-general", &[0xff; 24]),
        "request 1: object 18446744073709551615 has no address in steps of 4096 bytes; \
         objects can be numbered as they come first (--number-objects)"
    );
    let csv = |row: &str| refusal("msr-csv", format!("1,a,0,Read,0,512,9\n{row}\n").as_bytes());
    let few = csv("1,a,0,Read,0,512");
    assert!(
        few.starts_with("line 2: 6 fields; expected the 7 of MSR"),
        "{few}"
    );
    assert!(few.ends_with("or others that --columns names"), "{few}");
    assert_eq!(
        csv("1,a,0,Trim,0,512,9"),
        "line 2: Type: \"Trim\"; expected Read or Write"
    );
    assert_eq!(
        csv("1,a,0,Read,x,512,9"),
        "line 2: Offset: \"x\" is no whole number"
    );
    assert_eq!(
        csv("1,a,1,Read,0,512,9"),
        "line 2: disk \"a 1\", and \"a 0\" before; one disk is a trace"
    );
    assert_eq!(
        csv("1,a,0,Read,0,99999999999,9"),
        "line 2: Size: 99999999999 bytes; expected 1 GiB at most"
    );
}

#[test]
fn one_cpu_can_be_taken_out_and_several_are_lost() {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let other = |access| Access { cpu: 1, ..access };
    let all = [
        access(0, Kind::Load, 64, 8),
        other(access(0, Kind::Store, 128, 8)),
        access(2, Kind::Load, 192, 8),
    ];
    write(&a, &all);
    let report = run("sluice", &a, "champsim", &b, &Options::default());
    assert_eq!(report.lost, [Part::Cpus, Part::Sizes]);
    let options = Options {
        cpu: Some(1),
        ..Options::default()
    };
    let report = run("sluice", &a, "sluice", &c, &options);
    assert_eq!((read(&c), report.lost), (vec![all[1]], vec![]));
    let error = Output::new(&dir.path().join("x.xz"))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.ends_with("is not compressed; write to - and pipe it to xz"),
        "{error}"
    );
}

/// Without fetches those after the last access went.
#[test]
fn no_format_loses_an_instruction_at_its_end() {
    let dir = TempDir::new().unwrap();
    let [text, records, a, b, c] = ["t", "r", "a", "b", "c"].map(|name| dir.path().join(name));
    for after in [0, 1, 9_000] {
        let lines = "I  00001000,4\n L 00005000,8\n".to_owned();
        let lines = lines + &"I  00001004,4\n".repeat(after);
        std::fs::write(&text, &lines).unwrap();
        let mut record = [0u8; 64];
        record[32] = 64;
        std::fs::write(&records, [&record[..], &vec![0; 64 * after]].concat()).unwrap();
        let of_text = lines.lines().filter(|line| line.starts_with('I')).count() as u64;
        let of_records = std::fs::metadata(&records).unwrap().len() / 64;
        for (from, path, due) in [
            ("lackey", &text, of_text),
            ("champsim", &records, of_records),
        ] {
            assert_eq!(
                run(from, path, "sluice", &a, &Options::default()).accesses,
                1
            );
            assert_eq!(Reader::open(&a).unwrap().cpus(), [due], "{from}");
            run(from, path, "champsim", &b, &Options::default());
            assert_eq!(std::fs::metadata(&b).unwrap().len(), 64 * due, "{from}");
            run("sluice", &a, "champsim", &c, &Options::default());
            assert_eq!(std::fs::read(&c).unwrap(), std::fs::read(&b).unwrap());
        }
    }
    // No access at all.
    std::fs::write(&records, [0; 64 * 7]).unwrap();
    run("champsim", &records, "sluice", &a, &Options::default());
    assert_eq!(Reader::open(&a).unwrap().cpus(), [7]);
}

/// CPUs go on after their last accesses, and an instruction that ends the trace has none at all.
#[test]
fn instructions_after_the_last_access_are_kept() {
    let dir = TempDir::new().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let mut writer = Writer::create(&a, &Header::new("test")).unwrap();
    for cpu in [0, 1] {
        let one = access(5, Kind::Load, 64, 8);
        writer.push(&Access { cpu, ..one }).unwrap();
    }
    writer.finish(&[1000, 2000]).unwrap();
    let executed = |path| Reader::open(path).unwrap().cpus().to_vec();
    run("sluice", &a, "sluice", &b, &Options::default());
    assert_eq!(executed(&b), [1000, 2000]);
    let options = Options {
        cpu: Some(1),
        ..Options::default()
    };
    run("sluice", &a, "sluice", &c, &options);
    assert_eq!(executed(&c), [0, 2000]);
}

#[test]
fn columns_are_names_with_an_address_among_them() {
    for good in [
        "address",
        "-,-,address,-",
        "time_us, op ,address,size,cpu",
        &too_many(31),
    ] {
        good.parse::<Columns>().unwrap();
    }
    for bad in [
        "",
        "op",
        "address,address",
        "time,time_s,address",
        "address,sise",
        &too_many(32),
    ] {
        assert!(bad.parse::<Columns>().is_err(), "{bad}");
    }
    let told = format!("{:?}", "op,address".parse::<Columns>().unwrap());
    assert_eq!(told, "[Op, Address]");
}

/// An address and so many columns that are not wanted.
fn too_many(others: usize) -> String {
    format!("address{}", ",-".repeat(others))
}
