//! Memory of a device file that a program keeps from its children.

use crate::build::helper;
use crate::sluice::{Sluice, TRAPS};

/// A QEMU that had made a guest's memory could start no helper: each child died.
#[test]
fn children_without_the_device_s_memory_live() {
    let program = helper!("dontfork.c").to_str().expect("plain letters");
    for trap in TRAPS {
        for part in ["whole", "middle"] {
            let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
            file.as_file().set_len(8 << 20).expect("room");
            let path = file.path().to_str().expect("plain letters");
            let run = Sluice::run(trap).cache("1MiB");
            let run = run.args(["--place", &format!("dax:{path}")]);
            let out = run.program([program, path, part]).evicted();
            assert_eq!(out.own_stdout(), "well\n", "{trap}, {part}: {out:#?}");
            assert_eq!(out.number("/host/forks"), 2, "{trap}, {part}");
        }
    }
}
