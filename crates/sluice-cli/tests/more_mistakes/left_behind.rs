//! What a command that is refused leaves where its result was to be: what was there before.

use super::{said, sluice};
use std::collections::BTreeMap;
use std::path::Path;

/// Command lines that are refused late: some by what they find out of the program, the trace or the
/// result.
const REFUSED: &[&str] = &[
    "size -- ./nope",
    "size --trace nope",
    "size --trace own.trace --warmup 1M",
    "run -- ./nope",
    "run --simulate -- ./nope",
    "sim --workload zipf:size=64KiB,ops=100 --warmup 1M",
    "sim --trace nope",
    "sim --system base-cssd --workload stream:rounds=1 --scale 256 --warmup 10G",
    "fabric run esf --trace nope",
    "fabric run esf --workload stream:rounds=1 --caches bad",
    "fabric run esf --requests 1 --set requester.pattern=none",
    "curve --on host --size 1000TiB",
    "files --through direct --request 0ns --switch 0ns --write --size 4KiB --copy 1us",
    "vm --demo --attach nope",
];

/// Every file below a folder with its contents, and every folder.
fn all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.display().to_string();
        match path.is_dir() {
            true => {
                found.extend(all(&path));
                found.insert(name, Vec::new());
            }
            false => drop(found.insert(name, std::fs::read(&path).expect("a file"))),
        }
    }
    found
}

/// A folder with the command was left, and with `--force` the earlier result was gone.
#[test]
fn a_refused_command_leaves_what_was_there_before() {
    let folder = tempfile::tempdir().expect("room");
    let own = folder.path();
    std::fs::write(own.join("one.csv"), "1,R,0,64\n").expect("room");
    for words in [
        "trace convert --columns time,op,address,size one.csv own.trace",
        "sim --workload zipf:size=64KiB,ops=100 --out kept",
    ] {
        let made = sluice(own, words);
        assert!(made.status.success(), "{}", said(&made));
    }
    let before = all(own);
    for words in REFUSED {
        let (command, rest) = words.split_once(' ').expect("arguments");
        // An option of `fabric run` stands behind both words.
        let (command, rest) = match rest.strip_prefix("run ") {
            Some(rest) if command == "fabric" => ("fabric run", rest),
            _ => (command, rest),
        };
        for out in ["--out new/one", "--force --out kept"] {
            let line = format!("{command} {out} {rest}");
            let told = sluice(own, &line);
            assert_eq!(told.status.code(), Some(2), "{line}: {}", said(&told));
            assert!(all(own) == before, "{line} left something else");
        }
    }
}
