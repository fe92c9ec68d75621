//! Links the hooks so that they call each other, whatever the program has under the same names.
//!
//! A program may wrap a function of the C library by one of its own, which ends in the next one of
//! that name: a hook. If the hook called another by its name, it could be the wrapper again.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}
