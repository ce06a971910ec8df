//! Pictures that stand alone, as files of SVG.

use super::page::NO_BREAK_SPACE;
use super::plot;
use crate::judge::report::model::Report;

/// The width of a picture in pixels: that of a README.
const WIDTH: f64 = 830.0;

/// A picture in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureFile {
    /// What is to be seen, in words.
    pub description: String,
    /// The file's content.
    pub file: String,
}

/// The ladder of a report; `None` without a time.
pub fn ladder(report: &Report) -> Option<PictureFile> {
    let picture = plot::ladder::picture(report)?;
    let description = picture.description.replace(NO_BREAK_SPACE, " ");
    Some(PictureFile { description, file: picture.file(WIDTH) })
}
