//! Tables of parameters.

/// Declares parameters, each with the field that has its value.
///
/// A table is a list of [`Param`](crate::Param)s, `PARAMS`, and a struct that `new` reads from the
/// values of a list in which these are. A field's type determines its kind, unless the table states
/// a range.
///
/// ```
/// use sluice_params::{Kind, RawConfig};
/// use sluice_units::Ps;
///
/// sluice_params::params! {
///     /// A bus.
///     pub struct Bus {
///         wires: u32 {
///             key: "bus.wires",
///             kind: Kind::Count { min: 1, max: 64 },
///             default: "8",
///             meaning: "data lines",
///             source: "assumed",
///         }
///         latency: Ps {
///             key: "bus.latency",
///             default: "5ns",
///             meaning: "time from one end to the other",
///             source: "assumed",
///         }
///     }
/// }
///
/// let mut raw = RawConfig::of(Bus::PARAMS);
/// raw.set("bus.latency", "7ns").unwrap();
/// let bus = Bus::new(&raw);
/// assert_eq!((bus.wires, bus.latency), (8, Ps::from_ns(7)));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $Name:ident {
            $($field:ident: $type:ty {
                key: $key:expr,
                $(kind: $kind:expr,)?
                default: $default:expr,
                meaning: $meaning:expr,
                source: $source:expr,
            })+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        $visibility struct $Name {
            $(
                #[doc = concat!("`", $key, "`: ", $meaning, ".")]
                pub $field: $type,
            )+
        }

        impl $Name {
            /// The parameters, in the order in which they are shown.
            pub const PARAMS: &[$crate::Param] = &[$($crate::Param {
                key: $key,
                kind: $crate::params!(@kind $type $(, $kind)?),
                default: $default,
                meaning: $meaning,
                source: $source,
            },)+];

            /// The values of its parameters.
            pub fn new(raw: &$crate::RawConfig) -> $Name {
                $Name {
                    $($field: raw.read($key),)+
                }
            }
        }
    };
    (@kind $type:ty, $kind:expr) => { $kind };
    (@kind $type:ty) => { <$type as $crate::Declared>::KIND };
}
