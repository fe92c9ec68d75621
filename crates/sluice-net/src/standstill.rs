//! When a fabric comes to its end, and whether that was one.

use super::error::{Deadlock, Standstill, Stuck};
use super::fabric::Fabric;

impl Fabric {
    /// Whether nothing happens any more, if nobody from outside asks for anything.
    ///
    /// # Errors
    /// [`Standstill::Deadlock`] if something is still under way.
    #[inline]
    pub(super) fn is_over(&self) -> Result<bool, Standstill> {
        match self.engine().is_still() {
            true if self.engine().under_way() > 0 => Err(self.deadlock().into()),
            is_still => Ok(is_still),
        }
    }

    /// Which packets wait, and for which links, when no event is left.
    pub(super) fn deadlock(&self) -> Deadlock {
        let stuck = self.stuck();
        Deadlock {
            at: stuck.at,
            packets: stuck.packets,
            links: stuck.links,
            elsewhere: self.engine().packets.live() - stuck.packets,
            refused: self.refused(),
        }
    }

    fn stuck(&self) -> Stuck {
        let engine = self.engine();
        let stuck = engine.links.stuck(&engine.packets);
        let names = stuck.keys().map(|id| self.graph().direction_name(*id));
        Stuck {
            at: engine.now.0,
            packets: stuck.values().sum(),
            links: names.collect::<Vec<_>>().join(", "),
        }
    }

    /// Whether credits come for all packets that wait for some.
    ///
    /// # Errors
    /// [`Standstill::Stuck`]: what was counted is of the others alone.
    pub fn check_credits(&self) -> Result<(), Standstill> {
        match self.stuck() {
            Stuck { packets: 0, .. } => Ok(()),
            stuck => Err(stuck.into()),
        }
    }

    /// Ends a run, which has a result if nobody has stopped it.
    ///
    /// # Errors
    /// Those of [`Fabric::check_credits`].
    pub(super) fn end_run(&mut self, has_result: bool) -> Result<(), Standstill> {
        self.end();
        match has_result {
            true => self.check_credits(),
            false => Ok(()),
        }
    }
}
