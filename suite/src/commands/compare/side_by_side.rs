//! Two arms side by side: in every round each runs every case once, as a fresh
//! process, until every case is resolved or the time is spent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::manifest::Case;
use crate::measure::build::Binaries;
use crate::measure::invoke::{Job, invoke};
use crate::measure::signals::Signals;
use crate::store::invocation::Invocation;
use crate::store::results::Folder;

use super::arms::Arm;
use crate::judge::compare::comparison::{Judgement, Method};
use crate::judge::compare::looks::{Looks, MOST_ROUNDS};
use crate::judge::compare::sample::Sample;
use crate::judge::compare::verdict::{Arms, Verdict};
use crate::plan::order::{Order, Turn};

/// Invocations of one case in one arm that may fail before the case is given
/// up: one may be an accident.
const MOST_FAILURES: usize = 3;

/// What is measured.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The cases.
    pub cases: Vec<&'a Case>,
    /// The arms.
    pub arms: Arms<Arm>,
    /// Flags of every invocation, besides those of its case and its arm.
    pub flags: &'a [String],
    /// The difference that does not matter, as a share.
    pub margin: f64,
    /// Decides the order.
    pub seed: u64,
    /// The time after which nothing begins.
    pub budget: Duration,
}

impl Plan<'_> {
    /// How a case is judged by a look of this confidence.
    #[must_use]
    pub fn judgement(&self, confidence: f64) -> Judgement {
        Judgement { method: Method::Rounds, confidence, margin: self.margin }
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// The invocations of both arms.
    pub invocations: Arms<Vec<Invocation>>,
    /// The confidence of the look that each case is judged by.
    pub confidences: Vec<f64>,
}

/// A comparison while it is measured.
pub struct Measuring<'a> {
    plan: &'a Plan<'a>,
    binaries: &'a Arms<Binaries>,
    folders: &'a mut Arms<Folder>,
    invocations: Arms<Vec<Invocation>>,
    /// The looks at each case.
    looks: Vec<Looks>,
    /// The confidence of the look that resolved a case, by its index.
    resolved: BTreeMap<usize, f64>,
    began: Instant,
    progress: ProgressBar,
}

impl<'a> Measuring<'a> {
    /// Ready to begin; the budget is spent from now on. Progress is shown on a
    /// terminal only.
    ///
    /// # Panics
    /// Never: the template is a constant.
    pub fn new(
        plan: &'a Plan<'a>,
        binaries: &'a Arms<Binaries>,
        folders: &'a mut Arms<Folder>,
    ) -> Self {
        let style = ProgressStyle::with_template("{pos} of {len} s {bar:20} {msg}");
        let progress = ProgressBar::new(plan.budget.as_secs())
            .with_style(style.expect("the template is well-formed"));
        let (began, invocations) = (Instant::now(), Arms::default());
        let looks = vec![Looks::at_one_of(plan.cases.len()); plan.cases.len()];
        let resolved = BTreeMap::new();
        Self { plan, binaries, folders, invocations, looks, resolved, began, progress }
    }

    /// Measures until every case is resolved, the budget is spent or the runner
    /// is told to stop. Every invocation is appended to its arm's folder as it
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
        let looks = self.looks.iter().enumerate();
        let confidences =
            looks.map(|(case, looks)| self.resolved.get(&case).map_or(looks.last(), |of| *of));
        Measured { confidences: confidences.collect(), invocations: self.invocations }
    }

    /// Runs both arms of a case, one straight after the other.
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
        for arm in turn.arms {
            let Arm { under, with, .. } = &self.plan.arms[arm];
            let flags = [self.plan.flags, with.as_slice()].concat();
            let binary = &self.binaries[arm][&case.program];
            let job = Job { case, round, attempt: 1, under, binary, flags: &flags };
            let invocation = invoke(&job, signals);
            self.folders[arm].append(&invocation)?;
            self.invocations[arm].push(invocation);
            if signals.stops() > 0 {
                break;
            }
        }
        Ok(())
    }

    /// Whether a case needs no further round: it is resolved, has as many as are
    /// compared, or cannot be measured.
    fn is_settled(&mut self, case: usize) -> bool {
        let name = &self.plan.cases[case].name;
        let arms = self.invocations.each_ref().map(|arm| Sample::of(name, arm));
        if arms.iter().any(|arm| arm.refused || arm.failed >= MOST_FAILURES) {
            return true;
        }
        let [first, second] = arms.each_ref().map(Sample::time_ns);
        let rounds = first.keys().filter(|round| second.contains_key(round)).count();
        if rounds >= MOST_ROUNDS {
            return true;
        }
        let spent = self.began.elapsed().div_duration_f64(self.plan.budget);
        let Some(confidence) = self.looks[case].take(spent, rounds) else { return false };
        let ratio = self.plan.judgement(confidence).ratio(arms.each_ref());
        let verdict = ratio.map(|ratio| Verdict::of(&ratio, self.plan.margin));
        let resolved = verdict.is_some_and(|verdict| verdict != Verdict::Unresolved);
        if resolved {
            self.resolved.insert(case, confidence);
        }
        resolved
    }
}
