//! What can be wrong with the file of a device, a system or a fabric.

use sluice_params::{ConfigError, nearest};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

/// A place in a file, both counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, as it was named.
    pub file: String,
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Why a device or a system could not be loaded. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither a preset nor a file.
    #[error(
        "unknown device `{}`{}: give a path ending in .toml, or one of {presets}",
        name.escape_debug(), other_kind(name, presets)
    )]
    UnknownDevice {
        /// The name as given.
        name: String,
        /// The names of all presets, for the message.
        presets: String,
    },
    /// Neither a system that comes with the program nor a file.
    #[error(
        "unknown system `{}`{}: give a path ending in .toml, or one of {systems}",
        name.escape_debug(), other_kind(name, systems)
    )]
    UnknownSystem {
        /// The name as given.
        name: String,
        /// The names of all systems, for the message.
        systems: String,
    },
    /// Neither a fabric that comes with the program nor a file.
    #[error(
        "unknown fabric `{}`{}: give a path ending in .toml, or one of {fabrics}",
        name.escape_debug(), other_kind(name, fabrics)
    )]
    UnknownFabric {
        /// The name as given.
        name: String,
        /// The names of all fabrics, for the message.
        fabrics: String,
    },
    /// An element of a list cannot be.
    #[error("{place}: `{}`: expected {expected}", value.escape_debug())]
    Element {
        /// Which file and line says so.
        place: Position,
        /// The key or value.
        value: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// The device that a system's file names cannot be loaded.
    #[error("{place}: {source}")]
    Device {
        /// Which file and line names it.
        place: Position,
        /// Why it cannot be read or is refused.
        source: Box<Error>,
    },
    /// The file cannot be read.
    #[error("cannot read {what} file `{path}`: {source}")]
    Unreadable {
        /// A device, a system or a fabric.
        what: &'static str,
        /// The path as given.
        path: String,
        /// Why the operating system does not let it be read.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Which file and line says so.
        place: Position,
        /// What the reader expected.
        message: String,
    },
    /// The file's `base` is no preset.
    #[error("{place}: unknown base `{}`: give one of {presets}", name.escape_debug())]
    UnknownBase {
        /// Which file and line says so.
        place: Position,
        /// The name as given.
        name: String,
        /// The names of all presets, for the message.
        presets: String,
    },
    /// The file leaves out what makes a device, and names no base.
    #[error(
        "{place}: `{key}` is missing: state it ({expected}), or take what is left out from a \
         preset by beginning the file with base = \"cylon\""
    )]
    Missing {
        /// Where it belongs.
        place: Position,
        /// The key that the file leaves out.
        key: &'static str,
        /// What would be accepted.
        expected: String,
    },
    /// A group of nodes or a link has a key or value that cannot be.
    #[error("{place}: {element}: {source}")]
    Of {
        /// Which file and line says so.
        place: Position,
        /// The group or the link.
        element: String,
        /// What is wrong.
        source: Box<ConfigError>,
    },
    /// The file has a key or value that cannot be.
    #[error("{place}: {source}")]
    Config {
        /// Which file and line says so.
        place: Position,
        /// What is wrong.
        source: ConfigError,
    },
}

/// What else has the name, or which of those that would do is like it.
fn other_kind(name: &str, known: &str) -> Cow<'static, str> {
    let path = Path::new(name);
    let other = if crate::presets().iter().any(|preset| preset.name == name) {
        ", which is a device (--device)"
    } else if crate::systems().iter().any(|preset| preset.name == name) {
        ", which is a system (--system)"
    } else if crate::fabrics().iter().any(|preset| preset.name == name) {
        ", which is a fabric (sluice fabric)"
    } else if path.is_dir() {
        ", which is a folder"
    } else if path.is_file() {
        ", a file whose name does not end in .toml"
    } else {
        let near = nearest(name, known.split(", "));
        return near.map_or(Cow::Borrowed(""), |near| {
            format!(" (did you mean {near}?)").into()
        });
    };
    other.into()
}
