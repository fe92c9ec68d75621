//! The home agent: which device, and which of its bytes, a host physical address is.

use super::hdm::{Arithmetic, GRANULARITIES, HdmDecoder, MAX_WAYS, WAYS};
use super::weighted::WeightedDecoder;
use sluice_units::Bytes;

/// What base and size of a decoder are multiples of (CXL 3.1, 8.2.4.20).
pub const DECODER_ALIGNMENT: Bytes = Bytes::from_mib(256);

/// Host physical addresses end below this: CXL.mem carries 52 bits.
const ADDRESS_END: u64 = 1 << 52;

/// A range of host physical addresses, and the devices it is dealt out over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// What messages call it.
    pub name: String,
    /// Its first address.
    pub base: u64,
    /// Its bytes: a multiple of the ways, or of the sum of the weights, times the alignment.
    pub size: Bytes,
    /// Bytes of one granule: one of [`GRANULARITIES`].
    pub granularity: u64,
    /// Which device has which granule.
    pub arithmetic: Arithmetic,
    /// The devices in the order in which they take granules, each once: as many as one of
    /// [`WAYS`], or with weights 1 to [`MAX_WAYS`].
    pub targets: Vec<u16>,
    /// What each target takes of a round of [`Arithmetic::Weighted`]; else not looked at.
    pub weights: Vec<u8>,
}

/// Where an address lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The device: its index among those given to [`HomeAgent::new`].
    pub device: u16,
    /// The device physical address.
    pub dpa: u64,
}

/// What is wrong with a set of windows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// CXL has no decoder of so many ways.
    #[error(
        "decoder `{name}` has {ways} targets; a range is interleaved over {}",
        list(WAYS.iter())
    )]
    Ways {
        /// The name of the window.
        name: String,
        /// Its number of targets.
        ways: usize,
    },
    /// There is not one weight for each target, or there are too many targets.
    #[error(
        "decoder `{name}` has {targets} targets with the weights {weights:?}; give 1 to {MAX_WAYS} \
         targets a weight from 1 to 255 each"
    )]
    Weights {
        /// The name of the window.
        name: String,
        /// Its number of targets.
        targets: usize,
        /// The weights that were given.
        weights: Vec<u8>,
    },
    /// There is no decoder of such granules.
    #[error(
        "decoder `{name}` has granules of {granularity} B; valid are {} B",
        list(GRANULARITIES.iter())
    )]
    Granularity {
        /// The name of the window.
        name: String,
        /// Its granularity in bytes.
        granularity: u64,
    },
    /// Base or size is not a multiple of what it has to be.
    #[error("decoder `{name}` has {what} {value:#x}, not a multiple of {multiple:#x} ({why})")]
    Alignment {
        /// The name of the window.
        name: String,
        /// `base` or `size`.
        what: &'static str,
        /// The value that was given.
        value: u64,
        /// What would be accepted are multiples of this.
        multiple: u64,
        /// Where the multiple comes from.
        why: &'static str,
    },
    /// The window is empty, or ends past the last address.
    #[error(
        "decoder `{name}` is {size} at {base:#x}; a range is not empty and ends by {end:#x}",
        end = ADDRESS_END
    )]
    Range {
        /// The name of the window.
        name: String,
        /// Its first address.
        base: u64,
        /// The size that was given.
        size: Bytes,
    },
    /// Two windows share addresses.
    #[error(
        "decoders `{first}` and `{second}` overlap: `{first}` ends at {end:#x}, \
         `{second}` begins at {begin:#x}"
    )]
    Overlap {
        /// The window at the lower address.
        first: String,
        /// The name of the other window.
        second: String,
        /// The first address behind the first.
        end: u64,
        /// The first address of the second.
        begin: u64,
    },
    /// A target is no device.
    #[error("decoder `{name}` names device {device}; there are {devices}, from 0 on")]
    Target {
        /// The name of the window.
        name: String,
        /// The target that there is not.
        device: u16,
        /// How many there are.
        devices: usize,
    },
    /// A target appears twice in one window.
    #[error("decoder `{name}` names device {device} twice; a device takes one place in a range")]
    Twice {
        /// The name of the window.
        name: String,
        /// The target that it has twice.
        device: u16,
    },
    /// A device is smaller than what is mapped to it.
    #[error(
        "decoder `{name}` needs {needed} of device {device}, which has {capacity} \
         (shares of earlier decoders included)"
    )]
    Capacity {
        /// The window that does not fit any more.
        name: String,
        /// The device, by its number.
        device: u16,
        /// What this window and those below it need.
        needed: Bytes,
        /// What there is.
        capacity: Bytes,
    },
    /// More devices than an index can name.
    #[error("{devices} devices; a home agent maps to 65536 at most")]
    Devices {
        /// How many were given.
        devices: usize,
    },
}

fn list<T: ToString>(values: impl Iterator<Item = T>) -> String {
    let texts: Vec<String> = values.map(|value| value.to_string()).collect();
    texts.join(", ")
}

/// How a window is dealt out.
#[derive(Clone, Copy, Debug)]
enum Decoder {
    Hdm(HdmDecoder),
    Weighted(WeightedDecoder),
}

impl Decoder {
    #[inline]
    fn split(&self, offset: u64) -> (u8, u64) {
        match self {
            Decoder::Hdm(decoder) => decoder.split(offset),
            Decoder::Weighted(decoder) => decoder.split(offset),
        }
    }

    fn join(&self, place: u8, share: u64) -> u64 {
        match self {
            Decoder::Hdm(decoder) => decoder.join(place, share),
            Decoder::Weighted(decoder) => decoder.join(place, share),
        }
    }

    /// Granules of a round, and those of the target at `place`.
    fn weights(&self, place: u8) -> (u64, u64) {
        match self {
            Decoder::Hdm(decoder) => (u64::from(decoder.ways()), 1),
            Decoder::Weighted(decoder) => (decoder.round(), decoder.weight(place)),
        }
    }
}

/// A window whose decoder is set up.
#[derive(Clone, Debug)]
struct Committed {
    base: u64,
    /// The last address.
    last: u64,
    decoder: Decoder,
    /// The first of its targets in [`HomeAgent::targets`].
    first: u32,
}

/// A target of a window, and where its share begins.
#[derive(Clone, Copy, Debug)]
struct Target {
    device: u16,
    dpa_base: u64,
}

/// One share of a device: what [`HomeAgent::address`] looks up.
#[derive(Clone, Copy, Debug)]
struct Share {
    dpa_base: u64,
    dpa_last: u64,
    window: u32,
    place: u8,
}

/// Maps host physical addresses to devices by HDM decoders, and back.
///
/// Decoders take device addresses in the order of host addresses, as CXL commits them: the lowest
/// window that has a device begins at its address 0, the next follows without a gap (8.2.4.20.12).
#[derive(Clone, Debug)]
pub struct HomeAgent {
    /// By rising addresses.
    windows: Vec<Committed>,
    targets: Vec<Target>,
    /// The shares of each device by rising addresses.
    shares: Vec<Vec<Share>>,
}

impl HomeAgent {
    /// A home agent over `devices`, given by their capacities.
    ///
    /// Bases are multiples of `alignment`, sizes of the ways times `alignment`. CXL's is
    /// [`DECODER_ALIGNMENT`]; a smaller one, down to the granularity, is for memories that are
    /// made small to be simulated fast.
    ///
    /// # Errors
    ///
    /// Says which window cannot be and what would; of two that overlap, both.
    pub fn new(
        windows: &[Window],
        devices: &[Bytes],
        alignment: Bytes,
    ) -> Result<HomeAgent, HomeError> {
        if devices.len() > 1 << 16 {
            let devices = devices.len();
            return Err(HomeError::Devices { devices });
        }
        let mut sorted: Vec<&Window> = windows.iter().collect();
        sorted.sort_by_key(|window| window.base);
        let mut agent = HomeAgent {
            windows: Vec::with_capacity(windows.len()),
            targets: Vec::new(),
            shares: vec![Vec::new(); devices.len()],
        };
        for (at, &window) in sorted.iter().enumerate() {
            let decoder = checked(window, alignment)?;
            if let Some(&below) = at.checked_sub(1).and_then(|below| sorted.get(below)) {
                apart(below, window)?;
            }
            agent.commit(window, decoder, devices)?;
        }
        Ok(agent)
    }

    fn commit(
        &mut self,
        window: &Window,
        decoder: Decoder,
        devices: &[Bytes],
    ) -> Result<(), HomeError> {
        let name = || window.name.clone();
        let first = self.targets.len() as u32;
        for (place, &device) in window.targets.iter().enumerate() {
            let Some(&capacity) = devices.get(usize::from(device)) else {
                let devices = devices.len();
                return Err(HomeError::Target {
                    name: name(),
                    device,
                    devices,
                });
            };
            if window.targets[..place].contains(&device) {
                return Err(HomeError::Twice {
                    name: name(),
                    device,
                });
            }
            let shares = &mut self.shares[usize::from(device)];
            let dpa_base = shares.last().map_or(0, |share| share.dpa_last + 1);
            let (round, own) = decoder.weights(place as u8);
            let needed = Bytes(dpa_base + window.size.0 / round * own);
            if needed > capacity {
                return Err(HomeError::Capacity {
                    name: name(),
                    device,
                    needed,
                    capacity,
                });
            }
            shares.push(Share {
                dpa_base,
                dpa_last: needed.0 - 1,
                window: self.windows.len() as u32,
                place: place as u8,
            });
            self.targets.push(Target { device, dpa_base });
        }
        let (base, last) = (window.base, window.base + (window.size.0 - 1));
        self.windows.push(Committed {
            base,
            last,
            decoder,
            first,
        });
        Ok(())
    }

    /// Where the byte at `hpa` lives, or `None` if no window holds it.
    #[inline]
    pub fn home(&self, hpa: u64) -> Option<Home> {
        let above = self.windows.partition_point(|window| window.base <= hpa);
        let window = self.windows.get(above.checked_sub(1)?)?;
        if hpa > window.last {
            return None;
        }
        let (place, share) = window.decoder.split(hpa - window.base);
        let target = self.targets[window.first as usize + usize::from(place)];
        Some(Home {
            device: target.device,
            dpa: target.dpa_base + share,
        })
    }

    /// The host physical address of a device's byte, or `None` if no window maps it.
    pub fn address(&self, home: Home) -> Option<u64> {
        let shares = self.shares.get(usize::from(home.device))?;
        let above = shares.partition_point(|share| share.dpa_base <= home.dpa);
        let share = shares.get(above.checked_sub(1)?)?;
        if home.dpa > share.dpa_last {
            return None;
        }
        let window = &self.windows[share.window as usize];
        let offset = window.decoder.join(share.place, home.dpa - share.dpa_base);
        Some(window.base + offset)
    }

    /// The bytes of `device` that are mapped.
    pub fn mapped(&self, device: u16) -> Bytes {
        let shares = self.shares.get(usize::from(device));
        let last = shares.and_then(|shares| shares.last());
        Bytes(last.map_or(0, |share| share.dpa_last + 1))
    }
}

/// The decoder of a window, and the granules of a round.
fn decoder(window: &Window) -> Result<(Decoder, u64), HomeError> {
    let (name, ways) = (window.name.clone(), window.targets.len());
    if window.arithmetic == Arithmetic::Weighted {
        let decoder = WeightedDecoder::new(&window.weights, window.granularity);
        let decoder = decoder.filter(|_| window.weights.len() == ways);
        let decoder = decoder.ok_or_else(|| HomeError::Weights {
            name,
            targets: ways,
            weights: window.weights.clone(),
        })?;
        return Ok((Decoder::Weighted(decoder), decoder.round()));
    }
    let decoder = u8::try_from(ways).ok();
    let decoder =
        decoder.and_then(|ways| HdmDecoder::new(ways, window.granularity, window.arithmetic));
    let decoder = decoder.ok_or(HomeError::Ways { name, ways })?;
    Ok((Decoder::Hdm(decoder), ways as u64))
}

/// Checks a window alone.
fn checked(window: &Window, alignment: Bytes) -> Result<Decoder, HomeError> {
    let name = || window.name.clone();
    let granularity = window.granularity;
    if !GRANULARITIES.contains(&granularity) {
        return Err(HomeError::Granularity {
            name: name(),
            granularity,
        });
    }
    let (decoder, granules) = decoder(window)?;
    let (base, size) = (window.base, window.size);
    let end = base.checked_add(size.0);
    if size.0 == 0 || end.is_none_or(|end| end > ADDRESS_END) {
        return Err(HomeError::Range {
            name: name(),
            base,
            size,
        });
    }
    // A range of fewer bytes than a round of granules would leave some target without any.
    let unit = alignment.0.max(granularity);
    let round = unit.saturating_mul(granules);
    let why = match decoder {
        Decoder::Hdm(_) => "the alignment times the targets",
        Decoder::Weighted(_) => "the alignment times the sum of the weights",
    };
    let multiples = [
        ("base", base, unit, "the alignment of decoders"),
        ("size", size.0, round, why),
    ];
    for (what, value, multiple, why) in multiples {
        if !value.is_multiple_of(multiple) {
            return Err(HomeError::Alignment {
                name: name(),
                what,
                value,
                multiple,
                why,
            });
        }
    }
    Ok(decoder)
}

/// Checks two neighbours: `below` begins no later than `above`.
fn apart(below: &Window, above: &Window) -> Result<(), HomeError> {
    let end = below.base + below.size.0;
    if above.base >= end {
        return Ok(());
    }
    Err(HomeError::Overlap {
        first: below.name.clone(),
        second: above.name.clone(),
        end,
        begin: above.base,
    })
}
