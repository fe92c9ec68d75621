//! The logical devices that requesters can reach.

use super::nodes::Nodes;
use crate::endpoint::EndpointSettings;
use crate::ids::EndpointId;
use crate::requester::Logical;
use sluice_units::Bytes;

/// The logical devices of all endpoints.
pub(super) struct Devices {
    pub logical: Vec<Logical>,
    pub sizes: Vec<Bytes>,
    /// Granules of each in a round of weighted interleaving.
    pub weights: Vec<u8>,
    /// An endpoint of several logical devices has one name for each.
    pub names: Vec<String>,
}

/// The devices of these endpoints, in order.
pub(super) fn devices(endpoints: &Nodes<EndpointSettings>) -> Devices {
    let mut devices = Devices {
        logical: Vec::new(),
        sizes: Vec::new(),
        weights: Vec::new(),
        names: Vec::new(),
    };
    for (endpoint, settings) in endpoints.settings.iter().enumerate() {
        let name = &endpoints.names[endpoint];
        for id in 0..settings.logical_devices {
            devices.logical.push(Logical {
                endpoint: EndpointId(endpoint as u32),
                id: id as u8,
                base: u64::from(id) * settings.each(),
            });
            devices.sizes.push(Bytes(settings.each()));
            devices.weights.push(settings.weight);
            devices.names.push(match settings.logical_devices {
                1 => name.clone(),
                _ => format!("{name}.{id}"),
            });
        }
    }
    devices
}
