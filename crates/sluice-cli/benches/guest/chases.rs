//! One boot: pointer chases through the guest's DAX device, and what they measured there.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a guest runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guest {
    /// QEMU alone, the device an NVDIMM.
    Plain,
    /// The same with Sluice.
    Sluice,
    /// QEMU alone, the device its `cxl-type3`.
    Cxl,
}

/// Figures of the chases of one boot.
#[derive(Debug)]
pub struct Chases {
    /// An access at stride 64 in the order of addresses, ns: 63 of 64 are of the page before.
    pub ordered_ns: f64,
    /// An access at stride 64 within the cache, ns.
    pub lines_ns: f64,
    /// The same at stride 4096: every access is of another page.
    pub pages_ns: f64,
    /// The same with each access timed by itself, the median.
    pub resident_p50_ns: f64,
    /// Median at stride 4096 with twice the cache: each access misses where there is a device.
    pub missing_p50_ns: f64,
}

/// A FIFO of this size keeps [`RESIDENT`] and never hits in [`MISSING`].
const CACHE: &str = "cache.capacity=24MiB";
/// 2,048 pages: at random nearly every access is of another.
const RESIDENT: &str = "8MiB";
const MISSING: &str = "48MiB";
/// The first passes load the device's cache and warm the translator.
const PASSES: usize = 12;

impl Guest {
    pub const ALL: [Guest; 3] = [Guest::Plain, Guest::Sluice, Guest::Cxl];

    /// Boots it and runs the chases.
    pub fn boot(self, dir: &Path, smoke: bool) -> Chases {
        let out = dir.join(format!("{self:?}"));
        let mut sluice = Command::new(env!("CARGO_BIN_EXE_sluice"));
        let attach = if self == Guest::Cxl { "cxl" } else { "dax" };
        sluice.args([
            "vm", "--demo", "--json", "--accel", "tcg", "--attach", attach,
        ]);
        sluice.args(["--set", CACHE, "--set", "nand.read=40us"]);
        // Only reads are timed: the writes of the build must not queue before them.
        sluice.args([
            "--set",
            "nand.program=0ns",
            "--guest-command",
            &script(smoke),
        ]);
        if self != Guest::Sluice {
            sluice.arg("--qemu").arg(qemu_alone(dir));
        }
        let _ = std::fs::remove_dir_all(&out);
        sluice.arg("--out").arg(&out).stdout(Stdio::piped());
        let ended = sluice.output().expect("sluice");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{self:?}: {said}");
        let traps = number(&last_line(&ended.stdout), "/workload/traps");
        assert_eq!(
            traps > 0.0,
            self == Guest::Sluice,
            "{self:?}: {traps} traps"
        );
        let said = std::fs::read_to_string(out.join("guest.out")).expect("what it said");
        let chases: Vec<Value> = said
            .lines()
            .map(|line| serde_json::from_str(line).expect("a chase's object"))
            .collect();
        let [ordered, lines, pages, resident, missing] = &chases[..] else {
            panic!("not five chases: {said}");
        };
        Chases {
            ordered_ns: best_pass(ordered),
            lines_ns: best_pass(lines),
            pages_ns: best_pass(pages),
            resident_p50_ns: last_median(resident),
            missing_p50_ns: last_median(missing),
        }
    }
}

/// Five chases. All but the first are random, as the host's own prefetchers follow addresses.
fn script(smoke: bool) -> String {
    let passes = if smoke { 2 } else { PASSES };
    let missing = if smoke { 1 } else { 2 };
    let chase = "sluice workload chase --json --file $DEVICE";
    let resident = format!("{chase} --size {RESIDENT} --passes {passes}");
    format!(
        "{resident} --batch --stride 64\n{resident} --batch --random --stride 64\n\
         {resident} --batch --random --stride 4096\n{resident} --random --stride 4096\n\
         {chase} --size {MISSING} --passes {missing} --random --stride 4096"
    )
}

/// A QEMU that the preload library does not reach.
fn qemu_alone(dir: &Path) -> PathBuf {
    let path = dir.join("qemu-alone");
    if !path.exists() {
        let script = "#!/bin/sh\nunset LD_PRELOAD\nexec qemu-system-x86_64 \"$@\"\n";
        std::fs::write(&path, script).expect("a script");
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, may_run).expect("an executable script");
    }
    path
}

fn last_line(text: &[u8]) -> Value {
    let text = String::from_utf8_lossy(text);
    serde_json::from_str(text.lines().last().unwrap_or_default()).expect("an object")
}

fn number(of: &Value, place: &str) -> f64 {
    let found = of.pointer(place).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {place} in {of}"))
}

/// Time of an access in the shortest of the later passes: what others take from it is left out.
fn best_pass(chase: &Value) -> f64 {
    let passes = chase["passes"].as_array().expect("passes");
    let later = passes[passes.len() / 2..].iter();
    later
        .map(|pass| number(pass, "/ns_per_access"))
        .fold(f64::MAX, f64::min)
}

fn last_median(chase: &Value) -> f64 {
    let last = chase["passes"].as_array().and_then(|passes| passes.last());
    number(last.expect("passes"), "/latency_ns/p50")
}
