//! The drivers against slow twins, written from what their parameters say: whole results are the
//! same, for many drawn settings.

mod closed_loop;
mod files;
mod rig;
mod traffic;
