//! What the device asks of a host that does not map its pages.

use crate::artifact::Artifact;
use sluice_model::Effects;
use sluice_units::Lpn;

/// Notes the pages that leave the device's cache. The host does not map them there.
pub(super) struct Watch<'a, A> {
    pub evicted: &'a mut Option<Vec<u64>>,
    pub artifact: &'a A,
}

impl<A: Artifact> Effects for Watch<'_, A> {
    fn unmap(&mut self, lpn: Lpn) -> bool {
        if let Some(pages) = self.evicted {
            pages.push(lpn.into());
        }
        false
    }

    #[inline]
    fn programs_clean(&self) -> bool {
        self.artifact.programs_clean()
    }

    #[inline]
    fn indexes_behind(&self) -> bool {
        self.artifact.indexes_behind()
    }
}
