//! Numbers of the things that a fabric is made of. None can be taken for another.

use sluice_units::index_type;

index_type! {
    /// Which node: requesters first, then endpoints, then switches.
    pub struct NodeId;
    /// Which requester.
    pub struct RequesterId;
    /// Which memory endpoint.
    pub struct EndpointId;
    /// Which switch.
    pub struct SwitchId;
    /// Which link.
    pub struct LinkId;
    /// Which direction of a link: link i has the directions 2i, from its first end to its second,
    /// and 2i + 1, the way back.
    pub struct DirectionId;
    /// Which packet under way.
    pub struct PacketId;
}

/// The port id of a requester or an endpoint (PBR ID, 12 bits), which is its node's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PortId(pub u16);

impl PortId {
    /// The node that has this port.
    #[inline]
    pub fn node(self) -> NodeId {
        NodeId(u32::from(self.0))
    }
}

impl NodeId {
    /// The port id of a requester or an endpoint. [`Graph::check`](crate::Graph::check) sees to it
    /// that they have 12 bits.
    #[inline]
    pub fn port_id(self) -> PortId {
        PortId(self.0 as u16)
    }
}

impl RequesterId {
    /// Requesters are the first nodes.
    #[inline]
    pub fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

impl LinkId {
    /// Its direction from the first end to the second, and the way back.
    #[inline]
    pub fn directions(self) -> [DirectionId; 2] {
        [DirectionId(2 * self.0), DirectionId(2 * self.0 + 1)]
    }
}

impl DirectionId {
    /// The link of which this is one direction.
    #[inline]
    pub fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// The end of the link at which it begins: 0 or 1.
    #[inline]
    pub fn side(self) -> usize {
        self.0 as usize % 2
    }

    /// The other direction of the link.
    #[inline]
    pub fn back(self) -> DirectionId {
        DirectionId(self.0 ^ 1)
    }
}
