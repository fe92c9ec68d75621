//! Every simulation does tomorrow what it does today.
//!
//! Each family runs short simulations, some for every parameter with other values than its own. It
//! compares a hash of the whole results, or of the messages that refuse them, with the hash that
//! stands beside the parameter's name in a file of this folder. These tests say nothing about
//! whether a result is right: others do. They say that a change which was not meant to change a
//! result changed one, and which. After a change that was meant, write the files again with
//! `SLUICE_GOLDEN=write cargo test --release -p sluice-simulation --test golden`; the difference
//! shows how far the change reaches.

mod book;
mod devices;
mod fabrics;
mod kernels;
mod systems;
mod vary;
mod workloads;
