//! Oracles, generators and the parity harness used by the tests.
