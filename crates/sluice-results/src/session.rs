//! What the processes of a session did: those that are listed one by one, and the others.

use crate::others::{LISTED, Others, Rank, has_marks};
use crate::process::{Process, each_image, read_image};
use sluice_abi::Counter;
use std::cmp::Reverse;
use std::path::Path;

/// Images go into the sum now and then. What was read while some did is read again, so often.
const LOOKS: u32 = 50;

/// The processes of a run.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// Those with lines of their own, in order of start.
    pub listed: Vec<Process>,
    /// The sum of those without.
    pub others: Others,
}

impl Processes {
    /// The last image of a process that is listed.
    fn last_of(&self, pid: u64) -> Option<&Process> {
        let images = self.listed.iter().filter(|process| process.pid == pid);
        images.max_by_key(|process| process.image)
    }
}

/// Reads a session while its processes end. `collect` gets the sum, and the images that are not in
/// it, with their latencies, in no order. It is called again if an image has gone into the sum
/// meanwhile.
pub fn read_session<T>(
    dir: &Path,
    mut collect: impl FnMut(&Others, &mut dyn Iterator<Item = Process>) -> T,
) -> T {
    let mut looks = 0;
    loop {
        let others = Others::read(dir);
        let mut images = each_image(dir).filter(|process| !others.has(process));
        let found = collect(&others, &mut images);
        looks += 1;
        if looks == LOOKS || Others::read(dir).images() == others.images() {
            return found;
        }
    }
}

/// Every process of a session that is listed, in order of start.
pub fn read_processes(dir: &Path) -> Vec<Process> {
    read_all(dir).listed
}

fn read_all(dir: &Path) -> Processes {
    let mut all = read_session(dir, |others, images| Processes {
        listed: images.map(Process::without_latencies).collect(),
        others: others.clone(),
    });
    all.listed.sort_by_key(|p| (p.started_ns, p.pid, p.image));
    all
}

/// The last image of a process, with its latencies one by one.
pub fn read_last(dir: &Path, pid: u64) -> Option<Process> {
    let last = read_all(dir).last_of(pid)?.image;
    read_image(dir, pid, last)
}

/// Reads the processes of a run that is over, and whose keeper has ended. The last image of the
/// process `pid` has its latencies one by one. Of the others those with the most traps are listed.
pub fn read_run(dir: &Path, pid: u64) -> Processes {
    let mut all = read_all(dir);
    let last = all.last_of(pid).map(|last| last.image);
    let is_kept = |of: &Process| {
        let is_own = of.pid == pid;
        of.shared_memory || is_own && (Some(of.image) == last || has_marks(dir, pid, of.image))
    };
    let rank = |of: &Process| Rank::of(of.identity(), of.get(Counter::Traps));
    let ranked = all.listed.iter().filter(|of| !is_kept(of)).map(rank);
    let mut ranked: Vec<Rank> = ranked.collect();
    ranked.sort_by_key(|rank| Reverse(*rank));
    if let Some(least) = ranked.get(LISTED - 1) {
        let others = &mut all.others;
        all.listed.retain(|of| {
            let is_listed = is_kept(of) || rank(of) >= *least;
            is_listed || !others.take(dir, of.identity(), Some(pid))
        });
    }
    let of_run = all.listed.iter_mut().filter(|p| p.pid == pid);
    if let Some(last) = of_run.max_by_key(|p| p.image)
        && let Some(whole) = read_image(dir, pid, last.image)
    {
        *last = whole;
    }
    all
}
