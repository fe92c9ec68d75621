//! Where the ring and the view of a device are.

use crate::error::Error;
use crate::home::{
    FIRST, Session, command_of, session_of_command, session_of_process, sessions,
    sessions_of_command,
};
use sluice_region::{open_folder, own_user, user_of};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A guest's PCI devices.
const PCI: &str = "/sys/bus/pci/devices";
/// PCI vendor and device of QEMU's shared memory.
const IVSHMEM: [&str; 2] = ["0x1af4", "0x1110"];

/// How long the server may take to mend a guest's ring, and how often that is looked for.
const MEND_LIMIT: Duration = Duration::from_secs(1);
const MEND_LOOK: Duration = Duration::from_millis(2);

/// From where a device is commanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// On the same kernel as the server, which can be woken.
    Host,
    /// In a guest: the server looks by itself, and sees no locks of ours.
    Guest,
}

/// The files of one device.
#[derive(Clone, Debug)]
pub struct DeviceFiles {
    /// The file, or BAR, of the control ring.
    pub ring: PathBuf,
    /// The file, or BAR, of statistics and residency map.
    pub view: PathBuf,
    /// Where we are.
    pub side: Side,
    /// The process, on the host.
    pub pid: u32,
    /// The user whose files they are; none in a guest.
    pub owner: Option<u32>,
}

impl DeviceFiles {
    /// The device of a process: one under Sluice, or a `sluice` command that runs one.
    ///
    /// # Errors
    /// Why the process has no device that can be commanded.
    pub fn of_process(pid: u32) -> Result<DeviceFiles, Error> {
        match DeviceFiles::with_view(pid)? {
            place if place.ring.exists() => Ok(place),
            _ => Err(Error::NoRing(pid)),
        }
    }

    /// The device of a process that need not have a ring: its statistics are there.
    ///
    /// # Errors
    /// Why the process has no device.
    pub fn with_view(pid: u32) -> Result<DeviceFiles, Error> {
        let session = session_of_process(pid);
        let user = || user_of(pid).ok_or(Error::NoProcess(pid));
        match session {
            // The environment is the process's own affair: it can name anything.
            Ok(Some(dir)) => DeviceFiles::in_session(&dir, pid, user()?),
            Ok(None) => DeviceFiles::of_command(pid),
            Err(why) if why.kind() == ErrorKind::NotFound => Err(Error::NoProcess(pid)),
            // It has ended, and its parent has not waited for it.
            Err(why) if why.raw_os_error() == Some(libc::ESRCH) => Err(Error::Gone),
            Err(_) if [0, user()?].contains(&own_user()) => DeviceFiles::unnamed(pid, user()?),
            Err(why) => Err(Error::Denied { pid, why }),
        }
    }

    /// The device of a process that hides its environment from its own user or from root, who see
    /// all sessions that it can have.
    fn unnamed(pid: u32, user: u32) -> Result<DeviceFiles, Error> {
        let of = |session: Session| DeviceFiles::in_session(&session.path, pid, user).ok();
        let is_first = |of: &Session| of.command.is_some() && of.name.is_none();
        let found = sessions().into_iter().filter(is_first);
        match found.filter_map(of).next() {
            Some(files) => Ok(files),
            None => DeviceFiles::of_command(pid),
        }
    }

    /// One of several devices, by its name.
    ///
    /// # Errors
    /// Why there is no device of this name that can be looked at.
    pub fn named(pid: u32, name: &str) -> Result<DeviceFiles, Error> {
        // Says why, if there is no device at all.
        let first = DeviceFiles::with_view(pid)?;
        if name == FIRST {
            return Ok(first);
        }
        let dir = first.view.parent().unwrap_or(Path::new("/"));
        let command = first.owner.and_then(|user| command_of(dir, user));
        let all = command.map(|command| sessions_of_command(command).collect::<Vec<_>>());
        let mut others = all.unwrap_or_default();
        others.retain(|session| session.name.is_some());
        let found = others.iter().find(|of| of.name.as_deref() == Some(name));
        match found {
            Some(Session { path, user, .. }) => DeviceFiles::in_session(path, first.pid, *user),
            None => {
                let mut names: Vec<String> = others.into_iter().filter_map(|of| of.name).collect();
                names.sort_unstable();
                names.insert(0, FIRST.to_owned());
                Err(Error::NoName {
                    pid,
                    name: name.to_owned(),
                    names: names.join(", "),
                })
            }
        }
    }

    /// The device of this program, or of the guest that it runs in.
    ///
    /// # Errors
    /// [`Error::NotHere`] if there is none.
    pub fn own() -> Result<DeviceFiles, Error> {
        match std::env::var_os(sluice_abi::SESSION_VAR) {
            Some(dir) => {
                let pid = std::process::id();
                match DeviceFiles::in_session(Path::new(&dir), pid, own_user())? {
                    place if place.ring.exists() => Ok(place),
                    _ => Err(Error::NoRing(pid)),
                }
            }
            None => DeviceFiles::of_guest(),
        }
    }

    /// The device of this guest.
    ///
    /// # Errors
    /// [`Error::NotHere`] if it has none; [`Error::RootsAlone`] if only root can find out.
    pub fn of_guest() -> Result<DeviceFiles, Error> {
        DeviceFiles::of_guest_in(Path::new(PCI))
    }

    fn of_guest_in(pci: &Path) -> Result<DeviceFiles, Error> {
        let devices = std::fs::read_dir(pci);
        let memory = |folder: &PathBuf| {
            let is = |file: &str, what: &str| {
                std::fs::read_to_string(folder.join(file)).is_ok_and(|text| text.trim() == what)
            };
            is("vendor", IVSHMEM[0]) && is("device", IVSHMEM[1])
        };
        let folders = devices
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut bars: Vec<PathBuf> = folders
            .filter(memory)
            .filter_map(|folder| {
                // A device that no driver has enabled does not answer.
                let _ = std::fs::write(folder.join("enable"), "1");
                let bar = folder.join("resource2");
                bar.exists().then_some(bar)
            })
            .collect();
        bars.sort();
        let of = |magic: u64| {
            bars.iter()
                .find(|bar| first_word(bar) == Some(magic))
                .cloned()
        };
        let is_closed = |bar: &PathBuf| {
            let opened = File::open(bar).map_err(|why| why.kind());
            matches!(opened, Err(ErrorKind::PermissionDenied))
        };
        if bars.iter().any(is_closed) {
            return Err(Error::RootsAlone);
        }
        let view = of(sluice_abi::STATS_MAGIC).ok_or(Error::NotHere)?;
        let limit = Instant::now() + MEND_LIMIT;
        loop {
            if let Some(ring) = of(sluice_abi::RING_MAGIC) {
                return Ok(DeviceFiles {
                    ring,
                    view,
                    side: Side::Guest,
                    pid: 0,
                    owner: None,
                });
            }
            // Somebody in this guest may have written over its first word, which its server mends.
            if Instant::now() > limit {
                return Err(Error::NotHere);
            }
            std::thread::sleep(MEND_LOOK);
        }
    }

    /// The first process of a `sluice` command's session.
    fn of_command(pid: u32) -> Result<DeviceFiles, Error> {
        let Some(Session { path, user, .. }) = session_of_command(pid) else {
            return Err(Error::NotUnderSluice(pid));
        };
        let first = || {
            let view = std::fs::read_link(path.join(sluice_abi::VIEW_LINK)).ok()?;
            let name = view.file_name()?.to_str()?.strip_prefix("proc-")?;
            name.split('-').next()?.parse().ok()
        };
        match first() {
            Some(first) => DeviceFiles::in_session(&path, first, user),
            None => Err(Error::NotUnderSluice(pid)),
        }
    }

    /// The last image of a process in a session's directory, which must be the process's user's.
    /// Root's will do as well: a program that root started may have changed its user.
    fn in_session(dir: &Path, pid: u32, user: u32) -> Result<DeviceFiles, Error> {
        let prefix = format!("proc-{pid}-");
        let unusable = |why: std::io::Error| Error::Unusable {
            path: dir.to_owned(),
            why: why.to_string(),
        };
        let folder: File = open_folder(dir, None).map_err(unusable)?;
        let owner = folder.metadata().map_err(unusable)?.uid();
        if owner != user && owner != 0 {
            let why = format!(
                "the session that process {pid} names belongs to user {owner}, and the process to \
                 user {user}"
            );
            return Err(unusable(std::io::Error::other(why)));
        }
        let files = std::fs::read_dir(dir).map_err(unusable)?;
        let images = files.flatten().filter_map(|file| {
            let name = file.file_name();
            let rest = name.to_str()?.strip_prefix(&prefix)?;
            rest.strip_suffix(".stats")?.parse::<u32>().ok()
        });
        let last = images.max().ok_or(Error::NoDevice(pid))?;
        let file = |kind: &str| dir.join(format!("{prefix}{last}.{kind}"));
        let (ring, view) = (file("ring"), file("stats"));
        let side = Side::Host;
        Ok(DeviceFiles {
            ring,
            view,
            side,
            pid,
            owner: Some(owner),
        })
    }
}

/// The first word of a BAR, which can be mapped and not read.
fn first_word(bar: &Path) -> Option<u64> {
    let map = crate::files::map(bar, None, false, sluice_region::PAGE).ok()?;
    // SAFETY: a mapped page.
    Some(unsafe { (map.addr() as *const u64).read_volatile() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// "No such process; this root may not look at it", it said.
    #[test]
    fn a_process_that_nobody_has_waited_for_has_ended() {
        let mut child = Command::new("cat")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Its output ends when it does; then it is about to be one.
        std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
        let stat = PathBuf::from(format!("/proc/{}/stat", child.id()));
        let is_zombie = || std::fs::read_to_string(&stat).unwrap().contains(") Z ");
        let limit = Instant::now() + Duration::from_secs(20);
        while !is_zombie() {
            assert!(Instant::now() < limit, "it does not end");
            std::thread::yield_now();
        }
        let why = DeviceFiles::with_view(child.id()).err();
        child.wait().unwrap();
        assert!(matches!(why, Some(Error::Gone)), "{why:?}");
    }

    /// "No guest with a control ring", a user who is not root read in a guest that has one.
    #[test]
    fn a_guest_s_ring_that_only_root_may_open_is_not_called_missing() {
        let pci = tempfile::tempdir().unwrap();
        let device = pci.path().join("0000:00:03.0");
        std::fs::create_dir(&device).unwrap();
        let [vendor, number] = IVSHMEM;
        let bar = device.join("resource2");
        for (path, text) in [
            (device.join("vendor"), vendor),
            (device.join("device"), number),
            (bar.clone(), "no ring"),
        ] {
            std::fs::write(path, text).unwrap();
        }
        for (path, mode) in [(pci.path(), 0o755), (&device, 0o755), (&bar, 0o600)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let own = DeviceFiles::of_guest_in(pci.path()).err();
        assert!(matches!(own, Some(Error::NotHere)), "{own:?}");
        if own_user() != 0 {
            return;
        }
        let folder = pci.path().to_owned();
        let as_user = move || {
            // SAFETY: no pointers; the call is of this thread alone, which ends here.
            unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
            DeviceFiles::of_guest_in(&folder).err()
        };
        let others = std::thread::spawn(as_user).join().unwrap();
        assert!(matches!(others, Some(Error::RootsAlone)), "{others:?}");
    }

    /// "Permission denied", it said. Of a program that nobody may read the kernel shows nothing.
    #[test]
    fn a_process_that_hides_its_environment_is_not_under_sluice() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("sleep");
        std::fs::copy("/bin/sleep", &program).unwrap();
        for (path, mode) in [(folder.path(), 0o755), (&program, 0o111)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut command = Command::new(&program);
        command.arg("60");
        let user = if own_user() == 0 { 65534 } else { own_user() };
        if own_user() == 0 {
            command.uid(user);
        }
        let mut child = command.spawn().unwrap();
        let pid = child.id();
        let as_user = move || {
            // SAFETY: no pointers; the call is of this thread alone, which ends here.
            unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) };
            let denied = session_of_process(pid).is_err();
            (denied, DeviceFiles::with_view(pid).err())
        };
        let found = std::thread::spawn(as_user).join();
        child.kill().unwrap();
        child.wait().unwrap();
        let found = found.unwrap();
        let is_told = matches!(found, (true, Some(Error::NotUnderSluice(of))) if of == pid);
        assert!(is_told, "{found:?}");
    }
}
