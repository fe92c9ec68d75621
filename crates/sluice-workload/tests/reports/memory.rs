//! Chase, graph, hints and pattern.

use serde_json::{Value, json};

use crate::figures::{Run, close, float, list, number, run};

fn chase(flags: &str, change: &[(&str, Value)]) -> Run {
    let size = match flags.contains("--size") {
        true => "",
        false => "--size 64KiB",
    };
    let run = run(&format!("chase {size} --stride 256 --seed 9 {flags}"));
    let mut params = json!({
        "size_bytes": 64 << 10, "stride_bytes": 256, "order": "sequential", "threads": 1,
        "passes": 4, "write": false, "seed": 9, "batch": false, "bare": false, "revisit": false,
        "small_pages": false, "file": null, "numa_node": null,
    });
    for (key, value) in change {
        params[*key] = value.clone();
    }
    assert_eq!(run.report["params"], params, "{flags}");
    let order = params["order"].as_str().unwrap();
    let threads = &params["threads"];
    let stride = number(&params["stride_bytes"]);
    assert_eq!(
        run.heading,
        format!(
            "chase: {} a thread, stride {stride}B, {order}, {threads} threads, seed 9",
            if size.is_empty() { "2MiB" } else { "64KiB" }
        )
    );
    let checksum = run.report["checksum"].as_str().unwrap();
    assert!(
        checksum.starts_with("0x") && checksum.len() == 18,
        "{checksum}"
    );
    let (source, overhead) = (
        &run.report["timer"]["source"],
        &run.report["timer"]["overhead_ns"],
    );
    assert_eq!(
        run.footer,
        format!(
            "built in {:.3} s; clock {}, {:.1} ns subtracted; {checksum}",
            float(&run.report["build_s"]),
            source.as_str().unwrap(),
            float(overhead)
        )
    );
    assert!(float(&run.report["build_s"]) > 0.0);
    assert_eq!(run.report["mismatches"], 0);
    let mut times: Vec<f64> = run
        .passes()
        .iter()
        .map(|it| float(&it["ns_per_access"]))
        .collect();
    times.sort_by(f64::total_cmp);
    let spread = &run.report["pass_ns"];
    assert_eq!(float(&spread["min"]), times[0]);
    let middle = f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
    close(float(&spread["median"]), middle);
    check_times(&run, number(threads));
    run
}

/// Accesses that are timed one by one take no more than the threads had.
fn check_times(run: &Run, threads: u64) {
    for pass in run.passes() {
        let Some(latency) = pass.get("latency_ns") else {
            continue;
        };
        let all_ns = float(&latency["mean"]) * float(&latency["count"]);
        let had_ns = float(&pass["wall_s"]) * 1e9 * threads as f64;
        assert!(all_ns <= had_ns, "{all_ns} ns in {had_ns}");
    }
}

#[test]
fn a_chase_reports_what_it_was_asked_for() {
    let plain = chase("", &[]);
    assert_eq!(plain.phases(), [("", 256); 4]);
    let several = chase(
        "--random --threads 3 --passes 3 --write --small-pages",
        &[
            ("order", json!("random")),
            ("threads", json!(3)),
            ("passes", json!(3)),
            ("write", json!(true)),
            ("small_pages", json!(true)),
        ],
    );
    assert_eq!(several.phases(), [("", 768); 3]);
    assert_eq!(several.report["latency_ns"]["count"], 3 * 768);
    let uniform = chase(
        "--uniform --passes 2",
        &[("order", json!("uniform")), ("passes", json!(2))],
    );
    assert_eq!(uniform.report["latency_ns"]["count"], 512);
    let batch = chase("--batch", &[("batch", json!(true))]);
    assert!(batch.report["latency_ns"].is_null());
    let bare = chase(
        "--bare --passes 2",
        &[("bare", json!(true)), ("passes", json!(2))],
    );
    assert_eq!(bare.phases(), [("", 1 << 18); 2]);
    let size = 2 * 4096 * 256;
    let again = chase(
        &format!("--revisit --random --size {size} --passes 2"),
        &[
            ("revisit", json!(true)),
            ("order", json!("random")),
            ("size_bytes", json!(size)),
            ("passes", json!(2)),
        ],
    );
    assert_eq!(again.phases(), [("", 8192); 2]);
    assert_eq!(again.passes()[0]["latency_ns"]["count"], 4096);
}

#[test]
fn a_chase_in_a_file_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("buffer");
    let flags = format!("--threads 2 --file {}", file.display());
    chase(&flags, &[("threads", json!(2)), ("file", json!(file))]);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 128 << 10);
}

fn graph(flags: &str, change: &[(&str, Value)]) -> Run {
    let run = run(&format!(
        "graph --scale 9 --edges-per-vertex 5 --seed 7 {flags}"
    ));
    let mut params = json!({
        "scale": 9, "edges_per_vertex": 5, "threads": 1, "seed": 7, "sources": 8, "iterations": 20,
        "skip_validation": false,
    });
    for (key, value) in change {
        params[*key] = value.clone();
    }
    assert_eq!(run.report["params"], params, "{flags}");
    let (sources, iterations) = (number(&params["sources"]), number(&params["iterations"]));
    let validated = params["skip_validation"] == false;
    let (vertices, edges) = (1 << 9, 5 << 9);
    assert_eq!(
        (&run.report["vertices"], &run.report["edges"]),
        (&json!(vertices), &json!(edges))
    );
    assert_eq!(run.report["validated"], validated);
    assert_eq!(run.report["mismatches"], 0);
    // Rows of 8 bytes and ends of 4; a search's three arrays and the levels that check it, of 4;
    // three of 8 and the sums of each 4,096 vertices for ranks.
    let rows = (vertices + 1) * 8 + 2 * edges * 4;
    let search = u64::from(sources > 0) * (3 + u64::from(validated)) * vertices * 4;
    let ranks = u64::from(iterations > 0) * (3 * vertices * 8 + 8);
    let memory = rows + search + ranks;
    assert_eq!(run.report["memory_bytes"], memory);
    assert_eq!(
        run.heading,
        format!(
            "graph: 2^9 vertices, {edges} edges, {:.1} MiB, {} threads, seed 7",
            memory as f64 / 1_048_576.0,
            params["threads"]
        )
    );
    let mut phases = vec![("build", edges)];
    let mut footer = Vec::new();
    if sources > 0 {
        let searches = list(&run.report["bfs"]["searches"]);
        phases.extend(
            searches
                .iter()
                .map(|search| ("bfs", number(&search["edges"]))),
        );
        let mean = float(&run.report["bfs"]["teps_harmonic_mean"]) / 1e6;
        footer.push(format!(
            "bfs: {mean:.2} million edges a second (harmonic mean)"
        ));
    }
    if iterations > 0 {
        phases.push(("pagerank", 2 * edges * iterations));
        let ranks = &run.report["pagerank"];
        let (rate, sum) = (float(&ranks["edges_per_s"]) / 1e6, float(&ranks["sum"]));
        let checksum = ranks["checksum"].as_str().unwrap();
        footer.push(format!(
            "pagerank: {rate:.2} million edges a second; sum {sum:.12}, {checksum}"
        ));
    }
    footer.push(match validated {
        true => "0 answers wrong".to_owned(),
        false => "answers not validated".to_owned(),
    });
    assert_eq!(run.phases(), phases);
    assert_eq!(run.footer, footer.join("\n"));
    run
}

/// Edges a second of searches: of each, and what Graph500 asks of all.
fn check_searches(run: &Run, count: usize) {
    let bfs = &run.report["bfs"];
    let searches = list(&bfs["searches"]);
    assert_eq!(searches.len(), count);
    let mut rates = Vec::new();
    for (search, pass) in searches.iter().zip(&run.passes()[1..]) {
        assert_eq!(search["wall_s"], pass["wall_s"]);
        let rate = float(&search["edges"]) / float(&search["wall_s"]);
        close(float(&search["teps"]), rate);
        rates.push(rate);
        assert!(number(&search["source"]) < 512 && number(&search["reached"]) <= 512);
        assert!(number(&search["depth"]) > 0 && number(&search["depth"]) < 20);
    }
    rates.sort_by(f64::total_cmp);
    close(float(&bfs["teps_min"]), rates[0]);
    close(float(&bfs["teps_max"]), rates[count - 1]);
    let middle = match count % 2 {
        0 => (rates[count / 2 - 1] + rates[count / 2]) / 2.0,
        _ => rates[count / 2],
    };
    close(float(&bfs["teps_median"]), middle);
    let times: f64 = rates.iter().map(|rate| 1.0 / rate).sum();
    close(float(&bfs["teps_harmonic_mean"]), count as f64 / times);
}

#[test]
fn a_graph_reports_its_searches_and_ranks() {
    let all = graph(
        "--threads 2 --sources 5 --iterations 3",
        &[
            ("threads", json!(2)),
            ("sources", json!(5)),
            ("iterations", json!(3)),
        ],
    );
    check_searches(&all, 5);
    let ranks = &all.report["pagerank"];
    assert_eq!(ranks["iterations"], 3);
    let pass = all.passes().last().unwrap();
    close(
        float(&ranks["edges_per_s"]),
        float(&pass["accesses"]) / float(&pass["wall_s"]),
    );
    assert!((float(&ranks["sum"]) - 1.0).abs() < 1e-9);
    assert!(float(&ranks["error"]) < 1e-9);
    check_searches(&graph("--sources 4", &[("sources", json!(4))]), 4);
    let one = graph(
        "--sources 1 --iterations 0",
        &[("sources", json!(1)), ("iterations", json!(0))],
    );
    check_searches(&one, 1);
    assert!(one.report["pagerank"].is_null());
    let unchecked = graph("--skip-validation", &[("skip_validation", json!(true))]);
    check_searches(&unchecked, 8);
    assert!(unchecked.report["pagerank"]["error"].is_null());
    let none = graph(
        "--sources 0 --iterations 3",
        &[("sources", json!(0)), ("iterations", json!(3))],
    );
    assert!(none.report["bfs"].is_null());
    // Ranks settle: an iteration changes less than the one before, by the damping or better.
    let change = |run: &Run| float(&run.report["pagerank"]["change"]);
    let later = graph(
        "--sources 0 --iterations 4",
        &[("sources", json!(0)), ("iterations", json!(4))],
    );
    assert!(change(&none) > 0.0 && change(&later) <= 0.85 * change(&none) * (1.0 + 1e-9));
}

#[test]
fn hints_report_what_was_read() {
    for (case, reads) in [("scan", 40), ("join", 100), ("index", 200), ("pass", 200)] {
        for told in [false, true] {
            let flag = if told { "--told" } else { "" };
            let run = run(&format!(
                "hints {case} --size 160KiB --index 32KiB --rows 100 --seed 4 {flag}"
            ));
            let params = json!({
                "case": case, "told": told, "size_bytes": 160 << 10, "index_bytes": 32 << 10,
                "rows": 100, "seed": 4,
            });
            assert_eq!(run.report["params"], params);
            assert_eq!(run.phases(), [("fill", 48), ("read", reads)]);
            assert_eq!(run.report["mismatches"], 0);
            let said = if told { "told" } else { "not told" };
            assert_eq!(
                run.heading,
                format!("hints: {case}, {said}, table of 160KiB, index of 32KiB")
            );
            assert_eq!(run.footer, "0 pages wrong");
        }
    }
}

fn pattern(threads: u64, seconds: u64, more: &str, file: Value) -> Run {
    let run = run(&format!(
        "pattern --size 64KiB --threads {threads} --seconds {seconds} --seed 3 {more}"
    ));
    let params = json!({
        "size_bytes": 64 << 10, "threads": threads, "seconds": seconds, "seed": 3, "file": file,
    });
    assert_eq!(run.report["params"], params);
    assert_eq!(
        run.heading,
        format!("pattern: 64KiB, {threads} threads, seed 3")
    );
    let figure = |name: &str| number(&run.report[name]);
    assert_eq!(figure("mismatches"), 0);
    assert_eq!(
        run.footer,
        format!(
            "{} words written, {} checked, 0 wrong",
            figure("words_written"),
            figure("words_checked")
        )
    );
    run
}

/// Sixteen pages of 512 words: each thread visits each page once to write and once to check, and
/// between them 256 pages at a time, of which it writes half. A visit is of the thread's own words.
#[test]
fn a_pattern_reports_its_visits() {
    let once = pattern(4, 0, "", Value::Null);
    assert_eq!(once.phases(), [("", 4 * 2 * 16)]);
    assert_eq!(once.report["words_written"], 16 * 512);
    let (threads, own) = (2, 256);
    let run = pattern(threads, 1, "", Value::Null);
    let [(_, visits)] = run.phases()[..] else {
        panic!("one pass");
    };
    let between = visits - threads * 2 * 16;
    assert!(
        between > 0 && between.is_multiple_of(256),
        "{visits} visits"
    );
    assert_eq!(run.report["words_checked"], visits * own);
    let written = number(&run.report["words_written"]) / own - threads * 16;
    let deviation = (between as f64).sqrt() / 2.0;
    let off = (written as f64 - between as f64 / 2.0).abs();
    assert!(
        off <= 5.0 * deviation,
        "{written} of {between} visits write"
    );
    assert!((1.0..10.0).contains(&float(&run.report["wall_s"])));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("buffer");
    let flag = format!("--file {}", path.display());
    pattern(2, 0, &flag, json!(path));
    // What was there before is no zero: the first visits do not check it.
    let again = pattern(2, 0, &flag, json!(path));
    assert_eq!(again.report["words_checked"], 16 * 512);
}
