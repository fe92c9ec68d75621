//! Mixed and traffic.

use serde_json::{Value, json};

use crate::common::{text, workload};
use crate::figures::{Run, close, float, list, number, run};

#[test]
fn mixed_reports_the_share_of_each_computing_thread() {
    let run = run("mixed --computing 3 --loading 1 --size 64KiB --seconds 1 --seed 5");
    let params = json!({
        "computing": 3, "loading": 1, "size_bytes": 64 << 10, "seconds": 1, "seed": 5,
    });
    assert_eq!(run.report["params"], params);
    assert_eq!(run.heading, "mixed: 3 threads compute, 1 load from 64KiB");
    let [("fill", 16), ("read", loads)] = run.phases()[..] else {
        panic!("{:?}", run.phases());
    };
    assert!(loads > 0);
    assert!((1.0..10.0).contains(&float(&run.passes()[1]["wall_s"])));
    let steps = number(&run.report["steps"]);
    assert!(steps > 0 && steps.is_multiple_of(4096), "{steps} steps");
    let shares = list(&run.report["cpu_share"]);
    assert_eq!(shares.len(), 3);
    for share in shares {
        // Clocks of threads and of time are not read at once.
        assert!(
            (0.0..=1.05).contains(&float(share)) && float(share) > 0.01,
            "{share}"
        );
    }
    // Three of four threads that never wait.
    let of_process = float(&run.report["cpu_of_process"]);
    assert!((0.4..0.95).contains(&of_process), "{of_process}");
    let percent = |share: &Value| format!("{:.1} %", float(share) * 100.0);
    let each: Vec<String> = shares.iter().map(percent).collect();
    assert_eq!(
        run.footer,
        format!(
            "CPU of each computing thread: {}; {:.1} % of the process's; 0 loads wrong",
            each.join(", "),
            of_process * 100.0
        )
    );
    assert_eq!(run.report["mismatches"], 0);
}

fn traffic(flags: &str, change: &[(&str, Value)]) -> Run {
    let run = run(&format!("traffic --size 64KiB --seed 6 {flags}"));
    let mut params = json!({
        "threads": 1, "size_bytes": 64 << 10, "stride_bytes": 64, "random": false,
        "reads_percent": 100, "store": "cached", "pace_ns": 0, "cores": 0, "chase_bytes": 0,
        "passes": 4, "cold": false, "seed": 6, "numa_node": null,
    });
    for (key, value) in change {
        params[*key] = value.clone();
    }
    assert_eq!(run.report["params"], params, "{flags}");
    let of = |key: &str| number(&params[key]);
    let accesses = of("threads") * of("passes") * (of("size_bytes") / of("stride_bytes"));
    // Without threads the dependent loads are all that there is.
    let counted = match of("threads") {
        0 => of("passes") * (of("chase_bytes") / 64),
        _ => accesses,
    };
    assert_eq!(run.phases(), [("", counted)]);
    let (rate, wall_s) = (
        float(&run.report["bytes_per_s"]),
        float(&run.report["wall_s"]),
    );
    close(rate, (64 * accesses) as f64 / wall_s);
    let chase = match of("chase_bytes") {
        0 => "0B".to_owned(),
        bytes => format!("{}KiB", bytes >> 10),
    };
    assert_eq!(
        run.heading,
        format!(
            "traffic: {} threads over 64KiB each, beside dependent loads over {chase}",
            params["threads"]
        )
    );
    assert_eq!(run.footer, format!("{:.3} GB/s", rate / 1e9));
    run
}

#[test]
fn traffic_reports_its_accesses() {
    let plain = traffic("", &[]);
    assert!(plain.report["latency_ns"].is_null());
    traffic(
        "--threads 2 --stride 128 --passes 3 --reads 0 --cold",
        &[
            ("threads", json!(2)),
            ("stride_bytes", json!(128)),
            ("passes", json!(3)),
            ("reads_percent", json!(0)),
            ("cold", json!(true)),
        ],
    );
    // A thread's accesses are a pace apart.
    let paced = traffic(
        "--random --reads 50 --store nontemporal --pace 2us --cores 1",
        &[
            ("random", json!(true)),
            ("reads_percent", json!(50)),
            ("store", json!("nontemporal")),
            ("pace_ns", json!(2_000)),
            ("cores", json!(1)),
        ],
    );
    let wall_s = float(&paced.report["wall_s"]);
    assert!(wall_s >= 4096.0 * 2e-6, "{wall_s}");
    // Dependent loads alone: as many as there are lines, in each pass.
    let alone = traffic(
        "--threads 0 --chase 32KiB --passes 5",
        &[
            ("threads", json!(0)),
            ("chase_bytes", json!(32 << 10)),
            ("passes", json!(5)),
        ],
    );
    assert_eq!(alone.report["latency_ns"]["count"], 5 * 512);
    let beside = traffic("--chase 4KiB", &[("chase_bytes", json!(4 << 10))]);
    assert!(number(&beside.report["latency_ns"]["count"]) > 0);
    for run in [alone, beside] {
        let latency = &run.report["latency_ns"];
        let all_s = float(&latency["mean"]) * float(&latency["count"]) / 1e9;
        // The one that is beside others may have begun before them, and ends after them.
        assert!(
            all_s > 0.0 && all_s < float(&run.report["wall_s"]) + 1.0,
            "{all_s}"
        );
    }
}

#[test]
fn traffic_that_cannot_be_is_refused() {
    let refused = |flags: &str, told: &str| {
        let output = workload(&format!("traffic {flags}"));
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags}: {message}");
        assert!(message.contains(told), "{flags}: {message}");
    };
    for stride in ["0", "32", "96"] {
        refused(
            &format!("--stride {stride}"),
            "is not accepted; expected a positive multiple of 64 bytes",
        );
    }
    let of_stride = "expected a positive multiple of the stride, 128B";
    refused("--stride 128 --size 64", of_stride);
    refused("--stride 128 --size 192", of_stride);
    refused(
        "--chase 100",
        "expected 0, or a multiple of 64 bytes below 256 GiB",
    );
    refused(
        "--chase 256GiB",
        "expected 0, or a multiple of 64 bytes below 256 GiB",
    );
    refused("--threads 0", "expected 1 or more, or with --chase 0");
    refused(
        "--threads 8 --size 1048576TiB --stride 1048576TiB",
        "less than 8 EiB over all threads",
    );
    refused(
        "--threads 17 --size 1048576TiB --stride 1048576TiB",
        "less than 8 EiB over all threads",
    );
    refused(
        "--passes 0",
        "passes: \"0\" is not accepted; expected 1 or more",
    );
    refused("--reads 101", "0..=100");
    refused(
        "--numa-node 4096",
        "numa-node: \"4096\" is not accepted; expected a",
    );
}
