//! Which requester sees which memory at which address.

use super::nodes::Nodes;
use super::wiring::valid;
use crate::net::config::Logical;
use crate::net::endpoint::EndpointSettings;
use crate::net::error::FabricError;
use crate::net::requester::RequesterSettings;
use crate::net::spec::{FabricSpec, RangeSpec};
use sluice_model::cxl::{GRANULARITIES, HomeAgent, WAYS, Window};
use sluice_units::Bytes;

/// Address maps, and who has which.
pub(super) struct Map {
    pub homes: Vec<HomeAgent>,
    pub home_of: Vec<u32>,
    pub mapped: Vec<u64>,
    pub logical: Vec<Logical>,
}

pub(super) fn map(
    spec: &FabricSpec,
    requesters: &Nodes<RequesterSettings>,
    endpoints: &Nodes<EndpointSettings>,
) -> Result<Map, FabricError> {
    let logical: Vec<Logical> = logical(&endpoints.settings).collect();
    let sizes: Vec<Bytes> = logical
        .iter()
        .map(|device| {
            let settings = &endpoints.settings[usize::from(device.endpoint)];
            Bytes(settings.capacity / u64::from(settings.logical_devices))
        })
        .collect();
    let granularity = spec.raw.bytes("map.granularity").map_or(0, |bytes| bytes.0);
    let windows = if spec.ranges.is_empty() {
        one_after_the_other(&sizes, spec.raw.count("map.ways"), granularity)
    } else {
        let named = |range| window(range, granularity, &logical, endpoints);
        spec.ranges.iter().map(named).collect::<Result<_, _>>()?
    };
    let alignment = Bytes(granularity.min(GRANULARITIES[0]));
    let home = HomeAgent::new(&windows, &sizes, alignment);
    let home = home.map_err(|error| FabricError::Addresses {
        message: error.to_string(),
    })?;
    let mapped = without_a_gap(&windows);
    for settings in &requesters.settings {
        let footprint = settings.footprint.unwrap_or(mapped);
        if footprint > mapped || footprint < 2 * sluice_units::LINE_BYTES {
            return Err(FabricError::Addresses {
                message: format!(
                    "requester.footprint is {}, but {} are mapped without a gap from address 0; \
                     give it from 128B to that",
                    Bytes(footprint),
                    Bytes(mapped)
                ),
            });
        }
    }
    Ok(Map {
        homes: vec![home],
        home_of: vec![0; requesters.settings.len()],
        mapped: vec![mapped],
        logical,
    })
}

/// The logical devices of all endpoints.
fn logical(endpoints: &[EndpointSettings]) -> impl Iterator<Item = Logical> {
    endpoints
        .iter()
        .enumerate()
        .flat_map(|(endpoint, settings)| {
            let each = settings.capacity / u64::from(settings.logical_devices);
            (0..settings.logical_devices).map(move |id| Logical {
                endpoint: endpoint as u16,
                id: id as u8,
                base: u64::from(id) * each,
            })
        })
}

/// Ranges over all devices, each over as many neighbours of one size as can be.
fn one_after_the_other(sizes: &[Bytes], ways_max: u64, granularity: u64) -> Vec<Window> {
    let (mut windows, mut base, mut next) = (Vec::new(), 0, 0);
    while let Some(size) = sizes.get(next) {
        let alike = sizes[next..]
            .iter()
            .take_while(|other| *other == size)
            .count();
        let most = alike.min(ways_max as usize);
        let ways = WAYS.iter().map(|ways| usize::from(*ways));
        let ways = ways.filter(|ways| *ways <= most).max().unwrap_or(1);
        let each = size.0 / granularity.max(1) * granularity;
        windows.push(Window {
            name: format!("range {}", windows.len()),
            base,
            size: Bytes(each * ways as u64),
            granularity,
            targets: (next..next + ways).map(|device| device as u16).collect(),
        });
        base += each * ways as u64;
        next += ways;
    }
    windows
}

/// A range of the file's. An endpoint of several logical devices has one name for each.
fn window(
    range: &RangeSpec,
    granularity: u64,
    logical: &[Logical],
    endpoints: &Nodes<EndpointSettings>,
) -> Result<Window, FabricError> {
    let names: Vec<String> = logical
        .iter()
        .map(|device| {
            let name = &endpoints.names[usize::from(device.endpoint)];
            let is_one = endpoints.settings[usize::from(device.endpoint)].logical_devices == 1;
            if is_one {
                name.clone()
            } else {
                format!("{name}.{}", device.id)
            }
        })
        .collect();
    let target = |name: &String| {
        let place = names.iter().position(|known| known == name);
        place
            .map(|place| place as u16)
            .ok_or_else(|| FabricError::Unknown {
                element: format!("range `{}`", range.name),
                what: "endpoint",
                name: name.clone(),
                valid: valid(&names),
            })
    };
    Ok(Window {
        name: range.name.clone(),
        base: range.base,
        size: Bytes(range.size),
        granularity,
        targets: range.targets.iter().map(target).collect::<Result<_, _>>()?,
    })
}

/// Where the first address is that no range has.
fn without_a_gap(windows: &[Window]) -> u64 {
    let mut ranges: Vec<(u64, u64)> = windows.iter().map(|w| (w.base, w.size.0)).collect();
    ranges.sort_unstable();
    let mut end = 0;
    for (base, size) in ranges {
        if base == end {
            end = base + size;
        }
    }
    end
}
