//! The folder of a run's results. Files are only added, and are complete whenever the runner dies.
//! A folder that somebody else sent is read, and resumed, without touching a file outside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use clap::ValueEnum as _;
use harness::anonymous;
use harness::document::parsed;
use harness::placement::Policy;
use harness::record::Record;
use libc::O_NOFOLLOW;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::consistency::{verify, verify_sizes};
use super::lines::{LONGEST_LINE, Lines, RecordLine};
use super::older::task_kind_of_older;
use super::warnings::Warnings;
use crate::bounds::{self, LONGEST_CASE, MOST_CASES};
use crate::shell::quoted_path;

/// The description of the run.
pub const RUN: &str = "run.json";

/// The description of the machine.
pub const ENVIRONMENT: &str = "environment.json";

/// One line per invocation.
pub const RECORDS: &str = "records.jsonl";

/// The report in Markdown.
pub const PAGE: &str = "report.md";

/// The report as a web page.
pub const HTML_PAGE: &str = "report.html";

/// The longest description of a run or of its machine, in bytes. All cases of the suite fill 200 KiB.
const LONGEST_DESCRIPTION: u64 = 1 << 20;

/// The longest records, in bytes: as many as five hours of `brigade run` fill.
const LONGEST_RECORDS: u64 = 512 << 20;

/// The most lines of records that are read. Those of a run are so long that it has fewer.
const MOST_LINES: usize = 400_000;

/// Version of the schemas of the folder's files, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// What was run: the contents of `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunDescription {
    /// Version of this description's schema, `major.minor`.
    pub schema_version: String,
    /// Version of the runner.
    pub brigade_version: String,
    /// When the run started: UTC, RFC 3339.
    pub started_at: String,
    /// The groups and cases that were named, or `default`.
    pub profile: String,
    /// Rounds of every case; 0 for as many as there was time for.
    pub rounds: u32,
    /// Seed for the order of the cases.
    pub seed: u64,
    /// The cases that run.
    pub cases: Vec<String>,
    /// Details of the cases, in the same order.
    pub details: Vec<CaseDetail>,
    /// The cases that cannot run here.
    pub skipped: Vec<Skipped>,
    /// How to run it, and what resuming needs; a side of a comparison has only flags and seconds.
    pub procedure: Option<Procedure>,
    /// Which side of a comparison this is, `baseline` or `candidate`, which may have fewer rounds;
    /// `null` for a run.
    pub side: Option<String>,
}

/// Identifies a case independently of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseDetail {
    /// The case's name.
    pub case: String,
    /// The program.
    pub program: String,
    /// Its flags, without the profile's, by their names in records.
    pub parameters: BTreeMap<String, String>,
    /// The group that it ran for.
    pub group: Option<String>,
    /// The most rounds that it runs in; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

/// A case that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The case's name.
    pub case: String,
    /// The reason, in one line.
    pub reason: String,
}

impl Skipped {
    /// The case as it is recorded: the reason may quote a tool.
    pub fn anonymous(self) -> Self {
        Self { reason: anonymous::text(&self.reason), ..self }
    }
}

/// The procedure of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Procedure {
    /// The command for another run like it.
    pub command: Vec<String>,
    /// The manifest's flags for every program.
    pub flags: Vec<String>,
    /// No invocation begins after this many seconds; `null` for a number of rounds.
    pub seconds: Option<f64>,
    /// Pairs of cases that run back to back in every round, since a report compares them.
    pub partners: Vec<[String; 2]>,
    /// The command of each case, as in its records.
    pub commands: BTreeMap<String, Vec<String>>,
    /// A fingerprint of each program's binary: its length in bytes and its
    /// CRC-32.
    pub binaries: BTreeMap<String, String>,
}

/// One invocation of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Invocation {
    /// Schema version of this line, `major.minor`.
    pub schema_version: String,
    /// The case's name in `suite.toml`.
    pub case: String,
    /// The round, counted from 1.
    pub round: u32,
    /// Which attempt at the case in this round, counted from 1: a round is
    /// repeated if an attempt was unusable or interrupted.
    pub attempt: u32,
    /// When the process started: UTC, RFC 3339.
    pub started_at: String,
    /// How long the process lived, in nanoseconds.
    pub duration_ns: u64,
    /// How much of that time a signal had stopped it, in nanoseconds; `null` in older records.
    pub stopped_ns: Option<u64>,
    /// The program's name and flags, to repeat this invocation.
    pub command: Vec<String>,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the runner ended the process because it was interrupted, which is not the program's
    /// fault.
    pub interrupted: bool,
    /// The exit code; `null` if a signal ended the process or it never ran.
    pub exit_code: Option<i32>,
    /// The signal that ended the process, if any.
    pub signal: Option<i32>,
    /// The error in one line, if there was one.
    pub error: Option<String>,
    /// The last lines that it printed on standard error, if it failed and printed more than the
    /// error.
    #[serde(default)]
    pub stderr: Option<String>,
    /// The program's record, as printed; `null` if there is none.
    pub record: Option<Record>,
    /// The machine's speed just before the process started; `null` if not measured.
    pub reference: Option<Reference>,
}

impl Invocation {
    /// The invocation as it is recorded: what the program printed, or was given, may name a host, a
    /// user or a folder.
    pub fn anonymous(self) -> Self {
        Self {
            command: self.command.iter().map(|word| anonymous::command(word)).collect(),
            error: self.error.map(|error| anonymous::text(&error)),
            stderr: self.stderr.map(|lines| anonymous::text(&lines)),
            record: self.record.map(Record::anonymous),
            ..self
        }
    }
}

/// The time of reference work, the same for all programs: if it differs between two runs, the
/// machine differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reference {
    /// The CPU used; a different one each time.
    pub cpu: usize,
    /// Writing a byte to a pipe and reading it, both in one thread, in nanoseconds.
    pub kernel_ns: f64,
}

/// The outcome of an invocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The program exited with 0 and printed a complete record.
    Measured,
    /// The program ended otherwise, or did not print exactly one record.
    #[default]
    Failed,
    /// The program exceeded the case's time-out and was killed.
    TimedOut,
    /// The program exited with 3: a limit refused it.
    Refused,
}

/// Parameters that affect how long to measure or what to write, not what is measured. `cpus` only
/// says where, which matters under `spread`: a case may name two CPUs. `histogram` and `message`,
/// always one byte, are in older records.
const NOT_MEASURED: [&str; 10] = [
    "command",
    "cpus",
    "histogram",
    "iters",
    "json",
    "max_time",
    "message",
    "quiet",
    "rounds",
    "warmups",
];

/// The parameters of a record that affect what it measures, by the long names of their flags with
/// underscores. Absent, `null`, `false` or 0 is left out: an older program without a flag behaves
/// as if it were not given.
pub fn parameters(record: &Record) -> BTreeMap<String, Value> {
    let is_pinned = record.parameters.get("placement").is_some_and(|place| place == "spread");
    let counts = |name: &str| !NOT_MEASURED.contains(&name) || (name == "cpus" && is_pinned);
    let given = record.parameters.iter().filter_map(|(name, value)| {
        let value = match value {
            // A flag that may be repeated.
            Value::Array(values) if values.len() == 1 => &values[0],
            value => value,
        };
        let is_given =
            ![Value::Null, Value::Bool(false)].contains(value) && value.as_f64() != Some(0.0);
        (is_given && counts(name)).then(|| (name.clone(), value.clone()))
    });
    given.collect()
}

/// The machine and the software behind a run's figures: the contents of `environment.json`, read
/// once, before the first case. People share results folders, so nothing here names a host, a user,
/// an address or a path. Unknown facts are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// Facts by name; the parts of a name are joined by dots. Units are in the names.
    #[serde(flatten)]
    pub facts: BTreeMap<String, String>,
}

impl Environment {
    /// A fact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// A fact that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Adds a fact, if it is known.
    pub fn set(&mut self, name: impl Into<String>, value: Option<impl ToString>) {
        self.facts.extend(value.map(|value| (name.into(), value.to_string())));
    }
}

/// The folder of one run.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    records: File,
}

/// How to repair a file of records after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The number of bytes to keep.
    pub kept: usize,
    /// The number of bytes to cut off: an incomplete line.
    pub cut: usize,
    /// Whether the last line that is kept needs a line end.
    pub lacks_end: bool,
}

impl Repair {
    /// What these records need, whose end is `tail`; `before` is the number of bytes before it. A
    /// line without only its line end is kept.
    fn of(before: usize, tail: &[u8]) -> Self {
        let whole = tail.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let torn = &tail[whole..];
        if serde_json::from_slice::<Invocation>(torn).is_ok() {
            return Self { kept: before + tail.len(), cut: 0, lacks_end: true };
        }
        Self { kept: before + whole, cut: torn.len(), lacks_end: false }
    }
}

impl Folder {
    /// Creates a folder for a `run` in `parent`, which is created if missing: `DATE-LABEL`, in UTC,
    /// or if that exists `DATE-LABEL-2` and so on. Earlier runs are never touched.
    ///
    /// # Errors
    /// If the folder or a file cannot be created.
    pub fn create(
        parent: &Path,
        description: &RunDescription,
        environment: &Environment,
        label: &str,
    ) -> anyhow::Result<Self> {
        let date = description.started_at.split('T').next().unwrap_or_default();
        let path = fs::create_dir_all(parent)
            .and_then(|()| make_unused(parent, &format!("{date}-{label}")))
            .with_context(|| cannot_write(parent))?;
        let file = path.join(RECORDS);
        let records = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&file)
            .with_context(|| format!("creating {}", file.display()))?;
        let folder = Self { path, records };
        // `run.json` makes a run resumable, so it is written last.
        folder.write_json(ENVIRONMENT, environment)?;
        folder.write_json(RUN, description)?;
        Ok(folder)
    }

    /// Opens the folder of an unfinished run to add to it. Nothing is written before
    /// [`Self::repair`].
    ///
    /// # Errors
    /// If the records are not a file of this folder alone, which can be read and written.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = path.join(RECORDS);
        let open = || {
            let mut options = OpenOptions::new();
            let options = options.append(true);
            let records = bounds::open(&file, options, O_NOFOLLOW, LONGEST_RECORDS)?;
            ensure!(records.metadata()?.nlink() == 1, "it is a link");
            anyhow::Ok(records)
        };
        let records = open().with_context(|| format!("resuming {}", file.display()))?;
        Ok(Self { path: path.to_owned(), records })
    }

    /// What the end of the records needs.
    ///
    /// # Errors
    /// If they cannot be read, or the last line is too long.
    pub fn needed_repair(&self) -> anyhow::Result<Repair> {
        let resuming = || format!("resuming {}", self.path.join(RECORDS).display());
        let read = || {
            let length = self.records.metadata()?.len();
            let before = length.saturating_sub(LONGEST_LINE as u64);
            let mut tail = Vec::new();
            (&self.records).seek(SeekFrom::Start(before))?;
            (&self.records).take(length - before).read_to_end(&mut tail)?;
            let is_cut = before > 0 && !tail.contains(&b'\n');
            ensure!(!is_cut, "its last line has more than {LONGEST_LINE} bytes");
            Ok(Repair::of(before as usize, &tail))
        };
        read().with_context(resuming)
    }

    /// Reads the run, without what [`Self::repair`] cuts off.
    ///
    /// # Errors
    /// If [`SavedRun::read`] would fail.
    pub fn read(&self, repair: Repair, each: impl FnMut(Invocation)) -> anyhow::Result<SavedRun> {
        (&self.records).seek(SeekFrom::Start(0))?;
        SavedRun::described(&self.path)?.with_records(&self.records, repair.kept as u64, each)
    }

    /// Makes the repair that [`Self::needed_repair`] found.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn repair(&mut self, repair: Repair) -> anyhow::Result<()> {
        let mut repaired = || {
            self.records.set_len(repair.kept as u64)?;
            if repair.lacks_end {
                self.records.write_all(b"\n")?;
            }
            self.records.sync_data()
        };
        repaired().with_context(|| format!("resuming {}", self.path.join(RECORDS).display()))
    }

    /// Writes a value as a JSON file.
    ///
    /// # Errors
    /// If [`Self::write`] fails.
    fn write_json(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.write(name, &(serde_json::to_string_pretty(value)? + "\n"))
    }

    /// Writes a file as [`write()`] does.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path.join(name);
        write(&path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Appends an invocation as one line, with one write, and syncs it to disk.
    /// If that fails, it removes what was written of the line.
    ///
    /// # Errors
    /// If the line cannot be written, or the folder has disappeared.
    pub fn append(&mut self, invocation: &Invocation) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(invocation)?;
        line.push(b'\n');
        let appending = || format!("appending to {}", self.path.join(RECORDS).display());
        let open = self.records.metadata()?;
        let length = open.len() + line.len() as u64;
        ensure!(
            line.len() <= LONGEST_LINE && length <= LONGEST_RECORDS,
            "{}: a line of {} bytes makes {length}; the most are {LONGEST_LINE} a line, and \
             {LONGEST_RECORDS}: start another run",
            appending(),
            line.len()
        );
        let written = self.records.write_all(&line).and_then(|()| self.records.sync_data());
        if let Err(error) = written {
            // Report the first error.
            let _ = self.records.set_len(open.len());
            return Err(error).with_context(appending).with_context(|| {
                let path = quoted_path(&self.path);
                format!("free some space, then: brigade run --resume {path}")
            });
        }
        let named = fs::symlink_metadata(self.path.join(RECORDS));
        let is_one = |named: Metadata| (named.dev(), named.ino()) == (open.dev(), open.ino());
        ensure!(
            named.is_ok_and(is_one),
            "{}: removed or replaced during the run: start a new run",
            appending()
        );
        Ok(())
    }
}

/// Writes a file atomically: to a temporary one, which is renamed. A link is replaced, not followed.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Meant to be shared: readable as far as the umask allows.
    let permissions = Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

/// The error for a folder in which no run's folder can be created.
pub fn cannot_write(parent: &Path) -> String {
    format!("--results: writing to {}: name another folder", parent.display())
}

/// Creates the first of the folders `name`, `name-2`, `name-3` … that does not
/// exist.
fn make_unused(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let mut path = parent.join(name);
    let mut number = 1;
    loop {
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                path = parent.join(format!("{name}-{number}"));
            }
            made => return made.map(|()| path),
        }
    }
}

/// A run, read from its folder. Its invocations, which are long, are passed on as they are read.
#[derive(Debug)]
pub struct SavedRun {
    /// What was run: `run.json`.
    pub description: RunDescription,
    /// The machine: `environment.json`.
    pub environment: Environment,
    /// The lines that were not used, and why. They quote the folder's content, unescaped.
    pub warnings: Warnings,
}

impl SavedRun {
    /// Reads the folder of a run, including an interrupted or killed one. `each` gets its
    /// invocations, in the order in which they ended. An invalid line of records costs a warning.
    ///
    /// # Errors
    /// If `folder` contains no run, or a file cannot be read or is too long.
    pub fn read(folder: &Path, each: impl FnMut(Invocation)) -> anyhow::Result<Self> {
        Self::described(folder)?.with_records_in(folder, LONGEST_RECORDS, each)
    }

    /// Reads the records of the run in `folder`, if these have at most so many bytes.
    ///
    /// # Errors
    /// If [`Self::read`] would fail.
    pub fn with_records_in(
        self,
        folder: &Path,
        most: u64,
        each: impl FnMut(Invocation),
    ) -> anyhow::Result<Self> {
        let path = folder.join(RECORDS);
        let read = || {
            let records = bounds::open(&path, &mut OpenOptions::new(), 0, most)?;
            let length = records.metadata()?.len();
            self.with_records(records, length, each)
        };
        read().with_context(|| format!("reading {}", path.display()))
    }

    /// Reads the folder of a run without its records, which may be long.
    ///
    /// # Errors
    /// If [`Self::read`] would fail.
    pub fn described(folder: &Path) -> anyhow::Result<Self> {
        let [description, environment] = [RUN, ENVIRONMENT].map(|name| {
            let path = folder.join(name);
            let bytes = bounds::read(&path, LONGEST_DESCRIPTION);
            let reading = || format!("reading {}: is this the folder of a run?", path.display());
            bytes.with_context(reading)
        });
        Self::parsed(&description?, &environment?)
            .with_context(|| format!("reading the saved run in {}", folder.display()))
    }

    fn parsed(description: &[u8], environment: &[u8]) -> anyhow::Result<Self> {
        let description: RunDescription = parsed(description).context(RUN)?;
        description.verify_sizes().context(RUN)?;
        let environment = parsed(environment).context(ENVIRONMENT)?;
        Ok(Self { description, environment, warnings: Warnings::default() })
    }

    /// The run with its records, the first `length` bytes of a file.
    ///
    /// # Errors
    /// If they cannot be read.
    fn with_records(
        mut self,
        records: impl Read,
        length: u64,
        mut each: impl FnMut(Invocation),
    ) -> anyhow::Result<Self> {
        let mut lines = Lines::new(records, length);
        let mut reading = Reading::new(&self.description);
        let mut number = 0;
        while let Some(line) = lines.next()? {
            number += 1;
            if number > MOST_LINES {
                let reason = format!("only the first {MOST_LINES} lines are used");
                self.warnings.push(&format!("{RECORDS}: {reason}"));
                break;
            }
            match reading.invocation(line) {
                Ok(invocation) => each(invocation),
                Err(error) => {
                    let warning = format!("{RECORDS} line {number}: {error:#}: not used");
                    self.warnings.push(&warning);
                }
            }
        }
        Ok(self)
    }
}

impl RunDescription {
    /// Verifies that the run has no more of anything than a run can have.
    ///
    /// # Errors
    /// What it has too much of.
    fn verify_sizes(&self) -> anyhow::Result<()> {
        let skipped = self.skipped.iter().map(|skipped| &skipped.case);
        let details = self.details.iter().map(|detail| &detail.case);
        for (what, count) in [
            ("cases", self.cases.len()),
            ("details", self.details.len()),
            ("skipped cases", self.skipped.len()),
        ] {
            ensure!(count <= MOST_CASES, "has {count} {what}, more than {MOST_CASES}");
        }
        let long = |name: &&String| name.chars().count() > LONGEST_CASE;
        if let Some(name) = self.cases.iter().chain(details).chain(skipped).find(long) {
            let length = name.chars().count();
            bail!("has a case of {length} characters, more than {LONGEST_CASE}");
        }
        let mut names = BTreeSet::new();
        if let Some(name) = self.cases.iter().find(|name| !names.insert(*name)) {
            bail!("has the case '{name}' twice");
        }
        Ok(())
    }
}

/// Reads the lines of a run's records.
struct Reading<'a> {
    cases: BTreeSet<&'a str>,
    details: BTreeMap<&'a str, &'a CaseDetail>,
    /// The case, round and attempt of each line.
    seen: BTreeSet<(&'a str, u32, u32)>,
}

impl<'a> Reading<'a> {
    fn new(run: &'a RunDescription) -> Self {
        let details = run.details.iter().map(|detail| (&*detail.case, detail));
        let cases = run.cases.iter().map(String::as_str).collect();
        Self { cases, details: details.collect(), seen: BTreeSet::new() }
    }

    /// The invocation in a line, verified as it was when it was measured.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn invocation(&mut self, line: RecordLine) -> anyhow::Result<Invocation> {
        let RecordLine::Whole(line) = line else { bail!("it has more than {LONGEST_LINE} bytes") };
        let mut invocation: Invocation = match parsed(line) {
            Err(_) if !line.ends_with(b"\n") => {
                bail!("ends in the middle, as if the run was killed")
            }
            read => read?,
        };
        if let Some(record) = &mut invocation.record {
            record.kind = record.kind.or_else(|| task_kind_of_older(record));
        }
        let Invocation { case, round, attempt, record, outcome, .. } = &invocation;
        let case = self.cases.get(&**case).copied();
        let case = case.with_context(|| format!("{RUN} does not have its case"))?;
        let is_measured = *outcome == Outcome::Measured;
        match record {
            None => ensure!(!is_measured, "it is marked as measured, but has no record"),
            Some(record) if is_measured => self.verify(record, case)?,
            Some(record) => verify_sizes(record)?,
        }
        let is_new = self.seen.insert((case, *round, *attempt));
        ensure!(is_new, "it repeats attempt {attempt} at this case in round {round}");
        Ok(invocation)
    }

    /// Verifies a record of a process that measured this case.
    fn verify(&self, record: &Record, case: &str) -> anyhow::Result<()> {
        let (program, placement) = match self.details.get(case) {
            Some(CaseDetail { program, parameters, .. }) => {
                (program, parameters.get("placement").map(String::as_str))
            }
            None => {
                let placement = record.parameters.get("placement").and_then(Value::as_str);
                (&record.program, placement)
            }
        };
        let placement = placement.unwrap_or("free");
        let policy = Policy::from_str(placement, false)
            .map_err(|_| anyhow!("has an unknown placement, '{placement}'"))?;
        verify(record, program, policy)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::fixtures::{case, without_record};
    use crate::store::neighbours::Neighbours;

    fn failed(round: u32) -> Invocation {
        without_record("a", round, Outcome::Failed)
    }

    /// A new run's folder.
    fn folder(parent: &Path) -> Folder {
        let started_at = "2026-01-01T00:00:00Z".to_owned();
        let run = RunDescription {
            started_at,
            schema_version: SCHEMA_VERSION.to_owned(),
            cases: vec!["a".to_owned()],
            ..RunDescription::default()
        };
        let schema_version = SCHEMA_VERSION.to_owned();
        let environment = Environment { schema_version, ..Environment::default() };
        Folder::create(parent, &run, &environment, "x").unwrap()
    }

    #[test]
    fn a_used_name_gets_a_number() {
        let parent = tempfile::tempdir().unwrap();
        let names = [(); 3].map(|()| {
            let folder = folder(parent.path());
            folder.path.file_name().unwrap().to_owned()
        });
        assert_eq!(names, ["2026-01-01-x", "2026-01-01-x-2", "2026-01-01-x-3"]);
    }

    #[test]
    fn an_incomplete_line_is_cut_off_and_the_next_follows_complete_ones() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = folder(parent.path());
        folder.append(&failed(1)).unwrap();
        let records = folder.path.join(RECORDS);
        let whole = fs::read(&records).unwrap();
        let line = serde_json::to_vec(&failed(2)).unwrap();
        // Cut off anywhere, or without only the line end.
        for length in 0..=line.len() {
            fs::write(&records, [&whole, &line[..length]].concat()).unwrap();
            let before = fs::read(&records).unwrap();
            let mut folder = Folder::open(&folder.path).unwrap();
            let kept = length == line.len();
            let repair = folder.needed_repair().unwrap();
            assert_eq!(repair.cut, if kept { 0 } else { length });
            assert_eq!(folder.read(repair, drop).unwrap().warnings.count(), 0);
            assert_eq!(fs::read(&records).unwrap(), before, "it was written to");
            folder.repair(repair).unwrap();
            folder.append(&failed(3)).unwrap();
            let text = fs::read_to_string(&records).unwrap();
            let rounds: Vec<u32> = text
                .lines()
                .map(|line| serde_json::from_str::<Invocation>(line).unwrap().round)
                .collect();
            assert_eq!(rounds, if kept { vec![1, 2, 3] } else { vec![1, 3] }, "at {length}");
        }
    }

    /// A folder of results of this repository.
    fn recorded() -> PathBuf {
        let mut folders = contract::repository::recorded_runs();
        folders.sort();
        folders.swap_remove(0)
    }

    /// The files of a recorded run, with its first two lines.
    fn files() -> [Vec<u8>; 3] {
        let [run, environment, records] =
            [RUN, ENVIRONMENT, RECORDS].map(|name| fs::read(recorded().join(name)).unwrap());
        let lines: Vec<&[u8]> = records.split_inclusive(|byte| *byte == b'\n').take(2).collect();
        [run, environment, lines.concat()]
    }

    /// A folder with these files.
    fn folder_with(files: &[Vec<u8>; 3]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [RUN, ENVIRONMENT, RECORDS].iter().zip(files) {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    fn parse(run: &[u8], environment: &[u8], records: &[u8]) -> anyhow::Result<ReadRun> {
        let mut invocations = Vec::new();
        let run = SavedRun::parsed(run, environment)?;
        let run = run.with_records(records, records.len() as u64, |one| invocations.push(one))?;
        Ok(ReadRun { warnings: run.warnings, invocations })
    }

    /// What was read of a run's records.
    struct ReadRun {
        warnings: Warnings,
        invocations: Vec<Invocation>,
    }

    fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
        let text = str::from_utf8(bytes).unwrap();
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    }

    #[test]
    fn every_recorded_run_of_this_repository_is_read_whole() {
        for folder in contract::repository::recorded_runs() {
            let mut invocations = Vec::new();
            let run = SavedRun::read(&folder, |one| invocations.push(one)).unwrap();
            let text = fs::read_to_string(folder.join(RECORDS)).unwrap();
            assert_eq!(run.warnings, Warnings::default(), "{}", folder.display());
            assert_eq!(invocations.len(), text.lines().count());
            let records = invocations.iter().filter_map(|one| one.record.as_ref());
            for measurement in records.flat_map(|record| &record.measurements) {
                let histogram = contract::record::decoded(&measurement.histogram);
                assert_eq!(histogram.len(), measurement.count);
            }
        }
    }

    #[test]
    fn runs_alike_are_earlier_ones_of_one_build() {
        let parent = tempfile::tempdir().unwrap();
        let started = "\"started_at\": \"2";
        let changes: [(&str, usize, &str, &str); 7] = [
            ("one", 0, started, started),
            ("two", 0, started, "\"started_at\": \"1"),
            ("candidate", 0, "\"side\": null", "\"side\": \"candidate\""),
            ("later", 0, started, "\"started_at\": \"3"),
            ("rebuilt", 0, "CRC-32 ", "CRC-32 0"),
            ("elsewhere", 1, "\"kernel.release\": \"", "\"kernel.release\": \"9"),
            ("revised", 1, "\"software.git_revision\": \"", "\"software.git_revision\": \"9"),
        ];
        for (name, file, from, to) in changes {
            let mut files = files();
            // All but the one are earlier.
            if name != "one" && name != "later" {
                files[0] = replaced(&files[0], started, "\"started_at\": \"1");
            }
            if name != "two" {
                files[file] = replaced(&files[file], from, to);
            }
            fs::rename(folder_with(&files).keep(), parent.path().join(name)).unwrap();
        }
        let mut neighbours = Neighbours::read(parent.path());
        assert_eq!(neighbours.folders.len(), 6);
        let one = SavedRun::described(&parent.path().join("one")).unwrap();
        let before = &one.description.started_at;
        let alike = neighbours.alike(&parent.path().join("one"), before, |_| (), |(), _| ());
        let names: Vec<_> = alike.iter().map(|(folder, ())| folder.file_name().unwrap()).collect();
        assert_eq!((names, neighbours.warnings), (vec!["two".as_ref()], Warnings::default()));
    }

    /// The alternatives to one value of a document.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let tokens =
            "null|true|-1|0|1e999|18446744073709551616|\"\"|\\[|\\]|\\{|\\}|,|:|\"|\\\\|\n";
        prop_oneof![
            tokens.prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..400),
            Just(Vec::new()),
        ]
    }

    proptest! {
        /// No content makes the reader fail in any way but an error or a warning.
        #[test]
        fn a_damaged_run_is_read_or_refused(
            file in 0_usize..3,
            edits in prop::collection::vec((any::<Index>(), any::<Index>(), pieces()), 1..4),
        ) {
            let mut files = files();
            for (start, end, piece) in edits {
                let bytes = &mut files[file];
                let start = start.index(bytes.len() + 1);
                let end = end.index(bytes.len() + 1);
                bytes.splice(start.min(end)..start.max(end), piece);
            }
            let [run, environment, records] = &files;
            if let Ok(run) = parse(run, environment, records) {
                let lines = files[2].split_inclusive(|byte| *byte == b'\n').count();
                let read = run.invocations.len() + run.warnings.count();
                prop_assert!(read == lines);
            }
            let Repair { kept, lacks_end, .. } = Repair::of(0, &files[2]);
            let repaired = [&files[2][..kept], &b"\n"[..usize::from(lacks_end)]].concat();
            let expected = Repair { kept: repaired.len(), cut: 0, lacks_end: false };
            prop_assert_eq!(Repair::of(0, &repaired), expected);
        }
    }

    #[test]
    fn an_invalid_line_is_named_and_the_others_are_read() {
        let [run, environment, records] = files();
        let lines: Vec<&[u8]> = records.split_inclusive(|byte| *byte == b'\n').collect();
        let [first, second] = lines[..] else { panic!("two lines") };
        for (bad, reason) in [
            (b"{}\n".to_vec(), "schema_version"),
            (replaced(first, "\"round\":1", "\"round\":-1"), "`-1`"),
            (replaced(first, "\"record\":{", "\"record\":null,\"r\":{"), "has no record"),
            (replaced(first, "version\":\"1.0", "version\":\"2.0"), "its schema version is 2.0"),
            (
                replaced(first, "\"case\":\"", "\"case\":\"other "),
                "run.json does not have its case",
            ),
            (first.to_vec(), "it repeats attempt 1 at this case in round 1"),
            (vec![b'['; LONGEST_LINE + 1], "it has more than 4194304 bytes"),
        ] {
            let end = if bad.ends_with(b"\n") { &b""[..] } else { b"\n" };
            let records = [first, &bad, end, second].concat();
            let read = parse(&run, &environment, &records).unwrap();
            assert_eq!(read.invocations.len(), 2, "{reason}");
            let warnings: Vec<String> = read.warnings.lines().collect();
            let [warning] = &warnings[..] else { panic!("{warnings:?}") };
            assert!(warning.contains("line 2: ") && warning.contains(reason), "{warning}");
        }
        let torn = [first, &second[..40]].concat();
        let read = parse(&run, &environment, &torn).unwrap();
        assert_eq!((read.invocations.len(), read.warnings.count()), (1, 1));
    }

    /// What a process that measured may not print may not be in a folder either.
    #[test]
    fn a_record_that_was_edited_is_named_and_the_others_are_read() {
        let [run, environment, records] = files();
        let lines: Vec<&[u8]> = records.split_inclusive(|byte| *byte == b'\n').collect();
        let [first, second] = lines[..] else { panic!("two lines") };
        for (edit, reason) in [
            ((|of| of["ns_per_operation"] = json!(1.0)) as fn(&mut Value), "its mean over"),
            (|of| of["ns_per_operation"] = json!(1e308), "which no figure is"),
            (|of| of["count"] = json!(0), "has 0 samples of"),
            (|of| of["mean_ns"] = json!(-1.0), "is not between"),
            (|of| of["name"] = json!("x".repeat(70_000)), "text of 70000 bytes"),
            (|of| of["name"] = json!("x".repeat(700)), "a name of 700 characters"),
        ] {
            let mut line: Value = serde_json::from_slice(second).unwrap();
            edit(&mut line["record"]["measurements"][0]);
            let edited = line.to_string() + "\n";
            let read = parse(&run, &environment, &[first, edited.as_bytes()].concat()).unwrap();
            let warnings: Vec<String> = read.warnings.lines().collect();
            assert_eq!((read.invocations.len(), warnings.len()), (1, 1), "{warnings:?}");
            let starts = warnings[0].starts_with("records.jsonl line 2: ");
            assert!(starts && warnings[0].contains(reason), "{warnings:?}");
            assert!(warnings[0].len() < 400, "{warnings:?}");
        }
    }

    /// A task holds one token at most.
    #[test]
    fn more_tokens_than_tasks_are_not_believed() {
        let [run, environment, records] = files();
        let edited = replaced(&records, "\"tokens\":1,", "\"tokens\":99999999999,");
        let read = parse(&run, &environment, &edited).unwrap();
        assert_eq!((read.invocations.len(), read.warnings.count()), (1, 1));
        assert!(read.warnings.lines().next().unwrap().contains("99999999999 tokens for"));
    }

    #[test]
    fn sizes_are_checked_before_anything_is_kept() {
        let error =
            |folder: &Path| format!("{:#}", SavedRun::read(folder, drop).expect_err("an error"));
        for (name, most) in [
            (RUN, LONGEST_DESCRIPTION),
            (ENVIRONMENT, LONGEST_DESCRIPTION),
            (RECORDS, LONGEST_RECORDS),
        ] {
            let folder = folder_with(&files());
            let file = File::options().write(true).open(folder.path().join(name)).unwrap();
            file.set_len(20 << 30).unwrap();
            let error = error(folder.path());
            assert!(
                error.contains(&format!("more than {most}")) && error.contains(name),
                "{error}"
            );
        }
        let mut files = files();
        files[2] = b"{}\n".repeat(2 * MOST_LINES);
        let read = SavedRun::read(folder_with(&files).path(), drop).unwrap();
        assert_eq!(read.warnings.count(), MOST_LINES + 1);
        for (edit, reason) in [
            (
                (|run| run["cases"] = (0..=MOST_CASES).map(|case| case.to_string()).collect())
                    as fn(&mut Value),
                "has 2001 cases",
            ),
            (
                |run| run["cases"][1] = json!("x".repeat(LONGEST_CASE + 1)),
                "case of 1001 characters",
            ),
            (|run| run["profile"] = json!("x".repeat(1_000_000)), "text of 1000000 bytes"),
            (|run| run["cases"][1] = run["cases"][0].clone(), "' twice"),
        ] {
            let mut files = self::files();
            let mut run: Value = serde_json::from_slice(&files[0]).unwrap();
            edit(&mut run);
            files[0] = run.to_string().into_bytes();
            let error = error(folder_with(&files).path());
            assert!(error.contains(reason) && error.len() < 400, "{error}");
        }
    }

    #[test]
    fn a_folder_without_a_run_is_one_clear_error() {
        let error =
            |folder: &Path| format!("{:#}", SavedRun::read(folder, drop).expect_err("an error"));
        for name in [RUN, ENVIRONMENT, RECORDS] {
            let folder = folder_with(&files());
            fs::remove_file(folder.path().join(name)).unwrap();
            assert!(error(folder.path()).contains(name));
            // A device without end.
            std::os::unix::fs::symlink("/dev/zero", folder.path().join(name)).unwrap();
            assert!(error(folder.path()).contains("it is not a regular file"));
        }
        let mut files = files();
        files[0] = replaced(&files[0], "\"schema_version\": \"1.", "\"schema_version\": \"9.");
        assert!(error(folder_with(&files).path()).contains("update Brigade"));
    }

    fn key(given: Value) -> BTreeMap<String, Value> {
        let mut record = case("ring", [1.0])[0].record.clone().expect("a record");
        record.parameters = serde_json::from_value(given).expect("parameters");
        parameters(&record)
    }

    #[test]
    fn parameters_distinguish_cases_if_they_affect_the_measurement() {
        let other = json!({
            "tasks": 500, "via": "pipe", "iters": 7, "max_time": 0.1, "json": true, "work": 0,
            "self": false, "workers": null, "resident_mib": [0],
        });
        let given = BTreeMap::from([("tasks", json!(500)), ("via", json!("pipe"))]);
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), value));
        assert_eq!(key(other), given.collect());
        assert_eq!(key(json!({ "mib": [8] })), key(json!({ "mib": 8 })));
        // CPUs count if tasks are pinned to them.
        let placed = |place: &str, cpus: &str| key(json!({ "placement": place, "cpus": cpus }));
        assert_eq!(placed("same-cpu", "0"), placed("same-cpu", "1"));
        assert_ne!(placed("spread", "0,1"), placed("spread", "0,2"));
    }
}
