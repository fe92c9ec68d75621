//! Text of others, to be shown on a terminal.

use std::borrow::Cow;

/// The text with what would move the cursor, begin a line or turn the direction of writing spelled
/// out, as Rust writes it. A program can have any name.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unseen(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Control characters, separators of lines, and marks and overrides of direction.
fn is_unseen(c: char) -> bool {
    let is_turning = matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    c.is_control() || is_turning || matches!(c, '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_spelled_out() {
        assert_eq!(printable("a b äöü → \\n"), "a b äöü → \\n");
        assert_eq!(printable("a\nb\x1b[2Jc"), "a\\nb\\u{1b}[2Jc");
        assert_eq!(printable("\u{9b}31m\u{202e}x"), "\\u{9b}31m\\u{202e}x");
        assert_eq!(printable("\r\t\u{7f}"), "\\r\\t\\u{7f}");
    }
}
