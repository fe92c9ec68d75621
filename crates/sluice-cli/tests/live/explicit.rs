//! `--place explicit`: memory that a program takes by name.

use crate::control::programs::c_program;
use crate::sluice::{Sluice, TRAPS, finish};
use std::process::Command;

#[test]
fn a_program_places_what_it_names_and_no_more() {
    let program = c_program("crates/sluice-cli/tests/programs/explicit.c", "explicit");
    let program = program.to_str().expect("plain letters");
    let refused = |errno: i32| [program.to_owned(), errno.to_string()];
    let [program, errno] = refused(libc::ENODEV);
    let plain = finish(Command::new(&program).arg(errno));
    assert_eq!(plain.stdout, "refused\n", "without a device: {plain:#?}");
    for trap in TRAPS {
        for place in ["explicit", "heap"] {
            let sluice = Sluice::run(trap).args(["--place", place]).cache("1MiB");
            let out = sluice.program([&program]).evicted();
            assert_eq!(out.own_stdout(), "well\n", "{trap} {place}: {out:#?}");
            let placed = out.number("/memory/placed_bytes");
            assert_eq!(placed == 0, place == "explicit", "{trap}: {placed}");
        }
    }
}
