//! What `judge` returns, as text, Markdown, CSV and JSON.

pub mod comparison;
pub mod csv;
mod environment;
#[cfg(test)]
mod fixture;
pub mod limits;
pub mod markdown;
pub mod page;
pub mod proof;
pub mod quantity;
pub mod report;
mod sentences;
pub mod text;
