//! The output of `brigade limits` as text at most 80 columns wide except for long commands, and its
//! answer to "threads or async for so many connections?".

use harness::flags::{description, name};
use harness::limits::{Forecast, Limit, LimitEffect, Resource};
use indicatif::HumanCount;

use super::group::{percent_with_ends, with_minus};
use super::page::{self, ABSENT, Block, Columns, Table, unbroken};
use super::quantity::{brief_ticks, figure, percent, shown};
use super::verdict::{RunVerdict, no_answer, verdict};
use crate::judge::connections::{Servers, bytes_per_connection, free_memory};
use crate::judge::report::Report;
use crate::judge::row::{Quantity, Row};
use crate::judge::savings::{Saving, Savings};

/// The longest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// Everything about one kind, for so many tasks if they are given.
pub fn kind_page(forecast: &Forecast, tasks: Option<u64>) -> String {
    let mut page = vec![Block::Paragraph(fits_in_words(forecast))];
    if forecast.at_most {
        let unknown = forecast.limits.iter().filter_map(|line| line.limit.unknown.as_deref());
        let unknown = unknown.collect::<Vec<_>>().join(", ");
        let text = format!("Fewer may fit, because this cannot be read: {unknown}.");
        page.push(Block::Paragraph(text));
    }
    if let Some(tasks) = tasks
        && let Some(bytes) = forecast.memory_bytes
    {
        let text = format!("{} need at most {}.", count(tasks), quantity(Resource::Memory, bytes));
        page.push(Block::Paragraph(text));
    }
    page.push(Block::Table(limits_table(forecast)));
    for LimitEffect { limit, .. } in &forecast.limits {
        let name = short_name(limit);
        if let Some(why) = limit.exempt {
            page.push(Block::Paragraph(format!("{name} does not apply: {why}.")));
        }
        if let Some(caveat) = &limit.caveat {
            page.push(Block::Paragraph(format!("{name}: {caveat}.")));
        }
    }
    let commands = raising_commands(forecast, tasks);
    if !commands.is_empty() {
        let heading = match tasks {
            Some(tasks) => format!("To fit {}, run all of:", count(tasks)),
            None => "To double what a limit allows:".to_owned(),
        };
        page.extend([Block::Heading(2, heading), Block::Code(commands)]);
    }
    page::text(&page)
}

/// How many tasks of a kind fit, and which limit decides that.
fn fits_in_words(forecast: &Forecast) -> String {
    let kind = description(&forecast.kind);
    match forecast.binding() {
        Some(line) => {
            let at_most = if forecast.at_most { "At most " } else { "" };
            let fits = count(forecast.fits.unwrap_or(0));
            format!("{at_most}{fits} {kind} fit: the limit is {}.", line.limit.name)
        }
        None if forecast.at_most => format!("No limit of {kind} can be read."),
        None => format!("Nothing limits {kind}."),
    }
}

/// The limits of a kind; the one that decides is marked.
fn limits_table(forecast: &Forecast) -> Table {
    let mark = |line: &LimitEffect| if forecast.binding() == Some(line) { ">" } else { "" };
    let value = |limit: &Limit| match limit.value {
        _ if limit.unknown.is_some() => "unknown".to_owned(),
        Some(value) => quantity(limit.resource, value),
        None => "unlimited".to_owned(),
    };
    Columns::<&LimitEffect>::new()
        .left("", |line| mark(line).to_owned())
        .left("limit", |line| short_name(&line.limit))
        .right("value", |line| value(&line.limit))
        .right("in use", |line| quantity(line.limit.resource, line.limit.in_use))
        .right("per task", |line| quantity(line.limit.resource, line.per_task))
        .right("allows", |line| line.allows.map_or(ABSENT.to_owned(), count))
        .table(&forecast.limits)
}

/// What raises each limit that so many tasks reach, or without a number any.
fn raising_commands(forecast: &Forecast, tasks: Option<u64>) -> String {
    let mut commands = String::new();
    for LimitEffect { limit, allows, command, .. } in &forecast.limits {
        if allows.is_some_and(|allows| tasks.is_none_or(|tasks| allows < tasks)) {
            let name = short_name(limit);
            let way = command.as_deref().unwrap_or("nothing: use fewer tasks, or free some");
            commands += &format!("  {name}\n    {way}\n");
        }
    }
    commands
}

/// After an answer one row per kind: how many fit, and if a number was given whether they do, and
/// their memory.
pub fn kinds_page(kinds: &[Forecast], tasks: Option<u64>, mut page: Vec<Block>) -> String {
    let mut columns = Columns::<&Forecast>::new();
    if let Some(tasks) = tasks {
        let memory = |bytes| quantity(Resource::Memory, bytes);
        columns = columns
            .left(&count(tasks), |forecast| name(&forecast.kind))
            .left("fit?", move |forecast| do_fit(forecast, tasks).to_owned())
            .right("memory", move |forecast| forecast.memory_bytes.map_or(String::new(), memory));
    } else {
        columns = columns.left("kind", |forecast| name(&forecast.kind));
    }
    let limit = |forecast: &Forecast| {
        forecast.binding().map_or(ABSENT.to_owned(), |line| short_name(&line.limit))
    };
    let table = columns
        .right("fit", |forecast| how_many_fit(forecast))
        .left("limit", |forecast| limit(forecast))
        .table(kinds);
    let details = match tasks {
        Some(_) => "All kinds: brigade limits. Details: brigade limits --kind KIND",
        None => "Details: brigade limits --kind KIND",
    };
    let details = details.to_owned();
    page.extend([Block::Table(table), Block::Paragraph(details)]);
    page::text(&page)
}

/// Whether so many tasks of a kind fit.
fn do_fit(forecast: &Forecast, tasks: u64) -> &'static str {
    if !forecast.allows(tasks) {
        "NO"
    } else if forecast.at_most {
        "unknown"
    } else {
        "yes"
    }
}

/// How many tasks of a kind fit. If limits are unknown, it is the most.
fn how_many_fit(forecast: &Forecast) -> String {
    match forecast.fits.map(count) {
        None if forecast.at_most => "unknown".to_owned(),
        Some(fits) if forecast.at_most => format!("at most {fits}"),
        fits => fits.unwrap_or(ABSENT.to_owned()),
    }
}

/// The name of a limit in a table: of a control group's file as much as fits.
fn short_name(limit: &Limit) -> String {
    let path = limit.short_name();
    match path.chars().count().checked_sub(NAME_WIDTH) {
        None | Some(0) => path.to_owned(),
        Some(over) => format!("…{}", path.chars().skip(over + 1).collect::<String>()),
    }
}

/// The answer for so many connections, by a thread or an async task each: whether they fit, what a
/// request costs with both, and what is left of that with work in a request; then the servers that
/// the run measured. Without a run how to make one.
pub fn connections(
    tasks: u64,
    sides: [&Forecast; 2],
    report: Option<&Report>,
    savings: &[Savings],
) -> Vec<Block> {
    let servers = report.and_then(|report| Some((report, Servers::find(report)?)));
    let is_fit = report.is_none_or(|report| report.run.state.is_fit);
    let Fitting { answer, stops } = fitting(tasks, sides);
    let mut page = Vec::new();
    if let Some(stops) = stops {
        page.push(Block::Paragraph(format!("{answer}: {stops}")));
    } else {
        let costs = match &servers {
            None => {
                let command = unbroken("brigade run");
                format!("What they cost is not known yet: {command} (2 minutes)")
            }
            Some((report, _)) if !is_fit => {
                let run = &report.run;
                format!(
                    "What they cost is not known: {}",
                    no_answer(&run.state, Some("brigade run")).line()
                )
            }
            Some((_, servers)) => costs(tasks, sides[0], servers),
        };
        page.push(Block::Paragraph(format!("{answer}. {costs}")));
        page.push(Block::Paragraph(savings.first().and_then(difference).unwrap_or_else(|| {
            let command = unbroken("brigade run serve");
            format!("What is left of that with work in a request: {command} (5 minutes)")
        })));
    }
    if let Some((report, servers)) = servers {
        page.extend(measured_servers(tasks, report, &servers));
    }
    page
}

/// What requests and memory cost with both kinds.
fn costs(tasks: u64, threads: &Forecast, Servers { task, thread, .. }: &Servers) -> String {
    let all = |row: &Row| bytes_per_connection(row).map(|bytes| bytes * tasks as f64);
    let with_memory = |row: &Row, end: &str| {
        let memory = all(row).map(|bytes| format!("{}{end} and ", shown(bytes, Quantity::Bytes)));
        memory.unwrap_or_default() + &figure(row)
    };
    let share = all(thread).zip(free_memory(threads)).map(|(bytes, free)| bytes / free as f64);
    let share = share
        .filter(|share| *share >= MUCH)
        .map_or(String::new(), |share| format!(", {} of the free memory,", percent(share)));
    format!(
        "Threads take {} of CPU per request, async tasks {}.",
        with_memory(thread, &share),
        with_memory(task, "")
    )
}

/// Threads that need this share of the free memory or more are many.
const MUCH: f64 = 0.1;

/// What remains of the difference between the kinds with the least work in a request.
fn difference(savings: &Savings) -> Option<String> {
    let Saving { work_ns, share, .. } = savings.at.first()?;
    share.interval?;
    let work = brief_ticks(*work_ns, Quantity::Nanoseconds);
    Some(format!(
        "With {work} of work per request the difference is {}: {}",
        with_minus(&percent_with_ends(share)),
        unbroken("brigade run serve")
    ))
}

/// What the run measured of servers.
fn measured_servers(tasks: u64, report: &Report, servers: &Servers) -> Vec<Block> {
    let memory =
        |bytes: Option<f64>| bytes.map_or(ABSENT.to_owned(), |bytes| shown(bytes, Quantity::Bytes));
    let all = |row: &Row| bytes_per_connection(row).map(|bytes| bytes * tasks as f64);
    let table = Columns::<&Row>::new()
        .left("a task for each connection", |row| row.label.clone())
        .right("CPU per request", |row| figure(row))
        .right("memory of one", |row| memory(bytes_per_connection(row)))
        .right(&format!("of {}", count(tasks)), |row| memory(all(row)))
        .table(servers.rows.iter().copied());
    let RunVerdict { word, .. } = verdict(&report.run);
    let source = format!("Medians of {}, which was {word}.", report.run.name);
    vec![Block::Table(table), Block::Paragraph(source)]
}

/// Whether so many threads and async tasks fit.
struct Fitting {
    /// In a word or two.
    answer: String,
    /// What stops them; `None` if both fit.
    stops: Option<String>,
}

fn fitting(tasks: u64, [threads, async_tasks]: [&Forecast; 2]) -> Fitting {
    let fit = |what: &str, is_unknown: bool| {
        if is_unknown {
            format!("{what} MAY FIT, as far as limits can be read")
        } else {
            format!("{what} FIT")
        }
    };
    let end = |forecast: &Forecast, what: &str| {
        let limit = forecast.binding().map_or("", |line| &line.limit.name);
        format!("{what} end at {} ({limit})", count(forecast.fits.unwrap_or(0)))
    };
    let raise = |forecast: &Forecast| {
        let kind = name(&forecast.kind);
        let command = unbroken(&format!("brigade limits --kind {kind} --tasks {tasks}"));
        format!("{command} prints how to raise it")
    };
    match [threads, async_tasks].map(|forecast| forecast.allows(tasks)) {
        [true, true] => {
            let is_unknown = threads.at_most || async_tasks.at_most;
            Fitting { answer: fit("BOTH", is_unknown), stops: None }
        }
        [false, true] => Fitting {
            answer: fit("ONLY ASYNC TASKS", async_tasks.at_most),
            stops: Some(format!("{}. {}", end(threads, "threads"), raise(threads))),
        },
        [true, false] => Fitting {
            answer: fit("ONLY THREADS", threads.at_most),
            stops: Some(format!("{}. {}", end(async_tasks, "async tasks"), raise(async_tasks))),
        },
        [false, false] => {
            let ends = [end(threads, "threads"), end(async_tasks, "async tasks")].join(", ");
            let stops = Some(format!("{ends}. {}", raise(async_tasks)));
            Fitting { answer: "NEITHER FITS YET".to_owned(), stops }
        }
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

    use super::super::group::saved;
    use super::*;
    use crate::fixtures;
    use crate::judge::row::{MemoryItem, MemoryPart};
    use crate::judge::state::{Cause, Word};
    use crate::judge::statistics::{Estimate, Interval};

    /// The fixed report, whose hops are requests, with a connection's memory.
    fn report() -> Report {
        let mut report = fixtures::report();
        let blocks = report.screen.iter_mut().flat_map(|part| &mut part.blocks);
        for row in blocks.flat_map(|block| &mut block.rows) {
            row.operation = "request".to_owned();
            let bytes_per_task = Estimate::of(&[10_240.0]).unwrap();
            row.memory = vec![MemoryPart { name: MemoryItem::Sum, bytes_per_task }];
        }
        report
    }

    fn text(limits: &[Limit], report: Option<&Report>) -> String {
        let sides = [Kind::ThreadTcp, Kind::TokioTcp];
        let sides = sides.map(|kind| Forecast::new(kind, Some(1024), limits));
        page::text(&connections(1024, sides.each_ref(), report, &[]))
    }

    #[test]
    fn a_run_that_was_disturbed_or_is_missing_shows_no_costs() {
        let mut report = report();
        report.run.state.word = Word::Busy;
        report.run.state.is_fit = false;
        report.run.state.causes = vec![Cause { word: Word::Busy, share: 0.3, is_bound: false }];
        insta::assert_snapshot!(text(&[], Some(&report)), @"
        BOTH FIT. What they cost is not known: BUSY: other programs took 30 % of the
        CPUs. No answer; repeat it when they have ended: brigade run
        What is left of that with work in a request: brigade run serve (5 minutes)

        a task for each connection CPU per request memory of one of 1,024
        async task                          906 ns      10.0 KiB 10.0 MiB
        thread, one CPU                    1.79 µs      10.0 KiB 10.0 MiB
        thread, to another CPU             22.0 µs      10.0 KiB 10.0 MiB

        Medians of run-1, which was BUSY.
        ");
        insta::assert_snapshot!(text(&[], None), @"
        BOTH FIT. What they cost is not known yet: brigade run (2 minutes)
        What is left of that with work in a request: brigade run serve (5 minutes)
        ");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_limit() {
        let limit = |resource, value| Limit::new(resource, "the limit", Some(value));
        for (limits, answer) in [
            (vec![limit(Resource::Threads, 9)], "ONLY ASYNC TASKS FIT: "),
            (vec![limit(Resource::EpollWatches, 9)], "ONLY THREADS FIT: "),
            (vec![limit(Resource::Files, 9)], "NEITHER FITS YET: "),
            (vec![limit(Resource::Files, 1 << 20)], "BOTH FIT. "),
        ] {
            let shown = text(&limits, None);
            assert!(shown.starts_with(answer), "{answer}: {shown}");
            assert_eq!(shown.contains("the limit"), !answer.starts_with("BOTH"), "{shown}");
        }
        let unknown =
            Limit { unknown: Some("a file".to_owned()), ..limit(Resource::Files, 1 << 20) };
        let shown = text(&[limit(Resource::Threads, 9), unknown.clone()], None);
        assert!(
            shown.starts_with("ONLY ASYNC TASKS MAY FIT, as far as limits can be read"),
            "{shown}"
        );
        let shown = text(&[limit(Resource::EpollWatches, 9), unknown], None);
        assert!(shown.starts_with("ONLY THREADS MAY FIT, as far as limits can be read"), "{shown}");
    }

    /// `limits --tasks` and `run serve` say the same of the work in a request.
    #[test]
    fn the_difference_that_remains_is_that_of_run_serve() {
        let interval = Some(Interval { low: -0.04, high: 0.16 });
        let share = Estimate { value: 0.06, interval, count: 9 };
        let saved_ns = share.map(|share| share * 20_000.0);
        let savings = Savings {
            kind: "async tasks".to_owned(),
            of: "the time".to_owned(),
            place: None,
            operation: "request".to_owned(),
            steps: Vec::new(),
            at: vec![Saving { work_ns: 13_000.0, share, saved_ns }],
            differs: false,
            why: None,
        };
        let shown = with_minus(&percent_with_ends(&share));
        assert!(difference(&savings).unwrap().contains(&shown));
        assert!(saved(&[savings])[0].contains(&shown));
    }
}
