//! Names the build by its sources, so that a command and a library that do not fit say so.

use sluice_units::Fnv;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The crates in which command and library must agree: what one writes and the other reads.
const SHARED: [&str; 5] = ["units", "model", "abi", "region", "runtime"];

fn main() -> io::Result<()> {
    let mut hash = Fnv::default();
    for name in SHARED {
        let folder = PathBuf::from(format!("../sluice-{name}/src"));
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in files(&folder)? {
            hash.bytes(file.to_string_lossy().as_bytes());
            hash.bytes(&fs::read(&file)?);
        }
    }
    println!("cargo::rustc-env=SLUICE_SOURCES={hash:016x}");
    Ok(())
}

/// All files of a folder and those in it, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    entries.sort();
    let mut all = Vec::new();
    for path in entries {
        match path.is_dir() {
            true => all.extend(files(&path)?),
            false => all.push(path),
        }
    }
    Ok(all)
}
