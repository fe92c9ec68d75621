//! What a disk is made of.

use crate::door::Door;
use crate::power::Power;
use std::fs::File;

/// What a disk is made of.
pub struct Disk {
    /// The device's memory.
    pub device: File,
    /// The size of the device.
    pub bytes: u64,
    /// Says when its requests are done.
    pub door: Box<dyn Door>,
    /// Its power.
    pub power: Power,
}
