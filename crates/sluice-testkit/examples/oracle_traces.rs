//! Prints the oracle traces, one a line: the name, then the pages. `tests/oracle/golden.py` reads
//! it.

fn main() {
    for trace in sluice_testkit::traces::all() {
        let pages: Vec<String> = trace.pages.iter().map(u64::to_string).collect();
        println!("{} {}", trace.name, pages.join(" "));
    }
}
