//! Limits of memory that a program sets itself: it may have what it could have without a device,
//! and its threads, children and other programs, too.

use crate::abuse::{all_well, fault, small, within_limit};
use crate::build::helper;
use crate::sluice::TRAPS;

/// The kernel counts the device's address space: no thread could start, and no child.
#[test]
fn a_program_may_lower_its_limits_of_memory() {
    let parts = ["unprivileged as", "unprivileged data", "races"];
    all_well(helper!("limits.c"), &parts);
}

/// All that it asked for it got from the device.
#[test]
fn beyond_its_limits_there_is_no_memory() {
    all_well(helper!("limits.c"), &["bounded as", "bounded data"]);
}

#[test]
fn limits_are_told_and_refused_as_without_a_device() {
    all_well(helper!("limits.c"), &["answers as", "answers data"]);
}

/// The limits with room for the device are nobody else's.
#[test]
fn other_programs_get_the_limits_that_were_set() {
    all_well(helper!("limits.c"), &["others as", "others data"]);
}

#[test]
fn a_shells_limits_are_its_programs() {
    let script = "f() { python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_AS))'
}; ulimit -v 900000; f; (ulimit -Sv 500000; f; ulimit -v); f; sh -c 'ulimit -v 600000; \
                  exec sh -c \"ulimit -v; ulimit -Hv\"'; ulimit -v; echo well";
    let all = "(921600000, 921600000)\n(512000000, 921600000)\n500000\n(921600000, 921600000)\n\
               600000\n600000\n900000\nwell\n";
    for shell in ["bash", "dash"] {
        for trap in TRAPS {
            let out = within_limit(&mut small(trap).prepare([shell, "-c", script]));
            assert_eq!(fault(&out), None, "{shell}, {trap}: {out:#?}");
            assert_eq!(out.own_stdout(), all, "{shell}, {trap}: {out:#?}");
        }
    }
}

/// What may raise its limit has the device, and sees the limit.
#[test]
fn a_program_under_a_soft_limit_is_on_the_device() {
    let script = "(ulimit -Sv 500000; seq 3 | tail -1; exec sh -c 'ulimit -v; echo well')";
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare(["sh", "-c", script]));
        assert_eq!(fault(&out), None, "{trap}: {out:#?}");
        assert_eq!(out.own_stdout(), "3\n500000\nwell\n", "{trap}: {out:#?}");
        assert_eq!(out.number("/host/programs_outside"), 0, "{trap}: {out:#?}");
    }
}
