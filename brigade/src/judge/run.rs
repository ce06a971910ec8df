//! A run as far as its report needs it: a sample of each process, by case, and the rows that follow.
//! A process that ends changes the rows of its case only.

use std::collections::BTreeMap;
use std::sync::Arc;

use harness::TaskKind;
use harness::inherited::EMULATED_ON;
use serde_json::Value;

use super::environment::{Difference, Inherited};
use super::lost_time::{Account, LostTime, Time};
use super::row::{Row, lost_by};
use super::sample::{Sample, Shape};
use super::statistics::{Estimate, median};
use crate::manifest::{Case, Manifest};
use crate::store::neighbours::Build;
use crate::store::results::{Environment, Invocation, Reference, RunDescription, parameters};

/// A run.
#[derive(Debug)]
pub struct Run {
    /// What was run.
    pub description: RunDescription,
    /// The machine.
    pub environment: Environment,
    cases: Vec<CaseOfRun>,
    /// The places of the cases by their names in the run.
    places: BTreeMap<String, usize>,
    /// The readings of the machine's speed before its processes.
    references: Vec<Reference>,
    /// What its processes inherited.
    inherited: Inherited,
}

/// The processes of a case, in the order in which they ended.
#[derive(Debug, Default)]
struct CaseOfRun {
    /// Its name in the run.
    name: String,
    /// The program and the parameters of its first record.
    program: Option<String>,
    parameters: BTreeMap<String, Value>,
    /// The kind of its tasks, of its first record.
    kind: Option<TaskKind>,
    /// The first error, if a process failed, and what it printed.
    error: Option<String>,
    stderr: Option<String>,
    /// What the last process measured.
    shape: Option<Arc<Shape>>,
    samples: Vec<Sample>,
    /// What follows from them; `None` if a process has ended since it was worked out.
    worked_out: Option<WorkedOut>,
}

/// What the processes of a case show together.
#[derive(Debug)]
struct WorkedOut {
    rows: Vec<Row>,
    /// The time that they lost.
    lost: Option<Account>,
}

impl Run {
    /// A run without processes.
    pub fn new(description: RunDescription, environment: Environment) -> Self {
        let mut run = Self {
            description,
            environment,
            cases: Vec::new(),
            places: BTreeMap::new(),
            references: Vec::new(),
            inherited: Inherited::default(),
        };
        for name in run.description.cases.clone() {
            run.place(&name);
        }
        run
    }

    /// The place of a case, which may be new.
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.cases.push(CaseOfRun { name: name.to_owned(), ..CaseOfRun::default() });
        self.places.insert(name.to_owned(), self.cases.len() - 1);
        self.cases.len() - 1
    }

    /// Adds a process that ended. Returns the place of its case.
    pub fn add(&mut self, invocation: &Invocation) -> usize {
        self.references.extend(invocation.reference);
        let place = self.place(&invocation.case);
        let sets = self.inherited.sets();
        let record = invocation.record.as_ref();
        let inherits = record.map_or(0, |record| self.inherited.add(record, &self.environment));
        if self.inherited.sets() > sets {
            // It may decide which processes are used.
            for case in &mut self.cases {
                case.worked_out = None;
            }
        }
        self.cases[place].add(invocation, inherits as u16);
        place
    }

    /// How many processes ended.
    pub fn len(&self) -> usize {
        self.cases.iter().map(|case| case.samples.len()).sum()
    }

    /// All processes, by case.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.cases.iter().flat_map(|case| &case.samples)
    }

    /// Works out the rows of the cases of which a process has ended since. Returns how many these
    /// are.
    pub fn refresh(&mut self, manifest: &Manifest) -> usize {
        let Self { description, inherited, cases, .. } = self;
        let mut refreshed = 0;
        for case in cases {
            if case.worked_out.is_none() {
                case.refresh(manifest, description, inherited);
                refreshed += 1;
            }
        }
        refreshed
    }

    /// The rows of every case, the case's figure first, as they were last worked out; a case may
    /// have no process yet.
    pub fn rows(&self) -> Vec<&[Row]> {
        self.cases.iter().filter_map(|case| Some(&*case.worked_out.as_ref()?.rows)).collect()
    }

    /// The figure of each case that has processes.
    pub fn cases(&mut self, manifest: &Manifest) -> Vec<Row> {
        self.refresh(manifest);
        let rows = self.rows().into_iter().map(|rows| rows[0].clone());
        rows.filter(|row| !row.processes.is_empty()).collect()
    }

    /// The figures of its cases, by program and parameters.
    pub fn figures(&mut self, manifest: &Manifest) -> FiguresByCase {
        self.refresh(manifest);
        figures_by_case(self.rows().into_iter().map(|rows| &rows[0]))
    }

    /// The time that its processes lost.
    pub fn lost_time(&self) -> Option<LostTime> {
        LostTime::of_cases(self.cases.iter().filter_map(CaseOfRun::lost))
    }

    /// The time that its processes lost, as shares of one CPU's time: it may all have been lost on one.
    pub fn lost_time_of_one_cpu(&self) -> Option<LostTime> {
        let lost = |case: &CaseOfRun| lost_by(&case.samples, Time::OfOneCpu);
        LostTime::of_cases(self.cases.iter().filter_map(lost))
    }

    /// The readings of the machine's speed before its processes.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The time of the reference work during the run, in nanoseconds: the median over the readings
    /// before its processes. `None` for a run without references.
    pub fn reference_ns(&self) -> Option<f64> {
        let times = self.references.iter().map(|reference| reference.kernel_ns);
        median(&times.filter(|ns| *ns > 0.0 && ns.is_finite()).collect::<Vec<_>>())
    }

    /// Whether an emulator ran the runner or a program.
    pub fn is_emulated(&self) -> bool {
        self.environment.get(EMULATED_ON).is_some() || self.inherited.has(EMULATED_ON)
    }

    /// What identifies the CPUs of each process that measured, by its case and round.
    pub fn cpus(&self) -> BTreeMap<(&str, u32), u64> {
        let mut cpus = BTreeMap::new();
        for case in &self.cases {
            for sample in &case.samples {
                if let Some(figures) = &sample.figures {
                    cpus.insert((&*case.name, sample.round), figures.cpus);
                }
            }
        }
        cpus
    }

    /// Whether its programs are those of another run.
    pub fn is_of_build_of(&self, other: &Self) -> bool {
        let [own, other] = [self, other].map(|run| Build::new(&run.description, &run.environment));
        own.is_same_as(&other)
    }

    /// Whether its processes inherited the same as those of another run.
    pub fn inherited_like(&self, other: &Self) -> bool {
        self.inherited.is_like(&other.inherited)
    }

    /// Facts that changed during the run: processes that inherited the second value are not used.
    pub fn changes(&self) -> Vec<Difference> {
        self.inherited.changes()
    }

    /// The environment with what its processes inherited, which may not be what the runner did: a
    /// command around them, or the policy, may change it.
    pub fn environment_of_processes(&self) -> Environment {
        self.inherited.environment(&self.environment)
    }
}

impl CaseOfRun {
    fn add(&mut self, invocation: &Invocation, inherits: u16) {
        if self.program.is_none()
            && let Some(record) = &invocation.record
        {
            self.program = Some(record.program.clone());
            self.parameters = parameters(record);
            self.kind = record.kind;
        }
        if self.error.is_none() && !invocation.interrupted && invocation.error.is_some() {
            self.error.clone_from(&invocation.error);
            self.stderr.clone_from(&invocation.stderr);
        }
        let sample = Sample::new(invocation, self.shape.as_ref(), inherits);
        if let Some(figures) = &sample.figures {
            self.shape = Some(Arc::clone(&figures.shape));
        }
        self.samples.push(sample);
        self.worked_out = None;
    }

    /// The time that its processes lost.
    fn lost(&self) -> Option<Account> {
        match &self.worked_out {
            Some(known) => known.lost,
            None => lost_by(&self.samples, Time::OfAllCpus),
        }
    }

    fn refresh(
        &mut self,
        manifest: &Manifest,
        description: &RunDescription,
        inherited: &Inherited,
    ) {
        let known = case_of(manifest, description, &self.name);
        let case = known.map_or(&self.name, |case| &case.name);
        let named = Row {
            label: case.clone(),
            case: case.clone(),
            program: self.program.as_ref().unwrap_or(&self.name).clone(),
            parameters: self.parameters.clone(),
            kind: match self.program {
                Some(_) => self.kind,
                None => known.and_then(|case| manifest.task_kind(case)),
            },
            error: self.error.clone(),
            stderr: self.stderr.clone(),
            ..Row::default()
        };
        self.worked_out = Some(WorkedOut {
            rows: Row::of_case(&named, inherited, &self.samples),
            lost: lost_by(&self.samples, Time::OfAllCpus),
        });
    }
}

/// The figures of a run by [`Row::key`].
pub type FiguresByCase = BTreeMap<String, Estimate>;

/// The figures of these cases of a run.
pub fn figures_by_case<'a>(rows: impl IntoIterator<Item = &'a Row>) -> FiguresByCase {
    rows.into_iter().filter_map(|row| Some((row.key(), row.figure?))).collect()
}

/// The manifest's case that this run calls `name`.
pub fn case_of<'a>(manifest: &'a Manifest, run: &RunDescription, name: &str) -> Option<&'a Case> {
    let detail = run.details.iter().find(|detail| detail.case == name);
    let known = detail.and_then(|detail| manifest.case_of(&detail.program, &detail.parameters));
    known.or_else(|| manifest.cases.iter().find(|case| case.name == name))
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use super::super::sample::{Figures, Measured};
    use super::*;
    use crate::fixtures;

    /// The rows are the same as if all processes were added at once.
    #[test]
    fn a_process_that_ends_changes_the_rows_of_its_case_only() {
        let whole = fixtures::run();
        let manifest = fixtures::manifest();
        let mut run = Run::new(whole.description.clone(), whole.environment.clone());
        assert_eq!(run.refresh(&manifest), whole.description.cases.len());
        for invocation in &whole.invocations {
            run.add(invocation);
            let is_first = run.len() == 1;
            let stale = if is_first { whole.description.cases.len() } else { 1 };
            assert_eq!(run.refresh(&manifest), stale, "what it inherits may concern all cases");
        }
        assert_eq!(run.refresh(&manifest), 0);
        let mut again = whole.judged();
        again.refresh(&manifest);
        assert_eq!(run.rows(), again.rows());
        assert_eq!(run.lost_time(), again.lost_time());
    }

    #[test]
    fn half_a_kib_of_a_record_is_kept() {
        let kept = size_of::<Sample>() + size_of::<Figures>() + 2 * size_of::<Measured>();
        assert!(kept <= 512, "{kept} bytes");
    }
}
