//! The order in which a run measures, and when it stops.
//!
//! First come the common rounds: every case once per round, shuffled, so that no case always
//! follows the same other and none gets all of a quiet or busy stretch. Cases that a sentence or a
//! baseline compares are partners and run back to back, so that a disturbance of a second hits
//! both. With a budget, extra rounds follow, in the same kind of order, of the cases whose
//! intervals narrow most per second of measuring.
//!
//! The next turn depends only on the seed and the invocations so far. An interrupted run resumes
//! from its records, with the first missing turn.

pub mod pairs;

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::judge::interference::{Trust, assess};
use crate::judge::ledger::principal_figure;
use crate::judge::statistics::{Estimate, Modes, outlier};
use crate::store::invocation::{Invocation, Outcome};
use crate::store::results::{FurtherRounds, Procedure, RunDescription};

/// An extra round takes the cases that gain at least this share of the largest
/// gain.
const SHARE_OF_MOST: f64 = 0.5;

/// A case with two modes gets at most this many times the common rounds, or
/// [`FEWEST_WITH_MODES`]: its interval shows how often it falls into one of them,
/// and more rounds do not change that.
const MOST_WITH_MODES: u32 = 2;

/// Fewer rounds do not distinguish two modes from a wide scatter.
const FEWEST_WITH_MODES: u32 = 20;

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

/// The parts of an ended invocation that decide what comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// How long the process lived.
    pub duration: Duration,
    /// Its figure, if it measured; the figures' scatter decides how often the
    /// case runs.
    pub figure: Option<f64>,
    /// Whether it counts.
    pub worth: Worth,
}

impl Attempt {
    /// Extracts them from an invocation.
    pub fn of(invocation: &Invocation) -> Self {
        let measured = invocation.outcome == Outcome::Measured;
        let record = invocation.record.as_ref().filter(|_| measured);
        let worth = if invocation.interrupted {
            Worth::Interrupted
        } else if measured && assess(invocation).trust == Trust::Unusable {
            Worth::Unusable
        } else {
            Worth::Stands
        };
        Self {
            duration: Duration::from_nanos(invocation.duration_ns),
            figure: record.and_then(principal_figure).map(|(figure, _)| figure),
            worth,
        }
    }
}

/// Whether an invocation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// It counts, as a measurement or a failure.
    Stands,
    /// It was too disturbed and should be repeated.
    Unusable,
    /// The runner ended it because it was interrupted.
    Interrupted,
}

/// Why a case got no more rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Its interval is narrow enough.
    Resolved,
    /// The budget was used up first.
    BudgetSpent,
    /// The number of rounds was fixed.
    RoundsDone,
    /// It has two modes, and more rounds do not narrow its interval.
    TwoModes,
    /// An invocation failed, and more rounds would not help.
    Failed,
}

/// Version of [`RunEnd`]'s schema.
pub const RUN_END_SCHEMA_VERSION: &str = "1.0";

/// How a complete run ended: the contents of `run-end.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// Version of this object's schema, `major.minor`.
    pub schema_version: String,
    /// The cases, in the order of `run.json`.
    pub cases: Vec<CaseEnd>,
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseEnd {
    /// The case's name.
    pub case: String,
    /// The rounds that measured.
    pub rounds: usize,
    /// The half-width of the 95 % interval of its principal figure, in percent; `null` for fewer
    /// than twelve rounds.
    pub half_width_percent: Option<f64>,
    /// Why it got no more rounds.
    pub reason: Reason,
}

/// The attempts at one case in one round.
#[derive(Clone, Copy, Debug)]
struct Tries {
    count: u32,
    last: Worth,
    figure: Option<f64>,
}

/// The invocations of one case.
#[derive(Clone, Debug, Default)]
struct CaseHistory {
    rounds: BTreeMap<u32, Tries>,
    reruns: u32,
    failed: bool,
    spent: Duration,
}

/// A run's progress.
pub struct Schedule {
    rounds: u32,
    further: Option<FurtherRounds>,
    reruns: u32,
    spacing: Duration,
    rng: Rng,
    /// All cases, partners together, in the order of the latest round.
    order: Vec<Vec<usize>>,
    round: u32,
    /// The latest round with an invocation.
    latest: u32,
    /// This round's cases, in order.
    members: Vec<usize>,
    histories: Vec<CaseHistory>,
    spent: Duration,
    /// Time used by the latest round so far.
    spent_on_latest: Duration,
}

impl Schedule {
    /// The schedule of a run after these invocations; unknown cases are skipped.
    pub fn of(run: &RunDescription, invocations: &[Invocation]) -> Self {
        let index = |name: &String| run.cases.iter().position(|case| case == name);
        let procedure = run.procedure.clone().unwrap_or_default();
        let pairs = procedure.partners.iter();
        let pairs = pairs.filter_map(|[first, second]| Some([index(first)?, index(second)?]));
        let partners: Vec<_> = pairs.collect();
        let mut schedule = Self::new(run.cases.len(), run.rounds, &procedure, run.seed, &partners);
        for invocation in invocations {
            if let Some(case) = index(&invocation.case) {
                schedule.record(case, invocation.round, Attempt::of(invocation));
            }
        }
        schedule
    }

    /// A run of `cases` cases that has not begun; `seed` determines the order.
    /// `partners` are pairs of indices of cases.
    fn new(
        cases: usize,
        rounds: u32,
        procedure: &Procedure,
        seed: u64,
        partners: &[[usize; 2]],
    ) -> Self {
        Self {
            rounds,
            further: procedure.further,
            reruns: procedure.reruns,
            spacing: procedure.spacing(),
            rng: Rng::with_seed(seed),
            order: together(cases, partners),
            round: 0,
            latest: 0,
            members: Vec::new(),
            histories: vec![CaseHistory::default(); cases],
            spent: Duration::ZERO,
            spent_on_latest: Duration::ZERO,
        }
    }

    /// Records an ended invocation of `case` in `round`.
    pub fn record(&mut self, case: usize, round: u32, attempt: Attempt) {
        if round > self.latest {
            if self.latest > 0 {
                // Rounds begin at least `spacing` apart.
                self.spent += self.spacing.saturating_sub(self.spent_on_latest);
            }
            (self.latest, self.spent_on_latest) = (round, Duration::ZERO);
        }
        self.spent += attempt.duration;
        self.spent_on_latest += attempt.duration;
        self.histories[case].record(round, attempt);
    }

    /// The next turn; `None` if the run is complete.
    pub fn next_turn(&mut self) -> Option<Turn> {
        loop {
            if let Some(turn) = self.pending() {
                return (!self.is_spent()).then_some(turn);
            }
            self.begin_round()?;
        }
    }

    /// The next turn of this round: first attempts before repeats.
    fn pending(&self) -> Option<Turn> {
        let tries = |case: usize| self.histories[case].due(self.round, self.reruns);
        let due = self.members.iter().filter_map(|&case| Some((case, tries(case)?)));
        let (case, tries) = due.min_by_key(|&(_, tries)| tries)?;
        Some(Turn { round: self.round, case, attempt: tries + 1 })
    }

    /// Whether this is an extra round and the budget is used up.
    fn is_spent(&self) -> bool {
        self.round > self.rounds && self.budget_left() == Some(Duration::ZERO)
    }

    /// Starts the next round; `None` if there is none.
    fn begin_round(&mut self) -> Option<()> {
        let members = self.members_of(self.round + 1);
        if members.is_empty() {
            return None;
        }
        self.round += 1;
        self.rng.shuffle(&mut self.order);
        self.order.iter_mut().for_each(|partners| self.rng.shuffle(partners));
        let order = self.order.iter().flatten().copied();
        self.members = order.filter(|case| members.contains(case)).collect();
        Some(())
    }

    /// The cases of `round`, decided by earlier rounds.
    fn members_of(&self, round: u32) -> Vec<usize> {
        if (self.rounds + 1..self.latest).contains(&round) {
            // A finished round is not decided again: that would take quadratic time over many
            // rounds.
            let ran = |case: &usize| self.histories[*case].rounds.contains_key(&round);
            return (0..self.histories.len()).filter(ran).collect();
        }
        if round <= self.rounds {
            return (0..self.histories.len()).collect();
        }
        let Some(further) = self.further else { return Vec::new() };
        let gains = (0..)
            .zip(&self.histories)
            .filter(|(_, history)| !history.failed && !self.is_capped(history, round))
            .map(|(case, history)| (case, history.gain(round)));
        let is_wide = |case: usize| {
            let half_width = self.histories[case].half_width(round);
            half_width.is_none_or(|half_width| 100.0 * half_width > further.target_percent)
        };
        let (wide, narrow): (Vec<_>, Vec<_>) = gains.partition(|&(case, _)| is_wide(case));
        if wide.is_empty() { Vec::new() } else { self.worth_it(wide, narrow) }
    }

    /// The `wide` cases that gain at least half as much as the best one; rather than waiting,
    /// others follow in the order of their gains, `narrow` ones last.
    fn worth_it(&self, mut wide: Vec<(usize, f64)>, mut narrow: Vec<(usize, f64)>) -> Vec<usize> {
        let by_gain =
            |(_, first): &(usize, f64), (_, second): &(usize, f64)| second.total_cmp(first);
        wide.sort_by(by_gain);
        narrow.sort_by(by_gain);
        let least = SHARE_OF_MOST * wide.first().map_or(0.0, |&(_, most)| most);
        let needed = wide.iter().take_while(|(_, gain)| *gain >= least).count();
        let mut lasts = Duration::ZERO;
        let in_order = wide.into_iter().chain(narrow).enumerate();
        let is_worth_it = |&(rank, (case, _)): &(usize, (usize, f64))| {
            let has_time = lasts < self.spacing;
            lasts += self.histories[case].mean_duration();
            rank < needed || has_time
        };
        in_order.take_while(is_worth_it).map(|(_, (case, _))| case).collect()
    }

    /// Whether a case has two modes and already has all the rounds that such a case gets before
    /// `round`.
    fn is_capped(&self, history: &CaseHistory, round: u32) -> bool {
        let times = history.times(round);
        let most = self.rounds.saturating_mul(MOST_WITH_MODES).max(FEWEST_WITH_MODES);
        times.len() >= most as usize && Modes::of(&times).is_some()
    }

    /// Remaining turns of the common rounds, by case.
    pub fn remaining(&self) -> Vec<u32> {
        let rounds = self.rounds;
        let left = |history: &CaseHistory| {
            let tried = history.rounds.range(..=rounds);
            let done = tried.filter(|(_, tries)| tries.last != Worth::Interrupted).count();
            rounds.saturating_sub(u32::try_from(done).unwrap_or(u32::MAX))
        };
        self.histories.iter().map(left).collect()
    }

    /// The remaining budget for extra rounds, if there is one.
    pub fn budget_left(&self) -> Option<Duration> {
        let budget = Duration::try_from_secs_f64(self.further?.budget_seconds).unwrap_or_default();
        Some(budget.saturating_sub(self.spent))
    }

    fn reason(&self, history: &CaseHistory) -> Reason {
        let Some(further) = self.further else {
            return if history.failed { Reason::Failed } else { Reason::RoundsDone };
        };
        let half_width = history.half_width(u32::MAX);
        if history.failed {
            Reason::Failed
        } else if half_width.is_some_and(|width| 100.0 * width <= further.target_percent) {
            Reason::Resolved
        } else if self.is_capped(history, u32::MAX) {
            Reason::TwoModes
        } else {
            Reason::BudgetSpent
        }
    }

    /// How a run of these cases ended.
    pub fn end(&self, cases: &[String]) -> RunEnd {
        let end = |(case, history): (&String, &CaseHistory)| CaseEnd {
            case: case.clone(),
            rounds: history.times(u32::MAX).len(),
            half_width_percent: history.half_width(u32::MAX).map(|width| 100.0 * width),
            reason: self.reason(history),
        };
        RunEnd {
            schema_version: RUN_END_SCHEMA_VERSION.to_owned(),
            cases: cases.iter().zip(&self.histories).map(end).collect(),
        }
    }
}

impl CaseHistory {
    fn record(&mut self, round: u32, attempt: Attempt) {
        self.spent += attempt.duration;
        let before = self.rounds.get(&round);
        self.reruns += u32::from(before.is_some_and(|tries| tries.last == Worth::Unusable));
        self.failed |= attempt.worth == Worth::Stands && attempt.figure.is_none();
        let earlier = before.and_then(|tries| tries.figure);
        let tries = Tries {
            count: before.map_or(0, |tries| tries.count) + 1,
            last: attempt.worth,
            figure: if attempt.worth == Worth::Stands {
                attempt.figure
            } else {
                earlier.or(attempt.figure)
            },
        };
        self.rounds.insert(round, tries);
    }

    /// The number of attempts so far, if another is due in `round`.
    fn due(&self, round: u32, reruns: u32) -> Option<u32> {
        match self.rounds.get(&round) {
            None => Some(0),
            Some(Tries { last: Worth::Stands, .. }) => None,
            Some(Tries { last: Worth::Unusable, .. }) if self.reruns >= reruns => None,
            Some(tries) => Some(tries.count),
        }
    }

    /// Times of the rounds before `round` that a report would use: unusable
    /// ones only if there are no others.
    fn times(&self, round: u32) -> Vec<f64> {
        let times = |counts: fn(&Tries) -> bool| -> Vec<f64> {
            let tries = self.rounds.range(..round).map(|(_, tries)| tries);
            tries.filter(|tries| counts(tries)).filter_map(|tries| tries.figure).collect()
        };
        let usable = times(|tries| tries.last == Worth::Stands);
        if usable.is_empty() { times(|_| true) } else { usable }
    }

    /// The mean duration of an invocation.
    fn mean_duration(&self) -> Duration {
        self.spent / u32::try_from(self.rounds.len()).unwrap_or(u32::MAX).max(1)
    }

    /// How much one second of further invocations narrows the interval over the rounds before
    /// `round`, as a share of the case's time: the half-width falls with the square root of their
    /// number. Infinite without an interval.
    fn gain(&self, round: u32) -> f64 {
        let half_width = self.half_width(round);
        half_width.map_or(f64::INFINITY, |width| width / (2.0 * self.spent.as_secs_f64()))
    }

    /// The half-width of the interval over the rounds before `round`, as a
    /// share of their median.
    fn half_width(&self, round: u32) -> Option<f64> {
        let times = self.times(round);
        // More rounds decide whether an outlier is a second mode.
        let estimate = Estimate::lower_quartile(&times).filter(|_| outlier(&times).is_none())?;
        estimate.half_width()
    }
}

/// The indices of `cases` cases, grouped by links between partners, direct or
/// indirect.
fn together(cases: usize, partners: &[[usize; 2]]) -> Vec<Vec<usize>> {
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

/// A seed for a run without one: short enough to type.
pub fn random_seed() -> u64 {
    fastrand::u32(..).into()
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

    /// The turns of a round, counted from 1, for the `open` cases. Of two
    /// rounds the first is random and the second its reverse.
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
mod tests {
    use harness::record::LedgerPoint;
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;
    use crate::judge::statistics::FEWEST_TIMES;
    use crate::store::fixtures::case;

    /// A run's plan.
    #[derive(Clone, Copy)]
    struct Plan {
        rounds: u32,
        further: Option<FurtherRounds>,
        reruns: u32,
        spacing_seconds: f64,
    }

    const FIXED: Plan = Plan { rounds: 3, further: None, reruns: 2, spacing_seconds: 0.0 };

    /// Twelve rounds, then extra ones until ± 3 % or 100 s.
    const ADAPTIVE: Plan = Plan { rounds: 12, further: within(100.0), ..FIXED };

    /// Until ± 3 %, or this many seconds have passed.
    const fn within(budget_seconds: f64) -> Option<FurtherRounds> {
        Some(FurtherRounds { target_percent: 3.0, budget_seconds })
    }

    fn schedule(cases: usize, plan: Plan, seed: u64, partners: &[[usize; 2]]) -> Schedule {
        let Plan { rounds, further, reruns, spacing_seconds } = plan;
        let procedure = Procedure { further, reruns, spacing_seconds, ..Procedure::default() };
        Schedule::new(cases, rounds, &procedure, seed, partners)
    }

    fn reasons(schedule: &Schedule) -> Vec<Reason> {
        schedule.histories.iter().map(|history| schedule.reason(history)).collect()
    }

    /// A measurement of one second.
    fn measured(figure: f64) -> Attempt {
        Attempt { duration: Duration::from_secs(1), figure: Some(figure), worth: Worth::Stands }
    }

    /// Takes at most `most` turns, with these outcomes.
    fn take(schedule: &mut Schedule, most: usize, outcome: impl Fn(Turn) -> Attempt) -> Vec<Turn> {
        let mut turns = Vec::new();
        while turns.len() < most
            && let Some(turn) = schedule.next_turn()
        {
            schedule.record(turn.case, turn.round, outcome(turn));
            turns.push(turn);
        }
        turns
    }

    fn all(cases: usize, plan: Plan, seed: u64, outcome: impl Fn(Turn) -> Attempt) -> Vec<Turn> {
        take(&mut schedule(cases, plan, seed, &[]), 10_000, outcome)
    }

    /// From −1 to 1 in even steps over many rounds: no two modes.
    fn scatter(turn: Turn) -> f64 {
        f64::from(turn.round * 5 % 13) / 6.0 - 1.0
    }

    /// Case 0 does not vary between rounds; the others do, by 40 % and slightly
    /// more each.
    fn spreading(turn: Turn) -> Attempt {
        let spread = if turn.case == 0 { 0.0 } else { 0.39 + 0.01 * turn.case as f64 };
        measured(100.0 * (1.0 + scatter(turn) * spread))
    }

    proptest! {
        #[test]
        fn every_round_has_every_case_once(cases in 0_usize..20, rounds in 1_u32..9, seed: u64) {
            let turns = all(cases, Plan { rounds, ..FIXED }, seed, |_| measured(1.0));
            prop_assert_eq!(turns.len(), cases * rounds as usize);
            for round in 1..=rounds {
                let mut seen: Vec<usize> =
                    turns.iter().filter(|turn| turn.round == round).map(|turn| turn.case).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..cases).collect::<Vec<_>>());
            }
        }

        /// Stopped anywhere and with its records added again in any order, a
        /// run takes the turns it would have taken.
        #[test]
        fn a_run_resumes_where_it_stopped(cases in 1_usize..6, seed: u64, stop in 0_usize..150) {
            // For case 1, the first attempt of every third round is unusable.
            let outcome = |turn: Turn| match (turn.case, turn.round % 3, turn.attempt) {
                (1, 0, 1) => Attempt { worth: Worth::Unusable, ..spreading(turn) },
                _ => spreading(turn),
            };
            let whole = all(cases, ADAPTIVE, seed, outcome);
            let mut first = schedule(cases, ADAPTIVE, seed, &[]);
            let before = take(&mut first, stop, outcome);
            let mut second = schedule(cases, ADAPTIVE, seed, &[]);
            for &turn in &before {
                second.record(turn.case, turn.round, outcome(turn));
            }
            let after = take(&mut second, 10_000, outcome);
            prop_assert_eq!([before, after].concat(), whole);
        }
    }

    #[test]
    fn the_seed_and_the_round_decide_the_order() {
        let turns = |seed| all(10, FIXED, seed, |_| measured(1.0));
        assert_eq!(turns(7), turns(7));
        assert_ne!(turns(7), turns(8));
        assert!(turns(7).is_sorted_by_key(|turn| turn.round));
        let cases = |round: &[Turn]| round.iter().map(|turn| turn.case).collect::<Vec<_>>();
        let rounds: Vec<_> = turns(7).chunks(10).map(cases).collect();
        assert_ne!(rounds[0], rounds[1]);
    }

    /// The number of turns of each case.
    fn count<const CASES: usize>(turns: &[Turn]) -> [usize; CASES] {
        std::array::from_fn(|case| turns.iter().filter(|turn| turn.case == case).count())
    }

    #[test]
    fn a_resolved_case_gets_the_common_rounds_and_the_widest_gets_the_rest() {
        let mut schedule = schedule(3, ADAPTIVE, 7, &[]);
        let turns = take(&mut schedule, 10_000, spreading);
        // Cases 1 and 2 scatter by 40 % and 41 %: both stay wide to the end.
        assert_eq!(count(&turns), [12, 44, 44]);
        let expected = [Reason::Resolved, Reason::BudgetSpent, Reason::BudgetSpent];
        assert_eq!(reasons(&schedule), expected);
        assert_eq!(schedule.histories[0].half_width(u32::MAX), Some(0.0));
    }

    // After the common rounds case 1 gains three times as much per second as case 0, until it has
    // so many more rounds that case 0 gains half as much.
    #[test]
    fn time_goes_where_it_narrows_most() {
        let turns = all(2, ADAPTIVE, 7, |turn| {
            measured(1.0 + scatter(turn) * if turn.case == 0 { 0.1 } else { 0.3 })
        });
        let first = turns.iter().filter(|turn| turn.round > 12).take(2).map(|turn| turn.case);
        assert_eq!(first.collect::<Vec<_>>(), [1, 1]);
        let [narrow, wide] = count(&turns);
        assert_eq!(narrow + wide, 100);
        assert!(wide > narrow, "{wide} rounds of the wide case, {narrow} of the other");
    }

    // A round of the wide case takes a second, and rounds begin three seconds
    // apart.
    #[test]
    fn waits_between_rounds_are_part_of_the_budget() {
        let plan = Plan { spacing_seconds: 4.0, ..ADAPTIVE };
        let mut schedule = schedule(1, plan, 1, &[]);
        let wild = |turn: Turn| measured(100.0 + f64::from(turn.round * 37 % 101));
        let turns = take(&mut schedule, 200, wild);
        assert_eq!(turns.len(), 26, "100 s of 1 s and 3 s of waiting each, but for the first");
        assert_eq!(reasons(&schedule), [Reason::BudgetSpent]);
    }

    #[test]
    fn a_case_with_two_modes_gets_no_more_than_its_share() {
        let outcome = |turn: Turn| match turn.case {
            0 => measured(if turn.round.is_multiple_of(4) { 5.0 } else { 50.0 }),
            _ => spreading(turn),
        };
        let mut schedule = schedule(2, ADAPTIVE, 7, &[]);
        let turns = take(&mut schedule, 10_000, outcome);
        assert_eq!(count(&turns), [24, 76]);
        assert_eq!(reasons(&schedule), [Reason::TwoModes, Reason::BudgetSpent]);
    }

    #[test]
    fn partners_follow_each_other_in_every_round() {
        let plan = Plan { rounds: 20, ..FIXED };
        let mut schedule = schedule(12, plan, 7, &[[3, 9], [9, 1], [5, 5], [7, 0]]);
        let turns = take(&mut schedule, 10_000, |_| measured(1.0));
        let mut orders = Vec::new();
        for round in turns.chunks(12) {
            let place = |case| round.iter().position(|turn| turn.case == case).unwrap();
            let places = |cases: &[usize]| cases.iter().map(|case| place(*case)).collect();
            for cases in [vec![1, 3, 9], vec![0, 7]] {
                let places: Vec<usize> = places(&cases);
                let (first, last) = (places.iter().min(), places.iter().max());
                assert_eq!(last.unwrap() - first.unwrap(), cases.len() - 1, "{round:?}");
            }
            orders.push(place(0) < place(7));
        }
        assert!(orders.contains(&true) && orders.contains(&false), "one always comes first");
    }

    #[test]
    fn tasks_that_share_a_cpu_share_each_in_turn() {
        let of = |cpus: &[usize]| [1, 2, 3, 4].map(|round| shared_cpu(round, cpus));
        assert_eq!(of(&[0, 3, 5]), [Some(0), Some(3), Some(5), Some(0)]);
        assert_eq!(of(&[]), [None; 4]);
    }

    #[test]
    fn at_least_twelve_rounds_are_run_and_the_common_ones_in_any_case() {
        let few = Plan { rounds: 2, ..ADAPTIVE };
        assert_eq!(all(1, few, 7, |_| measured(100.0)).len(), FEWEST_TIMES);
        let turns = all(2, Plan { further: within(2.0), ..ADAPTIVE }, 7, spreading);
        assert_eq!(count(&turns), [12, 12]);
    }

    #[test]
    fn failures_get_no_extra_rounds() {
        let failing = |turn: Turn| match turn {
            Turn { case: 0, round: 2, .. } => Attempt { figure: None, ..measured(0.0) },
            _ => spreading(Turn { case: 1, ..turn }),
        };
        let mut schedule = schedule(2, ADAPTIVE, 7, &[]);
        assert_eq!(count(&take(&mut schedule, 10_000, failing)), [12, 88]);
        assert_eq!(reasons(&schedule), [Reason::Failed, Reason::BudgetSpent]);
    }

    #[test]
    fn unusable_attempts_are_repeated_at_the_end_of_their_round() {
        let outcome = |turn: Turn| match (turn.case, turn.round, turn.attempt) {
            (1, 2, 1 | 2) => Attempt { worth: Worth::Unusable, ..measured(1.0) },
            _ => measured(1.0),
        };
        let turns = all(3, FIXED, 7, outcome);
        assert_eq!(turns.len(), 9 + 2);
        let again = [2, 3].map(|attempt| Turn { round: 2, case: 1, attempt });
        assert_eq!(turns[6..8], again, "{turns:?}");
    }

    #[test]
    fn a_case_that_is_always_unusable_runs_again_up_to_the_bound() {
        let unusable = |_| Attempt { worth: Worth::Unusable, ..measured(1.0) };
        let turns = all(2, FIXED, 7, unusable);
        assert_eq!(count(&turns), [3 + 2, 3 + 2]);
        assert_eq!(all(2, Plan { reruns: 0, ..FIXED }, 7, unusable).len(), 6);
    }

    #[test]
    fn interrupted_invocations_run_again_and_count_as_no_failure() {
        let mut schedule = schedule(1, FIXED, 7, &[]);
        let interrupted = Attempt { figure: None, worth: Worth::Interrupted, ..measured(1.0) };
        for attempt in 1..=5 {
            assert_eq!(schedule.next_turn(), Some(Turn { round: 1, case: 0, attempt }));
            schedule.record(0, 1, interrupted);
        }
        assert_eq!(take(&mut schedule, 10_000, |_| measured(1.0)).len(), 3);
        assert_eq!(reasons(&schedule), [Reason::RoundsDone]);
    }

    /// A log-normal value whose median is 1 (Box and Muller).
    fn log_normal(spread: f64, rng: &mut Rng) -> f64 {
        let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
        (spread * radius * (std::f64::consts::TAU * rng.f64()).cos()).exp()
    }

    /// The share of runs whose interval contains the true median when they end.
    fn coverage(spread: f64) -> f64 {
        const RUNS: u64 = 2000;
        let further = within(30.0);
        let holds = |seed: &u64| {
            let mut rng = Rng::with_seed(*seed);
            let mut schedule = schedule(1, Plan { further, ..ADAPTIVE }, *seed, &[]);
            while let Some(turn) = schedule.next_turn() {
                schedule.record(0, turn.round, measured(log_normal(spread, &mut rng)));
            }
            let estimate = Estimate::of(&schedule.histories[0].times(u32::MAX)).unwrap();
            !estimate.excludes(1.0)
        };
        (0..RUNS).filter(holds).count() as f64 / RUNS as f64
    }

    /// Checking an interval until it is narrow reduces its coverage. docs/STATISTICS.md has these
    /// figures; `-- --nocapture` prints them.
    #[test]
    fn ending_when_it_is_narrow_costs_little_coverage() {
        for spread in [0.02, 0.03, 0.05, 0.07, 0.1, 0.2] {
            let coverage = coverage(spread);
            println!("spread {spread}: {coverage:.3}");
            assert!(coverage > 0.91, "spread {spread}: {coverage}");
        }
    }

    #[test]
    fn a_sweep_of_memory_runs_for_its_bytes_per_task() {
        let [mut sweep] = case("memory", [7000.0]).try_into().unwrap();
        assert_eq!(Attempt::of(&sweep).figure, Some(7000.0));
        let point = |tasks: u64| LedgerPoint {
            tasks,
            proportional_bytes: Some(500 + 10 * tasks),
            page_table_bytes: Some(0),
            kernel_stack_bytes: Some(0),
            unreclaimable_slab_bytes: Some(0),
            ..LedgerPoint::default()
        };
        sweep.record.as_mut().unwrap().ledger = Some([100, 200].map(point).to_vec());
        assert_eq!(Attempt::of(&sweep).figure, Some(10.0));
        sweep.record.as_mut().unwrap().ledger = Some([200, 200].map(point).to_vec());
        assert_eq!(Attempt::of(&sweep).figure, Some(7000.0), "no slope");
    }

    #[test]
    fn of_two_rounds_each_side_is_first_in_one() {
        let mut order = Order::new(5, 3);
        let mut first_of_pair = |round| {
            let mut turns = order.turns(round, &[0, 1, 2, 3, 4]);
            turns.sort_by_key(|turn| turn.case);
            turns.iter().map(|turn| turn.sides[0]).collect::<Vec<_>>()
        };
        let mut seen = Vec::new();
        for round in (1..40).step_by(2) {
            let (one, other) = (first_of_pair(round), first_of_pair(round + 1));
            assert!(one.iter().zip(&other).all(|(one, other)| one + other == 1), "{one:?}");
            seen.extend(one);
        }
        let share = seen.iter().sum::<usize>() as f64 / seen.len() as f64;
        assert!((0.3..0.7).contains(&share), "one side comes first in {share}");
    }

    #[test]
    fn a_round_has_every_open_case_once_in_a_new_order() {
        let mut order = Order::new(9, 3);
        let mut cases =
            |round| order.turns(round, &[1, 3, 5, 7, 8]).iter().map(|turn| turn.case).collect();
        let (one, other): (Vec<usize>, Vec<usize>) = (cases(1), cases(2));
        assert_ne!(one, other);
        for mut round in [one, other] {
            round.sort_unstable();
            assert_eq!(round, [1, 3, 5, 7, 8]);
        }
    }

    #[test]
    fn the_seed_decides() {
        let turns = |seed| Order::new(9, seed).turns(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(turns(1), turns(1));
        assert_ne!(turns(1), turns(2));
    }
}
