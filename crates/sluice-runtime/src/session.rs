//! The options that `sluice run` gives the library: a text file of `key=value` lines in the session
//! directory.

pub mod contents;
pub mod copies;
pub mod crowd;
pub mod desk;
pub mod error;
pub mod files;
pub mod hold;
pub mod kinds;
pub mod rings;
pub mod settings;

use crate::process::limits::allow_file;
use crate::session::error::SessionError;
use crate::session::hold::Hold;
use crate::session::kinds::Kinds;
use crate::session::settings::LiveSettings;
use crate::store::Io;
use sluice_abi::session_text::{decode, encode};
use sluice_model::DeviceConfig;
use sluice_params::RawConfig;
use sluice_region::{check_trusted, create_private, open_folder, open_regular};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
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
pub enum OnDevice {
    /// Memory of the program's own, of the session's kinds.
    Heap,
    /// Every shared mapping of this file.
    Dax(PathBuf),
}

/// Where evicted pages of the heap are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Store {
    /// In memory that no file keeps.
    Memory,
    /// In files without a name, one for each process, in this folder.
    File(PathBuf),
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
    pub place: OnDevice,
    /// What of the program's own memory is placed.
    pub kinds: Kinds,
    /// Where evicted pages are.
    pub store: Store,
    /// Anonymous mappings from this many bytes up are placed.
    pub mmap_min: usize,
    /// Traps to keep in the record; 0 keeps none.
    pub record: u64,
    /// Window within which sampled pages must be touched to count as used, ns; 0 samples none.
    pub sample_ns: u64,
    /// Pages of which every use is to trap, at most; 0 for none.
    pub watch: u64,
    /// Allocations from this many bytes up are profiled; 0 for none.
    pub profile: u64,
    /// Handler threads in event mode.
    pub handlers: usize,
    /// Whether processes have a control ring.
    pub ring: bool,
    /// How often the ring's server looks although nobody wakes it, ns; 0 for never. Guests cannot
    /// wake it.
    pub ring_poll_ns: u64,
    /// What the device is, checked.
    pub device: DeviceConfig,
    /// What is set of a live run beside the device.
    pub settings: LiveSettings,
    /// This process's lock on the directory, once it has files there.
    pub hold: Hold,
}

impl Session {
    /// Threads that the runtime may have: those that it has from the start, and the agent of shared
    /// memory, which comes with the first mapping.
    pub fn threads(&self) -> usize {
        self.first_threads() + usize::from(self.kinds.shared)
    }

    /// Threads that the runtime has from the start: the service thread of event mode, its handlers,
    /// and the server of the control ring.
    ///
    /// Whether the program has one thread is decided without the agent. The agent taken for a
    /// thread of the program's costs a comparison of contents. A thread of the program's taken for
    /// the agent could lose what it stores.
    pub(crate) fn first_threads(&self) -> usize {
        let handlers = match self.trap {
            Trap::Event => 1 + self.handlers,
            Trap::Signal => 0,
        };
        handlers + usize::from(self.ring)
    }

    /// Those of them that [`hire`](crate::threads::hired::hire) makes: all but the service thread.
    pub(crate) fn hired_threads(&self) -> usize {
        self.first_threads() - usize::from(self.trap == Trap::Event)
    }

    /// How pages go to the store's file. A queue is the handlers': a thread of the program's, which
    /// serves its own faults in signal mode, would be interrupted by the answers.
    pub(crate) fn io(&self) -> Io {
        match self.trap {
            Trap::Event => Io::queue(),
            Trap::Signal => Io::calls(),
        }
    }

    /// Reads the session file of a directory. It names code that is loaded into this process, so
    /// neither may be written by another user.
    pub fn load(dir: &Path) -> Result<Session, SessionError> {
        let path = dir.join(sluice_abi::SESSION_FILE);
        let read = || {
            check_trusted(&open_folder(dir, None)?)?;
            let mut file = open_regular(&path, false, None)?;
            check_trusted(&file)?;
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        };
        let text = read().map_err(|e: std::io::Error| cannot("read", &path, e))?;
        Session::parse(dir, &text)
    }

    /// Writes the session file of the directory, which has none yet.
    ///
    /// # Errors
    /// What the system says.
    pub fn save(&self) -> Result<(), SessionError> {
        let path = self.dir.join(sluice_abi::SESSION_FILE);
        let text = self.to_text(&self.device.raw().to_pairs());
        let written = create_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| cannot("write", &path, e))
    }

    /// Notes in a session's directory why the library refused it, for the command that made it.
    pub fn note_refusal(dir: &Path, why: &str) {
        // The command then says itself that the library did not start.
        if allow_file(why.len() as u64).is_ok()
            && let Ok(mut file) = create_private(&dir.join(sluice_abi::REFUSAL_FILE))
        {
            let _ = file.write_all(why.as_bytes());
        }
    }

    /// Reads the text of a session file.
    pub fn parse(dir: &Path, text: &str) -> Result<Session, SessionError> {
        let build = text
            .lines()
            .find_map(|line| line.strip_prefix("live.build="));
        if build != Some(BUILD) {
            return Err(SessionError::Build {
                library: BUILD,
                command: build.unwrap_or("none").to_owned(),
            });
        }
        let mut raw = DeviceConfig::builder();
        let mut settings = RawConfig::of(LiveSettings::PARAMS);
        let mut live = Parsed::default();
        for line in text.lines().filter(|l| !l.is_empty()) {
            let pair = line.split_once('=');
            let (key, value) = pair.ok_or_else(|| SessionError::NoValue(line.to_owned()))?;
            let bytes = decode(value.as_bytes());
            let value = String::from_utf8_lossy(&bytes);
            match key.strip_prefix("live.") {
                Some("place") => live.place(&bytes)?,
                Some("store") => live.store = Some(store(&bytes)?),
                Some(key) => live.set(key, &value)?,
                None if LiveSettings::has(key) => settings.set(key, &value)?,
                None => raw.set(key, &value)?,
            }
        }
        let device = DeviceConfig::new(&raw)?;
        Ok(Session {
            dir: dir.to_path_buf(),
            seed: live.seed,
            trap: live.trap.unwrap_or(Trap::Event),
            // With a device file nothing of the program's own is placed, whatever the options say.
            kinds: match live.place {
                Some(OnDevice::Dax(_)) => Kinds::default(),
                _ => live.kinds.unwrap_or_default(),
            },
            place: live.place.unwrap_or(OnDevice::Heap),
            store: live.store.unwrap_or(Store::Memory),
            mmap_min: live.mmap_min,
            record: live.record,
            sample_ns: live.sample_ns,
            watch: live.watch,
            profile: live.profile,
            handlers: live.handlers.max(1),
            ring: live.ring,
            ring_poll_ns: live.ring_poll_ns,
            device,
            settings: LiveSettings::new(settings),
            hold: Hold::default(),
        })
    }

    /// The text that `parse` reads back.
    fn to_text(&self, device: &[(&'static str, String)]) -> String {
        let trap = if self.trap == Trap::Event {
            "event"
        } else {
            "signal"
        };
        let places = match &self.place {
            // A line with no kind says that there is none.
            OnDevice::Heap => std::iter::once("explicit".into())
                .chain(self.kinds.names())
                .map(|name| format!("live.place={}\n", encode(name.as_bytes())))
                .collect(),
            OnDevice::Dax(path) => {
                format!("live.place={DAX}{}\n", encode(path.as_os_str().as_bytes()))
            }
        };
        let store = match &self.store {
            Store::Memory => MEMORY.to_string(),
            Store::File(path) => format!("{FILE}{}", encode(path.as_os_str().as_bytes())),
        };
        let mut text = format!(
            "live.build={BUILD}\nlive.seed={}\nlive.trap={trap}\n{places}\
             live.store={store}\n\
             live.mmap_min={}\nlive.record={}\nlive.sample_ns={}\nlive.watch={}\n\
             live.profile={}\nlive.handlers={}\nlive.ring={}\n\
             live.ring_poll_ns={}\n",
            self.seed,
            self.mmap_min,
            self.record,
            self.sample_ns,
            self.watch,
            self.profile,
            self.handlers,
            u8::from(self.ring),
            self.ring_poll_ns
        );
        let settings = self.settings.to_pairs();
        for (key, value) in device.iter().chain(&settings) {
            text.push_str(&format!("{key}={}\n", encode(value.as_bytes())));
        }
        text
    }
}

/// What stands before the path of a file that is placed.
const DAX: &str = "dax:";
/// Names of [`Store`].
const MEMORY: &str = "dram";
const FILE: &str = "file:";

fn store(value: &[u8]) -> Result<Store, SessionError> {
    match value.strip_prefix(FILE.as_bytes()) {
        _ if value == MEMORY.as_bytes() => Ok(Store::Memory),
        Some(path) => Ok(Store::File(OsStr::from_bytes(path).into())),
        None => Err(SessionError::BadValue {
            key: "store".to_owned(),
            value: encode(value),
        }),
    }
}

fn cannot(what: &'static str, path: &Path, source: std::io::Error) -> SessionError {
    let path = path.to_owned();
    SessionError::File { what, path, source }
}

#[derive(Default)]
struct Parsed {
    seed: u64,
    trap: Option<Trap>,
    place: Option<OnDevice>,
    kinds: Option<Kinds>,
    store: Option<Store>,
    mmap_min: usize,
    record: u64,
    sample_ns: u64,
    watch: u64,
    profile: u64,
    handlers: usize,
    ring: bool,
    ring_poll_ns: u64,
}

impl Parsed {
    /// A line says what is placed, besides what others say.
    fn place(&mut self, value: &[u8]) -> Result<(), SessionError> {
        if let Some(path) = value.strip_prefix(DAX.as_bytes()) {
            self.place = Some(OnDevice::Dax(OsStr::from_bytes(path).into()));
            return Ok(());
        }
        let kinds = self.kinds.get_or_insert_with(Kinds::none);
        kinds
            .add(OsStr::from_bytes(value))
            .map_err(|_| SessionError::BadValue {
                key: "place".to_owned(),
                value: encode(value),
            })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), SessionError> {
        let bad = || SessionError::BadValue {
            key: key.to_owned(),
            value: value.escape_debug().to_string(),
        };
        let number = || value.parse::<u64>().map_err(|_| bad());
        match (key, value) {
            ("build", _) => {}
            ("trap", "event") => self.trap = Some(Trap::Event),
            ("trap", "signal") => self.trap = Some(Trap::Signal),
            ("seed", _) => self.seed = number()?,
            ("mmap_min", _) => self.mmap_min = number()? as usize,
            ("record", _) => self.record = number()?,
            ("sample_ns", _) => self.sample_ns = number()?,
            ("watch", _) => self.watch = number()?,
            ("profile", _) => self.profile = number()?,
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
            let refused = Session::parse(Path::new("/"), text)
                .unwrap_err()
                .to_string();
            assert!(refused.contains(BUILD), "{refused}");
            assert!(refused.contains(&format!("build {build};")), "{refused}");
        }
    }

    /// `--place 'dax:/dev/shm/a\nlive.seed=9'` set the seed.
    #[test]
    fn no_value_adds_a_line() {
        let device = DeviceConfig::new(&DeviceConfig::builder()).expect("defaults");
        let text = format!("live.build={BUILD}\n");
        let mut session = Session::parse(Path::new("/"), &text).expect("a session");
        for path in [
            &b"/dev/shm/a\nlive.seed=9\ncache.policy=./evil.so"[..],
            b"/100%/%0a/\xff\x80",
            "/ä b\r=".as_bytes(),
        ] {
            session.place = OnDevice::Dax(OsStr::from_bytes(path).into());
            session.store = Store::File(OsStr::from_bytes(path).into());
            let pairs = [("cache.policy", "./a\nlive.seed=8%".to_owned())];
            let text = session.to_text(&pairs);
            assert_eq!(
                text.lines().count(),
                14 + LiveSettings::PARAMS.len(),
                "{text}"
            );
            assert!(text.chars().all(|c| c == '\n' || (' '..='~').contains(&c)));
            let text = session.to_text(&device.raw().to_pairs());
            let back = Session::parse(Path::new("/"), &text).expect("a session");
            assert_eq!((back.place, back.seed), (session.place.clone(), 0));
            assert_eq!(back.store, session.store);
        }
    }

    /// A folder of mode 0777 let another user name code that ran as root.
    #[test]
    fn a_session_that_others_can_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("sluice-trust-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("room");
        let mode = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("our own");
        };
        let file = dir.join(sluice_abi::SESSION_FILE);
        std::fs::write(&file, format!("live.build={BUILD}\n")).expect("room");
        for (of_dir, of_file, is_well) in [
            (0o700, 0o600, true),
            (0o777, 0o600, false),
            (0o700, 0o666, false),
        ] {
            mode(&dir, of_dir);
            mode(&file, of_file);
            let loaded = Session::load(&dir);
            assert_eq!(loaded.is_ok(), is_well, "{of_dir:o} {of_file:o}");
        }
        std::fs::remove_dir_all(&dir).expect("our own");
    }
}
