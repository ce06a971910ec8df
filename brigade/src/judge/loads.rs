//! A table with a line for each thing and a column for each load, such as locks by the number of tasks
//! or kinds of tasks by what is done with one, and what it answers.

use serde::Serialize;

use super::row::{Quantity, Row, named, row_of};
use super::statistics::{CONFIDENCE, DEPENDENT, Estimate, ratio};
use crate::manifest::{AnswerSpec, Case, GroupSpec, LineSpec, Manifest};

/// The least factor, at the nearer end of its interval, for which one would choose another line.
const LEAST_ADVANTAGE: f64 = 1.2;

/// A line is unfair if a task waits so many times as long for its turn as it would if all took turns.
const UNFAIR: f64 = 3.0;

/// An unfair line whose figure is at most so many times that of the usual one looks cheap.
const LOOKS_CHEAP: f64 = 2.0;

/// The measurement of CPU time.
const CPU: &str = "cpu";
/// The measurement of the time between the first and the last task that an event woke.
const FIRST_TO_LAST: &str = "first_to_last";

/// Figures by load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Loads {
    /// What a line is; empty if its figure is that of one operation.
    pub heading: String,
    /// What one operation is.
    pub operation: String,
    /// The loads.
    pub loads: Vec<String>,
    /// The unit of the figures under each load.
    pub units: Vec<Quantity>,
    /// Whether the 99th percentiles of single operations are what matters, not the figures.
    pub tails: bool,
    /// The measurement of how long a task waits for its turn.
    pub turn: String,
    /// The lines, in the order of their letters.
    pub lines: Vec<LoadLine>,
    /// What the table answers; `null` if the run lacks what that needs.
    pub answer: Option<LoadAnswer>,
}

impl Loads {
    /// The line with this case, and the number of its load.
    pub fn place_of(&self, case: &str) -> Option<(&LoadLine, usize)> {
        self.lines.iter().find_map(|line| {
            let at = line.cases.iter().position(|known| known == case)?;
            Some((line, at))
        })
    }
}

/// One thing under each load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct LoadLine {
    /// Its letter, the same in every run.
    pub letter: char,
    /// Its name.
    pub label: String,
    /// Its case under each load; empty if it has none.
    pub cases: Vec<String>,
    /// Its figure under each load; `null` if not measured.
    pub figures: Vec<Option<Estimate>>,
    /// The figure over the lowest under that load: the median over common rounds of the quotient.
    pub factors: Vec<Option<Estimate>>,
    /// The 99th percentile of single operations, in nanoseconds; `null` of too few.
    pub p99_ns: Vec<Option<f64>>,
    /// How long a task waits for its turn, in nanoseconds; `null` if not measured.
    pub turn_ns: Vec<Option<f64>>,
    /// Whether readers could have been seen inside together under some load, and never were.
    pub is_exclusive: bool,
    /// CPU time of an operation under each load, in nanoseconds; empty unless it answers the
    /// question, too.
    pub cpu_ns: Vec<Option<f64>>,
}

/// What a table answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadAnswer {
    /// Which line to choose.
    Choose(LoadAdvice),
    /// Which line has the lowest figure under the first load.
    Fastest(Fastest),
    /// How late others are under the last load because of the first line.
    Late(Late),
    /// What waking many tasks at once takes.
    Waking(Waking),
}

/// The line to choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct LoadAdvice {
    /// The line that most have.
    pub usual: String,
    /// The line that is as fair and clearly cheaper than it under a load; `null` if none is.
    pub better: Option<String>,
    /// The load under which the better line is cheaper; empty without one.
    pub load: String,
    /// The better line's figure under it, in nanoseconds; `null` without one.
    pub better_ns: Option<f64>,
    /// Its CPU time under it, in nanoseconds, if that answers the question, too.
    pub better_cpu_ns: Option<f64>,
    /// How many times as long the usual one takes under it.
    pub ratio: Option<Estimate>,
    /// Whether another is clearly cheaper than the better line under another load.
    pub depends: bool,
    /// The choices that are clearly cheaper than the better line, the one by most under each load.
    pub cheaper: Vec<Rival>,
    /// The choices of which the run does not exclude that they are cheaper than the better line, or
    /// without one than the usual line, the likeliest first.
    pub open: Vec<Rival>,
    /// Whether it is known how fair the usual line is.
    pub is_fair: bool,
    /// Lines that look cheap under the last load, with which a task waits long for its turn.
    pub unfair: Vec<Unfair>,
}

/// Another choice under a load, compared with the line that is advised.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Rival {
    /// The other choice.
    pub label: String,
    /// The load.
    pub load: String,
    /// How many times as long the advised line takes.
    pub ratio: Estimate,
    /// How many times the CPU time it takes, if that answers the question, too.
    pub cpu_ratio: Option<Estimate>,
}

/// A line that is cheap on average, with which some tasks wait long.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Unfair {
    /// The line.
    pub label: String,
    /// The load.
    pub load: String,
    /// The time from one turn of a task to its next, in nanoseconds.
    pub turn_ns: f64,
}

/// The line with the lowest figure, and how many times as much others take. Of one whose interval
/// includes 1, or that has none, the run does not show which of the two is faster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Fastest {
    /// The sentence, with `{}` for the line.
    pub text: String,
    /// The line.
    pub label: String,
    /// Its figure.
    pub figure: Estimate,
    /// The other lines, the lowest first, each with its ratio.
    pub others: Vec<(String, Estimate)>,
}

/// How late others are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Late {
    /// The sentence, with `{}` for the first line, the load, and how late others are with that line.
    pub text: String,
    /// The load.
    pub load: String,
    /// The lines, each with the 99th percentile of how late others are, in nanoseconds.
    pub lines: Vec<(String, f64)>,
}

/// What waking many tasks at once takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Waking {
    /// The number of tasks.
    pub load: String,
    /// The choices.
    pub lines: Vec<Woken>,
    /// The largest step up of the cost of one woken task; `null` if none is clear.
    pub cliff: Option<Cliff>,
}

/// Tasks that one event woke.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Woken {
    /// The line.
    pub label: String,
    /// The time from the call until the last one runs, in nanoseconds.
    pub all_ns: f64,
    /// The time of all, divided by the number of tasks.
    pub each_ns: f64,
    /// The time between the first and the last one, in nanoseconds; `null` if not measured.
    pub first_to_last_ns: Option<f64>,
}

/// Two successive numbers of tasks between which the cost of one woken task grows clearly.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Cliff {
    /// The line.
    pub label: String,
    /// The smaller number.
    pub from: String,
    /// The larger number.
    pub to: String,
    /// How many times as long one takes there.
    pub ratio: Estimate,
}

/// A line with what was measured of it.
struct MeasuredLine<'a> {
    spec: &'a LineSpec,
    letter: char,
    cases: Vec<String>,
    /// The row of each case.
    rows: Vec<Option<&'a Row>>,
    /// The CPU time of each case, if that answers the question, too.
    cpu: Vec<Option<&'a Row>>,
    /// The time from one turn of a task to its next, in nanoseconds.
    turns: Vec<Option<f64>>,
    /// The time between the first and the last task that an event woke, under each load.
    first_to_last: Vec<Option<f64>>,
}

impl<'a> MeasuredLine<'a> {
    fn new(
        manifest: &Manifest,
        group: &GroupSpec,
        spec: &'a LineSpec,
        letter: char,
        rows: &[&'a [Row]],
    ) -> Self {
        let cases = manifest.cases_of_line(spec).unwrap_or_default();
        let name = |case: Option<&Case>| case.map_or(String::new(), |case| case.name.clone());
        let cases: Vec<String> = cases.into_iter().map(name).collect();
        let cpu = |case: &String| if group.cpu { named(rows, case, Some(CPU)) } else { None };
        let measured = |name: &str| -> Vec<Option<f64>> {
            let figure = |case: &String| Some(named(rows, case, Some(name))?.figure?.value);
            cases.iter().map(figure).collect()
        };
        Self {
            spec,
            letter,
            rows: cases.iter().map(|case| row_of(rows, case)).collect(),
            cpu: cases.iter().map(cpu).collect(),
            turns: measured(&group.turn),
            first_to_last: measured(FIRST_TO_LAST),
            cases,
        }
    }

    fn is_measured(&self) -> bool {
        self.rows.iter().flatten().any(|row| row.figure.is_some())
    }

    /// The row under a load, if there are enough rounds of it.
    fn known(&self, load: usize) -> Option<&'a Row> {
        let row = (*self.rows.get(load)?)?;
        row.figure?.known().and(Some(row))
    }

    fn figure(&self, load: usize) -> Option<f64> {
        Some((*self.rows.get(load)?)?.figure?.value)
    }

    /// How many times as long it takes as another line under a load, if it is a time.
    fn time_over(&self, other: &Self, load: usize) -> Option<Estimate> {
        let row = (*self.rows.get(load)?)?;
        let other = (*other.rows.get(load)?)?;
        if row.unit == Quantity::Nanoseconds { quotient(row, other) } else { None }
    }

    /// How many times as much it takes as another line under a load, if it is a time.
    fn compared(&self, other: &Self, load: usize) -> Option<Compared> {
        let cpu = |line: &Self| line.cpu.get(load).copied().flatten();
        let cpu = cpu(self).zip(cpu(other)).and_then(|(own, other)| quotient(own, other));
        Some(Compared { time: self.time_over(other, load)?, cpu })
    }

    /// How many times as long a task waits for its turn as if all took turns; `None` if not measured.
    fn unfairness(&self, load: usize) -> Option<f64> {
        let row = (*self.rows.get(load)?)?;
        let tasks = row.parameters.get("tasks")?.as_f64()?;
        Some((*self.turns.get(load)?)? / (row.figure?.value * tasks))
    }

    /// Whether readers could have been seen inside together under some load, and never were. A line
    /// with one case for all loads, such as a mutex, claims no readers.
    fn is_exclusive(&self) -> bool {
        if self.cases.windows(2).all(|pair| pair[0] == pair[1]) {
            return false;
        }
        let seen = || self.rows.iter().flatten().filter_map(|row| row.readers_together);
        seen().any(|together| !together) && !seen().any(|together| together)
    }

    /// Whether a task waits far too long for its turn under any load.
    fn is_unfair(&self) -> bool {
        let all = (0..self.rows.len()).filter_map(|load| self.unfairness(load));
        all.fold(0.0, f64::max) > UNFAIR
    }

    /// The line as it is reported, with factors to the row with the lowest figure under each load.
    fn reported(&self, lowest: &[Option<&Row>], has_cpu: bool) -> LoadLine {
        let rows = || self.rows.iter();
        let factors = rows().zip(lowest).map(|(row, lowest)| quotient((*row)?, (*lowest)?));
        let cpu_ns = rows().map(|row| row.and_then(|row| row.cpu_ns));
        LoadLine {
            letter: self.letter,
            label: self.spec.text.clone(),
            cases: self.cases.clone(),
            figures: rows().map(|row| row.and_then(|row| row.figure)).collect(),
            factors: factors.collect(),
            p99_ns: rows().map(|row| row.and_then(|row| row.percentiles.p99)).collect(),
            turn_ns: self.turns.clone(),
            is_exclusive: self.is_exclusive(),
            cpu_ns: if has_cpu { cpu_ns.collect() } else { Vec::new() },
        }
    }
}

impl Loads {
    /// The table of a group. `None` if the run with these rows has none of its cases.
    pub fn new(manifest: &Manifest, group: &GroupSpec, rows: &[&[Row]]) -> Option<Self> {
        let lines = group.lines.iter().zip('A'..);
        let lines: Vec<MeasuredLine> = lines
            .map(|(spec, letter)| MeasuredLine::new(manifest, group, spec, letter, rows))
            .collect();
        let lowest: Vec<Option<&Row>> =
            (0..group.loads.len()).map(|load| lowest(&lines, load)).collect();
        let measured = lines.iter().filter(|line| line.is_measured());
        let shown: Vec<LoadLine> = measured.map(|line| line.reported(&lowest, group.cpu)).collect();
        if shown.is_empty() {
            return None;
        }
        let unit = |row: &Option<&Row>| row.map_or(Quantity::Nanoseconds, |row| row.unit);
        let row = lines.iter().flat_map(|line| &line.rows).flatten().next();
        Some(Self {
            heading: group.heading.clone(),
            operation: row.map_or(String::new(), |row| row.operation.clone()),
            loads: group.loads.clone(),
            units: lowest.iter().map(unit).collect(),
            tails: group.tails,
            turn: group.turn.clone(),
            lines: shown,
            answer: answer(group, &lines),
        })
    }
}

/// What the lines of a group answer.
fn answer(group: &GroupSpec, lines: &[MeasuredLine]) -> Option<LoadAnswer> {
    let choices: Vec<&MeasuredLine> = lines.iter().filter(|line| line.spec.choice).collect();
    match &group.answer {
        AnswerSpec::Choose => advice(&group.loads, &choices, lines).map(LoadAnswer::Choose),
        AnswerSpec::Fastest(text) => fastest(text, &choices).map(LoadAnswer::Fastest),
        AnswerSpec::Late(text) => late(text, &group.loads, &choices).map(LoadAnswer::Late),
        AnswerSpec::Waking(load) => waking(load, &group.loads, &choices).map(LoadAnswer::Waking),
    }
}

/// The row with the lowest figure under a load.
fn lowest<'a>(lines: &[MeasuredLine<'a>], load: usize) -> Option<&'a Row> {
    let rows = lines.iter().filter_map(|line| *line.rows.get(load)?);
    rows.min_by(|one, other| one.value().total_cmp(&other.value()))
}

/// A row's figure divided by another's, round by round.
pub fn quotient(row: &Row, other: &Row) -> Option<Estimate> {
    ratio(&[row, other].map(Row::by_round), CONFIDENCE, DEPENDENT)
}

/// The nearer end of a ratio above 1.
fn nearer_end(ratio: &Estimate) -> f64 {
    ratio.interval.map_or(0.0, |interval| interval.low)
}

/// Whether one would choose another line for this ratio of the usual one to it.
pub fn is_clearly_more(ratio: &Estimate) -> bool {
    nearer_end(ratio) >= LEAST_ADVANTAGE
}

/// Whether one would choose this line rather than the other for this ratio of it to the other.
fn is_clearly_less(ratio: &Estimate) -> bool {
    ratio.interval.is_some_and(|ends| ends.high <= 1.0 / LEAST_ADVANTAGE)
}

/// Whether the other is cheaper by enough to matter. That it is cheaper at all must be clear.
fn is_more(ratio: &Estimate) -> bool {
    ratio.value >= LEAST_ADVANTAGE && nearer_end(ratio) > 1.0
}

/// Whether the run does not exclude that the other is cheaper by enough to matter.
fn may_be_more(ratio: &Estimate) -> bool {
    ratio.interval.is_none_or(|ends| ends.high >= LEAST_ADVANTAGE)
}

/// How many times as much one line takes as another under a load.
struct Compared {
    time: Estimate,
    /// CPU time, if that answers the question, too.
    cpu: Option<Estimate>,
}

impl Compared {
    /// Whether one would choose the other line for its time: half the time for twice the CPU time is
    /// no advice.
    fn is_clearly_more(&self) -> bool {
        is_clearly_more(&self.time) && !self.cpu.as_ref().is_some_and(is_clearly_less)
    }

    /// Whether the other line is less in time or CPU time, and not clearly more in the other of the two.
    fn is_more(&self) -> bool {
        self.any(is_more)
    }

    /// Whether the run does not exclude that.
    fn may_be_more(&self) -> bool {
        self.any(may_be_more)
    }

    fn any(&self, test: fn(&Estimate) -> bool) -> bool {
        let ratios = || [Some(&self.time), self.cpu.as_ref()].into_iter().flatten();
        ratios().any(test) && !ratios().any(is_clearly_less)
    }

    /// The larger of the two ratios.
    fn most(&self) -> f64 {
        self.cpu.map_or(0.0, |cpu| cpu.value).max(self.time.value)
    }

    fn rival(&self, line: &MeasuredLine, load: &str) -> Rival {
        Rival {
            label: line.spec.text.clone(),
            load: load.to_owned(),
            ratio: self.time,
            cpu_ratio: self.cpu,
        }
    }
}

/// The choices that are clearly cheaper than a line, the one by most under each load.
fn cheaper(loads: &[String], line: &MeasuredLine, others: &[&MeasuredLine]) -> Vec<Rival> {
    let under_load = |(at, load): (usize, &String)| {
        let compared = others.iter().filter_map(|other| Some((*other, line.compared(other, at)?)));
        let (other, by) = compared
            .filter(|(_, compared)| compared.is_more())
            .max_by(|(_, one), (_, other)| one.most().total_cmp(&other.most()))?;
        Some(by.rival(other, load))
    };
    loads.iter().enumerate().filter_map(under_load).collect()
}

/// The choices of which the run does not exclude that they are cheaper than a line, the likeliest
/// first.
fn open(loads: &[String], line: &MeasuredLine, others: &[&MeasuredLine]) -> Vec<Rival> {
    let mut found = Vec::new();
    for other in others {
        for (at, load) in loads.iter().enumerate() {
            if let Some(compared) = line.compared(other, at).filter(Compared::may_be_more) {
                found.push((compared.most(), compared.rival(other, load)));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().map(|(_, rival)| rival).collect()
}

/// A line that is cheaper than the usual one under a load.
struct Better<'a> {
    line: &'a MeasuredLine<'a>,
    /// The place of the load.
    at: usize,
    /// How many times as long the usual one takes.
    ratio: Estimate,
    /// The choices that are clearly cheaper than it under some load.
    cheaper: Vec<Rival>,
}

impl Better<'_> {
    /// A line that no other choice beats comes first, then the one with the larger nearer end.
    fn rank(&self) -> (bool, f64) {
        (self.cheaper.is_empty(), nearer_end(&self.ratio))
    }
}

/// The line that is cheapest compared with the usual one under a load, preferably one that no other
/// choice beats under any. Under a load where it takes clearly more CPU time, it is not cheaper.
fn better<'a>(
    loads: &[String],
    usual: &'a MeasuredLine<'a>,
    fair: &[&'a MeasuredLine<'a>],
) -> Option<Better<'a>> {
    let mut best: Option<Better> = None;
    for &line in fair {
        let cheaper = cheaper(loads, line, &rivals(line, usual, fair));
        for at in 0..loads.len() {
            let compared = usual.compared(line, at).filter(Compared::is_clearly_more);
            let Some(Compared { time: ratio, .. }) = compared else { continue };
            let found = Better { line, at, ratio, cheaper: cheaper.clone() };
            if best.as_ref().is_none_or(|best| found.rank() >= best.rank()) {
                best = Some(found);
            }
        }
    }
    best
}

/// What a line competes with: the usual one and the others that are fair.
fn rivals<'a>(
    line: &MeasuredLine,
    usual: &'a MeasuredLine<'a>,
    fair: &[&'a MeasuredLine<'a>],
) -> Vec<&'a MeasuredLine<'a>> {
    let all = std::iter::once(usual).chain(fair.iter().copied());
    all.filter(|other| !std::ptr::eq(*other, line)).collect()
}

/// Compares the first choice with the others under each load.
fn advice(
    loads: &[String],
    choices: &[&MeasuredLine],
    lines: &[MeasuredLine],
) -> Option<LoadAdvice> {
    let (usual, others) = choices.split_first()?;
    let compared =
        others.iter().flat_map(|line| (0..loads.len()).filter_map(|at| usual.time_over(line, at)));
    let compared: Option<Vec<Estimate>> = compared.map(Estimate::known).collect();
    if compared?.is_empty() {
        return None;
    }
    let fair: Vec<&MeasuredLine> =
        others.iter().copied().filter(|line| !line.is_unfair()).collect();
    let best = better(loads, usual, &fair);
    let advised = best.as_ref().map_or(*usual, |best| best.line);
    let cpu_ns = |best: &Better| Some((*best.line.cpu.get(best.at)?)?.figure?.value);
    Some(LoadAdvice {
        usual: usual.spec.text.clone(),
        better: best.as_ref().map(|best| best.line.spec.text.clone()),
        load: best.as_ref().map_or(String::new(), |best| loads[best.at].clone()),
        better_ns: best.as_ref().and_then(|best| best.line.figure(best.at)),
        better_cpu_ns: best.as_ref().and_then(cpu_ns),
        ratio: best.as_ref().map(|best| best.ratio),
        depends: best.as_ref().is_some_and(|best| !best.cheaper.is_empty()),
        open: open(loads, advised, &rivals(advised, usual, &fair)),
        cheaper: best.map_or(Vec::new(), |best| best.cheaper),
        is_fair: usual.turns.iter().any(Option::is_some),
        unfair: unfair(loads, usual, lines),
    })
}

/// Lines that look cheap under the last load, but with which a task waits long for its turn.
fn unfair(loads: &[String], usual: &MeasuredLine, lines: &[MeasuredLine]) -> Vec<Unfair> {
    let Some(last) = loads.len().checked_sub(1) else { return Vec::new() };
    let Some(usual_ns) = usual.figure(last) else { return Vec::new() };
    let unfair = |line: &MeasuredLine| {
        let is_unfair = line.unfairness(last)? > UNFAIR;
        let looks_cheap = line.figure(last)? <= LOOKS_CHEAP * usual_ns;
        (is_unfair && looks_cheap).then_some(Unfair {
            label: line.spec.text.clone(),
            load: loads[last].clone(),
            turn_ns: line.turns[last]?,
        })
    };
    lines.iter().filter_map(unfair).collect()
}

/// The choice with the lowest figure under the first load, and the ratios of the others. Rows are
/// compared round by round: the medians of two may be in another order than their ratio says. `None`
/// if no ratio has an interval.
fn fastest(text: &str, choices: &[&MeasuredLine]) -> Option<Fastest> {
    let mut measured: Vec<(&str, &Row)> = Vec::new();
    for line in choices {
        if let Some(row) = line.rows.first().copied().flatten().filter(|row| row.figure.is_some()) {
            measured.push((&line.spec.text, row));
        }
    }
    measured.sort_by(|(_, one), (_, other)| one.value().total_cmp(&other.value()));
    let ratios = |first: &Row| -> Vec<(String, Estimate)> {
        let others = measured.iter().filter(|(_, row)| !std::ptr::eq(*row, first));
        others
            .filter_map(|(label, row)| Some(((*label).to_owned(), quotient(row, first)?)))
            .collect()
    };
    let shorter = |first: &Row| {
        let ratios = ratios(first).into_iter().filter_map(|(_, ratio)| ratio.known());
        ratios.filter(|ratio| ratio.value < 1.0).count()
    };
    // One of a few rounds is not chosen, nor left out.
    let known =
        measured.iter().filter(|(_, row)| row.figure.is_some_and(|ns| ns.interval.is_some()));
    let (label, first) = known.min_by_key(|(_, row)| shorter(row))?;
    let mut others = ratios(first);
    others.sort_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    others.iter().any(|(_, ratio)| ratio.interval.is_some()).then_some(Fastest {
        text: text.to_owned(),
        label: (*label).to_owned(),
        figure: first.figure?,
        others,
    })
}

/// How late others are under the last load, by choice. `None` without the first.
fn late(text: &str, loads: &[String], choices: &[&MeasuredLine]) -> Option<Late> {
    let last = loads.len().checked_sub(1)?;
    let mut lines = Vec::new();
    for line in choices {
        let row = line.known(last);
        if let Some(p99_ns) = row.and_then(|row| row.percentiles.p99) {
            lines.push((line.spec.text.clone(), p99_ns));
        }
    }
    // The sentence is about the first choice.
    let is_first = lines.first().is_some_and(|(label, _)| *label == choices[0].spec.text);
    is_first.then(|| Late { text: text.to_owned(), load: loads[last].clone(), lines })
}

/// What waking a number of tasks takes, by choice. `None` without that of the first.
fn waking(load: &str, loads: &[String], choices: &[&MeasuredLine]) -> Option<Waking> {
    let at = loads.iter().position(|known| known == load)?;
    let mut lines = Vec::new();
    for line in choices {
        let Some(row) = line.known(at) else { continue };
        if let Some((each_ns, tasks)) = line.figure(at).zip(row.number("tasks")) {
            lines.push(Woken {
                label: line.spec.text.clone(),
                all_ns: each_ns * tasks as f64,
                each_ns,
                first_to_last_ns: line.first_to_last.get(at).copied().flatten(),
            });
        }
    }
    // The sentence begins with the first choice.
    let is_first = lines.first().is_some_and(|line| line.label == choices[0].spec.text);
    is_first.then(|| Waking { load: load.to_owned(), lines, cliff: cliff(loads, choices) })
}

/// The largest step up between successive loads, by the nearer end of its interval, if it matters.
fn cliff(loads: &[String], choices: &[&MeasuredLine]) -> Option<Cliff> {
    let mut largest: Option<Cliff> = None;
    for line in choices {
        for (at, pair) in line.rows.windows(2).enumerate() {
            let [Some(smaller), Some(larger)] = pair else { continue };
            let Some(ratio) = quotient(larger, smaller).filter(is_clearly_more) else { continue };
            let known = largest.as_ref().map_or(0.0, |cliff| nearer_end(&cliff.ratio));
            if nearer_end(&ratio) > known {
                let [from, to] = [at, at + 1].map(|at| loads[at].clone());
                largest = Some(Cliff { label: line.spec.text.clone(), from, to, ratio });
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::super::row::Percentiles;
    use super::*;

    /// A row of this many nanoseconds in 20 rounds, give or take a hundredth.
    fn row(ns: f64) -> Row {
        let figures = (1..=20).map(|round| ns * (1.0 + 0.01 * f64::from(round % 3)));
        let parameters = [("tasks".to_owned(), 8.into())].into();
        Row { figure: Estimate::of(&[ns; 20]), parameters, ..Row::of_figures(figures) }
    }

    /// A row of two rounds.
    fn few(ns: f64) -> Row {
        Row {
            figure: Estimate::of(&[ns; 2]),
            ..Row { processes: Row::of_figures([ns; 2]).processes, ..row(ns) }
        }
    }

    fn spec(text: &str) -> LineSpec {
        LineSpec { text: text.to_owned(), case: String::new(), choice: true }
    }

    /// A line with these rows, with which a task waits so many times as long as its rows take.
    fn line<'a>(spec: &'a LineSpec, rows: &'a [Row], turns: f64) -> MeasuredLine<'a> {
        let turn = |row: &Row| Some(row.figure?.value * turns);
        MeasuredLine {
            spec,
            letter: 'A',
            cases: vec![String::new(); rows.len()],
            rows: rows.iter().map(Some).collect(),
            cpu: Vec::new(),
            turns: rows.iter().map(turn).collect(),
            first_to_last: vec![Some(6.0); rows.len()],
        }
    }

    /// Half the time for twice the CPU time is no advice.
    #[test]
    fn one_that_takes_more_cpu_time_is_not_cheaper() {
        let loads = ["1→1", "4→1"].map(str::to_owned);
        let specs = ["usual", "other"].map(spec);
        let times = [[100.0, 100.0], [90.0, 50.0]].map(|times| times.map(row));
        for (cpu, better) in [([200.0, 210.0], Some("other")), ([200.0, 500.0], None)] {
            let cpu = [[200.0, 200.0], cpu].map(|times| times.map(row));
            let lines = [0, 1].map(|at| MeasuredLine {
                cpu: cpu[at].iter().map(Some).collect(),
                ..line(&specs[at], &times[at], 8.0)
            });
            let choices: Vec<&MeasuredLine> = lines.iter().collect();
            let found = advice(&loads, &choices, &lines).unwrap();
            assert_eq!(found.better.as_deref(), better, "{cpu:?}");
            let figures = better.map(|_| (50, 210));
            let rounded = |ns: f64| (ns / 10.0).round() as u32 * 10;
            let found = found.better_ns.zip(found.better_cpu_ns);
            assert_eq!(found.map(|(ns, cpu)| (rounded(ns), rounded(cpu))), figures);
        }
    }

    #[test]
    fn another_is_advised_only_where_it_is_clearly_cheaper_and_as_fair() {
        let loads = ["1 task", "8 tasks"].map(str::to_owned);
        let [usual, other] = ["usual", "other"].map(spec);
        for (times, turns, better, load, depends) in [
            ([100.0, 100.0], 8.0, None, "", false),
            ([90.0, 95.0], 8.0, None, "", false),
            ([105.0, 50.0], 8.0, Some("other"), "8 tasks", false),
            ([200.0, 50.0], 8.0, Some("other"), "8 tasks", true),
            ([105.0, 50.0], 800.0, None, "", false),
        ] {
            let [own, others] = [[100.0, 100.0], times].map(|times| times.map(row));
            let lines = [line(&usual, &own, 8.0), line(&other, &others, turns)];
            let choices: Vec<&MeasuredLine> = lines.iter().collect();
            let found = advice(&loads, &choices, &lines).unwrap();
            assert_eq!(
                (found.better.as_deref(), &*found.load, found.depends),
                (better, load, depends)
            );
            let unfair: Vec<f64> = found.unfair.iter().map(|unfair| unfair.turn_ns).collect();
            assert_eq!(unfair, if turns > 8.0 { vec![40_000.0] } else { vec![] });
        }
    }

    /// The line with the best lower end is the answer only if no other choice beats it elsewhere.
    #[test]
    fn a_choice_that_another_beats_under_a_load_depends_on_the_load() {
        let loads = ["1→1", "4→1"].map(str::to_owned);
        let specs = ["usual", "first", "second"].map(spec);
        for (times, cpu, better, cheaper) in [
            // The first is better here, the second there.
            ([[20.0, 90.0], [50.0, 50.0]], 100.0, "first", vec![("second", "4→1")]),
            // The second is as good, and better elsewhere.
            ([[20.0, 90.0], [21.0, 50.0]], 100.0, "second", vec![]),
            ([[20.0, 50.0], [50.0, 50.0]], 100.0, "first", vec![]),
            // It takes as long for less CPU time.
            ([[20.0, 50.0], [50.0, 50.0]], 50.0, "first", vec![("second", "4→1")]),
        ] {
            let times = [[100.0, 100.0], times[0], times[1]].map(|times| times.map(row));
            let cpu = [[100.0, 100.0], [100.0, 100.0], [100.0, cpu]].map(|cpu| cpu.map(row));
            let lines = [0, 1, 2].map(|at| MeasuredLine {
                cpu: cpu[at].iter().map(Some).collect(),
                ..line(&specs[at], &times[at], 8.0)
            });
            let found = advice(&loads, &lines.iter().collect::<Vec<_>>(), &lines).unwrap();
            let rivals: Vec<(&str, &str)> =
                found.cheaper.iter().map(|rival| (&*rival.label, &*rival.load)).collect();
            assert_eq!((found.better.as_deref(), rivals), (Some(better), cheaper), "{found:?}");
            assert_eq!(found.depends, !found.cheaper.is_empty());
        }
    }

    /// That nothing is clear does not show that nothing is cheaper.
    #[test]
    fn a_line_of_which_the_run_cannot_tell_is_open() {
        let loads = ["1→1", "4→1"].map(str::to_owned);
        let [usual, other] = ["usual", "other"].map(spec);
        let own = [100.0, 100.0].map(row);
        let noisy = |ns: f64| {
            let figures = (1..=20).map(|round| ns * [0.5, 1.0, 2.0][round % 3]);
            Row { figure: Estimate::of(&[ns; 20]), ..Row::of_figures(figures) }
        };
        let open_under = |rows: &[Row], own_cpu: &[Row], cpu: &[Row]| {
            let lines = [
                MeasuredLine { cpu: own_cpu.iter().map(Some).collect(), ..line(&usual, &own, 8.0) },
                MeasuredLine { cpu: cpu.iter().map(Some).collect(), ..line(&other, rows, 8.0) },
            ];
            let found = advice(&loads, &lines.iter().collect::<Vec<_>>(), &lines).unwrap();
            assert_eq!(found.better, None);
            found.open.into_iter().map(|rival| rival.load).collect::<Vec<_>>()
        };
        let steady = || [95.0, 95.0].map(row);
        assert_eq!(open_under(&steady(), &[], &[]), [""; 0]);
        assert_eq!(open_under(&[row(95.0), noisy(70.0)], &[], &[]), ["4→1"]);
        // Less CPU time, though more under another load.
        let cpu = [200.0, 30.0].map(row);
        assert_eq!(open_under(&steady(), &own, &cpu), ["4→1"]);
        // What takes clearly more CPU time is not cheaper.
        assert_eq!(open_under(&[row(95.0), noisy(70.0)], &own, &[200.0, 200.0].map(row)), [""; 0]);
    }

    /// The median of one is lower, but in most rounds it takes longer.
    #[test]
    fn the_fastest_is_chosen_by_ratios_of_rounds() {
        let [one, other] = ["one", "other"].map(spec);
        let rounds = |figure: f64, times: fn(u32) -> f64| {
            [Row { figure: Estimate::of(&[figure; 20]), ..Row::of_figures((1..=20).map(times)) }]
        };
        let one_rows = rounds(68.0, |round| 68.0 + f64::from(round));
        let other_rows = rounds(69.0, |round| 67.0 + f64::from(round));
        let lines = [line(&one, &one_rows, 1.0), line(&other, &other_rows, 1.0)];
        let found = fastest("{}", &lines.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(found.label, "other");
        assert!(found.others[0].1.value > 1.0, "{found:?}");
        // One of two rounds is not left out.
        let few_rows = [few(60.0)];
        let lines = [line(&one, &one_rows, 1.0), line(&other, &other_rows, 1.0)]
            .into_iter()
            .chain([line(&one, &few_rows, 1.0)])
            .collect::<Vec<_>>();
        let found = fastest("{}", &lines.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(found.others.len(), 2, "{found:?}");
    }

    #[test]
    fn the_fastest_has_a_ratio_to_each_other() {
        let [slow, fast] = ["slow", "fast"].map(spec);
        let [slow_rows, fast_rows] = [[row(300.0)], [row(100.0)]];
        let lines = [line(&slow, &slow_rows, 1.0), line(&fast, &fast_rows, 1.0)];
        let found = fastest("{}", &lines.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.label.as_str(), found.others.len()), ("fast", 1));
        let (label, ratio) = &found.others[0];
        assert!(label == "slow" && (ratio.value - 3.0).abs() < 1e-9, "{found:?}");
        assert_eq!(fastest("{}", &[&lines[0]]), None, "of one there is none");
    }

    #[test]
    fn a_few_rounds_answer_nothing() {
        let loads = ["1".to_owned()];
        let [slow, fast] = ["slow", "fast"].map(spec);
        let percentiles = Percentiles { p99: Some(5e7), ..Percentiles::default() };
        for (row, answers) in [(row as fn(f64) -> Row, 4), (few, 0)] {
            let [slow_rows, fast_rows] = [300.0, 100.0].map(|ns| [Row { percentiles, ..row(ns) }]);
            let lines = [line(&slow, &slow_rows, 8.0), line(&fast, &fast_rows, 8.0)];
            let choices: Vec<&MeasuredLine> = lines.iter().collect();
            let found = [
                advice(&loads, &choices, &lines).map(LoadAnswer::Choose),
                fastest("{}", &choices).map(LoadAnswer::Fastest),
                late("{}", &loads, &choices).map(LoadAnswer::Late),
                waking("1", &loads, &choices).map(LoadAnswer::Waking),
            ];
            assert_eq!(found.iter().flatten().count(), answers, "{found:?}");
        }
    }

    /// A cliff is one only beyond its interval, and it is that of one woken task, not of all.
    #[test]
    fn a_cliff_is_a_clear_growth_of_the_cost_of_one_woken_task() {
        let loads = ["1", "8", "64"].map(str::to_owned);
        let [first, second] = ["first", "second"].map(spec);
        let noisy = |ns: f64| {
            let figures = (1..=20).map(|round| ns * (1.0 + 0.4 * f64::from(round % 3)));
            Row { figure: Estimate::of(&[ns]), ..Row::of_figures(figures) }
        };
        let steady = [90.0, 50.0, 50.0].map(row);
        for (rows, expected) in [
            ([80.0, 50.0, 50.0].map(row), None),
            ([80.0, 50.0, 55.0].map(row), None),
            ([80.0, 50.0, 150.0].map(row), Some(("8", "64", 3.0))),
            ([20.0, 100.0, 150.0].map(row), Some(("1", "8", 5.0))),
            ([row(80.0), row(50.0), noisy(50.0)], None),
        ] {
            let lines = [line(&first, &steady, 1.0), line(&second, &rows, 1.0)];
            let found = waking("8", &loads, &lines.iter().collect::<Vec<_>>()).unwrap();
            let cliff = found.cliff.as_ref().map(|Cliff { from, to, ratio, .. }| {
                (&**from, &**to, (ratio.value * 10.0).round() / 10.0)
            });
            assert_eq!(cliff, expected, "{rows:?}");
            assert!(found.cliff.is_none_or(|cliff| cliff.label == "second"));
            let Woken { all_ns, each_ns, first_to_last_ns, .. } = &found.lines[0];
            assert_eq!((*all_ns, *each_ns, *first_to_last_ns), (400.0, 50.0, Some(6.0)));
        }
        // Without the first choice there is no sentence.
        let mut lines = [line(&first, &steady, 1.0), line(&second, &steady, 1.0)];
        lines[0].rows[1] = None;
        assert_eq!(waking("8", &loads, &lines.iter().collect::<Vec<_>>()), None);
    }

    #[test]
    fn lateness_is_that_of_the_last_load_and_needs_the_first_line() {
        let loads = ["10 µs", "50 ms"].map(str::to_owned);
        let [first, second] = ["first", "second"].map(spec);
        let late_by = |p99: Option<f64>| {
            [
                row(1.0),
                Row { percentiles: Percentiles { p99, ..Percentiles::default() }, ..row(1.0) },
            ]
        };
        let with = late_by(Some(5e7));
        let without = late_by(None);
        let found = |one: &[Row], other: &[Row]| {
            let lines = [line(&first, one, 1.0), line(&second, other, 1.0)];
            let found = late("{}", &loads, &lines.iter().collect::<Vec<_>>())?;
            Some((found.load, found.lines.len()))
        };
        assert_eq!(found(&with, &with), Some(("50 ms".to_owned(), 2)));
        assert_eq!(found(&with, &without), Some(("50 ms".to_owned(), 1)));
        assert_eq!(found(&without, &with), None);
    }
}
