//! Virtual CXL switches (CXL 3.1, 7.1): parts of a switch, a host each.
//!
//! A switch that no hierarchy names routes by port and leads everywhere. One that is named is
//! divided: a host reaches what the vPPBs of its virtual switch are bound to, and nothing else.

use super::ids::{EndpointId, LinkId, NodeId, RequesterId};

/// A virtual switch: an upstream port, and vPPBs that are bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vcs {
    /// What messages and reports call it.
    pub name: String,
    /// The node of the switch.
    pub switch: NodeId,
    /// The requester on its upstream port.
    pub host: RequesterId,
    /// The upstream port's link.
    pub link: LinkId,
    /// In the order of the description.
    pub vppbs: Vec<Vppb>,
}

/// A virtual PCI-to-PCI bridge, bound to a device: one that is not shared, or a logical device of
/// one that is pooled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vppb {
    /// The name of the device, with its LD-ID if there are several.
    pub name: String,
    /// Which endpoint it is bound to.
    pub endpoint: EndpointId,
    /// Which logical device of that endpoint (LD-ID).
    pub logical: u8,
    /// The physical port.
    pub port: u32,
    /// Its number among the logical devices of all endpoints.
    pub(super) device: u16,
}
