//! Devices of a program beside its first one: each has a session, and a copy of the library.

use super::{Beside, Ended, Ready, warn};
use crate::error::Error;
use crate::memory_file::MemoryFile;
use sluice_control::home::NAME_FILE;
use sluice_region::create_private;
use sluice_results::{Exit, Processes, read_run};
use sluice_runtime::copies::session_variable;
use std::io::Write;
use std::process::Command;

impl<'a> Ready<'a> {
    /// Gives the program one device more.
    pub fn add(&mut self, name: String, ready: Ready<'a>) -> Result<(), Error> {
        let path = ready.session.path().join(NAME_FILE);
        let named = create_private(&path).and_then(|mut file| file.write_all(name.as_bytes()));
        named.map_err(Error::system(path.display()))?;
        let copy = |path: &std::path::PathBuf| {
            let mut from = std::fs::File::open(path).map_err(Error::system(path.display()))?;
            let mut file = MemoryFile::new("libsluice_preload.so", 0)?;
            let copied = std::io::copy(&mut from, file.file());
            copied.map_err(Error::system("copying the preload library"))?;
            Ok::<_, Error>(file)
        };
        let library = ready.library.as_ref().map(copy).transpose()?;
        self.beside.push(Beside {
            name,
            ready,
            library,
        });
        Ok(())
    }

    /// This device, and those beside it.
    pub(super) fn all(&self) -> impl Iterator<Item = &Ready<'a>> {
        std::iter::once(self).chain(self.beside.iter().map(|beside| &beside.ready))
    }
}

impl Beside<'_> {
    /// Has the program load the copy; returns its path.
    pub(super) fn add_to(&self, command: &mut Command) -> Option<String> {
        let path = self.library.as_ref()?.path_for_others();
        command.env(session_variable(&path), self.ready.session.path());
        Some(path)
    }

    /// The keeper's work is done, once the program has ended.
    pub(super) fn dismiss_keeper(&mut self) {
        warn::of_keeper(self.ready.session.dismiss_keeper());
    }

    /// What its device did for the program. Nothing if the library refused its service, and said
    /// why.
    pub(super) fn ended(&self, pid: u64, exit: Exit, wall_s: f64) -> Option<Ended> {
        let session = &self.ready.session;
        let Processes { listed, others } = read_run(session.path(), pid);
        if listed.is_empty() && session.is_refused() {
            return None;
        }
        warn::of_full(exit, session, &self.ready.live.place);
        Some(Ended {
            exit,
            wall_s,
            processes: listed,
            others,
        })
    }
}
