//! The invocations of a proof.

use crate::judge::statistics::ByRound;
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};

use crate::commands::check;
use crate::judge::compare::verdict::Pair;
use crate::judge::prove::a_a::{SIDE_BY_SIDE, time_ns};
use crate::manifest::program::Form;
use crate::manifest::{Case, Manifest, ProofPlan};
use crate::measure::availability::Capabilities;
use crate::measure::build::Binaries;
use crate::measure::invoke::{Job, invoke};
use crate::measure::signals::Signals;
use crate::store::invocation::Invocation;

/// Runs programs for a proof. Its functions return `None` if interrupted.
pub struct Runs<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// What to run.
    pub plan: &'a ProofPlan,
    /// What this machine has.
    pub capabilities: &'a Capabilities,
    /// The programs.
    pub binaries: &'a Binaries,
    /// How long an invocation measures, in seconds.
    pub seconds: f64,
    /// Of the order of the cases.
    pub seed: u64,
    /// Whether to stop.
    pub signals: &'a mut Signals,
}

/// Cases that ran side by side with themselves.
#[derive(Default)]
pub struct SideBySide {
    /// Times of both sides of each comparison, in nanoseconds.
    pub pairs: Vec<Pair<ByRound>>,
    /// Every invocation, in the order in which they ran.
    pub invocations: Vec<Invocation>,
}

impl<'a> Runs<'a> {
    /// Every case that can run here, once, at the size of its check.
    pub fn each_case_once(&mut self) -> Option<Vec<(&'a Case, Invocation)>> {
        let manifest = self.manifest;
        let cases: Vec<&Case> = self.possible(manifest.profiled_cases());
        let bar = bar(cases.len(), "every case once");
        let mut came = Vec::with_capacity(cases.len());
        for case in cases {
            let flags = check::size_flags(manifest.check_size(case));
            came.push((case, self.invoke(case, 1, &flags, &bar)?));
        }
        Some(came)
    }

    /// The cases of `profile` against themselves. Rounds follow one another as
    /// first, second, second, first, so that drift affects both sides alike.
    pub fn side_by_side(&mut self, profile: &str) -> Option<SideBySide> {
        let cases = self.possible(self.manifest.cases_of(profile));
        let repeats = SIDE_BY_SIDE.div_ceil(cases.len().max(1));
        let mut order: Vec<usize> = (0..cases.len() * repeats).collect();
        let mut came = SideBySide { pairs: vec![<_>::default(); order.len()], ..<_>::default() };
        let bar = bar(order.len() * 2 * self.plan.pairs as usize, "A/A");
        let (flags, mut rng) = (self.measuring(), Rng::with_seed(self.seed));
        for round in 1..=self.plan.pairs {
            rng.shuffle(&mut order);
            for &comparison in &order {
                for turn in 0..2 {
                    let case = cases[comparison / repeats];
                    let invocation = self.invoke(case, round, &flags, &bar)?;
                    let side = (turn + round + 1) as usize % 2;
                    came.pairs[comparison][side]
                        .extend(time_ns(&invocation).map(|time| (round, time)));
                    came.invocations.push(invocation);
                }
            }
        }
        Some(came)
    }

    /// The cases of known work that can run here, with their flags.
    pub(super) fn worked_cases(&self) -> Vec<(&'a Case, &'a [String])> {
        let flags_of = |case: &Case| {
            self.plan
                .work
                .iter()
                .find(|worked| worked.case == case.name)
                .map(|worked| &worked.flags)
        };
        let worked = self.manifest.cases.iter().filter(|case| flags_of(case).is_some());
        let cases = self.possible(worked).into_iter();
        cases.filter_map(|case| Some((case, flags_of(case)?.as_slice()))).collect()
    }

    /// Whether the unit of work of this case is that of the harness: a guest has one of
    /// its own.
    pub(super) fn has_unit_of_harness(&self, case: &str) -> bool {
        let mut cases = self.manifest.cases.iter();
        let program = cases.find(|of| of.name == case).map(|of| &of.program);
        let program = program.and_then(|program| self.binaries.get(program));
        program.is_some_and(|binary| binary.program.form == Form::Record)
    }

    /// A case of the plan by its name, if it can run here.
    pub(super) fn named(&self, name: Option<&String>) -> Option<&'a Case> {
        let cases = self.manifest.cases.iter().filter(|case| Some(&case.name) == name);
        self.possible(cases).pop()
    }

    /// An invocation with `units` of work at every hop.
    pub(super) fn with_work(
        &mut self,
        case: &Case,
        own: &[String],
        units: u64,
        round: u32,
        bar: &ProgressBar,
    ) -> Option<Invocation> {
        let work = ["--work".to_owned(), units.to_string()];
        let flags = [own, &self.measuring(), &work].concat();
        self.invoke(case, round, &flags, bar)
    }

    fn possible<'c>(&self, cases: impl Iterator<Item = &'c Case>) -> Vec<&'c Case> {
        let built = cases.filter(|case| self.binaries.contains_key(&case.program));
        self.capabilities.divide(built.collect()).0
    }

    /// The flags of an invocation that measures times.
    fn measuring(&self) -> Vec<String> {
        let seconds = self.seconds.to_string();
        ["--max-time", &seconds, "--warmups", "10"].map(str::to_owned).to_vec()
    }

    /// An invocation of `case`; `None` if interrupted.
    pub(super) fn invoke(
        &mut self,
        case: &Case,
        round: u32,
        flags: &[String],
        bar: &ProgressBar,
    ) -> Option<Invocation> {
        bar.tick();
        let binary = &self.binaries[&case.program];
        let job = Job { case, round, attempt: 1, binary, flags, under: &[], shared_cpu: None };
        let invocation = invoke(&job, self.signals);
        bar.inc(1);
        (self.signals.stops() == 0).then_some(invocation)
    }
}

/// A bar on a terminal, drawn between invocations and never during one.
pub(super) fn bar(length: usize, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{pos}/{len} {bar:30} {msg}, {eta} left");
    let style = style.expect("the template is well-formed");
    ProgressBar::new(length as u64).with_style(style).with_message(what)
}
