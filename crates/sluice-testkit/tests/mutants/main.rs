//! Nearly valid inputs: what is taken then works, and what is not is refused in a line.

mod files;
mod traces;
