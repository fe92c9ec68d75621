//! Which versions of a record a reader may see while others replace it.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

const STRIPES: usize = 4_096;

/// Versions by key. A writer holds the key's stripe, so that versions reach the server in
/// order; readers hold nothing.
pub struct Versions {
    issued: Box<[AtomicU32]>,
    acknowledged: Box<[AtomicU32]>,
    stripes: Box<[Mutex<()>]>,
    /// Whether every record was in version 0 when this began.
    known: bool,
}

/// The versions that a reader may have seen.
#[derive(Debug, PartialEq, Eq)]
pub struct Possible {
    oldest: u64,
    newest: u64,
}

impl fmt::Display for Possible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Possible { oldest, newest } = self;
        match newest - oldest {
            0 => write!(f, "version {oldest}"),
            _ => write!(f, "a version from {oldest} to {newest}"),
        }
    }
}

/// The right to replace one record.
pub struct Writer<'a> {
    versions: &'a Versions,
    key: u64,
    _stripe: MutexGuard<'a, ()>,
}

impl Versions {
    /// For keys below `keys`. `known` says that all records are in version 0 now; otherwise
    /// any version goes until this process replaces the record.
    #[must_use]
    pub fn new(keys: u64, known: bool) -> Self {
        let zeros = || (0..keys).map(|_| AtomicU32::new(0)).collect();
        Self {
            issued: zeros(),
            acknowledged: zeros(),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            known,
        }
    }

    /// The oldest version that a read sent from now on may see.
    #[must_use]
    pub fn oldest(&self, key: u64) -> u64 {
        u64::from(self.acknowledged[key as usize].load(SeqCst))
    }

    /// Whether a read that has ended may have seen `version`, when `oldest` was the oldest
    /// one possible as it was sent.
    ///
    /// # Errors
    /// What was possible.
    pub fn allows(&self, key: u64, oldest: u64, version: u64) -> Result<(), Possible> {
        let newest = u64::from(self.issued[key as usize].load(SeqCst));
        if (oldest == 0 && !self.known) || (oldest..=newest).contains(&version) {
            return Ok(());
        }
        Err(Possible { oldest, newest })
    }

    /// Waits for the right to replace a record.
    pub fn write(&self, key: u64) -> Writer<'_> {
        let stripe = self.stripes[key as usize % STRIPES].lock();
        Writer {
            versions: self,
            key,
            _stripe: stripe.unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Writer<'_> {
    /// The version to store; from now on readers may see it.
    #[must_use]
    pub fn issue(&self) -> u64 {
        u64::from(self.versions.issued[self.key as usize].fetch_add(1, SeqCst)) + 1
    }

    /// The server has it: no later reader may see an older one.
    pub fn acknowledge(self) {
        let newest = self.versions.issued[self.key as usize].load(SeqCst);
        self.versions.acknowledged[self.key as usize].store(newest, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_may_see_what_was_sent_but_nothing_older_than_what_was_acknowledged() {
        let versions = Versions::new(10, true);
        assert!(versions.allows(3, versions.oldest(3), 0).is_ok());
        assert!(versions.allows(3, versions.oldest(3), 1).is_err());
        let writer = versions.write(3);
        assert_eq!(writer.issue(), 1);
        let before = versions.oldest(3);
        assert!(versions.allows(3, before, 0).is_ok() && versions.allows(3, before, 1).is_ok());
        writer.acknowledge();
        let after = versions.oldest(3);
        let possible = versions.allows(3, after, 0).unwrap_err();
        assert_eq!(possible.to_string(), "version 1");
        assert!(
            versions.allows(3, before, 0).is_ok(),
            "its read was sent before"
        );
    }

    #[test]
    fn unknown_records_may_be_in_any_version_until_replaced() {
        let versions = Versions::new(10, false);
        assert!(versions.allows(3, versions.oldest(3), 77).is_ok());
        let writer = versions.write(3);
        assert_eq!(writer.issue(), 1);
        writer.acknowledge();
        assert!(versions.allows(3, versions.oldest(3), 77).is_err());
    }
}
