//! What is counted: does it add up, and is it the same every time?

use crate::command::{SMALL, close, number, object, sim, sluice};
use crate::schema;
use serde_json::Value;

#[test]
fn the_object_agrees_with_itself() {
    let object = object("skybyte-full", &[]);
    let at = |place: &str| number(&object, place);
    assert_eq!(object["kind"], "system");
    assert_eq!(object["config"]["cpu.threads"], "24");
    assert_eq!(
        object["config"]["write_log.capacity"], "1MiB",
        "two of 64 MiB / 128"
    );
    assert_eq!(at("/program/threads"), 24.0);
    assert!(
        (at("/instructions") - 1e6).abs() < 1e4,
        "{}",
        at("/instructions")
    );
    let shares = |place: &str| -> f64 {
        let shares = object.pointer(place).and_then(Value::as_object).unwrap();
        shares.values().filter_map(Value::as_f64).sum()
    };
    close(shares("/bound"), 1.0);
    close(shares("/requests/shares"), 1.0);
    let kinds = ["h_r", "h_w", "s_r_h", "s_r_m", "s_w"];
    let sum: f64 = kinds
        .iter()
        .map(|kind| at(&format!("/requests/{kind}")))
        .sum();
    close(sum, at("/requests/total"));
    let parts = ["host_dram", "protocol", "indexing", "device_dram", "flash"];
    let sum: f64 = parts
        .iter()
        .map(|part| at(&format!("/amat_ns/{part}")))
        .sum();
    close(sum, at("/amat_ns/total"));
    // 4 GHz, 8 cores.
    close(
        at("/ipc"),
        at("/instructions") / (at("/time_s") * 4e9 * 8.0),
    );
    let gb_s = at("/link/bytes_from_device") / at("/time_s") / 1e9;
    close(at("/link/gb_s_from_device"), gb_s);
    let misses = at("/levels/l3/misses") * 1e3 / at("/instructions");
    close(at("/levels/l3/mpki"), misses);
    let counted = |place: &str| -> f64 {
        let pairs = object.pointer(place).and_then(Value::as_array).unwrap();
        pairs.iter().filter_map(|pair| pair[1].as_f64()).sum()
    };
    close(counted("/latency_ns/histogram"), at("/latency_ns/count"));
    close(
        counted("/flash_read_ns/histogram"),
        at("/flash_read_ns/count"),
    );
    let fields = object.as_object().unwrap();
    assert!(!fields.contains_key("wall_s"), "wall time is no result");
}

/// What the host says of moved pages and what the device says are the same pages.
#[test]
fn both_ends_count_the_pages_that_move() {
    let more = [
        "--set",
        "migration.capacity=16MiB",
        "--set",
        "nand.bad_blocks=1%",
    ];
    let object = object("skybyte-full", &more);
    let at = |place: &str| number(&object, place);
    let device = |count: &str| at(&format!("/migration/device/{count}"));
    assert!(device("taken") > 0.0 && device("taken") == at("/migration/promotions"));
    assert_eq!(device("given"), at("/migration/dirty_demotions"));
    assert!(device("taken_dirty") <= device("taken"));
    // A page that comes back goes to the cache as a whole.
    assert_eq!(device("fills"), device("given"));
    assert_eq!(device("programs"), 0.0);
    assert!(at("/flash/factory_bad_blocks") > 0.0);
}

/// The device's counters are of the measured part, as the host's are.
#[test]
fn the_warm_up_is_not_counted() {
    let served = |warmup| {
        let object = object(
            "skybyte-w",
            &["--set", "prefetch.policy=none", "--warmup", warmup],
        );
        let served: f64 = ["cache", "merge", "flash", "write_log"]
            .iter()
            .map(|door| number(&object, &format!("/served/{door}")))
            .sum();
        (served, number(&object, "/requests/total"))
    };
    for warmup in ["0", "2M"] {
        let (served, asked) = served(warmup);
        // Those under way at either end may be on one side of it or the other.
        assert!(
            (served - asked).abs() <= 64.0,
            "{served} of {asked} after {warmup}"
        );
    }
}

#[test]
fn a_run_is_the_same_twice() {
    let run = |seed: &str| {
        let output = sim(
            "skybyte-c",
            &[
                &SMALL[..],
                &["--json", "--set", "os.scheduler=random", "--seed", seed],
            ]
            .concat(),
        );
        assert!(output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.lines().count() == 1 && !said.contains('\u{1b}'),
            "{said}"
        );
        output.stdout
    };
    let first = run("1");
    assert_eq!(first, run("1"));
    let hash = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["hash"].clone();
    assert_ne!(hash(&first), hash(&run("2")));
}

#[test]
fn pages_are_where_the_system_has_them() {
    let shares = |system| {
        let object = object(system, &[]);
        ["h_r", "h_w", "s_r_h", "s_r_m", "s_w"]
            .map(|kind| number(&object, &format!("/requests/shares/{kind}")))
    };
    let [reads, writes, ..] = shares("dram-only");
    close(reads + writes, 1.0);
    let [reads, writes, ..] = shares("base-cssd");
    assert_eq!((reads, writes), (0.0, 0.0));
}

/// SkyByte's Figure 17 counts no lines that are written back where all is in host memory. Without
/// stores that miss as writes, all writes are that.
#[test]
fn demand_and_write_backs_make_up_the_time_of_host_memory() {
    let object = object("dram-only", &[]);
    let at = |place: &str| number(&object, place);
    let (all, demand) = (at("/amat_ns/host_dram"), at("/amat_ns/host_demand"));
    // A row hit takes 27.5 ns, a row conflict 73.75 ns.
    assert!(demand > 27.5 && demand < 2.0 * 73.75, "{demand} ns");
    let written = all * at("/amat_ns/accesses") - demand * at("/requests/h_r");
    assert!(written >= 27.5 * at("/requests/h_w") - 1e-3, "{written} ns");
}

#[test]
fn the_timeline_adds_up() {
    let object = object("skybyte-c", &["--timeline", "10us"]);
    let rows = object["timeline"].as_array().unwrap();
    for (row, ticks) in rows.iter().zip(1..) {
        close(row["t_s"].as_f64().unwrap(), f64::from(ticks) * 1e-5);
    }
    let sum = |field: &str| {
        rows.iter()
            .filter_map(|row| row[field].as_u64())
            .sum::<u64>()
    };
    let all = object["instructions"].as_u64().unwrap();
    // The last stretch is not over.
    assert!(sum("instructions") <= all && sum("instructions") * 10 >= all * 8);
    let switches = object["switches"].as_u64().unwrap();
    assert!(sum("switches") > 0 && sum("switches") <= switches);
}

/// CXL-SSD-Sim Figure 5: one run times each kind of operation, and its answers are checked.
#[test]
fn the_phases_of_a_kernel_are_told_apart() {
    let run = |system: &str| -> Value {
        let spec = "viper:rounds=1,records=700,ops=500";
        let more = ["--scale", "1", "--warmup", "0", "--check", "--json"];
        let arguments = ["sim", "--system", system, "--workload", spec];
        let output = sluice().args(arguments).args(more).output().unwrap();
        assert!(output.status.success());
        schema::checked(&output.stdout)
    };
    let [dram, pmem] = ["cxl-ssd-sim-dram", "cxl-ssd-sim-pmem"].map(run);
    let time = |of: &Value, phase: &str| of["phases"][phase]["time_s"].as_f64().unwrap();
    let names = ["write", "insert", "query", "update", "delete"];
    for name in names {
        assert!(time(&dram, name) < time(&pmem, name), "{name}");
        assert_eq!(pmem["phases"][name]["times"], 1);
    }
    let sum: f64 = names.iter().map(|name| time(&pmem, name)).sum();
    assert!((sum / pmem["time_s"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    // What a pair is written with is waited for: a query sends nothing.
    let writes = |phase: &str| pmem["phases"][phase]["requests"]["s_w"].as_u64().unwrap();
    assert!(writes("query") < writes("update") / 4 && writes("update") >= 500);
}

/// A step retires several instructions. The program was said to have no more of them.
#[test]
fn a_warm_up_that_goes_beyond_the_end_is_followed_by_something() {
    for link in ["link.model=constant", "link.model=protocol"] {
        let words = "--workload srad --scale 128 --warmup 1 --instructions 1 --json --set";
        let words: Vec<&str> = words.split(' ').chain([link]).collect();
        let output = sim("cxl-ssd-sim", &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{link}: {said}");
        let counted = number(&schema::checked(&output.stdout), "/instructions");
        assert!((1.0..1000.0).contains(&counted), "{link}: {counted}");
    }
}
