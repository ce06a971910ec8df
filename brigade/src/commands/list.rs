//! `brigade list`: prints groups, profiles and their cases.

use harness::terminal;

use crate::commands::flags::{GROUP_PROFILE, ListFlags};
use crate::commands::output;
use crate::commands::session::{Which, pair_with_machine};
use crate::exit::Exit;
use crate::judge::report::model::by_reason;
use crate::manifest::{Case, Group, Manifest};
use crate::measure::availability::Capabilities;
use crate::show::page::{self, ABSENT, Table};
use crate::store::results::Skipped;

/// Runs `brigade list`.
///
/// # Errors
/// If the flags or the manifest are wrong, or standard output cannot be
/// written.
pub fn list(flags: &ListFlags) -> anyhow::Result<Exit> {
    let mut manifest = Manifest::load(flags.manifest.as_deref(), None)?;
    pair_with_machine(&mut manifest, Which::Chosen)?;
    let chosen: Option<Vec<&Case>> = match &flags.profile {
        Some(profile) => {
            manifest.profile(profile)?;
            Some(manifest.cases_of(profile).collect())
        }
        None if flags.groups.is_empty() => None,
        None => Some(manifest.cases_of_groups(&flags.groups)?),
    };
    let text = match &chosen {
        Some(cases) => case_table(&manifest, cases),
        None => format!(
            "{}\n{}\n`brigade list GROUP` and `brigade list --profile PROFILE` show cases;\n`brigade explain CASE` shows what one does.\n",
            group_table(&manifest),
            profile_table(&manifest)
        ),
    };
    let cases = chosen.unwrap_or_else(|| manifest.profiled_cases().collect());
    let (_, skipped) = Capabilities::detect(&manifest)?.divide(cases);
    output::print(&(text + &skipped_lines(&skipped)))?;
    Ok(Exit::Done)
}

/// The cases that cannot run here, one paragraph per reason.
fn skipped_lines(skipped: &[Skipped]) -> String {
    let reasons = by_reason(skipped).into_iter();
    let line =
        |(reason, cases)| page::lines(&terminal::line(&format!("{cases}: skipped: {reason}")));
    reasons.map(|skipped| format!("\n{}", line(skipped))).collect()
}

fn case_table(manifest: &Manifest, cases: &[&Case]) -> String {
    let rows = cases.iter().map(|case| [case.name.clone(), manifest.title(case)]);
    table("case|what it measures", rows)
}

fn group_table(manifest: &Manifest) -> String {
    let profile = manifest.profiles.get(GROUP_PROFILE);
    let rows = manifest.groups.iter().map(|Group { name, question, cases, .. }| {
        let seconds = profile.and_then(|profile| profile.seconds(cases.len()));
        let least = seconds.map_or_else(|| ABSENT.to_owned(), |seconds| format!("{seconds:.0} s"));
        [name.clone(), cases.len().to_string(), least, question.clone()]
    });
    table("group|>cases|>at least|question", rows)
}

fn profile_table(manifest: &Manifest) -> String {
    let rows = manifest.profiles.iter().map(|(name, profile)| {
        let more = if profile.budget_seconds.is_some() { "+" } else { "" };
        [name.clone(), format!("{}{more}", profile.rounds), profile.flags.join(" ")]
    });
    table("profile|>rounds|flags for every program", rows)
}

fn table<const N: usize>(headings: &str, rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::of(headings);
    rows.for_each(|row| table.push(row.map(|cell| terminal::line(&cell).into_owned()).to_vec()));
    table.text()
}
