//! Sections of programs that the artifact's traces hold, by its lists of pages and its counters.
//!
//! A program whose traces are of another part than where its kernel begins has a parameter here
//! that asks for that part.

mod deal;
mod early;
mod forward;
mod generation;
mod passes;
mod twitter;

use sluice_kernels::{KernelInfo, KernelSpec, WorkloadError, bc, bfs, radix, srad, tpcc};
use sluice_params::{Choice, Kind, Param};
use std::sync::LazyLock;

const EARLY: &[Param] = &[Param {
    key: "section",
    kind: Kind::Choice(|| Choice::plain(["late", "early"])),
    default: "late",
    meaning: "where a run begins: `late` where one node in a hundred is left to be found, and the \
              search goes on; `early` in the passes of early levels, which look at many nodes and \
              go through the edges of few, in one search after the other",
    source: "early: the traces of SkyByte's artifact, by their pages (doi:10.5281/zenodo.14660184, \
             output/warmup_traces)",
}];

const FORWARD: &[Param] = &[Param {
    key: "section",
    kind: Kind::Choice(|| Choice::plain(["backward", "forward"])),
    default: "backward",
    meaning: "where a run begins: `backward` on the way back, in a Kronecker graph, and the \
              program goes on; `forward` on the way forward, in a graph with the vertices, edges \
              and hubs of Twitter's, in one stretch of a level after the other",
    source: "forward: the traces of SkyByte's artifact, by their pages \
             (doi:10.5281/zenodo.14660184, output/warmup_traces)",
}];

const GENERATION: &[Param] = &[Param {
    key: "section",
    kind: Kind::Choice(|| Choice::plain(["permutation", "generation"])),
    default: "permutation",
    meaning: "where a run begins: `permutation` near the end of the first, and the sort goes on; \
              `generation` where five of eight threads generate the last of their keys and three \
              count theirs already, over and over",
    source: "generation: the traces of SkyByte's artifact, by their pages and counters \
             (doi:10.5281/zenodo.14660184, output/warmup_traces, figure_drawing/all.dat)",
}];

const PASSES: &[Param] = &[Param {
    key: "section",
    kind: Kind::Choice(|| Choice::plain(["iteration", "passes"])),
    default: "iteration",
    meaning: "where a run begins: `iteration` near the end of the first pass, and the smoothing \
              goes on; `passes` where six of eight threads are in the first pass and two in the \
              second already, over and over",
    source: "passes: the traces of SkyByte's artifact, by their pages and counters \
             (doi:10.5281/zenodo.14660184, output/warmup_traces, figure_drawing/all.dat)",
}];

const DEALT: &[Param] = &[Param {
    key: "threads",
    kind: Kind::Choice(|| Choice::plain(["own", "dealt"])),
    default: "own",
    meaning: "`own`: each thread runs transactions of databases of its own; `dealt`: the threads \
              replay what seven executors did, in slices that are dealt to them in turn",
    source: "dealt: the traces of SkyByte's artifact, by their pages and counters \
             (doi:10.5281/zenodo.14660184, output/warmup_traces, figure_drawing/all.dat)",
}];

/// Kernels with another section, which take the places of those without.
const SECTIONS: &[KernelInfo] = &[
    KernelInfo {
        params: EARLY,
        make: |options| match options.given.choice("section") {
            "early" => Box::new(early::Early::new(options)),
            _ => (bfs::INFO.make)(options),
        },
        ..bfs::INFO
    },
    KernelInfo {
        params: FORWARD,
        make: |options| match options.given.choice("section") {
            "forward" => Box::new(forward::Forward::new(options)),
            _ => (bc::INFO.make)(options),
        },
        ..bc::INFO
    },
    KernelInfo {
        params: GENERATION,
        make: |options| match options.given.choice("section") {
            "generation" => Box::new(generation::Generation::new(options)),
            _ => (radix::INFO.make)(options),
        },
        ..radix::INFO
    },
    KernelInfo {
        params: PASSES,
        make: |options| match options.given.choice("section") {
            "passes" => Box::new(passes::Passes::new(options)),
            _ => (srad::INFO.make)(options),
        },
        ..srad::INFO
    },
    KernelInfo {
        params: DEALT,
        make: |options| match options.given.choice("threads") {
            "dealt" => Box::new(deal::Dealt::new(options)),
            _ => (tpcc::INFO.make)(options),
        },
        ..tpcc::INFO
    },
];

/// Every kernel, with the sections of the artifact, in the order of [`sluice_kernels::KERNELS`].
pub static KERNELS: LazyLock<Vec<KernelInfo>> = LazyLock::new(|| {
    let with_section = |kernel: &KernelInfo| {
        let section = SECTIONS.iter().find(|other| other.name == kernel.name);
        *section.unwrap_or(kernel)
    };
    sluice_kernels::KERNELS.iter().map(with_section).collect()
});

/// Reads a kernel of [`KERNELS`], as [`sluice_kernels::parse_kernel`].
///
/// # Errors
/// As there.
pub fn parse_kernel(text: &str, seed: u64) -> Result<KernelSpec, WorkloadError> {
    sluice_kernels::parse_kernel(&KERNELS, text, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_asked_for_by_its_name() {
        for section in SECTIONS {
            let [param] = section.params else {
                panic!("{} has one parameter", section.name)
            };
            for choice in param.kind.choices() {
                let text = format!("{}:{}={choice}", section.name, param.key);
                let spec = parse_kernel(&text, 1).expect("a kernel of this name");
                assert_eq!(spec.given.choice(param.key), choice);
            }
        }
    }

    #[test]
    fn a_mistake_names_the_key_of_the_section() {
        let refused = parse_kernel("bfs-dense:sed=1", 1)
            .err()
            .expect("no such key");
        let told = "bfs-dense: there is no key \"sed\"; keys: seed, rounds, section";
        assert_eq!(refused.to_string(), told);
    }
}
