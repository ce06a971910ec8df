//! Renders what `judge` returns as text, Markdown, HTML, CSV, JSON and pictures.

pub mod comparison;
#[cfg(test)]
mod fixtures;
pub mod formats;
pub mod html;
pub mod limits;
#[expect(dead_code, reason = "pictures of the new rows will use the rest")]
pub mod page;
#[expect(dead_code, reason = "pictures of the new rows will use the rest")]
pub mod quantity;
pub mod report;
pub mod screen;
#[expect(dead_code, reason = "pictures of the new rows will use the rest")]
mod svg;
pub mod text;
pub mod trace;
pub mod verdict;
