//! `brigade report --update FILE…`: writes the figures of Markdown files anew,
//! between their markers, from the runs that the markers name.
//!
//! - `<!-- brigade report RUN PART -->` … `<!-- end -->`, each on a line of its
//!   own: a part of the report of RUN, a folder beside the manifest such as
//!   `results/2026-11-22-amd-epyc-2cpu`. PART is `first-screen`, `kinds`,
//!   `groups`, `group=NAME`, `comparisons=NAME` or `notes`.
//! - `<!-- figure CASE [MEASUREMENT] -->…<!-- end -->` within a line: a time with
//!   its interval, of the run that the file's first block names.
//! - `<!-- brigade report RUN ladder=FILE.svg -->`, likewise: the ladder of RUN as a
//!   picture in FILE.svg, a path from the folder of the Markdown file.
//!
//! A block of another run than the file's first one says so.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::commands::flags::ReportFlags;
use crate::commands::report;
use crate::exit::Exit;
use crate::judge::report::model::Report;
use crate::manifest::Manifest;
use crate::show::ladder::rungs;
use crate::show::markdown;
use crate::show::page::NO_BREAK_SPACE;
use crate::show::plot;
use crate::show::report::{Part, figure, part};

/// The width of a picture in pixels: that of a README.
const PICTURE_WIDTH: f64 = 830.0;

const BLOCK: &str = "<!-- brigade report ";
const FIGURE: &str = "<!-- figure ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

/// Runs `brigade report --update`.
///
/// # Errors
/// When a file cannot be read or written, a marker is not understood, or what it
/// names is not there.
pub fn update(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let manifest = report::manifest(flags)?;
    let mut runs = Runs { manifest: &manifest, reports: BTreeMap::new(), pictures: Vec::new() };
    for path in &flags.update {
        let context = || format!("--update {}", path.display());
        let text = fs::read_to_string(path).with_context(context)?;
        let updated = runs.document(&text).with_context(context)?;
        if updated != text {
            fs::write(path, updated).with_context(context)?;
        }
        for (name, picture) in std::mem::take(&mut runs.pictures) {
            let file = path.parent().unwrap_or(Path::new("")).join(name);
            fs::write(&file, picture).with_context(|| format!("writing {}", file.display()))?;
        }
    }
    Ok(Exit::Done)
}

/// The runs that documents name, each read once.
struct Runs<'a> {
    manifest: &'a Manifest,
    reports: BTreeMap<String, Report>,
    /// The pictures of the document that is being updated, with their files.
    pictures: Vec<(String, String)>,
}

impl Runs<'_> {
    fn report(&mut self, name: &str) -> anyhow::Result<&Report> {
        if !self.reports.contains_key(name) {
            let report = report::report_of(self.manifest, &[self.manifest.root.join(name)])?;
            self.reports.insert(name.to_owned(), report);
        }
        Ok(&self.reports[name])
    }

    fn document(&mut self, text: &str) -> anyhow::Result<String> {
        let mut updated = String::with_capacity(text.len());
        let mut first: Option<String> = None;
        let mut rest = text;
        while let Some((at, marker)) = next_marker(rest) {
            let (before, from) = rest.split_at(at);
            let (words, after) =
                from[marker.len()..].split_once(CLOSE).context("marker not closed")?;
            let (_, after) = after
                .split_once(END)
                .with_context(|| format!("`{words}`: there is no {END} after it"))?;
            let words: Vec<&str> = words.split_whitespace().collect();
            let new = match (marker, &words[..]) {
                (BLOCK, [run, part]) => {
                    let first = first.get_or_insert_with(|| (*run).to_owned());
                    let origin =
                        if first == run { String::new() } else { format!("From {run}:\n\n") };
                    format!("\n{origin}{}", self.block(run, part)?)
                }
                (FIGURE, [case, measurement @ ..]) => {
                    let run = first.as_deref().context("a figure stands before the first block")?;
                    self.figure(run, case, measurement.first().copied())?
                }
                _ => bail!("`{}`: not understood", words.join(" ")),
            };
            updated += &format!("{before}{marker}{}{CLOSE}{new}{END}", words.join(" "));
            rest = after;
        }
        Ok(updated + rest)
    }

    fn block(&mut self, run: &str, name: &str) -> anyhow::Result<String> {
        if let Some(file) = name.strip_prefix("ladder=") {
            return self.ladder(run, file);
        }
        let of = Part::named(name).with_context(|| format!("there is no part '{name}'"))?;
        let blocks = part(self.report(run)?, &of);
        ensure!(!blocks.is_empty(), "{run} has nothing of '{name}'");
        Ok(markdown::blocks(&blocks))
    }

    /// The ladder of a run as a picture in this file.
    fn ladder(&mut self, run: &str, file: &str) -> anyhow::Result<String> {
        let rungs = rungs(self.report(run)?);
        let parts = plot::ladder(&rungs).zip(plot::extremes(&rungs));
        let (picture, words) = parts.with_context(|| format!("{run} has nothing of a ladder"))?;
        self.pictures.push((file.to_owned(), picture.file(PICTURE_WIDTH)));
        let words = words.replace(NO_BREAK_SPACE, " ");
        Ok(format!("![{}]({file})\n", markdown::escape(&words)))
    }

    fn figure(&mut self, run: &str, case: &str, part: Option<&str>) -> anyhow::Result<String> {
        let figure = figure(self.report(run)?, case, part);
        let figure = figure.with_context(|| format!("{run} has no figure of '{case}'"))?;
        Ok(figure.replace(NO_BREAK_SPACE, " "))
    }
}

/// Where the next marker is, and which.
fn next_marker(text: &str) -> Option<(usize, &'static str)> {
    let found = [BLOCK, FIGURE].into_iter().filter_map(|marker| Some((text.find(marker)?, marker)));
    found.min()
}
