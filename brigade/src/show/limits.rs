//! The output of `brigade limits`: one JSON object, or text at most 80 columns wide except for long
//! commands; and its answer to "threads or async for so many connections?".

use std::fmt::Write as _;

use harness::flags::description;
use harness::limits::{Forecast, Kind, Line, Resource};
use indicatif::HumanCount;
use serde::Serialize;

use super::page::{self, ABSENT, Block, Table};
use super::quantity::{factor, figure, shown, small_share};
use crate::judge::connections::{Choice, Pair, decide, pairs};
use crate::judge::report::Report;
use crate::judge::row::{Quantity, Row};

/// The longest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// How many tasks of each kind fit on this machine, and why.
#[derive(Debug, Serialize)]
pub struct LimitsReport {
    /// The number of tasks that must fit; `null` if none was given.
    pub tasks: Option<u64>,
    /// The kinds of tasks.
    pub kinds: Vec<KindForecast>,
}

/// One kind of task.
#[derive(Debug, Serialize)]
pub struct KindForecast {
    /// The kind of task.
    pub kind: Kind,
    /// How many fit.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// The memory of this many tasks, at most; `null` if no number was given.
    pub memory_bytes: Option<u64>,
}

/// The report as text: everything about one kind, or one line for each of several, after an
/// answer.
pub fn page(report: &LimitsReport, answer: Vec<Block>) -> String {
    let blocks = match &report.kinds[..] {
        [kind] => of_kind(kind, report),
        kinds => {
            let table = Block::Table(of_kinds(kinds, report.tasks));
            let details = Block::Paragraph("Details: brigade limits --kind KIND".to_owned());
            answer.into_iter().chain([table, details]).collect()
        }
    };
    page::text(&blocks)
}

fn of_kind(kind: &KindForecast, report: &LimitsReport) -> Vec<Block> {
    let KindForecast { kind, forecast, memory_bytes } = kind;
    let tasks = description(kind);
    let unknown: Vec<&str> =
        forecast.limits.iter().filter_map(|line| line.limit.unknown.as_deref()).collect();
    let mut page = vec![match forecast.binding() {
        Some(line) => {
            let fits = at_most(forecast).replacen('a', "A", 1);
            format!("{fits} {tasks} fit: the limit is {}.", line.limit.name)
        }
        None if forecast.at_most => format!("No limit of {tasks} can be read."),
        None => format!("Nothing limits {tasks}."),
    }];
    if forecast.at_most {
        page.push(format!("Fewer may fit, because this cannot be read: {}.", unknown.join(", ")));
    }

    page.extend(report.tasks.zip(*memory_bytes).map(|(tasks, bytes)| {
        format!("{} need at most {}.", count(tasks), quantity(Resource::Memory, bytes))
    }));
    let mut page: Vec<Block> = page.into_iter().map(Block::Paragraph).collect();
    page.push(Block::Table(table(forecast)));
    for line in &forecast.limits {
        let name = short_name(line);
        let exempt = line.limit.exempt.as_ref().map(|why| format!("{name} does not apply: {why}."));
        let caveat = line.limit.caveat.as_ref().map(|caveat| format!("{name}: {caveat}."));
        page.extend(exempt.into_iter().chain(caveat).map(Block::Paragraph));
    }
    let commands = raising(forecast, report.tasks);
    if !commands.is_empty() {
        let heading = match report.tasks {
            Some(tasks) => format!("To fit {}, run all of:", count(tasks)),
            None => "To double what a limit allows:".to_owned(),
        };
        page.push(Block::Heading(2, heading));
    }
    page.push(Block::Code(commands));
    page
}

/// The number of tasks that fit, unless limits are unknown: then it is the most.
fn at_most(forecast: &Forecast) -> String {
    match forecast.fits.map(count) {
        None if forecast.at_most => "unknown".to_owned(),
        Some(fits) if forecast.at_most => format!("at most {fits}"),
        fits => fits.unwrap_or(ABSENT.to_owned()),
    }
}

/// One row per kind: how many fit, and if a number was given whether they do, and their memory.
fn of_kinds(kinds: &[KindForecast], tasks: Option<u64>) -> Table {
    let mut table = Table::of(&match tasks {
        Some(tasks) => format!("{}|fit?|>memory|>fit|limit", count(tasks)),
        None => "kind|>fit|limit".to_owned(),
    });
    for KindForecast { kind, forecast, memory_bytes } in kinds {
        let limit = forecast.binding().map_or(ABSENT.to_owned(), short_name);
        let mut cells = vec![kind.to_string(), at_most(forecast), limit];
        if let Some((tasks, bytes)) = tasks.zip(*memory_bytes) {
            let fits = match forecast.fits {
                Some(fits) if fits < tasks => "NO",
                _ if forecast.at_most => "unknown",
                _ => "yes",
            };
            cells.splice(1..1, [fits.to_owned(), quantity(Resource::Memory, bytes)]);
        }
        table.push(cells);
    }
    table
}

fn table(forecast: &Forecast) -> Table {
    let mut table = Table::of("|limit|>value|>in use|>per task|>allows");
    for line in &forecast.limits {
        let quantity = |amount| quantity(line.limit.resource, amount);
        table.push(vec![
            if forecast.binding() == Some(line) { ">" } else { "" }.to_owned(),
            short_name(line),
            match (&line.limit.unknown, line.limit.value) {
                (Some(_), _) => "unknown".to_owned(),
                (None, value) => value.map_or("unlimited".to_owned(), quantity),
            },
            quantity(line.limit.in_use),
            quantity(line.per_task),
            line.allows.map_or(ABSENT.to_owned(), count),
        ]);
    }
    table
}

/// The commands that raise limits that are too low.
fn raising(forecast: &Forecast, tasks: Option<u64>) -> String {
    let too_tight =
        |line: &&Line| line.allows.is_some_and(|allows| tasks.is_none_or(|tasks| allows < tasks));
    let mut text = String::new();
    for line in forecast.limits.iter().filter(too_tight) {
        let way = line.command.as_deref().unwrap_or("nothing: use fewer tasks, or free some");
        let _ = writeln!(text, "  {}\n    {way}", short_name(line));
    }
    text
}

/// The name of a limit in a table: of a control group's file as much as fits.
fn short_name(line: &Line) -> String {
    let name = &line.limit.name;
    let path = name.strip_prefix("/sys/fs/cgroup/").unwrap_or(name);
    match path.chars().count().checked_sub(NAME_WIDTH) {
        None | Some(0) => path.to_owned(),
        Some(over) => format!("…{}", path.chars().skip(over + 1).collect::<String>()),
    }
}

/// The answer for so many connections and a table of what the run measured; without a run how to
/// make one.
pub fn connections(tasks: u64, kinds: &[KindForecast], report: Option<&Report>) -> Vec<Block> {
    let find = |kind| kinds.iter().find(|forecast| forecast.kind == kind);
    let pair = find(Kind::ThreadTcp).zip(find(Kind::TokioTcp));
    let Some((threads, async_tasks)) = pair else { return Vec::new() };
    let pairs = report.map_or_else(Vec::new, pairs);
    let mut page = vec![Block::Paragraph(answer(tasks, threads, async_tasks, &pairs))];
    let Some(report) = report.filter(|_| !pairs.is_empty()) else {
        let advice = "No run of this machine has their memory and times: brigade run (3 minutes).";
        page.push(Block::Paragraph(advice.to_owned()));
        return page;
    };
    let mut table = Table::of("|>async task|>thread|>×|thread");
    for Pair { what, task, thread, ratio } in pairs {
        let what = what.join(", ").trim_end_matches(", ").to_owned();
        let label = thread.label.clone();
        table.push(vec![what, figure(task), figure(thread), factor(ratio.value), label]);
    }
    page.push(Block::Table(table));
    page.push(Block::Paragraph(format!("Medians of {}.", report.run.name)));
    page
}

/// One sentence: which of the two, and why.
fn answer(
    tasks: u64,
    threads: &KindForecast,
    async_tasks: &KindForecast,
    pairs: &[Pair],
) -> String {
    let decision = decide(tasks, &threads.forecast, &async_tasks.forecast, pairs);
    let number = count(tasks);
    let most = |KindForecast { forecast, .. }: &KindForecast, what: &str| {
        let limit = forecast.binding().map_or("", |line| &line.limit.name);
        format!("{} {what} ({limit})", count(forecast.fits.unwrap_or(0)))
    };
    let mut text = match decision.choice {
        Choice::OnlyAsync => {
            let most = most(threads, "threads");
            return format!("Async: only {most} fit here, but {number} async tasks do.");
        }
        Choice::Neither => {
            let (most, kind) = (most(async_tasks, "async tasks"), async_tasks.kind);
            return format!(
                "Neither fits yet: at most {most}. brigade limits --kind {kind} --tasks {tasks} \
                 prints how to raise it."
            );
        }
        Choice::Async => format!("Async: {number} threads fit"),
        Choice::Either => format!("Either: {number} threads fit"),
    };
    let mut but = ", but";
    if let Some(pair) = decision.by_time {
        let (operation, times) = (&pair.thread.operation, factor(pair.ratio.value));
        text += &format!("{but} a {operation} takes {times} times as long");
        but = ", and";
    }
    if let Some(pair) = decision.by_memory {
        let bytes = |row: &Row| row.figure.map_or(0.0, |figure| figure.value) * tasks as f64;
        let all = |row: &Row| shown(bytes(row), Quantity::Bytes);
        text += &format!("{but} they hold {} instead of {}", all(pair.thread), all(pair.task));
        let share = decision.share.map(small_share);
        text.extend(share.map(|share| format!(", {share} of the free memory")));
    }
    text + "."
}

/// A count with thousands separators: `16,370`.
fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// An amount of a resource: bytes in a binary unit, anything else as a count.
fn quantity(resource: Resource, amount: u64) -> String {
    if resource.is_bytes() { shown(amount as f64, Quantity::Bytes) } else { count(amount) }
}
