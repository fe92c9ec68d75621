//! A disk and a guest's driver that is written here, from the layout of virtio 1.2, section 2.7.

mod driver;
mod ends;
mod hostile;

use driver::{Buffer, Driver, HEAD};
use sluice_disk::{BLOCK, Disk, Door, DoorError, Figures, Listening, Power, Serving};
use sluice_units::Rng;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PAGES: u64 = 512;
const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 4;
const NAME: u32 = 8;
const TRIM: u32 = 11;
const OK: u8 = 0;
const FAILED: u8 = 1;
const UNKNOWN: u8 = 2;

/// A device that takes as long for a page as the test says, and keeps what it was asked for.
#[derive(Clone, Default)]
struct Model(Arc<Mutex<Asked>>);

#[derive(Default)]
struct Asked {
    calls: Vec<(&'static str, Range<u64>)>,
    /// What the next calls take, ms; nothing after the last.
    takes_ms: Vec<u64>,
    /// How long the device can not be reached.
    holds: Duration,
    /// How long it takes to answer a flush.
    flushes: Duration,
    refuses: bool,
    /// A page that it does not take.
    bad: Option<u64>,
}

impl Model {
    fn ask(&self, what: &'static str, pages: Range<u64>) -> Result<u64, DoorError> {
        let mut asked = self.0.lock().unwrap();
        let refuses = asked.refuses || asked.bad.is_some_and(|bad| pages.contains(&bad));
        asked.calls.push((what, pages));
        let holds = match what {
            "flush" => asked.holds + asked.flushes,
            _ => asked.holds,
        };
        drop(asked);
        std::thread::sleep(holds);
        let mut asked = self.0.lock().unwrap();
        if refuses {
            return Err(DoorError::Refused("it is broken".to_owned()));
        }
        let takes_ms = match asked.takes_ms.is_empty() {
            true => 0,
            false => asked.takes_ms.remove(0),
        };
        Ok(now_ns() + takes_ms * 1_000_000)
    }

    fn calls(&self) -> Vec<(&'static str, Range<u64>)> {
        std::mem::take(&mut self.0.lock().unwrap().calls)
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Door for Model {
    fn read(&mut self, pages: Range<u64>) -> Result<u64, DoorError> {
        self.ask("read", pages)
    }
    fn write(&mut self, pages: Range<u64>) -> Result<u64, DoorError> {
        self.ask("write", pages)
    }
    fn trim(&mut self, pages: Range<u64>) -> Result<u64, DoorError> {
        self.ask("trim", pages)
    }
    fn flush(&mut self) -> Result<u64, DoorError> {
        self.ask("flush", 0..0)
    }
}

/// A disk with its guest.
struct Bench {
    device: File,
    model: Model,
    serving: Serving,
    driver: Driver,
    power: Power,
    _folder: Option<tempfile::TempDir>,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Driver::connect)
    }

    fn with(connect: fn(&Path) -> Driver) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::at(&folder.path().join("disk"), connect);
        Bench {
            _folder: Some(folder),
            ..bench
        }
    }

    fn at(path: &Path, connect: impl FnOnce(&Path) -> Driver) -> Bench {
        let device = tempfile::tempfile_in("/dev/shm").unwrap();
        device.set_len(PAGES * BLOCK).unwrap();
        let model = Model::default();
        let listening = Listening::new(path).unwrap();
        let power = Power::default();
        let disk = Disk {
            device: device.try_clone().unwrap(),
            bytes: PAGES * BLOCK,
            door: Box::new(model.clone()),
            power: power.clone(),
        };
        let serving = listening.serve(disk).unwrap();
        let driver = connect(path);
        Bench {
            device,
            model,
            serving,
            driver,
            power,
            _folder: None,
        }
    }

    fn page(&self, page: u64) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK as usize];
        self.device.read_exact_at(&mut bytes, page * BLOCK).unwrap();
        bytes
    }

    /// Pages of the device have each its own contents.
    fn device_has(&self, pages: Range<u64>) {
        for page in pages {
            let contents = pattern(page as u8, 1);
            self.device.write_all_at(&contents, page * BLOCK).unwrap();
        }
    }

    /// A request with its answer: status, and what the guest was given.
    fn request(&mut self, kind: u32, page: u64, from: &[u8], to: usize) -> (u8, Vec<u8>) {
        self.driver.request(kind, page * BLOCK / 512, from, to)
    }

    fn finish(self) -> Figures {
        drop(self.driver);
        self.serving.finish().unwrap()
    }
}

fn pattern(seed: u8, pages: u64) -> Vec<u8> {
    let byte = |at: u64| (at as u8).wrapping_mul(31).wrapping_add(seed);
    (0..pages * BLOCK).map(byte).collect()
}

#[test]
fn what_is_written_is_in_the_device_and_is_read_from_there() {
    let mut bench = Bench::new();
    // More than one piece.
    let data = pattern(1, 40);
    assert_eq!(bench.request(WRITE, 3, &data, 0), (OK, vec![]));
    for page in 0..40 {
        let expected = &data[(page * BLOCK) as usize..][..BLOCK as usize];
        assert!(bench.page(3 + page) == expected, "page {page}");
    }
    assert!(
        bench
            .page(2)
            .iter()
            .chain(&bench.page(43))
            .all(|byte| *byte == 0)
    );
    // What the memory window changes the disk sees.
    bench
        .device
        .write_all_at(&pattern(9, 1), 5 * BLOCK)
        .unwrap();
    let (status, read) = bench.request(READ, 4, &[], 3 * BLOCK as usize);
    assert_eq!(status, OK);
    let size = BLOCK as usize;
    assert!(read[..size] == data[size..2 * size]);
    assert!(read[size..2 * size] == pattern(9, 1));
    assert!(read[2 * size..] == data[3 * size..4 * size]);
    let part = |page: u64, pages: u32| {
        let sector = (page * 8).to_le_bytes().to_vec();
        let flags = 0u32.to_le_bytes();
        [sector, (pages * 8).to_le_bytes().to_vec(), flags.to_vec()].concat()
    };
    let parts = [part(3, 2), part(40, 3)].concat();
    assert_eq!(bench.request(TRIM, 0, &parts, 0), (OK, vec![]));
    for page in [3, 4, 40, 41, 42] {
        assert!(
            bench.page(page).iter().all(|byte| *byte == 0),
            "page {page}"
        );
    }
    assert!(bench.page(5) == pattern(9, 1));
    assert_eq!(bench.request(FLUSH, 0, &[], 0), (OK, vec![]));
    let name = bench.request(NAME, 0, &[], 20);
    assert_eq!(name, (OK, b"sluice\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()));
    let calls = [
        ("write", 3..43),
        ("read", 4..7),
        ("trim", 3..5),
        ("trim", 40..43),
        ("flush", 0..0),
    ];
    assert_eq!(bench.model.calls(), calls);
    let figures = bench.finish();
    let counts = [
        figures.reads,
        figures.writes,
        figures.trims,
        figures.flushes,
        figures.failed,
        figures.read_bytes,
        figures.written_bytes,
    ];
    assert_eq!(counts, [1, 1, 1, 1, 0, 3 * BLOCK, 40 * BLOCK]);
}

/// Requests that are under way together are answered each at its own time, not one after the other.
#[test]
fn an_answer_comes_when_the_device_is_done() {
    let mut bench = Bench::new();
    bench.model.0.lock().unwrap().takes_ms = vec![400, 100];
    let began = Instant::now();
    let heads = [0, 1].map(|page| {
        let sector = page * BLOCK / 512;
        bench.driver.send(READ, sector, &[], BLOCK as usize)
    });
    let (first, at) = bench.driver.answer();
    assert_eq!(first, heads[1]);
    assert!(at.duration_since(began) >= Duration::from_millis(100));
    let (second, at) = bench.driver.answer();
    assert_eq!(second, heads[0]);
    assert!(at.duration_since(began) >= Duration::from_millis(400));
    let figures = bench.finish();
    assert!(figures.device().p99_ns >= 400_000_000);
    assert!(figures.answered().p99_ns >= figures.device().p99_ns);
    assert!(figures.device().p50_ns >= 100_000_000);
    // With one after the other it would be 400 ms or more as well.
    assert!(figures.device().p50_ns < 400_000_000);
}

/// A flush of a store may take a second. What the device has done meanwhile is answered meanwhile.
/// It was answered after the flush.
#[test]
fn an_answer_does_not_wait_for_a_flush() {
    let mut bench = Bench::new();
    {
        let mut asked = bench.model.0.lock().unwrap();
        asked.takes_ms = vec![400, 100];
        asked.flushes = Duration::from_millis(2000);
    }
    let began = Instant::now();
    let reads = [0, 1].map(|page| {
        let sector = page * BLOCK / 512;
        bench.driver.send(READ, sector, &[], BLOCK as usize)
    });
    let flush = bench.driver.send(FLUSH, 0, &[], 0);
    for (head, after_ms) in [(reads[1], 100), (reads[0], 400), (flush, 2000)] {
        let (answered, at) = bench.driver.answer();
        assert_eq!(answered, head);
        assert!(at.duration_since(began) >= Duration::from_millis(after_ms));
        let is_flush = head == flush;
        assert!(is_flush || at.duration_since(began) < Duration::from_millis(1500));
    }
    assert_eq!(bench.model.calls().len(), 3);
    let figures = bench.finish();
    assert_eq!((figures.reads, figures.flushes, figures.failed), (2, 1, 0));
}

#[test]
fn a_request_that_cannot_be_fails_and_changes_nothing() {
    let mut bench = Bench::new();
    let page = pattern(5, 1);
    for (kind, sector, from, to, expected) in [
        // Behind the end, and so far behind that the place overflows.
        (WRITE, PAGES * 8, &page[..], 0, FAILED),
        (WRITE, u64::MAX, &page, 0, FAILED),
        (READ, PAGES * 8 - 8, &[], 2 * BLOCK as usize, FAILED),
        // No whole page.
        (WRITE, 1, &page, 0, FAILED),
        (WRITE, 0, &page[..512], 0, FAILED),
        (WRITE, 0, &[], 0, FAILED),
        (READ, 0, &[], 0, FAILED),
        // Trims: a range cut short, no range at all, one with a flag, one behind the end.
        (TRIM, 0, &[0; 15], 0, FAILED),
        (TRIM, 0, &[], 0, FAILED),
        (
            TRIM,
            0,
            &[0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0],
            0,
            UNKNOWN,
        ),
        (
            TRIM,
            0,
            &[0, 16, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0],
            0,
            FAILED,
        ),
        (99, 0, &[], 0, UNKNOWN),
    ] {
        let (status, _) = bench.driver.request(kind, sector, from, to);
        assert_eq!(status, expected, "{kind} at {sector}, {} bytes", from.len());
    }
    assert_eq!(bench.model.calls(), []);
    for at in 0..PAGES {
        assert!(bench.page(at).iter().all(|byte| *byte == 0));
    }
    // A device that refuses.
    bench.model.0.lock().unwrap().refuses = true;
    assert_eq!(bench.request(READ, 0, &[], BLOCK as usize).0, FAILED);
    assert_eq!(bench.request(FLUSH, 0, &[], 0).0, FAILED);
    bench.model.0.lock().unwrap().refuses = false;
    assert_eq!(bench.request(READ, 0, &[], BLOCK as usize).0, OK);
    let figures = bench.finish();
    assert_eq!(figures.failed, 14);
    // What failed is counted as that alone.
    let carried_out = [
        figures.reads,
        figures.writes,
        figures.flushes,
        figures.read_bytes,
    ];
    assert_eq!(carried_out, [1, 0, 0, BLOCK]);
    assert!(figures.why.is_some_and(|why| why.contains("it is broken")));
}

/// The guest has an error. It may read what it had.
#[test]
fn what_the_device_refuses_keeps_its_former_contents() {
    let mut bench = Bench::new();
    let former = pattern(1, 300);
    assert_eq!(bench.request(WRITE, 3, &former, 0).0, OK);
    bench.model.0.lock().unwrap().bad = Some(280);
    // More than what is kept at a time: the device has taken the first part.
    let newer = pattern(2, 300);
    assert_eq!(bench.request(WRITE, 3, &newer, 0).0, FAILED);
    let part: [u8; 16] = [24, 0, 0, 0, 0, 0, 0, 0, 96, 9, 0, 0, 0, 0, 0, 0];
    assert_eq!(bench.request(TRIM, 0, &part, 0).0, FAILED);
    let taken = 256;
    for page in 0..300 {
        let expected = if page < taken { &newer } else { &former };
        let expected = &expected[(page * BLOCK) as usize..][..BLOCK as usize];
        assert!(bench.page(3 + page) == expected, "page {page}");
    }
    let calls = [
        ("write", 3..259),
        ("write", 259..303),
        ("write", 3..259),
        ("write", 259..303),
        ("trim", 3..303),
    ];
    assert_eq!(bench.model.calls(), calls);
    let figures = bench.finish();
    assert_eq!([figures.writes, figures.trims, figures.failed], [1, 0, 2]);
}

/// The guest writes anything into its queue. The disk answers whatever it can, and serves the guest
/// again once that has set up another queue.
#[test]
fn a_guest_that_spoils_its_queue_harms_only_itself() {
    let mut bench = Bench::new();
    let of = |name, usual| std::env::var(name).map_or(usual, |n| n.parse().unwrap());
    let rounds = 400 * of("SLUICE_FUZZ", 1);
    let mut rng = Rng::from_splitmix(of("SLUICE_SEED", 7));
    for _ in 0..rounds {
        let count = 1 + rng.below(4);
        let buffers: Vec<Buffer> = (0..count)
            .map(|_| {
                let edges = [0, 1, 15, 16, 17, 512, BLOCK, u64::from(u32::MAX), 1 << 40];
                Buffer {
                    at: match rng.below(3) {
                        0 => HEAD + rng.below(1 << 20),
                        1 => rng.below(1 << 14),
                        _ => edges[rng.below(9) as usize],
                    },
                    len: edges[rng.below(8) as usize] as u32,
                    flags: rng.below(8) as u16,
                    next: rng.below(256) as u16,
                }
            })
            .collect();
        // Counts that make no sense spoil the whole queue: what follows would not be looked at.
        let jump = [0, rng.below(300)][usize::from(rng.below(16) == 0)];
        let head = rng.below(256) as u16;
        bench.driver.spoil(&buffers, jump as u16, head);
        if rng.below(8) == 0 {
            bench.driver.set_up_again();
        }
    }
    bench.driver.set_up_again();
    assert_eq!(bench.request(WRITE, 1, &pattern(3, 1), 0).0, OK);
    assert!(bench.page(1) == pattern(3, 1));
    bench.finish();
}

#[test]
fn a_disk_without_power_moves_no_byte() {
    let mut bench = Bench::new();
    assert_eq!(bench.request(WRITE, 1, &pattern(3, 1), 0).0, OK);
    bench.power.cut();
    assert_eq!(bench.request(WRITE, 1, &pattern(4, 1), 0).0, FAILED);
    assert_eq!(bench.request(FLUSH, 0, &[], 0).0, FAILED);
    assert!(bench.page(1) == pattern(3, 1));
    assert_eq!(bench.model.calls(), [("write", 1..2)]);
    let figures = bench.finish();
    assert_eq!(
        [figures.writes, figures.written_bytes, figures.flushes],
        [1, BLOCK, 0]
    );
}

#[test]
fn a_qemu_that_never_comes_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let listening = Listening::new(&folder.path().join("disk")).unwrap();
    let disk = Disk {
        device: tempfile::tempfile().unwrap(),
        bytes: BLOCK,
        door: Box::new(Model::default()),
        power: Power::default(),
    };
    let serving = listening.serve(disk).unwrap();
    assert_eq!(serving.finish().unwrap().reads, 0);
}
