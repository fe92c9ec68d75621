//! The command line of a run and where it ran, in its output folder: what it takes to run it again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CommandSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.command/1")]
    Command1,
}

/// A command and where it ran (`command.json` of an output folder).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptCommand {
    /// Version of the fields.
    pub schema: CommandSchema,
    /// Every argument, those of a program among them.
    pub arguments: Vec<String>,
    /// The folder that it was given in.
    pub directory: String,
    /// Variables by which it may differ.
    pub environment: BTreeMap<String, String>,
    /// Version of Sluice.
    pub version: String,
    /// What it ran on.
    pub host: BTreeMap<String, String>,
}
