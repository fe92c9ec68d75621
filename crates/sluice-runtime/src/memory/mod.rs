//! Where pages are: in the cache's frames, in a stash, in a file.

pub mod groups;
pub mod heap;
pub mod maps;
pub mod memory_use;
pub mod private;
pub mod private_files;
pub mod progress;
pub mod shared;
pub mod sources;
pub mod space;
pub mod spare;
pub mod waited;
