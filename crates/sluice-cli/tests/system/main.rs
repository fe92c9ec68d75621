//! `sluice sim --system`, from outside: its object, its folder, its errors, Ctrl-C.

mod command;
mod counts;
mod interrupt;
mod printing;
mod refused;
#[path = "../schema/mod.rs"]
mod schema;
