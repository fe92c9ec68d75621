//! What the twins share.

use sluice_model::{Device, DeviceConfig};
use sluice_units::{Ps, Rng};

/// A device by its settings.
pub fn device(settings: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    for (key, value) in settings {
        raw.set(key, value).expect("a value that it takes");
    }
    let config = DeviceConfig::new(&raw).expect("a device");
    Device::new(&config, 1).expect("a device")
}

/// Draws one of a few choices.
pub fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

/// What is due, in a list that is searched: the first in time, then the first that was added.
pub struct Due<T> {
    all: Vec<(Ps, u64, T)>,
    added: u64,
}

impl<T: Copy> Due<T> {
    pub fn new() -> Due<T> {
        Due {
            all: Vec::new(),
            added: 0,
        }
    }

    pub fn add(&mut self, at: Ps, what: T) {
        self.added += 1;
        self.all.push((at, self.added, what));
    }

    pub fn take(&mut self) -> Option<(Ps, T)> {
        let first = (0..self.all.len()).min_by_key(|place| {
            let (at, order, _) = self.all[*place];
            (at, order)
        })?;
        let (at, _, what) = self.all.remove(first);
        Some((at, what))
    }
}
