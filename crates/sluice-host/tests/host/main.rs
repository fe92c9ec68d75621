//! A simulated host against closed forms.

mod books;
mod closed_forms;
mod ends;
mod marks;
mod naive;
mod persist;
mod sharing;
mod switching;
