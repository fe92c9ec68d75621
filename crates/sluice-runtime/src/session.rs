//! What `sluice run` tells the library: a text file of `key=value` lines in the session directory.

use sluice_model::{DeviceConfig, RawConfig};
use std::path::{Path, PathBuf};

/// Version and sources of this build. A library takes no session of another's: keys, layouts and
/// meanings may differ.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("SLUICE_SOURCES"));

/// How a fault reaches the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    /// By the userfaultfd descriptor, read by a thread of the runtime.
    Event,
    /// By SIGBUS in the faulting thread.
    Signal,
}

/// What lives on the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The malloc family and large anonymous mappings.
    Heap,
    /// Every shared mapping of this file.
    Dax(PathBuf),
}

/// The checked contents of a session file.
#[derive(Clone, Debug)]
pub struct Session {
    /// The session directory.
    pub dir: PathBuf,
    /// Seed of every random stream.
    pub seed: u64,
    /// How faults arrive.
    pub trap: Trap,
    /// What is placed.
    pub place: Place,
    /// Anonymous mappings from this many bytes up are placed.
    pub mmap_min: usize,
    /// Traps to keep in the record; 0 keeps none.
    pub record: u64,
    /// Window within which sampled pages must be touched to count as used, ns; 0 samples none.
    pub sample_ns: u64,
    /// Handler threads in event mode.
    pub handlers: usize,
    /// Whether processes have a control ring.
    pub ring: bool,
    /// How often the ring's server looks although nobody wakes it, ns; 0 for never. Guests cannot
    /// wake it.
    pub ring_poll_ns: u64,
    /// The device.
    pub device: DeviceConfig,
}

/// Why a session cannot be used.
#[derive(Debug)]
pub struct SessionError(pub String);

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Session {
    /// Threads that the runtime has once all are started: the service thread of event mode, its
    /// handlers, and the server of the control ring.
    pub fn threads(&self) -> usize {
        let handlers = match self.trap {
            Trap::Event => 1 + self.handlers,
            Trap::Signal => 0,
        };
        handlers + usize::from(self.ring)
    }

    /// Reads the session file of a directory.
    pub fn load(dir: &Path) -> Result<Session, SessionError> {
        let path = dir.join(sluice_abi::SESSION_FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| SessionError(format!("cannot read {}: {e}", path.display())))?;
        Session::parse(dir, &text)
    }

    /// Reads the text of a session file.
    pub fn parse(dir: &Path, text: &str) -> Result<Session, SessionError> {
        let build = text
            .lines()
            .find_map(|line| line.strip_prefix("live.build="));
        if build != Some(BUILD) {
            return Err(SessionError(format!(
                "this preload library is of build {BUILD} and the command of build {}; build both \
                 from the same sources (`cargo build --release`)",
                build.unwrap_or("none")
            )));
        }
        let mut raw = RawConfig::default();
        let mut live = Lines::default();
        for line in text.lines().filter(|l| !l.is_empty()) {
            let (key, value) = line
                .split_once('=')
                .ok_or_else(|| SessionError(format!("session line without '=': {line}")))?;
            match key.strip_prefix("live.") {
                Some(key) => live.set(key, value)?,
                None => raw
                    .set(key, value)
                    .map_err(|e| SessionError(e.to_string()))?,
            }
        }
        let device = raw.check().map_err(|e| SessionError(e.to_string()))?;
        Ok(Session {
            dir: dir.to_path_buf(),
            seed: live.seed,
            trap: live.trap.unwrap_or(Trap::Event),
            place: live.place.unwrap_or(Place::Heap),
            mmap_min: live.mmap_min,
            record: live.record,
            sample_ns: live.sample_ns,
            handlers: live.handlers.max(1),
            ring: live.ring,
            ring_poll_ns: live.ring_poll_ns,
            device,
        })
    }

    /// The text that `parse` reads back.
    pub fn to_text(&self, device: &[(&'static str, String)]) -> String {
        let trap = if self.trap == Trap::Event {
            "event"
        } else {
            "signal"
        };
        let place = match &self.place {
            Place::Heap => "heap".to_string(),
            Place::Dax(path) => format!("dax:{}", path.display()),
        };
        let mut text = format!(
            "live.build={BUILD}\nlive.seed={}\nlive.trap={trap}\nlive.place={place}\n\
             live.mmap_min={}\nlive.record={}\nlive.sample_ns={}\nlive.handlers={}\nlive.ring={}\n\
             live.ring_poll_ns={}\n",
            self.seed,
            self.mmap_min,
            self.record,
            self.sample_ns,
            self.handlers,
            u8::from(self.ring),
            self.ring_poll_ns
        );
        for (key, value) in device {
            text.push_str(&format!("{key}={value}\n"));
        }
        text
    }
}

#[derive(Default)]
struct Lines {
    seed: u64,
    trap: Option<Trap>,
    place: Option<Place>,
    mmap_min: usize,
    record: u64,
    sample_ns: u64,
    handlers: usize,
    ring: bool,
    ring_poll_ns: u64,
}

impl Lines {
    fn set(&mut self, key: &str, value: &str) -> Result<(), SessionError> {
        let bad = || SessionError(format!("bad session value live.{key}={value}"));
        let number = || value.parse::<u64>().map_err(|_| bad());
        match (key, value) {
            ("build", _) => {}
            ("trap", "event") => self.trap = Some(Trap::Event),
            ("trap", "signal") => self.trap = Some(Trap::Signal),
            ("place", "heap") => self.place = Some(Place::Heap),
            ("place", v) => {
                let path = v.strip_prefix("dax:").ok_or_else(bad)?;
                self.place = Some(Place::Dax(path.into()));
            }
            ("seed", _) => self.seed = number()?,
            ("mmap_min", _) => self.mmap_min = number()? as usize,
            ("record", _) => self.record = number()?,
            ("sample_ns", _) => self.sample_ns = number()?,
            ("ring", _) => self.ring = number()? != 0,
            ("ring_poll_ns", _) => self.ring_poll_ns = number()?,
            ("handlers", _) => self.handlers = number()? as usize,
            _ => return Err(bad()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_another_build_is_refused_by_name() {
        let own = format!("live.build={BUILD}\nlive.seed=7\n");
        let parsed = Session::parse(Path::new("/"), &own).map(|session| session.seed);
        assert_eq!(parsed.ok(), Some(7));
        for (text, build) in [
            ("live.build=0.1.0+1\nlive.seed=7\n", "0.1.0+1"),
            ("live.seed=7\nlive.unheard=of\n", "none"),
        ] {
            let refused = Session::parse(Path::new("/"), text).unwrap_err().0;
            assert!(refused.contains(BUILD), "{refused}");
            assert!(refused.contains(&format!("build {build};")), "{refused}");
        }
    }
}
