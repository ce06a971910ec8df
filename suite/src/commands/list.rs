//! `brigade list`: the cases and what they are made of.

use std::slice;

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use harness::terminal;

use crate::commands::flags::ListFlags;
use crate::commands::output;
use crate::exit::Exit;
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Here;
use crate::store::results::Skipped;

/// The width of the table, in columns.
const WIDTH: u16 = 80;

/// Obeys `brigade list`.
///
/// # Errors
/// When the flags or the manifest are wrong, or standard output cannot be
/// written.
pub fn list(flags: &ListFlags) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(flags.manifest.as_deref())?;
    let cases: Vec<&Case> = match &flags.profile {
        Some(profile) => {
            manifest.profile(profile)?;
            manifest.cases_of(profile).collect()
        }
        None => manifest.cases.iter().collect(),
    };
    let tables = format!("{}\n\n{}\n", case_table(&cases), profile_table(&manifest));
    let (_, skipped) = Here::look(&manifest)?.divide(&manifest, cases);
    output::print(&(tables + &skipped_lines(&skipped)))?;
    Ok(Exit::Done)
}

/// One line for each case that cannot run here, set off by an empty one.
fn skipped_lines(skipped: &[Skipped]) -> String {
    let lines = skipped.iter().enumerate().map(|(index, Skipped { case, reason })| {
        let gap = if index == 0 { "\n" } else { "" };
        format!("{gap}{}\n", terminal::line(&format!("{case}: skipped: {reason}")))
    });
    lines.collect()
}

fn case_table(cases: &[&Case]) -> String {
    let rows = cases.iter().map(|case| {
        let command = [slice::from_ref(&case.program), &case.flags].concat();
        let profiles: Vec<&str> = case.profiles.iter().map(String::as_str).collect();
        let placement = case.placement.as_str().to_owned();
        [case.name.clone(), placement, command.join(" "), profiles.join(" ")]
    });
    table(["case", "placement", "program and flags", "profiles"], rows)
}

fn profile_table(manifest: &Manifest) -> String {
    let rows = manifest.profiles.iter().map(|(name, profile)| {
        let more = if profile.budget_seconds.is_some() { "+" } else { "" };
        [name.clone(), format!("{}{more}", profile.rounds), profile.flags.join(" ")]
    });
    table(["profile", "rounds", "flags for every program"], rows)
}

/// A plain table, at most [`WIDTH`] columns wide, without trailing blanks. The
/// first two columns are never broken.
fn table<const N: usize>(header: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header)
        .add_rows(rows.map(|row| row.map(|cell| terminal::line(&cell).into_owned())))
        .set_constraints([ColumnConstraint::ContentWidth; 2]);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}
