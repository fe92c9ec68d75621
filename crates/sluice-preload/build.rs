//! Links the hooks so that they call each other, whatever the program has under the same names; and
//! has no library come with this one that the program does not have.
//!
//! A program may wrap a function of the C library by one of its own, which ends in the next one of
//! that name: a hook. If the hook called another by its name, it could be the wrapper again.
//!
//! Rust's library asks for the unwinder of `libgcc_s`. To each program that is written in C this
//! would be one library more to be looked for, mapped and started at each `exec`, and what it does
//! at its start is slow in a virtual machine. The same unwinder is in `libgcc_eh`.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("gnu") {
        return;
    }
    let out = std::env::var("OUT_DIR").expect("cargo gives one");
    // A linker takes such a text for what is in it.
    std::fs::write(Path::new(&out).join("libgcc_s.so"), "INPUT(-lgcc_eh)\n").expect("room");
    println!("cargo::rustc-cdylib-link-arg=-L{out}");
}
