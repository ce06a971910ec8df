//! The ladder: every case on one logarithmic axis of time, the cheapest first; bars of text,
//! and the axis, which plots use too.

use harness::terminal;

use super::pairs::words;
use super::quantity::{duration, tick};
use crate::judge::report::model::{Case, PairMap, Report, TaskKind};
use crate::judge::statistics::Estimate;

/// A case on the ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// The case's name.
    pub name: String,
    /// What one operation is.
    pub operation: String,
    /// What its tasks are.
    pub kind: Option<TaskKind>,
    /// The time of an operation in each run, in nanoseconds.
    pub times: Vec<Option<Estimate>>,
}

impl Rung {
    /// The principal measurement of a case that is not one of a pair of CPUs.
    pub fn of(case: &Case) -> Option<Self> {
        let estimates = case.estimates.iter().filter(|_| case.key.pair().is_none());
        let measurements: Vec<_> = estimates.map(|of| of.as_ref()?.measurement(None)).collect();
        Some(Self {
            name: case.name.clone(),
            operation: measurements.iter().flatten().next()?.short_name().to_owned(),
            kind: case.kind,
            times: measurements.iter().map(|of| of.map(|of| of.time_ns)).collect(),
        })
    }

    /// Its time in the first run that has it.
    fn first(&self) -> Option<f64> {
        self.times.iter().flatten().map(|time| time.value).next()
    }
}

/// The principal measurement of every case, the shortest first.
pub fn rungs(report: &Report) -> Vec<Rung> {
    let cases = report.groups.iter().flat_map(|group| &group.cases);
    let mut rungs: Vec<Rung> = cases.filter_map(Rung::of).collect();
    for map in &report.pairs {
        distances(report, map, &mut rungs);
    }
    rungs.sort_by(|a, b| a.first().unwrap_or(0.0).total_cmp(&b.first().unwrap_or(0.0)));
    rungs
}

/// Adds the pairs of CPUs of a run, those of each distance together.
fn distances(report: &Report, map: &PairMap, rungs: &mut Vec<Rung>) {
    for of in &map.distances {
        let name = format!("{}, {}", map.name, words(of.distance));
        let at = rungs.iter().position(|rung| rung.name == name).unwrap_or_else(|| {
            let (operation, kind) = (map.operation.clone(), map.kind);
            let times = vec![None; report.runs.len()];
            rungs.push(Rung { name: name.clone(), operation, kind, times });
            rungs.len() - 1
        });
        rungs[at].times[map.run] = Some(of.time_ns);
    }
}

/// The axis of these rungs.
pub fn scale(rungs: &[Rung]) -> Option<Scale> {
    Scale::of(rungs.iter().flat_map(|rung| &rung.times).flatten().map(|time| time.value))
}

/// The ladder as bars of text; `None` without a positive time.
pub fn bars(report: &Report, run_names: &[String]) -> Option<Bars> {
    let rungs = rungs(report);
    let scale = scale(&rungs)?;
    let rows = rungs.iter().flat_map(|rung| {
        let times = rung.times.iter().enumerate();
        let times = times.filter_map(|(run, time)| Some((run, (*time)?)));
        times.enumerate().map(|(index, (run, time))| Bar {
            name: if index == 0 { rung.name.clone() } else { String::new() },
            note: match run_names {
                [_] => rung.operation.clone(),
                names => names[run].clone(),
            },
            figure: duration(time.value),
            share: scale.share(time.value),
        })
    });
    Some(Bars {
        headings: ["case", if run_names.len() == 1 { "op" } else { "run" }, "time"],
        rows: rows.collect(),
        ticks: scale.ticks().iter().map(|ns| (scale.share(*ns), tick(*ns))).collect(),
    })
}

/// The characters that bars are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// Eighths of a block, where the reader's locale is UTF-8.
    Eighths,
    /// ASCII.
    Plain,
}

/// Blocks of one to eight eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The widest column of names; a longer name stands on a line of its own.
const WIDEST_NAME: usize = 30;

/// Bars over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The headings of names, notes and figures.
    pub headings: [&'static str; 3],
    /// The rows.
    pub rows: Vec<Bar>,
    /// Labels of the axis, each at its share of the axis.
    pub ticks: Vec<(f64, String)>,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What the figure is of.
    pub name: String,
    /// What more is to be said of it.
    pub note: String,
    /// The figure.
    pub figure: String,
    /// Its share of the axis, 0 to 1.
    pub share: f64,
}

impl Bars {
    /// As lines of at most `columns` characters, each ended by a newline.
    pub fn text(&self, columns: usize, characters: Characters) -> String {
        let widest = |of: fn(&Bar) -> &str, heading: &str| {
            let widths = self.rows.iter().map(|row| width(of(row)));
            widths.chain([width(heading)]).max().unwrap_or_default()
        };
        let name = widest(|row| &row.name, self.headings[0]).min(WIDEST_NAME);
        let note = widest(|row| &row.note, self.headings[1]);
        let figure = widest(|row| &row.figure, self.headings[2]);
        let axis = columns.saturating_sub(name + note + figure + 3).max(1);
        let line = |cells: [&str; 3], bar: &str| {
            let [first, second, third] = cells.map(terminal::line);
            let (before, first) = match width(&first) > name {
                true => (format!("{first}\n"), ""),
                false => (String::new(), &*first),
            };
            let line = format!("{first:<name$} {second:<note$} {third:>figure$} {bar}");
            format!("{before}{}\n", line.trim_end())
        };
        let rows = self.rows.iter().map(|row| {
            line([&row.name, &row.note, &row.figure], &bar(row.share, axis, characters))
        });
        line(self.headings, &self.axis(axis)) + &rows.collect::<String>()
    }

    /// The labels of the axis, as many in equal steps as have room.
    fn axis(&self, columns: usize) -> String {
        let steps = 1..=self.ticks.len();
        steps.filter_map(|step| self.labels(step, columns)).next().unwrap_or_default()
    }

    /// Every so many labels, if they have room side by side. One that reaches beyond
    /// the end is left out.
    fn labels(&self, step: usize, columns: usize) -> Option<String> {
        let mut line = String::new();
        for (share, label) in self.ticks.iter().step_by(step) {
            let at = (share * columns as f64).round() as usize;
            if at + width(label) > columns {
                continue;
            }
            if !line.is_empty() && width(&line) >= at {
                return None;
            }
            line = format!("{line:<at$}{label}");
        }
        Some(line)
    }
}

/// A bar over a share of so many columns; whatever is above zero is seen.
pub fn bar(share: f64, columns: usize, characters: Characters) -> String {
    let least = if share > 0.0 { 1 } else { 0 };
    let units = |each: usize| ((share * (columns * each) as f64).round() as usize).max(least);
    match characters {
        Characters::Plain => "#".repeat(units(1).min(columns)),
        Characters::Eighths => {
            let eighths = units(8).min(columns * 8);
            let mut bar = "█".repeat(eighths / 8);
            bar.extend((eighths % 8).checked_sub(1).map(|index| EIGHTHS[index]));
            bar
        }
    }
}

/// Every character counts as one column.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// How much wider a narrow axis is than its figures, as a share of their span.
const MARGIN: f64 = 0.06;

/// The most ticks of an axis.
const MOST_TICKS: usize = 7;

/// The span in powers of ten from which on an axis has whole powers.
const WIDE: f64 = 1.5;

/// A logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Scale {
    /// The axis that shows these values as far as they are positive; `None` if
    /// none is.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let logs = values.into_iter().filter(|value| *value > 0.0).map(f64::log10);
        let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
        let low = logs.iter().copied().reduce(f64::min)?;
        let high = logs.iter().copied().reduce(f64::max)?;
        let span = high - low;
        if span >= WIDE {
            let (low, high) = (low.floor(), high.ceil());
            let step = ((high - low) / MOST_TICKS as f64).ceil().max(1.0);
            let powers = (0..=MOST_TICKS).map(|index| low + index as f64 * step);
            let ticks = powers.filter(|power| *power <= high).map(|power| 10_f64.powf(power));
            return Some(Self { low, high, ticks: ticks.collect() });
        }
        let pad = (MARGIN * span).max(0.005);
        let (low, high) = (low - pad, high + pad);
        Some(Self { low, high, ticks: round_values(10_f64.powf(low), 10_f64.powf(high)) })
    }

    /// The place of a value, 0 to 1; that of a value beyond the axis is its end.
    pub fn share(&self, value: f64) -> f64 {
        let log = if value > 0.0 { value.log10() } else { self.low };
        ((log - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }

    /// The values of its ticks.
    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

/// Round values between these: 1, 2 and 5 times powers of ten, or equal steps
/// where those are too few.
fn round_values(low: f64, high: f64) -> Vec<f64> {
    let within = |value: &f64| (low..=high).contains(value);
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let decades = powers.map(|power| 10_f64.powi(power));
    let values: Vec<f64> =
        decades.flat_map(|power| [1.0, 2.0, 5.0].map(|by| by * power)).filter(within).collect();
    if values.len() >= 3 {
        return values;
    }
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step).ceil();
    (0..=MOST_TICKS).map(|index| (first + index as f64) * step).filter(within).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars() -> Bars {
        let row = |name: &str, figure: &str, share| Bar {
            name: name.to_owned(),
            note: "hop".to_owned(),
            figure: figure.to_owned(),
            share,
        };
        Bars {
            headings: ["case", "op", "time"],
            rows: vec![
                row("coroutine", "1.00 ns", 0.0),
                row("a-name-that-is-longer-than-its-column", "9.00 ns", 0.01),
                row("task", "12.0 ns", 0.54),
                row("thread", "99.9 ns", 1.0),
            ],
            ticks: vec![
                (0.0, "1 ns".to_owned()),
                (0.1, "2 ns".to_owned()),
                (0.5, "10 ns".to_owned()),
                (0.6, "20 ns".to_owned()),
                (1.0, "100 ns".to_owned()),
            ],
        }
    }

    #[test]
    fn bars_have_eighths_where_there_are_such_characters() {
        insta::assert_snapshot!(bars().text(64, Characters::Eighths), @r"
        case                           op     time 1 ns       10 ns
        coroutine                      hop 1.00 ns
        a-name-that-is-longer-than-its-column
                                       hop 9.00 ns ▎
        task                           hop 12.0 ns ███████████▍
        thread                         hop 99.9 ns █████████████████████
        ");
    }

    #[test]
    fn bars_are_plain_elsewhere() {
        let text = bars().text(64, Characters::Plain);
        assert!(text.is_ascii(), "{text}");
        assert!(text.contains("9.00 ns #\n") && text.contains("12.0 ns ###########\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 64), "{text}");
    }

    #[track_caller]
    fn check(values: &[f64], ticks: &[f64]) {
        let scale = Scale::of(values.iter().copied()).unwrap();
        let close = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < 1e-9;
        let found = scale.ticks();
        assert!(found.len() == ticks.len() && found.iter().zip(ticks).all(close), "{found:?}");
        assert!(values.iter().all(|value| (0.0..=1.0).contains(&scale.share(*value))));
    }

    #[test]
    fn a_wide_axis_has_powers_of_ten() {
        check(&[4.0, 107_000.0], &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        check(&[1.0, 1e12], &[1.0, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12]);
    }

    #[test]
    fn a_narrow_axis_has_round_values() {
        check(&[150.0, 3000.0], &[200.0, 500.0, 1000.0, 2000.0]);
        check(&[101.0, 119.0], &[100.0, 110.0, 120.0]);
        assert!(!Scale::of([7.0, 7.0]).unwrap().ticks().is_empty());
    }

    #[test]
    fn places_are_those_of_logarithms() {
        let scale = Scale::of([1.0, 100.0]).unwrap();
        let places = [0.0, 0.5, 1.0, 10.0, 100.0, 1e9].map(|at| scale.share(at));
        assert_eq!(places, [0.0, 0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(Scale::of([0.0, -1.0, f64::NAN]), None);
    }

    #[test]
    fn figures_of_any_size_have_an_axis() {
        let scale = Scale::of([f64::MIN_POSITIVE, f64::MAX]).unwrap();
        assert!(scale.ticks().len() <= MOST_TICKS + 1);
        assert!(scale.ticks().iter().all(|tick| scale.share(*tick).is_finite()));
    }
}
