//! What the program maps, and what it says of its mappings.

pub mod advice;
pub mod behind;
pub mod change;
pub mod explicit;
pub mod files;
pub mod keys;
pub mod locked;
pub mod map;
pub mod moved;
pub mod own_uffd;
pub mod parts;
pub mod persist;
pub mod process_advice;
pub mod scan;
pub mod seal;
pub mod segments;
pub mod wanted;
pub mod wishes;
