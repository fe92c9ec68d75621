//! What a stranger asks in the first hour.

use crate::rig::{DEVICE, figures, object, record, refusal, sluice};
use tempfile::TempDir;

#[test]
fn one_command_tells_of_caches_of_all_sizes() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "zipf:size=2MiB,ops=30000");
    let path = path.to_str().unwrap();
    let sizes = "64KiB,256KiB,1MiB";
    let words = [
        "size",
        "--json",
        "--sizes",
        sizes,
        "--policies",
        "lru,s3fifo",
        "--trace",
        path,
    ];
    let told = object(&[&words[..], DEVICE].concat());
    let info = object(&["trace", "info", "--json", "--reuse", path]);
    let known = &info["reuse"]["lru"];
    for point in told["sizes"].as_array().unwrap() {
        let bytes = point["cache_bytes"].as_u64().unwrap();
        let of_all = known.as_array().unwrap().iter();
        let mut same = of_all.filter(|of| of["pages"].as_u64() == Some(bytes / 4096));
        let same = same.next().unwrap();
        let misses = point["policies"]["lru"]["misses"].as_u64().unwrap();
        let first = told["first_accesses"].as_u64().unwrap();
        assert_eq!(same["misses"].as_u64().unwrap(), misses + first);
        // With its own policy the device takes as long as when it is asked alone.
        let cache = format!("cache.capacity={bytes}B");
        let alone = figures(&["--trace", path, "--set", &cache]);
        assert_eq!(point["run_time_s"], alone["sim_time_s"]);
        assert!(point["policies"]["s3fifo"]["hit_ratio"].as_f64() > Some(0.0));
    }
    for (more, said) in [
        (&["--policies", "mru2"][..], "fifo, "),
        (&["--target-hit-ratio", "120%"], "at most 100%"),
        (&["--warmup", "30001"], "the trace has 30000 accesses"),
        (&["--sample", "64"], "cannot be used with"),
    ] {
        let words = [&["size", "--trace", path], more].concat();
        let refused = sluice(&words);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(
            refused.status.code() == Some(2) && text.contains(said),
            "{text}"
        );
    }
}

/// What LRU needs was left out beside others, and run times seemed to be of the policy beside them.
#[test]
fn every_policy_that_was_asked_for_is_in_the_answer() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "zipf:size=2MiB,ops=3000");
    let words = ["size", "--trace", path.to_str().unwrap()];
    let said = |more: &[&str]| {
        let told = sluice(&[&words[..], DEVICE, more].concat());
        String::from_utf8(told.stdout).unwrap()
    };
    let own = "run times are under the device's own policy, fifo (cache.policy)\n";
    for (policies, named, has_own) in [
        (None, vec!["(fifo)"], false),
        (Some("fifo"), vec!["(fifo)"], false),
        (Some("lru,s3fifo"), vec!["(lru)", "(s3fifo)"], true),
        (Some("fifo,lru"), vec!["(lru)", "(fifo)"], true),
        (Some("lru"), vec!["(lru)"], true),
    ] {
        let given = policies.map(|names| ["--policies", names]);
        let told = said(given.as_ref().map_or(&[][..], |given| given));
        let answer = told.lines().next().unwrap();
        assert!(named.iter().all(|name| answer.contains(name)), "{told}");
        assert_eq!(answer.matches('(').count(), named.len(), "{told}");
        assert_eq!(told.contains(own), has_own, "{told}");
    }
}

/// Sets count in the run time, not in the hits.
#[test]
fn sets_that_the_hits_do_not_have_are_said() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, "zipf:size=2MiB,ops=3000");
    let words = ["size", "--trace", path.to_str().unwrap()];
    let said = |more: &[&str]| {
        let told = sluice(&[&words[..], DEVICE, more].concat());
        assert_eq!(told.status.code(), Some(0));
        String::from_utf8(told.stderr).unwrap()
    };
    let sets = said(&["--set", "cache.ways=4"]);
    assert!(
        sets.contains("a page may be anywhere; cache.ways=4 counts in run times only"),
        "{sets}"
    );
    assert_eq!(
        said(&["--set", "cache.ways=256"]),
        "",
        "as many as the cache has"
    );
}

/// A random walk hits as often as the cache has its pages, once the cache is full.
#[test]
fn first_misses_and_what_warms_the_cache_are_counted_apart() {
    let walk = "uniform:size=8MiB,stride=4096,ops=0.1M";
    let sim = |more: &[&str]| {
        let set = [
            "--set",
            "cache.capacity=4M",
            "--set",
            "device.capacity=64MB",
        ];
        object(&[&["sim", "--json", "--workload", walk][..], &set, more].concat())
    };
    let (all, warm) = (sim(&[]), sim(&["--warmup", "40k"]));
    assert_eq!(all["cache"]["first_misses"], 2048);
    assert_eq!(warm["cache"]["first_misses"], 0);
    assert_eq!(
        (&warm["accesses"], &warm["warmup_accesses"]),
        (&60_000.into(), &40_000.into())
    );
    for (ratio, tolerance) in [
        (&warm["cache"]["hit_ratio"], 0.005),
        (&warm["cache"]["reuse_hit_ratio"], 0.005),
        (&all["cache"]["reuse_hit_ratio"], 0.03),
    ] {
        assert!((ratio.as_f64().unwrap() - 0.5).abs() < tolerance, "{ratio}");
    }
    assert!(
        all["cache"]["hit_ratio"].as_f64() < Some(0.5),
        "first misses are misses"
    );
    let passes = "chase:size=1MiB,stride=4096,passes=2";
    let after = |more: &[&str]| {
        object(
            &[
                &["sim", "--json", "--workload", passes, "--warmup", "1pass"],
                more,
            ]
            .concat(),
        )
    };
    assert_eq!(after(&[])["cache"]["misses"], 0);
    for (words, said) in [
        (
            &["--workload", walk, "--warmup", "100k"][..],
            "no more accesses than that",
        ),
        (
            &["--workload", passes, "--warmup", "18014398509481984pass"],
            "\"18014398509481984pass\"",
        ),
        (
            &["--workload", walk, "--warmup", "1pass"],
            "expected accesses",
        ),
        (
            &["--workload", passes, "--warmup", "9", "--bound"],
            "that of all accesses, those before",
        ),
        (&[], "give --workload SPEC or --trace FILE"),
    ] {
        let refused = refusal(&[&["sim"], words].concat());
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_cache_that_nothing_left_is_pointed_out() {
    let stderr = |cache: &str| {
        let set = format!("cache.capacity={cache}");
        let told = sluice(&["sim", "--workload", "stream:size=1MiB", "--set", &set]);
        String::from_utf8(told.stderr).unwrap()
    };
    let said = stderr("2MiB");
    assert!(
        said.contains("nothing left its 2 MiB (cache.capacity)"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
    assert_eq!(stderr("512KiB"), "");
}

#[test]
fn columns_of_a_users_own_are_a_trace() {
    let dir = TempDir::new().unwrap();
    let (csv, trace) = (dir.path().join("x.csv"), dir.path().join("x.trace"));
    let text = "when,rw,where,bytes,why\n1.5,R,0x1000,4096,a\n2.5,w,8192,8192,b\n";
    std::fs::write(&csv, text).unwrap();
    let (csv, trace) = (csv.to_str().unwrap(), trace.to_str().unwrap());
    let refused = refusal(&["sim", "--trace", csv]);
    let how = format!("`sluice trace convert {csv} {trace}` makes one of it");
    assert!(refused.ends_with(&how), "{refused}");
    let refused = refusal(&["trace", "convert", csv, trace]);
    assert!(refused.contains("5 fields; expected the 7 of MSR Cambridge (Timestamp,"));
    let columns = ["--from", "csv", "--columns", "time_s,op,address,size,-"];
    let told = object(&[&["trace", "convert", "--json", csv, trace][..], &columns].concat());
    assert_eq!(
        (&told["accesses"], &told["from"]),
        (&3.into(), &"csv".into())
    );
    let info = object(&["trace", "info", "--json", trace]);
    assert_eq!((&info["loads"], &info["stores"]), (&1.into(), &2.into()));
    assert_eq!(info["footprint"]["lowest"], 4096);
    assert_eq!(info["footprint"]["highest"], 16_383);
    assert_eq!(info["instructions"], 1_000_000_000, "a second between them");
    for (columns, said) in [
        ("op,size", "address among them"),
        ("address,address", "none twice"),
        ("address,op", "5 fields; expected the 2 of --columns"),
        (
            "time,op,address,size,-",
            "time: \"1.5\" has a fraction; name its unit by time_s",
        ),
    ] {
        let refused = sluice(&[
            "trace",
            "convert",
            "--force",
            csv,
            trace,
            "--columns",
            columns,
        ]);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(
            refused.status.code() == Some(2) && text.contains(said),
            "{text}"
        );
    }
}

#[test]
fn a_run_is_repeated_and_nothing_is_replaced_unasked() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    let words = [
        "sim",
        "--workload",
        "zipf:size=1MiB,ops=20k",
        "--seed",
        "3",
        "--out",
        out,
    ];
    assert!(sluice(&words).status.success());
    let kept = std::fs::read(dir.path().join("out/stats.json")).unwrap();
    let refused = refusal(&words);
    assert!(refused.ends_with("replace it with --force"), "{refused}");
    assert_eq!(
        std::fs::read(dir.path().join("out/stats.json")).unwrap(),
        kept
    );
    let told = sluice(&["again", out]);
    let said = String::from_utf8(told.stderr).unwrap();
    assert!(
        told.status.success() && said.contains("every figure is what it was"),
        "{said}"
    );
    assert_eq!(
        std::fs::read(dir.path().join("out.2/stats.json")).unwrap(),
        kept
    );
    // With another run in its place, `sluice again` prints every figure that differs.
    assert!(
        sluice(&[&words[..3], &["--seed", "4", "--force", "--out", out]].concat())
            .status
            .success()
    );
    let other = sluice(&["again", out, "--out", &format!("{out}.2")]);
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(
        !other.status.success() && said.contains("replace it with --force"),
        "{said}"
    );
    let command = std::fs::read_to_string(dir.path().join("out/command.json")).unwrap();
    std::fs::write(
        dir.path().join("out/command.json"),
        command.replace("\"4\"", "\"5\""),
    )
    .unwrap();
    let other = sluice(&["again", out]);
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(
        said.contains("sluice: seed: 4 then, 5 now (+25.00 %)"),
        "{said}"
    );
    assert!(said.contains("sluice: hash: "), "{said}");
}

/// FIFO was asked in the place of a policy from outside.
#[test]
fn a_size_under_a_shared_object_is_not_that_of_another_policy() {
    let dir = tempfile::tempdir().unwrap();
    let source = sluice_testkit::objects::root().join("examples/policy-c/lru.c");
    let object_path = sluice_testkit::objects::object(dir.path(), &source, &[]);
    let trace = record(&dir, "zipf:size=256KiB,ops=500");
    let policy = format!("cache.policy={object_path}");
    let words = [
        "size",
        "--json",
        "--trace",
        trace.to_str().unwrap(),
        "--set",
        &policy,
    ];
    let told = refusal(&words);
    assert!(
        told.contains("misses of a shared object are not known") && told.ends_with("--policies"),
        "{told}"
    );
    let told = object(&[&words[..], &["--policies", "lru"]].concat());
    assert_eq!(told["answers"].as_array().unwrap().len(), 1);
}
