//! The program's bytes on their way to the kernel and from it, and what a call answers.

pub mod answers;
pub mod bounce;
pub mod buffers;
pub mod held;
pub mod named;
pub mod piece;
pub mod rest;
