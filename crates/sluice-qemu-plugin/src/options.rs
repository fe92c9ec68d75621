//! What comes after the plugin's name on QEMU's command line: `key=value`, separated by commas.

use sluice_trace::Summary;
use sluice_trace::filter::Levels;
use std::path::PathBuf;

/// What the plugin is to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Options {
    /// Write a trace.
    Record(Record),
}

/// How to record.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The trace.
    pub out: PathBuf,
    /// What the host's caches keep out of it.
    pub filter: Levels,
    /// What is recorded, for the trace's header.
    pub command: String,
    /// Where counts go at the end, as a JSON object.
    pub result: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments that QEMU hands on.
    ///
    /// # Errors
    /// Names the key and what would be accepted.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let (mut mode, mut out, mut filter) = (None, None, Levels::default());
        let (mut command, mut result) = (String::new(), None);
        for argument in arguments {
            let (key, value) = argument
                .split_once('=')
                .ok_or_else(|| format!("\"{argument}\" is not key=value"))?;
            match key {
                "mode" => mode = Some(value),
                "out" => out = Some(PathBuf::from(value)),
                "filter" => filter = Levels::parse(value)?,
                "command" => value.clone_into(&mut command),
                "result" => result = Some(PathBuf::from(value)),
                _ => {
                    return Err(format!(
                        "unknown key `{key}`; expected mode, out, filter, command or result"
                    ));
                }
            }
        }
        match mode {
            Some("record") => Ok(Options::Record(Record {
                out: out.ok_or("mode=record needs out=FILE")?,
                filter,
                command,
                result,
            })),
            Some(other) => Err(format!("bad value for mode: \"{other}\"; expected record")),
            None => Err("mode is missing; expected mode=record".to_owned()),
        }
    }
}

impl Record {
    /// Tells what was recorded, where that is wanted.
    pub fn tell(&self, seen: u64, summary: &Summary) {
        let Some(path) = &self.result else {
            return;
        };
        let object = serde_json::json!({
            "accesses_seen": seen,
            "accesses": summary.accesses,
            "instructions": summary.cpus,
            "bytes": summary.bytes,
        });
        if let Err(error) = std::fs::write(path, object.to_string()) {
            eprintln!("sluice: {}: {error}", path.display());
        }
    }
}
