//! The accesses of every workload that needs no host.

use crate::book::Book;
use serde_json::json;
use sluice_kernels::parse_stream;
use sluice_units::Fnv;

const WORKLOADS: &[&str] = &[
    "chase",
    "chase:size=64KiB,stride=64,passes=2,random=true",
    "chase:size=64KiB,stride=256,uniform=true,seed=9,threads=2",
    "chase:size=64KiB,stride=64,write=true,threads=3",
    "chase:size=64KiB,stride=4",
    "chase:size=100,stride=64",
    "stream",
    "stream:size=64KiB,stride=64,passes=3,write=true,threads=2",
    "stream:size=64KiB,stride=0",
    "uniform",
    "uniform:size=64KiB,stride=64,ops=9000,write=0.25,seed=3,threads=2",
    "uniform:write=1.5",
    "zipf",
    "zipf:size=64KiB,stride=64,ops=9000,write=0.25,theta=0.5,seed=3,threads=2",
    "zipf:size=1MiB,stride=64,ops=9000,theta=0.99",
    "zipf:size=64KiB,ops=5000,theta=1.2,write=1",
    "uniform:size=128KiB,stride=4096,ops=500,write=0",
    "stream:size=64KiB,stride=128,passes=1,write=false,threads=4",
    "chase:size=32KiB,passes=1,seed=3,random=true,write=true,stride=16",
    "zipf:theta=-1",
    "zipf:what=1",
    "zipf:ops=1,ops=2",
    "ycsb",
    "nothing",
];

#[test]
fn workloads_give_the_accesses_they_gave() {
    let mut book = Book::new("workloads.txt");
    for text in WORKLOADS {
        let result = parse_stream(text, 5).map(|spec| {
            let of = |stream: sluice_streams::Stream| {
                let accesses = stream.take(50_000).map(|it| format!("{it:?}"));
                accesses.fold((0, 0u64), |(count, sum), access| {
                    (count + 1, sum.rotate_left(7) ^ Fnv::of(access.as_bytes()))
                })
            };
            json!({
                "threads": spec.threads(),
                "footprint": spec.footprint_bytes(),
                "streams": spec.streams().into_iter().map(of).collect::<Vec<_>>(),
            })
        });
        book.add(*text, result.map_err(Into::into));
    }
    book.close();
}
