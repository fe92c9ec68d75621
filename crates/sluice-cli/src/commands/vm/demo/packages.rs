//! Debian packages, by the host's own apt: looked up, fetched (apt checks their signatures), and
//! unpacked into a folder. Nothing is installed.

use crate::error::Error;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The name that stands for the current cloud kernel.
const KERNEL: &str = "linux-image-cloud-amd64";
/// Programs of the guest; the libraries they depend on come with them.
const PROGRAMS: [&str; 3] = ["numactl", "ndctl", "daxctl"];
/// A program that has a package of its own from Debian 13 on, and came with `ndctl` before.
const CXL: &str = "cxl";
/// What a kernel's package may leave to others of the same release, from Debian 14 on.
const KERNEL_PARTS: [&str; 2] = ["linux-binary-", "linux-modules-"];
const SHELL: &str = "busybox-static";
/// Libraries that come from this host, whose own programs the guest runs as well.
const OF_THE_HOST: [&str; 3] = ["libc6", "libgcc-s1", "libcrypt1"];

/// Packages of one release.
#[derive(Debug)]
pub struct Packages {
    kernel: String,
    names: Vec<String>,
    files: Vec<String>,
}

/// What the guest is made of, as this host's package lists have it. When root, stale or missing
/// lists are updated.
pub fn resolve() -> Result<Packages, Error> {
    match look_up() {
        Err(_) if is_root() => {
            update()?;
            look_up()
        }
        other => other,
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn update() -> Result<(), Error> {
    apt("apt-get", &["-q", "update"], None).map(|_| ())
}

fn look_up() -> Result<Packages, Error> {
    let kernels = kernels()?;
    let programs = programs()?;
    let mut names: BTreeSet<String> = libraries(&programs)?;
    names.extend(programs.into_iter().map(str::to_owned));
    names.extend(kernels.iter().cloned());
    names.insert(SHELL.to_owned());
    let names: Vec<String> = names.into_iter().collect();
    let mut arguments = vec!["download", "--print-uris"];
    arguments.extend(names.iter().map(String::as_str));
    let uris = apt("apt-get", &arguments, None)?;
    let mut files: Vec<String> = uris
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
        .collect();
    files.sort();
    Ok(Packages {
        kernel: kernels[0].clone(),
        names,
        files,
    })
}

/// The packages that a package needs.
fn depends(package: &str) -> Result<Vec<String>, Error> {
    let text = apt("apt-cache", &["depends", "--important", package], None)?;
    let named = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    Ok(named.map(|name| name.trim().to_owned()).collect())
}

/// The current cloud kernel's package, and those that it is spread over.
fn kernels() -> Result<Vec<String>, Error> {
    let named = depends(KERNEL)?;
    let kernel = named
        .into_iter()
        .find(|name| name.starts_with("linux-image-"));
    let kernel = kernel.ok_or_else(|| {
        let part = format!(
            "{KERNEL}; the demo needs Debian's (apt-get update); give a guest of your own instead: \
             sluice vm -- -kernel ..."
        );
        super::lacks("this host's package lists have", part)
    })?;
    let parts = depends(&kernel)?;
    let parts = parts
        .into_iter()
        .filter(|name| KERNEL_PARTS.iter().any(|part| name.starts_with(part)));
    Ok(std::iter::once(kernel).chain(parts).collect())
}

/// The packages of the guest's programs, by the names that this host's lists have.
fn programs() -> Result<Vec<&'static str>, Error> {
    let known = apt("apt-cache", &["pkgnames", CXL], None)?;
    let own = known.lines().any(|name| name == CXL);
    Ok(PROGRAMS.into_iter().chain(own.then_some(CXL)).collect())
}

/// The libraries that the programs need, with those that these need.
fn libraries(programs: &[&str]) -> Result<BTreeSet<String>, Error> {
    let mut arguments = vec!["depends", "--recurse", "--important"];
    arguments.extend(programs);
    let text = apt("apt-cache", &arguments, None)?;
    let names = text.lines().filter(|line| line.starts_with("lib"));
    let wanted = names.filter(|name| {
        !OF_THE_HOST.contains(name) && !name.contains("perl") && !name.contains(':')
    });
    Ok(wanted.map(str::to_owned).collect())
}

impl Packages {
    /// A name for what is made of them.
    pub fn name(&self) -> &str {
        &self.kernel
    }

    /// The packages' file names, which have their versions.
    pub fn list(&self) -> String {
        self.files.join("\n") + "\n"
    }

    /// Fetches the packages and unpacks them, in a folder. Returns the tree.
    pub fn unpack(&self, work: &Path) -> Result<PathBuf, Error> {
        let (files, tree) = (work.join("packages"), work.join("tree"));
        for dir in [&files, &tree] {
            fs::create_dir_all(dir).map_err(Error::system(dir.display()))?;
        }
        let mut arguments = vec!["-q", "download"];
        arguments.extend(self.names.iter().map(String::as_str));
        let fetched = match apt("apt-get", &arguments, Some(&files)) {
            // The lists may name files that are there no more.
            Err(_) if is_root() => {
                update()?;
                apt("apt-get", &arguments, Some(&files))
            }
            other => other,
        };
        fetched?;
        let entries = fs::read_dir(&files).map_err(Error::system(files.display()))?;
        for file in entries.flatten().map(|e| e.path()) {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").args([&file, &tree]);
            checked("dpkg-deb", unpack.output())?;
        }
        Ok(tree)
    }
}

fn apt(program: &str, arguments: &[&str], dir: Option<&Path>) -> Result<String, Error> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C");
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    let output = checked(&format!("{program} {}", arguments[0]), command.output())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program's output, or the last line of what it complained about.
fn checked(what: &str, output: std::io::Result<Output>) -> Result<Output, Error> {
    let output = output.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::unfit(
            what,
            "no such program; the demo's guest is made on Debian; elsewhere give a guest of your \
             own: sluice vm -- -kernel ...",
        ),
        _ => Error::system(what)(e),
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    Err(Error::unfit(
        what,
        last.unwrap_or("failed and said nothing"),
    ))
}
