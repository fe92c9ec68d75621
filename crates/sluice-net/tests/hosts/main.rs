//! Simulated hosts on fabrics.

mod closed_forms;
mod delays;
mod ends;
mod oracle;
mod rig;
mod sharing;
