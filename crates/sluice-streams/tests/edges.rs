//! The largest and smallest that a workload accepts, one more than that, and draws held against a
//! second stream of the same numbers.

use sluice_streams::Access;
use sluice_streams::order::ChaseOrder;
use sluice_streams::plan::{PASSES_MAX, Parameters, Plan, THREADS_MAX, within};
use sluice_streams::ycsb::{Chooser, Distribution, Mix, Op};
use sluice_streams::zipf::{Scrambled, YCSB_THETA, Zipf, scramble};
use sluice_streams::{parse_spec, size};
use sluice_units::Rng;

fn refusal(text: &str) -> Option<String> {
    parse_spec(text, 1).err().map(|error| error.to_string())
}

/// What is accepted, what is not any more, and what would be.
const EDGES: &[(&str, &str, &str)] = &[
    (
        "stream:threads=4096",
        "stream:threads=4097",
        "a number from 1 to 4096",
    ),
    ("uniform:stride=1", "uniform:stride=0", "at least 1 byte"),
    (
        "stream:size=64",
        "stream:size=0",
        "a positive multiple of the stride, 64B",
    ),
    (
        "stream:size=128",
        "stream:size=96",
        "a positive multiple of the stride, 64B",
    ),
    (
        "stream:size=64",
        "stream:size=63",
        "a positive multiple of the stride, 64B",
    ),
    (
        "zipf:size=4294967295,stride=1",
        "zipf:size=4294967296,stride=1",
        "at most 4294967295 strides",
    ),
    (
        "uniform:size=4294967296,stride=1",
        "zipf:size=4294967296,stride=1",
        "strides",
    ),
    (
        "zipf:theta=10",
        "zipf:theta=10.001",
        "a number above 0, at most 10",
    ),
    (
        "zipf:theta=0.001",
        "zipf:theta=0",
        "a number above 0, at most 10",
    ),
    (
        "zipf:theta=1",
        "zipf:theta=NaN",
        "a number above 0, at most 10",
    ),
    (
        "uniform:write=1",
        "uniform:write=101%",
        "a share from 0 to 1",
    ),
    ("uniform:write=0", "uniform:write=x", "a share from 0 to 1"),
    ("chase:random=1", "chase:random=2", "0 or 1"),
    (
        "chase:random=true,uniform=0",
        "chase:random=true,uniform=1",
        "a chase has one order",
    ),
    ("chase:random=false,uniform=1", "chase:write=yes", "0 or 1"),
    (
        "chase:passes=64",
        "chase:passes=65",
        "a number from 1 to 64",
    ),
    (
        "stream:passes=17592186044415",
        "stream:passes=17592186044416",
        "passes: \"17592186044416\" is not accepted; expected fewer than 2^64 accesses",
    ),
    (
        "uniform:threads=2,ops=9223372036854775807",
        "uniform:threads=2,ops=9223372036854775808",
        "fewer than 2^64 accesses",
    ),
    (
        "stream:size=8388607TiB,stride=1048576,threads=2",
        "stream:size=8388608TiB,stride=1048576,threads=2",
        "less than 16 EiB over all threads",
    ),
];

#[test]
fn each_range_ends_where_its_message_says() {
    for (good, bad, told) in EDGES {
        assert_eq!(refusal(good), None, "{good}");
        let message = refusal(bad).unwrap_or_else(|| panic!("{bad} was accepted"));
        assert!(message.contains(told), "{bad}: {message}");
    }
}

#[test]
fn a_plan_is_refused_from_its_limits_on() {
    let plan = |change: &dyn Fn(&mut Parameters)| {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Plan::new(parameters).map(|plan| (plan.nodes(), plan.total_bytes()))
    };
    let most = u64::from(u32::MAX);
    assert_eq!(
        plan(&|p| (p.size, p.stride) = (most * 8, 8)),
        Ok((most, most * 8))
    );
    assert!(plan(&|p| (p.size, p.stride) = ((most + 1) * 8, 8)).is_err());
    assert_eq!(
        plan(&|p| (p.stride, p.write) = (16, true)),
        Ok((4 << 20, 64 << 20))
    );
    let half = 1 << 62;
    assert_eq!(plan(&|p| (p.size, p.stride) = (half, half)), Ok((1, half)));
    assert!(plan(&|p| (p.size, p.stride, p.threads) = (half, half, 2)).is_err());
    for (passes, threads) in [(1, 1), (PASSES_MAX, THREADS_MAX)] {
        let (passes, threads) = (passes as u64, threads as u64);
        let all = (1 << 20, (64 << 20) * threads);
        assert_eq!(
            plan(&|p| (p.passes, p.threads) = (passes, threads)),
            Ok(all)
        );
    }
    let told = within("key", 5, 4).unwrap_err().to_string();
    assert_eq!(
        told,
        "key: \"5\" is not accepted; expected a number from 1 to 4"
    );
    assert!(within("key", 4, 4).is_ok() && within("key", 1, 4).is_ok());
    assert!(within("key", 0, 4).is_err());
    let orders = [
        ChaseOrder::Sequential,
        ChaseOrder::Cycle,
        ChaseOrder::Uniform,
    ];
    assert_eq!(
        orders.map(ChaseOrder::name),
        ["sequential", "random", "uniform"]
    );
    assert_eq!(
        plan(&|p| p.order = ChaseOrder::Cycle),
        Ok((1 << 20, 64 << 20))
    );
}

#[test]
fn sizes_have_a_unit_or_are_bytes() {
    assert_eq!(size("4096"), Ok(4096));
    assert_eq!(size("64MiB"), Ok(64 << 20));
    assert!(size("64 parsec").is_err() && size("").is_err());
}

/// What a spec that gives every key means, access by access.
#[test]
fn a_spec_is_all_of_its_keys() {
    let spec = parse_spec(
        "stream: size=256 , stride=128,passes=2,threads=3,write=1,",
        1,
    )
    .unwrap();
    assert_eq!((spec.threads(), spec.footprint_bytes()), (3, 768));
    for (thread, stream) in (0..).zip(spec.streams()) {
        let addresses = [0, 128, 0, 128].map(|place| thread * 256 + place);
        let due = addresses.map(|addr| Access { addr, write: true });
        assert_eq!(stream.collect::<Vec<_>>(), due);
    }
    let spec = parse_spec("uniform:size=640,ops=3000,write=0,threads=2", 1).unwrap();
    for (thread, stream) in (0..).zip(spec.streams()) {
        let mut seen = [0; 10];
        for access in stream {
            assert!(!access.write);
            seen[((access.addr - thread * 640) / 64) as usize] += 1;
            assert!(access.addr.is_multiple_of(64));
        }
        // 300 on average, with a deviation of 16.
        assert!(
            seen.iter().all(|count| (230..370).contains(count)),
            "{seen:?}"
        );
    }
    let all = |text: &str| -> Vec<Access> {
        let streams = parse_spec(text, 1).unwrap().streams();
        streams.into_iter().flatten().collect()
    };
    // Without a number of passes a sweep is one; with 0 and 1 as flags are words.
    assert_eq!(all("stream:size=4KiB").len(), 64);
    assert_eq!(
        all("stream:size=4KiB,write=true"),
        all("stream:size=4KiB,write=1")
    );
    assert_eq!(all("stream:size=4KiB,write=false"), all("stream:size=4KiB"));
    assert_ne!(
        all("zipf:size=4KiB,ops=100"),
        all("zipf:size=4KiB,ops=100,theta=0.5")
    );
    let threads = parse_spec("zipf:size=4KiB,ops=100,threads=2", 1).unwrap();
    let [one, other] = <[_; 2]>::try_from(threads.streams()).ok().unwrap();
    let one: Vec<u64> = one.map(|access| access.addr + 4096).collect();
    assert_ne!(one, other.map(|access| access.addr).collect::<Vec<_>>());
}

/// Two streams of one seed draw the same.
fn pair() -> (Rng, Rng) {
    (Rng::stream(8, "edges"), Rng::stream(8, "edges"))
}

#[test]
fn an_operation_is_rare_below_its_share_of_a_hundred() {
    for (mix, common, rare, per_cent) in [
        (Mix::A, Op::Read, Op::Update, 50),
        (Mix::B, Op::Read, Op::Update, 5),
        (Mix::C, Op::Read, Op::Read, 0),
        (Mix::D, Op::Read, Op::Insert, 5),
        (Mix::E, Op::Scan, Op::Insert, 5),
        (Mix::F, Op::Read, Op::ReadModifyWrite, 50),
    ] {
        let (mut rng, mut same) = pair();
        for _ in 0..1_000 {
            let due = if same.below(100) < per_cent {
                rare
            } else {
                common
            };
            assert_eq!(mix.op(&mut rng), due, "{mix:?}");
        }
        let inserts = u64::from(rare == Op::Insert);
        // Twice the average, rounded up.
        for (ops, due) in [(0, 0), (1, 1), (10, 1), (11, 2), (1_000, 100)] {
            assert_eq!(mix.expected_inserts(ops), inserts * due, "{mix:?} {ops}");
        }
        assert_eq!(mix.writes(), mix != Mix::C);
        let latest = mix.distribution() == Distribution::Latest;
        assert_eq!(latest, mix == Mix::D);
    }
}

#[test]
fn keys_are_ranks_hashed_or_counted_from_the_newest() {
    let (mut rng, mut same) = pair();
    let ranks = Zipf::new(10_000_000_000, YCSB_THETA);
    for _ in 0..1_000 {
        assert_eq!(
            Scrambled::default().item(&mut rng, 997),
            scramble(ranks.rank(&mut same)) % 997
        );
    }
    assert_eq!(Scrambled::default().item(&mut rng, 0), 0);
    let (mut rng, mut same) = pair();
    let zipfian = Chooser::new(Distribution::Zipfian, 2_000);
    for existing in [1_000, 1_999, 2_000, 2_500] {
        for _ in 0..200 {
            // Drawn among all that may be, again until it is there.
            let mut due = u64::MAX;
            while due >= existing {
                due = scramble(ranks.rank(&mut same)) % existing.max(2_000);
            }
            assert_eq!(zipfian.key(&mut rng, existing), due);
        }
    }
    let (mut rng, mut same) = pair();
    let latest = Chooser::new(Distribution::Latest, 0);
    let uniform = Chooser::new(Distribution::Uniform, 0);
    for existing in [1, 2, 50] {
        for _ in 0..100 {
            let rank = Zipf::new(existing, YCSB_THETA).rank(&mut same);
            assert_eq!(latest.key(&mut rng, existing), existing - 1 - rank);
            assert_eq!(uniform.key(&mut rng, existing), same.below(existing));
        }
    }
}
