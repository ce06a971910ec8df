//! The output of `brigade limits`: one JSON object, with its schema in
//! `brigade/limits.schema.json`, or text at most 80 columns wide except for long commands.

use std::fmt::Write as _;

use harness::limits::{Forecast, Kind, Line, Resource};
use indicatif::HumanCount;
use serde::Serialize;

use super::page::{ABSENT, Block, Table};
use super::quantity::{NO_BREAK_SPACE, bytes, duration};
use super::text::blocks as blocks_as_text;

/// Version of [`LimitsReport`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// The longest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// How many tasks of each kind fit on this machine, and why.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitsReport {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// The number of tasks that must fit; `null` if none was given.
    pub tasks: Option<u64>,
    /// The kinds of tasks.
    pub kinds: Vec<KindForecast>,
    /// This machine's runs that measured the cost of tasks.
    pub runs: Vec<String>,
}

/// One kind of task.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindForecast {
    /// The kind of task.
    pub kind: Kind,
    /// How many fit.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// The cost of the given number of tasks; `null` if none was given.
    pub of_tasks: Option<OfTasks>,
}

/// The cost of this many tasks, from runs of this machine; `null` if none measured it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfTasks {
    /// Memory of all tasks, including the channels they wait on, in bytes.
    pub memory_bytes: Option<f64>,
    /// Time to create all tasks in sequence, in nanoseconds.
    pub create_ns: Option<f64>,
}

/// The report as text: everything about one kind, or one line for each of several.
pub fn page(report: &LimitsReport) -> String {
    let blocks = match &report.kinds[..] {
        [kind] => of_kind(kind, report),
        kinds => vec![
            Block::Table(match report.tasks {
                Some(tasks) => of_tasks(kinds, tasks),
                None => of_kinds(kinds),
            }),
            Block::Paragraph(advice(report)),
        ],
    };
    blocks_as_text(&blocks)
}

fn of_kind(of: &KindForecast, report: &LimitsReport) -> Vec<Block> {
    let KindForecast { kind, forecast, of_tasks } = of;
    let tasks = kind.tasks();
    let mut page = vec![match forecast.binding().zip(forecast.fits) {
        Some((line, fits)) => {
            format!("{} {tasks} fit: the limit is {}.", count(fits), line.limit.name)
        }
        None => format!("No limit binds {tasks}."),
    }];
    page.extend(forecast.next().and_then(|Line { limit, allows, .. }| {
        Some(format!("Once it is raised, {} is next, at {}.", limit.name, count((*allows)?)))
    }));
    let tasks = report.tasks.unwrap_or_default();
    page.extend(of_tasks.and_then(|of| of.memory_bytes).map(|all| {
        let created = of_tasks.and_then(|of| of.create_ns).map_or(String::new(), |ns| {
            format!(" and take {} to create, one after another", duration(ns))
        });
        let (tasks, runs) = (count(tasks), report.runs.join(", "));
        format!("{tasks} use {}{created}, by {runs}.", bytes(all))
    }));
    let mut page: Vec<Block> = page.into_iter().map(Block::Paragraph).collect();
    page.push(Block::Table(table(forecast)));
    page.extend(forecast.limits.iter().filter_map(|line| {
        let reason = line.limit.exempt.as_ref()?;
        Some(Block::Paragraph(format!("{} is no limit: {reason}.", short_name(line))))
    }));
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

/// One row per kind: whether this many fit, and their cost.
fn of_tasks(kinds: &[KindForecast], tasks: u64) -> Table {
    let mut table = Table::of(&format!("{}|fit?|>memory|>created in|>at most|limit", count(tasks)));
    for KindForecast { kind, forecast, of_tasks } in kinds {
        let fits = forecast.fits.is_none_or(|fits| fits >= tasks);
        let taken = |of: fn(&OfTasks) -> Option<f64>, shown: fn(f64) -> String| {
            of_tasks.as_ref().and_then(of).map_or(ABSENT.to_owned(), shown)
        };
        table.push(vec![
            kind.to_string(),
            if fits { "yes" } else { "NO" }.to_owned(),
            taken(|of| of.memory_bytes, bytes),
            taken(|of| of.create_ns, duration),
            forecast.fits.map_or(ABSENT.to_owned(), count),
            forecast.binding().map_or(ABSENT.to_owned(), short_name),
        ]);
    }
    table
}

/// The sources of the figures, and where to read more.
fn advice(report: &LimitsReport) -> String {
    let more = "Details: brigade limits --kind KIND";
    match (&report.tasks, &report.runs[..]) {
        (None, _) => more.to_owned(),
        (Some(_), []) => {
            format!("No run on this machine has measured their cost: brigade run. {more}")
        }
        (Some(tasks), runs) => {
            format!("Memory and times by {}. {more} --tasks {tasks}", runs.join(", "))
        }
    }
}

fn of_kinds(kinds: &[KindForecast]) -> Table {
    let mut table = Table::of("kind|limit|>fit|>when raised");
    let number = |number: Option<u64>| number.map_or(ABSENT.to_owned(), count);
    for KindForecast { kind, forecast, .. } in kinds {
        table.push(vec![
            kind.to_string(),
            forecast.binding().map_or(ABSENT.to_owned(), short_name),
            number(forecast.fits),
            number(forecast.next().and_then(|line| line.allows)),
        ]);
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
            line.limit.value.map_or("unlimited".to_owned(), quantity),
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

/// A count with thousands separators: `16,370`.
fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// An amount of a resource: bytes in a binary unit, anything else as a count.
fn quantity(resource: Resource, amount: u64) -> String {
    match amount {
        0 if resource.is_bytes() => format!("0{NO_BREAK_SPACE}B"),
        _ if resource.is_bytes() => bytes(amount as f64),
        _ => count(amount),
    }
}
