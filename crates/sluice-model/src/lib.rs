//! The CXL-SSD device model: a pure function of state, request and time.
