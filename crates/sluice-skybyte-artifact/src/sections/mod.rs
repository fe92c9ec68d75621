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

use sluice_kernels::share::Shared;
use sluice_kernels::{KernelInfo, KernelSpec, WorkloadError, bc, bfs, radix, srad, tpcc};
use sluice_params::{Declared, Kind, Param, choices};
use std::sync::LazyLock;

choices! {
    /// Where a run of `bfs-dense` begins.
    enum BfsSection {
        Late = "late": "where one node in a hundred is left to be found, and the search goes on",
        Early = "early": "in the passes of early levels, which look at many nodes and go through \
                          the edges of few, in one search after the other",
    }
}

choices! {
    /// Where a run of `bc` begins.
    enum BcSection {
        Backward = "backward": "on the way back, in a Kronecker graph, and the program goes on",
        Forward = "forward": "on the way forward, in a graph with the vertices, edges and hubs of \
                              Twitter's, in one stretch of a level after the other",
    }
}

choices! {
    /// Where a run of `radix` begins.
    enum RadixSection {
        Permutation = "permutation": "near the end of the first permutation, and the sort goes on",
        Generation = "generation": "where five of eight threads generate the last of their keys \
                                    and three count theirs already, over and over",
    }
}

choices! {
    /// Where a run of `srad` begins.
    enum SradSection {
        Iteration = "iteration": "near the end of the first pass, and the smoothing goes on",
        Passes = "passes": "where six of eight threads are in the first pass and two in the second \
                            already, over and over",
    }
}

choices! {
    /// What the threads of `tpcc` run.
    enum Threads {
        Own = "own": "each thread runs transactions of databases of its own",
        Dealt = "dealt": "the threads replay what seven executors did, in slices that are dealt to \
                          them in turn",
    }
}

const fn section(kind: Kind, default: &'static str, source: &'static str) -> Param {
    Param {
        key: "section",
        kind,
        default,
        meaning: "where a run begins",
        source,
    }
}

const EARLY: &[Param] = &[section(
    BfsSection::KIND,
    "late",
    "early: the traces of SkyByte's artifact, by their pages (doi:10.5281/zenodo.14660184, \
     output/warmup_traces)",
)];

const FORWARD: &[Param] = &[section(
    BcSection::KIND,
    "backward",
    "forward: the traces of SkyByte's artifact, by their pages (doi:10.5281/zenodo.14660184, \
     output/warmup_traces)",
)];

const GENERATION: &[Param] = &[section(
    RadixSection::KIND,
    "permutation",
    "generation: the traces of SkyByte's artifact, by their pages and counters \
     (doi:10.5281/zenodo.14660184, output/warmup_traces, figure_drawing/all.dat)",
)];

const PASSES: &[Param] = &[section(
    SradSection::KIND,
    "iteration",
    "passes: the traces of SkyByte's artifact, by their pages and counters \
     (doi:10.5281/zenodo.14660184, output/warmup_traces, figure_drawing/all.dat)",
)];

const DEALT: &[Param] = &[Param {
    key: "threads",
    kind: Threads::KIND,
    default: "own",
    meaning: "what the threads run",
    source: "dealt: the traces of SkyByte's artifact, by their pages and counters \
             (doi:10.5281/zenodo.14660184, output/warmup_traces, figure_drawing/all.dat)",
}];

/// Kernels with another section, which take the places of those without.
const SECTIONS: &[KernelInfo] = &[
    KernelInfo {
        params: EARLY,
        make: |options| match options.given.read("section") {
            BfsSection::Early => Box::new(Shared(early::Early::new(options))),
            BfsSection::Late => (bfs::INFO.make)(options),
        },
        ..bfs::INFO
    },
    KernelInfo {
        params: FORWARD,
        make: |options| match options.given.read("section") {
            BcSection::Forward => Box::new(Shared(forward::Forward::new(options))),
            BcSection::Backward => (bc::INFO.make)(options),
        },
        ..bc::INFO
    },
    KernelInfo {
        params: GENERATION,
        make: |options| match options.given.read("section") {
            RadixSection::Generation => Box::new(Shared(generation::Generation::new(options))),
            RadixSection::Permutation => (radix::INFO.make)(options),
        },
        ..radix::INFO
    },
    KernelInfo {
        params: PASSES,
        make: |options| match options.given.read("section") {
            SradSection::Passes => Box::new(Shared(passes::Passes::new(options))),
            SradSection::Iteration => (srad::INFO.make)(options),
        },
        ..srad::INFO
    },
    KernelInfo {
        params: DEALT,
        make: |options| match options.given.read("threads") {
            Threads::Dealt => Box::new(deal::Dealt::new(options)),
            Threads::Own => (tpcc::INFO.make)(options),
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
                assert_eq!(spec.given.get(param.key).as_deref(), Some(choice));
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
