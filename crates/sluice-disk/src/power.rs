//! The power of a device, which a disk needs for every byte that it moves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The power of a device. It is on until somebody cuts it, and does not come back.
///
/// Whoever keeps a persistent device cuts it before looking at what there is to be kept: a request
/// under way is then either carried out or not, page by page.
#[derive(Clone, Debug, Default)]
pub struct Power(Arc<Mutex<bool>>);

/// Nobody cuts the power as long as this is there.
pub(crate) struct Held<'a>(MutexGuard<'a, bool>);

impl Power {
    /// Cuts the power, once the request that is being carried out is done. All after it fail.
    pub fn cut(&self) {
        *self.state() = true;
    }

    /// Holds the power, if there is still some.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        let held = Held(self.state());
        (!*held.0).then_some(held)
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
