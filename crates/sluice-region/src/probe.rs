//! What this host can do, and what would mend what it cannot.

use crate::{Fill, Mapping, OpenError, PAGE, Pagemap, Uffd, UffdKind};

/// What a check is needed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Both trap modes.
    Live,
    /// `--trap event`, the default.
    Event,
    /// `--trap signal`.
    Signal,
}

/// One thing looked at.
#[derive(Clone, Debug)]
pub struct Check {
    /// Which modes need it.
    pub need: Need,
    /// What was looked at.
    pub name: &'static str,
    /// What was found.
    pub found: String,
    /// How to mend it; `None` when it is well.
    pub mend: Option<String>,
}

/// Everything that was looked at.
#[derive(Clone, Debug)]
pub struct Probe {
    /// In the order of looking.
    pub checks: Vec<Check>,
}

impl Probe {
    /// The first check that keeps a trap mode from working.
    pub fn blocker(&self, kind: UffdKind) -> Option<&Check> {
        let own = if kind == UffdKind::Events {
            Need::Event
        } else {
            Need::Signal
        };
        let mut needed = self
            .checks
            .iter()
            .filter(|c| c.need == own || c.need == Need::Live);
        needed.find(|c| c.mend.is_some())
    }
}

/// Looks at the running kernel. Nothing is changed.
pub fn probe() -> Probe {
    let checks = vec![
        kernel_version(),
        page_size(page_bytes()),
        descriptor(UffdKind::Events),
        descriptor(UffdKind::Signal),
        write_tracking(),
    ];
    Probe { checks }
}

fn kernel_version() -> Check {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim().to_string();
    let mut numbers = release
        .split(['.', '-'])
        .map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let mend = (version < (6, 8)).then(|| {
        "boot Linux 6.8 or newer (Debian: `apt-get install -t bookworm-backports \
         linux-image-amd64`)"
            .to_string()
    });
    Check {
        need: Need::Live,
        name: "kernel",
        found: format!("Linux {release}"),
        mend,
    }
}

/// Bytes of the kernel's pages: on arm64 they are 4, 16 or 64 KiB.
fn page_bytes() -> usize {
    // SAFETY: the call only answers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(0)
}

fn page_size(bytes: usize) -> Check {
    Check {
        need: Need::Live,
        name: "page size",
        found: format!("{bytes} B"),
        mend: (bytes != PAGE)
            .then(|| format!("boot a kernel whose pages have {PAGE} B, as those of the device do")),
    }
}

fn descriptor(kind: UffdKind) -> Check {
    let (need, name) = match kind {
        UffdKind::Events => (Need::Event, "userfaultfd for event mode"),
        UffdKind::Signal => (Need::Signal, "userfaultfd for signal mode"),
    };
    match Uffd::open(kind) {
        Ok(_) => Check {
            need,
            name,
            found: "permitted, all features".into(),
            mend: None,
        },
        Err(e) => {
            let mend = match e {
                OpenError::Permission => {
                    "run as root, or `sysctl -w vm.unprivileged_userfaultfd=1`, or use \
                     `--trap signal`"
                }
                OpenError::Missing => "boot a kernel with CONFIG_USERFAULTFD=y",
                OpenError::Valgrind => "run it without valgrind",
                OpenError::Features(_) => "boot Linux 6.8 or newer",
                OpenError::Os(_) => "see `man 2 userfaultfd` for this error number",
            };
            Check {
                need,
                name,
                found: e.to_string(),
                mend: Some(mend.into()),
            }
        }
    }
}

fn write_tracking() -> Check {
    let found = track_one_write();
    let mend = found.is_err().then(|| {
        "boot Linux 6.7 or newer with CONFIG_PROC_PAGE_MONITOR=y (PAGEMAP_SCAN)".to_string()
    });
    let found = found.map_or_else(|e| format!("not working: {e}"), |()| "working".into());
    Check {
        need: Need::Live,
        name: "write tracking",
        found,
        mend,
    }
}

/// What of the tracking of writes does not work.
enum Untracked {
    /// There is no descriptor for faults.
    Uffd(OpenError),
    /// A step that the kernel refused, with its error.
    Refused(&'static str, i32),
    /// A page that nobody wrote to reads as written.
    CleanIsWritten,
    /// A page that was written to reads as clean.
    Unnoticed,
}

impl std::fmt::Display for Untracked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Untracked::Uffd(error) => error.fmt(f),
            Untracked::Refused(step, errno) => write!(f, "{step} (errno {errno})"),
            Untracked::CleanIsWritten => f.write_str("a clean page reads as written"),
            Untracked::Unnoticed => f.write_str("a write went unnoticed"),
        }
    }
}

/// Maps a protected page, writes to it, and asks twice.
fn track_one_write() -> Result<(), Untracked> {
    let step = |what: &'static str| move |errno: i32| Untracked::Refused(what, errno);
    let uffd = Uffd::open(UffdKind::Signal).map_err(Untracked::Uffd)?;
    let pagemap = Pagemap::open().map_err(step("opening /proc/self/pagemap"))?;
    let memory = Mapping::anonymous(PAGE).map_err(step("mmap"))?;
    let source = Mapping::anonymous(PAGE).map_err(step("mmap"))?;
    uffd.register_private(memory.addr(), PAGE)
        .map_err(step("registering"))?;
    uffd.copy_page(memory.addr(), source.addr(), Fill::NOTICED)
        .map_err(step("UFFDIO_COPY"))?;
    if pagemap.is_written(memory.addr()) {
        return Err(Untracked::CleanIsWritten);
    }
    // SAFETY: the page is mapped and ours.
    unsafe { core::ptr::write_volatile(memory.addr() as *mut u8, 1) };
    match pagemap.is_written(memory.addr()) {
        true => Ok(()),
        false => Err(Untracked::Unnoticed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a kernel was said to have no CONFIG_PROC_PAGE_MONITOR.
    #[test]
    fn a_kernel_with_other_pages_is_refused_for_them() {
        for bytes in [16 << 10, 64 << 10] {
            let checks = vec![page_size(bytes), write_tracking()];
            let blocker = Probe { checks }.blocker(UffdKind::Events).cloned();
            let mend = blocker.and_then(|check| check.mend).expect("a mend");
            assert!(mend.contains("4096 B"), "{mend}");
        }
        assert!(page_size(PAGE).mend.is_none());
        let checks = probe().checks;
        let at = |name| checks.iter().position(|check| check.name == name);
        assert!(at("page size") < at("write tracking"), "{checks:?}");
    }
}
