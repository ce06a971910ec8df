//! The order in which a run measures, and when it stops.
//!
//! Every round has every case once, shuffled, so that no case always follows the same other and
//! none gets all of a quiet or busy stretch; cases that a report compares run back to back. The
//! next turn depends only on `run.json` and the invocations so far, so a run resumes from its
//! records.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use humantime::parse_rfc3339;

use crate::store::invocation::Invocation;
use crate::store::results::RunDescription;

/// The default time of a run for each of its cases, in seconds: a dozen rounds of most.
const SECONDS_FOR_A_CASE: f64 = 7.0;

/// The least default time, in seconds: a disturbance lasts for 10 to 20.
const LEAST_SECONDS: f64 = 30.0;

/// What a pause between two invocations counts at most: a longer one was an interruption.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The default time of a run of this many cases, in seconds.
pub fn default_seconds(cases: usize) -> f64 {
    (cases as f64 * SECONDS_FOR_A_CASE).max(LEAST_SECONDS)
}

/// A seed for a run without one: short enough to type.
pub fn random_seed() -> u64 {
    fastrand::u32(..).into()
}

/// The CPU for tasks that share one in `round`, counted from 1: each of `cpus` in turn, since the
/// first often serves the interrupts. `None` without CPUs.
pub fn shared_cpu(round: u32, cpus: &[usize]) -> Option<usize> {
    let turn = (round.saturating_sub(1) as usize).checked_rem(cpus.len())?;
    Some(cpus[turn])
}

/// An invocation to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The round, counted from 1.
    pub round: u32,
    /// Index of the case.
    pub case: usize,
    /// Which attempt at this case in this round, counted from 1.
    pub attempt: u32,
}

/// The invocations of a case in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    count: u32,
    /// Whether one was not interrupted.
    is_done: bool,
}

/// A run's progress.
pub struct Schedule {
    /// The number of rounds; `None` for as many as there is time for.
    rounds: Option<u32>,
    time: Option<Duration>,
    rng: Rng,
    /// All cases, partners together, in the order of the latest round.
    order: Vec<Vec<usize>>,
    round: u32,
    tries: BTreeMap<(u32, usize), Tries>,
    done: u32,
    spent: Duration,
    /// When the latest invocation ended.
    ended: Option<SystemTime>,
}

impl Schedule {
    /// The schedule of a run after these invocations; unknown cases are skipped.
    pub fn of(run: &RunDescription, invocations: &[Invocation]) -> Self {
        let index = |name: &String| run.cases.iter().position(|case| case == name);
        let procedure = run.procedure.as_ref();
        let partners = procedure.map_or(&[][..], |procedure| &procedure.partners).iter();
        let partners = partners.filter_map(|[one, other]| Some([index(one)?, index(other)?]));
        let seconds = procedure.and_then(|procedure| procedure.seconds);
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let mut schedule = Self {
            rounds: (run.rounds > 0 || time.is_none()).then_some(run.rounds),
            time,
            rng: Rng::with_seed(run.seed),
            order: together(run.cases.len(), partners),
            round: 0,
            tries: BTreeMap::new(),
            done: 0,
            spent: Duration::ZERO,
            ended: None,
        };
        for invocation in invocations {
            if let Some(case) = index(&invocation.case) {
                schedule.record(case, invocation);
            }
        }
        schedule
    }

    /// Records an ended invocation of the case with this index.
    pub fn record(&mut self, case: usize, invocation: &Invocation) {
        let tries = self.tries.entry((invocation.round, case)).or_default();
        tries.count += 1;
        self.done += u32::from(!tries.is_done && !invocation.interrupted);
        tries.is_done |= !invocation.interrupted;
        let duration = Duration::from_nanos(invocation.duration_ns);
        let began = parse_rfc3339(&invocation.started_at).ok();
        let pause = began.zip(self.ended).map(|(began, ended)| began.duration_since(ended));
        let pause = pause.and_then(Result::ok).unwrap_or_default();
        self.spent += duration + pause.min(LONGEST_PAUSE);
        self.ended = began.and_then(|began| began.checked_add(duration));
    }

    /// The next turn; `None` if the run is complete.
    pub fn next_turn(&mut self) -> Option<Turn> {
        loop {
            if self.order.is_empty() || self.time.is_some_and(|time| self.spent >= time) {
                return None;
            }
            let tries = |case: &usize| self.tries.get(&(self.round, *case)).copied();
            let tries = |case| (case, tries(&case).unwrap_or_default());
            let mut turns = self.order.iter().flatten().copied().map(tries);
            let next = turns.find(|(_, tries)| self.round > 0 && !tries.is_done);
            if let Some((case, tries)) = next {
                return Some(Turn { round: self.round, case, attempt: tries.count + 1 });
            }
            if self.rounds == Some(self.round) {
                return None;
            }
            self.round += 1;
            self.rng.shuffle(&mut self.order);
            self.order.iter_mut().for_each(|partners| self.rng.shuffle(partners));
        }
    }

    /// The share of the run that is done.
    pub fn share(&self) -> f64 {
        let all = self.order.iter().flatten().count() as f64;
        let of_rounds = self.rounds.map(|rounds| f64::from(self.done) / (f64::from(rounds) * all));
        let of_time = self.time.map(|time| self.spent.div_duration_f64(time));
        of_rounds.into_iter().chain(of_time).fold(0.0, f64::max).min(1.0)
    }

    /// About how long the rest takes.
    pub fn time_left(&self) -> Duration {
        let share = self.share();
        let all = self.time.unwrap_or_else(|| match share > 0.0 {
            true => self.spent.div_f64(share),
            false => Duration::ZERO,
        });
        all.mul_f64(1.0 - share)
    }
}

/// The indices of `cases` cases, grouped by links between partners, direct or indirect.
fn together(cases: usize, partners: impl Iterator<Item = [usize; 2]>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = (0..cases).map(|case| vec![case]).collect();
    for pair in partners {
        let [first, second] =
            pair.map(|case| groups.iter().position(|group| group.contains(&case)));
        if let (Some(first), Some(second)) = (first, second)
            && first != second
        {
            let joined = groups.remove(first.max(second));
            groups[first.min(second)].extend(joined);
        }
    }
    groups
}

/// The orders of a comparison's rounds.
#[derive(Debug)]
pub struct Order {
    rng: Rng,
    /// The side, 0 for the baseline, that came first in each case's last round.
    first: Vec<usize>,
}

/// A case's turn in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidesTurn {
    /// The case's index.
    pub case: usize,
    /// The sides, 0 for the baseline, in the order in which they run.
    pub sides: [usize; 2],
}

impl Order {
    /// An order of `cases` cases, determined by `seed`.
    pub fn new(cases: usize, seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), first: vec![0; cases] }
    }

    /// The turns of a round, counted from 1, for the `open` cases. Of two rounds the first is
    /// random and the second its reverse.
    pub fn turns(&mut self, round: u32, open: &[usize]) -> Vec<SidesTurn> {
        let mut cases = open.to_vec();
        self.rng.shuffle(&mut cases);
        cases.into_iter().map(|case| self.turn(round, case)).collect()
    }

    fn turn(&mut self, round: u32, case: usize) -> SidesTurn {
        let first = &mut self.first[case];
        *first = if round % 2 == 1 { self.rng.usize(..2) } else { 1 - *first };
        SidesTurn { case, sides: [*first, 1 - *first] }
    }
}

#[cfg(test)]
mod tests;
