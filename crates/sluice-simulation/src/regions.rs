//! Parts of a run on a simulated host, between marks of what ran.

use crate::system::{RanSystem, seconds};
use sluice_abi::MARK_RESET;
use sluice_host::HostStats;
use sluice_results::{FlashCounts, SystemCounted, SystemRegion};

/// Between which marks a run counts: the first of the one name, and the first of the other name
/// after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Counts from this mark on; without it from the start.
    pub from: Option<String>,
    /// Counts until this mark; without it to the end.
    pub to: Option<String>,
}

impl RanSystem {
    /// From each mark to the next. `names` has a name for each mark's number.
    pub fn regions(&self, names: &[String]) -> Vec<SystemRegion> {
        let all = &self.stats;
        let start = HostStats::default();
        let ends = all.marks.iter().skip(1).map(|(_, stats)| stats);
        let marks = all.marks.iter().zip(ends.chain([all]));
        let later = marks.map(|((number, begins), ends)| {
            let from = Some(names[*number as usize].clone());
            self.region(from, begins, ends)
        });
        match all.marks.first() {
            None => Vec::new(),
            Some((_, first)) => {
                let first = self.region(None, &start, first);
                [first].into_iter().chain(later).collect()
            }
        }
    }

    fn region(&self, from: Option<String>, begins: &HostStats, ends: &HostStats) -> SystemRegion {
        let during = ends.since(begins);
        SystemRegion {
            from,
            from_s: seconds(begins.time),
            figures: self.figures(&during),
            flash: FlashCounts::from(&during.device),
        }
    }

    /// Lets a part of the run count alone, or all of it if a mark of the part did not come. Returns
    /// which part counted; none if all counts because no part was asked for. As live, the last
    /// `reset` in the part begins it anew.
    pub fn count(&mut self, part: &Part, names: &[String]) -> Option<SystemCounted> {
        let marks = std::mem::take(&mut self.stats.marks);
        let name = |at: &usize| names[marks[*at].0 as usize].as_str();
        let find = |wanted: &Option<String>, first: usize| match wanted {
            Some(wanted) => (first..marks.len()).find(|at| name(at) == wanted).map(Some),
            None => Some(None),
        };
        let begins = find(&part.from, 0);
        let after = begins.flatten().map_or(0, |at| at + 1);
        let ends = find(&part.to, after);
        let (Some(begins), Some(ends)) = (begins, ends) else {
            self.stats.marks = marks;
            return Some(SystemCounted {
                from: part.from.clone(),
                from_s: None,
                to: part.to.clone(),
            });
        };
        let reset = (after..ends.unwrap_or(marks.len())).rfind(|at| name(at) == MARK_RESET);
        let begins = reset.or(begins);
        let start = HostStats::default();
        let of = |at: usize| &marks[at].1;
        let before = begins.map_or(&start, of);
        let counted = (begins.or(ends)).map(|_| SystemCounted {
            from: begins.map(|at| name(&at).to_owned()),
            from_s: Some(seconds(before.time)),
            to: part.to.clone(),
        });
        if counted.is_some() {
            let during = ends.map_or(&self.stats, of).since(before);
            // Of the whole run, which has no phases and no timeline here.
            let hash = self.stats.hash;
            self.stats = HostStats { hash, ..during };
        }
        self.stats.marks = marks;
        counted
    }
}
