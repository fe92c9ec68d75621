//! File systems that a test mounts, and that go with it however it ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Others on this host that look at its mounts keep one busy for a moment.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// A file system at a folder. A test that fails before it has [ended](Mounted::end) it leaves
/// nothing behind.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    is_there: bool,
}

impl Mounted {
    /// One in memory, with options such as `size=1M`. `None` if this user may not.
    pub fn in_memory(at: &Path, options: &str) -> Option<Mounted> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "none"]);
        Mounted::by(&mut mount, at)
    }

    /// That of a device. `None` if this user may not.
    pub fn of_device(device: &Path, at: &Path) -> Option<Mounted> {
        Mounted::by(Command::new("mount").arg(device), at)
    }

    fn by(mount: &mut Command, at: &Path) -> Option<Mounted> {
        does(mount.arg(at)).then(|| Mounted {
            at: at.to_owned(),
            is_there: true,
        })
    }

    /// Gives one in memory another size, such as `100M`. Says whether it has it.
    pub fn resize(&self, size: &str) -> bool {
        let options = format!("remount,size={size}");
        does(Command::new("mount").args(["-o", &options]).arg(&self.at))
    }

    /// Takes it away, which nobody may use any more.
    ///
    /// # Panics
    /// If somebody does.
    pub fn end(mut self) {
        for _ in 0..TRIES {
            if does(Command::new("umount").arg(&self.at)) {
                self.is_there = false;
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("{} is still in use", self.at.display());
    }
}

impl Drop for Mounted {
    /// Who still uses it keeps it, and nobody else finds it.
    fn drop(&mut self) {
        if self.is_there {
            does(Command::new("umount").arg("--lazy").arg(&self.at));
        }
    }
}

fn does(command: &mut Command) -> bool {
    command.output().is_ok_and(|out| out.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test that failed in between left its file system until the host went down.
    #[test]
    fn a_test_that_fails_leaves_no_file_system() {
        let folder = tempfile::tempdir().expect("room");
        let is_mounted = || {
            let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
            mounts.contains(folder.path().to_str().expect("plain letters"))
        };
        let Some(mounted) = Mounted::in_memory(folder.path(), "size=1M") else {
            println!("unchecked: this user may not mount a file system");
            return;
        };
        assert!(is_mounted() && mounted.resize("2M"));
        mounted.end();
        assert!(!is_mounted());
        let fails = || {
            let _mounted = Mounted::in_memory(folder.path(), "size=1M").expect("as before");
            let _in_use = std::fs::File::create(folder.path().join("file")).expect("room");
            assert!(!is_mounted(), "it fails");
        };
        std::panic::catch_unwind(fails).expect_err("it fails");
        assert!(!is_mounted());
    }
}
