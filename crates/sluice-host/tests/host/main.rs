//! A simulated host against closed forms.

mod books;
mod closed_forms;
mod naive;
mod one_bank;
mod persist;
mod rest;
mod rig;
mod store_misses;
mod switching;
