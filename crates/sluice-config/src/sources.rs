//! Where the values of a device's file come from, by the comments that stand before them.

/// What the comments of a file say about the keys behind them.
///
/// A comment is a source if it begins with `source:` or `assumed:`. It counts for the keys that
/// follow up to the next comment or table.
pub(crate) struct Sources {
    /// From which byte of the file on each counts, in order.
    said: Vec<(usize, String)>,
}

impl Sources {
    pub fn new(text: &str) -> Sources {
        let mut said: Vec<(usize, String)> = Vec::new();
        let (mut comment, mut in_comment, mut end) = (String::new(), false, 0);
        for line in text.split_inclusive('\n') {
            end += line.len();
            let line = line.trim();
            let part = line.strip_prefix('#');
            match part {
                Some(part) if in_comment => comment = format!("{comment} {}", part.trim()),
                Some(part) => part.trim().clone_into(&mut comment),
                None if line.starts_with('[') => comment.clear(),
                None => {
                    in_comment = false;
                    continue;
                }
            }
            in_comment = part.is_some();
            said.push((end, comment.clone()));
        }
        Sources { said }
    }

    /// The source of the key at a byte of the file.
    pub fn at(&self, key_at: usize) -> Option<&str> {
        let before = self.said.partition_point(|(from, _)| *from <= key_at);
        let (_, said) = self.said.get(before.checked_sub(1)?)?;
        let is_source = ["source:", "assumed:"]
            .iter()
            .any(|word| said.starts_with(word));
        is_source.then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_counts_up_to_the_next_comment_or_table() {
        let text = "# A device.\n[nand]\n# source: a table,\n# on page 3.\nread = 1\n\nerase = 2\n\
                    # assumed: a guess.\nprogram = 3\n# a remark\ndies = 4\n[ftl]\nx = 5\n";
        let sources = Sources::new(text);
        for (key, source) in [
            ("read", Some("source: a table, on page 3.")),
            ("erase", Some("source: a table, on page 3.")),
            ("program", Some("assumed: a guess.")),
            ("dies", None),
            ("x", None),
        ] {
            let at = text.find(&format!("\n{key} =")).expect("a key of the text") + 1;
            assert_eq!(sources.at(at), source, "{key}");
        }
        assert_eq!(sources.at(0), None);
    }
}
