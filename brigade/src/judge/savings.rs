//! How much less one kind of task takes than another, by the work that an operation contains: at
//! each measured amount, and interpolated at round ones, so that a sentence is about the same work
//! however noisy the run was.

use serde::Serialize;

use super::row::{Row, named, row_of, rows_of_lines};
use super::statistics::{ByRound, CONFIDENCE, DEPENDENT, Estimate, Interval, difference, ratio};
use crate::manifest::{GroupSpec, Manifest, SavingsSpec};

/// The amounts of work at which savings are interpolated, in nanoseconds.
const WORK_NS: [f64; 2] = [10_000.0, 100_000.0];

/// A server that switches so much more often per operation does so for a reason.
const MORE_SWITCHES: f64 = 0.5;

/// What one kind of task saves.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Savings {
    /// The kind that saves.
    pub kind: String,
    /// What it saves, such as `the CPU time of server and load`.
    pub of: String,
    /// Where it was measured; `null` for the first of the group.
    pub place: Option<String>,
    /// The operation that contains the work.
    pub operation: String,
    /// The savings by measured work, the least first.
    pub steps: Vec<SavingStep>,
    /// The savings at round amounts of work, or at the nearest measured one. Interpolated round by
    /// round between the logarithms of the steps around them, without that of no work.
    pub at: Vec<Saving>,
    /// Whether it clearly saves another share than the first of the group.
    pub differs: bool,
    /// Why it saves clearly more than the first of the group; `null` if it does not, or if its
    /// servers switch as often.
    pub why: Option<MoreSwitches>,
}

/// A saving with one amount of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Saving {
    /// The work in an operation, in nanoseconds.
    pub work_ns: f64,
    /// The share of the other kind's time that this one does not take.
    pub share: Estimate,
    /// The time that this kind saves, in nanoseconds per operation.
    pub saved_ns: Estimate,
}

/// A saving that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct SavingStep {
    /// The case of the kind that saves.
    pub case: String,
    /// The case of the other kind.
    pub over: String,
    /// The work in an operation, in units of `--work`.
    pub units: u64,
    /// The saving.
    #[serde(flatten)]
    pub saving: Saving,
    /// The other kind's time, in nanoseconds per operation.
    pub over_ns: f64,
    /// Switches of the server per operation, with the kind that saves.
    pub switches: Option<f64>,
    /// Switches of the server per operation, with the other kind.
    pub over_switches: Option<f64>,
}

/// A kind saves more in one place because its servers switch less there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct MoreSwitches {
    /// The sentence, with `{}` for each of the two counts.
    pub text: String,
    /// Switches per operation in the first place.
    pub first: f64,
    /// Switches per operation in this one.
    pub own: f64,
}

/// A step and the times of both kinds by round.
struct Measured {
    step: SavingStep,
    sides: [ByRound; 2],
}

impl Savings {
    /// What a group's kinds save in the run with these rows.
    pub fn all(manifest: &Manifest, group: &GroupSpec, rows: &[&[Row]]) -> Vec<Self> {
        let mut all = Vec::<Self>::new();
        for spec in &group.savings {
            let Some(mut savings) = Self::new(manifest, spec, rows) else { continue };
            if let Some(first) = all.first() {
                savings.why = savings.reason(first, spec);
                savings.differs = savings.differs_from(first);
            }
            all.push(savings);
        }
        all
    }

    /// What one kind saves, without the reason.
    fn new(manifest: &Manifest, spec: &SavingsSpec, rows: &[&[Row]]) -> Option<Self> {
        let pairs = rows_of_lines(manifest, rows, [&spec.case, &spec.over]).into_iter();
        let measured = pairs.filter_map(|[case, over]| Measured::new(spec, rows, case, over));
        let mut measured: Vec<Measured> = measured.collect();
        measured.sort_by_key(|one| one.step.units);
        let operation = row_of(rows, &measured.first()?.step.case)?.operation.clone();
        Some(Self {
            kind: spec.kind.clone(),
            of: spec.of.clone(),
            place: spec.place.clone(),
            operation,
            at: interpolated(&measured),
            steps: measured.into_iter().map(|one| one.step).collect(),
            differs: false,
            why: None,
        })
    }

    /// The saving without any work.
    pub fn without_work(&self) -> Option<&SavingStep> {
        self.steps.first().filter(|step| step.units == 0)
    }

    /// Whether its share with no work, or with the least, is clearly another one than that of `first`.
    fn differs_from(&self, first: &Self) -> bool {
        let ends = |savings: &Self| {
            let without = savings.without_work().map(|step| step.saving.share.interval);
            let least = savings.at.first().map(|at| at.share.interval);
            [without, least].map(Option::flatten)
        };
        let are_apart = |(own, first): (Option<Interval>, Option<Interval>)| {
            own.zip(first).is_some_and(|(own, first)| own.low > first.high || own.high < first.low)
        };
        ends(self).into_iter().zip(ends(first)).any(are_apart)
    }

    /// Why it saves clearly more time than `first` with the least work of both.
    fn reason(&self, first: &Self, spec: &SavingsSpec) -> Option<MoreSwitches> {
        let [own, other] = [self.at.first()?, first.at.first()?];
        let [own_ends, other_ends] = [own.saved_ns.interval?, other.saved_ns.interval?];
        let [own, first] = [self.switches(own.work_ns)?, first.switches(other.work_ns)?];
        let text = spec.why.clone()?;
        let is_seen = own_ends.low > other_ends.high && first > own + MORE_SWITCHES;
        is_seen.then_some(MoreSwitches { text, first, own })
    }

    /// The switches at the first step with at least this work.
    fn switches(&self, work_ns: f64) -> Option<f64> {
        let mut steps = self.steps.iter();
        steps.find(|step| step.saving.work_ns >= work_ns)?.switches
    }
}

impl Measured {
    fn new(spec: &SavingsSpec, rows: &[&[Row]], case: &Row, over: &Row) -> Option<Self> {
        let figure = |row: &Row| named(rows, &row.case, spec.measurement.as_deref()).cloned();
        let own = figure(case)?;
        let other = figure(over)?;
        let sides = [&own, &other].map(Row::by_round);
        let units = case.number("work")?;
        let work_ns = if units == 0 { 0.0 } else { case.work_ns.filter(|ns| *ns > 0.0)? };
        let step = SavingStep {
            case: case.case.clone(),
            over: over.case.clone(),
            units,
            saving: Saving::new(work_ns, &sides)?,
            over_ns: other.figure?.value,
            switches: case.server_switches,
            over_switches: over.server_switches,
        };
        Some(Self { step, sides })
    }
}

impl Saving {
    /// What the first side saves of the other's time.
    fn new(work_ns: f64, sides: &[ByRound; 2]) -> Option<Self> {
        let [own, other] = sides;
        let ratio = ratio(sides, CONFIDENCE, DEPENDENT)?;
        let ends = |ends: Interval| Interval { low: 1.0 - ends.high, high: 1.0 - ends.low };
        let interval = ratio.interval.map(ends);
        let share = Estimate { value: 1.0 - ratio.value, interval, count: ratio.count };
        Some(Self { work_ns, share, saved_ns: difference(&[other.clone(), own.clone()])? })
    }
}

/// The savings at round amounts of work; each amount once.
fn interpolated(measured: &[Measured]) -> Vec<Saving> {
    let work_ns = |one: &&Measured| one.step.saving.work_ns;
    let mut steps: Vec<&Measured> = measured.iter().filter(|one| work_ns(one) > 0.0).collect();
    steps.sort_by(|one, other| work_ns(one).total_cmp(&work_ns(other)));
    let [Some(least), Some(most)] = [steps.first(), steps.last()].map(|end| end.map(work_ns))
    else {
        return Vec::new();
    };
    let mut amounts = WORK_NS.map(|amount| amount.clamp(least, most)).to_vec();
    amounts.dedup();
    let saving = |amount: f64| {
        let above = steps.iter().position(|one| work_ns(one) >= amount)?;
        let low = steps[above.saturating_sub(1)];
        let high = steps[above];
        let from = work_ns(&low);
        let to = work_ns(&high);
        let share = if above == 0 { 0.0 } else { (amount / from).ln() / (to / from).ln() };
        let times = |side: usize| geometric_means(&low.sides[side], &high.sides[side], share);
        Saving::new(amount, &[times(0), times(1)])
    };
    amounts.into_iter().filter_map(saving).collect()
}

/// The geometric mean of two times of each round, with this weight of the second.
fn geometric_means(low: &ByRound, high: &ByRound, share: f64) -> ByRound {
    let common = low.iter().filter_map(|(round, low)| Some((*round, *low, *high.get(round)?)));
    common.map(|(round, low, high)| (round, low * (high / low).powf(share))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "
        [programs]
        s = {}
        [[group]]
        name = 'g'
        question = 'Does it matter?'
        [[group.savings]]
        kind = 'async tasks'
        of = 'time'
        case = 's --a x{, --work 1, --work 2, --work 3}'
        over = 's{, --work 1, --work 2, --work 3}'
        [[group.savings]]
        kind = 'async tasks'
        of = 'time'
        place = 'Elsewhere'
        why = '{} instead of {}.'
        case = 's --b x{, --work 1, --work 2, --work 3}'
        over = 's{, --work 1, --work 2, --work 3}'";

    /// The rows of a case in 20 rounds, with a noise of this size that hits each case of a round
    /// differently, and of which half of the rounds are above the figure.
    fn rows(flags: &str, units: u64, ns: f64, switches: f64, noise: f64) -> Vec<Row> {
        let work = if units > 0 { format!(" --work {units}") } else { String::new() };
        let by = |round: u32| (noise * (f64::from((round * 7 + units as u32) % 20) - 9.5)).exp();
        let row = Row::of_figures((1..=20).map(|round| ns * by(round)));
        vec![Row {
            case: format!("s{flags}{work}"),
            operation: "request".to_owned(),
            parameters: [("work".to_owned(), units.into())].into(),
            figure: Estimate::of(&row.values()),
            work_ns: (units > 0).then(|| 100.0 * 10_f64.powi(units as i32 + 1)),
            server_switches: Some(switches),
            ..row
        }]
    }

    /// Work of nothing, 10, 100 and 1000 µs; the others take 10 µs more, tasks on one CPU 4, 2, 1 and
    /// 1 µs less, and those elsewhere 4 µs less whatever they do.
    fn savings(noise: f64) -> Vec<Savings> {
        let manifest = Manifest::parse(GROUP).expect("a manifest");
        let work = [(0, 0.0), (1, 10_000.0), (2, 100_000.0), (3, 1_000_000.0)];
        let mut all = Vec::new();
        for ((units, work_ns), saved) in work.into_iter().zip([4000.0, 2000.0, 1000.0, 1000.0]) {
            let other_ns = work_ns + 10_000.0;
            all.push(rows("", units, other_ns, 1.0, noise));
            all.push(rows(" --a x", units, other_ns - saved, 0.9, noise));
            all.push(rows(" --b x", units, other_ns - 4000.0, 0.1, noise));
        }
        let all: Vec<&[Row]> = all.iter().map(|rows| &rows[..]).collect();
        Savings::all(&manifest, &manifest.groups[0], &all)
    }

    #[test]
    fn savings_are_those_measured_and_the_reason_is_counted() {
        let [first, elsewhere] = &savings(0.0001)[..] else { panic!("two") };
        let shares: Vec<f64> = first.steps.iter().map(|step| step.saving.share.value).collect();
        for (share, expected) in shares.iter().zip([0.4, 0.1, 1.0 / 110.0, 1.0 / 1010.0]) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}");
        }
        assert_eq!(first.without_work().unwrap().over_ns.round(), 10_000.0);
        assert_eq!(first.why, None);
        let why = elsewhere.why.clone().unwrap();
        assert_eq!([why.first, why.own], [0.9, 0.1]);
        assert!(elsewhere.differs && !first.differs);
    }

    /// At 10 and 100 µs, whatever the noise.
    #[test]
    fn a_noisier_run_speaks_of_the_same_work() {
        for noise in [0.0001, 0.02, 0.3] {
            let savings = &savings(noise)[0];
            let works: Vec<f64> = savings.at.iter().map(|at| at.work_ns).collect();
            assert_eq!(works, WORK_NS, "{noise}");
            let share = savings.at[0].share;
            assert!((share.value - 0.1).abs() < 1e-9 && share.interval.is_some(), "{savings:?}");
        }
    }

    /// A unit that nobody timed: its step is left out.
    #[test]
    fn a_step_of_unknown_work_is_left_out() {
        let manifest = Manifest::parse(GROUP).expect("a manifest");
        let times = [("", 20_000.0), (" --a x", 10_000.0)];
        let steps = |work_ns: Option<f64>| {
            let row = |(flags, ns): (&str, f64), units| {
                let row = rows(flags, units, ns, 1.0, 0.0001).remove(0);
                let work_ns = if units == 2 { work_ns } else { row.work_ns };
                vec![Row { work_ns, ..row }]
            };
            let all = (0..3).flat_map(|units| times.map(|time| row(time, units)));
            let all: Vec<Vec<Row>> = all.collect();
            let all: Vec<&[Row]> = all.iter().map(Vec::as_slice).collect();
            Savings::all(&manifest, &manifest.groups[0], &all)[0].steps.len()
        };
        assert_eq!([Some(1e5), Some(0.0), None].map(steps), [3, 2, 2]);
    }

    // Between 1 and 100, 10 is in the middle of the logarithms: √(20 · 80) of √(40 · 90).
    #[test]
    fn between_two_steps_a_saving_is_interpolated_round_by_round() {
        let times = |ns: f64| -> ByRound { (1..=5).map(|round| (round, ns)).collect() };
        let measured = |units: u64, work_ns: f64, [own, other]: [f64; 2]| {
            let sides = [own, other].map(times);
            let step = SavingStep {
                case: String::new(),
                over: String::new(),
                units,
                saving: Saving::new(work_ns, &sides).unwrap(),
                over_ns: other,
                switches: None,
                over_switches: None,
            };
            Measured { step, sides }
        };
        let steps = [measured(1, 1000.0, [20.0, 40.0]), measured(100, 100_000.0, [80.0, 90.0])];
        let [at, end] = &interpolated(&steps)[..] else { panic!("two") };
        let expected = 1.0 - (20.0_f64 * 80.0).sqrt() / (40.0_f64 * 90.0).sqrt();
        assert!((at.share.value - expected).abs() < 1e-9, "{at:?}");
        assert_eq!((at.work_ns, end.work_ns), (10_000.0, 100_000.0));
        assert!((end.share.value - 1.0 / 9.0).abs() < 1e-9);
        // A step with more units may have less work.
        let mixed = [measured(2, 1000.0, [20.0, 40.0]), measured(1, 100_000.0, [80.0, 90.0])];
        assert_eq!(interpolated(&mixed), interpolated(&steps));
        // One step only: both amounts are its own.
        let [only] = &interpolated(&steps[..1])[..] else { panic!("one") };
        assert_eq!((only.work_ns, only.share.value), (1000.0, 0.5));
        assert!(interpolated(&[measured(0, 0.0, [1.0, 2.0])]).is_empty());
    }
}
