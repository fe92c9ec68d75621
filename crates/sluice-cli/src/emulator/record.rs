//! What QEMU executes, written into a trace.

use super::{Emulated, Plugin};
use crate::child::leave;
use crate::error::Error;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// A recording of a program or guest.
pub struct Recording<'a> {
    /// The trace.
    pub file: &'a Path,
    /// The caches whose hits are left out.
    pub filter: &'a str,
    /// What is executed.
    pub command: &'a [String],
    /// Whether the counts go to standard output as one object.
    pub json: bool,
}

impl Recording<'_> {
    /// The plugin for it.
    pub fn plugin(&self) -> Result<Plugin, Error> {
        sluice_trace::filter::Levels::parse(self.filter)?;
        let mut plugin = Plugin::find("record")?;
        let out = std::path::absolute(self.file).map_err(Error::system(self.file.display()))?;
        plugin.set("out", &out.to_string_lossy());
        plugin.set("filter", self.filter);
        plugin.set("command", &self.command.join(" "));
        Ok(plugin)
    }

    /// Tells how much was recorded, and ends as what was executed.
    pub fn finish(&self, emulated: Emulated) -> Result<ExitCode, Error> {
        let Emulated { exit, wall_s, said } = emulated;
        match said {
            Some(said) => self.tell(&said, wall_s)?,
            None => errln!(
                "sluice: QEMU ended before the program did; {} has what was written until then",
                self.file.display()
            ),
        }
        Ok(leave(exit))
    }

    fn tell(&self, said: &Value, wall_s: f64) -> Result<(), Error> {
        let count = |key: &str| said[key].as_u64().unwrap_or(0);
        let (seen, accesses, bytes) = (count("accesses_seen"), count("accesses"), count("bytes"));
        let per_access = sluice_stats::share(bytes, accesses);
        if self.json {
            let object = json!({
                "schema": "sluice.trace-record/1",
                "file": self.file,
                "command": self.command,
                "filter": self.filter,
                "accesses_seen": seen,
                "accesses": accesses,
                "instructions": said["instructions"],
                "bytes": bytes,
                "bytes_per_access": per_access,
                "wall_s": wall_s,
                "accesses_seen_per_s": seen as f64 / wall_s,
                "version": env!("CARGO_PKG_VERSION"),
            });
            outln!("{object}")?;
        } else {
            errln!(
                "sluice: {accesses} of {seen} accesses in {}, {:.2} bytes each; {wall_s:.1} s, \
                 {:.1} million accesses a second",
                self.file.display(),
                per_access.unwrap_or(0.0),
                seen as f64 / wall_s / 1e6,
            );
        }
        Ok(())
    }
}
