//! Which allocations and which threads the misses of a run belong to (`--profile`).

use crate::process::owner_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_abi::{
    Missed, PROFILE_FRAMES, PROFILE_MAGIC, PROFILE_MODULES, PROFILE_SITES, PROFILE_VERSION,
    ProfileBlock, ProfiledThread, Site, parts_of_frame, read_words,
};
use sluice_region::open_regular;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sites and threads that a result lists, at most. What is left out counts among the others.
const LISTED: usize = 100;

/// Misses, and the time that the program waited for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledMisses {
    /// Misses.
    pub misses: u64,
    /// Time that threads waited for pages, all together, ns.
    pub waited_ns: u64,
}

impl ProfiledMisses {
    fn of(missed: &Missed) -> ProfiledMisses {
        ProfiledMisses {
            misses: missed.misses.load(Relaxed),
            waited_ns: missed.waited_ns.load(Relaxed),
        }
    }

    fn add(&mut self, other: ProfiledMisses) {
        self.misses = self.misses.saturating_add(other.misses);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
    }
}

/// A call on the way to an allocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CallFrame {
    /// The program or library; empty for code that no file has.
    pub module: String,
    /// Where the call returns to: an address as in the module's file.
    pub address: u64,
    /// The function, if the module has symbols.
    pub function: Option<String>,
    /// The source file, if the module has debug information.
    pub file: Option<String>,
    /// The line in the file.
    pub line: Option<u32>,
}

/// A place in the program that allocates device memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationSite {
    /// What was missed on the pages that it has allocated.
    #[serde(flatten)]
    pub missed: ProfiledMisses,
    /// How often it allocated so many bytes as are looked at.
    pub allocations: u64,
    /// Bytes that it allocated, all together.
    pub bytes: u64,
    /// The calls, the innermost first.
    pub calls: Vec<CallFrame>,
    /// The calls in a line, from the one that called the allocator outwards to `main`.
    pub by: String,
}

/// A thread that has missed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadMisses {
    /// Its process.
    pub pid: u64,
    /// Its number in the system.
    pub thread: u64,
    /// Its name, as it was at one of its last misses.
    pub name: String,
    /// What it missed.
    #[serde(flatten)]
    pub missed: ProfiledMisses,
}

/// Which allocations and which threads the misses belong to, of all processes of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissProfile {
    /// Allocations of this many bytes or more are looked at.
    pub from_bytes: u64,
    /// Sites by the time that the program waited for their pages, the longest first; 100 at most.
    pub sites: Vec<AllocationSite>,
    /// Misses on pages of smaller allocations, and of sites that are not listed.
    pub other_pages: ProfiledMisses,
    /// Allocations of sites for which there was no room: a process has 1,023.
    pub lost_allocations: u64,
    /// Threads by the time that they waited, the longest first; 100 at most.
    pub threads: Vec<ThreadMisses>,
    /// Misses of threads that are not listed.
    pub other_threads: ProfiledMisses,
}

/// Calls of a site before symbols are known.
type Calls = Vec<(String, u64)>;

/// Reads what the processes of a session have left. Nothing that was not written.
pub fn read_profile(dir: &Path, from_bytes: u64) -> MissProfile {
    let mut sites = BTreeMap::<Calls, AllocationSite>::new();
    let mut profile = MissProfile {
        from_bytes,
        ..MissProfile::default()
    };
    let owner = owner_of(dir);
    let entries = owner.and_then(|_| std::fs::read_dir(dir).ok());
    let paths = entries.into_iter().flatten().flatten().map(|e| e.path());
    for path in paths.filter(|path| path.extension().is_some_and(|kind| kind == "profile")) {
        let (Some(owner), Some(pid)) = (owner, pid_of(&path)) else {
            continue;
        };
        if let Some(words) = read_block(&path, owner) {
            // SAFETY: as many words as the block has, which are all atomics of u64.
            let block = unsafe { &*words.as_ptr().cast::<ProfileBlock>() };
            add(block, pid, &mut profile, &mut sites);
        }
    }
    profile.sites = sites.into_values().collect();
    sort(&mut profile);
    profile
}

/// `proc-<pid>-<image>.profile`.
fn pid_of(path: &Path) -> Option<u64> {
    let name = path.file_stem()?.to_str()?;
    name.strip_prefix("proc-")?.split('-').next()?.parse().ok()
}

/// The block of a file that is ready.
fn read_block(path: &Path, owner: u32) -> Option<Box<[u64]>> {
    let mut file = open_regular(path, false, Some(owner)).ok()?;
    let mut bytes = vec![0; size_of::<ProfileBlock>()];
    file.read_exact(&mut bytes).ok()?;
    let words: Box<[u64]> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
        .collect();
    (words[..2] == [PROFILE_MAGIC, PROFILE_VERSION]).then_some(words)
}

/// Adds what a process has counted. Others can write to its file, so no number is trusted.
fn add(
    block: &ProfileBlock,
    pid: u64,
    profile: &mut MissProfile,
    sites: &mut BTreeMap<Calls, AllocationSite>,
) {
    let count = |of: &AtomicU64, most: usize| (of.load(Relaxed) as usize).min(most);
    let modules: Vec<String> = block.module[..count(&block.modules, PROFILE_MODULES)]
        .iter()
        .map(|module| String::from_utf8_lossy(&read_words(&module.path)).into_owned())
        .collect();
    profile
        .other_pages
        .add(ProfiledMisses::of(&block.site[0].missed));
    let lost = block.lost.load(Relaxed);
    profile.lost_allocations = profile.lost_allocations.saturating_add(lost);
    let known = &block.site[..count(&block.sites, PROFILE_SITES)];
    for site in known.iter().skip(1) {
        let calls = calls_of(site, &modules);
        let of_calls = sites.entry(calls).or_insert_with_key(site_of);
        of_calls.missed.add(ProfiledMisses::of(&site.missed));
        let (allocations, bytes) = (&mut of_calls.allocations, &mut of_calls.bytes);
        *allocations = allocations.saturating_add(site.allocations.load(Relaxed));
        *bytes = bytes.saturating_add(site.bytes.load(Relaxed));
    }
    profile.other_threads.add(ProfiledMisses::of(&block.others));
    let threads = block.thread.iter().map(|thread| thread_of(thread, pid));
    profile
        .threads
        .extend(threads.filter(|thread| thread.thread != 0));
}

fn calls_of(site: &Site, modules: &[String]) -> Calls {
    let depth = (site.depth.load(Relaxed) as usize).min(PROFILE_FRAMES);
    let frames = site.frames[..depth].iter();
    let parts = frames.map(|frame| parts_of_frame(frame.load(Relaxed)));
    let calls = parts.map(|(module, at)| (modules.get(module).cloned().unwrap_or_default(), at));
    calls.collect()
}

fn site_of(calls: &Calls) -> AllocationSite {
    AllocationSite {
        missed: ProfiledMisses::default(),
        allocations: 0,
        bytes: 0,
        calls: calls
            .iter()
            .map(|(module, address)| CallFrame {
                module: module.clone(),
                address: *address,
                function: None,
                file: None,
                line: None,
            })
            .collect(),
        by: String::new(),
    }
}

fn thread_of(thread: &ProfiledThread, pid: u64) -> ThreadMisses {
    ThreadMisses {
        pid,
        thread: thread.id.load(Relaxed),
        name: String::from_utf8_lossy(&read_words(&thread.name)).into_owned(),
        missed: ProfiledMisses::of(&thread.missed),
    }
}

/// The sites that cost most come first; the rest is summed up.
fn sort(profile: &mut MissProfile) {
    let cost = |missed: &ProfiledMisses| (missed.waited_ns, missed.misses);
    let order = |a: &ProfiledMisses, b: &ProfiledMisses| cost(b).cmp(&cost(a));
    let MissProfile { sites, threads, .. } = profile;
    sites.sort_by(|a, b| order(&a.missed, &b.missed));
    threads.sort_by(|a, b| {
        let by_number = (a.pid, a.thread).cmp(&(b.pid, b.thread));
        order(&a.missed, &b.missed).then(by_number)
    });
    for site in sites.drain(LISTED.min(sites.len())..) {
        profile.other_pages.add(site.missed);
    }
    for thread in threads.drain(LISTED.min(threads.len())..) {
        profile.other_threads.add(thread.missed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_abi::{frame, write_words};

    const WORDS: usize = size_of::<ProfileBlock>() / 8;

    /// The file of a process with some sites, as (module, address, misses, ns), and threads.
    fn write(dir: &Path, pid: u64, sites: &[(usize, u64, u64, u64)], threads: &[(u64, u64)]) {
        let words = vec![0u64; WORDS].into_boxed_slice();
        // SAFETY: as in `read_profile`.
        let block = unsafe { &*words.as_ptr().cast::<ProfileBlock>() };
        let set = |to: &AtomicU64, value: u64| to.store(value, Relaxed);
        set(&block.magic, PROFILE_MAGIC);
        set(&block.version, PROFILE_VERSION);
        set(&block.sites, sites.len() as u64 + 1);
        set(&block.modules, 3);
        write_words(&block.module[1].path, b"/bin/one");
        write_words(&block.module[2].path, b"/lib/two.so");
        set(&block.site[0].missed.misses, 5);
        for (at, (module, address, misses, ns)) in sites.iter().enumerate() {
            let site = &block.site[at + 1];
            set(&site.frames[0], frame(*module, *address));
            set(&site.depth, 1);
            set(&site.allocations, 1);
            set(&site.bytes, 100);
            set(&site.missed.misses, *misses);
            set(&site.missed.waited_ns, *ns);
        }
        for (at, (id, ns)) in threads.iter().enumerate() {
            set(&block.thread[at].id, *id);
            set(&block.thread[at].missed.waited_ns, *ns);
            write_words(&block.thread[at].name, b"worker");
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        std::fs::write(dir.join(format!("proc-{pid}-0.profile")), bytes).expect("room");
    }

    #[test]
    fn sites_of_all_processes_are_one_by_their_calls_and_the_dearest_is_first() {
        let dir = tempfile::tempdir().expect("room");
        write(
            dir.path(),
            7,
            &[(1, 64, 10, 400), (2, 64, 1, 900)],
            &[(7, 300), (8, 1_000)],
        );
        write(dir.path(), 9, &[(1, 64, 20, 800)], &[(9, 800)]);
        let profile = read_profile(dir.path(), 4_096);
        let found: Vec<_> = profile
            .sites
            .iter()
            .map(|site| {
                let call = &site.calls[0];
                let of = (call.module.as_str(), call.address);
                (
                    of,
                    site.missed.misses,
                    site.missed.waited_ns,
                    site.allocations,
                    site.bytes,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (("/bin/one", 64), 30, 1_200, 2, 200),
                (("/lib/two.so", 64), 1, 900, 1, 100)
            ]
        );
        assert_eq!(profile.other_pages.misses, 10);
        let threads: Vec<_> = profile.threads.iter().map(|t| (t.pid, t.thread)).collect();
        assert_eq!(threads, [(7, 8), (9, 9), (7, 7)]);
        assert_eq!(profile.threads[0].name, "worker");
    }

    #[test]
    fn what_is_not_listed_counts_among_the_others() {
        let dir = tempfile::tempdir().expect("room");
        let sites: Vec<_> = (0..150).map(|at| (1, 8 * at, 1, 1_000 - at)).collect();
        write(dir.path(), 7, &sites, &[]);
        let profile = read_profile(dir.path(), 1);
        assert_eq!(profile.sites.len(), 100);
        assert_eq!(profile.other_pages.misses, 5 + 50);
        let listed: u64 = profile.sites.iter().map(|site| site.missed.waited_ns).sum();
        let all: u64 = sites.iter().map(|site| site.3).sum();
        assert_eq!(profile.other_pages.waited_ns + listed, all);
    }

    /// Any process of the session's user can write anything there.
    #[test]
    fn numbers_that_cannot_be_are_no_panic() {
        let dir = tempfile::tempdir().expect("room");
        let word = |at: usize| if at == 0 { PROFILE_MAGIC } else { u64::MAX };
        let mut words: Vec<u64> = (0..WORDS).map(word).collect();
        words[1] = PROFILE_VERSION;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        std::fs::write(dir.path().join("proc-1-0.profile"), bytes).expect("room");
        std::fs::write(dir.path().join("proc-2-0.profile"), [0; 100]).expect("room");
        std::fs::write(dir.path().join("proc-x.profile"), []).expect("room");
        assert_eq!(read_profile(dir.path(), 1).threads.len(), 100);
        assert_eq!(
            read_profile(Path::new("/nowhere"), 1),
            MissProfile {
                from_bytes: 1,
                ..MissProfile::default()
            }
        );
    }
}
