//! Watching a run: a task whose wake-up was lost waits for ever.

use std::mem;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::measure::bench::Bench;
use crate::measure::counters::{Counters, counts_switches};
use crate::tasks::threads::aside;

/// How often a run is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// After so many looks in a row, that is seconds, at which no task had done anything, none ever will.
pub const PATIENCE: u32 = 5;

/// CPU time of threads that do nothing, in nanoseconds: the kernel counts what it takes from them.
const NOTHING_NS: u64 = 1_000_000;

/// Runs `body` in another thread, and ends without it once nobody has done anything for [`PATIENCE`]
/// seconds. `is_idle` is called once a second, and returns whether nothing has happened since its last
/// call. `body` gets a sender, with which other threads report that they failed.
///
/// # Errors
/// That of `body`, the first one that another thread reports, or `lost` if nobody does anything.
pub fn watched(
    body: impl FnOnce(Sender<anyhow::Result<()>>) -> anyhow::Result<()> + Send + 'static,
    mut is_idle: impl FnMut() -> bool,
    lost: impl FnOnce() -> anyhow::Error,
) -> anyhow::Result<()> {
    let (reports, reported) = channel();
    let others = reports.clone();
    aside("the driver", reports, || body(others))?;
    let mut idle = 0;
    while idle < PATIENCE {
        if let Ok(result) = reported.recv_timeout(LOOK) {
            return result;
        }
        idle = if is_idle() { idle + 1 } else { 0 };
    }
    Err(lost())
}

impl Bench {
    /// Returns, for [`watched`], what reports whether all tasks have slept since its last call, within a
    /// round.
    ///
    /// The flag `in_round` is `Relaxed`: it comes alone, and is read once a second.
    pub fn sleeps_in_round(&self) -> impl FnMut() -> bool {
        // Asked before the tasks run, whose switches would count.
        let counts_switches = counts_switches();
        let bench = self.clone();
        let mut before = None;
        move || {
            let in_round = bench.shared.in_round.load(Relaxed) && counts_switches;
            let now = in_round.then(used_by_others);
            is_idle(mem::replace(&mut before, now), now)
        }
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
