//! What `brigade limits` prints: one JSON object, whose schema is committed as
//! `brigade/limits.schema.json`, or text, at most 80 columns wide except commands that
//! are longer themselves.

use std::fmt::Write as _;

use clap::ValueEnum as _;
use harness::Amounts;
use harness::limits::{Forecast, Kind, Line, Resource};
use serde::{Deserialize, Serialize};

use super::page::{ABSENT, Side, Table, lines};

/// Version of [`LimitsReport`]'s schema, `major.minor`.
const SCHEMA_VERSION: &str = "1.0";

/// The widest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// As far as reached and predicted may be apart, in percent.
const TOLERANCE_PERCENT: f64 = 1.0;

/// How many tasks of each kind fit on this machine, and why.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitsReport {
    /// Schema version of this object, `major.minor`.
    schema_version: String,
    /// The number of tasks that must fit; `null` where none was given.
    tasks: Option<u64>,
    /// The kinds of tasks.
    kinds: Vec<KindForecast>,
    /// How good the prediction was; `null` without `--verify`.
    verified: Option<Verified>,
}

/// One kind of task.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindForecast {
    /// The kind.
    pub kind: Kind,
    /// How many fit.
    #[serde(flatten)]
    pub forecast: Forecast,
}

/// What came of making tasks up to the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verified {
    /// How many tasks were predicted to fit.
    pub predicted: u64,
    /// How many the program tried to make: 2 % more, or fewer where the limit is one
    /// that others share.
    pub asked: u64,
    /// How many were made.
    pub reached: u64,
    /// The difference of reached and predicted, in percent of predicted.
    pub difference_percent: f64,
    /// What the kernel refused, or how the process died; `null` where it made all.
    pub stopped_by: Option<String>,
}

impl Verified {
    /// Whether the prediction was right.
    pub fn confirms(&self) -> bool {
        self.difference_percent.abs() <= TOLERANCE_PERCENT
    }
}

impl LimitsReport {
    /// A report of this version.
    pub fn new(tasks: Option<u64>, kinds: Vec<KindForecast>, verified: Option<Verified>) -> Self {
        Self { schema_version: SCHEMA_VERSION.to_owned(), tasks, kinds, verified }
    }
}

/// The report as text: everything about one kind, or a line for each of several.
/// `prlimit_fails` says whether even root may not raise a hard limit here.
pub fn page(report: &LimitsReport, prlimit_fails: bool) -> String {
    let [KindForecast { kind, forecast }] = &report.kinds[..] else {
        return of_kinds(&report.kinds);
    };
    let mut text = headline(*kind, forecast);
    text += &lines(&format!("One of them needs {}.", needs(forecast.per_task)));
    text += &lines(&format!("A program with them also needs {}.", needs(forecast.besides)));
    text.push('\n');
    text += &limits_table(forecast);
    let exempt = forecast.limits.iter().filter_map(|line| {
        let reason = line.limit.exempt.as_ref()?;
        Some(lines(&format!("{} does not bind: {reason}.", short_name(line))))
    });
    let exempt: String = exempt.collect();
    if !exempt.is_empty() {
        let _ = write!(text, "\n{exempt}");
    }
    let commands = raising(forecast, report.tasks);
    text += &commands;
    if prlimit_fails && commands.contains("prlimit") {
        text += "prlimit needs CAP_SYS_RESOURCE to raise a hard limit, which root lacks here.\n";
    }
    text + &report.verified.as_ref().map(verification).unwrap_or_default()
}

fn of_kinds(kinds: &[KindForecast]) -> String {
    let mut table = Table::new(&[
        ("kind", Side::Left),
        ("what binds", Side::Left),
        ("fit", Side::Right),
        ("when raised", Side::Right),
    ]);
    let number = |number: Option<u64>| number.map_or(ABSENT.to_owned(), count);
    for KindForecast { kind, forecast } in kinds {
        table.push(vec![
            kind.to_string(),
            forecast.binding().map_or(ABSENT.to_owned(), short_name),
            number(forecast.fits),
            number(forecast.next().and_then(|line| line.allows)),
        ]);
    }
    table.text() + "\nEverything about one: brigade limits --kind KIND\n"
}

fn headline(kind: Kind, forecast: &Forecast) -> String {
    let tasks = kind.tasks();
    let Some((binding, fits)) = forecast.binding().zip(forecast.fits) else {
        return lines(&format!("No limit binds {tasks}."));
    };
    let mut text = lines(&format!("{} {tasks} fit: {} binds.", count(fits), binding.limit.name));
    if let Some((next, allows)) = forecast.next().and_then(|next| Some((next, next.allows?))) {
        let next = &next.limit.name;
        text += &lines(&format!("When that is raised, {next} binds, at {}.", count(allows)));
    }
    text + "\n"
}

/// Amounts in words: `2 open files, 1 thread`.
fn needs(amounts: Amounts) -> String {
    let words = Resource::value_variants().iter().copied().map(|resource| {
        let (amount, what) = (amounts.of(resource), resource.to_string());
        match (amount, what.strip_prefix("bytes of ")) {
            (0, _) => String::new(),
            (_, Some("memory")) => format!(
                "{} of memory ({} of it in the kernel)",
                quantity(resource, amount),
                quantity(resource, amounts.kernel_bytes),
            ),
            (_, Some(of_what)) => format!("{} of {of_what}", quantity(resource, amount)),
            (1, None) => format!("1 {}", what.strip_suffix('s').unwrap_or(&what)),
            (_, None) => format!("{amount} {what}"),
        }
    });
    let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
    if words.is_empty() { "nothing that is limited".to_owned() } else { words.join(", ") }
}

fn limits_table(forecast: &Forecast) -> String {
    let mut table = Table::new(&[
        ("", Side::Left),
        ("limit", Side::Left),
        ("value", Side::Right),
        ("in use", Side::Right),
        ("a task", Side::Right),
        ("allows", Side::Right),
    ]);
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
    table.text()
}

/// The commands that raise the limits that are too tight.
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
    match tasks {
        _ if text.is_empty() => text,
        Some(tasks) => format!("\nTo make room for {}, run all of:\n{text}", count(tasks)),
        None => format!("\nTo allow twice as many, raise each by:\n{text}"),
    }
}

fn verification(verified: &Verified) -> String {
    let Verified { predicted, asked, reached, difference_percent, stopped_by } = verified;
    let why = match stopped_by {
        Some(why) => format!("stopped by: {why}"),
        None if asked < predicted => "stopped there to leave room for other processes".to_owned(),
        None => "none was refused".to_owned(),
    };
    let (predicted, reached) = (count(*predicted), count(*reached));
    let text =
        format!("Predicted {predicted}, reached {reached} ({difference_percent:+.2} %); {why}.");
    format!("\n{}", lines(&text))
}

/// The name of a limit in a table: a setting as sysctl writes it, a group's
/// file with as much of its path as there is room for.
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

/// A count with its thousands apart: `16,370`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// An amount of a resource: bytes in a binary unit, anything else as a count.
fn quantity(resource: Resource, amount: u64) -> String {
    if !resource.is_bytes() {
        return count(amount);
    }
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(bits, _)| amount >= 1 << bits) {
        Some((bits, unit)) => format!("{:.1} {unit}", amount as f64 / (1_u64 << bits) as f64),
        None => format!("{amount} B"),
    }
}
