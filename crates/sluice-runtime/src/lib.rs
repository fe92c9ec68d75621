//! The live runtime: fault loop, pacing, page stores and statistics.
