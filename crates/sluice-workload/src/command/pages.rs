//! What programs share that fill pages and read them again.

use sluice_streams::BadValue;
use sluice_units::{Bytes, PAGE_BYTES};

use crate::error::Error;
use crate::hist::Histogram;
use crate::report::Pass;

/// Passes whose accesses are not timed one by one: of each its name, its accesses and its time, ns.
pub fn untimed(passes: [(&'static str, (u64, u64)); 2]) -> Vec<Pass> {
    let none = Histogram::new();
    let pass =
        |(n, (name, (accesses, wall_ns)))| Pass::new(n, accesses, wall_ns, &none).named(name);
    (1..).zip(passes).map(pass).collect()
}

/// Refuses a size that is not one of whole pages.
pub fn whole_pages(flag: &'static str, size: u64) -> Result<(), BadValue> {
    if size == 0 || !size.is_multiple_of(PAGE_BYTES) || size > 1 << 46 {
        let expected = format!("whole pages of {}, at most 64TiB", Bytes(PAGE_BYTES));
        return Err(BadValue::new(flag, Bytes(size), expected));
    }
    Ok(())
}

/// Fails if anything that was read was wrong, which `wrong` says.
pub fn all_right(mismatches: u64, wrong: String) -> Result<(), Error> {
    match mismatches {
        0 => Ok(()),
        _ => Err(Error::Mismatch {
            wrong,
            examples: Vec::new(),
        }),
    }
}
