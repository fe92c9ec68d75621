//! The CPUs that a program chooses for its threads.

use crate::build::helper;
use crate::sluice::{Sluice, TRAPS};

/// A thread that was held at a miss got back the CPUs that it had had before.
#[test]
fn cpus_chosen_for_a_thread_at_a_miss_are_kept() {
    let path = helper!("cpus.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let run = Sluice::run(trap).cache("1MiB").set("nand.read", "40us");
        let out = run.program([path]).well();
        let said = out.own_stdout();
        assert!(["well\n", "one CPU\n"].contains(&said), "{trap}: {out:#?}");
    }
}
