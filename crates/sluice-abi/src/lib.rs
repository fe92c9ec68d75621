//! Memory layouts shared between processes: statistics and trap records.
