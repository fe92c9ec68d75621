//! How much memory a program can have on a system, and which key bounds it.

use sluice_config::load_system;
use sluice_host::RunLength;
use sluice_simulation::SystemRun;
use sluice_units::{Bytes, Ps};

#[test]
fn the_smaller_of_host_memory_and_device_bounds_a_program_that_is_all_in_the_host() {
    const SCALE: u32 = 64;
    let given = load_system("dram-only").unwrap().get("device.capacity");
    let capacity: Bytes = given.unwrap().parse().unwrap();
    for (memory, key) in [
        (capacity.0 / 2, "host.memory"),
        // One bound for both: the device is the one that is named.
        (capacity.0, "device.capacity"),
        (capacity.0 * 2, "device.capacity"),
    ] {
        let mut system = load_system("dram-only").unwrap();
        system
            .set("host.memory", &Bytes(memory).to_string())
            .unwrap();
        let run = SystemRun {
            name: "dram-only",
            system: &system,
            scale: SCALE,
            workload: "none",
            length: RunLength {
                warmup: 0,
                measured: 1,
                sample_every: Ps::ZERO,
            },
            seed: 1,
        };
        let ready = run.prepare_for(0).unwrap();
        let room = Bytes(memory.min(capacity.0) / u64::from(SCALE));
        assert_eq!(ready.room(), (key, room), "{memory}");
    }
}
