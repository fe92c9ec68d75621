//! One factor that makes a system and its program smaller together.

use crate::system::System;
use sluice_model::{DeviceConfig, DeviceKind};
use sluice_params::{Amount, ConfigError, RawConfig, Typed};
use sluice_units::{Bytes, PAGE_BYTES};

/// Capacities that keep their ratio to the program's memory, of the device and of the host.
const OF_DEVICE: [&str; 3] = ["device.capacity", "cache.capacity", "write_log.capacity"];
const OF_HOST: [&str; 4] = [
    "host.memory",
    "host.start_size",
    "migration.capacity",
    "migration.remote_capacity",
];

/// What the factor is called in messages.
const SCALE: &str = "system.scale";

/// The collector's threshold is not scaled below the blocks it needs to work.
const GC_BLOCKS_MIN: u64 = 2;

impl System {
    /// This system for a program of which the memory is divided by `scale`.
    ///
    /// Capacities are divided, and so the blocks of a die; times, cores, MSHRs, the L1 and the
    /// TLB stay. Two floors hold: an L2 is twice its L1, and the L3 as large as all L2 together.
    /// The device collects garbage after writes that are nearest to the same share of its flash.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`] if a capacity does not divide.
    pub fn scaled(&self, scale: u32) -> Result<System, ConfigError> {
        self.scaled_with(scale, 0)
    }

    /// As [`System::scaled`], for a program of which each thread uses so many bytes all the time
    /// that the scale does not divide: an L2 has room for them beside its part of the memory that
    /// is divided. The L3, which need not have what an L2 has, holds memory that is divided.
    ///
    /// # Errors
    /// As [`System::scaled`].
    pub fn scaled_with(&self, scale: u32, thread_bytes: u64) -> Result<System, ConfigError> {
        let mut system = self.clone();
        if scale == 0 {
            return Err(ConfigError::Impossible {
                settings: vec![(SCALE, "0".to_owned())],
                message: "nothing divides by it; the full size is 1".to_owned(),
            });
        }
        if scale == 1 {
            return Ok(system);
        }
        let is_memory = self.device.read::<DeviceKind>("device.kind") == DeviceKind::Memory;
        let of_device = if is_memory {
            &OF_DEVICE[..1]
        } else {
            &OF_DEVICE[..]
        };
        for key in of_device {
            divide(&mut system.device, key, scale)?;
        }
        for key in OF_HOST {
            divide(&mut system.host, key, scale)?;
        }
        let cores = self.host.read::<u64>("cpu.cores").next_power_of_two();
        for (key, of, times) in [
            ("l2.capacity", "l1.capacity", 2),
            ("l3.capacity", "l2.capacity", cores),
        ] {
            let least = bytes(&system.host, of) * times;
            let full = bytes(&self.host, key);
            if full == 0 {
                continue;
            }
            if full / u64::from(scale) <= least {
                // Nothing grows: a level that was smaller before stays.
                system.host.set(key, &Bytes(least.min(full)).to_string())?;
            } else {
                divide(&mut system.host, key, scale)?;
            }
        }
        if thread_bytes > 0 {
            const L2: &str = "l2.capacity";
            let room = (bytes(&system.host, L2) + thread_bytes).next_power_of_two();
            let room = room.min(bytes(&self.host, L2));
            system.host.set(L2, &Bytes(room).to_string())?;
        }
        match self.device.read("ftl.gc_threshold") {
            Amount::Absolute(blocks) if !is_memory => {
                scale_threshold(&self.device, &mut system.device, blocks, scale)?;
            }
            Amount::Absolute(_) | Amount::Share(_) => {}
        }
        Ok(system)
    }
}

fn divide(raw: &mut RawConfig, key: &'static str, scale: u32) -> Result<(), ConfigError> {
    // Shares keep their ratio by themselves, and none stays none.
    let Some(Bytes(bytes)) = size(raw, key) else {
        return Ok(());
    };
    let unit = u64::from(scale) * PAGE_BYTES;
    if !bytes.is_multiple_of(unit) {
        let settings = vec![(key, Bytes(bytes).to_string()), (SCALE, scale.to_string())];
        let message = "does not divide into whole pages of 4KiB; give a scale that is a smaller \
                       power of two";
        return Err(ConfigError::Impossible {
            settings,
            message: message.to_owned(),
        });
    }
    raw.set(key, &Bytes(bytes / u64::from(scale)).to_string())
}

/// The value of a key, if it is a size and neither a share nor a word.
fn size(raw: &RawConfig, key: &str) -> Option<Bytes> {
    raw.value(key).and_then(Bytes::of)
}

fn bytes(raw: &RawConfig, key: &str) -> u64 {
    size(raw, key).map_or(0, |bytes| bytes.0)
}

/// A plane has some spare blocks however small it is. So that collection does not begin later
/// than on the large device, the threshold follows the blocks free above it, not those below.
fn scale_threshold(
    from: &RawConfig,
    raw: &mut RawConfig,
    blocks: u64,
    scale: u32,
) -> Result<(), ConfigError> {
    const KEY: &str = "ftl.gc_threshold";
    let spare = |raw: &RawConfig| -> Result<u64, ConfigError> {
        let config = DeviceConfig::simulated(raw)?;
        let home = u64::from(config.pages)
            .div_ceil(u64::from(config.nand.plane_count()))
            .div_ceil(u64::from(config.nand.pages_per_block));
        Ok(u64::from(config.ftl.data_blocks_per_plane) - home)
    };
    let above = spare(from)? - blocks;
    raw.set(KEY, &GC_BLOCKS_MIN.to_string())?;
    let spare = spare(raw)?;
    let most = spare - 2 * raw.read::<u64>("ftl.streams");
    let wanted = spare.saturating_sub(above.div_ceil(u64::from(scale)));
    raw.set(KEY, &wanted.clamp(GC_BLOCKS_MIN, most).to_string())
}
