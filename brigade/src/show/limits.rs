//! The output of `brigade limits` as text at most 80 columns wide except for long commands, and its
//! answer to "threads or async for so many connections?".

use harness::flags::{description, name};
use harness::limits::{Forecast, Limit, Line, Resource};
use indicatif::HumanCount;

use super::group::saved;
use super::page::{self, ABSENT, Block, Table, joined, left, right};
use super::quantity::{factor, figure, shown, small_share};
use super::verdict::{Verdict, verdict};
use crate::judge::connections::{Decision, Pair, decide, pairs};
use crate::judge::report::Report;
use crate::judge::row::{Quantity, Row};
use crate::judge::savings::Savings;

/// The longest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// Everything about one kind, for so many tasks if they are given.
pub fn of_kind(forecast: &Forecast, tasks: Option<u64>) -> String {
    let kind = description(&forecast.kind);
    let mut page = vec![match forecast.binding() {
        Some(line) => {
            let at_most = if forecast.at_most { "At most " } else { "" };
            let fits = count(forecast.fits.unwrap_or(0));
            format!("{at_most}{fits} {kind} fit: the limit is {}.", line.limit.name)
        }
        None if forecast.at_most => format!("No limit of {kind} can be read."),
        None => format!("Nothing limits {kind}."),
    }];
    if forecast.at_most {
        let unknown = forecast.limits.iter().filter_map(|line| line.limit.unknown.as_deref());
        let unknown = unknown.collect::<Vec<_>>().join(", ");
        page.push(format!("Fewer may fit, because this cannot be read: {unknown}."));
    }
    page.extend(tasks.zip(forecast.memory_bytes).map(|(tasks, bytes)| {
        format!("{} need at most {}.", count(tasks), quantity(Resource::Memory, bytes))
    }));

    let mut table = Table::new([
        left(""),
        left("limit"),
        right("value"),
        right("in use"),
        right("per task"),
        right("allows"),
    ]);
    let (mut notes, mut commands) = (Vec::new(), String::new());
    for line in &forecast.limits {
        let Line { limit, per_task, allows, command } = line;
        let name = short_name(limit);
        let quantity = |amount| quantity(limit.resource, amount);
        table.push(vec![
            if forecast.binding() == Some(line) { ">" } else { "" }.to_owned(),
            name.clone(),
            match (&limit.unknown, limit.value) {
                (Some(_), _) => "unknown".to_owned(),
                (None, value) => value.map_or("unlimited".to_owned(), quantity),
            },
            quantity(limit.in_use),
            quantity(*per_task),
            allows.map_or(ABSENT.to_owned(), count),
        ]);
        notes.extend(limit.exempt.map(|why| format!("{name} does not apply: {why}.")));
        notes.extend(limit.caveat.as_ref().map(|caveat| format!("{name}: {caveat}.")));
        if allows.is_some_and(|allows| tasks.is_none_or(|tasks| allows < tasks)) {
            let way = command.as_deref().unwrap_or("nothing: use fewer tasks, or free some");
            commands += &format!("  {name}\n    {way}\n");
        }
    }
    let mut page: Vec<Block> = page.into_iter().map(Block::Paragraph).collect();
    page.push(Block::Table(table));
    page.extend(notes.into_iter().map(Block::Paragraph));
    if !commands.is_empty() {
        let heading = match tasks {
            Some(tasks) => format!("To fit {}, run all of:", count(tasks)),
            None => "To double what a limit allows:".to_owned(),
        };
        page.extend([Block::Heading(2, heading), Block::Code(commands)]);
    }
    page::text(&page)
}

/// After an answer one row per kind: how many fit, and if a number was given whether they do, and
/// their memory.
pub fn of_kinds(kinds: &[Forecast], tasks: Option<u64>, mut page: Vec<Block>) -> String {
    let mut table = Table::new(match tasks {
        Some(tasks) => {
            vec![left(&count(tasks)), left("fit?"), right("memory"), right("fit"), left("limit")]
        }
        None => vec![left("kind"), right("fit"), left("limit")],
    });
    for forecast in kinds {
        // If limits are unknown, it is the most.
        let fits = match forecast.fits.map(count) {
            None if forecast.at_most => "unknown".to_owned(),
            Some(fits) if forecast.at_most => format!("at most {fits}"),
            fits => fits.unwrap_or(ABSENT.to_owned()),
        };
        let limit = forecast.binding().map_or(ABSENT.to_owned(), |line| short_name(&line.limit));
        let mut cells = vec![name(&forecast.kind), fits, limit];
        if let Some((tasks, bytes)) = tasks.zip(forecast.memory_bytes) {
            let fits = if !forecast.allows(tasks) {
                "NO"
            } else if forecast.at_most {
                "unknown"
            } else {
                "yes"
            };
            cells.splice(1..1, [fits.to_owned(), quantity(Resource::Memory, bytes)]);
        }
        table.push(cells);
    }
    let details = "Details: brigade limits --kind KIND".to_owned();
    page.extend([Block::Table(table), Block::Paragraph(details)]);
    page::text(&page)
}

/// The name of a limit in a table: of a control group's file as much as fits.
fn short_name(limit: &Limit) -> String {
    let path = limit.short_name();
    match path.chars().count().checked_sub(NAME_WIDTH) {
        None | Some(0) => path.to_owned(),
        Some(over) => format!("…{}", path.chars().skip(over + 1).collect::<String>()),
    }
}

/// The answer for so many connections, by a thread or an async task each, what async tasks save by
/// the work in a request, and a table of what the run measured; without a run how to make one.
pub fn connections(
    tasks: u64,
    sides: &[Forecast; 2],
    report: Option<&Report>,
    savings: &[Savings],
) -> Vec<Block> {
    let pairs = report.map_or_else(Vec::new, pairs);
    let is_fit = report.is_none_or(|report| report.run.state.is_fit);
    // Ratios of a disturbed run decide nothing.
    let deciding = if is_fit { &pairs[..] } else { &[] };
    let mut page = vec![Block::Paragraph(answer(tasks, sides, deciding))];
    page.push(Block::Paragraph(match &saved(savings)[..] {
        [] => "Whether that matters next to the work in a request: brigade run serve.".to_owned(),
        sentences => sentences.join("\n"),
    }));
    let Some(report) = report.filter(|_| !pairs.is_empty()) else {
        let advice = "No run of this machine has their memory and times: brigade run (3 minutes).";
        page.push(Block::Paragraph(advice.to_owned()));
        return page;
    };
    let mut table =
        Table::new([left(""), right("async task"), right("thread"), right("×"), left("thread")]);
    for Pair { what, task, thread, ratio } in pairs {
        let label = thread.label.clone();
        table.push(vec![joined(what), figure(task), figure(thread), factor(ratio.value), label]);
    }
    let Verdict { word, text, .. } = verdict(&report.run);
    if !is_fit {
        let text = format!(
            "{word}: {text} They decide nothing; repeat them on a quiet machine: brigade run"
        );
        page.push(Block::Paragraph(text));
    }
    let source = format!("Medians of {}, which was {word}.", report.run.name);
    page.extend([Block::Table(table), Block::Paragraph(source)]);
    page
}

/// One sentence: which of the two, and why.
fn answer(tasks: u64, [threads, async_tasks]: &[Forecast; 2], pairs: &[Pair]) -> String {
    let number = count(tasks);
    let most = |forecast: &Forecast, what: &str| {
        let limit = forecast.binding().map_or("", |line| &line.limit.name);
        format!("{} {what} ({limit})", count(forecast.fits.unwrap_or(0)))
    };
    if !async_tasks.allows(tasks) {
        let (most, kind) = (most(async_tasks, "async tasks"), name(&async_tasks.kind));
        return format!(
            "Neither fits yet: at most {most}. brigade limits --kind {kind} --tasks {tasks} \
             prints how to raise it."
        );
    }
    if !threads.allows(tasks) {
        let most = most(threads, "threads");
        let (do_fit, _) = fitting(async_tasks);
        return format!("Async: only {most} fit here, but {number} async tasks {do_fit}.");
    }
    let Decision { is_for_async, by_time, by_memory, share } = decide(tasks, threads, pairs);
    let time = by_time.map(|pair| {
        let times = factor(pair.ratio.value);
        format!("a {} takes {times} times as long", pair.thread.operation)
    });
    let memory = by_memory.map(|pair| {
        let all = |row: &Row| shown(row.value() * tasks as f64, Quantity::Bytes);
        let share = share
            .map_or(String::new(), |share| format!(", {} of the free memory", small_share(share)));
        format!("they hold {} instead of {}{share}", all(pair.thread), all(pair.task))
    });
    let reasons: Vec<String> = time.into_iter().chain(memory).collect();
    let which = if is_for_async { "Async" } else { "Either" };
    let but = if reasons.is_empty() { "" } else { ", but " };
    let (_, fit) = fitting(threads);
    format!("{which}: {number} threads {fit}{but}{}.", reasons.join(", and "))
}

/// Whether tasks that no known limit refuses fit: what follows "these do not, but those", and "those".
fn fitting(forecast: &Forecast) -> (&'static str, &'static str) {
    if forecast.at_most {
        ("may, as far as limits can be read", "may fit, as far as limits can be read")
    } else {
        ("do", "fit")
    }
}

/// A count with thousands separators: `16,370`.
fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// An amount of a resource: bytes in a binary unit, anything else as a count.
fn quantity(resource: Resource, amount: u64) -> String {
    use Resource::{AddressSpace, Data, LockedMemory, Memory};
    match resource {
        Memory | AddressSpace | Data | LockedMemory => shown(amount as f64, Quantity::Bytes),
        _ => count(amount),
    }
}

#[cfg(test)]
mod tests {
    use harness::limits::Kind;

    use super::*;
    use crate::fixtures;
    use crate::judge::state::Word;

    #[test]
    fn a_disturbed_run_decides_nothing_between_threads_and_tasks() {
        let sides =
            [Kind::ThreadTcp, Kind::TokioTcp].map(|kind| Forecast::new(kind, Some(10), &[]));
        let mut report = fixtures::report();
        let blocks = report.screen.iter_mut().flat_map(|part| &mut part.blocks);
        for row in blocks.flat_map(|block| &mut block.rows) {
            row.operation = "request".to_owned();
        }
        let text = |report: &Report| page::text(&connections(10, &sides, Some(report), &[]));
        let quiet = text(&report);
        assert!(quiet.starts_with("Async: ") && quiet.contains("which was QUIET"), "{quiet}");
        (report.run.state.word, report.run.state.is_fit) = (Word::Busy, false);
        let busy = text(&report);
        assert!(busy.starts_with("Either: ") && busy.contains("BUSY: "), "{busy}");
    }
}
