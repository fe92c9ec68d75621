//! Simulated requesters in front of the device model, in virtual time.
