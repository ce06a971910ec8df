//! The output of `brigade limits`: one JSON object, with its schema in
//! `brigade/limits.schema.json`, or text at most 80 columns wide except for long commands.

use std::fmt::Write as _;

use clap::ValueEnum as _;
use harness::Amounts;
use harness::limits::{Forecast, Kind, Line, Resource};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use super::page::{ABSENT, Block, Table};
use super::quantity::{NO_BREAK_SPACE, bytes, duration};
use super::text::blocks as blocks_as_text;

/// Version of [`LimitsReport`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// The longest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// The tolerated difference of reached and predicted, in percent.
const TOLERANCE_PERCENT: f64 = 1.0;

/// How many tasks of each kind fit on this machine, and why.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
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
    /// The accuracy of the prediction; `null` without `--verify`.
    pub verified: Option<Verified>,
}

/// One kind of task.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfTasks {
    /// Memory of all tasks, including the channels they wait on, in bytes.
    pub memory_bytes: Option<f64>,
    /// Time to create all tasks in sequence, in nanoseconds.
    pub create_ns: Option<f64>,
}

/// The result of creating tasks up to the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verified {
    /// How many tasks were predicted to fit.
    pub predicted: u64,
    /// How many the program tried to create: 2 % more, or fewer if other processes share the limit.
    pub asked: u64,
    /// How many were created.
    pub reached: u64,
    /// The difference between reached and predicted, in percent of predicted.
    pub difference_percent: f64,
    /// What the kernel refused, or how the process died; `null` if all were created.
    pub stopped_by: Option<String>,
}

impl Verified {
    /// Whether the prediction was correct.
    pub fn confirms(&self) -> bool {
        self.difference_percent.abs() <= TOLERANCE_PERCENT
    }
}

/// The report as text: everything about one kind, or one line for each of several. `prlimit_fails`:
/// not even root may raise a hard limit here.
pub fn page(report: &LimitsReport, prlimit_fails: bool) -> String {
    let blocks = match &report.kinds[..] {
        [kind] => of_kind(kind, report, prlimit_fails),
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

fn of_kind(of: &KindForecast, report: &LimitsReport, prlimit_fails: bool) -> Vec<Block> {
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
    page.push(format!("Each needs {}.", needs(forecast.per_task)));
    page.push(format!("The program also needs {}.", needs(forecast.besides)));
    page.extend(report.verified.as_ref().map(verification));
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
    let needs_prlimit = commands.contains("prlimit");
    page.push(Block::Code(commands));
    if prlimit_fails && needs_prlimit {
        let lacks = "prlimit needs CAP_SYS_RESOURCE to raise a hard limit; root lacks it here.";
        page.push(Block::Paragraph(lacks.to_owned()));
    }
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

/// Amounts in words: `2 open files, 1 thread`.
fn needs(amounts: Amounts) -> String {
    let needed = Resource::value_variants().iter().map(|it| (*it, amounts.of(*it)));
    let words = needed.filter(|(_, amount)| *amount > 0).map(|(resource, amount)| {
        let (what, quantity) = (resource.to_string(), |amount| quantity(resource, amount));
        match what.strip_prefix("bytes of ") {
            Some("memory") => {
                let in_kernel = quantity(amounts.kernel_bytes);
                format!("{} of memory ({in_kernel} of it in the kernel)", quantity(amount))
            }
            Some(of_what) => format!("{} of {of_what}", quantity(amount)),
            None if amount == 1 => {
                let one = what.strip_suffix("es").filter(|it| it.ends_with("ch"));
                format!("1 {}", one.or(what.strip_suffix('s')).unwrap_or(&what))
            }
            None => format!("{amount} {what}"),
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "nothing that is limited".to_owned() } else { words.join(", ") }
}

fn table(forecast: &Forecast) -> Table {
    let mut table = Table::of("|limit|>value|>in use|>per task|>allows");
    for line in &forecast.limits {
        let quantity = |amount| quantity(line.limit.resource, amount);
        table.push(vec![
            if line.binding { ">" } else { "" }.to_owned(),
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
        let ways = match &line.commands[..] {
            [] => "nothing: use fewer tasks, or free some".to_owned(),
            ways => ways.join("\n    or "),
        };
        let _ = writeln!(text, "  {}\n    {ways}", short_name(line));
    }
    text
}

fn verification(verified: &Verified) -> String {
    let Verified { predicted, asked, reached, difference_percent, stopped_by } = verified;
    let why = match stopped_by {
        Some(why) => format!("stopped by: {why}"),
        None if asked < predicted => "stopped there to leave room for other processes".to_owned(),
        None => "none was refused".to_owned(),
    };
    let (predicted, reached) = (count(*predicted), count(*reached));
    format!("Predicted {predicted}, reached {reached} ({difference_percent:+.2} %); {why}.")
}

/// The name of a limit in a table: a setting as sysctl writes it, a control
/// group's file with as much of its path as fits.
fn short_name(line: &Line) -> String {
    let source = &line.limit.source;
    if let Some(setting) = source.strip_prefix("/proc/sys/") {
        return setting.replace('/', ".");
    }
    let path = source.strip_prefix("/sys/fs/cgroup/").unwrap_or(source);
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
