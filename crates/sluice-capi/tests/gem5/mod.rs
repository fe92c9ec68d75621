//! The adapter for gem5 (`examples/gem5`) with a stand-in for gem5. Unchecked: gem5 itself.

use crate::building::{build_with, root, text};
use serde_json::Value;
use sluice_testkit::child;
use std::path::Path;

/// Headers of gem5 that the adapter includes.
const HEADERS: [&str; 6] = [
    "base/output.hh",
    "mem/abstract_mem.hh",
    "mem/qport.hh",
    "params/SluiceMemory.hh",
    "sim/core.hh",
    "sim/system.hh",
];

/// Responses go when the fabric says, a port that is refused sends again, and data is right.
#[test]
fn gem5s_requests_take_the_fabrics_time() {
    let folder = tempfile::tempdir().unwrap();
    let standin = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gem5/standin");
    for header in HEADERS {
        let file = folder.path().join(header);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "#include \"gem5.hh\"\n").unwrap();
    }
    let gem5 = root().join("examples/gem5");
    let program = folder.path().join("drives");
    let include = |path: &Path| format!("-I{}", path.display());
    let includes = [include(folder.path()), include(&standin), include(&gem5)];
    let sources = [
        standin.join("gem5_drives.cc"),
        gem5.join("sluice_memory.cc"),
    ];
    build_with("c++", "-std=c++17", &includes, &sources, &program);

    let mut command = child::program(&program);
    command
        .current_dir(folder.path())
        .arg(gem5.join("ssd.toml"));
    let output = command.output().expect("a program");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let due = "draining 1\ndrained 1 retries 1\nwrong 0 atomic 123 functional 77\nwrong 0\n";
    assert_eq!(text(&output.stdout), due);
    // The whole run, up to 1 s, and after a reset 2 ms more.
    for (file, reads, writes, time_s) in
        [("whole.json", 133, 67, 1.0), ("memory.json", 0, 0, 0.002)]
    {
        let told = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(
            (&told["reads"], &told["writes"], &told["time_s"]),
            (&reads.into(), &writes.into(), &time_s.into()),
            "{file}"
        );
    }
}
