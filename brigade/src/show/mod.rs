//! Renders what `judge` returns as text, Markdown, HTML, CSV, JSON and pictures.

pub mod advise;
pub mod command;
pub mod comparison;
mod curves;
pub mod formats;
pub mod group;
pub mod html;
pub mod json;
pub mod limits;
pub mod loads;
pub mod machine;
pub mod names;
pub mod page;
pub mod picture;
pub mod plot;
pub mod quantity;
pub mod report;
mod scale;
pub mod screen;
mod svg;
pub mod text;
pub mod trace;
pub mod verdict;

#[cfg(test)]
mod tests;
