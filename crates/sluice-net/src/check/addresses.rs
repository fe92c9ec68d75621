//! Which requester sees which memory at which address.

use super::coherence;
use super::devices::Devices;
use super::hierarchy::Reach;
use super::nodes::Nodes;
use super::wiring::valid;
use crate::error::FabricError;
use crate::ids::RequesterId;
use crate::params::MapParams;
use crate::requester::{AddressMap, RequesterSettings};
use crate::spec::{FabricSpec, RangeSpec};
use sluice_cxl::{Arithmetic, GRANULARITIES, GRANULARITY_MIN, HomeAgent, WAYS, Window};
use sluice_units::{Bytes, LINE_BYTES};
use std::collections::BTreeMap;

/// What each requester finds at its addresses.
pub(super) fn map(
    spec: &FabricSpec,
    requesters: &Nodes<RequesterSettings>,
    devices: Devices,
    reach: &Reach,
) -> Result<AddressMap, FabricError> {
    let params = MapParams::new(&spec.raw);
    let mapper = Mapper {
        spec,
        requesters,
        devices: &devices,
        reach,
        granularity: params.granularity.0,
        arithmetic: params.arithmetic,
    };
    let (mut homes, mut home_of, mut mapped_bytes) = (Vec::new(), Vec::new(), Vec::new());
    let hosts = &requesters.names;
    for range in &spec.ranges {
        if let Some(name) = range.hosts.iter().find(|name| !hosts.contains(name)) {
            return Err(unknown(range, "requester", name, hosts));
        }
    }
    // Hosts that reach the same by the same ranges share a map.
    let mut known = BTreeMap::new();
    for (requester, settings) in (0..).map(RequesterId).zip(&requesters.settings) {
        let key = (reach.of[requester], mapper.ranges(requester));
        let home = match known.get(&key) {
            Some(home) => *home,
            None => {
                let (home, mapped) = mapper.home(requester, &key.1)?;
                homes.push(home);
                mapped_bytes.push(mapped);
                let home = homes.len() as u32 - 1;
                known.insert(key, home);
                home
            }
        };
        home_of.push(home);
        let mapped = mapped_bytes[home as usize];
        let footprint = settings.footprint.unwrap_or(mapped);
        if footprint > mapped || footprint < 2 * LINE_BYTES {
            return mapper.wrong(format!(
                "`{}`: requester.footprint is {}, but {} are mapped without a gap from address 0; \
                 give it from 128B to that",
                requesters.names[requester.index()],
                Bytes(footprint),
                Bytes(mapped)
            ));
        }
    }
    Ok(AddressMap {
        homes,
        home_of: home_of.into_iter().collect(),
        mapped: mapped_bytes,
        logical: devices.logical,
    })
}

fn unknown(range: &RangeSpec, what: &'static str, name: &str, names: &[String]) -> FabricError {
    FabricError::Unknown {
        element: format!("range `{}`", range.name),
        what,
        name: name.to_owned(),
        valid: valid(names),
    }
}

struct Mapper<'a> {
    spec: &'a FabricSpec,
    requesters: &'a Nodes<RequesterSettings>,
    devices: &'a Devices,
    reach: &'a Reach,
    granularity: u64,
    arithmetic: Arithmetic,
}

impl Mapper<'_> {
    fn wrong<T>(&self, message: String) -> Result<T, FabricError> {
        Err(FabricError::Addresses { message })
    }

    /// The file's ranges that a requester has, by number.
    fn ranges(&self, requester: RequesterId) -> Vec<usize> {
        let name = &self.requesters.names[requester.index()];
        let all = self.spec.ranges.iter().enumerate();
        all.filter(|(_, range)| range.hosts.is_empty() || range.hosts.contains(name))
            .map(|(number, _)| number)
            .collect()
    }

    fn home(
        &self,
        requester: RequesterId,
        ranges: &[usize],
    ) -> Result<(HomeAgent, u64), FabricError> {
        let set = &self.reach.sets[self.reach.of[requester] as usize];
        let name = &self.requesters.names[requester.index()];
        if set.is_empty() {
            return self.wrong(format!("`{name}` reaches no device"));
        }
        let windows = if self.spec.ranges.is_empty() {
            self.one_after_the_other(set)?
        } else if ranges.is_empty() {
            return self.wrong(format!("no range has `{name}` among its hosts"));
        } else {
            let named = |number: &usize| self.window(requester, &self.spec.ranges[*number]);
            ranges.iter().map(named).collect::<Result<_, _>>()?
        };
        let alignment = Bytes(self.granularity.min(GRANULARITY_MIN));
        let home = HomeAgent::new(&windows, &self.devices.sizes, alignment);
        let home = home.map_err(|error| FabricError::Addresses {
            message: error.to_string(),
        })?;
        if let Some(block) = coherence::aligned_block(&self.spec.raw) {
            for window in &windows {
                self.has_blocks(window, &home, block)?;
            }
        }
        Ok((home, without_a_gap(&windows)))
    }

    /// Whether aligned blocks of a range's devices are that at the hosts, so that a snoop can name
    /// them.
    fn has_blocks(&self, window: &Window, home: &HomeAgent, block: u64) -> Result<(), FabricError> {
        if window.targets.len() > 1 && window.granularity < block {
            return Err(coherence::apart(&self.spec.raw).into());
        }
        // In a round each device has its first granule.
        let round: usize = match window.arithmetic {
            Arithmetic::Weighted => window.weights.iter().map(|it| usize::from(*it)).sum(),
            Arithmetic::Modulo | Arithmetic::Xor => window.targets.len(),
        };
        let end = window.base + window.size.0;
        let granules = (window.base..end).step_by(window.granularity as usize);
        for addr in granules.take(round) {
            let Some(it) = home.home(addr) else {
                continue;
            };
            let device = usize::from(it.device);
            let byte = self.devices.logical[device].base + it.dpa;
            if byte % block != addr % block {
                return self.wrong(format!(
                    "`{}`: address {addr:#x} is byte {byte:#x} of the endpoint of `{}`, where \
                     blocks of {} begin elsewhere; give ranges and logical devices whole blocks, \
                     fewer coherence.block_lines, or coherence.block_shape = any",
                    window.name,
                    self.devices.names[device],
                    Bytes(block)
                ));
            }
        }
        Ok(())
    }

    /// Ranges over a set of devices, each over as many neighbours of one size as can be.
    fn one_after_the_other(&self, set: &[u16]) -> Result<Vec<Window>, FabricError> {
        let ways_max = MapParams::new(&self.spec.raw).ways;
        let (mut windows, mut base, mut rest) = (Vec::new(), 0, set);
        while !rest.is_empty() {
            let (ways, size) = match self.arithmetic {
                Arithmetic::Weighted => self.by_weights(rest, ways_max),
                _ => self.of_one_size(rest, ways_max),
            };
            let end = size.and_then(|size: u64| size.checked_add(base));
            let (Some(size), Some(end)) = (size, end) else {
                let first = &self.devices.names[usize::from(rest[0])];
                return self.wrong(format!(
                    "from `{first}` on, there are more bytes than 64 bits can address; give \
                     endpoint.capacity less"
                ));
            };
            if size == 0 {
                self.has_a_round(&rest[..ways])?;
            }
            windows.push(Window {
                name: format!("range {}", windows.len()),
                base,
                size: Bytes(size),
                granularity: self.granularity,
                arithmetic: self.arithmetic,
                targets: rest[..ways].to_vec(),
                weights: self.weights(&rest[..ways]),
            });
            base = end;
            rest = &rest[ways..];
        }
        Ok(windows)
    }

    /// Whether each device has room for a round of a range. Of granules that cannot be, the range
    /// is refused for that.
    fn has_a_round(&self, devices: &[u16]) -> Result<(), FabricError> {
        if !GRANULARITIES.contains(&self.granularity) {
            return Ok(());
        }
        for (&device, weight) in devices.iter().zip(self.weights(devices)) {
            let size = self.devices.sizes[usize::from(device)];
            if size.0 < u64::from(weight) * self.granularity {
                return self.wrong(format!(
                    "`{}` has {size}, less than its granules of a round: endpoint.weight = \
                     {weight}, map.granularity = {}; give it more capacity, or less of these",
                    self.devices.names[usize::from(device)],
                    Bytes(self.granularity)
                ));
            }
        }
        Ok(())
    }

    /// How many of the first devices are of one size and can share a range, and its bytes.
    fn of_one_size(&self, devices: &[u16], ways_max: u32) -> (usize, Option<u64>) {
        let size = |device: &u16| self.devices.sizes[usize::from(*device)];
        let first = size(&devices[0]);
        let alike = devices.iter().take_while(|other| size(other) == first);
        let most = alike.count().min(ways_max as usize);
        let ways = WAYS.iter().map(|ways| usize::from(*ways));
        let ways = ways.filter(|ways| *ways <= most).max().unwrap_or(1);
        let each = first.0 / self.granularity.max(1) * self.granularity;
        (ways, each.checked_mul(ways as u64))
    }

    /// As many of the first devices as may share a range, and its bytes: as many whole rounds as
    /// the device has room for that is full first.
    fn by_weights(&self, devices: &[u16], ways_max: u32) -> (usize, Option<u64>) {
        let ways = devices.len().min(ways_max as usize);
        let weights = self.weights(&devices[..ways]);
        let rounds = devices.iter().zip(&weights).map(|(&device, &weight)| {
            let bytes = u64::from(weight) * self.granularity.max(1);
            self.devices.sizes[usize::from(device)].0 / bytes
        });
        let round: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let rounds = rounds.min().unwrap_or(0);
        let size = rounds.checked_mul(round);
        (
            ways,
            size.and_then(|size| size.checked_mul(self.granularity)),
        )
    }

    fn weights(&self, devices: &[u16]) -> Vec<u8> {
        let weight = |device: &u16| self.devices.weights[usize::from(*device)];
        devices.iter().map(weight).collect()
    }

    /// A range of the file's.
    fn window(&self, requester: RequesterId, range: &RangeSpec) -> Result<Window, FabricError> {
        let names = &self.devices.names;
        let set = &self.reach.sets[self.reach.of[requester] as usize];
        let mut targets = Vec::new();
        for name in &range.targets {
            let device = names.iter().position(|known| known == name);
            let device = device.ok_or_else(|| unknown(range, "endpoint", name, names))? as u16;
            if !set.contains(&device) {
                return self.elsewhere(requester, range, device);
            }
            targets.push(device);
        }
        Ok(Window {
            name: range.name.clone(),
            base: range.base,
            size: Bytes(range.size),
            granularity: self.granularity,
            arithmetic: self.arithmetic,
            weights: self.weights(&targets),
            targets,
        })
    }

    /// A host would have an address of a device that is not in its hierarchy.
    fn elsewhere<T>(
        &self,
        requester: RequesterId,
        range: &RangeSpec,
        device: u16,
    ) -> Result<T, FabricError> {
        let owner = self.reach.vcs.iter();
        let mut owner = owner.filter(|vcs| vcs.vppbs.iter().any(|vppb| vppb.device == device));
        let bound = match owner.next() {
            Some(vcs) => format!("is bound to vcs `{}`", vcs.name),
            None => "is bound to none".to_owned(),
        };
        let host = &self.requesters.names[requester.index()];
        let has = match self.reach.of[requester] {
            0 => "no vcs".to_owned(),
            set => format!("vcs `{}`", self.reach.vcs[set as usize - 1].name),
        };
        self.wrong(format!(
            "range `{}`: `{host}` has {has} and cannot reach `{}`, which {bound}; name the \
             range's hosts, or bind it to theirs",
            range.name,
            self.devices.names[usize::from(device)]
        ))
    }
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
