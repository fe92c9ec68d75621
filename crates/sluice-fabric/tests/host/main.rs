//! A simulated host against closed forms.

mod closed_forms;
mod rig;
mod switching;
