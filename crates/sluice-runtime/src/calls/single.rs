//! Calls that the kernel grants only to a process with one thread, such as the one for a user
//! namespace.
//!
//! A program with one thread may make them. The runtime's threads end for the moment of the call,
//! and others begin after it. Nobody else can miss meanwhile: the program's one thread is here.

use crate::control;
use crate::engine::{Engine, kind};
use crate::session::Trap;
use crate::session::error::{StartError, os};
use crate::session::hold::Hold;
use crate::store::Opened;
use crate::threads::calm::calm;
use crate::threads::gone::{await_that, end_service};
use crate::threads::thread;
use sluice_region::{Uffd, cpu_now, fatal, threads_of_process};

/// Below are numbers that mean something to the C library.
const LOWEST_NUMBER: i32 = 16;
/// After so many looks the server of the ring is roused again: it may not have slept yet.
const ROUSE_AFTER: u32 = 50;

/// What must not be lost while no thread of the runtime has it: in event mode, the descriptor that
/// serves afterwards and the lock on the session.
struct Meanwhile {
    uffd: Uffd,
    hold: Hold,
    /// The store's files.
    opened: Opened,
}

impl Meanwhile {
    fn open(engine: &Engine) -> Option<Meanwhile> {
        let uffd = Uffd::open(kind(Trap::Event)).ok()?;
        let uffd = uffd.moved_up(LOWEST_NUMBER).ok()?;
        let hold = Hold::stand_in(&engine.session.hold, &engine.session.dir).ok()?;
        let mut core = engine.core();
        let opened = match core.host.file() {
            Some(file) => {
                if !file.before_move(thread::service_thread()) {
                    return None;
                }
                file.opened()
            }
            None => Opened::default(),
        };
        Some(Meanwhile { uffd, hold, opened })
    }
}

/// Whether the program has no thread but the caller.
pub fn is_programs_only_thread() -> bool {
    threads_of_process() == Ok(1 + thread::running() as u64)
}

impl Engine {
    /// Makes a call while this process has one thread. Nothing is called, and `None` is the answer,
    /// if the program has several, the runtime none, or if the device could not go on after it.
    pub fn with_one_thread<R>(&'static self, call: impl FnOnce() -> R) -> Option<R> {
        calm(|| {
            if thread::running() == 0 || !is_programs_only_thread() {
                return None;
            }
            let meanwhile = match self.session.trap {
                Trap::Event => Some(Meanwhile::open(self)?),
                Trap::Signal => None,
            };
            let cpu = cpu_now();
            self.end_threads();
            let result = call();
            if let Err(e) = self.begin_again(meanwhile, cpu) {
                fatal(format_args!("{e}, after a call for one thread only"));
            }
            Some(result)
        })
    }

    /// Ends the runtime's threads: the ring's server, the handlers one by one, and the service
    /// thread, whose table of descriptors ends with it.
    fn end_threads(&self) {
        thread::set_leaving(true);
        let has_service = thread::has_service();
        let handlers = match self.session.trap {
            Trap::Event => self.session.handlers,
            Trap::Signal => 0,
        };
        let others = handlers + usize::from(has_service);
        await_that(|look| {
            if look % ROUSE_AFTER == 0 && thread::running() > others {
                control::rouse(self);
            }
            thread::running() <= others
        });
        for left in (0..handlers).rev() {
            // Whichever handler answers this fault ends. There is one as long as one is counted.
            self.calibration.rouse();
            await_that(|_| thread::running() <= left + usize::from(has_service));
        }
        end_service();
    }

    fn begin_again(
        &'static self,
        meanwhile: Option<Meanwhile>,
        cpu: usize,
    ) -> Result<(), StartError> {
        if let Some(Meanwhile {
            mut uffd,
            hold,
            opened,
        }) = meanwhile
        {
            let number = *uffd.descriptor() as u32;
            // The service thread has the same file under the same number, in its own table.
            let theirs = uffd.same_elsewhere();
            let resume = || self.core().resume(self, theirs);
            let kept = opened.with(number);
            let resumed = thread::start_service_for(kept.numbers(), resume);
            resumed.map_err(os("starting the service thread"))??;
            opened.close();
            hold.give_up();
        }
        self.start_threads(cpu)
    }
}
