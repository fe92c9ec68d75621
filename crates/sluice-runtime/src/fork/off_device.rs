//! The child of a fork that cannot open what a device needs, as after `setuid`: it goes on off the
//! device, with all of its memory and nothing of its parent's.

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::engine::state::Core;
use crate::measures::stats::Live;
use crate::process::{descriptors, root};
use crate::session::error::{StartError, os};
use crate::session::{Store, Trap};
use crate::shmem::client as shmem;
use crate::threads::gone::end_service;
use core::sync::atomic::Ordering::*;
use sluice_abi::Counter;

impl Engine {
    /// Whether the kernel serves all memory of this process, whose fork could not have the device.
    pub fn is_off(&self) -> bool {
        crate::calm(|| self.core().host.is_off())
    }

    /// Whether all contents of the device are in this process's memory. What a store in files holds
    /// a child cannot read without the device, and what a persistent one keeps is nobody's then.
    pub(crate) fn can_be_left(&self) -> bool {
        matches!(self.session.store, Store::Memory) && self.desk.is_none()
    }

    /// In the child of a fork, by the thread that forked, on a stack of the runtime's: its own may
    /// be among what comes back.
    pub(crate) fn leave_parents_device(&self) -> Result<(), StartError> {
        end_service();
        // SAFETY: this thread holds the lock.
        unsafe { self.core.get_held() }.go_off(self)?;
        root::give_up();
        descriptors::forget_all_but(None);
        self.go_on_off_device();
        Ok(())
    }

    /// In a child whose memory the kernel serves: gives back what was taken before the fork.
    pub(crate) fn go_on_off_device(&self) {
        self.core.release();
        self.forking.store(0, Release);
        shmem::after_fork_off_device();
    }
}

impl Core {
    /// Goes on off the device, with none of the runtime's threads.
    fn go_off(&mut self, engine: &Engine) -> Result<(), StartError> {
        // First what the kernel may refuse.
        let live = Live::unseen(self.identity_of_child(engine));
        let live = live.map_err(os("memory for a child"))?;
        self.live.block().count_for_child(Counter::ForksOutside);
        self.see_alone(engine, live);
        self.give_up_what_is_open(engine);
        self.give_files_back(engine);
        let left = self.host.leave_all();
        left.map_err(os("giving a child its memory"))?;
        engine.lock_what_comes(false);
        self.forget_hints_of_parent();
        Ok(())
    }

    /// Writes nothing any more where the parent and others look.
    fn see_alone(&mut self, engine: &Engine, live: Live) {
        let parents = core::mem::replace(&mut self.live, live);
        self.live.take_place_of(parents);
        engine.set_block(self.live.block());
        self.host.residency = self.live.residency();
        (self.ring, self.recorder, self.profile) = (None, None, None);
    }

    /// In signal mode the child has its parent's descriptors; in event mode, none.
    fn give_up_what_is_open(&mut self, engine: &Engine) {
        let has_parents = engine.session.trap == Trap::Signal;
        self.host.give_up_descriptors(has_parents);
        match has_parents {
            true => engine.session.hold.give_up(),
            false => engine.session.hold.forget(),
        }
        if let Some(sources) = self.host.sources() {
            sources.forget_leases();
        }
    }

    /// What begins as a file's is the kernel's own mapping from now on.
    fn give_files_back(&mut self, engine: &Engine) {
        while let Some(pages) = self.host.sources().and_then(|sources| sources.any()) {
            self.hand_over(engine.device_time(now_ns()), pages);
        }
    }
}
