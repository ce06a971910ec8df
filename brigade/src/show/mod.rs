//! What `judge` returns, as text, Markdown, HTML, CSV and JSON, and in pictures.

pub mod bars;
pub mod benchstat;
pub mod bmf;
pub mod comparison;
pub mod csv;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
use fixtures as fixture;
pub mod html;
pub mod impact;
mod kinds;
pub mod ladder;
pub mod limits;
pub mod markdown;
pub mod page;
mod pairs;
pub mod plot;
pub mod proof;
pub mod quantity;
pub mod report;
mod scale;
mod sentences;
mod svg;
pub mod text;
