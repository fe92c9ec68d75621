//! From when on a live run counts.

use super::waiting::Seen;
use crate::error::{ArgumentError, Error};
use rustix::time::{ClockId, clock_gettime};
use sluice_abi::is_mark_name;
use sluice_results::{Moments, ProcessMark, Run, read_last, read_marks};
use sluice_units::Ps;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What is waited for before anything counts.
#[derive(Clone, Debug, PartialEq)]
pub enum CountAfter {
    /// A time after the start.
    Time(Ps),
    /// The first mark of this name that the program sets.
    Marker(String),
    /// A file that is not there yet.
    File(PathBuf),
}

impl FromStr for CountAfter {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<CountAfter, ArgumentError> {
        let expected = |what: &str| ArgumentError::Expected(what.to_owned());
        match text.split_once(':') {
            Some(("marker", name)) if is_mark_name(name) => Ok(CountAfter::Marker(name.to_owned())),
            Some(("marker", _)) => Err(expected(
                "marker: and a name of 1 to 64 letters, digits, `-`, `_` or `.`",
            )),
            Some(("file", "")) => Err(expected("file: and the path of a file")),
            Some(("file", path)) if Path::new(path).exists() => Err(expected(
                "a file that appears during the run, and this one is there",
            )),
            Some(("file", path)) => Ok(CountAfter::File(path.into())),
            _ => match text.parse() {
                Ok(time) => Ok(CountAfter::Time(time)),
                Err(_) => Err(expected("a time such as 10s, marker:NAME or file:PATH")),
            },
        }
    }
}

impl Display for CountAfter {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            CountAfter::Time(time) => write!(f, "{time}"),
            CountAfter::Marker(name) => write!(f, "marker:{name}"),
            CountAfter::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

/// The time between two looks, at least, s.
const LEAST_S: f64 = 1e-3;

/// Waits for that.
pub struct Counting {
    after: Option<CountAfter>,
    found: Option<ProcessMark>,
}

impl Counting {
    pub fn new(after: &Option<CountAfter>) -> Counting {
        Counting {
            after: after.clone(),
            found: None,
        }
    }

    /// Looks whether it has come; says after how many seconds to look again, if it is still waited
    /// for. What comes with the program's end comes too late.
    pub fn look(&mut self, seen: Seen, dir: &Path, pid: u64) -> Option<f64> {
        let after = self.after.as_ref().filter(|_| self.found.is_none())?;
        let left_s = match after {
            // The program's own marks are read at its end.
            CountAfter::Marker(_) => return None,
            CountAfter::Time(time) => time.0 as f64 / 1e12 - seen.seconds,
            CountAfter::File(path) if path.exists() => 0.0,
            CountAfter::File(_) => f64::INFINITY,
        };
        if left_s <= 0.0 && !seen.is_over {
            // Without any image, the program has not begun, and the next look will do.
            self.found = read_last(dir, pid).map(|process| ProcessMark {
                name: after.to_string(),
                at_ns: now_ns(),
                recorded: 0,
                process,
            });
        }
        self.found.is_none().then_some(left_s.max(LEAST_S))
    }

    /// The marks of all images of the program itself.
    pub fn marks(&self, dir: &Path, run: &Run<'_>) -> Vec<ProcessMark> {
        let images = run.processes.iter().filter(|of| of.pid == run.pid);
        let mut marks: Vec<_> = images.flat_map(|of| read_marks(dir, of)).collect();
        marks.sort_by_key(|mark| mark.at_ns);
        marks
    }

    /// The moment from which the run counts.
    pub fn from(self, marks: &[ProcessMark]) -> From {
        let found = match &self.after {
            Some(CountAfter::Marker(name)) => marks.iter().find(|mark| mark.name == *name).cloned(),
            _ => self.found,
        };
        From {
            after: self.after.map(|after| after.to_string()),
            found,
        }
    }
}

/// The moment from which a run counts.
pub struct From {
    after: Option<String>,
    found: Option<ProcessMark>,
}

impl From {
    /// With the program's marks.
    pub fn moments<'a>(&'a self, started_ns: u64, marks: &'a [ProcessMark]) -> Moments<'a> {
        Moments {
            started_ns,
            marks,
            after: self.after.as_deref(),
            from: self.found.as_ref(),
        }
    }

    /// What was waited for must have come.
    pub fn check(&self, marks: &[ProcessMark]) -> Result<(), Error> {
        let Some(after) = self.after.clone().filter(|_| self.found.is_none()) else {
            return Ok(());
        };
        let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
        let found = match names[..] {
            _ if !after.starts_with("marker:") => "that did not come before its end".to_owned(),
            [] => "the program set no mark".to_owned(),
            _ => format!("the program set other marks ({})", names.join(", ")),
        };
        let wanted = format!("--count-after {after}");
        Err(Error::NotCounted { wanted, found })
    }
}

/// CLOCK_MONOTONIC.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first look was after 100 ms, and the last one, at the program's end, found the moment.
    #[test]
    fn the_next_look_is_at_the_moment_and_none_is_after_the_end() {
        let look = |after: &str, seconds, is_over| {
            let mut counting = Counting::new(&Some(after.parse().expect("a moment")));
            counting.look(Seen { seconds, is_over }, Path::new("/nonexistent"), 1)
        };
        assert_eq!(look("3ms", 0.0, false), Some(0.003));
        assert_eq!(look("50ms", 0.049, false), Some(0.05 - 0.049));
        assert_eq!(look("50ms", 0.06, false), Some(LEAST_S), "no image yet");
        assert_eq!(look("50ms", 0.06, true), Some(LEAST_S), "it did not come");
        assert_eq!(look("marker:a", 0.06, false), None);
        assert!(look("file:/nonexistent/a", 0.0, false).is_some());
    }
}
