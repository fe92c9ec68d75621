//! What no program should ever see: panics of Sluice.

use super::*;

/// A panic ends the simulation, not the program; the other calls then say so.
#[test]
fn a_panic_does_not_cross() {
    let mut error = null_mut();
    // SAFETY: a live text and place; the simulation is deleted once, at the end.
    unsafe {
        let simulation = sluice_open(c"esf".as_ptr(), 1, &mut error);
        assert!(!simulation.is_null());
        assert_eq!(sluice_advance(simulation, 1000), SLUICE_OK);
        assert_eq!(ask(simulation, 7, |_| panic!("on purpose")), 7);
        let says = CStr::from_ptr(sluice_error(simulation)).to_str();
        assert_eq!(says, Ok("a mistake of Sluice's: it panicked"));
        assert_eq!(sluice_advance(simulation, 2000), SLUICE_FAILED);
        assert_eq!(sluice_send(simulation, 0, 0, false, 0), SLUICE_FAILED);
        assert!(sluice_statistics(simulation).is_null());
        assert_eq!(sluice_next_event(simulation), SLUICE_NO_EVENT);
        sluice_delete(simulation);
        let none = made(&mut error, || panic!("on purpose"));
        assert!(none.is_null() && !error.is_null());
        sluice_free_text(error);
    }
}

unsafe extern "C" fn panics_and_deletes(context: *mut c_void, _: *const Completion) {
    let simulation = context.cast::<Simulation>();
    // SAFETY: the simulation that calls; deleting it from a callback does nothing.
    unsafe {
        ask(simulation, (), |_| panic!("on purpose"));
        sluice_delete(simulation);
    }
}

/// The call that panicked is not the one that moves time, which goes on with the simulation.
#[test]
fn a_callback_cannot_delete_a_simulation_that_a_panic_has_ended() {
    // SAFETY: a live text; the simulation is deleted once, at the end.
    unsafe {
        let simulation = sluice_open(c"esf".as_ptr(), 1, null_mut());
        sluice_call_when_done(simulation, Some(panics_and_deletes), simulation.cast());
        assert_eq!(sluice_advance(simulation, 10_000_000), SLUICE_OK);
        let says = CStr::from_ptr(sluice_error(simulation)).to_str();
        assert_eq!(says, Ok("a mistake of Sluice's: it panicked"));
        sluice_delete(simulation);
    }
}
