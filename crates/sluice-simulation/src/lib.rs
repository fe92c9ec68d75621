//! Simulations, from checked settings to their results.

mod curve;
mod device;
mod error;
mod fabric;
mod fabric_curve;
mod fabric_hosts;
mod files;
mod host_programs;
mod machine;
mod messages;
mod recorded;
mod regions;
mod replay;
mod simulation;
mod size;
mod system;
mod traffic;
mod units;

pub use curve::{CurvePlan, SystemCurvePlan, curve_traffic};
pub use error::{FabricRunError, RunError, SystemError};
pub use fabric::{FabricPlan, check_objects, fabric_figures};
pub use fabric_curve::FabricCurvePlan;
pub use fabric_hosts::check_hosts;
pub use files::FilesPlan;
pub use machine::{NoMemory, Room, fits_machine};
pub use recorded::Recorded;
pub use regions::Part;
pub use replay::TracePlan;
pub use simulation::{Plan, STOP_EVERY, no_bound, visible};
pub use size::{SizeError, SizePlan, Subject, Timing, Uses};
pub use system::{RanSystem, ReadySystem, SystemPlan, SystemRun};
