//! Whose accesses come: numbers for the names that a host gives its threads or cores.

/// Callers that get a number. Those that come later have none.
pub const CALLERS_MAX: usize = 1024;

/// Callers, numbered in the order of their first access. What decides by the numbers decides the
/// same whatever the host calls them.
#[derive(Default)]
pub(super) struct Callers {
    /// By number. Room for all is made by the first.
    names: Vec<u64>,
    current: Option<u32>,
    last: Option<u64>,
}

impl Callers {
    /// Makes the room that callers need, so that none of them allocates.
    pub fn prepare(&mut self) {
        self.names.reserve_exact(CALLERS_MAX);
    }

    /// The number of the caller.
    pub fn current(&self) -> Option<u32> {
        self.current
    }

    /// The accesses are this caller's from now on, or nobody's that is known. Says whether they
    /// were another's before.
    #[inline]
    pub fn change(&mut self, name: Option<u64>) -> bool {
        if self.last == name {
            return false;
        }
        self.last = name;
        self.current = name.and_then(|name| self.number(name));
        true
    }

    fn number(&mut self, name: u64) -> Option<u32> {
        let known = self.names.iter().position(|known| *known == name);
        let number = known.or_else(|| {
            let has_room = self.names.len() < CALLERS_MAX.min(self.names.capacity());
            has_room.then(|| {
                self.names.push(name);
                self.names.len() - 1
            })
        });
        number.map(|number| number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_callers_have_numbers_and_keep_them() {
        let mut callers = Callers::default();
        callers.prepare();
        let name = |number: usize| 7 + 3 * number as u64;
        let change = |callers: &mut Callers, to: Option<u64>| {
            assert!(callers.change(to) && !callers.change(to), "{to:?}");
            callers.current()
        };
        for number in 0..CALLERS_MAX {
            let current = change(&mut callers, Some(name(number)));
            assert_eq!(current, Some(number as u32));
        }
        for late in [1, 2] {
            assert_eq!(change(&mut callers, Some(late)), None);
        }
        assert_eq!(change(&mut callers, Some(name(5))), Some(5));
        assert_eq!(change(&mut callers, None), None);
    }
}
