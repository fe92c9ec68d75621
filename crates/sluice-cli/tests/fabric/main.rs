//! `sluice fabric`, from outside.

mod replay;
mod run;
#[path = "../schema/mod.rs"]
mod schema;
mod traced;

use sluice_testkit::child;
use std::process::Output;

fn sluice(words: &[&str]) -> Output {
    let mut command = child::program(env!("CARGO_BIN_EXE_sluice"));
    command.args(words).output().expect("the command starts")
}
