//! Numbers as bytes: seven bits a byte, the lowest first, the highest bit set on all but the last.

use crate::Error;

/// Most bytes of a number.
pub(crate) const NUMBER_BYTES_MAX: usize = 10;

/// Appends a number.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    let mut bytes = [0; NUMBER_BYTES_MAX];
    let mut length = 0;
    while value >= 0x80 {
        bytes[length] = value as u8 | 0x80;
        length += 1;
        value >>= 7;
    }
    bytes[length] = value as u8;
    out.extend_from_slice(&bytes[..=length]);
}

/// A difference as a number that is small when the difference is, of either sign.
#[inline]
pub(crate) fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// The difference of which `zigzag` made this number.
#[inline]
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Takes numbers and bytes from the beginning of a column.
pub(crate) struct Column<'a> {
    bytes: &'a [u8],
    /// What an error is called by.
    name: &'static str,
    /// Where its block begins in the file.
    block: u64,
}

impl<'a> Column<'a> {
    pub fn new(bytes: &'a [u8], name: &'static str, block: u64) -> Column<'a> {
        Column { bytes, name, block }
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Error> {
        let (&first, rest) = self.bytes.split_first().ok_or_else(|| self.short())?;
        self.bytes = rest;
        Ok(first)
    }

    #[inline]
    pub fn number(&mut self) -> Result<u64, Error> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        self.long_number(first)
    }

    fn long_number(&mut self, first: u8) -> Result<u64, Error> {
        let mut value = u64::from(first & 0x7f);
        for shift in (7..70).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.wrong("a number of more than 64 bits"))
    }

    /// All bytes must have been taken.
    pub fn end(&self) -> Result<(), Error> {
        match self.bytes {
            [] => Ok(()),
            rest => Err(self.wrong(&format!("{} bytes too many", rest.len()))),
        }
    }

    #[cold]
    fn short(&self) -> Error {
        self.wrong("it ends too early")
    }

    #[cold]
    pub fn wrong(&self, what: &str) -> Error {
        Error::damaged(self.block, format!("column \"{}\": {what}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(256)))]
        #[test]
        fn numbers_come_back(value: u64, shift in 0..64u32, difference: i64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            prop_assert_eq!(bytes.len(), (64 - value.leading_zeros()).max(1).div_ceil(7) as usize);
            let mut column = Column::new(&bytes, "test", 0);
            prop_assert_eq!(column.number().unwrap(), value);
            prop_assert!(column.end().is_ok());
            prop_assert_eq!(unzigzag(zigzag(difference)), difference);
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let mut eleven = vec![0xff; 10];
        eleven.push(0);
        for bytes in [&[][..], &[0x80], &eleven, &[0xff, 0xff, 0xff]] {
            assert!(Column::new(bytes, "test", 0).number().is_err(), "{bytes:?}");
        }
        // The tenth byte has room for one bit.
        let mut most = vec![0xff; 9];
        most.push(1);
        assert_eq!(Column::new(&most, "test", 0).number().unwrap(), u64::MAX);
        most[9] = 2;
        assert!(Column::new(&most, "test", 0).number().is_err());
    }
}
