//! A kernel that can begin again.

use super::{Kernel, KernelInfo, KernelOptions};
use sluice_fabric::host::{Instr, Program, Step};
use sluice_units::Bytes;

/// Makes a kernel anew when it is to begin again.
pub struct Again {
    info: &'static KernelInfo,
    options: KernelOptions,
    kernel: Option<Box<dyn Kernel>>,
}

impl Again {
    /// A kernel at its beginning.
    pub fn new(info: &'static KernelInfo, options: KernelOptions) -> Again {
        Again {
            info,
            options,
            kernel: Some((info.make)(&options)),
        }
    }

    /// The kernel as it is now.
    pub fn kernel(&self) -> &dyn Kernel {
        self.kernel.as_deref().expect("only a restart takes it out")
    }

    fn kernel_mut(&mut self) -> &mut dyn Kernel {
        self.kernel
            .as_deref_mut()
            .expect("only a restart takes it out")
    }
}

impl Program for Again {
    fn footprint(&self) -> Bytes {
        self.kernel().footprint()
    }

    fn threads(&self) -> u32 {
        self.kernel().threads()
    }

    fn restart(&mut self) -> bool {
        // The old one goes first: two would need the memory twice.
        self.kernel = None;
        self.kernel = Some((self.info.make)(&self.options));
        true
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        self.kernel_mut().fill(thread, out)
    }
}
