//! Division by a number that is known early.

/// A divisor of 32-bit numbers, above one.
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    /// 2^64 / divisor, rounded up: exact for every 32-bit number (Lemire, Kaser and Kurz, 2019).
    inverse: u64,
}

impl Divisor {
    pub fn new(divisor: u32) -> Divisor {
        assert!(divisor > 1, "the inverse of 1 does not fit");
        Divisor {
            inverse: u64::MAX / u64::from(divisor) + 1,
        }
    }

    #[inline]
    pub fn divide(self, number: u32) -> u32 {
        ((u128::from(self.inverse) * u128::from(number)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_the_range_divide_exactly() {
        for divisor in [2, 3, 5, 7, 420_864, 1 << 31, u32::MAX - 1, u32::MAX] {
            for number in [0, 1, divisor - 1, divisor, u32::MAX - 1, u32::MAX] {
                assert_eq!(Divisor::new(divisor).divide(number), number / divisor);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_divides_exactly(number: u32, divisor in 2..=u32::MAX, times: u32) {
            prop_assert_eq!(Divisor::new(divisor).divide(number), number / divisor);
            let multiple = times / divisor * divisor;
            prop_assert_eq!(Divisor::new(divisor).divide(multiple), multiple / divisor);
        }
    }
}
