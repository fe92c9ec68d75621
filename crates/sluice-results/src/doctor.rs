//! What `sluice doctor --json` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DoctorSchema {
    /// The only one so far.
    #[default]
    #[serde(rename = "sluice.doctor/1")]
    Doctor1,
}

/// What this host can do (`sluice doctor --json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// Version of the fields.
    pub schema: DoctorSchema,
    /// Whether `sluice run` works here, by the way in which it traps.
    pub modes: DoctorModes,
    /// What was looked at.
    pub checks: Vec<DoctorCheck>,
}

/// Whether `sluice run` works, by `--trap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorModes {
    /// With `--trap event`, the default.
    pub event: bool,
    /// With `--trap signal`.
    pub signal: bool,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorCheck {
    /// Its name.
    pub name: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found, in words.
    pub found: String,
    /// What would mend it, in words. `null` if it is as it should be.
    pub mend: Option<String>,
    /// What needs it, in words.
    pub needed_for: String,
}
