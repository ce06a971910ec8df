//! What `judge` returns, as text.

pub mod comparison;
mod comparison_table;
pub mod limits;
pub mod markdown;
pub mod proof;
pub mod table;
