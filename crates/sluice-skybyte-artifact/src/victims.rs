//! Written lines that leave an L2 are lost.

use sluice_params::Kind;

sluice_params::params! {
    /// What becomes of the lines that an L2 gives up.
    pub(super) struct Victims {
        are_lost: bool {
            key: "l3.write_back",
            kind: Kind::Flag { off: "all", on: "own" },
            default: "all",
            meaning: "which written lines the last cache writes to memory when they leave it. all; \
                      own: those that a store found there, for what leaves an L2 is lost, as in no \
                      processor",
            source: "all is what processors do. SkyByte's artifact sends what leaves an L2 to a \
                     level between it and the last, which is off and drops it (src/memory.cc: \
                     llc_decoupled_network_c, process_fill_queue). So figure_drawing/all.dat has \
                     136,249 writes of radix for 2,130 pages whose lines are stored to eight \
                     times, each line written once",
        }
    }
}
