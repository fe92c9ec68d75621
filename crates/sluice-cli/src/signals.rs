//! Signals to this command: passed on to a program that it runs, or Ctrl-C while it computes.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

/// The program that runs; 0 if none does.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The request to end that was noted; 0 if none was.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// Requests to end, which a program may want to answer in its own way.
pub const ENDING: [i32; 2] = [libc::SIGTERM, libc::SIGHUP];
/// Requests to end a program that may not have the terminal: Ctrl-C is passed on as well.
pub const ENDING_OR_CTRL_C: [i32; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];
/// Signals that mean what programs make of them, and always go on to the program. Each would end a
/// command that does not handle it, and its program would go on unseen. Those by which the kernel
/// reports what a thread did stay the command's own.
const OF_PROGRAMS: [i32; 10] = [
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGABRT,
];
/// Signals of the terminal, which sends them to the program as well.
const OF_TERMINAL: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];
/// The exit status of a command in a shell after Ctrl-C ended it.
pub const INTERRUPT_STATUS: u8 = 130;

type Handler = extern "C" fn(i32);
type Informed = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// All signals that mean what programs make of them.
fn of_programs() -> impl Iterator<Item = i32> {
    OF_PROGRAMS
        .into_iter()
        .chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// Passes the signals of `passed_on` to a program from now on, and those that are the program's
/// anyway. Ctrl-C and Ctrl-\ no longer end this command, which has to print the result.
pub fn forward_to(program: u32, passed_on: &'static [i32]) {
    PROGRAM.store(program as i32, Relaxed);
    for signal in passed_on.iter().copied().chain(of_programs()) {
        hand_unless_ignored(signal, pass_on);
    }
    for signal in OF_TERMINAL {
        if !passed_on.contains(&signal) {
            hand_unless_ignored(signal, pass_on_if_sent);
        }
    }
}

/// The program has ended: requests to end mean this command again. With `keeps` it has a device to
/// keep first, and they make [`is_interrupted`] true and end nothing. So does Ctrl-C.
pub fn end_forwarding(keeps: bool) {
    PROGRAM.store(0, Relaxed);
    let handler: Handler = note_request;
    let action = match keeps {
        true => handler as *const () as usize,
        false => libc::SIG_DFL,
    };
    for signal in ENDING.into_iter().chain(of_programs()) {
        set_unless_ignored(signal, action);
    }
    if keeps {
        set_unless_ignored(libc::SIGINT, action);
    }
}

/// The first Ctrl-C from now on makes `is_interrupted` true. The second ends the command.
pub fn await_interrupt() {
    let handler: Handler = note_interrupt;
    set_unless_ignored(libc::SIGINT, handler as *const () as usize);
}

/// Ctrl-C waits from now on, through `exec` too, until the program there takes it.
pub fn hold_interrupt() {
    // SAFETY: the set is made before it is read, and nothing else is changed.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// A request to end makes `is_interrupted` true from now on, and ends nothing: the command has the
/// terminal to put in order first.
pub fn note_requests() {
    let handler: Handler = note_request;
    for signal in ENDING_OR_CTRL_C {
        set_unless_ignored(signal, handler as *const () as usize);
    }
}

/// Ends this command as the request to end that was noted would have; does nothing if none was.
pub fn end_as_asked() {
    let signal = ASKED.load(Relaxed);
    if signal != 0 {
        // SAFETY: no pointers.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Whether Ctrl-C was pressed, or a noted request to end has come.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Relaxed)
}

/// Has a signal handled from now on, unless our caller has us ignore it.
fn hand_unless_ignored(signal: i32, handler: Informed) {
    // SAFETY: zeros are a valid action; live records. The handlers make system calls alone.
    unsafe {
        let [mut action, mut before]: [libc::sigaction; 2] = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, std::ptr::null(), &mut before);
        if before.sa_sigaction != libc::SIG_IGN {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Sets what a signal does. A signal that our caller has us ignore (`nohup`) stays ignored.
fn set_unless_ignored(signal: i32, handler: usize) {
    // SAFETY: handlers do nothing but atomic accesses and a system call.
    unsafe {
        if libc::signal(signal, handler) == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// From now on a write beyond the limit of file sizes (`ulimit -f`) fails with an error that can be
/// reported. Its signal would end this command without a word, and a persistent device with it. A
/// program that is started has the default again, since a handler does not outlive `exec`.
pub fn report_large_files() {
    let handler: Handler = do_nothing;
    set_unless_ignored(libc::SIGXFSZ, handler as *const () as usize);
}

/// From now on this command ends with a message when a file that it has mapped becomes shorter: it
/// belongs to a program that may be another user's.
pub fn report_cut_files() {
    let handler: Handler = end_at_cut_file;
    set_unless_ignored(libc::SIGBUS, handler as *const () as usize);
}

extern "C" fn end_at_cut_file(_: i32) {
    sluice_region::fatal(format_args!(
        "a file of the device became shorter while this command read it (SIGBUS): the program has \
         cut it, or somebody else"
    ))
}

extern "C" fn do_nothing(_: i32) {}

/// Passes on what a process has sent to this command alone, as `kill` does.
extern "C" fn pass_on_if_sent(signal: i32, info: *mut libc::siginfo_t, at: *mut libc::c_void) {
    // SAFETY: the kernel's record.
    if unsafe { (*info).si_code } <= 0 {
        pass_on(signal, info, at);
    }
}

/// What the program itself sends is for the parent that it would have without this command. What
/// this command sends itself, to abort, is for nobody else.
extern "C" fn pass_on(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let program = PROGRAM.load(Relaxed);
    // SAFETY: the kernel's record, in which these have a sender; no pointers. A process that has
    // ended keeps its number until it is waited for.
    unsafe {
        let code = (*info).si_code;
        let is_sent = matches!(code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL);
        let sender = is_sent.then(|| (*info).si_pid());
        if program <= 0 || (signal == libc::SIGABRT && sender == Some(libc::getpid())) {
            return;
        }
        let to = match sender == Some(program) {
            true => libc::getppid(),
            false => program,
        };
        // What was sent with a value keeps it.
        match code {
            libc::SI_QUEUE => drop(libc::syscall(libc::SYS_rt_sigqueueinfo, to, signal, info)),
            _ => drop(libc::kill(to, signal)),
        }
    }
}

extern "C" fn note_request(signal: i32) {
    ASKED.store(signal, Relaxed);
    INTERRUPTED.store(true, Relaxed);
}

extern "C" fn note_interrupt(signal: i32) {
    INTERRUPTED.store(true, Relaxed);
    // SAFETY: no pointers.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
