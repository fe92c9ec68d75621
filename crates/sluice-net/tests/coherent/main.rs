//! Device-managed coherence on the network: times, books, and one writer or many readers.

mod books;
mod times;
mod whole;
