//! The interconnect: requesters, switches and memory endpoints joined by links (ESF section III).
//!
//! [`FabricConfig::new`] checks a description and [`Fabric`] runs it: [`Fabric::run`] with the
//! requesters' own patterns, or [`Fabric::send`] and [`Fabric::advance`] with requests from
//! outside. Every request's latency is split into [`Part`]s, and [`Fabric::balance`] holds the
//! counters against each other.
#![forbid(unsafe_code)]

mod arbiter;
mod bottleneck;
mod check;
mod coherent;
mod config;
mod endpoint;
mod engine;
mod error;
mod graph;
mod hierarchy;
mod hop;
mod link;
mod packet;
mod params;
mod parts;
mod pattern;
mod requester;
mod routing;
mod run;
mod service;
mod spec;
mod stats;
mod topology;

pub use bottleneck::Resource;
pub use coherent::{CacheSettings, CoherenceSettings, CoherenceStats, FILTERS, FilterInfo};
pub use config::FabricConfig;
pub use endpoint::{
    Answer, ENDPOINTS, EndpointInfo, EndpointSettings, ExternalMemory, Library, MemoryRequest,
    MemorySettings,
};
pub use engine::{Completed, Fabric, Refusal};
pub use error::{Deadlock, FabricError};
pub use graph::{Graph, HalfDuplex, Link, LinkSettings, NodeKind};
pub use hierarchy::{Vcs, Vppb};
pub use link::{Carried, Links};
pub use packet::{CHANNELS, Sizes};
pub use params::FABRIC_PARAMS;
pub use parts::{PARTS, Part, Parts};
pub use pattern::{Access, PATTERNS, PatternInfo, PatternSettings, Source};
pub use requester::RequesterSettings;
pub use routing::{Flow, Load, ROUTINGS, RoutingInfo};
pub use run::Length;
pub use spec::{FabricSpec, Group, LinkSpec, RangeSpec, RouteSpec, VcsSpec};
pub use stats::{FabricStats, HopStats, RequesterStats};
pub use topology::{Shape, Skeleton, TOPOLOGIES, TopologyInfo};
