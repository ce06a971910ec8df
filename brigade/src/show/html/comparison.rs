//! A comparison as a page: what changed, sorted by size, and what did not, folded
//! away.

use super::super::comparison::{by_size, extent_of, legend, notes, sides, table, totals};
use super::super::environment::different_cpus;
use super::super::plot::ratios::picture;
use super::element::{figure, items, paragraph, table as element};
use super::figures::within;
use super::{Page, Piece, Section, shown};
use crate::judge::compare::comparison::{CaseComparison, Comparison};
use crate::judge::compare::verdict::Verdict;

/// The page of a comparison.
///
/// # Errors
/// Never: the template is a constant.
pub fn comparison(comparison: &Comparison) -> anyhow::Result<String> {
    let cases = by_size(comparison);
    let (same, others): (Vec<&CaseComparison>, Vec<_>) =
        cases.iter().copied().partition(|case| case.verdict == Verdict::Same);
    let caption =
        format!("{} The band is what does not matter.", legend(comparison).replace('\n', " "));
    let drawn = |id: &str, cases: &[&CaseComparison]| {
        picture(comparison, cases).map_or(String::new(), |of| figure(id, &caption, &[], &of))
            + &if cases.is_empty() { String::new() } else { element(&table(cases)) }
    };
    let cpus = different_cpus(&comparison.environment_differences);
    let head = cpus.map_or(String::new(), |cpus| paragraph(&cpus))
        + &items(&sides(comparison))
        + &paragraph(&format!("{}.", totals(comparison)));
    let changed = match (&others[..], &same[..]) {
        ([], []) => paragraph("No case was compared."),
        ([], _) => paragraph("Every case that was compared is the same."),
        _ => drawn("changed", &others),
    };
    let fold = format!("{} the same {}", same.len(), extent_of(comparison));
    let page = Page {
        title: shown(&format!(
            "{} against {}",
            comparison.candidate.records, comparison.baseline.records
        )),
        made: Vec::new(),
        sections: vec![
            Section::new("short", "In short", vec![Piece::open(head)]),
            Section::new(
                "changed",
                "What changed?",
                vec![Piece::open(changed), Piece::folded(&fold, drawn("same", &same))],
            ),
            Section::new("notes", "Notes", vec![Piece::open(items(&notes(comparison)))]),
        ],
        figures: within(comparison),
    };
    page.render()
}
