//! Progress of a run, on a terminal only. It is drawn between invocations and
//! never during one: nothing of the runner runs while a program measures.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::terminal;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::plan::{Schedule, Turn};

/// The progress bar of a run, on standard error; hidden unless that is a
/// terminal.
pub struct Progress<'a> {
    bar: ProgressBar,
    cases: &'a [String],
    rounds: u32,
    past: Past,
}

impl<'a> Progress<'a> {
    /// Progress over `rounds` rounds of these cases, and further ones.
    ///
    /// # Panics
    /// Never: the template is a constant.
    pub fn new(cases: &'a [String], rounds: u32) -> Self {
        let style = ProgressStyle::with_template("{pos}/{len} {bar:30} {msg}");
        let bar = ProgressBar::new(cases.len() as u64 * u64::from(rounds))
            .with_style(style.expect("the template is well-formed"));
        Self { bar, cases, rounds, past: Past::default() }
    }

    /// Shows that a turn of `schedule` starts now.
    pub fn starting(&self, turn: Turn, schedule: &Schedule) {
        let case = &self.cases[turn.case];
        let remaining = schedule.remaining();
        let (common, left) = (remaining.iter().sum::<u32>(), self.past.time_left(&remaining));
        let done = self.bar.length().unwrap_or_default().saturating_sub(common.into());
        self.bar.set_position(done);
        let left = match (schedule.budget_left(), left) {
            (Some(budget), left) => {
                let most = left.map_or(budget, |left| left.max(budget));
                format!(", at most {} left", HumanDuration(most))
            }
            (None, Some(left)) => format!(", {} left", HumanDuration(left)),
            (None, None) => String::new(),
        };
        let of = if turn.round > self.rounds { " beyond the" } else { " of" };
        let message = format!("round {}{of} {}, {case}{left}", turn.round, self.rounds);
        self.bar.set_message(terminal::line(&message).into_owned());
        self.bar.tick();
    }

    /// Learns from an invocation that has ended how long its case takes.
    pub fn ended(&mut self, turn: Turn, duration: Duration) {
        self.past.add(turn.case, duration);
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How long invocations took so far.
#[derive(Default)]
struct Past {
    by_case: BTreeMap<usize, Total>,
    all: Total,
}

#[derive(Default)]
struct Total {
    time: Duration,
    count: u32,
}

impl Past {
    fn add(&mut self, case: usize, duration: Duration) {
        self.by_case.entry(case).or_default().add(duration);
        self.all.add(duration);
    }

    /// What so many invocations of each case will take if each takes its
    /// case's mean, or the mean of all where that has not run yet; `None`
    /// before the first has.
    fn time_left(&self, remaining: &[u32]) -> Option<Duration> {
        let mean_of_all = self.all.mean()?;
        let mean = |case| self.by_case.get(&case).and_then(Total::mean).unwrap_or(mean_of_all);
        let each = remaining.iter().enumerate();
        Some(each.map(|(case, &count)| mean(case).saturating_mul(count)).sum())
    }
}

impl Total {
    fn add(&mut self, duration: Duration) {
        self.time += duration;
        self.count += 1;
    }

    fn mean(&self) -> Option<Duration> {
        self.time.checked_div(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn nothing_is_promised_before_the_first_invocation() {
        assert_eq!(Past::default().time_left(&[1]), None);
    }

    #[test]
    fn time_left_is_the_sum_of_means() {
        let mut past = Past::default();
        for (case, duration) in [(0, 1), (0, 3), (1, 5)] {
            past.add(case, seconds(duration));
        }
        assert_eq!(past.time_left(&[0, 0, 0]), Some(seconds(0)));
        assert_eq!(past.time_left(&[2, 1, 0]), Some(seconds(2 + 2 + 5)));
        assert_eq!(past.time_left(&[0, 0, 1]), Some(seconds(3)));
    }
}
