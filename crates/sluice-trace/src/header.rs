//! What stands at the beginning of a file: how the trace was made and what its numbers mean.

use crate::Error;
use serde::{Deserialize, Serialize};

/// First bytes of a file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SLTR\r\n\x1a";
/// The version that this crate writes where there is no request by the block door, and the last
/// that it reads.
const VERSION: u32 = 1;
const VERSION_OF_BLOCKS: u32 = 2;
/// Magic, version, length of the text, place of the index, checksum.
pub(crate) const PREFIX_BYTES: usize = 28;
/// Where the place of the index stands.
pub(crate) const INDEX_AT: u64 = 16;
/// Most bytes of the text, so that a damaged length allocates nothing large.
const TEXT_MAX: u32 = 1 << 20;

/// Whose addresses they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Addresses that the program uses.
    Virtual,
    /// Addresses of the machine's (a guest's) memory.
    Physical,
}

/// What the order of accesses of different CPUs says. Those of one CPU are always in its program's
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The order in which they were made.
    Global,
    /// Nothing: they were put together from buffers of each CPU.
    PerCpu,
}

/// How a trace was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// What was recorded: a command line, or the file that this one was converted from.
    pub command: String,
    /// The program that wrote it, with its version.
    pub made_by: String,
    /// Every address is a multiple of this power of two: 1 for bytes, 64 for lines.
    pub granularity: u32,
    /// What kept accesses out of the trace, such as a host cache; none: every access is in it.
    pub filter: Option<String>,
    /// Whose addresses they are.
    pub space: Space,
    /// What the order between CPUs says.
    pub order: Order,
    /// Whether it may have requests by the block door.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub block_requests: bool,
}

impl Header {
    /// A trace of every access, by the virtual byte address, in the order in which they were made.
    pub fn new(command: impl Into<String>) -> Header {
        Header {
            command: command.into(),
            made_by: format!("sluice {}", env!("CARGO_PKG_VERSION")),
            granularity: 1,
            filter: None,
            space: Space::Virtual,
            order: Order::Global,
            block_requests: false,
        }
    }

    /// The header of a trace that may have requests by the block door.
    pub fn with_block_requests(self) -> Header {
        Header {
            block_requests: true,
            ..self
        }
    }

    fn version(&self) -> u32 {
        match self.block_requests {
            true => VERSION_OF_BLOCKS,
            false => VERSION,
        }
    }

    /// Bits that every address has zero.
    pub(crate) fn shift(&self) -> u32 {
        self.granularity.trailing_zeros()
    }

    fn check(&self) -> Result<(), Error> {
        if self.granularity.is_power_of_two() && self.granularity <= 1 << 16 {
            return Ok(());
        }
        Err(Error::Header(format!(
            "granularity: {} is not accepted; expected a power of two from 1 to 65536",
            self.granularity
        )))
    }

    /// The bytes before the first block, of a file that is not finished.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        let text = serde_json::to_vec(self).map_err(|error| Error::Header(error.to_string()))?;
        if text.len() > TEXT_MAX as usize {
            let length = text.len();
            return Err(Error::Header(format!(
                "{length} bytes of {TEXT_MAX} at most"
            )));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.version().to_le_bytes());
        bytes.extend((text.len() as u32).to_le_bytes());
        let crc = checksum(&bytes, &text);
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(crc.to_le_bytes());
        bytes.extend(text);
        Ok(bytes)
    }

    /// Checks the first bytes: how long the text is that follows, and where the index is (0: the
    /// file was not finished).
    pub(crate) fn read_prefix(prefix: &[u8; PREFIX_BYTES]) -> Result<(usize, u64), Error> {
        if prefix[..8] != MAGIC {
            return Err(Error::NotATrace);
        }
        let (found, length) = (u32_at(prefix, 8), u32_at(prefix, 12));
        if !(VERSION..=VERSION_OF_BLOCKS).contains(&found) {
            let known = VERSION_OF_BLOCKS;
            return Err(Error::Version { found, known });
        }
        if length > TEXT_MAX {
            return Err(Error::damaged(12, format!("a header of {length} bytes")));
        }
        Ok((length as usize, u64_at(prefix, INDEX_AT as usize)))
    }

    pub(crate) fn read_text(prefix: &[u8; PREFIX_BYTES], text: &[u8]) -> Result<Header, Error> {
        if checksum(&prefix[..16], text) != u32_at(prefix, 24) {
            return Err(Error::damaged(0, "the header's checksum is wrong"));
        }
        let header: Header =
            serde_json::from_slice(text).map_err(|error| Error::Header(error.to_string()))?;
        header.check()?;
        if header.version() != u32_at(prefix, 8) {
            return Err(Error::damaged(
                8,
                "the version and block_requests contradict",
            ));
        }
        Ok(header)
    }
}

fn checksum(prefix: &[u8], text: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(prefix);
    crc.update(text);
    crc.finalize()
}

/// Four bytes at a place, little-endian. The caller knows that they are there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

/// Eight of them.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}
