//! A run read back from its folder.
//!
//! The folder may come from a stranger or from a killed run. Every size is bounded; an invalid line
//! costs only that line and a warning; and no content makes the reader fail in any way but an
//! error.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use harness::record::{READABLE_MAJOR, Versioned};
use serde::de::DeserializeOwned;

use crate::store::consistency;
use crate::store::environment::Environment;
use crate::store::invocation::{Invocation, Outcome};
use crate::store::results::{self, MOST_INVOCATIONS, RECORDS, RECORDS_BOUND, RunDescription};

/// The longest `run.json` or `environment.json` to read, in bytes; a few KiB
/// are usual.
const DOCUMENT_BOUND: u64 = 1024 * 1024;

/// The longest line of `records.jsonl` to read, in bytes; 20 KiB are usual.
const LINE_BOUND: usize = 2 * 1024 * 1024;

/// The most lines of `records.jsonl` that get a warning each.
const MOST_WARNINGS: usize = 20;

/// The most runs that [`SavedRun::alike`] reads.
const MOST_ALIKE: usize = 8;

/// A run, read from its folder.
#[derive(Debug)]
pub struct SavedRun {
    /// What was run: `run.json`.
    pub description: RunDescription,
    /// The machine: `environment.json`.
    pub environment: Environment,
    /// The invocations, in the order in which they ended: `records.jsonl`.
    pub invocations: Vec<Invocation>,
    /// What was not used, and why: one sentence each, without its full stop.
    /// They quote the folder's content, unescaped.
    pub warnings: Vec<String>,
    /// The number of complete lines that contain no invocation.
    pub rejected: u64,
}

impl SavedRun {
    /// A run without invocations.
    pub fn new(description: RunDescription, environment: Environment) -> Self {
        let (invocations, warnings, rejected) = (Vec::new(), Vec::new(), 0);
        Self { description, environment, invocations, warnings, rejected }
    }

    /// Reads the folder of a run, including an interrupted or killed one.
    ///
    /// # Errors
    /// If `folder` contains no run, a file cannot be read or is larger than any
    /// run's, `run.json` or `environment.json` is malformed, or something has
    /// another major schema version.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        Self::read_with(folder, || open(folder, RECORDS, RECORDS_BOUND))
    }

    /// Runs of the same build on the same machine in this folder and those next to it, among the
    /// newest [`MOST_ALIKE`]. All facts of their environments are equal except the boot, and tools
    /// that are not installed in both. Sides of a comparison, which may be other builds, and
    /// unreadable folders are skipped.
    pub fn alike(folder: &Path) -> Vec<(PathBuf, Self)> {
        let environment = |folder: &Path| -> Option<Environment> {
            let text = document(folder, results::ENVIRONMENT).ok()?;
            let mut environment: Environment = serde_json::from_slice(&text).ok()?;
            environment.facts.remove("boot");
            Some(environment)
        };
        let has = |one: &Environment, other: &Environment| {
            one.facts.iter().all(|(key, value)| match other.facts.get(key) {
                Some(other) => value == other,
                None => key.starts_with("software.tools."),
            })
        };
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let (Some(own), Some(parent)) = (environment(&folder), folder.parent()) else {
            return Vec::new();
        };
        let mut folders: Vec<PathBuf> = parent
            .read_dir()
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|of| environment(of).is_some_and(|of| has(&of, &own) && has(&own, &of)))
            .collect();
        folders.sort();
        let newest = folders.into_iter().rev();
        let runs = newest.filter_map(|folder| Some((folder.clone(), Self::read(&folder).ok()?)));
        runs.filter(|(_, run)| run.description.side.is_none()).take(MOST_ALIKE).collect()
    }

    /// Folders of runs, on machines with this label if given, latest first. Other folders and sides
    /// of a comparison are skipped.
    pub fn latest_first(parent: &Path, label: Option<&str>) -> Vec<PathBuf> {
        let folders = parent.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let began = |folder: PathBuf| {
            // Without its records, which are long.
            let run = Self::read_beside(&folder, b"").ok()?;
            let is_here = label.is_none_or(|label| run.environment.label() == label);
            (is_here && run.description.side.is_none())
                .then_some((run.description.started_at, folder))
        };
        let mut runs: Vec<(String, PathBuf)> = folders.filter_map(began).collect();
        runs.sort();
        runs.into_iter().rev().map(|(_, folder)| folder).collect()
    }

    /// Reads the folder of a run with these records.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_beside(folder: &Path, records: &[u8]) -> anyhow::Result<Self> {
        Self::read_with(folder, || Ok(records))
    }

    fn read_with<R: Read>(
        folder: &Path,
        records: impl FnOnce() -> anyhow::Result<R>,
    ) -> anyhow::Result<Self> {
        let reading = || format!("reading the saved run in {}", folder.display());
        let is_folder = folder.metadata().with_context(reading)?.is_dir();
        ensure!(
            is_folder,
            "{}: it is not a folder; name the folder that contains {} and {RECORDS}",
            reading(),
            results::RUN,
        );
        let description = document(folder, results::RUN)?;
        let environment = document(folder, results::ENVIRONMENT)?;
        Self::parse(&description, &environment, BufReader::new(records()?)).with_context(reading)
    }

    /// Parses the three files of the folder: `run.json`, `environment.json` and
    /// `records.jsonl`.
    ///
    /// # Errors
    /// If the first two are malformed, something has another major schema
    /// version, or `records` cannot be read.
    pub fn parse(
        description: &[u8],
        environment: &[u8],
        records: impl BufRead,
    ) -> anyhow::Result<Self> {
        let description: RunDescription = parse_document(description, results::RUN)?;
        let planned = description.cases.len().saturating_mul(description.rounds as usize);
        ensure!(
            planned <= MOST_INVOCATIONS,
            "{} plans {planned} invocations; at most {MOST_INVOCATIONS} are supported",
            results::RUN,
        );
        let environment = parse_document(environment, results::ENVIRONMENT)?;
        let (invocations, warnings, rejected) = read_lines(records).context(RECORDS)?;
        Ok(Self { description, environment, invocations, warnings, rejected })
    }
}

/// An optional JSON file of the folder. If it cannot be read, that costs only a warning: the run is
/// still worth showing.
pub fn optional<T: DeserializeOwned>(
    folder: &Path,
    name: &'static str,
    warnings: &mut Vec<String>,
) -> Option<T> {
    // A dangling link exists, and gets a warning.
    folder.join(name).symlink_metadata().ok()?;
    let parsed = document(folder, name).and_then(|bytes| parse_document(&bytes, name));
    parsed.map_err(|error| warnings.push(format!("{error:#}: not used"))).ok()
}

/// Opens a file of the folder, without blocking on a named pipe, and reads at most `bound` bytes of
/// it.
fn open(folder: &Path, name: &str, bound: u64) -> anyhow::Result<impl Read + use<>> {
    let path = folder.join(name);
    let reading = || format!("reading {}: is this the folder of a run?", path.display());
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(&path);
    let file = file.with_context(reading)?;
    let metadata = file.metadata().with_context(reading)?;
    let (path, length) = (path.display(), metadata.len());
    ensure!(metadata.is_file(), "reading {path}: it is not a regular file");
    ensure!(
        length <= bound,
        "reading {path}: it has {length} bytes, but no run writes more than {bound}"
    );
    Ok(file.take(bound))
}

/// The bytes of a JSON file of the folder.
fn document(folder: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(folder, name, DOCUMENT_BOUND)?
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading {}", folder.join(name).display()))?;
    Ok(bytes)
}

/// Checks that this Brigade reads a document and the record in it.
fn check(version: &Versioned) -> anyhow::Result<()> {
    ensure!(
        version.is_readable(),
        "its schema version is {}, but this Brigade reads {READABLE_MAJOR}.x: update Brigade to \
         read it",
        version.schema_version
    );
    version.record.as_ref().map_or(Ok(()), |record| check(record))
}

fn parse_document<T: DeserializeOwned>(bytes: &[u8], name: &'static str) -> anyhow::Result<T> {
    check(&serde_json::from_slice(bytes).context(name)?).context(name)?;
    serde_json::from_slice(bytes).context(name)
}

/// Reads every line with an invocation, once, with a warning for each other line; counts the
/// complete ones without an invocation.
fn read_lines(mut source: impl BufRead) -> anyhow::Result<(Vec<Invocation>, Vec<String>, u64)> {
    let (mut invocations, mut warnings, mut others) = (Vec::new(), Vec::new(), 0);
    let (mut seen, mut rejected) = (BTreeSet::new(), 0);
    let mut line = Vec::new();
    for number in 1_u64.. {
        let is_whole = next_line(&mut source, &mut line)?;
        if line.is_empty() && !is_whole {
            break;
        }
        let invocation = if line.len() > LINE_BOUND {
            Err(format!("has more than {LINE_BOUND} bytes"))
        } else {
            if let Ok(version) = serde_json::from_slice(&line) {
                check(&version).with_context(|| format!("line {number}"))?;
            }
            parse_line(&line).map_err(|error| format!("{error:#}"))
        };
        let identity =
            |of: &Invocation| (of.case.clone(), of.round, of.attempt, of.started_at.clone());
        let invocation = match invocation {
            Ok(of) if !seen.insert(identity(&of)) => Err("repeats an earlier line".to_owned()),
            invocation => invocation,
        };
        rejected += u64::from(invocation.is_err() && is_whole);
        match invocation {
            Ok(invocation) => invocations.push(invocation),
            Err(_) if warnings.len() == MOST_WARNINGS => others += 1,
            Err(reason) => {
                let torn = "ends in the middle, as if the run was killed";
                let reason = if is_whole { &reason } else { torn };
                warnings.push(format!("{RECORDS} line {number}: {reason}: not used"));
            }
        }
        ensure!(
            invocations.len() <= MOST_INVOCATIONS,
            "it has more than {MOST_INVOCATIONS} invocations"
        );
    }
    if others > 0 {
        warnings.push(format!("{RECORDS}: {others} more lines are not used"));
    }
    Ok((invocations, warnings, rejected))
}

/// Parses an invocation; if it measured, verifies the record.
fn parse_line(line: &[u8]) -> anyhow::Result<Invocation> {
    let invocation: Invocation = serde_json::from_slice(line)?;
    if invocation.outcome == Outcome::Measured {
        consistency::verify(
            invocation.record.as_ref().context("it is marked as measured, but has no record")?,
        )?;
    }
    Ok(invocation)
}

/// Reads the next line, without its line feed, into `line`; of a longer one, one byte more than
/// [`LINE_BOUND`]. Returns whether it ended with a line feed.
fn next_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    source.by_ref().take(LINE_BOUND as u64 + 1).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(true);
    }
    let is_longer = line.len() > LINE_BOUND;
    if is_longer {
        source.skip_until(b'\n')?;
    }
    Ok(is_longer)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use tempfile::TempDir;

    use super::*;

    /// A folder of results of this repository.
    fn recorded(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../results").join(name)
    }

    /// The lines of a recorded run.
    fn recorded_lines() -> Vec<String> {
        let path = recorded("2026-11-22-amd-epyc-2cpu").join(RECORDS);
        fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
    }

    /// A copy of a recorded run, with these records.
    fn folder_with(records: impl AsRef<[u8]>) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        for name in [results::RUN, results::ENVIRONMENT] {
            let original = recorded("2026-11-22-amd-epyc-2cpu").join(name);
            fs::copy(original, copy.path().join(name)).unwrap();
        }
        fs::write(copy.path().join(RECORDS), records).unwrap();
        copy
    }

    /// Replaces `from` by `to` in a file of a folder.
    fn edit(folder: &TempDir, name: &str, from: &str, to: &str) {
        let path = folder.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} is not in {name}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn error_of(folder: &Path) -> String {
        format!("{:#}", SavedRun::read(folder).expect_err("an error"))
    }

    #[test]
    fn every_recorded_run_of_this_repository_is_read_whole() {
        for folder in contract::repository::recorded_runs() {
            let run = SavedRun::read(&folder).unwrap();
            let text = fs::read_to_string(folder.join(RECORDS)).unwrap();
            assert_eq!(run.warnings, [""; 0], "{}", folder.display());
            assert_eq!(run.invocations.len(), text.lines().count());
            assert!(!run.description.cases.is_empty());
            for record in run.invocations.iter().filter_map(|invocation| invocation.record.as_ref())
            {
                for measurement in &record.measurements {
                    let histogram = contract::record::decoded(&measurement.histogram);
                    assert_eq!(histogram.len(), measurement.count);
                }
            }
        }
    }

    #[test]
    fn a_side_of_a_comparison_is_not_a_run_of_the_same_build() {
        let results = tempfile::tempdir().unwrap();
        for name in ["one", "two", "candidate"] {
            let copy = folder_with(recorded_lines().swap_remove(0));
            if name == "candidate" {
                edit(&copy, results::RUN, "\"side\": null", "\"side\": \"candidate\"");
            }
            fs::rename(copy.path(), results.path().join(name)).unwrap();
            fs::create_dir(copy.path()).unwrap();
        }
        assert_eq!(SavedRun::alike(&results.path().join("one")).len(), 2);
    }

    /// The three files of a recorded run, with one of its lines.
    fn recorded_files() -> [Vec<u8>; 3] {
        let folder = recorded("2026-11-22-amd-epyc-2cpu");
        let read = |name| fs::read(folder.join(name)).unwrap();
        let line = recorded_lines().swap_remove(0).into_bytes();
        [read(results::RUN), read(results::ENVIRONMENT), line]
    }

    /// The alternatives to one value of a document.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let tokens =
            "null|true|-1|0|1e999|18446744073709551616|\"\"|\\[|\\]|\\{|\\}|,|:|\"|\\\\|\n";
        prop_oneof![
            tokens.prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..8),
            Just(Vec::new()),
        ]
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let [run, environment, line] = recorded_files();
            prop_assert!(SavedRun::parse(&bytes, &environment, &line[..]).is_err());
            prop_assert!(SavedRun::parse(&run, &bytes, &line[..]).is_err());
            let read = SavedRun::parse(&run, &environment, &bytes[..]);
            prop_assert!(read.is_ok_and(|read| read.invocations.is_empty()));
        }

        #[test]
        fn a_damaged_run_is_read_or_refused(
            file in 0_usize..3,
            edits in prop::collection::vec((any::<Index>(), 0_usize..20, pieces()), 1..4),
        ) {
            let mut files = recorded_files();
            for (place, length, piece) in edits {
                let bytes = &mut files[file];
                let at = place.index(bytes.len());
                let end = bytes.len().min(at + length);
                bytes.splice(at..end, piece);
            }
            let [run, environment, line] = files;
            match SavedRun::parse(&run, &environment, &line[..]) {
                Ok(read) => prop_assert!(read.invocations.len() <= 1 && read.warnings.len() <= 4),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn a_torn_last_line_costs_that_line_and_a_warning() {
        let [first, second, ..] = &recorded_lines()[..] else { panic!("too few") };
        for length in [1, 40, second.len() - 1] {
            let folder = folder_with(format!("{first}\n{}", &second[..length]));
            let run = SavedRun::read(folder.path()).unwrap();
            assert_eq!(run.invocations.len(), 1);
            let expected = "records.jsonl line 2: ends in the middle, as if the run was killed: \
                not used";
            assert_eq!(run.warnings, [expected]);
        }
    }

    #[test]
    fn an_invalid_line_is_named_and_the_others_are_read() {
        let [first, second, ..] = &recorded_lines()[..] else { panic!("too few") };
        let deep = "[".repeat(100_000);
        for (bad, reason) in [
            ("", "EOF while parsing"),
            ("garbage", "expected value at line 1 column 1"),
            ("{}", "missing field `schema_version`"),
            (r#"{"schema_version":"1.0"}"#, "missing field `case`"),
            (&deep, "invalid type"),
            (&first.replacen("\"round\":1", "\"round\":-1", 1), "invalid value: integer `-1`"),
            (&first.replacen("\"round\":1", "\"round\":1e999", 1), "number out of range"),
            (&first.replacen("\"mean_ns\":", "\"mean_ns\":-", 1), "its mean, -"),
            (&first.replacen("\"record\":{", "\"record\":null,\"r\":{", 1), "has no record"),
        ] {
            let run = SavedRun::read(folder_with(format!("{first}\n{bad}\n{second}\n")).path());
            let run = run.unwrap();
            assert_eq!(run.invocations.len(), 2, "{reason}");
            let [warning] = &run.warnings[..] else { panic!("{:?}", run.warnings) };
            assert!(warning.starts_with("records.jsonl line 2: "), "{warning}");
            assert!(warning.contains(reason) && warning.ends_with(": not used"), "{warning}");
        }
    }

    #[test]
    fn a_line_that_repeats_another_counts_once() {
        let [first, second, ..] = &recorded_lines()[..] else { panic!("too few") };
        let run = SavedRun::read(folder_with(format!("{first}\n{first}\n{second}\n")).path());
        let run = run.unwrap();
        assert_eq!((run.invocations.len(), run.rejected), (2, 1));
        assert_eq!(run.warnings, ["records.jsonl line 2: repeats an earlier line: not used"]);
    }

    #[test]
    fn a_flood_of_bad_lines_is_summed_up() {
        let run = SavedRun::read(folder_with("\n".repeat(50_000)).path()).unwrap();
        assert_eq!(run.warnings.len(), MOST_WARNINGS + 1);
        let last = run.warnings.last().unwrap();
        assert_eq!(last, "records.jsonl: 49980 more lines are not used");
    }

    #[test]
    fn another_major_version_is_refused_and_a_newer_minor_one_read() {
        let line = &recorded_lines()[0];
        let [own, of_record] = ["{", "\"record\":{"].map(|place| {
            let version = |of: &str| format!("{place}\"schema_version\":\"{of}\"");
            [
                line.replacen(&version("1.0"), &version("1.9"), 1),
                line.replacen(&version("1.0"), &version("2.0"), 1),
            ]
        });
        for [minor, major] in [own, of_record] {
            assert_ne!(&major, line);
            let run = SavedRun::read(folder_with(minor).path()).unwrap();
            assert_eq!((run.invocations.len(), run.warnings.len()), (1, 0));
            let error = error_of(folder_with(format!("{line}\n{major}\n")).path());
            assert!(error.contains("records.jsonl: line 2: its schema version is 2.0"), "{error}");
            assert!(error.contains("update Brigade to read it"), "{error}");
        }
        for name in [results::RUN, results::ENVIRONMENT] {
            let folder = folder_with(line);
            edit(&folder, name, "\"schema_version\": \"1.", "\"schema_version\": \"9.");
            let error = error_of(folder.path());
            assert!(error.contains(name) && error.contains("update Brigade"), "{error}");
        }
    }

    #[test]
    fn a_folder_without_a_run_is_refused_in_clear_words() {
        let folder = folder_with("");
        let file = folder.path().join(results::RUN);
        assert!(
            error_of(&file).contains("it is not a folder; name the folder that contains run.json")
        );
        let none = folder.path().join("none");
        assert!(error_of(&none).contains("No such file or directory"));
        assert!(error_of(&none).contains(none.to_str().unwrap()));
        for name in [results::RUN, results::ENVIRONMENT, RECORDS] {
            let folder = folder_with("");
            fs::remove_file(folder.path().join(name)).unwrap();
            let error = error_of(folder.path());
            assert!(error.contains(name) && error.contains("is this the folder of a run?"));
        }
    }

    #[test]
    fn special_files_are_refused_at_once() {
        let folder = folder_with("");
        let records = folder.path().join(RECORDS);
        fs::remove_file(&records).unwrap();
        mkfifo(&records, Mode::S_IRWXU).unwrap();
        assert!(error_of(folder.path()).contains("it is not a regular file"));
        fs::remove_file(&records).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &records).unwrap();
        assert!(error_of(folder.path()).contains("it is not a regular file"));
    }

    #[test]
    fn files_larger_than_any_runs_are_refused_unread() {
        for (name, bound) in [(results::RUN, DOCUMENT_BOUND), (RECORDS, RECORDS_BOUND)] {
            let folder = folder_with("");
            let file = OpenOptions::new().write(true).open(folder.path().join(name)).unwrap();
            file.set_len(bound + 1).unwrap();
            let error = error_of(folder.path());
            assert!(error.contains(&format!("no run writes more than {bound}")), "{error}");
        }
    }

    #[test]
    fn a_run_with_too_many_invocations_is_refused() {
        let mut line: serde_json::Value = serde_json::from_str(&recorded_lines()[0]).unwrap();
        line["record"] = serde_json::Value::Null;
        line["outcome"] = "failed".into();
        let mut read = |lines| {
            let mut text = String::new();
            for round in 1..=lines {
                line["round"] = round.into();
                text += &format!("{line}\n");
            }
            read_lines(text.as_bytes()).map(|(invocations, ..)| invocations.len())
        };
        assert_eq!(read(MOST_INVOCATIONS).unwrap(), MOST_INVOCATIONS);
        let error = read(MOST_INVOCATIONS + 1).unwrap_err().to_string();
        assert!(error.contains("more than 100000 invocations"), "{error}");
    }

    #[test]
    fn a_run_that_plans_too_many_invocations_is_refused() {
        let folder = folder_with("");
        edit(&folder, results::RUN, "\"rounds\": ", "\"rounds\": 9999999");
        assert!(error_of(folder.path()).contains("at most 100000"));
    }
}
