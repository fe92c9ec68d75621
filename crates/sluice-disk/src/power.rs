//! What may be done until somebody ends it: the power of a device, and the use of lent memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The power of a device. It is on until somebody cuts it, and does not come back.
///
/// The keeper of a persistent device cuts the power before it looks at what is to be kept. A
/// request under way is then either carried out or not, page by page.
#[derive(Clone, Debug, Default)]
pub struct Power(Switch);

/// Something that is on until somebody turns it off for good.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switch(Arc<Mutex<bool>>);

/// The switch stays on as long as this is there.
pub(crate) struct Held<'a>(MutexGuard<'a, bool>);

impl Power {
    /// Cuts the power, once the request that is being carried out is done. All after it fail.
    pub fn cut(&self) {
        self.0.turn_off();
    }

    /// Holds the power, if there is still some.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        self.0.hold()
    }
}

impl Switch {
    /// Turns it off, once nobody holds it.
    pub fn turn_off(&self) {
        *self.state() = true;
    }

    /// Holds it, if it is still on.
    pub fn hold(&self) -> Option<Held<'_>> {
        let held = Held(self.state());
        (!*held.0).then_some(held)
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
