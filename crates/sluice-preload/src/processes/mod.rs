//! The processes that the program becomes, starts and waits for.

pub mod beside;
pub mod children;
pub mod descriptors;
pub mod ends;
pub mod exec;
pub mod exec_lists;
pub mod fork;
pub mod kin;
pub mod namespaces;
pub mod parents;
pub mod spawn;
pub mod status;
