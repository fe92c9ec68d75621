//! What QEMU executes, written into a trace.

use super::{Emulated, Plugin};
use crate::child::leave;
use crate::error::Error;
use crate::output;
use crate::traces::check_new;
use sluice_results::{Exit, RecordedAccesses, TraceRecord, TraceRecordSchema, to_json, version};
use sluice_stats::share;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

/// A recording of a program or guest.
pub struct Recording<'a> {
    /// The file that the trace goes to.
    pub file: &'a Path,
    /// Whether a file that is there is replaced.
    pub force: bool,
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
        check_file(self.file)?;
        check_new(self.file, self.force)?;
        let mut plugin = Plugin::find("record")?;
        plugin.set_written("out", self.file)?;
        plugin.set("filter", self.filter);
        plugin.set_command(self.command);
        Ok(plugin)
    }

    /// Prints how much was recorded, and ends as what was executed. A trace that is cut ends with
    /// an error in any case.
    pub fn finish(&self, emulated: Emulated) -> Result<ExitCode, Error> {
        if let Some(counted) = emulated.result::<RecordedAccesses>() {
            // QEMU finds some mistakes in its arguments when the plugin has begun.
            if counted.instructions.iter().all(|of| *of == 0) {
                errln!(
                    "sluice: QEMU ended before it executed anything; {} is empty",
                    self.name()
                );
                return Ok(failed(emulated.exit));
            }
            self.print(counted, emulated.wall_s)?;
            return Ok(leave(emulated.exit));
        }
        // Why the recording ended, which the plugin has said when it did.
        if emulated.result::<String>().is_some() {
            return Ok(failed(emulated.exit));
        }
        errln!(
            "sluice: QEMU reported no end, as when a signal ends the program or it executes \
             another; {} has what was written until then",
            self.name()
        );
        Ok(failed(emulated.exit))
    }

    /// The file as messages name it.
    fn name(&self) -> String {
        self.file.display().to_string()
    }

    fn print(&self, counted: RecordedAccesses, wall_s: f64) -> Result<(), Error> {
        let bytes_per_access = share(counted.bytes, counted.accesses);
        let per_s = counted.accesses_seen as f64 / wall_s;
        if self.json {
            let result = TraceRecord {
                schema: TraceRecordSchema::default(),
                file: self.file.display().to_string(),
                command: self.command.to_vec(),
                filter: self.filter.to_owned(),
                counted,
                bytes_per_access,
                wall_s,
                accesses_seen_per_s: per_s,
                version: version(),
            };
            output::after_program(to_json(&result))?;
        } else {
            errln!(
                "sluice: {} of {} accesses in {}, {:.2} bytes each; {wall_s:.1} s, \
                 {:.1} million accesses a second",
                counted.accesses,
                counted.accesses_seen,
                self.name(),
                bytes_per_access.unwrap_or_default(),
                per_s / 1e6,
            );
        }
        Ok(())
    }
}

/// Ends as what was executed, but not well.
fn failed(exit: Exit) -> ExitCode {
    match exit {
        Exit::Code(0) => ExitCode::from(2),
        exit => leave(exit),
    }
}

/// Refuses what can hold no trace. QEMU would say it less plainly.
fn check_file(file: &Path) -> Result<(), Error> {
    let unfit = |why: &str| Err(Error::unfit(file.display(), why));
    let kind = file.metadata().map(|there| there.file_type()).ok();
    if kind.is_some_and(|kind| kind.is_dir()) {
        return unfit("it is a folder; name a file in it");
    }
    if file == Path::new("-") || kind.is_some_and(|kind| kind.is_fifo() || kind.is_socket()) {
        return unfit("a trace is written at its beginning again when it ends; name a file");
    }
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => unfit(&format!(
            "there is no folder {}; make it first",
            folder.display()
        )),
        _ => Ok(()),
    }
}
