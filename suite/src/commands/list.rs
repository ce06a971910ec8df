//! `brigade list`: the groups and profiles, and the cases that they have.

use std::slice;

use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use harness::terminal;

use crate::commands::flags::{GROUP_PROFILE, ListFlags};
use crate::commands::output;
use crate::exit::Exit;
use crate::manifest::{Case, Group, Manifest};
use crate::measure::availability::Capabilities;
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
    let chosen: Option<Vec<&Case>> = match &flags.profile {
        Some(profile) => {
            manifest.profile(profile)?;
            Some(manifest.cases_of(profile).collect())
        }
        None if flags.groups.is_empty() => None,
        None => Some(manifest.cases_of_groups(&flags.groups)?),
    };
    let text = match &chosen {
        Some(cases) => case_table(cases) + "\n",
        None => format!(
            "{}\n\n{}\n\n`brigade list GROUP` and `brigade list --profile PROFILE` show cases.\n",
            group_table(&manifest),
            profile_table(&manifest)
        ),
    };
    let cases = chosen.unwrap_or_else(|| manifest.profiled_cases().collect());
    let (_, skipped) = Capabilities::detect(&manifest)?.divide(cases);
    output::print(&(text + &skipped_lines(&skipped)))?;
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

fn group_table(manifest: &Manifest) -> String {
    let profile = manifest.profiles.get(GROUP_PROFILE);
    let rows = manifest.groups.iter().map(|Group { name, question, cases }| {
        let seconds = profile.and_then(|profile| profile.seconds(cases.len()));
        let least = seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.0} s"));
        [name.clone(), cases.len().to_string(), least, question.clone()]
    });
    table(["group", "cases", "at least", "question"], rows)
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
