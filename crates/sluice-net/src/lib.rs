//! The interconnect: requesters, switches and memory endpoints joined by links (ESF section III).
//!
//! [`FabricConfig::new`] checks a description and [`Fabric`] runs it: [`Fabric::run`] with the
//! requesters' own patterns, or [`Fabric::send`] and [`Fabric::advance`] with requests from
//! outside. Every request's latency is split into [`Part`]s, and [`Fabric::balance`] holds the
//! counters against each other.
#![forbid(unsafe_code)]

mod acts;
mod answers;
mod asks;
mod bottleneck;
mod check;
mod coherence;
mod config;
mod counting;
mod endpoint;
mod engine;
mod error;
mod external;
mod fabric;
mod gaps;
mod graph;
mod hierarchy;
mod hosts;
mod ids;
mod link;
mod outside;
mod packet;
mod params;
mod parts;
mod pattern;
mod requester;
mod routing;
mod shares;
mod spec;
mod standstill;
mod stats;
mod topology;
mod waits;

pub use answers::{HostEvent, HostNews};
pub use bottleneck::Resource;
pub use coherence::{CacheSettings, CoherenceSettings, CoherenceStats, FILTERS, FilterInfo};
pub use config::FabricConfig;
pub use endpoint::{EndpointSettings, EndpointType, Library, MemorySettings, needs_objects};
pub use error::{Deadlock, FabricError, Imbalance, Standstill, Stuck};
pub use external::{Answer, ExternalMemory, MemoryRequest};
pub use fabric::{Fabric, Length, Refusal};
pub use graph::{Graph, HalfDuplex, Link, LinkSettings, NodeKind};
pub use hierarchy::{Vcs, Vppb};
pub use hosts::Hosts;
pub use ids::{DirectionId, EndpointId, LinkId, NodeId, PacketId, PortId, RequesterId, SwitchId};
pub use link::{Carried, Links};
pub use packet::{CHANNELS, Sizes};
pub use params::FABRIC_PARAMS;
pub use parts::{PARTS, Part, PartSums, Parts};
pub use pattern::{Access, PATTERNS, PatternInfo, PatternSettings, Source};
pub use requester::RequesterSettings;
pub use routing::{Flow, Load, ROUTINGS, RoutingInfo};
pub use spec::{
    DeviceGroup, FabricSpec, Group, HostGroup, HostProgram, LinkSpec, RangeSpec, RouteSpec, VcsSpec,
};
pub use stats::{Completed, FabricStats, HopStats, RequesterStats};
pub use topology::{Shape, Skeleton, TOPOLOGIES, TopologyInfo};
