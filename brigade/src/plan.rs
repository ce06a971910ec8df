//! The order in which a run measures, and when it stops.
//!
//! Every round has every case once, shuffled, so that no case always follows the same other and
//! none gets all of a quiet or busy stretch; cases that a report compares run back to back, as do
//! the two sides of a comparison. Later rounds leave out cases that have only a few. The next turn depends only on `run.json` and the invocations so
//! far, so a run resumes from its records.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use humantime::parse_rfc3339;

use crate::exit::Exit;
use crate::store::results::{Invocation, Outcome, RunDescription};

/// A comparison gives up a case after this many failures on one side: one may be an accident. A run
/// gives up no case that fails, only one that is refused.
const MOST_FAILURES: u32 = 3;

/// What a pause between two invocations counts at most: a longer one was an interruption.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// An invocation to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The round, counted from 1.
    pub round: u32,
    /// Index of the case.
    pub case: usize,
    /// The side of a comparison: 0 for the baseline, and in a run.
    pub side: usize,
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

/// The progress of a run, or of both sides of a comparison.
#[derive(Clone)]
pub struct Schedule {
    /// The number of rounds; `None` for as many as there is time for.
    rounds: Option<u32>,
    time: Option<Duration>,
    rng: Rng,
    /// The number of cases. A case on a side is a *place*: its index, and on the second side this
    /// many more.
    cases: usize,
    /// All places, partners together, in the order of the latest round.
    order: Vec<Vec<usize>>,
    round: u32,
    tries: BTreeMap<(u32, usize), Tries>,
    sides: usize,
    /// The most rounds of each case; `None` for every round of the run.
    most_rounds: Vec<Option<u32>>,
    /// The rounds in which each place was done.
    done: Vec<u32>,
    /// Invocations that were not interrupted.
    count: usize,
    /// Failures of each place, as far as they count.
    failures: Vec<u32>,
    /// The places that have measured.
    measured: BTreeSet<usize>,
    /// The places that the latest round leaves out.
    left_out: BTreeSet<usize>,
    spent: Duration,
    /// When the latest invocation ended.
    ended: Option<SystemTime>,
}

impl Schedule {
    /// The schedule of a run after these invocations; unknown cases are skipped.
    pub fn of(run: &RunDescription, invocations: &[Invocation]) -> Self {
        let mut schedule = Self::new(run, 1);
        for invocation in invocations {
            if let Some(case) = run.cases.iter().position(|case| *case == invocation.case) {
                schedule.record(case, 0, invocation);
            }
        }
        schedule
    }

    /// The schedule of a run that is resumed: a limit that refused a case may have been raised.
    pub fn resumed(self) -> Self {
        Self { failures: vec![0; self.failures.len()], ..self }
    }

    /// The schedule of a comparison. The sides of a case are partners: of two rounds the order of
    /// the first is random, and that of the second its reverse.
    pub fn of_comparison(run: &RunDescription) -> Self {
        Self::new(run, 2)
    }

    fn new(run: &RunDescription, sides: usize) -> Self {
        let index = |name: &String| run.cases.iter().position(|case| case == name);
        let procedure = run.procedure.as_ref();
        let partners = procedure.map_or(&[][..], |procedure| &procedure.partners).iter();
        let partners = partners.filter_map(|[one, other]| Some([index(one)?, index(other)?]));
        let cases = run.cases.len();
        let both_sides = (cases..cases * sides).map(|place| [place - cases, place]);
        let seconds = procedure.and_then(|procedure| procedure.seconds);
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let detail = |name: &String| run.details.iter().find(|detail| detail.case == *name);
        let most_rounds = |name| detail(name)?.rounds;
        Self {
            rounds: (run.rounds > 0 || time.is_none()).then_some(run.rounds),
            time,
            rng: Rng::with_seed(run.seed),
            cases,
            order: together(cases * sides, partners.chain(both_sides)),
            round: 0,
            tries: BTreeMap::new(),
            sides,
            most_rounds: run.cases.iter().map(most_rounds).collect(),
            done: vec![0; cases * sides],
            count: 0,
            failures: vec![0; cases * sides],
            measured: BTreeSet::new(),
            left_out: BTreeSet::new(),
            spent: Duration::ZERO,
            ended: None,
        }
    }

    /// Records an ended invocation of the case with this index.
    pub fn record(&mut self, case: usize, side: usize, invocation: &Invocation) {
        let place = side * self.cases + case;
        let tries = self.tries.entry((invocation.round, place)).or_default();
        tries.count += 1;
        if !invocation.interrupted {
            self.count += 1;
            self.done[place] += u32::from(!tries.is_done);
            tries.is_done = true;
        }
        self.failures[place] = self.failures_after(place, invocation);
        if invocation.outcome == Outcome::Measured {
            self.measured.insert(place);
        }
        let duration = Duration::from_nanos(invocation.duration_ns);
        let began = parse_rfc3339(&invocation.started_at).ok();
        let pause = began.zip(self.ended).map(|(began, ended)| began.duration_since(ended));
        let pause = pause.and_then(Result::ok).unwrap_or_default();
        self.spent += duration + pause.min(LONGEST_PAUSE);
        self.ended = began.and_then(|began| began.checked_add(duration));
    }

    /// The failures of a place that count after this invocation.
    fn failures_after(&self, place: usize, invocation: &Invocation) -> u32 {
        let (before, is_run) = (self.failures[place], self.sides == 1);
        let has_measured = self.measured.contains(&place);
        match invocation.outcome {
            Outcome::Measured if is_run => 0,
            Outcome::Measured => before,
            // What refuses the first process would refuse all.
            Outcome::Refused if !is_run || !has_measured => MOST_FAILURES,
            Outcome::Failed if has_refused_flags(invocation) && !has_measured => MOST_FAILURES,
            _ if is_run => before,
            _ => before + 1,
        }
    }

    /// Whether a case is not tried again, since it was refused, or failed too often in a comparison.
    pub fn has_given_up(&self, case: usize) -> bool {
        let mut places = (0..self.sides).map(|side| side * self.cases + case);
        places.any(|place| self.failures[place] >= MOST_FAILURES)
    }

    /// Whether a place was done in as many rounds as its case has.
    fn has_enough(&self, place: usize) -> bool {
        self.most_rounds[place % self.cases].is_some_and(|most| self.done[place] >= most)
    }

    /// The next turn; `None` if the run is complete.
    pub fn next_turn(&mut self) -> Option<Turn> {
        loop {
            let is_over = self.left_out.len() == self.failures.len();
            if is_over || self.time.is_some_and(|time| self.spent >= time) {
                return None;
            }
            let tries = |place: &usize| self.tries.get(&(self.round, *place)).copied();
            let tries = |place| (place, tries(&place).unwrap_or_default());
            let places = self.order.iter().flatten().copied();
            let mut turns = places.filter(|place| !self.left_out.contains(place)).map(tries);
            let next = turns.find(|(_, tries)| self.round > 0 && !tries.is_done);
            if let Some((place, tries)) = next {
                let (side, case) = (place / self.cases, place % self.cases);
                return Some(Turn { round: self.round, case, side, attempt: tries.count + 1 });
            }
            if self.rounds == Some(self.round) {
                return None;
            }
            self.begin_round();
        }
    }

    fn begin_round(&mut self) {
        self.round += 1;
        let all = 0..self.failures.len();
        let is_left_out =
            |place: &usize| self.has_given_up(place % self.cases) || self.has_enough(*place);
        self.left_out = all.filter(is_left_out).collect();
        self.rng.shuffle(&mut self.order);
        let is_random = self.sides == 1 || self.round % 2 == 1;
        for places in &mut self.order {
            if is_random {
                self.rng.shuffle(places);
            } else {
                places.reverse();
            }
        }
    }

    /// The invocations that were not interrupted.
    pub fn ended(&self) -> usize {
        self.count
    }

    /// The rounds that ran every case but those that it has given up, and those with fewer rounds.
    pub fn rounds(&self) -> u32 {
        (0..self.sides).map(|side| self.rounds_of_side(side)).min().unwrap_or(0)
    }

    /// The rounds of one side that ran every case but those that it has given up, and those with
    /// fewer rounds.
    pub fn rounds_of_side(&self, side: usize) -> u32 {
        let places = side * self.cases..(side + 1) * self.cases;
        let tried = places.filter(|place| !self.has_given_up(place % self.cases));
        let (few, all): (Vec<usize>, Vec<usize>) = tried.partition(|place| self.has_enough(*place));
        let done = |place: &usize| self.done[*place];
        // Of nothing but cases with few rounds, as many as they had.
        all.iter().map(done).min().or_else(|| few.iter().map(done).max()).unwrap_or(0)
    }

    /// The share of the run that is done.
    pub fn share(&self) -> f64 {
        let tried = self.done.iter().enumerate();
        let tried = tried.filter(|(place, _)| !self.has_given_up(place % self.cases));
        if tried.clone().count() == 0 {
            return 1.0;
        }
        let done: f64 = tried.clone().map(|(_, done)| f64::from(*done)).sum();
        let planned = |rounds: u32| -> f64 {
            let of_place = |place: usize| self.most_rounds[place % self.cases].unwrap_or(rounds);
            tried.map(|(place, _)| f64::from(of_place(place).min(rounds))).sum()
        };
        let of_rounds = self.rounds.map(|rounds| done / planned(rounds));
        let of_time = self.time.map(|time| self.spent.div_duration_f64(time));
        of_rounds.into_iter().chain(of_time).fold(0.0, f64::max).min(1.0)
    }

    /// About how long the rest takes.
    pub fn time_left(&self) -> Duration {
        let share = self.share();
        let by_rounds = || {
            let all = self.spent.as_secs_f64() / share;
            Duration::try_from_secs_f64(all).unwrap_or(Duration::ZERO)
        };
        self.time.unwrap_or_else(by_rounds).mul_f64(1.0 - share)
    }
}

/// Whether a program refused the flags of its case.
pub fn has_refused_flags(invocation: &Invocation) -> bool {
    invocation.exit_code == Some(Exit::Usage.code().into()) && !invocation.interrupted
}

/// So many places, grouped by links between partners, direct or indirect.
fn together(places: usize, partners: impl Iterator<Item = [usize; 2]>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = (0..places).map(|place| vec![place]).collect();
    for pair in partners {
        let [first, second] =
            pair.map(|place| groups.iter().position(|group| group.contains(&place)));
        if let (Some(first), Some(second)) = (first, second)
            && first != second
        {
            let joined = groups.remove(first.max(second));
            groups[first.min(second)].extend(joined);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures::without_record;
    use crate::store::results::{CaseDetail, Procedure};

    /// A run of cases `0`, `1` and so on.
    fn run(
        cases: usize,
        rounds: u32,
        seconds: Option<f64>,
        partners: &[[usize; 2]],
    ) -> RunDescription {
        let name = |case: &usize| case.to_string();
        let partners = partners.iter().map(|pair| pair.map(|case| name(&case))).collect();
        RunDescription {
            rounds,
            seed: 7,
            cases: (0..cases).map(|case| name(&case)).collect(),
            procedure: Some(Procedure { seconds, partners, ..Procedure::default() }),
            ..RunDescription::default()
        }
    }

    /// The invocation of a turn: it begins so many seconds after midnight and lasts one.
    fn invocation(turn: Turn, at: usize) -> Invocation {
        let (minutes, seconds) = (at / 60, at % 60);
        Invocation {
            attempt: turn.attempt,
            duration_ns: 1_000_000_000,
            started_at: format!("2026-01-01T00:{minutes:02}:{seconds:02}Z"),
            ..without_record(&turn.case.to_string(), turn.round, Outcome::Measured)
        }
    }

    /// Runs at most `most` turns, one every `every` seconds.
    fn run_turns(schedule: &mut Schedule, most: usize, every: usize) -> Vec<(Turn, Invocation)> {
        let mut turns = Vec::new();
        while turns.len() < most
            && let Some(turn) = schedule.next_turn()
        {
            let invocation = invocation(turn, every * turns.len());
            schedule.record(turn.case, turn.side, &invocation);
            turns.push((turn, invocation));
        }
        turns
    }

    fn turns(run: &RunDescription) -> Vec<Turn> {
        let turns = run_turns(&mut Schedule::of(run, &[]), 10_000, 1);
        turns.into_iter().map(|(turn, _)| turn).collect()
    }

    proptest! {
        #[test]
        fn every_round_has_every_case_once(cases in 0_usize..20, rounds in 1_u32..9) {
            let turns = turns(&run(cases, rounds, None, &[]));
            prop_assert_eq!(turns.len(), cases * rounds as usize);
            for round in 1..=rounds {
                let of_round = turns.iter().filter(|turn| turn.round == round);
                let mut seen: Vec<usize> = of_round.map(|turn| turn.case).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..cases).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_run_resumes_where_it_stopped(cases in 1_usize..6, stop in 0_usize..40) {
            let run = run(cases, 0, Some(30.0), &[[0, cases - 1]]);
            let whole = turns(&run);
            let before = run_turns(&mut Schedule::of(&run, &[]), stop, 1);
            let records: Vec<Invocation> = before.iter().map(|(_, record)| record.clone()).collect();
            let mut resumed = Schedule::of(&run, &records);
            // It resumes an hour later, which counts as a second at most.
            let after = run_turns(&mut resumed, 100, 1).len();
            prop_assert_eq!((before.len(), before.len() + after), (stop.min(30), whole.len()));
        }
    }

    #[test]
    fn the_seed_decides_and_rounds_differ() {
        let run = run(10, 3, None, &[]);
        let other = RunDescription { seed: 8, ..run.clone() };
        assert_eq!(turns(&run), turns(&run));
        assert_ne!(turns(&run), turns(&other));
        let cases = |round: &[Turn]| round.iter().map(|turn| turn.case).collect::<Vec<_>>();
        let rounds: Vec<_> = turns(&run).chunks(10).map(cases).collect();
        assert_ne!(rounds[0], rounds[1]);
    }

    /// Also if one round does not fit, or nothing does; pauses count up to a second.
    #[test]
    fn no_invocation_begins_after_the_time_is_up() {
        for (rounds, seconds, every, count) in [
            (0, Some(25.0), 1, 25),
            (0, Some(25.5), 1, 26),
            (0, Some(3.0), 1, 3),
            (0, Some(0.0), 1, 0),
            (2, Some(25.0), 1, 20),
            (0, Some(25.0), 2, 13),
            (0, Some(25.0), 100, 13),
            (2, Some(f64::NAN), 1, 20),
            (0, Some(f64::INFINITY), 1, 0),
        ] {
            let mut schedule = Schedule::of(&run(10, rounds, seconds, &[]), &[]);
            assert_eq!(run_turns(&mut schedule, 10_000, every).len(), count, "{seconds:?} {every}");
            assert_eq!(schedule.next_turn(), None);
        }
    }

    #[test]
    fn partners_follow_each_other_in_every_round() {
        let turns = turns(&run(12, 20, None, &[[3, 9], [9, 1], [5, 5], [7, 0]]));
        let mut orders = Vec::new();
        for round in turns.chunks(12) {
            let place = |case| round.iter().position(|turn| turn.case == case).unwrap();
            for cases in [vec![1, 3, 9], vec![0, 7]] {
                let places: Vec<usize> = cases.iter().map(|case| place(*case)).collect();
                let (first, last) = (places.iter().min(), places.iter().max());
                assert_eq!(last.unwrap() - first.unwrap(), cases.len() - 1, "{round:?}");
            }
            orders.push(place(0) < place(7));
        }
        assert!(orders.contains(&true) && orders.contains(&false), "one always comes first");
    }

    #[test]
    fn a_case_with_few_rounds_leaves_the_time_to_the_others() {
        let few = CaseDetail { case: "1".to_owned(), rounds: Some(5), ..CaseDetail::default() };
        let run = RunDescription { details: vec![few], ..run(3, 9, None, &[[0, 1]]) };
        let mut schedule = Schedule::of(&run, &[]);
        let done = run_turns(&mut schedule, 10_000, 1);
        for (case, rounds) in [(0, 9), (1, 5), (2, 9)] {
            let of_case = done.iter().filter(|(turn, _)| turn.case == case);
            let found: Vec<u32> = of_case.map(|(turn, _)| turn.round).collect();
            assert_eq!(found, (1..=rounds).collect::<Vec<_>>(), "case {case}");
        }
        assert_eq!((schedule.rounds(), schedule.share()), (9, 1.0));
        for stop in [0, 14, 16, 22] {
            let records: Vec<Invocation> =
                done[..stop].iter().map(|(_, record)| record.clone()).collect();
            let mut resumed = Schedule::of(&run, &records);
            assert_eq!(run_turns(&mut resumed, 10_000, 1).len(), done.len() - stop);
        }
        let mut alone = run;
        alone.cases = vec!["1".to_owned()];
        let mut schedule = Schedule::of(&alone, &[]);
        assert_eq!(run_turns(&mut schedule, 10_000, 1).len(), 5);
        assert_eq!((schedule.rounds(), schedule.share()), (5, 1.0), "of nothing but that case");
    }

    #[test]
    fn interrupted_invocations_run_again() {
        let mut schedule = Schedule::of(&run(1, 3, None, &[]), &[]);
        for attempt in 1..=5 {
            let turn = Turn { round: 1, case: 0, side: 0, attempt };
            assert_eq!(schedule.next_turn(), Some(turn));
            schedule.record(0, 0, &Invocation { interrupted: true, ..invocation(turn, 0) });
        }
        assert_eq!(run_turns(&mut schedule, 10_000, 1).len(), 3);
        assert!((schedule.share() - 1.0).abs() < 1e-9);
    }

    /// By its flags or by a limit; in a comparison also one that always fails.
    #[test]
    fn a_refused_case_is_tried_once_and_the_others_go_on() {
        let ended = |outcome, exit_code: i32| Invocation {
            exit_code: Some(exit_code),
            ..without_record("0", 1, outcome)
        };
        for (sides, refusal, tries) in [
            (1, ended(Outcome::Failed, 2), 1),
            (1, ended(Outcome::Refused, 3), 1),
            (1, ended(Outcome::Failed, 1), 5),
            (2, ended(Outcome::Failed, 2), 2),
            (2, ended(Outcome::Refused, 3), 2),
            (2, ended(Outcome::Failed, 1), 6),
        ] {
            let run = run(3, 5, None, &[[0, 1]]);
            let mut schedule = Schedule::new(&run, sides);
            let (mut counts, mut records) = ([0; 3], Vec::new());
            while let Some(turn) = schedule.next_turn() {
                counts[turn.case] += 1;
                let refused = Invocation { round: turn.round, ..refusal.clone() };
                let record = if turn.case == 0 { refused } else { invocation(turn, 0) };
                schedule.record(turn.case, turn.side, &record);
                records.push(record);
            }
            assert_eq!(counts, [tries, 5 * sides, 5 * sides], "{refusal:?}");
            assert!((schedule.share() - 1.0).abs() < 1e-9, "{}", schedule.share());
            if sides == 1 {
                assert_eq!(Schedule::of(&run, &records).next_turn(), None);
                let again = Schedule::of(&run, &records).resumed().next_turn();
                assert_eq!(again.map(|turn| turn.case), (tries == 1).then_some(0));
            }
        }
        let mut schedule = Schedule::of(&run(1, 0, Some(30.0), &[]), &[]);
        schedule.record(0, 0, &ended(Outcome::Failed, 2));
        assert_eq!(schedule.next_turn(), None);
    }

    #[test]
    fn a_run_of_any_length_has_some_time_left() {
        for seconds in [None, Some(0.0), Some(1e17)] {
            let run = run(1, u32::MAX, seconds, &[]);
            let mut schedule = Schedule::of(&run, &[]);
            schedule.time_left();
            let turn = Turn { round: 1, case: 0, side: 0, attempt: 1 };
            let invocation = Invocation { duration_ns: u64::MAX, ..invocation(turn, 0) };
            schedule.record(0, 0, &invocation);
            assert!(schedule.share().is_finite() && schedule.time_left() >= Duration::ZERO);
        }
    }

    #[test]
    fn of_two_rounds_each_side_is_first_in_one() {
        let mut schedule = Schedule::of_comparison(&run(5, 40, None, &[]));
        let turns = run_turns(&mut schedule, 10_000, 1);
        let mut first = [const { Vec::new() }; 5];
        for pair in turns.chunks(2) {
            let [one, other] = [pair[0].0, pair[1].0];
            assert_eq!((one.round, one.case, one.side + other.side), (other.round, other.case, 1));
            first[one.case].push(one.side);
        }
        for sides in &first {
            assert_eq!(sides.len(), 40);
            assert!(sides.chunks(2).all(|rounds| rounds[0] != rounds[1]), "{sides:?}");
        }
        let of_odd_rounds = first.iter().flat_map(|sides| sides.iter().step_by(2));
        let share = of_odd_rounds.sum::<usize>() as f64 / 100.0;
        assert!((0.3..0.7).contains(&share), "one side comes first in {share}");
    }
}
