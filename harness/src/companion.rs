//! The companion: a second process, of one thread, in which a part of the
//! tasks lives. What it used is read from `/proc`.

use crate::process_stat::ProcessStat;
use crate::system_files::{SystemFiles, field};
use crate::usage::Counters;

/// Its counters now; `None` when it has gone. They are exact while it is
/// blocked; while it runs, its CPU time is as of the last clock tick.
pub(crate) fn counters(pid: u32) -> Option<Counters> {
    let files = SystemFiles::live();
    let folder = format!("proc/{pid}");
    let stat = ProcessStat::read(&files, &folder)?;
    let status = files.text(&format!("{folder}/status"))?;
    let switches = |name| field(&status, name)?.parse().ok();
    // The first number is the time on a CPU, in nanoseconds.
    let run_ns = files.number(&format!("{folder}/schedstat"))?;
    let user_ns = user_share(run_ns, stat.user_ticks, stat.system_ticks);
    Some(Counters {
        user_ns,
        system_ns: run_ns - user_ns,
        voluntary: switches("voluntary_ctxt_switches")?,
        involuntary: switches("nonvoluntary_ctxt_switches")?,
    })
}

/// How much of `run_ns` was in user space. The scheduler's sum is exact, and
/// the two times in clock ticks say how it divides, which is also how the
/// kernel arrives at what `getrusage` tells.
fn user_share(run_ns: u64, user_ticks: u64, system_ticks: u64) -> u64 {
    match user_ticks + system_ticks {
        0 => 0,
        ticks => (u128::from(run_ns) * u128::from(user_ticks) / u128::from(ticks)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::{counters, user_share};

    #[test]
    fn run_time_divides_as_the_ticks_do() {
        assert_eq!(user_share(1000, 1, 3), 250);
        assert_eq!(user_share(1000, 0, 0), 0);
        assert_eq!(user_share(u64::MAX, u64::MAX / 2, 0), u64::MAX);
    }

    #[test]
    fn a_live_process_has_counters_and_one_that_never_was_has_none() {
        assert!(counters(std::process::id()).is_some());
        assert!(counters(u32::MAX).is_none());
    }
}
