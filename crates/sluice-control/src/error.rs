//! Why a device cannot be commanded.

use std::path::PathBuf;

/// What is wrong. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such process.
    #[error("no process {0}; `sluice top` shows those that are on a device")]
    NoProcess(u32),
    /// The process may not be looked at.
    #[error("process {pid}: {why}; only its user or root can command its device")]
    Denied {
        /// The process.
        pid: u32,
        /// What the system says.
        why: std::io::Error,
    },
    /// The process was not started by Sluice.
    #[error("process {0} is not under Sluice: start it with `sluice run` or `sluice vm`")]
    NotUnderSluice(u32),
    /// The process has no device although it was started by Sluice.
    #[error(
        "process {0} has no device: the preload library did not start in it, as in a statically \
         linked program"
    )]
    NoDevice(u32),
    /// The process has no ring.
    #[error("process {0} has no control ring; start it with --control on")]
    NoRing(u32),
    /// No device of the process has the name.
    #[error("process {pid} has no device `{name}`; expected one of: {names}")]
    NoName {
        /// The process.
        pid: u32,
        /// The name.
        name: String,
        /// The names of its devices.
        names: String,
    },
    /// The device keeps nothing.
    #[error(
        "the device of process {0} is not persistent; start it with `sluice run --place dax:PATH \
         --store file:STORE --set device.persistent=yes`"
    )]
    NotPersistent(u32),
    /// Only the command on the host has the store.
    #[error("the power of a device is cut on the host, by `sluice ctl PID powercut`")]
    PowerInGuest,
    /// Neither a process under Sluice nor a guest of it.
    #[error("this program is not under Sluice, and no guest with a control ring")]
    NotHere,
    /// This user may not open a guest's shared memory, in which its ring would be.
    #[error(
        "only root may open this guest's control ring, if it has one; root answers other users by \
         `sluice-guest serve`"
    )]
    RootsAlone,
    /// A file is not what it should be.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// All channels are taken.
    #[error("all {0} channels of the ring are taken by other clients")]
    Busy(usize),
    /// The process has ended.
    #[error("the process whose device it is has ended")]
    Gone,
    /// No answer came in time.
    #[error("no answer within {0} s: is the process whose device it is stopped?")]
    Silent(u64),
    /// The process was stopped.
    #[error("process {0} is stopped and answers nothing; let it go on with `kill -CONT {0}`")]
    Stopped(u32),
    /// The answer makes no sense.
    #[error("the ring's answer makes no sense: somebody else has written to it")]
    Garbled,
    /// So many commands are under way that there is no room for another.
    #[error("{0} commands are under way, the most at once: take their results first")]
    Full(u32),
    /// A number of no command that is under way.
    #[error("command {0} is not under way: its end was taken, or it was never sent")]
    NotUnderWay(u64),
    /// No memory of this guest is the device's.
    #[error(
        "no memory node without CPUs and no persistent memory of this guest has the device's {0} \
         bytes; name bytes of the device instead"
    )]
    NoMemory(u64),
    /// The kernel does not reveal where pages are.
    #[error("/proc/self/pagemap does not show where pages are: it needs root (CAP_SYS_ADMIN)")]
    Physical,
    /// A name that no mark can have.
    #[error("bad mark {0:?}: expected 1 to 64 letters, digits, `-`, `_` or `.`")]
    MarkName(String),
    /// The session's files are on the host.
    #[error("marks are set on the host: `sluice ctl PID mark NAME` there, or `reset`")]
    MarkInGuest,
    /// No QEMU with the plugin that listens executes this program.
    #[error("nobody simulates this program: a mark is heard under --simulate alone")]
    NotSimulated,
    /// A program image has as many marks as it can.
    #[error("process {0} has {1} marks, the most that are kept")]
    Marks(u32, u32),
    /// An address that is not on the device.
    #[error("the range from {0:#x} is not on the device as a whole")]
    NotOnDevice(u64),
}
