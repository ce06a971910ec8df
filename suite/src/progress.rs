//! Progress of a run, on a terminal only. It is drawn between invocations and
//! never during one: nothing of the runner runs while a program measures.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::terminal;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// The progress bar of a run, on standard error; hidden unless that is a
/// terminal.
pub struct Progress {
    bar: ProgressBar,
    rounds: u32,
    past: Past,
}

impl Progress {
    /// Progress over `invocations` invocations in `rounds` rounds.
    ///
    /// # Panics
    /// Never: the template is a constant.
    pub fn new(invocations: usize, rounds: u32) -> Self {
        let style = ProgressStyle::with_template("{pos}/{len} {bar:30} {msg}");
        let bar = ProgressBar::new(invocations as u64)
            .with_style(style.expect("the template is well-formed"));
        Self { bar, rounds, past: Past::default() }
    }

    /// Shows that the first of `remaining` starts now; they are the cases of
    /// all invocations that have not ended.
    pub fn starting(&self, round: u32, remaining: &[&str]) {
        let Some(case) = remaining.first() else { return };
        let left = match self.past.time_left(remaining) {
            Some(left) => format!(", {} left", HumanDuration(left)),
            None => String::new(),
        };
        let message = format!("round {round} of {}, {case}{left}", self.rounds);
        self.bar.set_message(terminal::line(&message).into_owned());
        self.bar.tick();
    }

    /// Counts an invocation that has ended.
    pub fn ended(&mut self, case: &str, duration: Duration) {
        self.past.add(case, duration);
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How long invocations took so far.
#[derive(Default)]
struct Past {
    by_case: BTreeMap<String, Total>,
    all: Total,
}

#[derive(Default)]
struct Total {
    time: Duration,
    count: u32,
}

impl Past {
    fn add(&mut self, case: &str, duration: Duration) {
        self.by_case.entry(case.to_owned()).or_default().add(duration);
        self.all.add(duration);
    }

    /// What the `remaining` cases will take if each takes its own mean, or the
    /// mean of all where it has not run yet; `None` before the first has.
    fn time_left(&self, remaining: &[&str]) -> Option<Duration> {
        let mean_of_all = self.all.mean()?;
        let expected = remaining
            .iter()
            .map(|case| self.by_case.get(*case).and_then(Total::mean).unwrap_or(mean_of_all));
        Some(expected.sum())
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
        assert_eq!(Past::default().time_left(&["a"]), None);
    }

    #[test]
    fn time_left_is_the_sum_of_means() {
        let mut past = Past::default();
        for (case, duration) in [("a", 1), ("a", 3), ("b", 5)] {
            past.add(case, seconds(duration));
        }
        assert_eq!(past.time_left(&[]), Some(seconds(0)));
        assert_eq!(past.time_left(&["a", "b", "a"]), Some(seconds(2 + 5 + 2)));
        assert_eq!(past.time_left(&["new"]), Some(seconds(3)));
    }
}
