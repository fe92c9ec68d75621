//! What traps and loads cost on this host. A session's first process measures it; the others find
//! it in the session's directory, for a measurement takes longer than most programs that a script
//! starts.

use crate::measures::hit::hit_ns;
use sluice_abi::COSTS_FILE;
use sluice_region::{check_trusted, create_private, open_regular};
use std::io::{Read, Write};
use std::path::Path;

/// A cost above this was not measured: somebody else wrote the file.
const COST_MAX_NS: u64 = 1_000_000;
/// No text of ours is longer.
const TEXT_MAX: u64 = 64;

/// What this host adds to the model's times, or has in place of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Cost {
    /// From the access to the handler's first look at the clock, ns.
    pub entry_ns: u64,
    /// From the handler's last act to the program's next instruction, ns.
    pub exit_ns: u64,
    /// A load of a mapped page from memory, ns; 0 where that is unknown.
    pub hit_ns: u64,
}

impl Cost {
    /// The costs that the session knows.
    pub fn of_session(dir: &Path) -> Option<Cost> {
        let file = open_regular(&dir.join(COSTS_FILE), false, None).ok()?;
        check_trusted(&file).ok()?;
        let mut text = String::new();
        file.take(TEXT_MAX).read_to_string(&mut text).ok()?;
        Cost::parse(&text)
    }

    /// The costs of a trap that were just measured, and of a load, left for the session's other
    /// processes.
    pub fn tell(entry_ns: u64, exit_ns: u64, dir: &Path) -> Cost {
        let cost = Cost {
            entry_ns,
            exit_ns,
            hit_ns: hit_ns().unwrap_or(0),
        };
        // Another process may have been faster, and one that finds no file measures for itself.
        if let Ok(mut file) = create_private(&dir.join(COSTS_FILE)) {
            let _ = file.write_all(cost.to_text().as_bytes());
        }
        cost
    }

    /// One line. Its end says that all of it was written.
    fn to_text(self) -> String {
        format!("{} {} {}\n", self.entry_ns, self.exit_ns, self.hit_ns)
    }

    fn parse(text: &str) -> Option<Cost> {
        let number = |part: &str| part.parse().ok().filter(|ns| *ns <= COST_MAX_NS);
        let parts: Option<Vec<u64>> = text.strip_suffix('\n')?.split(' ').map(number).collect();
        let [entry_ns, exit_ns, hit_ns] = parts?.try_into().ok()?;
        Some(Cost {
            entry_ns,
            exit_ns,
            hit_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const COST: Cost = Cost {
        entry_ns: 2_345,
        exit_ns: 678,
        hit_ns: 91,
    };

    #[test]
    fn a_line_that_is_not_whole_says_nothing() {
        let text = COST.to_text();
        assert_eq!(Cost::parse(&text), Some(COST));
        for len in 0..text.len() {
            assert_eq!(Cost::parse(&text[..len]), None, "{:?}", &text[..len]);
        }
        for text in [
            "1 2\n",
            "1 2 3 4\n",
            "1 2 1000001\n",
            "1 -2 3\n",
            "1 2 3\n\n",
        ] {
            assert_eq!(Cost::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn one_process_measures_and_the_others_read() {
        let dir = std::env::temp_dir().join(format!("sluice-costs-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("room");
        assert_eq!(Cost::of_session(&dir), None);
        let told = Cost::tell(2_345, 678, &dir);
        assert_eq!((told.entry_ns, told.exit_ns), (2_345, 678));
        assert_eq!(Cost::of_session(&dir), Some(told));
        Cost::tell(1, 1, &dir);
        assert_eq!(Cost::of_session(&dir), Some(told), "the first one stays");
        let others = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(dir.join(COSTS_FILE), others).expect("our own");
        assert_eq!(Cost::of_session(&dir), None, "anybody may have written it");
        std::fs::remove_dir_all(&dir).expect("our own");
    }
}
