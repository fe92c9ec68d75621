//! The control ring in the guest: shared memory on its PCI bus, for which it needs no driver.

use sluice_abi::{GUEST_RING_LINK, RING_BYTES, VIEW_LINK, view_bytes};
use sluice_model::DeviceConfig;
use sluice_units::Ps;
use std::path::Path;
use std::process::Command;

/// How often the ring's server looks by itself: a guest cannot wake it.
pub const POLL: Ps = Ps::from_ms(5);

/// Adds the guest's ring and, read-only, statistics and residency map of QEMU's own process. The
/// preload library makes both files before QEMU's `main`.
pub fn add(command: &mut Command, session: &Path, config: &DeviceConfig) {
    // The bus is named: left to itself QEMU may choose CXL's, which takes only bridges.
    let view = format!("size={},readonly=on", view_bytes(config.pages.into()));
    let ring = format!("size={RING_BYTES}");
    for (name, rest) in [(GUEST_RING_LINK, ring), (VIEW_LINK, view)] {
        let path = session.join(name).display().to_string();
        let id = format!("sluice-{name}");
        let memory = format!("memory-backend-file,id={id},mem-path={path},share=on,{rest}");
        command.args([
            "-object",
            &memory,
            "-device",
            &format!("ivshmem-plain,memdev={id},bus=pcie.0"),
        ]);
    }
}
