//! Simulated hosts on fabrics.

mod closed_forms;
mod delays;
mod oracle;
mod rig;
mod sharing;
