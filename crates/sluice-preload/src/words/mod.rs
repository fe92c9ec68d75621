//! Single words of the program's that the kernel itself reads and writes.

pub mod futex;
pub mod ids;
pub mod locks;
pub mod owned;
pub mod stay;
