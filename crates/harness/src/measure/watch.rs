//! Watching the rounds of a run: a task whose wake-up was lost waits for ever.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::bail;

use crate::measure::bench::Bench;
use crate::measure::counters::{Counters, counts_switches};
use crate::tasks::threads::aside;

/// How often a run is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// After so many looks in a row at which no task had done anything, none ever will.
const PATIENCE: u32 = 5;

/// CPU time of threads that do nothing, in nanoseconds: the kernel counts what it takes from them.
const NOTHING_NS: u64 = 1_000_000;

impl Bench {
    /// Runs the rounds of `body` in another thread, and ends without it if its tasks all sleep within
    /// a round, for seconds. `what` they use is named then.
    ///
    /// The flag `in_round` is `Relaxed`: it comes alone, and is read once a second.
    ///
    /// # Errors
    /// Those of `body`, or that nobody works on a round.
    pub fn watched(
        &self,
        what: &str,
        body: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
    ) -> anyhow::Result<()> {
        // Asked before the tasks run, whose switches would count.
        let counts_switches = counts_switches();
        let (reports, reported) = channel();
        aside("the driver", reports, body)?;
        let mut before = None;
        let mut idle = 0;
        while idle < PATIENCE {
            if let Ok(result) = reported.recv_timeout(LOOK) {
                return result;
            }
            let in_round = self.shared.in_round.load(Relaxed) && counts_switches;
            let now = in_round.then(used_by_others);
            idle = if is_idle(before, now) { idle + 1 } else { 0 };
            before = now;
        }
        bail!(
            "{what}: all tasks slept for {PATIENCE} s before the end of a round: a wake-up was lost"
        )
    }
}

/// What all threads but this one have used.
fn used_by_others() -> Counters {
    Counters::own().used_since(Counters::of_this_thread())
}

/// Whether nobody ran from one look at a round to the next.
fn is_idle(before: Option<Counters>, now: Option<Counters>) -> bool {
    let (Some(before), Some(now)) = (before, now) else { return false };
    let used = now.used_since(before);
    used.switches() == 0 && used.cpu_ns() < NOTHING_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_or_is_in_no_round_is_not_idle() {
        let at = |cpu_ns, voluntary| {
            Some(Counters { user_ns: cpu_ns, voluntary, ..Counters::default() })
        };
        for (before, now, expected) in [
            (at(0, 7), at(10, 7), true),
            (at(0, 7), at(0, 8), false),
            (at(0, 7), at(NOTHING_NS, 7), false),
            (None, at(0, 7), false),
            (at(0, 7), None, false),
        ] {
            assert_eq!(is_idle(before, now), expected, "{before:?}, {now:?}");
        }
    }
}
