//! Guests, programs in other languages: they print laps instead of a record. A running guest prints
//! `measuring` before the laps that count and `measured` after them, and each time waits for a line
//! while its counters are read.
//!
//! The committed schema, `brigade/laps.schema.json`, is generated from these types; a test compares
//! the two. docs/PROTOCOL.md describes the same in prose.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ChildStdin;

use anyhow::{Context as _, Error, anyhow, bail, ensure};
use harness::TaskKind;
use harness::cpus;
use harness::document::parsed;
use harness::flags;
use harness::inherited::{Facts, inherited_by_children};
use harness::placement::Policy;
use harness::process_stat::children_of;
use harness::record::{
    Ending, Interference, LedgerPoint, Measurement, Record, SCHEMA_VERSION, ScheduleKept,
    WorkRecord,
};
use harness::samples::{Measured, Samples};
use harness::system_files::SystemFiles;
use harness::usage::{Span, Start};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of a line that an error quotes.
const LONGEST_QUOTE: usize = 60;

/// A guest's output so far.
#[derive(Debug, Default)]
pub struct Guest {
    placement: Policy,
    /// The CPUs it may use.
    cpus: Vec<usize>,
    /// What it inherited from the runner.
    inherited: Facts,
    /// Its process and standard input; `None` before the start.
    process: Option<(u32, ChildStdin)>,
    /// How much of its output has been read, and how much has been searched for a line's end, in
    /// bytes.
    read: usize,
    searched: usize,
    stage: Stage,
    laps: Option<GuestLaps>,
}

/// A guest's progress.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Before,
    Measuring(Box<Start>),
    /// `None` if the process could not be read.
    Measured(Option<Box<Span>>),
    Wrong(Error),
}

impl Guest {
    /// A guest to run on `cpus`.
    pub fn new(placement: Policy, cpus: Vec<usize>) -> Self {
        Self { placement, cpus, ..Self::default() }
    }

    /// Sets its process and its standard input.
    pub fn started(&mut self, pid: u32, answers: ChildStdin) {
        self.process = Some((pid, answers));
    }

    /// Reads new complete lines; `stdout` is its whole output so far, and `was_stopped` means that the
    /// runner may have been stopped when they were printed.
    pub fn hear(&mut self, stdout: &[u8], was_stopped: bool) {
        let was_measuring = matches!(self.stage, Stage::Measuring(_));
        while let Some(end) = stdout[self.searched..].iter().position(|&byte| byte == b'\n') {
            let line = &stdout[self.read..self.searched + end];
            self.searched += end + 1;
            self.read = self.searched;
            self.hear_line(line, self.read < stdout.len());
        }
        self.searched = stdout.len();
        if was_stopped && was_measuring && matches!(self.stage, Stage::Measured(_)) {
            let reason =
                "cannot be counted: a signal had stopped the runner when it printed `measured`";
            self.stage = Stage::Wrong(anyhow!(reason));
        }
    }

    /// Reads the rest after its end, and builds a record.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn record(mut self, stdout: &[u8]) -> anyhow::Result<Record> {
        self.hear(stdout, false);
        let rest = &stdout[self.read..];
        if !rest.is_empty() {
            self.hear_line(rest, false);
        }
        let counted = match self.stage {
            Stage::Wrong(reason) => return Err(reason),
            Stage::Measuring(_) => bail!("never printed `measured`"),
            Stage::Before => None,
            Stage::Measured(counted) => counted,
        };
        let laps = self.laps.context("printed no laps")?;
        let is_idle = counted.as_ref().is_some_and(|counted| counted.is_idle());
        ensure!(!is_idle, "did nothing between its marks: another process made them");
        let record = laps.into_record(self.placement, self.cpus, counted.as_deref());
        record.map(|record| Record { inherited: self.inherited, ..record })
    }

    /// Reads a line; `more`: another one follows already.
    fn hear_line(&mut self, line: &[u8], more: bool) {
        let pid = self.process.as_ref().map_or(0, |(pid, _)| *pid);
        let text = String::from_utf8_lossy(line);
        let wrong = |reason: &str| Err(anyhow!("{reason}"));
        let stage = std::mem::take(&mut self.stage);
        let next = match (text.trim_end(), stage) {
            (_, stage @ Stage::Wrong(_)) => Ok(stage),
            _ if self.laps.is_some() => wrong("printed more after its laps"),
            ("measuring" | "measured", _) if more => {
                wrong("did not wait for a line after `measuring` or `measured`")
            }
            ("measuring", Stage::Before) => marking(pid).map(|pid| {
                // The command around it may have confined it.
                if let Ok(cpus) = cpus::of_thread(pid) {
                    self.cpus = cpus;
                }
                self.inherited = inherited_by_children(Some(pid));
                Stage::Measuring(Box::new(Start::now(vec![pid], &self.cpus, children_of(pid))))
            }),
            ("measuring", _) => wrong("printed `measuring` twice"),
            ("measured", Stage::Measuring(start)) => Ok(Stage::Measured(start.end().map(Box::new))),
            ("measured", Stage::Before) => wrong("printed `measured`, but not `measuring`"),
            ("measured", _) => wrong("printed `measured` twice"),
            (text, stage) if text.starts_with('{') => GuestLaps::parse(text).map(|laps| {
                self.laps = Some(laps);
                stage
            }),
            (text, _) => {
                let quote: String = text.chars().take(LONGEST_QUOTE).collect();
                wrong(&format!("printed '{quote}', which is neither a mark nor laps"))
            }
        };
        self.stage = next.unwrap_or_else(Stage::Wrong);
        if matches!(self.stage, Stage::Wrong(_)) {
            // Without an answer, it reads end of file.
            self.process = None;
        } else if self.laps.is_none()
            && let Some((_, answers)) = &mut self.process
        {
            // Lets it continue, unless it has ended.
            let _ = answers.write_all(b"\n");
        }
    }
}

/// The process that makes the marks of the started one, `pid`: a wrapper, such as a script without
/// `exec`, waits for it.
///
/// # Errors
/// If that is not known.
fn marking(mut pid: u32) -> anyhow::Result<u32> {
    let files = SystemFiles::live();
    let streams = |pid| [0, 1].map(|fd| files.link(&format!("proc/{pid}/fd/{fd}")));
    while let Some("do_wait" | "0") = files.line(&format!("proc/{pid}/wchan")).as_deref() {
        let mut children = children_of(pid);
        if children.is_empty() {
            break;
        }
        children.retain(|child| streams(*child) == streams(pid));
        let [child] = children[..] else {
            let name = files.line(&format!("proc/{pid}/comm")).unwrap_or_default();
            bail!("{name} is a wrapper: it must start the program with exec");
        };
        pid = child;
    }
    Ok(pid)
}

/// The longest lap accepted, in nanoseconds: 11 days. The sum of this many squares does not
/// overflow.
const LONGEST_LAP_NS: u64 = 1_000_000_000_000_000;

/// A guest's laps.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Laps"))]
pub struct GuestLaps {
    /// Version of this form, `major.minor`: `1.2`.
    pub schema_version: String,
    /// `laps`.
    pub form: LapsForm,
    /// The program's name in `suite.toml`.
    pub program: String,
    /// The program's version.
    #[serde(default = "unknown")]
    pub version: String,
    /// The version of the language's runtime; a parameter of the record.
    pub runtime: Option<String>,
    /// The values of flags, by their long names with underscores.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// What the tasks are, as the program's table in `suite.toml` says.
    pub kind: TaskKind,
    /// Number of tasks, from 1.
    pub tasks: u64,
    /// Number of tokens in flight at once.
    #[serde(default = "one")]
    pub tokens: u64,
    /// Laps run and discarded before the first measured one.
    #[serde(default)]
    pub warmups: u64,
    /// Why measuring stopped.
    #[serde(default)]
    pub ended_by: Ending,
    /// The error, if there was one.
    pub error: Option<String>,
    /// The measurements; the first is the principal one, whose laps lie between
    /// the two marks.
    pub measurements: Vec<Lapped>,
    /// Kernel context switches per operation of the principal measurement, as
    /// the program claims; `null` without a claim.
    pub expected_switches_per_operation: Option<f64>,
    /// Memory at increasing numbers of tasks.
    pub ledger: Option<Vec<LedgerPoint>>,
    /// The work at every hop, for programs with `--work`.
    pub work: Option<WorkRecord>,
    /// How well the schedule was kept, for programs whose operations are due at given times.
    pub schedule: Option<ScheduleKept>,
}

/// The name of the form.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Form"))]
#[serde(rename_all = "kebab-case")]
pub enum LapsForm {
    /// Laps.
    Laps,
}

/// One measurement.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lapped {
    /// What a lap is, such as `iteration` or `create`.
    pub name: String,
    /// What one operation is, such as `hop`.
    pub operation: String,
    /// Operations in one lap, from 1.
    pub operations: u64,
    /// Whether a lap covers all tasks, so that a figure per task makes sense.
    #[serde(default = "yes")]
    pub covers_all_tasks: bool,
    /// How long each lap took, in nanoseconds.
    pub laps_ns: Vec<u64>,
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

impl GuestLaps {
    /// Parses a guest's last line.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let wrong = |error| anyhow!("reading its laps: {error}; docs/PROTOCOL.md describes them");
        parsed(text.as_bytes()).map_err(wrong)
    }

    /// Builds the record from the laps and from what the runner observed between their marks.
    fn into_record(
        self,
        placement: Policy,
        affinity: Vec<usize>,
        span: Option<&Span>,
    ) -> anyhow::Result<Record> {
        ensure!(self.tasks > 0, "reports 0 tasks");
        let measurements = self.measurements.iter().map(|samples| samples.measurement(self.tasks));
        let measurements = measurements.collect::<Result<Vec<_>, _>>()?;
        let principal = measurements.first().context("reports no measurement")?;
        let operations = (principal.operations as f64) * principal.count as f64;
        if let Some(span) = span {
            fits(principal, &span.interference, affinity.len())?;
        }
        let mut parameters = self.parameters;
        parameters.insert("placement".to_owned(), flags::name(&placement).into());
        if let Some(runtime) = self.runtime {
            parameters.insert("runtime".to_owned(), runtime.into());
        }
        let expected = self.expected_switches_per_operation;
        Ok(Record {
            schema_version: SCHEMA_VERSION.to_owned(),
            program: self.program,
            version: self.version,
            parameters,
            kind: Some(self.kind),
            tasks: self.tasks,
            tokens: self.tokens,
            iterations: principal.count,
            warmups: self.warmups,
            complete: matches!(self.ended_by, Ending::Iterations | Ending::MaxTime),
            ended_by: self.ended_by,
            error: self.error,
            affinity,
            cpus: span.and_then(|span| span.cpus.clone()),
            cpu: span.map(|span| span.cpu(operations, None)),
            schedule: self.schedule,
            waiting: span.map(|span| span.waiting(operations)),
            switches: span.and_then(|span| span.switches(operations, expected, None)),
            interference: span.map(|span| span.interference).unwrap_or_default(),
            measurements,
            ledger: self.ledger,
            work: self.work,
            ..Record::default()
        })
    }
}

/// Sequential laps take at least this share of the time between the marks in which the guest could
/// run.
const LEAST_OF_SPAN: f64 = 0.5;
/// The largest share: clocks differ.
const MOST_OF_SPAN: f64 = 1.02;
/// How long a process may be delayed between a mark and a lap, in nanoseconds.
const AROUND_LAPS_NS: f64 = 2e7;

/// Compares a guest's laps with the time between its marks, which the runner measured on so many
/// CPUs: a guest that claims less time than passed must not look fast. Sequential iterations take most
/// of it. What others took of those CPUs does not count, since the guest may have waited for one before
/// its first lap or after its last one. Other laps may overlap (late wake-ups wait at the same time),
/// but none is longer.
fn fits(laps: &Measurement, found: &Interference, cpus: usize) -> anyhow::Result<()> {
    let Some(wall_ns) = found.wall_ns else { return Ok(()) };
    let wall = wall_ns as f64;
    let most = MOST_OF_SPAN * wall + AROUND_LAPS_NS;
    let (last, ns, allowed) = if laps.name == "iteration" {
        // Accurate to a clock tick, so it may be negative.
        let others = found.others_cpu_ns.map_or(0.0, |ns| ns.max(0) as f64);
        let throttled = found.throttled_ns.map_or(0.0, |ns| ns as f64);
        let left = wall - (others + throttled) / cpus.max(1) as f64;
        let least = LEAST_OF_SPAN * left - AROUND_LAPS_NS;
        ("laps last", laps.mean_ns * laps.count as f64, least..=most)
    } else {
        ("longest lap lasts", laps.max_ns as f64, 0.0..=most)
    };
    ensure!(
        allowed.contains(&ns),
        "'{}': its {last} {ns:.0} ns, but {wall:.0} ns passed between its marks",
        laps.name
    );
    Ok(())
}

impl Lapped {
    fn measurement(&self, tasks: u64) -> anyhow::Result<Measurement> {
        let Self { name, operation, operations, covers_all_tasks, laps_ns } = self;
        if let Some(lap) = laps_ns.iter().find(|lap| **lap > LONGEST_LAP_NS) {
            bail!("'{name}': has a lap of {lap} ns, more than {LONGEST_LAP_NS}");
        }
        let mut samples = Samples::new(Measured {
            name: "",
            operation: "",
            operations: *operations,
            covers_tasks: *covers_all_tasks,
        });
        for lap in laps_ns {
            samples.add(*lap);
        }
        match samples.measurement(tasks) {
            Some(measurement) if *operations > 0 => {
                Ok(Measurement { name: name.clone(), operation: operation.clone(), ..measurement })
            }
            _ => bail!("'{name}': has {} laps of {operations} operations", laps_ns.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use harness::counters::Counters;
    use proptest::prelude::*;

    use super::*;

    const LAPS: &str = r#"{"schema_version":"1.2","form":"laps","program":"p","kind":"coroutine","tasks":3,
        "measurements":[{"name":"iteration","operation":"hop","operations":4,
        "laps_ns":[80,100,120]}],"expected_switches_per_operation":0}"#;

    fn record(text: &str, span: Option<&Span>) -> anyhow::Result<Record> {
        GuestLaps::parse(text)?.into_record(Policy::SameCpu, Vec::new(), span)
    }

    #[test]
    fn laps_become_the_record_of_a_program_with_the_harness() {
        let used = Counters { user_ns: 120, system_ns: 60, voluntary: 24, involuntary: 0 };
        let span = Span { used, ..Span::default() };
        let record = record(LAPS, Some(&span)).unwrap();
        let Measurement { count, mean_ns, ns_per_operation, ns_per_task, stddev_ns, .. } =
            record.measurements[0];
        assert_eq!((count, mean_ns, ns_per_operation), (3, 100.0, 25.0));
        assert_eq!((ns_per_task, stddev_ns), (Some(100.0 / 3.0), Some(20.0)));
        assert_eq!(record.cpu.unwrap().user_ns_per_operation, 10.0);
        assert_eq!(record.switches.unwrap().voluntary_per_operation, 2.0);
        assert_eq!(record.parameters["placement"], "same-cpu");
        assert!(record.complete);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(Record::parse(&text).unwrap(), record);
    }

    #[test]
    fn laps_that_contradict_the_time_between_the_marks_are_refused() {
        // Three laps, 300 ms in all.
        let laps = "100000000,80000000,120000000";
        let in_span = |interference: Interference, name: &str| {
            let span = Span { interference, ..Span::default() };
            let text = LAPS.replace("80,100,120", laps).replace("iteration", name);
            record(&text, Some(&span))
        };
        let of_wall = |wall_ms: u64| {
            let wall_ns = Some(wall_ms * 1_000_000);
            Interference { wall_ns, ..Interference::default() }
        };
        for (wall_ms, fits) in [(148, false), (274, false), (276, true), (639, true), (641, false)]
        {
            let found = in_span(of_wall(wall_ms), "iteration");
            assert_eq!(found.is_ok(), fits, "{wall_ms} ms: {found:?}");
        }
        // Wake-ups that wait at the same time.
        for (wall_ms, fits) in [(3000, true), (99, true), (97, false)] {
            let found = in_span(of_wall(wall_ms), "wake-up");
            assert_eq!(found.is_ok(), fits, "{wall_ms} ms: {found:?}");
        }
        // It may have waited while others had the CPU, but not longer.
        for (wall_ms, others_ms, throttled_ms, fits) in [
            (1000, 359, 0, false),
            (1000, 361, 0, true),
            (1000, 0, 361, true),
            (1000, 180, 181, true),
            (1000, -900, 0, false),
            // Nor does it get more time than passed.
            (274, 274, 0, false),
        ] {
            let interference = Interference {
                others_cpu_ns: Some(others_ms * 1_000_000),
                throttled_ns: Some(throttled_ms * 1_000_000),
                ..of_wall(wall_ms)
            };
            let found = in_span(interference, "iteration");
            assert_eq!(found.is_ok(), fits, "{interference:?}: {found:?}");
        }
    }

    #[test]
    fn malformed_laps_are_refused_with_the_reason() {
        for (from, to, reason) in [
            ("1.2", "2.0", "schema version is 2.0"),
            ("\"program\":\"p\",", "", "missing field `program`"),
            ("\"kind\":\"coroutine\",", "", "missing field `kind`"),
            ("coroutine", "fibre", "unknown variant `fibre`"),
            ("\"tasks\":3", "\"tasks\":0", "reports 0 tasks"),
            ("80,100,120", "", "'iteration': has 0 laps of 4 operations"),
            ("80", "1000000000000001", "'iteration': has a lap of 1000000000000001 ns, more"),
            ("\"operations\":4", "\"operations\":0", "'iteration': has 3 laps of 0 operations"),
        ] {
            assert!(LAPS.contains(from), "{from}");
            let error = record(&LAPS.replace(from, to), None).expect_err(to).to_string();
            assert!(error.contains(reason), "{error} does not contain {reason:?}");
        }
    }

    proptest! {
        /// No output makes the reader fail in any way but a reason.
        #[test]
        fn damaged_output_becomes_a_record_or_a_reason(
            output in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..400),
                "(measuring\n|measured\n|\\{\n?|\\}|\"tasks\":-?[0-9]{1,30},?|\\PC{0,9}){0,9}"
                    .prop_map(String::into_bytes),
                (any::<prop::sample::Index>(), any::<[u8; 3]>()).prop_map(|(at, bytes)| {
                    let mut laps = LAPS.replace('\n', "").into_bytes();
                    let at = at.index(laps.len() - 3);
                    laps[at..at + 3].copy_from_slice(&bytes);
                    laps
                }),
            ],
        ) {
            match Guest::new(Policy::Free, vec![0]).record(&output) {
                Ok(record) => prop_assert!(record.tasks > 0),
                Err(reason) => prop_assert!(!reason.to_string().is_empty()),
            }
        }

        #[test]
        fn damaged_laps_become_a_sound_record_or_none(
            laps in prop::collection::vec(0..=LONGEST_LAP_NS + 1, 0..9),
            (tasks, operations) in (any::<u64>(), any::<u64>()),
        ) {
            let laps = LAPS.replace("80,100,120", &format!("{laps:?}").replace(['[', ']'], ""))
                .replace("\"tasks\":3", &format!("\"tasks\":{tasks}"))
                .replace("\"operations\":4", &format!("\"operations\":{operations}"));
            if let Ok(record) = record(&laps, None) {
                let text = serde_json::to_string(&record).unwrap();
                prop_assert_eq!(Record::parse(&text).unwrap(), record);
            }
        }
    }
}
