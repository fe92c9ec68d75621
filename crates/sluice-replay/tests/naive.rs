//! Traces as streams and programs, against a plain reading of their list of accesses.

use sluice_driver::Asked;
use sluice_host::{Instr, MemOp, Program, Step};
use sluice_replay::{Placement, Replay};
use sluice_trace::convert::{FORMATS, Input, Options, Output, RequestForm, convert};
use sluice_trace::{Access, Header, Kind, Order, Writer};
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES, Rng};
use std::collections::HashMap;
use std::path::Path;

const CPUS: u64 = 4;
/// Instructions that each CPU executed. The second one makes no access.
const EXECUTED: [u64; CPUS as usize] = [400_000, 50, 90_000, 350_000];
/// A CPU is past these after so many accesses.
const EACH: usize = 9_000;

/// Loads, stores and fetches of three CPUs, some over lines and pages.
fn accesses() -> Vec<Access> {
    let mut rng = Rng::stream(5, "trace");
    let mut instructions = [0; CPUS as usize];
    let mut all = Vec::new();
    for _ in 0..EACH {
        let cpu = [0, 2, 3][rng.below(3) as usize];
        let before = &mut instructions[cpu as usize];
        *before += 1 + rng.below(20);
        let kind = [Kind::Load, Kind::Store, Kind::Fetch, Kind::Load][rng.below(4) as usize];
        all.push(Access {
            cpu,
            instructions: *before,
            address: (7 + rng.below(300)) * PAGE_BYTES + rng.below(PAGE_BYTES),
            size: 1 + rng.below(200) as u16,
            kind,
        });
    }
    all
}

/// A trace of many blocks, which ends in good order or not.
fn write(path: &Path, accesses: &[Access], is_finished: bool) {
    write_as(path, accesses, is_finished, Order::Global);
}

fn write_as(path: &Path, accesses: &[Access], is_finished: bool, order: Order) {
    let header = Header {
        order,
        ..Header::new("test")
    };
    let mut writer = Writer::create(path, &header).unwrap();
    for some in accesses.chunks(300) {
        some.iter().for_each(|access| writer.push(access).unwrap());
        writer.flush().unwrap();
    }
    if is_finished {
        writer.finish(&EXECUTED).unwrap();
    }
}

/// Where each page lies.
fn places(accesses: &[Access], placement: Placement) -> HashMap<u64, u64> {
    let mut pages = Vec::new();
    for access in accesses {
        let end = access.address + u64::from(access.size) - 1;
        for page in access.address / PAGE_BYTES..=end / PAGE_BYTES {
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
    }
    if placement == Placement::Address {
        pages.sort_unstable();
    }
    pages.into_iter().zip(0..).collect()
}

/// The lines that a CPU touches: where, and whether it stores.
fn lines(accesses: &[Access], places: &HashMap<u64, u64>, cpu: u32) -> Vec<(u64, bool)> {
    let mut lines = Vec::new();
    for access in accesses.iter().filter(|access| access.cpu == cpu) {
        let mut last = None;
        for byte in access.address..access.address + u64::from(access.size) {
            if last != Some(byte / LINE_BYTES) {
                last = Some(byte / LINE_BYTES);
                let place = places[&(byte / PAGE_BYTES)];
                let addr = place * PAGE_BYTES + byte % PAGE_BYTES;
                lines.push((addr, access.kind == Kind::Store));
            }
        }
    }
    lines
}

fn data() -> (Vec<Access>, Vec<Access>) {
    let all = accesses();
    let data = all.iter().filter(|access| access.kind != Kind::Fetch);
    let data = data.copied().collect();
    (all, data)
}

#[test]
fn streams_are_the_lines_of_each_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let (all, data) = data();
    write(&path, &all, true);
    for placement in [Placement::Touch, Placement::Address] {
        let replay = Replay::open(&path, placement).unwrap();
        let places = places(&data, placement);
        assert_eq!((replay.cpus(), replay.unfinished()), (3, None));
        assert_eq!(replay.accesses(), data.len() as u64);
        assert_eq!(replay.footprint(), Bytes(places.len() as u64 * PAGE_BYTES));
        let streams = replay.streams().unwrap();
        assert_eq!(streams.len(), 3);
        for (stream, cpu) in streams.into_iter().zip([0, 2, 3]) {
            let told: Vec<_> = stream.map(|access| (access.addr, access.write)).collect();
            assert!(told == lines(&data, &places, cpu), "{placement:?} {cpu}");
        }
        assert!(replay.failure().is_none());
    }
}

/// What a thread executes, by as many calls as it takes.
fn executed(program: &mut dyn Program, thread: u32) -> Vec<Instr> {
    let mut out = Vec::new();
    loop {
        let before = out.len();
        let step = program.fill(thread, &mut out);
        assert!(out.len() - before <= 4_096, "a stretch has a bound");
        if step != Step::More {
            return out;
        }
        assert!(out.len() > before, "it goes on");
    }
}

#[test]
fn a_program_executes_what_its_cpus_did() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let (all, data) = data();
    write(&path, &all, true);
    let replay = Replay::open(&path, Placement::Touch).unwrap();
    let places = places(&data, Placement::Touch);
    let mut program = replay.program(5).unwrap();
    assert_eq!(program.threads(), 5);
    assert_eq!(program.footprint(), replay.footprint());
    for (thread, cpu) in [(0, 0), (1, 2), (2, 3)] {
        let told = executed(&mut program, thread);
        let count: u64 = told.iter().map(Instr::count).sum();
        assert_eq!(count, EXECUTED[cpu as usize], "all that it executed");
        let memory = told.iter().filter(|instr| instr.op != MemOp::None);
        let memory = memory.map(|instr| (instr.addr, instr.op == MemOp::Store));
        let memory: Vec<_> = memory.collect();
        assert!(memory == lines(&data, &places, cpu), "{cpu}");
    }
    for thread in [3, 4] {
        assert_eq!(executed(&mut program, thread), []);
    }
}

#[test]
fn a_trace_whose_writer_was_stopped_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let (all, data) = data();
    write(&path, &all, false);
    // A writer that is not there any more may have renamed nothing.
    let part = std::fs::read_dir(dir.path()).unwrap().next();
    let path = part.unwrap().unwrap().path();
    let replay = Replay::open(&path, Placement::Touch).unwrap();
    assert!(replay.unfinished().is_some_and(|why| !why.is_empty()));
    assert_eq!(replay.accesses(), data.len() as u64);
}

/// The file becomes another one between the first reading and the second.
#[test]
fn a_block_that_is_damaged_later_ends_its_streams_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let (all, data) = data();
    write(&path, &all, true);
    let replay = Replay::open(&path, Placement::Touch).unwrap();
    let mut streams = replay.streams().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0x55);
    std::fs::write(&path, &bytes).unwrap();
    let places = places(&data, Placement::Touch);
    for (stream, cpu) in streams.iter_mut().zip([0, 2, 3]) {
        let told: Vec<_> = stream.map(|access| (access.addr, access.write)).collect();
        let all = lines(&data, &places, cpu);
        assert!((1..all.len()).contains(&told.len()), "{}", told.len());
        assert!(told == all[..told.len()], "what comes before is right");
    }
    assert!(replay.failure().is_some());
    assert!(replay.failure().is_none(), "it is said once");
}

/// In the order of the file, or in that of the instructions that each CPU has executed: the CPU,
/// the instructions, where, and whether it stores.
#[test]
fn the_lines_of_all_cpus_are_in_one_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let (all, data) = data();
    let places = places(&data, Placement::Touch);
    for order in [Order::Global, Order::PerCpu] {
        write_as(&path, &all, true, order);
        let replay = Replay::open(&path, Placement::Touch).unwrap();
        let mut accesses = data.clone();
        if order == Order::PerCpu {
            accesses.sort_by_key(|access| (access.instructions, access.cpu));
        }
        let of = |access: Access| {
            let cpu = [0, 9, 1, 2][access.cpu as usize];
            let lines = lines(&[access], &places, access.cpu);
            let lines = lines.into_iter();
            lines.map(move |(addr, write)| (cpu, access.instructions, addr, write))
        };
        let due: Vec<_> = accesses.into_iter().flat_map(of).collect();
        let found = replay.in_order().unwrap();
        let found = found.map(|(cpu, line)| (cpu, line.instructions, line.addr, line.write));
        assert!(found.eq(due), "{order:?}");
        assert!(replay.failure().is_none());
    }
}

/// Requests of a text, of as many bytes as pieces of a trace hold, or more or less.
#[test]
fn requests_of_whole_pieces_are_as_many_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let format = |name: &str| FORMATS.iter().find(|format| format.name == name).unwrap();
    let options = Options {
        request: RequestForm::Block,
        columns: Some("op,address,size".parse().unwrap()),
        ..Options::default()
    };
    for op in ["read", "write", "trim"] {
        // Bytes of requests, each of which begins where the one before ends.
        let sizes = [61_440, 4096, 122_880, 8192, 61_440, 184_320, 65_536, 4096];
        let (mut rows, mut due, mut address) = (String::new(), Vec::new(), 0);
        for size in sizes {
            rows += &format!("{op},{address},{size}\n");
            due.push(vec![(address / PAGE_BYTES, size / PAGE_BYTES)]);
            address += size;
        }
        std::fs::write(at("rows.csv"), rows).unwrap();
        let (output, pending) = Output::new(&at("rows.trace")).unwrap();
        let input = Input::new(&at("rows.csv"));
        let (csv, own) = (format("csv"), format("sluice"));
        convert(csv, input, own, output, &options, &mut |_| true).unwrap();
        pending.unwrap().keep().unwrap();
        let replay = Replay::open(&at("rows.trace"), Placement::Touch).unwrap();
        assert_eq!(replay.footprint(), Bytes(address));
        let asked = replay.asked(1 << 20, PAGE_BYTES).unwrap().remove(0);
        let asked = asked.map(|asked| match asked {
            Asked::Block(request) => request.runs,
            Asked::Access(_) => panic!("a request"),
        });
        assert_eq!(asked.collect::<Vec<_>>(), due, "{op}");
    }
}
