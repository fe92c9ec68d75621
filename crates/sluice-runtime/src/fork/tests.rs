use crate::host::OFF_DEVICE;
use crate::rig;
use core::ops::Range;

/// The runs that a child registers of eight pages, of which these are off the device.
fn runs(off: &[usize]) -> Vec<Range<usize>> {
    let engine = rig::engine(&[]);
    let mut core = engine.core();
    for at in off {
        core.host.state[*at] |= OFF_DEVICE;
    }
    let mut found = Vec::new();
    let used = [0..3, 4..8].into_iter();
    let each = core.each_run_on_device(0..8, used, |run| {
        found.push(run);
        Ok(())
    });
    each.expect("nothing that fails");
    found
}

/// The kernel refuses an empty range, and with it the child.
#[test]
fn a_child_registers_what_is_on_the_device_and_nothing_that_is_empty() {
    let all = 0..8;
    assert_eq!(runs(&[]), [all]);
    assert_eq!(runs(&[2, 5]), [0..2, 3..5, 6..8]);
    assert_eq!(runs(&[0, 1, 4, 7]), [2..4, 5..7]);
    assert_eq!(runs(&[6, 7]).last(), Some(&(0..6)));
}
