//! The block door of a device in a file: a process that has the file open moves contents by it, and
//! the device says how long that takes and what is cached.

use super::rig::{PAGE, Rig};
use crate::sluice::Sluice;
use sluice_abi::{CACHED, Completion, Operation, Range, Reason, Request, Status};
use sluice_control::{Connection, DeviceFiles};
use sluice_testkit::child::{self, Watch};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// Stores to the first 8 pages, waits, and says what it finds in the first 3.
const PROGRAM: &str = "
import mmap, sys
with open(sys.argv[1], 'r+b') as f:
    m = mmap.mmap(f.fileno(), 64 << 12)
m[:8 << 12] = b'm' * (8 << 12)
print('ready', flush=True)
sys.stdin.read()
print([chr(m[page << 12]) for page in range(3)])
";
const READ_NS: u64 = 50_000_000;

fn ask(to: &mut Connection, operation: Operation, first: u64, pages: u64) -> Completion {
    let range = Range {
        start: first * PAGE,
        len: pages * PAGE,
        is_address: false,
    };
    to.call(Request::Pages(operation, range))
        .expect("an answer")
}

/// How long after its start a device's next answer can be at the earliest.
fn at_least(connection: &mut Connection) -> u64 {
    let answer = connection.call(Request::Stats).expect("an answer");
    answer.done_ns
}

/// The program on a device in a file.
fn start(path: &Path) -> Child {
    let mut sluice = Sluice::command();
    sluice.args(["run", "--place"]);
    sluice.arg(format!("dax:{}", path.display()));
    sluice.args([
        "--set",
        "device.capacity=16MiB",
        "--set",
        "cache.capacity=1MiB",
    ]);
    sluice.args(["--set", "nand.read=50ms", "--", "python3", "-c", PROGRAM]);
    child::with_default_signals(sluice.arg(path))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("a command that starts")
}

#[test]
fn a_file_has_a_block_door_to_the_cache_and_the_flash() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let path = folder.path().join("device");
    let device = File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(&path)
        .expect("a file");
    device.set_len(64 * PAGE).expect("room");
    let mut child = start(&path);
    let _watch = Watch::over(&child, child::LIMIT).expect("a thread");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let files = DeviceFiles::of_process(child.id()).expect("a ring");
    let mut c = Connection::open(files).expect("a channel");
    assert!((0..8).all(|page| c.view().page(page) & CACHED != 0));

    // What is cached comes from there, what is not takes the flash's time and is not cached then.
    let now = at_least(&mut c);
    let cached = ask(&mut c, Operation::BlockRead, 0, 8);
    assert_eq!((cached.status, cached.changed), (Status::Done, 8));
    let before = at_least(&mut c);
    assert!(cached.done_ns <= before && cached.done_ns >= now);
    let flash = ask(&mut c, Operation::BlockRead, 20, 2);
    assert!(flash.done_ns >= before + READ_NS, "{flash:?}");
    assert!(at_least(&mut c) < flash.done_ns, "nobody waits in the ring");
    assert_eq!(c.view().page(20) & CACHED, 0);

    // New contents end the cached copy, and the program finds them; so does a trim.
    let page = [b'd'; PAGE as usize];
    device.write_all_at(&page, PAGE).expect("room");
    let written = ask(&mut c, Operation::BlockWrite, 1, 1);
    assert_eq!((written.status, written.changed), (Status::Done, 1));
    device
        .write_all_at(&[0; PAGE as usize], 2 * PAGE)
        .expect("room");
    assert_eq!(ask(&mut c, Operation::BlockTrim, 2, 1).status, Status::Done);
    let of_pages: Vec<bool> = (0..4)
        .map(|page| c.view().page(page) & CACHED != 0)
        .collect();
    assert_eq!(of_pages, [true, false, false, true]);
    let beyond = ask(&mut c, Operation::BlockRead, 4095, 2);
    assert_eq!(
        (beyond.status, beyond.reason),
        (Status::BadRange, Reason::None)
    );

    drop(child.stdin.take());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "['m', 'd', '\\x00']\n");
    assert!(child.wait().expect("our own child").success());
}

/// The pages of a heap are in the program's own memory: nobody else could move their contents.
#[test]
fn a_heap_has_no_block_door() {
    let mut rig = Rig::start("event", &[]);
    rig.tell("write 0 16");
    let files = DeviceFiles::of_process(rig.pid as u32).expect("a ring");
    let mut connection = Connection::open(files).expect("a channel");
    for operation in [
        Operation::BlockRead,
        Operation::BlockWrite,
        Operation::BlockTrim,
    ] {
        let answer = ask(&mut connection, operation, 0, 4);
        assert_eq!(answer.status, Status::BadOperation, "{operation:?}");
    }
    rig.tell("read 0 16");
    rig.quit();
}
