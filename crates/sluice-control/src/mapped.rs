//! Where addresses of this program are on a device that is a file (`sluice run --place dax:PATH`).

use sluice_abi::SESSION_FILE;
use sluice_abi::session_text::decode;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const PAGE: u64 = sluice_region::PAGE as u64;
/// What the line of a session's file begins with that names the device's file.
const PLACE: &[u8] = b"live.place=dax:";

/// A file that is the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFile {
    /// Numbers of its file system, and its own, as the kernel's lists of mappings have them.
    major: u32,
    minor: u32,
    inode: u64,
}

impl DeviceFile {
    /// The device of a session, if it is a file.
    pub fn of(session: &Path) -> Option<DeviceFile> {
        let text = std::fs::read(session.join(SESSION_FILE)).ok()?;
        let mut lines = text.split(|byte| *byte == b'\n');
        let path = decode(lines.find_map(|line| line.strip_prefix(PLACE))?);
        let found = std::fs::metadata(std::ffi::OsString::from_vec(path)).ok()?;
        Some(DeviceFile {
            major: libc::major(found.dev()),
            minor: libc::minor(found.dev()),
            inode: found.ino(),
        })
    }

    /// The pages of the device that some bytes of this program's memory are on, if all are.
    pub fn pages(&self, start: u64, last: u64) -> Option<Vec<u64>> {
        self.pages_in(&std::fs::read("/proc/self/maps").ok()?, start, last)
    }

    fn pages_in(&self, maps: &[u8], start: u64, last: u64) -> Option<Vec<u64>> {
        let (mut at, mut pages) = (start / PAGE * PAGE, Vec::new());
        for line in maps.split(|byte| *byte == b'\n') {
            let Some((from, to, first)) = self.window(line) else {
                continue;
            };
            while (from..to).contains(&at) && at <= last {
                pages.push((first + at - from) / PAGE);
                at = at.checked_add(PAGE)?;
            }
        }
        (at > last).then_some(pages)
    }

    /// A mapping of the file, by its line: first address, the one behind it, and first byte.
    fn window(&self, line: &[u8]) -> Option<(u64, u64, u64)> {
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        let end = line.iter().position(|byte| *byte == b'/');
        let line = core::str::from_utf8(&line[..end.unwrap_or(line.len())]).ok()?;
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let (offset, device) = (words.nth(1)?, words.next()?);
        let (major, minor) = device.split_once(':')?;
        let inode: u64 = words.next()?.parse().ok()?;
        let is_it = number(major)? == u64::from(self.major)
            && number(minor)? == u64::from(self.minor)
            && inode == self.inode;
        is_it.then_some((number(from)?, number(to)?, number(offset)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_those_of_the_files_own_mappings() {
        let maps = b"1000-3000 rw-s 00005000 00:1a 77                /dev/shm/a b\n\
            3000-4000 rw-s 00001000 00:1a 77                /dev/shm/a b\n\
            4000-5000 rw-s 00000000 00:1a 78                /dev/shm/c\n\
            5000-6000 rw-p 00000000 00:00 0\n\
            7000-8000 rw-s 00000000 00:1a 77                /dev/shm/a b\n";
        let of = |inode| DeviceFile {
            major: 0,
            minor: 0x1a,
            inode,
        };
        let pages = |start, last| of(77).pages_in(maps, start, last);
        assert_eq!(pages(0x1000, 0x1000), Some(vec![5]));
        assert_eq!(pages(0x1fff, 0x3000), Some(vec![5, 6, 1]));
        assert_eq!(pages(0x7abc, 0x7fff), Some(vec![0]));
        for (start, last) in [
            (0x3000, 0x4000),
            (0x0, 0x1000),
            (0x7fff, 0x8000),
            (0x5000, 0x5000),
        ] {
            assert_eq!(pages(start, last), None, "{start:#x} to {last:#x}");
        }
        assert_eq!(of(78).pages_in(maps, 0x4000, 0x4fff), Some(vec![0]));
    }

    #[test]
    fn the_file_of_a_session_is_found_whatever_its_name() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("a %b\n");
        std::fs::write(&path, "").expect("room");
        let says = |text: String| {
            std::fs::write(folder.path().join(SESSION_FILE), text).expect("room");
            DeviceFile::of(folder.path())
        };
        let name = format!("{}/a %25b%0a", folder.path().display());
        let found = says(format!("live.seed=1\nlive.place=dax:{name}\nlive.ring=1\n"));
        let inode = std::fs::metadata(&path).expect("it is there").ino();
        assert_eq!(found.map(|file| file.inode), Some(inode));
        assert_eq!(says("live.place=heap\n".to_owned()), None);
    }
}
