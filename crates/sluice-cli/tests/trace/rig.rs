//! The command, its objects and its refusals; traces to give it.

use crate::schema;
use serde_json::Value;
use sluice_streams::parse_spec;
use sluice_testkit::child;
use sluice_trace::{Access, Header, Kind, Writer};
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

pub fn sluice(words: &[&str]) -> Output {
    let mut command = child::program(env!("CARGO_BIN_EXE_sluice"));
    command.args(words).output().expect("the command starts")
}

/// The object that a command prints.
pub fn object(words: &[&str]) -> Value {
    let told = sluice(words);
    let errors = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(0), "{words:?}: {errors}");
    schema::checked(&told.stdout)
}

/// The one line of a command that cannot do what it is asked.
pub fn refusal(words: &[&str]) -> String {
    let told = sluice(words);
    assert_eq!(told.status.code(), Some(2), "{words:?}");
    let text = String::from_utf8(told.stderr).unwrap();
    assert!(
        text.lines().count() == 1 && told.stdout.is_empty(),
        "{text}"
    );
    text.trim_end().to_owned()
}

pub fn write(path: &Path, accesses: impl Iterator<Item = Access>) {
    let mut writer = Writer::create(path, &Header::new("test")).unwrap();
    accesses.for_each(|access| writer.push(&access).unwrap());
    writer.finish(&[]).unwrap();
}

/// What the threads of a pattern do, in turns, somewhere in memory.
pub fn record(dir: &TempDir, spec: &str) -> PathBuf {
    let path = dir.path().join("pattern.trace");
    let mut streams = parse_spec(spec, 1).unwrap().streams();
    let mut all = Vec::new();
    let mut count = 0;
    while all.len() != count || count == 0 {
        count = all.len();
        for (cpu, stream) in (0..).zip(&mut streams) {
            all.extend(stream.next().map(|access| Access {
                cpu,
                instructions: 5 * count as u64,
                address: 0x7f12_3456_7000 + access.addr,
                size: 8,
                kind: if access.write {
                    Kind::Store
                } else {
                    Kind::Load
                },
            }));
        }
    }
    write(&path, all.into_iter());
    path
}

pub const DEVICE: &[&str] = &[
    "--set",
    "device.capacity=64MiB",
    "--set",
    "cache.capacity=1MiB",
];

/// All figures, without the name of what ran.
pub fn figures(words: &[&str]) -> Value {
    let words = [&["sim", "--json"], DEVICE, words].concat();
    let mut object = object(&words);
    object["workload"] = Value::Null;
    object
}
