//! The published schemas of the results.

use crate::{
    CurveResult, Devices, Doctor, FabricChoices, FabricResult, FilesResult, KeptCommand, LiveRun,
    Parameters, Policies, PolicyMisses, Presets, Replay, SimResult, SizeResult, SystemResult, Top,
    TraceConvert, TraceInfo, TraceRecord,
};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use sluice_abi::device_counters;

/// A kind of result, and the schema of its JSON object.
pub struct ResultKind {
    /// Its name, that of the schema's file.
    pub name: &'static str,
    /// The schema.
    pub schema: fn() -> Schema,
}

/// Every kind of result.
pub fn schemas() -> [ResultKind; 21] {
    [
        kind::<LiveRun>("run"),
        kind::<SimResult>("sim"),
        kind::<SystemResult>("system"),
        kind::<FabricResult>("fabric"),
        kind::<SizeResult>("size"),
        kind::<CurveResult>("curve"),
        kind::<FilesResult>("files"),
        kind::<TraceInfo>("trace-info"),
        kind::<TraceRecord>("trace-record"),
        kind::<TraceConvert>("trace-convert"),
        kind::<Top>("top"),
        kind::<CounterValues>("counters"),
        kind::<Replay>("replay"),
        kind::<PolicyMisses>("policy-misses"),
        kind::<Doctor>("doctor"),
        kind::<KeptCommand>("command"),
        kind::<Presets>("presets"),
        kind::<Devices>("devices"),
        kind::<Parameters>("parameters"),
        kind::<Policies>("policies"),
        kind::<FabricChoices>("fabric-choices"),
    ]
}

const fn kind<T: JsonSchema>(name: &'static str) -> ResultKind {
    ResultKind {
        name,
        schema: || {
            let mut settings = SchemaSettings::draft2020_12().for_serialize();
            settings
                .transforms
                .push(Box::new(RecursiveTransform(close)));
            settings.into_generator().into_root_schema_for::<T>()
        },
    }
}

/// Objects have the fields that are listed, and no others.
fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

macro_rules! values {
    ([] $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        /// Every counter of a process, by its name in the statistics block (`counters` of
        /// `sluice ctl stats --json`, and `sluice_ctl_counter`).
        #[derive(JsonSchema)]
        pub struct CounterValues { $($(#[$doc])* pub $name: u64,)+ }
    };
}
device_counters! { [sluice_abi::run_counters, sluice_abi::part_counters, values] }
