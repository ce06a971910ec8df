//! The report of one run as a value; renderers read nothing else. The committed schema,
//! `brigade/report.schema.json`, is generated from these types; a test compares the two.

use std::collections::BTreeMap;

use serde::Serialize;

use super::compare::{Experience, Repeat};
use super::environment::{Conditions, InheritedFact, Machine};
use super::loads::Loads;
use super::lost_time::LostTime;
use super::pinning::Pinning;
use super::prediction::{Difference, Prediction};
use super::read_shares::ReadShares;
use super::row::{Other, Quantity, Row, named};
use super::run::{FiguresByCase, Run, case_of, figures_by_case};
use super::savings::Savings;
use super::state::{State, Word};
use super::statistics::{CONFIDENCE, DEPENDENT, Estimate, difference, ratio};
use crate::manifest::{
    AdditionSpec, FigureSpec, GroupSpec, Manifest, ReasonSpec, SentenceSpec, default_seconds,
    tables,
};
use crate::store::RECORDED;
use crate::store::results::Skipped;

/// Version of [`Report`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "5.0";

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Report {
    /// Schema version of this report, `major.minor`.
    pub schema_version: String,
    /// The run.
    pub run: RunSummary,
    /// The first screen; empty if the run has none of its cases.
    pub screen: Vec<ScreenPart>,
    /// What the ratios of the run answer, the most surprising first.
    pub answers: Vec<Answer>,
    /// The cases, by the question they answer.
    pub groups: Vec<Group>,
    /// The group that explains more of what the run shows; `null` if there is none.
    pub next: Option<NextRun>,
}

/// A group to run next.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct NextRun {
    /// Its name.
    pub group: String,
    /// Its question.
    pub question: String,
    /// How long it runs, in seconds.
    pub seconds: f64,
}

/// A run, without its cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct RunSummary {
    /// Its folder's name.
    pub name: String,
    /// A name for this kind of machine, such as `amd-epyc-25-17-2cpu`.
    pub label: String,
    /// The machine's CPUs and its hypervisor.
    pub machine: Machine,
    /// The other conditions of the figures.
    pub conditions: Conditions,
    /// What changed during it or is unusual of what its processes inherited, the most important
    /// first.
    pub inherited: Vec<InheritedFact>,
    /// When it started: UTC, RFC 3339.
    pub started_at: String,
    /// The version of Brigade.
    pub version: String,
    /// The command that repeats it; empty if not recorded.
    pub command: Vec<String>,
    /// Seed for the order of the cases.
    pub seed: u64,
    /// How complete it is.
    pub progress: RunProgress,
    /// The cases that could not run.
    pub skipped: Vec<Skipped>,
    /// Whether its figures can be quoted, and what speaks against that.
    pub state: State,
    /// What kept the tasks of all cases from running; `null` if no record contains that.
    pub lost_time: Option<LostTime>,
    /// The time of the reference work, in nanoseconds: the median before all processes; `null` for
    /// a run without references.
    pub reference_ns: Option<f64>,
    /// How far the next run's figures will be from these; `null` without intervals, and unless this
    /// run was quiet: what disturbed it may come again or not.
    pub repeat: Option<Repeat>,
}

/// The end of the recorded command of a run whose manifest was a file. Its name is not recorded, so
/// that nobody pastes a stranger's.
pub const OTHER_MANIFEST: [&str; 2] = ["--manifest", "FILE"];

impl RunSummary {
    /// The recorded command without [`OTHER_MANIFEST`], and whether it has that.
    pub fn command_and_manifest(&self) -> (&[String], bool) {
        let (words, manifest) = self.command.split_at(self.command.len().saturating_sub(2));
        if manifest == OTHER_MANIFEST { (words, true) } else { (&self.command, false) }
    }
}

/// How complete a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct RunProgress {
    /// Invocations that ended.
    pub ended: usize,
    /// Rounds that ran every case but those that were refused in the first.
    pub rounds: u32,
    /// Rounds that the run is for; `null` if only time bounds it.
    pub planned: Option<u32>,
    /// The share of its time or of its rounds that is done, 0 to 1.
    pub share: f64,
    /// Seconds left, while the run goes on; `null` for an ended one.
    pub seconds_left: Option<f64>,
    /// Whether nothing remains to run.
    pub is_complete: bool,
    /// Which side of a comparison this is; `null` if none.
    pub side: Option<String>,
    /// Whether it can be resumed.
    pub resumable: bool,
}

/// A part of the first screen.
pub type ScreenPart = tables::ScreenPart<Row>;

/// Rows with factors to one of them.
pub type ScreenBlock = tables::ScreenBlock<Row>;

/// A sentence about a ratio.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Answer {
    /// The sentence, with `{}` for the ratio.
    pub text: String,
    /// A sentence that gives the reason, if the run shows one.
    pub reason: Option<String>,
    /// The ratio.
    pub ratio: Estimate,
    /// The case that is divided.
    pub case: String,
    /// Whether `{}` is the share of the case's time that the other does not take.
    #[serde(default)]
    pub share: bool,
}

/// What an operation of one case costs if it is added to each operation of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Addition {
    /// The sentence, with `{}` for the time that is added, for its share, and for the other's time.
    pub text: String,
    /// The time that is added, in nanoseconds.
    pub added_ns: Estimate,
    /// The other case's time, in nanoseconds.
    pub to_ns: Estimate,
    /// The first over the second: the median over common rounds of the quotient.
    pub share: Estimate,
}

/// The cases that answer one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Group {
    /// The group's name; empty for cases of no group.
    pub name: String,
    /// The question; empty for cases of no group.
    pub question: String,
    /// A hint for readers of the answer, without figures.
    pub note: Option<String>,
    /// Whether the percentiles of single operations answer the question.
    pub tails: bool,
    /// The cases: each has one row for its figure, followed by one for each measurement if there
    /// are several.
    pub rows: Vec<Row>,
    /// Cases over or minus another.
    pub comparisons: Vec<Row>,
    /// Whether nothing disturbed the run so much that its figures answer no question.
    pub is_fit: bool,
    /// Sentences that answer the question, from the cases that the run has.
    pub answers: Vec<Answer>,
    /// Whether the parts of the time answer it.
    pub parts: bool,
    /// Why threads are faster on one CPU; `null` unless the group asks.
    pub pinning: Option<Pinning>,
    /// What a case costs next to another one; `null` unless the group asks, and without both.
    pub addition: Option<Addition>,
    /// What one kind of task saves, by the work in an operation.
    pub savings: Vec<Savings>,
    /// From which share of reads on read-write locks are cheaper than mutexes.
    pub read_shares: Vec<ReadShares>,
    /// What requests should cost by the costs of hops.
    pub predictions: Vec<Prediction>,
    /// The differences between kinds by the costs of hops.
    pub differences: Vec<Difference>,
    /// Figures by load; `null` if the group has no loads.
    pub loads: Option<Loads>,
}

impl Group {
    /// Whether its table, or where its time goes, explains the rows of the first screen.
    pub fn explains(&self) -> bool {
        self.parts || self.loads.is_some()
    }

    /// The figures of the cases, without those of single measurements.
    pub fn cases(&self) -> impl Iterator<Item = &Row> {
        self.rows.chunk_by(|one, next| one.case == next.case).map(|rows| &rows[0])
    }
}

/// A run to report.
#[derive(Debug)]
pub struct RunData<'a> {
    /// Its folder's name.
    pub name: String,
    /// Its description, its machine and its processes.
    pub run: &'a mut Run,
    /// How complete it is.
    pub progress: RunProgress,
    /// Other runs of the same build on the same machine.
    pub alike: &'a [OtherRun],
}

/// What a run contributes to the report of a later one of its build and machine.
#[derive(Clone, Debug)]
pub struct OtherRun {
    /// Its figures.
    pub figures: FiguresByCase,
    /// The time of the reference work, in nanoseconds.
    pub reference_ns: Option<f64>,
    /// Whether nothing disturbed it.
    pub is_quiet: bool,
}

/// The time of the reference work in a run with so many whole rounds; `None` if it was disturbed.
pub fn quiet_reference_ns(run: &Run, rounds: u32) -> Option<f64> {
    let is_quiet = State::of_run(run, rounds).word == Word::Quiet;
    run.reference_ns().filter(|_| is_quiet)
}

/// The state of a run with so many whole rounds, next to the times of the reference work in earlier
/// quiet runs of its build on its machine.
pub fn state_next_to(run: &Run, rounds: u32, earlier_ns: &[f64]) -> State {
    State::of_run(run, rounds).with_pace(run.reference_ns(), earlier_ns)
}

impl OtherRun {
    /// What a saved run contributes.
    pub fn new(manifest: &Manifest, run: &mut Run, rounds: u32) -> Self {
        Self {
            figures: run.figures(manifest),
            reference_ns: run.reference_ns(),
            is_quiet: State::of_run(run, rounds).word == Word::Quiet,
        }
    }
}

/// The report of a run; `manifest` defines groups, comparisons and the first screen.
pub fn report(manifest: &Manifest, data: RunData) -> Report {
    data.run.refresh(manifest);
    let cases = Cases::new(manifest, data.run, state(&data));
    let answers = answers(&manifest.sentences, &cases);
    Report {
        schema_version: SCHEMA_VERSION.to_owned(),
        run: summary(manifest, &data, &cases),
        screen: screen(manifest, &cases),
        next: next(manifest, &cases, &answers),
        answers,
        groups: groups(manifest, data.run, &cases),
    }
}

/// The first group with the case of an answer of which the run lacks a third of the cases.
fn next(manifest: &Manifest, cases: &Cases, answers: &[Answer]) -> Option<NextRun> {
    let has_more = |group: &&GroupSpec| {
        let lacking = group.cases.iter().filter(|case| !cases.planned.contains(case)).count();
        3 * lacking > group.cases.len()
    };
    let group = answers.iter().find_map(|answer| {
        let mut groups = manifest.groups.iter().filter(|group| group.cases.contains(&answer.case));
        groups.next().filter(has_more)
    })?;
    Some(NextRun {
        group: group.name.clone(),
        question: group.question.clone(),
        seconds: default_seconds(group.cases.len()),
    })
}

/// The state of a run, next to earlier quiet ones.
fn state(data: &RunData) -> State {
    let quiet = data.alike.iter().filter(|other| other.is_quiet);
    let earlier_ns: Vec<f64> = quiet.filter_map(|other| other.reference_ns).collect();
    state_next_to(data.run, data.progress.rounds, &earlier_ns)
}

/// The rows of a run's cases.
struct Cases<'a> {
    rows: Vec<&'a [Row]>,
    /// The names of the cases that the run is for, with those that cannot run here.
    planned: Vec<String>,
    /// The run's state.
    state: State,
}

impl<'a> Cases<'a> {
    fn new(manifest: &Manifest, run: &'a Run, state: State) -> Self {
        let description = &run.description;
        let name = |name: &String| {
            case_of(manifest, description, name).map_or(name, |case| &case.name).clone()
        };
        let skipped = description.skipped.iter().map(|skipped| &skipped.case);
        let planned = description.cases.iter().chain(skipped).map(name).collect();
        Self { rows: run.rows(), planned, state }
    }

    /// The row of a case, or of one of its measurements.
    fn row(&self, case: &str, measurement: Option<&str>) -> Option<&Row> {
        named(&self.rows, case, measurement)
    }

    /// A request's row: a figure, a ratio or a difference.
    fn requested(&self, spec: &FigureSpec) -> Option<Row> {
        let row = self.row(&spec.case, spec.measurement.as_deref())?;
        let label = spec.text.clone().unwrap_or_else(|| row.label.clone());
        let Some(other) = spec.other() else { return Some(Row { label, ..row.clone() }) };
        let measurement = spec.other_measurement.as_ref().or(spec.measurement.as_ref());
        let other = self.row(other, measurement.map(String::as_str))?;
        if row.unit != other.unit {
            return None;
        }
        let sides = [row, other].map(Row::by_round);
        let is_ratio = spec.over.is_some();
        let unit = if is_ratio { Quantity::Ratio } else { row.unit };
        let figure =
            if is_ratio { ratio(&sides, CONFIDENCE, DEPENDENT) } else { difference(&sides) };
        Some(Row {
            label,
            case: row.case.clone(),
            program: row.program.clone(),
            parameters: row.parameters.clone(),
            kind: row.kind,
            measurement: row.measurement.clone(),
            unit,
            figure: Some(figure?),
            other: Some(Other {
                label: other.label.clone(),
                case: other.case.clone(),
                measurement: measurement.cloned(),
            }),
            ..Row::default()
        })
    }

    /// A row over that of another case, or of one of its measurements, if both have one unit.
    fn ratio(&self, row: &Row, over: &str, measurement: Option<&str>) -> Option<Estimate> {
        let over = self.row(over, measurement).filter(|over| over.unit == row.unit)?;
        ratio(&[row, over].map(Row::by_round), CONFIDENCE, DEPENDENT)
    }

    /// What a case costs next to another one, to whose operations it is added; `None` after too few
    /// rounds.
    fn addition(&self, spec: &AdditionSpec) -> Option<Addition> {
        let row = self.row(&spec.case, None)?;
        let to = self.row(&spec.to, None)?;
        Some(Addition {
            text: spec.text.clone(),
            added_ns: row.figure?,
            to_ns: to.figure?,
            share: self.ratio(row, &spec.to, None)?.known()?,
        })
    }

    /// Whether the run shows this reason of a sentence about `case`.
    fn shows(&self, reason: &ReasonSpec, case: &str) -> bool {
        let case = reason.case.as_deref().unwrap_or(case);
        let Some(over) = &reason.over else {
            let parts = self.row(case, None).and_then(|row| row.parts);
            return parts.and_then(|parts| parts.idle_entries).is_some_and(|count| count >= ASLEEP);
        };
        let ratio = self.row(case, None).and_then(|row| self.ratio(row, over, None)?.interval);
        ratio.is_some_and(|ends| ends.low >= REASON)
    }

    /// A row of the first screen with its factor; without figures if the run lacks the case.
    fn on_screen(&self, spec: &FigureSpec, reference: &str) -> Row {
        let lacking = || Row {
            label: spec.text.clone().unwrap_or_else(|| spec.case.clone()),
            case: spec.case.clone(),
            ..Row::default()
        };
        let row = self.requested(spec).unwrap_or_else(lacking);
        Row { factor: self.ratio(&row, reference, None), ..row }
    }
}

/// What changed during a run, and unusual facts that change figures, the most important first.
fn inherited(run: &Run) -> Vec<InheritedFact> {
    let changed = run.changes().into_iter().map(InheritedFact::Changed);
    let unusual = run.environment_of_processes().unusual().into_iter();
    let unusual = unusual.filter(|fact| fact.changes_figures);
    changed.chain(unusual.map(InheritedFact::Unusual)).collect()
}

/// How far the next quiet run will be from a quiet one.
fn repeat(manifest: &Manifest, data: &RunData, cases: &Cases) -> Option<Repeat> {
    if cases.state.word != Word::Quiet {
        return None;
    }
    let rows = || cases.rows.iter().map(|rows| &rows[0]);
    let figures = figures_by_case(rows());
    // A run of one group says little about the other cases.
    let has_most = |other: &FiguresByCase| {
        2 * figures.keys().filter(|case| other.contains_key(*case)).count() >= figures.len()
    };
    let quiet = data.alike.iter().filter(|other| other.is_quiet).map(|other| &other.figures);
    let quiet: Vec<&FiguresByCase> = quiet.filter(|figures| has_most(figures)).collect();
    let mut floors = BTreeMap::new();
    for (name, spread) in &RECORDED.repeat {
        let case = manifest.case(name).ok();
        let row = case.and_then(|case| rows().find(|row| row.case == case.name));
        if let Some(row) = row {
            floors.insert(row.key(), *spread);
        }
    }
    let experience =
        Experience { runs: RECORDED.repeated(), scaled: RECORDED.scaled.clone(), floors };
    Repeat::forecast(&figures, &quiet, &experience)
}

fn summary(manifest: &Manifest, data: &RunData, cases: &Cases) -> RunSummary {
    let Run { description, environment, .. } = &*data.run;
    let command = description.procedure.as_ref().map(|procedure| procedure.command.clone());
    RunSummary {
        name: data.name.clone(),
        label: environment.label(),
        machine: environment.machine(),
        conditions: environment.conditions(),
        inherited: inherited(data.run),
        started_at: description.started_at.clone(),
        version: description.brigade_version.clone(),
        command: command.unwrap_or_default(),
        seed: description.seed,
        progress: data.progress.clone(),
        skipped: description.skipped.clone(),
        lost_time: data.run.lost_time(),
        reference_ns: data.run.reference_ns(),
        repeat: repeat(manifest, data, cases),
        state: cases.state.clone(),
    }
}

/// The parts of the first screen of which the run measures a case.
fn screen(manifest: &Manifest, cases: &Cases) -> Vec<ScreenPart> {
    let is_shown = |row: &Row| cases.planned.contains(&row.case) || row.figure.is_some();
    let parts = manifest.screen.iter().map(|part| {
        let blocks = part.blocks.iter().map(|block| {
            let rows = block.rows.iter().map(|spec| cases.on_screen(spec, &block.reference));
            ScreenBlock {
                name: block.name.clone(),
                reference: block.reference.clone(),
                rows: rows.filter(is_shown).collect(),
            }
        });
        let blocks: Vec<ScreenBlock> = blocks.filter(|block| !block.rows.is_empty()).collect();
        ScreenPart { heading: part.heading.clone(), of: part.of.clone(), blocks }
    });
    parts.filter(|part| !part.blocks.is_empty()).collect()
}

/// The least factor that an answer is about, at the nearer end of its interval: two runs of one
/// build never disagree about its direction.
const LEAST_ANSWERED: f64 = 1.2;

/// The least ratio that is a reason: what one case has and the other lacks is a third of its time.
const REASON: f64 = 1.4;

/// How often per operation a CPU must go to sleep for that to be a reason.
const ASLEEP: f64 = 0.25;

/// Sentences about ratios that differ from 1 and from what a reader would guess: fixed ones first,
/// then the farthest from the guess, measured from the nearer end of the interval. None from a run
/// that was disturbed: that biases ratios, too.
fn answers(sentences: &[SentenceSpec], cases: &Cases) -> Vec<Answer> {
    if !cases.state.is_fit {
        return Vec::new();
    }
    let answers = sentences.iter().filter_map(|spec| {
        let measurement = spec.measurement.as_deref();
        let row = cases.row(&spec.case, measurement)?;
        let ratio = cases.ratio(row, &spec.over, measurement)?;
        let ends = ratio.interval?;
        if ends.low < LEAST_ANSWERED {
            return None;
        }
        let guess = spec.guess.unwrap_or(1.0);
        let surprise = (ends.low / guess).max(guess / ends.high).ln();
        let rank = if spec.first { f64::INFINITY } else { surprise };
        let reason = spec.reason.as_ref().filter(|reason| cases.shows(reason, &spec.case));
        let answer = Answer {
            text: spec.text.clone(),
            reason: reason.map(|reason| reason.text.clone()),
            ratio,
            case: row.case.clone(),
            share: spec.share,
        };
        (surprise > 0.0).then_some((rank, answer))
    });
    let mut answers: Vec<(f64, Answer)> = answers.collect();
    answers.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The cases by group: the one that a run was for, or else the first that lists them; at the end
/// the cases in no group.
fn groups(manifest: &Manifest, run: &Run, cases: &Cases) -> Vec<Group> {
    let recorded = run.description.details.iter().filter_map(|detail| {
        let known = case_of(manifest, &run.description, &detail.case);
        Some((known.map_or(&detail.case, |known| &known.name), detail.group.as_ref()?))
    });
    let recorded: BTreeMap<_, _> = recorded.collect();
    let mut rows = vec![Vec::new(); manifest.groups.len()];
    let mut others = Group::default();
    for of_case in &cases.rows {
        let case = &of_case[0].case;
        let is_recorded = |group: &GroupSpec| recorded.get(case) == Some(&&group.name);
        let is_listed = |group: &GroupSpec| group.cases.contains(case);
        let at = manifest.groups.iter().position(is_recorded);
        let at = at.or_else(|| manifest.groups.iter().position(is_listed));
        let names = at.map_or(&[][..], |at| &manifest.groups[at].names);
        let name = names.iter().find(|name| name.case == *case);
        let rows = at.map_or(&mut others.rows, |at| &mut rows[at]);
        rows.extend(of_case.iter().map(|row| Row {
            label: name.map_or(&row.label, |name| &name.text).clone(),
            ..row.clone()
        }));
    }
    for rows in rows.iter_mut().chain([&mut others.rows]) {
        add_factors(rows);
    }
    let measured = manifest.groups.iter().zip(rows).filter(|(_, rows)| !rows.is_empty());
    let groups = measured.map(|(stated, rows)| Group {
        is_fit: cases.state.is_fit,
        name: stated.name.clone(),
        question: stated.question.clone(),
        note: stated.note.clone(),
        tails: stated.tails,
        comparisons: stated.comparisons.iter().filter_map(|row| cases.requested(row)).collect(),
        answers: answers(&stated.sentences, cases),
        parts: stated.parts,
        pinning: Pinning::new(stated, &cases.rows),
        addition: stated.addition.as_ref().and_then(|spec| cases.addition(spec)),
        savings: Savings::all(manifest, stated, &cases.rows),
        read_shares: ReadShares::all(manifest, stated, &cases.rows),
        predictions: Prediction::all(manifest, stated, &cases.rows),
        differences: Difference::all(manifest, stated, &cases.rows),
        loads: Loads::new(manifest, stated, &cases.rows),
        rows,
    });
    groups.chain(Some(others).filter(|group| !group.rows.is_empty())).collect()
}

/// Gives each case of a group its factor to the cheapest one of the same unit.
fn add_factors(rows: &mut [Row]) {
    for unit in [Quantity::Nanoseconds, Quantity::Bytes] {
        // The first row of a case is its figure, others are of single measurements.
        let of_cases = rows.chunk_by_mut(|one, next| one.case == next.case);
        let of_cases = of_cases.map(|rows| &mut rows[0]);
        let mut rows: Vec<&mut Row> = of_cases.filter(|row| row.unit == unit).collect();
        let cheapest = rows.iter().min_by(|one, other| one.value().total_cmp(&other.value()));
        let Some(cheapest) = cheapest.map(|row| row.by_round()) else { continue };
        for row in &mut rows {
            row.factor = ratio(&[row.by_round(), cheapest.clone()], CONFIDENCE, DEPENDENT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, WholeRun};

    /// The fixed run, half of whose time went to other processes.
    fn busy() -> WholeRun {
        let mut busy = fixtures::run();
        for record in busy.invocations.iter_mut().filter_map(|one| one.record.as_mut()) {
            record.interference.others_cpu_ns = record.interference.wall_ns.map(|ns| ns as i64);
        }
        busy
    }

    /// The fixed run on a machine that is not what it seems.
    fn emulated() -> WholeRun {
        let mut emulated = fixtures::run();
        emulated.environment.set("processor.emulated_on", Some("x86_64"));
        emulated
    }

    #[test]
    fn a_run_that_lost_much_or_is_emulated_answers_nothing() {
        for (saved, answers) in [(fixtures::run(), 1), (busy(), 0), (emulated(), 0)] {
            let report = fixtures::report_with(&saved);
            assert_eq!(report.answers.len(), answers);
            assert_eq!(report.groups.iter().all(|group| group.is_fit), answers > 0);
            assert!(!report.groups[0].comparisons.is_empty(), "tables stay");
        }
    }

    /// Where CPU time cannot be read, the figure of a server is the time of a request.
    #[test]
    fn the_first_screen_has_no_time_of_a_request_as_its_cpu_time() {
        let manifest = Manifest::parse(include_str!("../../../suite.toml")).expect("a manifest");
        let server = "echo-server --placement same-cpu";
        for (name, is_known) in [("cpu", true), ("request", false)] {
            let mut saved = fixtures::run();
            saved.description.cases = vec![server.to_owned()];
            saved.invocations = fixtures::case(server, [1.0; 5]);
            for one in &mut saved.invocations {
                let measured = &mut one.record.as_mut().unwrap().measurements[0];
                measured.name = name.to_owned();
                measured.operation = "request".to_owned();
            }
            let mut run = saved.judged();
            run.refresh(&manifest);
            let screen = screen(&manifest, &Cases::new(&manifest, &run, State::default()));
            let rows = screen.iter().flat_map(|part| &part.blocks).flat_map(|block| &block.rows);
            let of_server: Vec<&Row> = rows.filter(|row| row.case == server).collect();
            assert_eq!(of_server.len(), 1, "{screen:?}");
            assert_eq!(of_server[0].figure.is_some(), is_known, "{of_server:?}");
        }
    }

    /// One of a case's two phases is divided by the same of another case, and by its own other phase.
    #[test]
    fn a_phase_is_divided_by_that_phase_and_named() {
        let saved = fixtures::run();
        let mut manifest = fixtures::manifest();
        let row = |line: &str| toml::from_str(line).expect("a row");
        manifest.groups[1].comparisons = vec![
            row("case = 'create'\nmeasurement = 'iteration'\nover = 'create'"),
            row("case = 'create'\nmeasurement = 'join'\nother_measurement = 'iteration'\n\
                 over = 'create'"),
            row("case = 'create'\nover = 'create'"),
        ];
        let mut run = saved.judged();
        run.refresh(&manifest);
        let group = &groups(&manifest, &run, &Cases::new(&manifest, &run, State::default()))[1];
        let seen: Vec<_> = group
            .comparisons
            .iter()
            .map(|row| {
                let other = row.other.as_ref().unwrap().measurement.as_deref();
                (&*row.measurement, other, (row.figure.unwrap().value * 100.0).round())
            })
            .collect();
        let expected = [
            ("iteration", Some("iteration"), 100.0),
            ("join", Some("iteration"), 9.0),
            ("whole", None, 100.0),
        ];
        assert_eq!(seen, expected);
    }

    /// A hop of a task, 905 ns, next to one of a thread, 1790 ns.
    #[test]
    fn an_addition_is_divided_by_what_it_is_added_to() {
        let mut manifest = fixtures::manifest();
        let addition = |line: &str| toml::from_str(line).expect("an addition");
        manifest.groups[0].addition =
            addition("text = '{}'\ncase = 'tasks'\nto = 'threads --placement same-cpu'");
        manifest.groups[1].addition = addition("text = '{}'\ncase = 'tasks'\nto = 'unmeasured'");
        let mut run = fixtures::run().judged();
        run.refresh(&manifest);
        let groups = groups(&manifest, &run, &Cases::new(&manifest, &run, State::default()));
        let found = groups[0].addition.as_ref().unwrap();
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.02;
        assert!(close(found.added_ns.value, 905.0) && close(found.to_ns.value, 1790.0));
        assert!(close(found.share.value, 905.0 / 1790.0), "{found:?}");
        assert_eq!(groups[1].addition, None);
    }

    const ENOUGH: u32 = 12;

    /// Half of the time of the other run went to other processes.
    #[test]
    fn only_a_quiet_run_is_forecast_and_by_quiet_ones() {
        let manifest = fixtures::manifest();
        let quiet = fixtures::run();
        let busy = busy();
        let alike = &[&quiet, &busy].map(|run| OtherRun::new(&manifest, &mut run.judged(), ENOUGH));
        let runs = |saved: &WholeRun| {
            let data = RunData {
                name: String::new(),
                run: &mut saved.judged(),
                progress: RunProgress { rounds: ENOUGH, ..RunProgress::default() },
                alike,
            };
            report(&manifest, data).run.repeat.map(|repeat| repeat.runs)
        };
        assert_eq!((runs(&quiet), runs(&busy)), (Some(1), None));
    }
}
