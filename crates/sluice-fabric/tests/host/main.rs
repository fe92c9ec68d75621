//! A simulated host against closed forms.

mod closed_forms;
mod naive;
mod persist;
mod rig;
mod switching;
