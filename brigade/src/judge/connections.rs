//! Threads or async for so many connections: whether they fit, and what a run says of their memory
//! and time.

use harness::TaskKind;
use harness::limits::{Forecast, Limit, Resource, Scope};

use super::report::Report;
use super::row::{Quantity, Row};
use super::statistics::Estimate;

/// Threads that need more than this share of the available memory are too many.
const TOO_MUCH: f64 = 0.25;
/// Threads that take this much longer for a request lose.
const TOO_LONG: f64 = 1.5;

/// A thread and an async task that do the same.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The heading and the block of the first screen.
    pub what: [&'a str; 2],
    pub task: &'a Row,
    pub thread: &'a Row,
    /// How many times as long, or as much memory, the thread takes.
    pub ratio: Estimate,
}

/// Which of the two to use if both fit, and the reasons.
pub struct Decision<'a> {
    /// Whether threads take too much memory or time.
    pub is_for_async: bool,
    pub by_time: Option<Pair<'a>>,
    pub by_memory: Option<Pair<'a>>,
    /// The share of the available memory that the threads need.
    pub share: Option<f64>,
}

/// The pairs of a report: the async task of a block and its fastest thread.
pub fn pairs(report: &Report) -> Vec<Pair<'_>> {
    let blocks = report.screen.iter().flat_map(|part| std::iter::repeat(part).zip(&part.blocks));
    let pairs = blocks.filter_map(|(part, block)| {
        let task = block.rows.iter().find(|row| row.case == block.reference)?;
        let threads = block.rows.iter().filter(|row| row.kind == Some(TaskKind::Thread));
        let threads = threads.filter_map(|row| Some((row, row.factor?)));
        let (thread, ratio) = threads.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
        let is_async = task.kind == Some(TaskKind::AsyncTask) && task.figure.is_some();
        let what = [&*part.heading, &*block.name];
        is_async.then_some(Pair { what, task, thread, ratio })
    });
    pairs.collect()
}

/// Decides between so many threads, which fit, and async tasks.
pub fn decide<'a>(tasks: u64, threads: &Forecast, pairs: &[Pair<'a>]) -> Decision<'a> {
    // Of several pairs the one that is kindest to threads, wherever it stands.
    let kindest = |is_asked: fn(&Pair) -> bool| {
        let asked = pairs.iter().copied().filter(is_asked);
        asked.min_by(|one, other| one.ratio.value.total_cmp(&other.ratio.value))
    };
    let by_memory = kindest(|pair| pair.thread.unit == Quantity::Bytes);
    // A connection is there for requests.
    let by_time = kindest(|pair| pair.thread.operation == "request");
    let is_free_memory =
        |limit: &Limit| (limit.scope, limit.resource) == (Scope::Machine, Resource::Memory);
    let available = threads.limits.iter().find(|line| is_free_memory(&line.limit));
    let available = available.and_then(|line| line.limit.value);
    let memory = by_memory.and_then(|pair| Some(pair.thread.figure?.value * tasks as f64));
    let share = memory.zip(available).map(|(bytes, all)| bytes / all as f64);
    let is_slow = |pair: Pair| pair.ratio.interval.is_some_and(|ends| ends.low > TOO_LONG);
    let is_for_async = share.is_some_and(|share| share > TOO_MUCH) || by_time.is_some_and(is_slow);
    Decision { is_for_async, by_time, by_memory, share }
}

#[cfg(test)]
mod tests {
    use harness::limits::Kind;

    use super::*;
    use crate::judge::statistics::Interval;

    #[test]
    fn threads_lose_if_they_do_not_fit_fill_the_memory_or_take_long() {
        for (bytes, times, limit, expected) in [
            (10_000.0, 1.2, None, [true, false]),
            (10_000.0, 1.6, None, [true, true]),
            (300_000.0, 1.2, None, [true, true]),
            (10_000.0, 1.2, Some(999), [false, false]),
        ] {
            let row = |unit, operation: &str, value| {
                let operation = operation.to_owned();
                Row { unit, operation, figure: Estimate::of(&[value]), ..Row::default() }
            };
            let memory = row(Quantity::Bytes, "task", bytes);
            let rows = [memory, row(Quantity::Nanoseconds, "request", times)];
            let interval = Some(Interval { low: times * 0.99, high: times * 1.01 });
            let ratio = Estimate { value: times, interval, count: 9 };
            let pairs =
                rows.each_ref().map(|row| Pair { what: [""; 2], task: row, thread: row, ratio });
            let memory = Limit::new(Resource::Memory, "free", Some(1_000_000_000));
            let limits = [
                Limit { scope: Scope::Machine, ..memory },
                Limit::new(Resource::Threads, "pids", limit),
            ];
            let threads = Forecast::new(Kind::Thread, Some(1000), &limits);
            let found = decide(1000, &threads, &pairs);
            let seen = [threads.allows(1000), found.is_for_async];
            assert_eq!(seen, expected, "{bytes} {times}");
        }
    }
}
