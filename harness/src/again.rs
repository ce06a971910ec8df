//! The same program again, in fresh processes: how a program that compares
//! variants (mechanisms, runtimes, sizes) runs each of them undisturbed by the
//! others, several times, interleaved and in shuffled order.

use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, anyhow, bail};

use crate::bench::Bench;
use crate::child;
use crate::clock;
use crate::failure::{INTERRUPTED, LIMIT, USAGE, UsageError};
use crate::flags::Flags;
use crate::program::print;
use crate::progress::Progress;
use crate::record::Record;
use crate::statistics::{ByRound, differences, median, ratios};

/// What became of one variant over all rounds.
#[derive(Debug, Default)]
pub struct Told {
    /// The records, by round, which is counted from 1.
    pub records: Vec<(u32, Record)>,
    /// Why the variant cannot run here, in the program's words.
    pub refused: Option<String>,
}

impl Told {
    /// A figure of every record that has it, in the order of rounds.
    #[must_use]
    pub fn figures(&self, figure: Figure<'_>) -> Vec<f64> {
        self.records.iter().filter_map(|(_, record)| figure(record)).collect()
    }

    /// The median over the records of a figure of each.
    #[must_use]
    pub fn median(&self, figure: Figure<'_>) -> Option<f64> {
        median(&self.figures(figure))
    }

    /// This variant's figure over the `other` one's, for every round that has
    /// both.
    #[must_use]
    pub fn ratios(&self, other: &Self, figure: Figure<'_>) -> Vec<f64> {
        ratios(&self.by_round(figure), &other.by_round(figure))
    }

    /// This variant's figure less the `other` one's, for every round that has
    /// both.
    #[must_use]
    pub fn differences(&self, other: &Self, figure: Figure<'_>) -> Vec<f64> {
        differences(&self.by_round(figure), &other.by_round(figure))
    }

    fn by_round(&self, figure: Figure<'_>) -> ByRound {
        let figures = self.records.iter().map(|(round, record)| (*round, figure(record)));
        figures.filter_map(|(round, figure)| Some((round, figure?))).collect()
    }
}

/// A figure of a record, if it has that one.
pub type Figure<'a> = &'a dyn Fn(&Record) -> Option<f64>;

/// What one process said.
#[derive(Debug)]
enum Said {
    Record(Box<Record>),
    Refused(String),
    Interrupted,
}

/// Runs the variants as [`rounds`] does, and prints what `report` makes of all
/// that they told, unless no text for people is asked for.
///
/// # Errors
/// Those of [`rounds`], and that the text cannot be printed.
pub fn compare(
    bench: &Bench,
    variants: &[Vec<String>],
    rounds: u32,
    report: &dyn Fn(&[Told]) -> String,
) -> anyhow::Result<()> {
    let told = self::rounds(bench, variants, rounds)?;
    if bench.prints_summary() { print(&report(&told)) } else { Ok(()) }
}

/// Runs every variant once a round, each time as a fresh process of this
/// program with the variant's flags after this process's common ones. Under
/// `--json` each record is printed as it comes, a line each. A variant that is
/// refused is not tried again; an interruption ends the rounds early.
///
/// # Errors
/// [`UsageError`] for a flag that several variants cannot share; otherwise when
/// a process cannot be started or fails, with its own words in the error.
pub fn rounds(bench: &Bench, variants: &[Vec<String>], rounds: u32) -> anyhow::Result<Vec<Told>> {
    refuse_what_is_of_one_variant(&bench.shared.flags)?;
    let mut told: Vec<Told> = variants.iter().map(|_| Told::default()).collect();
    let mut progress = Progress::new(bench.shared.shows_progress());
    bench.findings().told_variants = true;
    let mut left = variants.len() as u64 * u64::from(rounds);
    progress.begin(left, "processes");
    for round in 1..=rounds {
        let mut order: Vec<usize> = (0..variants.len()).collect();
        fastrand::shuffle(&mut order);
        for variant in order {
            progress.show(clock::now(), left);
            left -= 1;
            if told[variant].refused.is_some() {
                continue;
            }
            match once(bench, &variants[variant])? {
                Said::Record(record) => told[variant].records.push((round, *record)),
                Said::Refused(reason) => told[variant].refused = Some(reason),
                Said::Interrupted => return Ok(told),
            }
        }
    }
    Ok(told)
}

/// A distribution and the moment when tasks are alive belong to one variant.
fn refuse_what_is_of_one_variant(flags: &Flags) -> Result<(), UsageError> {
    let given =
        [("--histogram", flags.histogram.is_some()), ("--command", flags.command.is_some())];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => {
            Err(UsageError(format!("{flag}: several variants cannot share it; choose one of them")))
        }
    }
}

fn once(bench: &Bench, own: &[String]) -> anyhow::Result<Said> {
    if bench.is_interrupted() {
        return Ok(Said::Interrupted);
    }
    let program = std::env::current_exe().context("finding this program to run it again")?;
    let mut command = Command::new(program);
    command.args(bench.shared.flags.for_variants()).args(own).arg("--json").stdin(Stdio::null());
    let output = child::output(&mut command, || bench.is_interrupted())
        .with_context(|| format!("running this program again with {}", own.join(" ")))?;
    if bench.is_interrupted() && !output.status.success() {
        return Ok(Said::Interrupted);
    }
    let said = heard(&output).with_context(|| format!("the variant {}", own.join(" ")))?;
    if let (Said::Record(_), true) = (&said, bench.shared.flags.json) {
        print(&String::from_utf8_lossy(&output.stdout))?;
    }
    Ok(said)
}

/// Judges how a process ended.
fn heard(output: &Output) -> anyhow::Result<Said> {
    let complaint = || {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let line = stderr.lines().last().unwrap_or("it said nothing").to_owned();
        line.split_once(": ").map_or(line.clone(), |(_, said)| said.to_owned())
    };
    match output.status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(0) => {
            let text = str::from_utf8(&output.stdout).context("reading its record")?;
            Ok(Said::Record(Box::new(Record::parse(text)?)))
        }
        Some(USAGE | LIMIT) => Ok(Said::Refused(complaint())),
        Some(INTERRUPTED) => Ok(Said::Interrupted),
        Some(code) => Err(anyhow!("{} (exit code {code})", complaint())),
        None => bail!("it was killed: {}", output.status),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{ExitStatus, Output};

    use super::{Said, Told, heard};
    use crate::record::{Record, tests::EXAMPLE};

    /// What a variant told that had these figures in these rounds.
    fn told(figures: &[(u32, u64)]) -> Told {
        let record = |tasks| Record { tasks, ..Record::parse(EXAMPLE).expect("a record") };
        let records = figures.iter().map(|(round, figure)| (*round, record(*figure)));
        Told { records: records.collect(), refused: None }
    }

    /// 0 stands for a figure that a record does not have.
    fn figure(record: &Record) -> Option<f64> {
        (record.tasks > 0).then_some(record.tasks as f64)
    }

    #[test]
    fn variants_are_compared_round_by_round() {
        let (one, other) = (told(&[(1, 8), (2, 30), (4, 5)]), told(&[(2, 10), (1, 4), (3, 7)]));
        assert_eq!(one.ratios(&other, &figure), [2.0, 3.0]);
        assert_eq!(one.differences(&other, &figure), [4.0, 20.0]);
    }

    #[test]
    fn a_record_without_the_figure_counts_for_nothing() {
        let (some, none) = (told(&[(1, 9), (2, 0), (3, 1), (4, 2)]), told(&[(1, 0)]));
        assert_eq!(some.figures(&figure), [9.0, 1.0, 2.0]);
        assert_eq!((some.median(&figure), none.median(&figure)), (Some(2.0), None));
        assert!(some.ratios(&none, &figure).is_empty());
    }

    fn ended(code: i32, stdout: &str, stderr: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    #[test]
    fn a_refusal_is_told_in_the_programs_words() {
        let output = ended(2, "", "warning\nthread-switch: --via spin needs two CPUs\n");
        let said = heard(&output).expect("a refusal is no failure");
        assert!(matches!(said, Said::Refused(reason) if reason == "--via spin needs two CPUs"));
    }

    #[test]
    fn a_failure_is_an_error_that_quotes_it() {
        let error = heard(&ended(1, "", "x: task 3 panicked: on purpose\n")).expect_err("failed");
        assert_eq!(error.to_string(), "task 3 panicked: on purpose (exit code 1)");
    }

    #[test]
    fn garbage_is_no_record() {
        assert!(heard(&ended(0, "hello\n", "")).is_err());
        assert!(heard(&ended(0, "", "")).is_err());
    }
}
