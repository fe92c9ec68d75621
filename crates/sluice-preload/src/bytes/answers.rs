//! A system call's result as the C library returns it.

use crate::bytes::buffers::set_errno;
use libc::{c_int, c_long};

/// What it returns for success or an error.
pub fn status(result: Result<(), i32>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}

/// What it returns for a value or an error.
pub fn answer(result: Result<usize, i32>) -> c_long {
    match result {
        Ok(value) => value as c_long,
        Err(errno) => {
            set_errno(errno);
            -1
        }
    }
}
