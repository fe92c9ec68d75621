//! Where the device's bytes are in the memory of a guest.

use crate::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const PAGE: u64 = 4096;
const PRESENT: u64 = 1 << 63;
const PFN: u64 = (1 << 55) - 1;

/// Physical memory that is the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// First physical address, length, and first byte of the device; in the order of the device.
    spans: Vec<(u64, u64, u64)>,
}

/// A part of a range, as bytes of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first byte.
    pub start: u64,
    /// How many bytes.
    pub len: u64,
}

impl Memory {
    /// The device's memory in this guest: the node without CPUs, or the persistent memory, that
    /// has as many bytes as the device.
    ///
    /// # Errors
    /// [`Error::NoMemory`] if the guest has no such memory.
    pub fn find(bytes: u64) -> Result<Memory, Error> {
        Memory::find_in(Path::new("/sys"), bytes)
    }

    fn find_in(sys: &Path, bytes: u64) -> Result<Memory, Error> {
        let of_nodes = folders(&sys.join("devices/system/node"), "node")
            .into_iter()
            .filter(|node| text(&node.join("cpulist")).as_deref() == Some(""))
            .map(|node| blocks(sys, &node));
        let of_regions = folders(&sys.join("bus/nd/devices"), "region")
            .into_iter()
            .filter_map(|region| {
                let number = |file| number(&text(&region.join(file))?);
                Some(vec![(number("resource")?, number("size")?)])
            });
        let mut all = of_nodes.chain(of_regions).filter(|spans| !spans.is_empty());
        let is_it = |spans: &Vec<(u64, u64)>| spans.iter().map(|span| span.1).sum::<u64>() == bytes;
        let found = all.find(is_it).ok_or(Error::NoMemory(bytes))?;
        let mut at = 0;
        let spans = found.into_iter().map(|(start, len)| {
            at += len;
            (start, len, at - len)
        });
        Ok(Memory {
            spans: spans.collect(),
        })
    }

    /// The byte of the device at a physical address.
    fn byte_at(&self, physical: u64) -> Option<u64> {
        let inside = |(start, len, _): &&(u64, u64, u64)| physical.wrapping_sub(*start) < *len;
        let (start, _, at) = self.spans.iter().find(inside)?;
        Some(physical - start + at)
    }

    /// A range of addresses of this program as bytes of the device: whole pages, in pieces that
    /// follow each other there.
    ///
    /// # Errors
    /// [`Error::NotOnDevice`] with the first page that is not there. A page that was never touched
    /// is nowhere. [`Error::Physical`] if the kernel does not reveal where pages are.
    pub fn pieces(&self, start: u64, len: u64) -> Result<Vec<Piece>, Error> {
        let unusable = |why: std::io::Error| Error::Unusable {
            path: PathBuf::from("/proc/self/pagemap"),
            why: why.to_string(),
        };
        let map = File::open("/proc/self/pagemap").map_err(unusable)?;
        let last = len.checked_sub(1).and_then(|more| start.checked_add(more));
        let last = last.ok_or(Error::NotOnDevice(start))?;
        let mut pieces: Vec<Piece> = Vec::new();
        for page in start / PAGE..=last / PAGE {
            let mut entry = [0; 8];
            map.read_exact_at(&mut entry, page * 8).map_err(unusable)?;
            let entry = u64::from_ne_bytes(entry);
            if entry & PRESENT != 0 && entry & PFN == 0 {
                return Err(Error::Physical);
            }
            let physical = (entry & PRESENT != 0).then_some((entry & PFN) * PAGE);
            let at = physical.and_then(|physical| self.byte_at(physical));
            let at = at.ok_or(Error::NotOnDevice(page * PAGE))?;
            match pieces.last_mut() {
                Some(piece) if piece.start + piece.len == at => piece.len += PAGE,
                _ => pieces.push(Piece {
                    start: at,
                    len: PAGE,
                }),
            }
        }
        Ok(pieces)
    }
}

/// The memory blocks of a node, by address: start and length.
fn blocks(sys: &Path, node: &Path) -> Vec<(u64, u64)> {
    let size = text(&sys.join("devices/system/memory/block_size_bytes"));
    let Some(size) = size.and_then(|size| u64::from_str_radix(&size, 16).ok()) else {
        return Vec::new();
    };
    let number = |folder: PathBuf| {
        folder
            .file_name()?
            .to_str()?
            .strip_prefix("memory")?
            .parse()
            .ok()
    };
    let mut numbers: Vec<u64> = folders(node, "memory")
        .into_iter()
        .filter_map(number)
        .collect();
    numbers.sort_unstable();
    numbers
        .into_iter()
        .map(|number| (number * size, size))
        .collect()
}

/// Folders of a folder whose names are a word and a number, in the order of their names.
fn folders(of: &Path, word: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(of).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_prefix(word)?.parse::<u64>().ok())
            .is_some()
    };
    let mut found: Vec<PathBuf> = all.map(|entry| entry.path()).filter(is_one).collect();
    found.sort();
    found
}

fn text(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        std::fs::write(path, text).expect("room");
    }

    #[test]
    fn a_node_without_cpus_in_two_parts() {
        let sys = tempfile::tempdir().expect("a folder");
        put(
            sys.path(),
            "devices/system/memory/block_size_bytes",
            "8000000\n",
        );
        put(sys.path(), "devices/system/node/node0/cpulist", "0-1\n");
        put(sys.path(), "devices/system/node/node0/memory0/x", "");
        put(sys.path(), "devices/system/node/node1/cpulist", "\n");
        // 128 MiB below the hole for PCI, and 256 above it.
        for block in ["memory33", "memory4", "memory32"] {
            put(
                sys.path(),
                &format!("devices/system/node/node1/{block}/x"),
                "",
            );
        }
        let memory = Memory::find_in(sys.path(), 384 << 20).expect("the node");
        let mib = |n: u64| n << 20;
        assert_eq!(memory.byte_at(mib(512)), Some(0));
        assert_eq!(memory.byte_at(mib(640) - 1), Some(mib(128) - 1));
        assert_eq!(memory.byte_at(mib(640)), None);
        assert_eq!(memory.byte_at(mib(4096)), Some(mib(128)));
        assert_eq!(memory.byte_at(mib(4096 + 256) - 1), Some(mib(384) - 1));
        assert!(matches!(
            Memory::find_in(sys.path(), 1 << 30),
            Err(Error::NoMemory(_))
        ));
    }

    /// In a guest a command for no bytes was carried out for a page.
    #[test]
    fn a_range_of_no_bytes_is_nowhere() {
        let everything = Memory {
            spans: vec![(0, u64::MAX, 0)],
        };
        let touched = 7_u64;
        for start in [&raw const touched as u64, u64::MAX] {
            let found = everything.pieces(start, 0);
            assert!(matches!(found, Err(Error::NotOnDevice(_))), "{found:?}");
        }
    }

    #[test]
    fn persistent_memory() {
        let sys = tempfile::tempdir().expect("a folder");
        put(
            sys.path(),
            "bus/nd/devices/region0/resource",
            "0x140000000\n",
        );
        put(sys.path(), "bus/nd/devices/region0/size", "268435456\n");
        let memory = Memory::find_in(sys.path(), 256 << 20).expect("the region");
        assert_eq!(memory.byte_at(0x1_4000_1000), Some(0x1000));
        assert_eq!(memory.byte_at(0x1_3fff_ffff), None);
    }
}
