//! The QEMU that is there.

use crate::error::Error;
use crate::program;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The QEMU of whole machines, and the Debian package that has it.
pub const SYSTEM: &str = "qemu-system-x86_64";
pub const PACKAGE: &str = "qemu-system-x86";
/// The oldest whose options are as we write them, CXL and plugins included. The tests run it.
const OLDEST: Version = Version { major: 7, minor: 2 };

/// A version of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A program, and the version it says it is.
#[derive(Debug)]
pub struct Qemu {
    pub path: PathBuf,
    pub version: Version,
}

impl Qemu {
    /// Makes sure that it was built with plugins.
    pub fn check_plugins(&self) -> Result<(), Error> {
        let help = Command::new(&self.path).arg("--help").output();
        let help = help.map_err(Error::system(self.path.display()))?;
        match String::from_utf8_lossy(&help.stdout).contains("-plugin") {
            true => Ok(()),
            false => Err(Error::unfit(
                self.path.display(),
                "was built without plugins, as static QEMUs are (Debian's qemu-user from 13 on); \
                 one with plugins is needed, first in PATH, such as Debian 12's",
            )),
        }
    }
}

/// Finds a QEMU by name or path, of Debian's `package`, and makes sure that it is new enough.
pub fn find(name: &str, package: &str) -> Result<Qemu, Error> {
    let needed = format!("QEMU {OLDEST} or newer is needed (Debian: apt-get install {package})");
    let path = match program::find_or_say(name.as_ref()) {
        Err(why) if Path::new(name).exists() => return Err(why),
        found => found.map_err(|_| Error::unfit(name, format!("no such program; {needed}")))?,
    };
    let output = Command::new(&path).arg("--version").output();
    let output = output.map_err(Error::system(path.display()))?;
    match parse_version(&String::from_utf8_lossy(&output.stdout)) {
        Some(version) if version >= OLDEST => Ok(Qemu { path, version }),
        Some(version) => Err(Error::unfit(
            path.display(),
            format!("is QEMU {version}; {OLDEST} or newer is needed"),
        )),
        None => Err(Error::unfit(
            path.display(),
            format!("`--version` does not say that it is QEMU; {needed}"),
        )),
    }
}

/// The first two numbers of `QEMU emulator version 7.2.22 (..)` or `qemu-x86_64 version 7.2.22`.
fn parse_version(text: &str) -> Option<Version> {
    let (name, rest) = text.split_once(" version ")?;
    if !name.to_ascii_lowercase().starts_with("qemu") {
        return None;
    }
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        let v = |text| parse_version(text);
        let debian = v("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg)\nCopyright").unwrap();
        assert_eq!((debian.major, debian.minor), (7, 2));
        assert!(v("QEMU emulator version 10.0.2").unwrap() > debian);
        assert!(v("QEMU emulator version 6.2.0").unwrap() < OLDEST);
        assert_eq!(
            v("qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7)"),
            Some(debian)
        );
        assert!(v("GNU bash, version 5.2.15").is_none());
    }
}
