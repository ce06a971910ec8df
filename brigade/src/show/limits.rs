//! The text of `brigade limits`, at most 80 columns wide except commands that
//! are longer themselves.

use std::fmt::Write as _;

use super::page::{ABSENT, Side, Table, lines};
use harness::Amounts;
use harness::limits::{Forecast, Kind, Limit, Line, Resource};

use crate::judge::limits::{Verified, commands};

/// The widest name of a limit in a table, in columns.
const NAME_WIDTH: usize = 34;

/// One line for each kind: how many fit and what binds.
pub fn of_kinds(forecasts: &[(Kind, Forecast)]) -> String {
    let mut table = Table::new(&[
        ("kind", Side::Left),
        ("what binds", Side::Left),
        ("fit", Side::Right),
        ("when raised", Side::Right),
    ]);
    for (kind, forecast) in forecasts {
        let next = forecast.next().and_then(|line| line.allows);
        table.push(vec![
            kind.to_string(),
            forecast.binding().map_or(ABSENT.to_owned(), short_name),
            forecast.fits().map_or(ABSENT.to_owned(), count),
            next.map_or(ABSENT.to_owned(), count),
        ]);
    }
    let mut text = table.text();
    text += "\nEverything about one: brigade limits --kind KIND\n";
    text
}

/// Everything about one kind. `prlimit_fails` says whether even root may not
/// raise a hard limit here.
pub fn of_kind(
    kind: Kind,
    forecast: &Forecast,
    tasks: Option<u64>,
    verified: Option<&Verified>,
    prlimit_fails: bool,
) -> String {
    let mut text = headline(kind, forecast);
    text += &lines(&format!("One of them needs {}.", needs(kind.per_task())));
    let fixed = needs(forecast.besides());
    text += &lines(&format!("A program with them also needs {fixed}."));
    text.push('\n');
    text += &limits_table(forecast);
    text += &exempt(forecast);
    let commands = raising(forecast, tasks);
    text += &commands;
    if prlimit_fails && commands.contains("prlimit") {
        text += "prlimit needs CAP_SYS_RESOURCE to raise a hard limit, which root lacks here.\n";
    }
    text += &verified.map(verification).unwrap_or_default();
    text
}

fn headline(kind: Kind, forecast: &Forecast) -> String {
    let tasks = kind.tasks();
    let Some((binding, fits)) = forecast.binding().zip(forecast.fits()) else {
        return lines(&format!("No limit binds {tasks}."));
    };
    let mut text = lines(&format!("{} {tasks} fit: {} binds.", count(fits), binding.limit.name));
    if let Some((next, allows)) = forecast.next().and_then(|next| Some((next, next.allows?))) {
        let next = &next.limit.name;
        text += &lines(&format!("When that is raised, {next} binds, at {}.", count(allows)));
    }
    text.push('\n');
    text
}

/// Amounts in words: `2 open files, 1 thread`.
fn needs(amounts: Amounts) -> String {
    let words = Resource::ALL.into_iter().filter(|resource| amounts.of(*resource) > 0);
    let words = words.map(|resource| {
        let amount = amounts.of(resource);
        let what = resource.to_string();
        match what.strip_prefix("bytes of ") {
            Some("memory") => format!(
                "{} of memory ({} of it in the kernel)",
                quantity(resource, amount),
                quantity(resource, amounts.kernel_bytes),
            ),
            Some(of_what) => format!("{} of {of_what}", quantity(resource, amount)),
            None if amount == 1 => format!("1 {}", singular(&what)),
            None => format!("{amount} {what}"),
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "nothing that is limited".to_owned() } else { words.join(", ") }
}

fn singular(plural: &str) -> &str {
    match plural {
        "epoll watches" => "epoll watch",
        "pages of pipes" => "page of a pipe",
        _ => plural.strip_suffix('s').unwrap_or(plural),
    }
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
    for line in forecast.lines() {
        let Limit { resource, value, in_use, .. } = &line.limit;
        let quantity = |amount| quantity(*resource, amount);
        let mark = if forecast.binding() == Some(line) { ">" } else { "" };
        table.push(vec![
            mark.to_owned(),
            short_name(line),
            value.map_or("unlimited".to_owned(), quantity),
            quantity(*in_use),
            quantity(line.per_task),
            line.allows.map_or(ABSENT.to_owned(), count),
        ]);
    }
    table.text()
}

/// Why limits with a value do not bind.
fn exempt(forecast: &Forecast) -> String {
    let mut text = String::new();
    for line in forecast.lines() {
        if let Some(reason) = &line.limit.exempt {
            text += &lines(&format!("{} does not bind: {reason}.", short_name(line)));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The commands that raise the limits.
fn raising(forecast: &Forecast, tasks: Option<u64>) -> String {
    let lines: Vec<&Line> = match tasks {
        Some(tasks) => forecast.too_tight(tasks).collect(),
        None => forecast.lines().iter().filter(|line| line.allows.is_some()).collect(),
    };
    if lines.is_empty() {
        return String::new();
    }
    let mut text = match tasks {
        Some(tasks) => format!("\nRoom for {} is made by all of:\n", count(tasks)),
        None => "\nEach is raised, to allow twice as many, by:\n".to_owned(),
    };
    for line in lines {
        let ways = commands(line, forecast, tasks);
        let _ = writeln!(text, "  {}", short_name(line));
        match ways.split_first() {
            None => text += "    nothing: take fewer tasks, or free some\n",
            Some((first, others)) => {
                let _ = writeln!(text, "    {first}");
                others.iter().for_each(|other| {
                    let _ = writeln!(text, "    or {other}");
                });
            }
        }
    }
    text
}

fn verification(verified: &Verified) -> String {
    let Verified { predicted, asked, reached, difference_percent, stopped_by } = verified;
    let (predicted_text, reached_text) = (count(*predicted), count(*reached));
    let why = match stopped_by {
        Some(why) => format!("stopped by: {why}"),
        None if asked < predicted => "stopped there to leave room for other processes".to_owned(),
        None => "none was refused".to_owned(),
    };
    let text = format!(
        "Predicted {predicted_text}, reached {reached_text} ({difference_percent:+.2} %); {why}."
    );
    format!("\n{}", lines(&text))
}

/// The name of a limit in a table: a setting as sysctl writes it, a group's
/// file with as much of its path as there is room for.
fn short_name(line: &Line) -> String {
    let source = &line.limit.source;
    if let Some(setting) = source.strip_prefix("/proc/sys/") {
        return setting.replace('/', ".");
    }
    match source.strip_prefix("/sys/fs/cgroup/") {
        Some(path) if path.chars().count() > NAME_WIDTH => {
            let skipped = path.chars().count() - NAME_WIDTH + 1;
            format!("…{}", path.chars().skip(skipped).collect::<String>())
        }
        Some(path) => path.to_owned(),
        None => source.clone(),
    }
}

/// A count with its thousands apart: `16,370`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
