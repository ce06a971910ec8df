//! The answer of `brigade advise`: in what this machine is slow, and the settings that may be the
//! reason.

use super::page::{Block, Columns, item, joined, unbroken};
use super::quantity::{factor, figure};
use super::verdict::{RunVerdict, no_answer, verdict};
use crate::judge::advice::{CostKind, Setting, Slow};
use crate::judge::environment::Unusual;
use crate::judge::rank::Rank;
use crate::judge::report::Report;

/// The headings.
const INHERITED: &str = "Programs started here inherit, unlike the usual value in parentheses:";
const SETTINGS: &str = "Settings of this machine that change the results, those first that affect \
    what it is slowest in. Tests that write one need root.";
const NO_SETTINGS: &str = "No setting known to change the results applies here.";

/// The most things that the first line names.
const MOST_NAMED: usize = 3;

/// A run, the rank of its figures among recorded machines, and what is slow.
pub struct Standing<'a> {
    pub report: &'a Report,
    pub ranks: &'a [Rank<'a>],
    pub slow: &'a [(Slow<'a>, f64)],
}

/// The answer, the settings, what programs inherit, and the ranks.
pub fn page(standing: Option<&Standing>, settings: &[Setting], unusual: &[Unusual]) -> Vec<Block> {
    let mut page = vec![Block::Paragraph(standing.map_or_else(unknown, answer))];
    let heading = if settings.is_empty() { NO_SETTINGS } else { SETTINGS };
    page.push(Block::Heading(2, heading.to_owned()));
    page.extend(settings.iter().flat_map(setting));
    if !unusual.is_empty() {
        page.push(Block::Heading(2, INHERITED.to_owned()));
        page.push(Block::Items(unusual.iter().map(unlike_usual).collect()));
    }
    if let Some(standing) = standing
        && !standing.ranks.is_empty()
    {
        page.extend(ranks(standing, settings));
    }
    page
}

/// Says that no run shows whether this machine is slow, and what would.
fn unknown() -> String {
    let command = unbroken("brigade run");
    format!(
        "NO ANSWER: no run shows how fast this machine is. Measure it first: {command} (2 minutes)"
    )
}

/// Whether this machine is slow, and in what.
fn answer(Standing { report, ranks, slow }: &Standing) -> String {
    if !report.run.state.is_comparable {
        return no_answer(&report.run.state, Some("brigade run")).line();
    }
    if ranks.is_empty() {
        let command = unbroken("brigade run");
        return format!(
            "NO ANSWER: too few recorded machines have the figures of {}. Measure those that most \
             have: {command} (2 minutes)",
            report.run.name
        );
    }
    let all = ranks.len();
    let slow_figures = ranks.iter().filter(|rank| rank.is_slow()).count();
    let machines = ranks.iter().map(|rank| rank.known).max().unwrap_or(0);
    if slow.is_empty() {
        let figures =
            if all == 1 { "The one figure is" } else { &format!("All {all} figures are") };
        return format!(
            "USUAL: {figures} as good as on at least half of the {machines} recorded machines."
        );
    }
    if 2 * slow_figures > all {
        return format!(
            "SLOW: {slow_figures} of {all} figures are worse here than on most of the {machines} \
             recorded machines."
        );
    }
    let mut things = slow.iter().take(MOST_NAMED).map(|(what, ratio)| {
        let times = format!("{} times", factor(*ratio));
        (thing(what), times)
    });
    let (first, times) = things.next().unwrap_or_default();
    let mut text = format!(
        "SLOW IN {}: {first} takes {times} the median of the {machines} recorded machines",
        things_in_words(slow.len())
    );
    for (thing, times) in things {
        text += &format!(", {thing} {times}");
    }
    if slow.len() > MOST_NAMED {
        text += &format!(", and {} more below", slow.len() - MOST_NAMED);
    }
    text + ". The rest is usual."
}

fn things_in_words(count: usize) -> String {
    match count {
        1 => "ONE THING".to_owned(),
        2 => "TWO THINGS".to_owned(),
        3 => "THREE THINGS".to_owned(),
        count => format!("{count} THINGS"),
    }
}

/// What is slow, as the subject of a sentence.
fn thing(slow: &Slow) -> String {
    match slow {
        Slow::Cost(CostKind::Waking) => "waking a sleeping CPU".to_owned(),
        Slow::Cost(CostKind::Switching) => "switching".to_owned(),
        Slow::Cost(CostKind::Creation) => "creating a thread or a process".to_owned(),
        Slow::Figure(row, block) => format!("“{}”", joined([&row.label, block])),
    }
}

/// A setting with its commands, which are not wrapped.
fn setting(setting: &Setting) -> [Block; 2] {
    let Setting { name, advised, change, does, source, now, test, restore, .. } = setting;
    let heading = match now {
        Some(now) => format!("{name}: {now}; try {advised}"),
        None => format!("{name}: cannot be read; “{advised}” may be faster"),
    };
    let measure = if restore.is_some() { "test" } else { "before and after" };
    let mut text = item(&format!("{does} ({source})"));
    let commands =
        [("change", change.as_ref()), (measure, Some(test)), ("restore", restore.as_ref())];
    for (what, command) in commands {
        if let Some(command) = command {
            text += &format!("  {what}: {command}\n");
        }
    }
    [Block::Heading(2, heading), Block::Code(text)]
}

/// A fact that programs started here inherit.
fn unlike_usual(Unusual { name, now, usual, does, .. }: &Unusual) -> String {
    let usual = usual.first().map_or("usually absent", String::as_str);
    format!("{name}: {now} ({usual}): {does}")
}

/// Each figure of a run among recorded machines, and a setting that may be the reason.
fn ranks(Standing { report, ranks, .. }: &Standing, settings: &[Setting]) -> Vec<Block> {
    let worse_than = |rank: &Rank| {
        let mark = if rank.is_slow() { " !" } else { "" };
        format!("{} of {}{mark}", rank.better, rank.known)
    };
    let suspect = |rank: &Rank| {
        let may_slow = |setting: &&Setting| rank.is_slow() && rank.cost == Some(setting.cost);
        settings.iter().find(may_slow).map_or(String::new(), |setting| setting.name.clone())
    };
    let table = Columns::<&Rank>::new()
        .left("figure", |rank| joined([&rank.row.label, rank.block]))
        .right("here", |rank| figure(rank.row))
        .left("worse than", |rank| worse_than(rank))
        .right("×", |rank| factor(rank.ratio))
        .left("suspect", |rank| suspect(rank))
        .table(*ranks);
    let RunVerdict { word, .. } = verdict(&report.run);
    let source = format!(
        "Medians of {}, which was {word}. ×: relative to the median of recorded machines.",
        report.run.name
    );
    vec![Block::Table(table), Block::Paragraph(source)]
}

#[cfg(test)]
mod tests {
    use super::super::page::text;
    use super::*;
    use crate::fixtures;
    use crate::judge::state::Word;

    #[test]
    fn without_a_figure_to_rank_the_first_line_says_what_to_type() {
        let mut report = fixtures::report();
        report.run.state.is_comparable = true;
        let standing = Standing { report: &report, ranks: &[], slow: &[] };
        for standing in [None, Some(&standing)] {
            let shown = text(&page(standing, &[], &[]));
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.starts_with("NO ANSWER: "), "{shown}");
            assert!(shown.contains("brigade run (2 minutes)"), "{shown}");
            assert!(!shown.contains("suspect"), "no table without rows: {shown}");
        }
        report.run.state.word = Word::Busy;
        report.run.state.is_comparable = false;
        let standing = Standing { report: &report, ranks: &[], slow: &[] };
        assert!(text(&page(Some(&standing), &[], &[])).starts_with("BUSY: "));
    }
}
