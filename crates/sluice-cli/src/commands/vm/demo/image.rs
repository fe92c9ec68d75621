//! The demo's guest: Debian's cloud kernel and a small system of Debian packages, fetched by apt
//! and kept in the user's cache.

use super::archive::Archive;
use super::packages;
use crate::error::Error;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Raised when the archive's contents change.
const FORMAT: &str = "sluice guest 2";
/// Programs of the packages that the guest has besides busybox.
const TOOLS: [&str; 4] = ["numactl", "ndctl", "daxctl", "cxl"];
/// What makes libraries known to a program.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Drivers that each place in the guest needs, and its disk, by the names of their modules.
const DRIVERS: [(&str, &[&str]); 4] = [
    ("disk", &["virtio_pci", "virtio_blk", "ext4"]),
    ("numa", &[]),
    (
        "dax",
        &["nfit", "nd_pmem", "dax_pmem", "device_dax", "kmem"],
    ),
    (
        "cxl",
        &[
            "cxl_acpi",
            "cxl_pci",
            "cxl_mem",
            "cxl_pmem",
            "nd_pmem",
            "dax_pmem",
            "device_dax",
            "kmem",
        ],
    ),
];

/// A guest that can be booted.
#[derive(Debug)]
pub struct Image {
    pub kernel: PathBuf,
    /// The first part of the initial file system.
    pub base: PathBuf,
}

impl Image {
    fn of(dir: &Path) -> Image {
        Image {
            kernel: dir.join("vmlinuz"),
            base: dir.join("base.cpio"),
        }
    }
}

/// Where the user's caches are.
fn cache_dir() -> Result<PathBuf, Error> {
    let var = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    let base = match (var("XDG_CACHE_HOME"), var("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => Path::new(&home).join(".cache"),
        (None, None) => {
            let why = "neither XDG_CACHE_HOME nor HOME is set";
            return Err(Error::unfit("no folder to keep the guest in", why));
        }
    };
    Ok(base.join("sluice").join("guest"))
}

/// The guest of the packages that are current, from the cache or made now. `tell` prints each step
/// that takes time.
pub fn get(tell: impl Fn(&str)) -> Result<Image, Error> {
    let cache = cache_dir()?;
    let failed = |e| Error::system(cache.display())(e);
    fs::create_dir_all(&cache).map_err(failed)?;
    // Two commands make one guest.
    let lock = File::create(cache.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let packages = match packages::resolve() {
        Ok(packages) => packages,
        Err(why) => return newest(&cache).ok_or(why),
    };
    let dir = cache.join(packages.name());
    let recipe = format!("{FORMAT}\n{}", packages.list());
    if fs::read_to_string(dir.join("recipe")).is_ok_and(|kept| kept == recipe) {
        return Ok(Image::of(&dir));
    }
    tell("fetching Debian's cloud kernel and a few packages (30 MB, once)");
    let work = cache.join("new");
    let clear = || match fs::remove_dir_all(&work) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed(e)),
        _ => Ok(()),
    };
    clear()?;
    fs::create_dir_all(&work).map_err(failed)?;
    let tree = packages.unpack(&work)?;
    tell("making the guest's system");
    build(&tree, &work)?;
    fs::write(work.join("recipe"), recipe).map_err(failed)?;
    for leftover in [&tree, &work.join("packages")] {
        fs::remove_dir_all(leftover).map_err(failed)?;
    }
    forget_others(&cache);
    fs::rename(&work, &dir).map_err(failed)?;
    Ok(Image::of(&dir))
}

/// A guest made earlier, for a host that cannot find out what is current.
fn newest(cache: &Path) -> Option<Image> {
    let dirs = fs::read_dir(cache).ok()?.flatten().map(|e| e.path());
    let whole = dirs.filter(|dir| {
        fs::read_to_string(dir.join("recipe")).is_ok_and(|kept| kept.starts_with(FORMAT))
    });
    let dir = whole.max_by_key(|dir| dir.metadata().and_then(|m| m.modified()).ok())?;
    errln!(
        "sluice: packages cannot be looked up; the guest is the one kept in {}",
        dir.display()
    );
    Some(Image::of(&dir))
}

/// Guests of older packages. One that cannot be removed only takes room.
fn forget_others(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.path().join("recipe").exists() && entry.file_name() != "new" {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Makes kernel and archive from the unpacked packages.
fn build(tree: &Path, to: &Path) -> Result<(), Error> {
    let failed = |e| Error::system(to.display())(e);
    fs::copy(kernel_of(tree)?, to.join("vmlinuz")).map_err(failed)?;
    let file = File::create(to.join("base.cpio")).map_err(failed)?;
    let mut archive = Archive::new(std::io::BufWriter::new(file));
    for dir in [
        "bin", "dev", "lib", "lib64", "modules", "proc", "sys", "tmp",
    ] {
        archive.directory(dir).map_err(failed)?;
    }
    let places = ["bin", "usr/bin"].map(|dir| tree.join(dir));
    let find = |name: &str| {
        let at = places
            .iter()
            .map(|dir| dir.join(name))
            .find(|p| p.is_file());
        at.ok_or_else(|| super::lacks("the packages have", format!("program {name}")))
    };
    archive
        .copy("bin/busybox", &find("busybox")?)
        .map_err(failed)?;
    let mut libraries = BTreeSet::new();
    for tool in TOOLS {
        let path = find(tool)?;
        archive
            .copy(&format!("bin/{tool}"), &path)
            .map_err(failed)?;
        libraries.extend(libraries_of(&path, Some(tree))?);
    }
    copy_libraries(&mut archive, &libraries).map_err(failed)?;
    super::modules::copy(tree, &DRIVERS, &mut archive)?;
    archive.finish().map_err(failed)?;
    Ok(())
}

/// The kernel in an unpacked tree: `boot/vmlinuz-RELEASE`, or from Debian 14 on beside its modules.
fn kernel_of(tree: &Path) -> Result<PathBuf, Error> {
    let entries = |dir: &str| fs::read_dir(tree.join(dir)).into_iter().flatten().flatten();
    let in_boot = entries("boot").map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("vmlinuz-"))
    });
    let beside_modules = entries("usr/lib/modules").map(|entry| entry.path().join("vmlinuz"));
    let found = in_boot.chain(beside_modules).find(|path| path.is_file());
    found.ok_or_else(|| super::lacks("the kernel's packages have", "vmlinuz"))
}

/// The libraries of a program and of those libraries, found in an unpacked tree or on this host.
pub fn libraries_of(program: &Path, tree: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let mut command = Command::new(LOADER);
    command.arg("--list").arg(program).env_remove("LD_PRELOAD");
    if let Some(tree) = tree {
        let dirs = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
        let dirs = dirs.map(|dir| tree.join(dir).display().to_string());
        command.env("LD_LIBRARY_PATH", dirs.join(":"));
    }
    let output = command.output().map_err(Error::system(LOADER))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Error::unfit(program.display(), why.trim()));
    }
    text.lines()
        .filter_map(|line| line.split_once("=> "))
        .map(|(name, at)| match at.split(" (").next() {
            Some(path) if path.starts_with('/') => Ok(path.into()),
            _ => Err(Error::unfit(
                program.display(),
                format!("no library {}", name.trim()),
            )),
        })
        .collect()
}

/// Puts libraries and their loader in place.
pub fn copy_libraries<W: std::io::Write>(
    archive: &mut Archive<W>,
    libraries: &BTreeSet<PathBuf>,
) -> std::io::Result<()> {
    for path in libraries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        archive.copy(&format!("lib/{name}"), path)?;
    }
    archive.copy(LOADER.trim_start_matches('/'), Path::new(LOADER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_in_boot_or_beside_its_modules() {
        for place in [
            "boot/vmlinuz-6.1.0-cloud",
            "usr/lib/modules/7.2-cloud/vmlinuz",
        ] {
            let tree = tempfile::tempdir().unwrap();
            let at = tree.path().join(place);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            let error = kernel_of(tree.path()).unwrap_err().to_string();
            assert!(error.contains("no vmlinuz"), "{error}");
            fs::write(&at, "kernel").unwrap();
            assert_eq!(kernel_of(tree.path()).unwrap(), at);
        }
    }
}
