//! The output of `brigade limits`: one JSON object, or text at most 80 columns wide except for long
//! commands.

use std::fmt::Write as _;

use harness::limits::{Forecast, Kind, Line, Resource};
use indicatif::HumanCount;
use serde::Serialize;

use super::page::{self, ABSENT, Block, Table};
use super::quantity::{NO_BREAK_SPACE, bytes};

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
            let table = Block::Table(match report.tasks {
                Some(tasks) => of_tasks(kinds, tasks),
                None => of_kinds(kinds),
            });
            let details = Block::Paragraph("Details: brigade limits --kind KIND".to_owned());
            answer.into_iter().chain([table, details]).collect()
        }
    };
    page::text(&blocks)
}

fn of_kind(of: &KindForecast, report: &LimitsReport) -> Vec<Block> {
    let KindForecast { kind, forecast, memory_bytes } = of;
    let tasks = kind.tasks();
    let unknown: Vec<&str> =
        forecast.limits.iter().filter_map(|line| line.limit.unknown.as_deref()).collect();
    let mut page = vec![match forecast.binding().zip(forecast.fits) {
        Some((line, fits)) => {
            let fits = at_most(forecast, count(fits)).replacen('a', "A", 1);
            format!("{fits} {tasks} fit: the limit is {}.", line.limit.name)
        }
        None if forecast.at_most => format!("It is unknown how many {tasks} fit."),
        None => format!("No limit binds {tasks}."),
    }];
    if forecast.at_most {
        page.push(format!("Fewer may fit, since this cannot be read: {}.", unknown.join(", ")));
    }

    page.extend(report.tasks.zip(*memory_bytes).map(|(tasks, bytes)| {
        format!("{} need at most {}.", count(tasks), quantity(Resource::Memory, bytes))
    }));
    let mut page: Vec<Block> = page.into_iter().map(Block::Paragraph).collect();
    page.push(Block::Table(table(forecast)));
    page.extend(forecast.limits.iter().filter_map(|line| {
        let reason = line.limit.exempt.as_ref()?;
        Some(Block::Paragraph(format!("{} is no limit: {reason}.", short_name(line))))
    }));
    page.extend(forecast.limits.iter().filter_map(|line| {
        let caveat = line.limit.caveat.as_ref()?;
        Some(Block::Paragraph(format!("{}: {caveat}.", short_name(line))))
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

/// One row per kind: whether this many fit, and their memory.
fn of_tasks(kinds: &[KindForecast], tasks: u64) -> Table {
    let mut table = Table::of(&format!("{}|fit?|>memory|>at most|limit", count(tasks)));
    for KindForecast { kind, forecast, memory_bytes } in kinds {
        let fits = forecast.fits.is_none_or(|fits| fits >= tasks);
        table.push(vec![
            kind.to_string(),
            if !fits {
                "NO"
            } else if forecast.at_most {
                "unknown"
            } else {
                "yes"
            }
            .to_owned(),
            memory_bytes.map_or(ABSENT.to_owned(), |all| quantity(Resource::Memory, all)),
            forecast.fits.map_or(ABSENT.to_owned(), count),
            forecast.binding().map_or(ABSENT.to_owned(), short_name),
        ]);
    }
    table
}

/// The number of tasks that fit, unless limits are unknown: then it is the most.
fn at_most(forecast: &Forecast, fits: String) -> String {
    match fits.as_str() {
        ABSENT if forecast.at_most => "unknown".to_owned(),
        _ if forecast.at_most => format!("at most {fits}"),
        _ => fits,
    }
}

fn of_kinds(kinds: &[KindForecast]) -> Table {
    let mut table = Table::of("kind|limit|>fit");
    for KindForecast { kind, forecast, .. } in kinds {
        table.push(vec![
            kind.to_string(),
            forecast.binding().map_or(ABSENT.to_owned(), short_name),
            at_most(forecast, forecast.fits.map_or(ABSENT.to_owned(), count)),
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

/// A count with thousands separators: `16,370`.
pub fn count(number: u64) -> String {
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
