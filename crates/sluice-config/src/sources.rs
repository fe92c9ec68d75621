//! Where the values of a device's file come from, by the comments that stand before them.

use std::collections::BTreeMap;

/// The source of each key of a file: the comment before it, which also counts for the keys that
/// follow up to the next comment or table.
///
/// A comment is a source if it begins with `source:` or `assumed:`.
pub(crate) fn sources(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (mut table, mut source, mut in_comment) = (String::new(), String::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            if in_comment {
                source += " ";
            } else {
                source.clear();
            }
            source += comment.trim();
            in_comment = true;
            continue;
        }
        in_comment = false;
        if let Some(header) = line.strip_prefix('[') {
            table = format!("{}.", header.trim_end_matches(']').trim());
            source.clear();
        } else if let Some((key, _)) = line.split_once('=')
            && (source.starts_with("source:") || source.starts_with("assumed:"))
        {
            found.insert(format!("{table}{}", key.trim()), source.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_counts_up_to_the_next_comment_or_table() {
        let text = "# A device.\n[nand]\n# source: a table,\n# on page 3.\nread = 1\n\nerase = 2\n\
                    # assumed: a guess.\nprogram = 3\n# a remark\ndies = 4\n[ftl]\nx = 5\n";
        let found: Vec<(String, String)> = sources(text).into_iter().collect();
        let expected = [
            ("nand.erase", "source: a table, on page 3."),
            ("nand.program", "assumed: a guess."),
            ("nand.read", "source: a table, on page 3."),
        ];
        let expected = expected.map(|(key, source)| (key.to_owned(), source.to_owned()));
        assert_eq!(found, expected);
    }
}
