//! Faults that no page of the device can answer.

use crate::host::{Backing, Host, OFF_DEVICE};
use sluice_region::{Fill, PAGE, read_page};

/// Why a page of a file cannot be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// The file ends before it.
    End,
    /// Its file system has no room for it.
    Full,
}

impl Host {
    /// Whether faults at an address are served although no page of the device is there.
    pub fn is_own(&self, addr: usize) -> bool {
        match &self.backing {
            Backing::Private(b) => b.is_limbo(addr),
            Backing::Shared(_) => false,
        }
    }

    /// A page could not be mapped: its next fault is looked at more closely.
    pub fn not_mapped(&mut self, addr: usize) {
        self.unmappable = addr & !(PAGE - 1);
    }

    /// Why a page of the device's file cannot be there, if it could not be mapped the last time and
    /// still cannot.
    pub fn obstacle(&mut self, addr: usize) -> Option<Obstacle> {
        let page = addr & !(PAGE - 1);
        if self.unmappable != page {
            return None;
        }
        self.unmappable = 0;
        let mapped = match &self.backing {
            Backing::Shared(b) => b.map(&self.uffd, page, Fill::NOTICED),
            Backing::Private(b) => {
                let lpn = b.lpn(page)?;
                if self.state[lpn as usize] & OFF_DEVICE != 0 {
                    // It may have left the device while several threads waited for it, and is
                    // there. Behind the end of a file that the kernel maps it is not.
                    let is_there = read_page(b.sources.scratch(), page).is_ok();
                    return (!is_there).then_some(Obstacle::End);
                }
                // Memory of the program's own has no end; only files have one.
                let view = b.sources.view_of(lpn)?;
                self.uffd.copy_page(page, view, Fill::NOTICED)
            }
        };
        match mapped {
            Err(libc::EFAULT | libc::EINVAL) => Some(Obstacle::End),
            Err(libc::ENOMEM | libc::ENOSPC) => Some(Obstacle::Full),
            _ => None,
        }
    }

    /// From now on the kernel answers faults on a page, as it would without a device.
    pub fn leave_to_kernel(&self, addr: usize) {
        // What is not registered any more needs nothing.
        let _ = self.uffd.unregister(addr & !(PAGE - 1), PAGE);
        self.wake(addr);
    }

    /// Maps zeros at a page that is registered and not the device's. Where that cannot be, its
    /// faults are the kernel's business from now on.
    pub fn map_zeros(&self, page: usize) {
        let fill = Fill {
            protect: false,
            wake: true,
        };
        let mapped = match &self.backing {
            Backing::Private(b) => b.map_zeros(&self.uffd, page),
            Backing::Shared(b) => b.map(&self.uffd, page, fill),
        };
        match mapped {
            Ok(()) => {}
            Err(libc::EEXIST) => self.wake(page),
            Err(_) => self.leave_to_kernel(page),
        }
    }
}
