//! A parameter, and lists of them.

use crate::kind::Kind;

/// A parameter as it was declared: what parsers, help and reference are made from.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key: a table and a name, such as `nand.read`.
    pub key: &'static str,
    /// The kind of value, with its unit and range.
    pub kind: Kind,
    /// The value if none is given.
    pub default: &'static str,
    /// What it is, in one line, but for what each name of a choice means.
    pub meaning: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

impl Param {
    /// What it is, and what each name of a choice means, in one line.
    pub fn explained(&self) -> String {
        let choices = self.kind.options().into_iter();
        let choices = choices.filter(|choice| !choice.meaning.is_empty());
        let choices = choices.map(|choice| format!("; {}: {}", choice.name, choice.meaning));
        std::iter::once(self.meaning.to_owned())
            .chain(choices)
            .collect()
    }
}

/// How many parameters some tables have.
pub const fn count(tables: &[&[Param]]) -> usize {
    let (mut count, mut table) = (0, 0);
    while table < tables.len() {
        count += tables[table].len();
        table += 1;
    }
    count
}

/// The tables one after the other. `N` is their [`count`]; anything else does not compile.
pub const fn in_order<const N: usize>(tables: &[&[Param]]) -> [Param; N] {
    const NONE: Param = Param {
        key: "",
        kind: Kind::Size,
        default: "",
        meaning: "",
        source: "",
    };
    assert!(count(tables) == N);
    let mut all = [NONE; N];
    let (mut next, mut table) = (0, 0);
    while table < tables.len() {
        let mut place = 0;
        while place < tables[table].len() {
            all[next] = tables[table][place];
            next += 1;
            place += 1;
        }
        table += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;

    /// A registry says what its own names mean.
    #[test]
    fn choices_with_a_meaning_are_explained() {
        let told = || {
            let meaning = "one with a meaning";
            vec![
                Choice {
                    name: "here",
                    meaning,
                },
                Choice {
                    name: "there",
                    meaning: "",
                },
            ]
        };
        let param = Param {
            key: "a.b",
            kind: Kind::Choice(told),
            default: "here",
            meaning: "Where",
            source: "",
        };
        assert_eq!(param.explained(), "Where; here: one with a meaning");
    }
}
