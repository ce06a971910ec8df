//! What kept the tasks of a run from running, pooled over its processes so that short ones count,
//! too: other processes, the hypervisor, CPU quotas, stops, and an unexplained rest.

use harness::record::Record;
use serde::Serialize;

use super::amounts::{cpu_ns, operations};
use crate::store::results::Invocation;

/// The standard deviation of the difference of two readings of `/proc/stat`, in nanoseconds. Its
/// ticks are 10 ms, and this is the sum of two rounding errors.
const TICKS_NS: f64 = 10e6 * 0.408;
/// In 20 cases, chance hardly ever exceeds this many standard deviations.
const DEVIATIONS: f64 = 3.0;

/// The time that reading a process's counters takes, in nanoseconds.
const READING_NS: f64 = 2e5;

/// A lap is a gap if it takes longer than this, in nanoseconds, and far longer than the others.
const GAP_NS: u64 = 100_000_000;
const GAP_LAPS: u64 = 20;

/// Shares of the time of the CPUs available to the tasks, over several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct LostTime {
    /// Used by other processes, kernel threads and interrupts, in the processes whose ticks show it; `null`
    /// if none does.
    pub others: Option<f64>,
    /// The smallest share of others that chance does not explain; `null` as above.
    pub resolution: Option<f64>,
    /// Stolen by the hypervisor; `null` if the kernel does not count it.
    pub stolen: Option<f64>,
    /// Time in which a CPU quota stopped the program; `null` if only control groups that are hidden,
    /// such as those around a container, can have done so.
    pub throttled: Option<f64>,
    /// Time in which the process was stopped by a signal.
    pub stopped: f64,
    /// Unexplained time of tasks that never wait, or of laps far longer than all others while CPUs
    /// idled: a frozen container, for instance.
    pub unexplained: f64,
}

/// The verdict on a run in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// There are too few rounds for another verdict.
    Early,
    /// Other programs may have used a notable share of the time.
    #[default]
    Unknown,
    /// Nothing disturbed it.
    Quiet,
    /// Nothing disturbed it, but the machine was slower than in earlier quiet runs.
    Slow,
    /// Nothing disturbed it, but the machine was faster than in earlier quiet runs.
    Fast,
    /// The machine changed its speed.
    Unsteady,
    /// Other programs took most of what was lost.
    Busy,
    /// The hypervisor did.
    Stolen,
    /// A CPU quota did.
    Throttled,
    /// Signals did.
    Stopped,
    /// Nobody knows what did.
    Disturbed,
    /// An emulator ran the programs: its figures are no machine's.
    Emulated,
}

/// What took time from the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Cause {
    /// The verdict on a run that lost most of its time to it.
    pub word: Word,
    /// The share of the time that it took.
    pub share: f64,
    /// Whether it took at most this share: less cannot be told from none.
    pub is_bound: bool,
}

/// Whose time is shared out.
#[derive(Clone, Copy)]
pub enum Time {
    OfAllCpus,
    /// All that was lost may have been lost on one CPU.
    OfOneCpu,
}

/// The time of the machine while a process measured, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its length.
    wall: f64,
    /// The number of CPUs that the process could use.
    cpus: u32,
    /// Time lost by the program, if its tasks never wait.
    lost: Option<f64>,
    /// Time that others used, with what the hypervisor stole.
    others: Option<f64>,
    stolen: Option<f64>,
    /// As far as the process could see it.
    throttled: f64,
    shows_throttling: bool,
    stopped: f64,
    /// How much longer the longest lap took than most, if it is an outlier; not more than the CPUs
    /// idled, as the program's own tasks may have spun through it.
    gap: f64,
}

impl Span {
    /// The span of a process with this record; `None` if it lacks the length.
    pub fn new(invocation: &Invocation, record: &Record) -> Option<Self> {
        let found = &record.interference;
        let wall = found.wall_ns? as f64;
        let cpus = record.affinity.len().max(1) as u32;
        let own = own_ns(record);
        let idle = (wall - own.unwrap_or(0.0) / f64::from(cpus)).max(0.0);
        let busy = own.filter(|_| is_always_busy(record));
        Some(Self {
            wall,
            cpus,
            lost: busy.map(|own| (wall - own - READING_NS).max(0.0)),
            others: found.others_cpu_ns.map(|ns| ns as f64),
            stolen: found.steal_ns.map(|ns| ns as f64),
            throttled: found.throttled_ns.unwrap_or(0) as f64,
            shows_throttling: found.throttled_ns.is_some(),
            stopped: invocation.stopped_ns.unwrap_or(0) as f64,
            gap: gap_ns(record).min(idle),
        })
    }
}

/// What clock ticks say of others, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// Time of the CPUs that was looked at.
    of: f64,
    /// Time that they used: ticks without the program's own CPU time.
    used: f64,
    /// The variance of that.
    variance: f64,
}

impl Others {
    fn plus(self, more: Self) -> Self {
        Self {
            of: self.of + more.of,
            used: self.used + more.used,
            variance: self.variance + more.variance,
        }
    }

    /// The largest error of `used` that chance explains.
    fn noise(self) -> f64 {
        DEVIATIONS * self.variance.sqrt()
    }

    /// Whether ticks show what others use. They miss tasks that run between two ticks; where they miss
    /// more of the program's own tasks than chance explains, they miss others, too.
    fn are_seen(self) -> bool {
        self.used >= -self.noise()
    }
}

/// The time that a process lost, or sums over processes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Time of the CPUs.
    all: f64,
    /// Time lost by the program, if its tasks never wait.
    lost: Option<f64>,
    others: Option<Others>,
    stolen: Option<f64>,
    /// As far as the processes could see it.
    throttled: f64,
    /// Whether all of them could.
    shows_throttling: bool,
    stopped: f64,
    unexplained: f64,
}

impl Account {
    /// What a process lost in this span.
    pub fn new(span: Span, time: Time) -> Self {
        let Span { wall, lost, .. } = span;
        // A single thread loses only the time of its CPU.
        let used = match time {
            Time::OfAllCpus if lost.is_none() => f64::from(span.cpus),
            _ => 1.0,
        };
        let stolen = span.stolen.map(|ns| ns.min(used * wall));
        let throttled = span.throttled.min(used * wall);
        let stopped = used * span.stopped.min(wall);
        let others = span.others.map(|ns| Others {
            of: used * wall,
            used: ns - stolen.unwrap_or(0.0),
            variance: 2.0 * f64::from(span.cpus) * TICKS_NS.powi(2),
        });
        let of_others = others.map_or(0.0, |others| others.used.max(0.0));
        let known = stolen.unwrap_or(0.0) + throttled + stopped + of_others;
        Self {
            all: used * wall,
            lost,
            others,
            stolen,
            throttled,
            shows_throttling: span.shows_throttling,
            stopped,
            unexplained: (used * span.gap - known).max(0.0),
        }
    }

    /// What all processes of a case lost; `None` without any.
    pub fn of_case(processes: impl IntoIterator<Item = Self>) -> Option<Self> {
        let found = processes.into_iter().reduce(Self::plus)?.settled();
        Some(Self { others: found.others.filter(|others| others.are_seen()), ..found })
    }

    fn plus(self, more: Self) -> Self {
        let both = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let of_others = self.others.into_iter().chain(more.others);
        Self {
            all: self.all + more.all,
            lost: both(self.lost, more.lost),
            others: of_others.reduce(Others::plus),
            stolen: both(self.stolen, more.stolen),
            throttled: self.throttled + more.throttled,
            shows_throttling: self.shows_throttling && more.shows_throttling,
            stopped: self.stopped + more.stopped,
            unexplained: self.unexplained + more.unexplained,
        }
    }

    /// If the lost time is known, each cause explains at most what those before it leave, and the
    /// ticks only separate others from the unexplained rest.
    fn settled(self) -> Self {
        let Some(mut rest) = self.lost else { return self };
        let mut take = |most: f64| {
            let taken = most.clamp(0.0, rest);
            rest -= taken;
            taken
        };
        let stolen = self.stolen.map(&mut take);
        let throttled = take(self.throttled);
        let stopped = take(self.stopped);
        let most = self.others.map_or(f64::INFINITY, |others| others.used + others.noise());
        let others = Others { of: self.all, used: take(most), variance: 0.0 };
        Self { stolen, throttled, stopped, others: Some(others), unexplained: rest, ..self }
    }

    fn shares(self) -> LostTime {
        let is_throttling_known = self.shows_throttling || self.throttled > 0.0;
        LostTime {
            others: self.others.map(|others| others.used.max(0.0) / others.of),
            resolution: self.others.map(|others| others.noise() / others.of),
            stolen: self.stolen.map(|stolen| stolen / self.all),
            throttled: is_throttling_known.then_some(self.throttled / self.all),
            stopped: self.stopped / self.all,
            unexplained: self.unexplained / self.all,
        }
    }
}

/// Whether one thread is always running or ready: on one CPU if no task sleeps, or if none ever
/// waits.
fn is_always_busy(record: &Record) -> bool {
    let switches = record.switches.and_then(|counts| counts.expected_per_operation);
    record.schedule.is_none() && (record.affinity.len() == 1 || switches == Some(0.0))
}

/// CPU time of the program in the span, including the ends of its threads.
fn own_ns(record: &Record) -> Option<f64> {
    let uncounted_ns = record.cpu.as_ref()?.uncounted_ns_per_operation.unwrap_or(0.0);
    Some((cpu_ns(record)? + uncounted_ns) * operations(record)?)
}

/// How much longer the longest lap took than most, if it is an outlier.
fn gap_ns(record: &Record) -> f64 {
    let Some(laps) = record.principal() else { return 0.0 };
    let is_far = laps.max_ns > GAP_NS && laps.max_ns > laps.p50_ns.saturating_mul(GAP_LAPS);
    if is_far { (laps.max_ns - laps.p50_ns) as f64 } else { 0.0 }
}

impl LostTime {
    /// The time that the processes of these cases lost together; `None` without any.
    pub fn of_cases(cases: impl IntoIterator<Item = Account>) -> Option<Self> {
        Some(cases.into_iter().reduce(Account::plus)?.shares())
    }

    /// What took time, the largest share first. The first word of several alike is the one that a
    /// reader can do most about.
    pub fn causes(&self) -> Vec<Cause> {
        let others = self.others.zip(self.resolution).map(|(share, resolution)| {
            let is_bound = share <= resolution;
            let share = if is_bound { share + resolution } else { share };
            Cause { word: Word::Busy, share, is_bound }
        });
        let rest = [
            (Word::Stolen, self.stolen.unwrap_or(0.0)),
            (Word::Throttled, self.throttled.unwrap_or(0.0)),
            (Word::Stopped, self.stopped),
            (Word::Disturbed, self.unexplained),
        ];
        let rest = rest.map(|(word, share)| Cause { word, share, is_bound: false });
        let mut causes: Vec<Cause> = others.into_iter().chain(rest).collect();
        causes.retain(|cause| cause.word == Word::Busy || cause.share > 0.0);
        causes.sort_by(|one, other| other.share.total_cmp(&one.share));
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Sample;

    const MS: f64 = 1e6;

    /// Twelve processes of 50 ms.
    fn processes(change: impl Fn(usize, &mut Invocation)) -> Option<LostTime> {
        let mut all: Vec<_> =
            (1..=12).map(|round| Sample::hop(100.0).in_round("ring", round)).collect();
        for (index, invocation) in all.iter_mut().enumerate() {
            let record = invocation.record.as_mut()?;
            record.interference.wall_ns = Some(50_000_000);
            record.interference.others_cpu_ns = Some(0);
            record.affinity = vec![0];
            own(record, 50.0);
            change(index, invocation);
        }
        let account = |process: &Invocation| {
            let span = Span::new(process, process.record.as_ref()?)?;
            Some(Account::new(span, Time::OfAllCpus))
        };
        LostTime::of_cases(Account::of_case(all.iter().filter_map(account)))
    }

    /// Makes a process use this much CPU time, including the reading of its counters.
    fn own(record: &mut Record, ms: f64) {
        let laps = record.principal().unwrap();
        let each = (ms * MS - READING_NS) / (laps.count as f64 * laps.operations as f64);
        let cpu = record.cpu.as_mut().unwrap();
        cpu.user_ns_per_operation = each;
        cpu.system_ns_per_operation = 0.0;
    }

    fn rounded(share: f64) -> f64 {
        (share * 1000.0).round() / 1000.0
    }

    /// The CPU time that a program used itself, in ms, that of others by ticks in every other process,
    /// and the shares that others took and that nobody explains.
    #[test]
    fn time_that_others_used_or_that_nobody_explains_is_lost() {
        let ticks = |even: i64, odd: i64| Some([even, odd].map(|ms| ms * 1_000_000));
        for (own_ms, cpus, others_ms, others, unexplained) in [
            (50.0, 1, ticks(0, 0), Some(0.0), 0.0),
            // Each process loses far less than two clock ticks.
            (45.0, 1, ticks(10, 0), Some(0.1), 0.0),
            (5.0, 1, ticks(0, 0), Some(0.1), 0.8),
            (5.0, 1, None, Some(0.9), 0.0),
            // A program that may wait is judged by ticks.
            (50.0, 2, ticks(10, -10), Some(0.0), 0.0),
            (50.0, 2, ticks(40, 20), Some(0.3), 0.0),
            // Its tasks run between two ticks, and so may others.
            (50.0, 2, ticks(-20, -20), None, 0.0),
        ] {
            let found = processes(|index, process| {
                let record = process.record.as_mut().unwrap();
                own(record, own_ms);
                record.affinity = (0..cpus).collect();
                record.interference.others_cpu_ns = others_ms.map(|ms| ms[index % 2]);
            });
            let found = found.unwrap();
            let shares = (found.others.map(rounded), rounded(found.unexplained));
            assert_eq!(shares, (others, unexplained), "{own_ms} {others_ms:?}: {found:?}");
            let seen = found.causes().into_iter().filter(|cause| !cause.is_bound);
            let share: f64 = seen.map(|cause| cause.share).sum();
            assert_eq!(share > 0.02, others > Some(0.0) || unexplained > 0.0);
        }
        assert_eq!(
            processes(|_, process| process.record.as_mut().unwrap().interference.wall_ns = None),
            None
        );
    }

    /// A case whose tasks ticks miss hides nothing that other cases show.
    #[test]
    fn others_are_shown_by_the_cases_whose_ticks_show_them() {
        let case = |others_ms: f64| {
            let span = Span {
                wall: 1000.0 * MS,
                cpus: 2,
                lost: None,
                others: Some(others_ms * MS),
                stolen: Some(0.0),
                throttled: 0.0,
                shows_throttling: true,
                stopped: 0.0,
                gap: 0.0,
            };
            Account::of_case([Account::new(span, Time::OfAllCpus)])
        };
        let of = |cases: &[f64]| LostTime::of_cases(cases.iter().filter_map(|ms| case(*ms)));
        assert_eq!(of(&[200.0, -400.0]).and_then(|lost| lost.others), Some(0.1));
        assert_eq!(of(&[200.0, 0.0]).and_then(|lost| lost.others), Some(0.05));
        let blind = of(&[-400.0]).expect("a case");
        assert_eq!((blind.others, blind.resolution, blind.causes()), (None, None, vec![]));
    }

    /// Ticks may say more than a thread lost that always ran or was ready.
    #[test]
    fn no_cause_explains_more_than_was_lost() {
        for (own_ms, stolen, unexplained) in [(50.0, 0.0, 0.0), (45.0, 0.1, 0.0), (20.0, 0.2, 0.3)]
        {
            let found = processes(|_, process| {
                let record = process.record.as_mut().unwrap();
                own(record, own_ms);
                record.interference.steal_ns = Some(10_000_000);
                record.interference.others_cpu_ns = Some(10_000_000);
            });
            let found = found.unwrap();
            assert_eq!(found.stolen.map(rounded), Some(stolen), "{own_ms}: {found:?}");
            assert_eq!(rounded(found.unexplained), unexplained, "{own_ms}: {found:?}");
        }
    }

    /// A lap of 200 ms among laps of 1 ms is unexplained, unless the program used both CPUs meanwhile.
    #[test]
    fn a_long_lap_is_unexplained_unless_the_program_ran_through_it() {
        for (own_ms, unexplained) in [(100.0, 0.663), (300.0, 0.5), (590.0, 0.017), (600.0, 0.0)] {
            let found = processes(|_, process| {
                let record = process.record.as_mut().unwrap();
                record.affinity = vec![0, 1];
                record.interference.wall_ns = Some(300_000_000);
                own(record, own_ms);
                let laps = &mut record.measurements[0];
                (laps.p50_ns, laps.max_ns) = (1_000_000, 200_000_000);
            });
            let found = found.unwrap();
            assert_eq!(rounded(found.unexplained), unexplained, "{own_ms}: {found:?}");
        }
    }

    #[test]
    fn throttling_is_known_if_all_processes_could_see_it_or_one_saw_it() {
        for (known_ns, other_ns, expected) in [
            (Some(0), Some(0), Some(0.0)),
            (Some(0), None, None),
            (Some(10_000_000), Some(0), Some(0.1)),
            (Some(10_000_000), None, Some(0.1)),
        ] {
            let found = processes(|index, process| {
                let record = process.record.as_mut().unwrap();
                own(record, 30.0);
                record.interference.throttled_ns = if index < 6 { known_ns } else { other_ns };
            });
            let found = found.unwrap();
            assert_eq!(found.throttled.map(rounded), expected, "{found:?}");
        }
    }

    /// Also if one process was left alone, whose figure is used.
    #[test]
    fn stops_and_quotas_are_lost_time_of_all_processes() {
        let share = 11.0 / 12.0 * 0.4;
        for cpus in [vec![0], vec![0, 1]] {
            let disturbed = |disturb: fn(&mut Invocation)| {
                let found = processes(|index, process| {
                    let record = process.record.as_mut().unwrap();
                    record.affinity.clone_from(&cpus);
                    if index > 0 {
                        own(record, 30.0);
                        disturb(process);
                    }
                });
                found.unwrap()
            };
            let stopped = disturbed(|process| process.stopped_ns = Some(20_000_000));
            assert_eq!(rounded(stopped.stopped), rounded(share), "{stopped:?}");
            let throttled = disturbed(|process| {
                let found = &mut process.record.as_mut().unwrap().interference;
                found.throttled_ns = Some(40_000_000);
                found.throttled_periods = Some([1, 1]);
            });
            assert!(throttled.throttled > Some(0.36), "{throttled:?}");
            for (found, word) in [(stopped, Word::Stopped), (throttled, Word::Throttled)] {
                assert_eq!(found.causes()[0].word, word);
            }
        }
    }
}
