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

/// Refuses a number above the most there may be.
pub fn at_most(flag: &'static str, value: u64, most: u64) -> Result<(), BadValue> {
    if value > most {
        let expected = format!("a number from 0 to {most}");
        return Err(BadValue::new(flag, value, expected));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_of_whole_pages_up_to_64_tib() {
        let most = 64 << 40;
        for size in [PAGE_BYTES, 3 * PAGE_BYTES, most - PAGE_BYTES, most] {
            assert!(whole_pages("--size", size).is_ok(), "{size}");
        }
        for size in [
            0,
            1,
            PAGE_BYTES - 1,
            PAGE_BYTES + 64,
            most + PAGE_BYTES,
            2 * most,
        ] {
            let told = whole_pages("--size", size).unwrap_err().to_string();
            let says = "whole pages of 4KiB, at most 64TiB";
            assert!(told.contains("--size") && told.contains(says), "{told}");
        }
    }

    #[test]
    fn a_number_is_from_0_up_to_its_most() {
        for value in [0, 1, 6, 7] {
            assert!(at_most("--sources", value, 7).is_ok(), "{value}");
        }
        for value in [8, 9, u64::MAX] {
            let told = at_most("--sources", value, 7).unwrap_err().to_string();
            assert!(
                told.contains("--sources") && told.contains("a number from 0 to 7"),
                "{told}"
            );
        }
    }
}
