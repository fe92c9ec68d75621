//! Parameters with a few named values: enums, and registries.

use crate::kind::{Choice, Kind, Value};
use crate::typed::{Declared, Typed};

/// Declares an enum whose values have names, to be the type of a parameter.
///
/// The kind of the parameter, the reader of its text, the list of names in messages and the
/// meanings in the documentation all come from here.
///
/// ```
/// sluice_params::choices! {
///     /// When a written page is programmed.
///     pub enum WritePolicy {
///         Back = "back": "when it leaves the cache",
///         Through = "through": "at each store",
///     }
/// }
/// assert_eq!(WritePolicy::Through.name(), "through");
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $Name:ident {
            $($Choice:ident = $name:literal: $meaning:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name {
            $(#[doc = $meaning] $Choice,)+
        }

        impl $Name {
            /// Every choice, in the order in which messages list them.
            pub const ALL: &[$Name] = &[$($Name::$Choice,)+];

            /// The name that settings use.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Name::$Choice => $name,)+
                }
            }

            /// What it means, in one line.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($Name::$Choice => $meaning,)+
                }
            }
        }

        impl $crate::Typed for $Name {
            fn of(value: &$crate::Value) -> Option<$Name> {
                $Name::ALL.get(value.index()?).copied()
            }
        }

        impl $crate::Declared for $Name {
            const KIND: $crate::Kind = $crate::Kind::Choice(|| {
                vec![$($crate::Choice { name: $name, meaning: $meaning },)+]
            });
        }
    };
}

/// An entry of a registry, to be named by a parameter.
pub trait Registered: Sized + 'static {
    /// Every entry, in a fixed order.
    fn all() -> &'static [Self];

    /// The name of an entry.
    fn name(&self) -> &'static str;

    /// The entry of a name.
    fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|entry| entry.name() == name)
    }
}

/// The names of a registry, for [`Kind::Choice`].
pub fn registry<T: Registered>() -> Vec<Choice> {
    Choice::plain(T::all().iter().map(T::name))
}

impl<T: Registered> Typed for &'static T {
    fn of(value: &Value) -> Option<&'static T> {
        T::all().get(value.index()?)
    }
}

impl<T: Registered> Declared for &'static T {
    const KIND: Kind = Kind::Choice(registry::<T>);
}
