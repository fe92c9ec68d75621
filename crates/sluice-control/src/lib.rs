//! Clients of the control ring: `sluice ctl`, programs through `libsluice_control`, and guests.
//!
//! [`DeviceFiles`] finds the two files of a process on a device, ring and view, or the two PCI
//! devices of a guest. [`Connection`] maps them, takes a channel of the ring, and sends commands
//! through it. Statistics and residency map are read from the view without asking anybody.

pub mod api;
mod connection;
mod error;
mod files;
mod guest;
mod handle;
pub mod home;
mod mapped;
mod marks;
mod outputs;
mod place;
mod powercut;
mod simulated;
mod view;

pub use connection::{Connection, Pending};
pub use error::Error;
pub use guest::{Memory, Piece};
pub use marks::{last_reset, mark};
pub use place::{DeviceFiles, Side};
pub use powercut::{Budget, PowerCut, power_cut};
pub use simulated::{is_simulated, mark_simulated};
pub use sluice_region::own_user;
pub use view::View;
