//! The drivers against slow twins, written from what their parameters say: whole results are the
//! same, for many drawn settings.

mod blocks;
mod closed_loop;
mod rig;
mod traffic;
