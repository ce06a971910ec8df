//! The companion: a second process, of one thread, in which a part of the
//! tasks lives. What it used is read from `/proc`.

use procfs::ProcResult;
use procfs::process::Process;

use crate::usage::Counters;

/// Its counters now; `None` when it has gone. They are exact while it is
/// blocked; while it runs, its CPU time is as of the last clock tick.
pub(crate) fn counters(pid: u32) -> Option<Counters> {
    read(&Process::new(pid.try_into().ok()?).ok()?).ok()
}

fn read(process: &Process) -> ProcResult<Counters> {
    let (stat, status) = (process.stat()?, process.status()?);
    let run_ns = process.schedstat()?.sum_exec_runtime;
    let user_ns = user_share(run_ns, stat.utime, stat.stime);
    Ok(Counters {
        user_ns,
        system_ns: run_ns - user_ns,
        voluntary: status.voluntary_ctxt_switches.unwrap_or(0),
        involuntary: status.nonvoluntary_ctxt_switches.unwrap_or(0),
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
