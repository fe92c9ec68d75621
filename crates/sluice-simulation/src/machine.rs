//! The memory of the machine that runs a simulation. A program's own data lie in it: who takes more
//! is killed by the kernel, without a word.

use sluice_kernels::KernelSpec;
use sluice_units::{Bytes, round_bytes};
use std::fs::read_to_string;
use std::path::Path;

/// Memory that a process can have, and what says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// In words: `this machine has`, for one.
    pub of: &'static str,
    /// How much.
    pub bytes: Bytes,
}

/// Why programs do not fit into this machine's memory.
#[derive(Debug, thiserror::Error)]
#[error(
    "workload: {workload} at scale {scale} takes about {} of this machine's memory{}, but {} {}; \
     give a larger scale{or_bytes}",
    round_bytes(needed.0),
    beside(*before),
    room.of,
    round_bytes(room.bytes.0)
)]
pub struct NoMemory {
    /// The program as it was asked for.
    pub workload: String,
    /// What its size is divided by.
    pub scale: u32,
    /// What it takes.
    pub needed: Bytes,
    /// What programs take that were made before it.
    pub before: Bytes,
    /// What there is.
    pub room: Room,
    /// What else helps.
    or_bytes: &'static str,
}

fn beside(before: Bytes) -> String {
    match before {
        Bytes(0) => String::new(),
        Bytes(bytes) => format!(", beside {} of other hosts' programs", round_bytes(bytes)),
    }
}

/// Whether this machine's memory has room for a program's own data, beside what others take. To be
/// asked before the program is made. Returns what all take then.
///
/// # Errors
/// [`NoMemory`].
pub fn fits_machine(
    workload: &str,
    kernel: &KernelSpec,
    scale: u32,
    threads: u32,
    before: Bytes,
) -> Result<Bytes, NoMemory> {
    let needed = kernel.own(scale, threads);
    let all = before + needed;
    match Room::here().filter(|room| room.bytes < all) {
        None => Ok(all),
        Some(room) => Err(NoMemory {
            workload: workload.to_owned(),
            scale,
            needed,
            before,
            room,
            or_bytes: match kernel.has_size() {
                true => ", or the workload fewer `bytes`",
                false => "",
            },
        }),
    }
}

impl Room {
    /// What this process can have: the machine's memory, or what its control group or its limits
    /// leave it of that. Nothing if the kernel does not say.
    pub fn here() -> Option<Room> {
        Room::under(Path::new("/"))
    }

    /// With the kernel's files below a folder.
    fn under(root: &Path) -> Option<Room> {
        let read = |path: &str| read_to_string(root.join(path)).ok();
        let total = read("proc/meminfo").and_then(|text| in_kib(&text));
        let limit = read("proc/self/limits").and_then(|text| address_space(&text));
        let groups = read("proc/self/cgroup").unwrap_or_default();
        let group = groups.lines().flat_map(|line| of_group(root, line)).min();
        let known = [
            ("this machine has", total),
            ("this control group has", group),
            ("the limit of address space (ulimit -v) is", limit),
        ];
        let rooms = known.into_iter().filter_map(|(of, bytes)| {
            let bytes = Bytes(bytes?);
            Some(Room { of, bytes })
        });
        rooms.min_by_key(|room| room.bytes)
    }
}

/// All memory, of `/proc/meminfo`.
fn in_kib(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let kib = line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?;
        Some(kib.trim().parse::<u64>().ok()? << 10)
    })
}

/// The soft limit, of `/proc/self/limits`.
fn address_space(text: &str) -> Option<u64> {
    let line = |line: &str| Some(line.strip_prefix("Max address space")?.to_owned());
    let limits = text.lines().find_map(line)?;
    limits.split_whitespace().next()?.parse().ok()
}

/// The limits of a control group and of those above it: a line of `/proc/self/cgroup`, which is
/// `0::PATH` in the unified hierarchy and `N:memory:PATH` in the older one.
fn of_group(root: &Path, line: &str) -> Vec<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
        return Vec::new();
    };
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|one| one == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let groups = Path::new(path).ancestors();
    let limit = |group: &Path| {
        let folder = root.join(mount).join(group.strip_prefix("/").ok()?);
        let text = read_to_string(folder.join(file)).ok()?;
        text.trim().parse().ok()
    };
    groups.filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    const MEMINFO: &str = "MemTotal:       8388608 kB\nMemFree:        100 kB\n";

    /// What is found with these files.
    fn found(files: &[(&str, &str)]) -> Option<(&'static str, u64)> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, text).unwrap();
        }
        Room::under(root.path()).map(|room| (room.of, room.bytes.0 >> 20))
    }

    #[test]
    fn the_least_of_what_the_kernel_says_is_the_room() {
        let total = ("proc/meminfo", MEMINFO);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[total]), Some(("this machine has", 8192)));
        let unified = ("proc/self/cgroup", "0::/a/b\n");
        let older = ("proc/self/cgroup", "3:cpu,memory:/a/b\n1:name=systemd:/\n");
        let group = "this control group has";
        for (of, files, due) in [
            (
                unified,
                vec![("sys/fs/cgroup/a/b/memory.max", "max\n")],
                None,
            ),
            (
                unified,
                vec![("sys/fs/cgroup/a/b/memory.max", "1073741824\n")],
                Some(1024),
            ),
            // That of a group above is lower.
            (
                unified,
                vec![
                    ("sys/fs/cgroup/a/b/memory.max", "1073741824\n"),
                    ("sys/fs/cgroup/a/memory.max", "536870912\n"),
                    ("sys/fs/cgroup/memory.max", "max\n"),
                ],
                Some(512),
            ),
            // A container sees its own group as the root.
            (
                ("proc/self/cgroup", "0::/\n"),
                vec![("sys/fs/cgroup/memory.max", "268435456\n")],
                Some(256),
            ),
            (
                older,
                vec![(
                    "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                    "104857600\n",
                )],
                Some(100),
            ),
            // No limit.
            (
                older,
                vec![(
                    "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                    "9223372036854771712\n",
                )],
                None,
            ),
        ] {
            let files: Vec<_> = [total, of].into_iter().chain(files).collect();
            let due = due.map_or(("this machine has", 8192), |mib| (group, mib));
            assert_eq!(found(&files), Some(due), "{files:?}");
        }
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max address space         2147483648           unlimited            bytes\n";
        let space = ("proc/self/limits", limits);
        let due = ("the limit of address space (ulimit -v) is", 2048);
        assert_eq!(found(&[total, space]), Some(due));
        let none = limits.replace("2147483648", "unlimited ");
        let none = ("proc/self/limits", none.as_str());
        assert_eq!(found(&[total, none]), Some(("this machine has", 8192)));
    }
}
