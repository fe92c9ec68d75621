//! What commands that list and show print as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What there is by name (`sluice system list --json`, `sluice fabric list --json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Presets(pub Vec<Named>);

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// The name.
    pub name: String,
    /// What it is.
    pub meaning: String,
}

/// The devices that come with Sluice (`sluice device list --json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Devices(pub Vec<NamedDevice>);

/// A device that comes with Sluice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedDevice {
    /// The name.
    pub name: String,
    /// What it is.
    pub meaning: String,
    /// Whether a program can run on it (`sluice run`).
    pub live: bool,
    /// What to give to `sluice run` instead. `null` if a program can run on it.
    pub live_instead: Option<String>,
}

/// Every parameter with its value (`sluice device show --json`, `sluice device live --json`,
/// `sluice system show --json`, `sluice fabric show --json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(pub Vec<Parameter>);

/// A parameter and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// The key, such as `nand.read`.
    pub key: String,
    /// The value, as text with its unit.
    pub value: String,
    /// The value if none is given.
    pub default: String,
    /// The kind of value, with its unit and range.
    pub expected: String,
    /// What it is.
    pub meaning: String,
    /// Where the value comes from.
    pub source: String,
    /// Where the default comes from.
    pub default_source: String,
}

/// The policies that there are (`sluice policy list --json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Policies(pub Vec<NamedPolicy>);

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedPolicy {
    /// What it decides on: `eviction`, `prefetch` or `gc`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// What it does.
    pub meaning: String,
    /// Where it was published.
    pub source: String,
    /// By what it decides: `hits` and misses, `misses` alone, or `stale pages`.
    pub decides_by: String,
}

/// What a fabric file can name (`sluice fabric choices --json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FabricChoices {
    /// Topologies.
    pub topologies: Vec<Named>,
    /// Ways to choose among shortest paths.
    pub routings: Vec<Named>,
    /// Patterns of requests.
    pub patterns: Vec<Named>,
    /// Kinds of endpoints.
    pub endpoints: Vec<Named>,
    /// Ways to spread addresses over endpoints.
    pub spreads: Vec<Named>,
}
