//! The record: what one invocation of a program measured, as one JSON object.
//!
//! The units are in the names. A figure that cannot be had on this machine is
//! `null`, never 0. The committed schema, `harness/record.schema.json`, is
//! generated from these types and a test compares the two; docs/PROTOCOL.md is the
//! same contract in prose. A change here raises [`SCHEMA_VERSION`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the record's schema, `major.minor`. The minor number rises when
/// a field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.0";

/// The major schema version that this reader understands.
const READABLE_MAJOR: u64 = 1;

/// The longest record that a reader takes, in bytes; 20 KiB are usual.
pub const LONGEST_RECORD: usize = 1024 * 1024;

/// The longest name in a record, of a program or a measurement, in characters.
pub const LONGEST_NAME: usize = 200;

/// What one invocation measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Record {
    /// Schema version of this record, `major.minor`.
    pub schema_version: String,
    /// The program's name, as in its folder.
    pub program: String,
    /// The program's version.
    pub version: String,
    /// Every flag's value, by its long name with underscores.
    pub parameters: BTreeMap<String, Value>,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of tokens in flight at once.
    pub tokens: u64,
    /// Iterations measured: fewer than asked for when `ended_by` says why.
    pub iterations: u64,
    /// Iterations run and thrown away before the first measured one.
    pub warmups: u64,
    /// Whether the run ended as planned: neither interrupted nor failed.
    pub complete: bool,
    /// Why the measuring stopped.
    pub ended_by: Ending,
    /// What went wrong, if anything did.
    pub error: Option<String>,
    /// The CPUs that the tasks may run on under the placement in force.
    pub affinity: Vec<usize>,
    /// How far neighbours are apart under `spread`: from each CPU of `affinity`
    /// to the next one, and from the last to the first. `null` under other
    /// placements and where the kernel does not tell.
    pub neighbours: Option<Vec<Distance>>,
    /// The measured distributions, the program's principal one first.
    pub measurements: Vec<Measurement>,
    /// CPU time of the whole process over the measured iterations.
    pub cpu: Option<CpuTime>,
    /// Kernel context switches of the whole process over the measured
    /// iterations.
    pub switches: Option<Switches>,
    /// System calls per operation of the principal measurement, as the program counted
    /// them, over all its iterations; `null` where it does not count them.
    pub system_calls_per_operation: Option<f64>,
    /// What the tasks waited for over the measured iterations.
    pub waiting: Option<Waiting>,
    /// What else the machine was doing during the measured iterations.
    pub interference: Interference,
    /// Memory of the process, read once while all tasks were alive.
    pub memory: Option<Memory>,
    /// What the process and the machine held at growing numbers of tasks, of
    /// programs that sweep the number.
    pub ledger: Option<Vec<LedgerPoint>>,
    /// The work at every hop, of programs that offer `--work`.
    pub work: Option<WorkRecord>,
    /// How the schedule was kept, of programs whose operations are due at given times.
    pub schedule: Option<ScheduleKept>,
}

/// How a schedule was kept. Every operation of it is among the samples, however late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ScheduleKept {
    /// Operations for which their task did not wait, because it came to them after they
    /// had been due, or called for.
    pub missed: u64,
    /// Operations that were called for late, because their time had passed when the
    /// caller came to them; `null` where nobody calls.
    pub called_late: Option<u64>,
}

/// The work that was added to every hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct WorkRecord {
    /// Units at every hop, as `--work` asked for.
    pub units: u64,
    /// How long a unit took in this process, on the driver's CPU, measured
    /// before the laps and after, in nanoseconds; `null` where there was no work.
    pub ns_per_unit: Option<f64>,
    /// The mean time of a unit between the measured laps, on the driver's CPU, in
    /// nanoseconds; `null` where there was no work. CPU time per operation
    /// includes these units.
    pub mean_ns_per_unit: Option<f64>,
}

/// Why the measuring stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All iterations asked for were measured.
    Iterations,
    /// `--max-time` was spent.
    MaxTime,
    /// SIGINT or SIGTERM.
    Signal,
    /// A failure, which `error` describes.
    Error,
}

/// One measured distribution: `count` samples, each of which covers
/// `operations` operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Measurement {
    /// What a sample is, such as `iteration` or `create`.
    pub name: String,
    /// What one operation is, such as `hop` or `thread creation`.
    pub operation: String,
    /// Operations in one sample.
    pub operations: u64,
    /// Number of samples.
    pub count: u64,
    /// Exact mean of the samples, in nanoseconds.
    pub mean_ns: f64,
    /// Exact sample standard deviation (n − 1), in nanoseconds; `null` for
    /// fewer than two samples.
    pub stddev_ns: Option<f64>,
    /// Smallest sample, in nanoseconds.
    pub min_ns: u64,
    /// Median, from the histogram (three significant digits), in nanoseconds.
    pub p50_ns: u64,
    /// 90th percentile, in nanoseconds.
    pub p90_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile, in nanoseconds.
    pub p999_ns: u64,
    /// Largest sample, in nanoseconds.
    pub max_ns: u64,
    /// `mean_ns` / `operations`.
    pub ns_per_operation: f64,
    /// `mean_ns` / tasks; `null` where a sample does not cover all tasks.
    pub ns_per_task: Option<f64>,
    /// The distribution: HdrHistogram V2, deflated, in base64, values in
    /// nanoseconds.
    pub histogram: String,
}

/// CPU time of the process (`getrusage`), over the measured iterations, per
/// operation of the principal measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CpuTime {
    /// In user space, in nanoseconds.
    pub user_ns_per_operation: f64,
    /// In the kernel, in nanoseconds.
    pub system_ns_per_operation: f64,
    /// In the kernel after a thread has been joined, while it is taken apart, in
    /// nanoseconds. No process's account holds it; it is measured in laps of its
    /// own, on one CPU. `null` where threads do not end in the laps.
    pub uncounted_ns_per_operation: Option<f64>,
}

/// How far two CPUs are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// Two hardware threads of one core.
    SmtSibling,
    /// Two cores that share a cache.
    SharedCache,
    /// Two cores of a NUMA node that share no cache.
    SameNode,
    /// Cores of two NUMA nodes.
    OtherNode,
}

/// Context switches as the kernel counts them, per operation of the principal
/// measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Switches {
    /// A thread blocked (`nvcsw`).
    pub voluntary_per_operation: f64,
    /// A thread was preempted (`nivcsw`).
    pub involuntary_per_operation: f64,
    /// What the program claims; `null` where it claims nothing.
    pub expected_per_operation: Option<f64>,
    /// Times the kernel moved one of the threads to another CPU; `null` where
    /// the kernel does not tell or the threads did not outlive the measuring.
    pub migrations: Option<u64>,
    /// Share of traced hops whose two ends ran on different CPUs, 0 to 1;
    /// `null` where the program does not trace.
    pub cross_cpu_share: Option<f64>,
}

/// What the tasks waited for, per operation of the principal measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Time in which a thread could have run and waited for a CPU, summed over the
    /// threads, in nanoseconds: the run delay of `/proc/PID/task/TID/schedstat`. A
    /// thread that is woken for an idle CPU waits until that has left its idle state.
    /// `null` where the kernel does not tell or threads began or ended.
    pub runnable_ns_per_operation: Option<f64>,
    /// Time in which all CPUs in `affinity` were idle at once, in nanoseconds: the sum
    /// of their times in idle states less the wall time for each of them but one. That
    /// is exact where no two CPUs are awake at once, and less than the truth otherwise.
    /// `null` without a driver of idle states (`cpuidle`).
    pub idle_ns_per_operation: Option<f64>,
    /// The idle states of the CPUs in `affinity`; `null` without a driver of them.
    pub idle_states: Option<Vec<IdleState>>,
    /// Interrupts by which one CPU asked another to look for a task.
    pub reschedules_per_operation: Option<f64>,
    /// Interrupts by which one CPU asked another to run a function, such as waking a
    /// task.
    pub calls_per_operation: Option<f64>,
}

/// An idle state, over all CPUs in `affinity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct IdleState {
    /// The kernel's name of it, such as `C1` or `POLL`.
    pub name: String,
    /// How often a CPU entered it.
    pub entries_per_operation: f64,
    /// How long CPUs were in it, in nanoseconds.
    pub ns_per_operation: f64,
}

/// What else the machine was doing during the measured iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Interference {
    /// Time that the hypervisor gave to others, all CPUs, in nanoseconds.
    pub steal_ns: Option<u64>,
    /// Time in which some thread of the machine waited for a CPU (pressure
    /// stall information), in nanoseconds.
    pub psi_cpu_some_ns: Option<u64>,
    /// Length of the span that these figures cover, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// CPU time that others had on the CPUs in `affinity`: other processes,
    /// threads of the kernel, interrupts, other guests. In nanoseconds, to a
    /// clock tick or two for each CPU, and therefore negative at times: sums over
    /// many processes are exact. Without the program's own `uncounted_ns_per_operation`.
    pub others_cpu_ns: Option<i64>,
    /// Time in which a CPU quota kept the program from running, in nanoseconds, summed over
    /// its CPUs: of its own control group or the one above it that throttled most; `null`
    /// where none counts it.
    pub throttled_ns: Option<u64>,
    /// Periods of that quota in which it was used up, and periods in all.
    pub throttled_periods: Option<[u64; 2]>,
    /// Frequency of the driver's CPU before the first measured iteration, in
    /// kilohertz.
    pub frequency_before_khz: Option<u64>,
    /// Frequency of the driver's CPU after the last measured iteration, in
    /// kilohertz.
    pub frequency_after_khz: Option<u64>,
}

/// Memory of the process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Memory {
    /// Resident now (`VmRSS`).
    pub rss_bytes: u64,
    /// Most ever resident in this process (`VmHWM`; unlike `ru_maxrss` it does
    /// not start at the parent's).
    pub peak_rss_bytes: u64,
    /// Address space (`VmSize`).
    pub virtual_bytes: u64,
    /// Page tables (`VmPTE`).
    pub page_table_bytes: Option<u64>,
}

/// What was held at one moment. Figures of the process are of its children
/// too, where those are the tasks; the others are of the whole machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LedgerPoint {
    /// What had just been done, where the number of tasks does not tell.
    pub moment: Option<String>,
    /// Tasks alive.
    pub tasks: u64,
    /// Resident memory of the process (`Rss` of `smaps_rollup`).
    pub resident_bytes: Option<u64>,
    /// Resident memory, shared pages divided among those that share them
    /// (`Pss` of `smaps_rollup`).
    pub proportional_bytes: Option<u64>,
    /// Address space of the process (`VmSize`).
    pub virtual_bytes: Option<u64>,
    /// Page tables of the process (`VmPTE`).
    pub page_table_bytes: Option<u64>,
    /// Kernel stacks of all threads of the machine (`KernelStack`).
    pub kernel_stack_bytes: Option<u64>,
    /// The kernel's objects, those it could give up included (`Slab`).
    pub slab_bytes: Option<u64>,
    /// The kernel's objects that it cannot give up (`SUnreclaim`).
    pub unreclaimable_slab_bytes: Option<u64>,
    /// Memory that could still be had (`MemAvailable`).
    pub available_bytes: Option<u64>,
    /// Memory that nobody uses (`MemFree`).
    pub free_bytes: Option<u64>,
    /// Free pages on lists of the CPUs, which `MemFree` and `MemAvailable` leave
    /// out (`count` of `/proc/zoneinfo`).
    pub listed_free_bytes: Option<u64>,
    /// What the memory control group of the process is charged with.
    pub group_bytes: Option<u64>,
    /// What the language's runtime has from the system, by its own account.
    pub runtime_bytes: Option<u64>,
    /// What the language's runtime uses for stacks, by its own account.
    pub runtime_stack_bytes: Option<u64>,
    /// What the kernel refused when one more task was to be made; of a program
    /// that makes tasks until then.
    pub refused: Option<String>,
}

/// Why a text is not a record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is not JSON, or not of the record's shape.
    #[error("reading a record: {0}; is this the output of a Brigade program under --json?")]
    Malformed(#[from] serde_json::Error),
    /// The text is longer than any record.
    #[error(
        "reading a record: it has {0} bytes, more than {LONGEST_RECORD}; is this the output of a \
         Brigade program under --json?"
    )]
    TooLong(usize),
    /// The text names a major schema version that this reader does not know.
    #[error(
        "reading a record: its schema version is {found}, this reader knows {READABLE_MAJOR}.x: \
         update Brigade to read it"
    )]
    TooNew {
        /// The version that the record names.
        found: String,
    },
}

impl Record {
    /// Reads a record of this major schema version, or of any older one.
    /// Fields that this reader does not know are ignored.
    ///
    /// # Errors
    /// [`ReadError::TooLong`] for more than [`LONGEST_RECORD`] bytes;
    /// [`ReadError::TooNew`] for a newer major version, whatever its shape;
    /// [`ReadError::Malformed`] for everything else that is not a record.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Versioned {
            schema_version: String,
        }
        if text.len() > LONGEST_RECORD {
            return Err(ReadError::TooLong(text.len()));
        }
        let Versioned { schema_version } = serde_json::from_str(text)?;
        let major = schema_version.split('.').next().and_then(|m| m.parse::<u64>().ok());
        match major {
            Some(major) if major <= READABLE_MAJOR => Ok(serde_json::from_str(text)?),
            _ => Err(ReadError::TooNew { found: schema_version }),
        }
    }

    /// The program's principal measurement, if it got as far as having one.
    pub fn principal(&self) -> Option<&Measurement> {
        self.measurements.first()
    }

    /// The measurement of this name, if there is one.
    pub fn measurement(&self, name: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| measurement.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_RECORD, ReadError, Record};

    const SCHEMA_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/record.schema.json");

    /// A record of two tasks that measured nothing.
    const EXAMPLE: &str = r#"{"schema_version":"1.0","program":"thread-brigade","version":"0.1.0",
        "parameters":{"tasks":2},"tasks":2,"tokens":1,"iterations":1,"warmups":0,"complete":true,
        "ended_by":"iterations","error":null,"affinity":[0],"measurements":[],"cpu":null,
        "switches":null,"interference":{"steal_ns":null,"psi_cpu_some_ns":null},"memory":null}"#;

    fn schema() -> String {
        let schema = schemars::schema_for!(Record);
        serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
    }

    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(SCHEMA_FILE, schema()).expect("writing the schema");
        }
        let committed = std::fs::read_to_string(SCHEMA_FILE).expect("the committed schema");
        assert!(
            committed == schema(),
            "the record's types have changed: raise SCHEMA_VERSION if readers must know, then \
             run UPDATE_SCHEMA=1 cargo test -p harness"
        );
    }

    #[test]
    fn a_figure_is_read_to_its_last_digit() {
        // One that the fuzzer came upon.
        let figure = 111.27183233940573_f64;
        let text = serde_json::to_string(&figure).expect("a number serializes");
        assert_eq!(serde_json::from_str::<f64>(&text).expect("own writing"), figure);
    }

    #[test]
    fn a_newer_major_version_is_refused_whatever_its_shape() {
        for newer in [r#"{"schema_version":"2.0"}"#, r#"{"schema_version":"next","tasks":"x"}"#] {
            let error = Record::parse(newer).expect_err("too new");
            assert!(matches!(error, ReadError::TooNew { .. }), "{error}");
        }
    }

    #[test]
    fn a_text_longer_than_any_record_is_not_even_parsed() {
        let spaces = LONGEST_RECORD - EXAMPLE.len();
        assert!(Record::parse(&(EXAMPLE.to_owned() + &" ".repeat(spaces))).is_ok());
        let longer = EXAMPLE.to_owned() + &" ".repeat(spaces + 1);
        assert!(matches!(Record::parse(&longer), Err(ReadError::TooLong(_))));
    }

    #[test]
    fn what_is_no_record_is_malformed() {
        for text in ["", "{}", "[]", "null", r#"{"schema_version":1}"#, &EXAMPLE[..100]] {
            assert!(matches!(Record::parse(text), Err(ReadError::Malformed(_))), "{text}");
        }
    }
}
