//! Values in the lines of a session's file.

/// A value as it stands in a line: what is not a printable ASCII character, and the percent sign
/// itself, as its number. A path may have a line break in it, and need not be UTF-8.
pub fn encode(value: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value {
        match byte {
            b' '..=b'~' if *byte != b'%' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

/// The bytes that [`encode`] was given.
pub fn decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let number = behind
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok());
        let number = number.and_then(|two| u8::from_str_radix(two, 16).ok());
        (rest, _) = match number {
            Some(byte) if *first == b'%' => (&behind[2..], bytes.push(byte)),
            _ => (behind, bytes.push(*first)),
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decoded_is_what_was_encoded() {
        let value = b"./a\nlive.seed=8%41\xff";
        assert_eq!(encode(value), "./a%0alive.seed=8%2541%ff");
        assert_eq!(decode(encode(value).as_bytes()), value);
        assert_eq!(decode(b"%4"), b"%4");
    }
}
