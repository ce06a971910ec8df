//! A comparison side by side: in every round the baseline and the candidate run
//! every case once, as a fresh process each, until all cases are resolved or the
//! budget is spent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use harness::cpus;
use indicatif::{ProgressBar, ProgressStyle};

use crate::manifest::Case;
use crate::measure::build::Binaries;
use crate::measure::invoke::{Job, invoke};
use crate::measure::signals::Signals;
use crate::store::invocation::Invocation;
use crate::store::results::Folder;

use crate::judge::compare::comparison::{Judgement, Method};
use crate::judge::compare::interim::{InterimAnalyses, MOST_ROUNDS};
use crate::judge::compare::sample::Sample;
use crate::judge::compare::verdict::{Pair, Verdict};
use crate::plan::order::{Order, Turn};
use crate::plan::shared_cpu;

use super::sides::Side;

/// Failed invocations of a case on one side after which the case is given up: one
/// may be an accident.
const MOST_FAILURES: usize = 3;

/// What to measure.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The cases.
    pub cases: Vec<&'a Case>,
    /// The sides.
    pub sides: Pair<Side>,
    /// Flags of every invocation in addition to those of its case and its side.
    pub flags: &'a [String],
    /// The difference that does not matter, as a share.
    pub margin: f64,
    /// Seed of the order.
    pub seed: u64,
    /// No invocation begins after this time.
    pub budget: Duration,
}

impl Plan<'_> {
    /// How a case is judged in an analysis of this confidence.
    pub fn judgement(&self, confidence: f64) -> Judgement {
        let of_difference = confidence;
        Judgement { method: Method::Rounds, confidence, of_difference, margin: self.margin }
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// The invocations of both sides.
    pub invocations: Pair<Vec<Invocation>>,
    /// The confidence of the analysis that each case is judged by.
    pub confidences: Vec<f64>,
}

/// A comparison in progress.
pub struct Measuring<'a> {
    plan: &'a Plan<'a>,
    binaries: &'a Pair<Binaries>,
    folders: &'a mut Pair<Folder>,
    invocations: Pair<Vec<Invocation>>,
    /// The interim analyses of each case.
    analyses: Vec<InterimAnalyses>,
    /// The confidence of the analysis that resolved a case, by its index.
    resolved: BTreeMap<usize, f64>,
    began: Instant,
    /// The CPUs that programs may use; empty where that cannot be read.
    cpus: Vec<usize>,
    progress: ProgressBar,
}

impl<'a> Measuring<'a> {
    /// Ready to begin; the budget runs from now on. Progress is shown on a
    /// terminal only.
    ///
    /// # Panics
    /// Never: the template is a constant.
    pub fn new(
        plan: &'a Plan<'a>,
        binaries: &'a Pair<Binaries>,
        folders: &'a mut Pair<Folder>,
    ) -> Self {
        let style = ProgressStyle::with_template("{pos} of {len} s {bar:20} {msg}");
        let progress = ProgressBar::new(plan.budget.as_secs())
            .with_style(style.expect("the template is well-formed"));
        let (began, invocations) = (Instant::now(), Pair::default());
        let analyses = vec![InterimAnalyses::of_one_in(plan.cases.len()); plan.cases.len()];
        let resolved = BTreeMap::new();
        let cpus = cpus::allowed().unwrap_or_default();
        Self { plan, binaries, folders, invocations, analyses, resolved, began, cpus, progress }
    }

    /// Measures until every case is resolved, the budget is spent or the runner
    /// is interrupted. Every invocation is appended to its side's folder as it
    /// ends.
    ///
    /// # Errors
    /// When a record cannot be written.
    pub fn measure(mut self, signals: &mut Signals) -> anyhow::Result<Measured> {
        let cases = self.plan.cases.len();
        let mut order = Order::new(cases, self.plan.seed);
        let mut open: Vec<usize> = (0..cases).collect();
        for round in 1.. {
            for turn in order.turns(round, &open) {
                if self.began.elapsed() >= self.plan.budget {
                    return Ok(self.end());
                }
                self.take(turn, round, open.len(), signals)?;
                if signals.stops() > 0 {
                    return Ok(self.end());
                }
            }
            open.retain(|case| !self.is_settled(*case));
            if open.is_empty() {
                break;
            }
        }
        Ok(self.end())
    }

    fn end(self) -> Measured {
        self.progress.finish_and_clear();
        let analyses = self.analyses.iter().enumerate();
        let confidences =
            analyses.map(|(case, analyses)| *self.resolved.get(&case).unwrap_or(&analyses.last()));
        Measured { confidences: confidences.collect(), invocations: self.invocations }
    }

    /// Runs both sides of a case back to back.
    fn take(
        &mut self,
        turn: Turn,
        round: u32,
        open: usize,
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        let case = self.plan.cases[turn.case];
        self.progress.set_position(self.began.elapsed().as_secs());
        self.progress.set_message(format!("round {round}, {open} cases open, {}", case.name));
        for side in turn.sides {
            let Side { under, with, .. } = &self.plan.sides[side];
            let flags = [self.plan.flags, with.as_slice()].concat();
            let binary = &self.binaries[side][&case.program];
            // A command may have its own idea of where the program runs.
            let shared_cpu = under.is_empty().then(|| shared_cpu(round, &self.cpus)).flatten();
            let job = Job { case, round, attempt: 1, under, binary, flags: &flags, shared_cpu };
            self.plan.sides[side].set()?;
            let invocation = invoke(&job, signals);
            self.folders[side].append(&invocation)?;
            self.invocations[side].push(invocation);
            if signals.stops() > 0 {
                break;
            }
        }
        Ok(())
    }

    /// Whether a case needs no further round: it is resolved, has the most rounds
    /// that are compared, or cannot be measured.
    fn is_settled(&mut self, case: usize) -> bool {
        let name = &self.plan.cases[case].name;
        let sides = self.invocations.each_ref().map(|side| Sample::of(name, side));
        if sides.iter().any(|side| side.refused || side.failed >= MOST_FAILURES) {
            return true;
        }
        let [first, second] = sides.each_ref().map(Sample::time_ns);
        let rounds = first.keys().filter(|round| second.contains_key(round)).count();
        if rounds >= MOST_ROUNDS {
            return true;
        }
        let spent = self.began.elapsed().div_duration_f64(self.plan.budget);
        let Some(confidence) = self.analyses[case].next(spent, rounds) else { return false };
        let ratio = self.plan.judgement(confidence).ratio(sides.each_ref());
        let verdict = ratio.map(|ratio| Verdict::of(&ratio, self.plan.margin));
        let resolved = verdict.is_some_and(|verdict| verdict != Verdict::Unresolved);
        if resolved {
            self.resolved.insert(case, confidence);
        }
        resolved
    }
}
