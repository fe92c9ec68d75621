//! Whoever is at the other end of the socket, in place of QEMU.

use super::{Bench, Model, OK, READ, WRITE, pattern};
use crate::driver::{Driver, memory};
use sluice_disk::{BLOCK, Disk, Error, Figures, Listening, Power};
use sluice_units::Rng;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use vmm_sys_util::eventfd::EventFd;

const LIMIT: Duration = Duration::from_secs(60);
/// The requests that vhost-user knows, and some that it does not.
const REQUESTS: u64 = 50;

/// Does something that must come to an end.
fn ends<T: Send + 'static>(what: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || done.send(act()));
    let ended = ended.recv_timeout(LIMIT);
    ended.unwrap_or_else(|_| panic!("{what} does not come to an end"))
}

/// The disk says that it has answered by an event that takes no more, and blocks. It waited there,
/// with all that it had locked: nothing ended it any more.
#[test]
fn an_event_that_blocks_holds_no_disk() {
    let mut bench = Bench::new();
    let call = EventFd::new(0).unwrap();
    call.write(u64::MAX - 1).unwrap();
    bench.driver.call_by(&call);
    ends("a disk whose guest hears nothing", move || {
        for page in [1, 2] {
            let head = bench.driver.send(WRITE, page * 8, &pattern(3, 1), 0);
            assert_eq!(bench.driver.silent_answer().0, head);
            assert!(bench.page(page) == pattern(3, 1));
        }
        bench.driver.set_up_again();
        assert_eq!(bench.request(READ, 1, &[], BLOCK as usize).0, OK);
        bench.finish();
    });
}

/// A part of the guest's memory is in a file that its other end can shorten, or is shorter than it
/// says: whoever touches that dies of it. Requests there are refused, and others are served.
#[test]
fn a_file_that_can_be_cut_is_no_memory() {
    let short = memory(BLOCK);
    let unsealed = tempfile::tempfile_in("/dev/shm").unwrap();
    let sealed = memory(4 << 20);
    unsealed.set_len(4 << 20).unwrap();
    for (more, counts) in [(&short, false), (&unsealed, false), (&sealed, true)] {
        let mut bench = Bench::new();
        assert_eq!(bench.request(WRITE, 1, &pattern(3, 1), 0).0, OK);
        bench.driver.stop();
        let place = bench.driver.add_memory(more);
        if !counts {
            more.set_len(0).unwrap();
        }
        bench.driver.set_up();
        let head = bench
            .driver
            .send_from(WRITE, 8, place + 0x1000, BLOCK as u32);
        assert_eq!(bench.driver.answer().0, head);
        assert_eq!(bench.driver.status() == OK, counts);
        assert_eq!(bench.page(1) == pattern(3, 1), !counts);
        assert_eq!(bench.request(WRITE, 2, &pattern(4, 1), 0).0, OK);
        assert!(bench.page(2) == pattern(4, 1));
        // What is used cannot be cut any more.
        assert!(more.set_len(0).is_err() || !counts);
        bench.finish();
    }
}

/// Somebody who connects beside QEMU is not served, and harms nobody.
#[test]
fn a_second_end_is_not_heard() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let mut second = None;
    let mut bench = Bench::at(&path, |path| {
        let first = Driver::connect(path);
        let mut other = UnixStream::connect(path).unwrap();
        other
            .write_all(&[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
            .unwrap();
        second = Some(other);
        first
    });
    assert_eq!(bench.request(WRITE, 1, &pattern(3, 1), 0).0, OK);
    ends("a disk with two ends", move || bench.finish());
    let mut second = second.unwrap();
    second.set_read_timeout(Some(LIMIT)).unwrap();
    let mut answer = [0];
    assert!(matches!(second.read(&mut answer), Ok(0) | Err(_)));
}

/// What a disk does whose other end says this, and is gone then.
fn said(path: &Path, words: &[u8]) -> Result<Figures, Error> {
    let device = tempfile::tempfile().unwrap();
    device.set_len(BLOCK).unwrap();
    let disk = Disk {
        device,
        bytes: BLOCK,
        door: Box::new(Model::default()),
        power: Power::default(),
    };
    let serving = Listening::new(path).unwrap().serve(disk).unwrap();
    let mut stream = UnixStream::connect(path).unwrap();
    // It may have given up before.
    let _ = stream.write_all(words);
    drop(stream);
    ends("a disk of a mad end", move || serving.finish())
}

/// Messages of any kind with any contents, some of them cut short.
#[test]
fn any_messages_end_a_disk_or_not_and_panic_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::from_splitmix(11);
    for round in 0..100 {
        let mut words = Vec::new();
        for _ in 0..1 + rng.below(8) {
            let edges = [0, 4, 8, 12, 24, 40, 0x1000, 0x1001, u64::from(u32::MAX)];
            let size = edges[rng.below(9) as usize];
            words.extend((rng.below(REQUESTS) as u32).to_le_bytes());
            words.extend((1 | (rng.below(4) as u32) << 2).to_le_bytes());
            words.extend((size as u32).to_le_bytes());
            let payload = (0..size.min(0x1000)).map(|at| match at % 8 {
                0 => rng.below(256) as u8,
                _ => [0, 0xff][rng.below(2) as usize],
            });
            words.extend(payload);
        }
        words.truncate(words.len() - rng.below(3) as usize);
        let path = folder.path().join(format!("disk{round}"));
        match said(&path, &words) {
            Ok(_) | Err(Error::Protocol(_)) => {}
            Err(why) => panic!("{round}: {why}"),
        }
    }
}
