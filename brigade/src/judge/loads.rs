//! A table of figures by load, such as those of locks by the number of tasks, and the line to choose.

use serde::{Deserialize, Serialize};

use super::row::{Quantity, Row, named, row_of};
use super::statistics::{CONFIDENCE, DEPENDENT, Estimate, ratio};
use crate::manifest::{Group, LineSpec, Manifest};

/// The least factor, at the nearer end of its interval, for which one would choose another line.
const MATTERS: f64 = 1.2;

/// Figures by load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Loads {
    /// What one operation is.
    pub operation: String,
    /// The loads.
    pub loads: Vec<String>,
    /// The lines, in the order of their letters.
    pub lines: Vec<LoadLine>,
    /// Which line to choose; `null` without the first one.
    pub advice: Option<LoadAdvice>,
}

/// One thing under each load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadLine {
    /// Its letter, the same in every run.
    pub letter: char,
    /// Its name.
    pub label: String,
    /// Its case under each load.
    pub cases: Vec<String>,
    /// Its figure under each load; `null` if not measured.
    pub figures: Vec<Option<Estimate>>,
    /// The figure over the lowest under that load: the median over common rounds of the quotient.
    pub factors: Vec<Option<Estimate>>,
    /// CPU time of an operation under each load, in nanoseconds; empty unless it answers the
    /// question, too.
    pub cpu_ns: Vec<Option<f64>>,
}

/// The rows of one thing under one load: of its figure, and of its CPU time if that answers the
/// question, too.
#[derive(Clone, Copy, Debug, Default)]
struct Sides<'a> {
    time: Option<&'a Row>,
    cpu: Option<&'a Row>,
}

/// The line to choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadAdvice {
    /// The line that most have.
    pub usual: String,
    /// The line that is clearly cheaper than it under a load; `null` if none is.
    pub better: Option<String>,
    /// The load under which the better line is cheaper; empty without one.
    pub load: String,
    /// How many times as long the usual one takes under it.
    pub ratio: Option<Estimate>,
    /// Whether the usual line is clearly cheaper than that one under another load.
    pub depends: bool,
}

impl Loads {
    /// The table of a group. `None` if the run with these rows has none of its cases.
    pub fn of<'a>(manifest: &Manifest, group: &Group, all: &[&'a [Row]]) -> Option<Self> {
        let rows_of_line = |line: &LineSpec| -> Vec<(String, Option<&Row>)> {
            let cases = manifest.cases_of(&line.case).unwrap_or_default().into_iter();
            cases.map(|case| (case.name.clone(), row_of(all, &case.name))).collect()
        };
        let rows: Vec<_> = group.lines.iter().map(rows_of_line).collect();
        let lowest: Vec<Option<&Row>> =
            (0..group.loads.len()).map(|at| lowest(&rows, at)).collect();
        let lines =
            group.lines.iter().zip('A'..).zip(&rows).filter_map(|((line, letter), rows)| {
                let (cases, rows): (Vec<String>, Vec<Option<&Row>>) = rows.iter().cloned().unzip();
                let label = line.text.clone();
                let figures: Vec<_> =
                    rows.iter().map(|row| row.and_then(|row| row.figure)).collect();
                let factors =
                    rows.iter().zip(&lowest).map(|(row, lowest)| over((*row)?, (*lowest)?));
                let factors = factors.collect();
                let is_measured = figures.iter().any(Option::is_some);
                let cpu_ns = rows.iter().filter(|_| group.cpu).map(|row| (*row)?.cpu_ns).collect();
                is_measured.then_some(LoadLine { letter, label, cases, figures, factors, cpu_ns })
            });
        let lines: Vec<LoadLine> = lines.collect();
        let choices = group.lines.iter().zip(&rows).filter(|(line, _)| line.choice);
        let sides = |(case, time): &(String, Option<&'a Row>)| {
            let cpu = named(all, case, Some("cpu")).filter(|_| group.cpu);
            Sides { time: *time, cpu }
        };
        let choices: Vec<_> = choices
            .map(|(line, rows)| (line.text.clone(), rows.iter().map(sides).collect()))
            .collect();
        let advice = advice(&group.loads, &choices);
        let mut measured = rows.iter().flatten().filter_map(|(_, row)| *row);
        let operation = measured.next().map_or(String::new(), |row| row.operation.clone());
        let loads = group.loads.clone();
        (!lines.is_empty()).then_some(Self { operation, loads, lines, advice })
    }
}

/// The row with the lowest figure under a load.
fn lowest<'a>(lines: &[Vec<(String, Option<&'a Row>)>], load: usize) -> Option<&'a Row> {
    let rows = lines.iter().filter_map(|rows| rows.get(load)?.1);
    rows.min_by(|one, other| one.value().total_cmp(&other.value()))
}

fn over(row: &Row, other: &Row) -> Option<Estimate> {
    ratio(&[row, other].map(Row::by_round), CONFIDENCE, DEPENDENT)
}

/// The nearer end of a ratio above 1.
fn nearer_end(ratio: &Estimate) -> f64 {
    ratio.interval.map_or(0.0, |interval| interval.low)
}

fn matters(ratio: &Estimate) -> bool {
    nearer_end(ratio) >= MATTERS
}

impl Sides<'_> {
    /// How many times as long it takes as the other one, if it is a time.
    fn time_over(&self, other: &Self) -> Option<Estimate> {
        over(self.time.filter(|row| row.unit == Quantity::Nanoseconds)?, other.time?)
    }

    /// Whether it takes clearly more CPU time than the other one.
    fn takes_more_cpu(&self, other: &Self) -> bool {
        let ratio = self.cpu.zip(other.cpu).and_then(|(row, other)| over(row, other));
        ratio.is_some_and(|ratio| matters(&ratio))
    }
}

/// Compares the first choice with the others under each load. One that takes clearly more CPU time is
/// not cheaper.
fn advice(loads: &[String], choices: &[(String, Vec<Sides>)]) -> Option<LoadAdvice> {
    let ((usual, rows), others) = choices.split_first()?;
    rows.iter().find_map(|sides| sides.time)?.figure?;
    let others = others.iter().filter(|(_, other)| {
        let mut loads = other.iter().zip(rows);
        !loads.any(|(sides, usual)| sides.takes_more_cpu(usual))
    });
    let cheaper = others.flat_map(|(name, other)| {
        let under = loads.iter().zip(rows.iter().zip(other));
        under.filter_map(move |(load, (sides, than))| {
            Some((name, other, load, sides.time_over(than).filter(matters)?))
        })
    });
    let best = cheaper.max_by(|one, other| nearer_end(&one.3).total_cmp(&nearer_end(&other.3)));
    let usual = usual.clone();
    let Some((better, other, load, ratio)) = best else {
        let (better, load, ratio, depends) = (None, String::new(), None, false);
        return Some(LoadAdvice { usual, better, load, ratio, depends });
    };
    let mut back = rows.iter().zip(other).filter_map(|(sides, than)| than.time_over(sides));
    let depends = back.any(|ratio| matters(&ratio));
    let (better, load, ratio) = (Some(better.clone()), load.clone(), Some(ratio));
    Some(LoadAdvice { usual, better, load, ratio, depends })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of this many nanoseconds in 20 rounds, give or take a hundredth.
    fn row(ns: f64) -> Row {
        let figures = (1..=20).map(|round| ns * (1.0 + 0.01 * f64::from(round % 3)));
        Row { figure: Estimate::of(&[ns]), ..Row::of_figures(figures) }
    }

    #[test]
    fn another_is_advised_only_where_it_is_clearly_cheaper() {
        let loads = ["1 task", "8 tasks"].map(str::to_owned);
        for (other, better, load, depends) in [
            ([100.0, 100.0], None, "", false),
            ([90.0, 95.0], None, "", false),
            ([105.0, 50.0], Some("other"), "8 tasks", false),
            ([200.0, 50.0], Some("other"), "8 tasks", true),
        ] {
            let [usual, other] = [[100.0, 100.0], other].map(|times| times.map(row));
            let found = advised(&loads, [&usual, &other], None);
            assert_eq!(
                (found.better.as_deref(), &*found.load, found.depends),
                (better, load, depends)
            );
        }
    }

    /// Half the time for twice the CPU time is no advice.
    #[test]
    fn one_that_takes_more_cpu_time_is_not_cheaper() {
        let loads = ["1→1", "4→1"].map(str::to_owned);
        let [usual, other] = [[100.0, 100.0], [90.0, 50.0]].map(|times| times.map(row));
        for (cpu, better) in [([200.0, 210.0], Some("other")), ([200.0, 500.0], None)] {
            let [of_usual, of_other] = [[200.0, 200.0], cpu].map(|times| times.map(row));
            let found = advised(&loads, [&usual, &other], Some([&of_usual, &of_other]));
            assert_eq!(found.better.as_deref(), better, "{cpu:?}");
        }
    }

    /// The advice on two lines with these times and CPU times.
    fn advised(loads: &[String], times: [&[Row; 2]; 2], cpu: Option<[&[Row; 2]; 2]>) -> LoadAdvice {
        let sides = |line: usize| {
            let side = |load: usize| Sides {
                time: Some(&times[line][load]),
                cpu: cpu.map(|of| &of[line][load]),
            };
            vec![side(0), side(1)]
        };
        let choices = [("usual".to_owned(), sides(0)), ("other".to_owned(), sides(1))];
        advice(loads, &choices).unwrap()
    }
}
