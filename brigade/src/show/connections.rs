//! Threads or async for so many connections: whether they fit, and what a saved run says of their
//! memory and time.

use super::page::{Block, Table};
use super::quantity::{bytes, factor, figure, small_share};
use crate::judge::report::{Block as Rows, Part, Report};
use crate::judge::row::{Quantity, Row, TaskKind};
use crate::judge::statistics::Estimate;
use crate::show::limits::{KindForecast, count};

/// The kinds of tasks that stand for a connection each, the best last.
const THREADS: [&str; 2] = ["thread", "thread-tcp"];
const TASKS: [&str; 2] = ["tokio", "tokio-tcp"];

/// Threads that need more than this share of the available memory are too many.
const TOO_MUCH: f64 = 0.25;
/// Threads that take this much longer for a request lose.
const TOO_LONG: f64 = 1.5;

/// A thread and an async task that do the same.
struct Pair<'a> {
    what: String,
    task: &'a Row,
    thread: &'a Row,
    ratio: Estimate,
}

/// The answer and a table of what the run measured; without a run how to make one.
pub fn blocks(tasks: u64, kinds: &[KindForecast], report: Option<&Report>) -> Vec<Block> {
    let of = |names: [&str; 2]| {
        let known = |name: &&str| kinds.iter().find(|of| of.kind.to_string() == **name);
        names.iter().rev().find_map(known)
    };
    let (Some(threads), Some(async_tasks)) = (of(THREADS), of(TASKS)) else { return Vec::new() };
    let parts = report.map_or(&[][..], |report| &report.screen);
    let pairs: Vec<Pair> = parts
        .iter()
        .flat_map(|part| part.blocks.iter().filter_map(|block| pair(part, block)))
        .collect();
    let mut page = vec![Block::Paragraph(answer(tasks, threads, async_tasks, &pairs))];
    let Some(report) = report.filter(|_| !pairs.is_empty()) else {
        let advice = "No run of this machine has their memory and times: brigade run (3 minutes).";
        page.push(Block::Paragraph(advice.to_owned()));
        return page;
    };
    let mut table = Table::of("|>async task|>thread|>×|thread");
    for Pair { what, task, thread, ratio } in &pairs {
        let cells = [what.clone(), figure(task), figure(thread), factor(ratio.value)];
        table.push(cells.into_iter().chain([thread.label.clone()]).collect());
    }
    page.push(Block::Table(table));
    page.push(Block::Paragraph(format!("Medians of {}.", report.run.name)));
    page
}

/// The async task of a block and its fastest thread.
fn pair<'a>(part: &Part, block: &'a Rows) -> Option<Pair<'a>> {
    let task = block.rows.iter().find(|row| row.case == block.reference)?;
    let threads = block.rows.iter().filter(|row| row.kind == Some(TaskKind::Thread));
    let threads = threads.filter_map(|row| Some((row, row.factor?)));
    let (thread, ratio) =
        threads.min_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))?;
    let is_async = task.kind == Some(TaskKind::AsyncTask) && task.figure.is_some();
    let what = [&*part.heading, &*block.name].into_iter().filter(|words| !words.is_empty());
    let what = what.collect::<Vec<_>>().join(", ");
    is_async.then_some(Pair { what, task, thread, ratio })
}

/// One sentence: which of the two, and why.
fn answer(
    tasks: u64,
    threads: &KindForecast,
    async_tasks: &KindForecast,
    pairs: &[Pair],
) -> String {
    let number = count(tasks);
    let lacks = |of: &KindForecast| of.forecast.fits.filter(|fits| *fits < tasks);
    let limit = |of: &KindForecast| {
        of.forecast.binding().map_or(String::new(), |line| format!(" ({})", line.limit.name))
    };
    match (lacks(threads), lacks(async_tasks)) {
        (Some(fits), None) => {
            return format!(
                "Async: {} threads fit here{}, and {number} async tasks do.",
                count(fits),
                limit(threads)
            );
        }
        (_, Some(fits)) => {
            return format!(
                "Neither fits yet: at most {} async tasks{}. brigade limits --kind {} --tasks {tasks} \
                 prints how to raise it.",
                count(fits),
                limit(async_tasks),
                async_tasks.kind
            );
        }
        (None, None) => {}
    }
    let by_memory = pairs.iter().find(|pair| pair.thread.unit == Quantity::Bytes);
    let by_time = pairs.iter().filter(|pair| pair.thread.unit == Quantity::Nanoseconds);
    // A request says more than a hop, and the last hop is one over pipes.
    let rank = |pair: &&Pair| {
        usize::from(pair.thread.operation == "request") * 2
            + usize::from(pair.thread.operation == "hop")
    };
    let by_time = by_time.max_by_key(rank);
    let memory = by_memory.map(|pair| {
        let of = |row: &Row| row.figure.map_or(0.0, |of| of.value) * tasks as f64;
        (of(pair.thread), of(pair.task), pair.ratio.value)
    });
    let available = threads.forecast.limits.iter().filter(|line| line.limit.name == "MemAvailable");
    let available = available.filter_map(|line| line.limit.value).min();
    let share = memory.zip(available).map(|((bytes, ..), all)| bytes / all as f64);
    let is_slow =
        by_time.is_some_and(|of| of.ratio.interval.is_some_and(|ends| ends.low > TOO_LONG));
    let word = match share.is_some_and(|share| share > TOO_MUCH) || is_slow {
        true => "Async",
        false => "Either",
    };
    let mut reasons = Vec::new();
    reasons.extend(by_time.map(|of| {
        format!("a {} takes {} times as long", of.thread.operation, factor(of.ratio.value))
    }));
    reasons.extend(memory.map(|(threads, tasks, _)| {
        let share = share
            .map_or(String::new(), |share| format!(", {} of the free memory", small_share(share)));
        format!("they hold {} instead of {}{share}", bytes(threads), bytes(tasks))
    }));
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(", but {}", reasons.join(", and ")),
    };
    format!("{word}: {number} threads fit{reasons}.")
}

#[cfg(test)]
mod tests {
    use harness::limits::{Forecast, Kind, Limit, Need, Resource};

    use super::*;
    use crate::judge::statistics::Interval;

    fn row(kind: TaskKind, unit: Quantity, value: f64) -> Row {
        let operation = "request".to_owned();
        Row { kind: Some(kind), unit, figure: Estimate::of(&[value]), operation, ..Row::default() }
    }

    /// The answer for 1,000 connections if threads hold this many bytes and take this much longer.
    fn answer_for(memory: f64, times: f64, limit: Option<u64>) -> String {
        let of = |unit, ratio: f64| {
            let interval = Some(Interval { low: ratio * 0.99, high: ratio * 1.01 });
            (unit, ratio, interval)
        };
        let rows = [of(Quantity::Bytes, memory), of(Quantity::Nanoseconds, times)];
        let rows = rows.map(|(unit, ratio, interval)| {
            let [task, thread] = [(TaskKind::AsyncTask, 1.0), (TaskKind::Thread, ratio)]
                .map(|(kind, value)| row(kind, unit, value));
            (task, thread, Estimate { interval, ..Estimate::of(&[ratio]).unwrap() })
        });
        let pairs = rows.each_ref().map(|(task, thread, ratio)| Pair {
            what: String::new(),
            task,
            thread,
            ratio: *ratio,
        });
        let kind = |kind, threads| {
            let limits = [
                Limit::new(Resource::Memory, "MemAvailable", Some(1_000_000_000)),
                Limit::new(Resource::Threads, "pids", threads),
            ];
            let forecast = Forecast::new(&Need::new(kind, 0), limits.into(), Some(1000));
            KindForecast { kind, forecast, memory_bytes: None }
        };
        answer(1000, &kind(Kind::Thread, limit), &kind(Kind::Tokio, None), &pairs)
    }

    #[test]
    fn threads_lose_if_they_do_not_fit_fill_the_memory_or_take_long() {
        for (memory, times, limit, word) in [
            (10_000.0, 1.2, None, "Either: "),
            (10_000.0, 1.6, None, "Async: "),
            (300_000.0, 1.2, None, "Async: "),
            (10_000.0, 1.2, Some(999), "Async: 999 threads fit"),
        ] {
            let text = answer_for(memory, times, limit);
            assert!(text.starts_with(word), "{text}");
        }
    }
}
