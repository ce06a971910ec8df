//! What `judge` returns, as text, Markdown, HTML, CSV and JSON, and in pictures.

pub mod comparison;
#[cfg(test)]
mod fixtures;
pub mod formats;
pub mod html;
pub mod ladder;
pub mod limits;
pub mod markdown;
pub mod notes;
pub mod page;
mod pairs;
pub mod plot;
pub mod quantity;
pub mod report;
pub mod screen;
mod svg;
pub mod text;
