//! The program's signals, masks, stacks and contexts beside those of the runtime.

pub mod altstack;
pub mod contexts;
pub mod dispatch;
pub mod mask;
pub mod old_signals;
pub mod same_stacks;
pub mod saved_masks;
