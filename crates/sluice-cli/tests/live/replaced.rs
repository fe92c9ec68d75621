//! Programs that replace functions of the C library by their own, and what broke once.

use crate::abuse::all_well;
use crate::build::{compile, helper};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The runtime waited by the program's own clock, for ever.
#[test]
fn a_program_may_have_a_clock_of_its_own() {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compile("abuse_clock.c", &["-rdynamic"]));
    all_well(program, &[""]);
}

/// A child waited for the moments that its parent had noted. In event mode the program itself got
/// no other time: it has threads of the runtime.
#[test]
fn a_program_may_be_at_an_earlier_time() {
    all_well(helper!("abuse_namespaces.c"), &["earlier-child", "earlier"]);
}

/// The C library's own free ended the program, for what it had from the device.
#[test]
fn a_program_may_wrap_a_part_of_the_allocator() {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compile("abuse_allocator.c", &["-rdynamic"]));
    all_well(program, &[""]);
}
