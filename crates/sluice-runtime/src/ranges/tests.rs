use crate::rig;
use sluice_region::{PAGE, raw_mmap};

/// It would be off the device for ever, however often the program mapped it afresh.
#[test]
fn a_range_that_is_mapped_afresh_is_the_devices_again() {
    let engine = rig::engine(&[]);
    let (first, len) = (rig::page(engine, 1), 2 * PAGE);
    for lpn in 0..4 {
        rig::touch(engine, 1 + lpn, lpn, true);
        rig::store(engine, lpn, 10 + lpn);
    }
    engine.leave_device(first, len);
    assert!(engine.any_off_device(first, len));
    assert_eq!((rig::load(engine, 1), rig::load(engine, 2)), (11, 12));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: pages of the arena, which nobody else uses.
    unsafe { raw_mmap(first, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) }.unwrap();
    engine.rejoin_device(first, len);
    assert!(!engine.any_off_device(first, len));
    for (lpn, value) in [(1, 0), (2, 0)] {
        rig::touch(engine, 10 + lpn, lpn, false);
        assert_eq!(rig::load(engine, lpn), value, "empty");
    }
    assert_eq!(rig::load(engine, 3), 13, "a neighbour");
}
