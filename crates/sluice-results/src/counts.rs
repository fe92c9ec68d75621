//! Parts of the results whose fields are counters, from the rows that declare these.

/// The struct with a field for each row.
macro_rules! counts {
    ([] { $(#[$meta:meta])* $type:ident }
     $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        pub struct $type { $($(#[$doc])* pub $key: u64,)+ }
    };
}

/// Its values from the counters of a model.
macro_rules! of_stats {
    ([] $type:ident, $stats:ty;
     $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        impl From<&$stats> for $type {
            fn from(stats: &$stats) -> $type {
                $type { $($key: stats.$name,)+ }
            }
        }
    };
}

/// Its values from the counters of a process.
macro_rules! of_process {
    ([] $type:ident; $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        impl $type {
            /// Of a process; zeros of none.
            pub(crate) fn of(get: impl Fn(sluice_abi::Counter) -> u64) -> $type {
                $type { $($key: get(sluice_abi::Counter::$variant),)+ }
            }
        }
    };
}

pub(crate) use {counts, of_process, of_stats};
